"""The base classes of the admin's lists, and what the admin's views read from a request."""

from __future__ import annotations

from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.core.exceptions import ObjectDoesNotExist
from django.core.paginator import Paginator
from django.db.models import JSONField, Model, QuerySet
from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.translation import gettext
from unfold.admin import ModelAdmin

from judgments.access.visible_rows import may_view, visible_rows
from judgments.admin.columns import CountColumn, json_field_column
from judgments.admin.filters import bounded_filter

PER_PAGE = 50
MAX_COUNTED_ROWS = 50_000

Row = TypeVar("Row", bound=Model)


class BoundedPaginator(Paginator):
    """A paginator that counts rows only up to a maximum, since counting a million takes longer than showing a page."""

    max_count = MAX_COUNTED_ROWS

    @cached_property
    def count(self) -> int:
        return min(self._bounded_count, self.max_count)

    @property
    def has_more(self) -> bool:
        """Whether there are more rows than ``count``."""
        return self._bounded_count > self.max_count

    @cached_property
    def _bounded_count(self) -> int:
        """The number of rows; ``max_count + 1`` if there are more rows than ``max_count``."""
        rows: Any = self.object_list
        # select only the keys, or the database would compute annotations for all counted rows
        return int(rows.order_by().values("pk")[: self.max_count + 1].count())


class QuorumAdmin(ModelAdmin):
    """Lists of 50 rows at constant cost, limited to what the person may see."""

    list_per_page = PER_PAGE
    add_label = ""  # the label of the button above a list; if empty, "Add ..."
    empty_list_text = ""  # a sentence for an empty list, about where its rows come from
    filled_by: type[Model] | None = None  # the model whose page for adding also adds rows of this list
    help = ""  # the documentation page about the list; if empty, that of its feature
    list_fullwidth = True
    paginator = BoundedPaginator
    show_full_result_count = False
    list_before_template = "judgments/parts/bounded.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the rows that the person may see, with the numbers of the list's ``CountColumn`` columns."""
        count_columns = (column for column in self.list_display if isinstance(column, CountColumn))
        rows = visible_rows(self.all_rows(request), request.user)
        return rows.annotate(**{column.name: column.count_for(request.user) for column in count_columns})

    def all_rows(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the rows before they are limited to those that the person may see."""
        return super().get_queryset(request)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return super().has_module_permission(request) or may_view(request.user, self.model)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        if super().has_view_permission(request, obj):
            return True
        if not may_view(request.user, self.model):
            return False
        rows = self.model._default_manager
        return obj is None or visible_rows(rows.filter(pk=obj.pk), request.user).exists()

    def get_list_filter(self, request: HttpRequest) -> list[Any]:
        return [bounded_filter(self.model, entry) for entry in super().get_list_filter(request)]


class ReadOnlyAdmin(QuorumAdmin):
    """Lists and pages of rows that nobody can add, change or delete here."""

    actions = None

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        json_fields = {field.name for field in self.opts.concrete_fields if isinstance(field, JSONField)}
        return [
            json_field_column(self.model, name) if name in json_fields else name
            for name in super().get_fields(request, obj)
        ]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def button_for_empty_list(model_admin: ModelAdmin, request: HttpRequest) -> dict[str, str]:
    """Return the label and address of the button on an empty list.

    The button leads to the page that adds rows of the list or of its ``filled_by``. If the person may not use either
    page, it leads to the home page.
    """
    models = [model_admin.model, *filter(None, [getattr(model_admin, "filled_by", None)])]
    for model in models:
        admin_of_model = model_admin.admin_site._registry.get(model)
        if admin_of_model is not None and admin_of_model.has_add_permission(request):
            address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_add")
            return {"label": gettext(getattr(admin_of_model, "add_label", "") or "Add"), "address": address}
    return {"label": gettext("Your studies"), "address": reverse("admin:index")}


def signed_in(request: HttpRequest) -> User:
    """Return the account of a request to a page that only staff can open."""
    assert isinstance(request.user, User)
    return request.user


def requested_number(request: HttpRequest) -> int:
    """Return the positive whole number in ``?number=``; 1 for other texts, and for more than nine digits."""
    text = request.GET.get("number", "")
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) <= 9 else 1


def row_or_404(rows: QuerySet[Row], key: int | str) -> Row:
    """Return the row with a primary key. Raise Http404 if there is none, or if the key is not a number."""
    try:
        return rows.get(pk=key)
    except (ObjectDoesNotExist, ValueError):  # ValueError also for a number with thousands of digits
        raise Http404 from None
