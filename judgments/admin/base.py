"""The base classes of the admin, with filters, columns and paginators of lists, and helpers of its views."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from django.contrib.admin import AllValuesFieldListFilter, RelatedFieldListFilter, SimpleListFilter, display
from django.contrib.admin.utils import NotRelationField, get_fields_from_path, get_model_from_relation
from django.contrib.auth.models import User
from django.core.exceptions import ObjectDoesNotExist
from django.core.paginator import Paginator
from django.db.models import (
    BooleanField,
    Count,
    IntegerField,
    JSONField,
    Model,
    OuterRef,
    QuerySet,
    Subquery,
    Value,
)
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localtime
from django.utils.translation import gettext
from unfold.admin import ModelAdmin

from common.amounts import thousands
from common.rows.ids import is_row_id
from judgments.access.rights import Person
from judgments.access.visible_rows import may_view, visible_rows
from judgments.datasets.scaling import small_address
from judgments.models import Dataset, Item, Study
from judgments.studies.designs import design_of

PER_PAGE = 50
MAX_COUNTED_ROWS = 50_000
MAX_OFFERED = 100  # choices of a filter

Row = TypeVar("Row", bound=Model)


def picture_address(item: Item) -> str:
    if item.picture:
        return small_address(item, reverse("annotation:preview-picture", args=[item.pk]))
    return item.url


def preview_address(study: Study) -> str:
    return reverse("annotation:preview", args=[study.slug])


def number_in(request: HttpRequest) -> int:
    """Return the positive whole number in ``?number=``; 1 for other texts, and for more than nine digits."""
    text = request.GET.get("number", "")
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) <= 9 else 1


def public_address(request: HttpRequest, study: Study, *, code: str = "") -> str:
    """Return the public link of a study, with an invitation's ``code`` or else the design's access code."""
    if not code and (access := design_of(study).access).join == "code":
        code = access.code
    address = request.build_absolute_uri(reverse("annotation:study", args=[study.slug]))
    return f"{address}?code={code}" if code else address


def signed_in(request: HttpRequest) -> User:
    """Return the account of a request to a page that only staff can open."""
    assert isinstance(request.user, User)
    return request.user


def count_owned(rows: QuerySet[Any], owner: str) -> Coalesce:
    """Return a subquery that counts the rows that belong to a row of the outer query, by their field ``owner``."""
    rows_of_owner = rows.filter(**{owner: OuterRef("pk")}).order_by()
    counts = rows_of_owner.values(owner).annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counts, output_field=IntegerField()), Value(0))


def count_subquery(model: type[Any], relation: str) -> Coalesce:
    """Return a subquery that counts the rows of a model's reverse relation, such as the judgments of units."""
    field: Any = model._meta.get_field(relation)
    return count_owned(field.related_model._default_manager.all(), field.field.name)


def in_words(value: Any, *, between: str = "\n") -> str:
    """Format a stored value for people: a line for each key, commas in lists, and a dash for an empty value."""
    if isinstance(value, dict):
        lines = [f"{name}: {in_words(inner, between=', ')}" for name, inner in value.items()]
        return between.join(lines) or "–"
    if isinstance(value, list):
        return ", ".join(in_words(member, between=", ") for member in value) or "–"
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    return "–" if value is None or value == "" else str(value)


def words_column(model: type[Model], name: str) -> Callable[[Any], str]:
    """Return an admin column that shows a JSON field by ``in_words``."""
    field: Any = model._meta.get_field(name)

    @display(description=field.verbose_name)
    def column(row: Any) -> str:
        return in_words(getattr(row, name))

    return column


class CountColumn:
    """A column of an admin's list with a number of rows.

    ``count_for`` returns the subquery that counts them for a person, who may see only some of them.
    """

    def __init__(
        self, description: str, name: str, count_for: Callable[[Person], Coalesce], *, sortable: bool = True
    ) -> None:
        self.short_description, self.name, self.count_for = description, name, count_for
        self.admin_order_field = name if sortable else None
        self.__name__ = name

    def __call__(self, row: Any) -> str:
        return thousands(getattr(row, self.name))


def row_or_404(rows: QuerySet[Row], key: int | str) -> Row:
    try:
        return rows.get(pk=key)
    except (ObjectDoesNotExist, ValueError):  # the value is not a number, or has thousands of digits
        raise Http404 from None


def format_short(value: float | None) -> str:
    """Format a number with at most four decimal places, without trailing zeros. Return a dash for None."""
    if value is None:
        return "–"
    text = f"{value:.4f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


class BoundedPaginator(Paginator):
    """A paginator that counts rows only up to a maximum, since counting a million takes longer than showing a page."""

    max_count = MAX_COUNTED_ROWS

    @cached_property
    def count(self) -> int:
        return min(self._bounded_count, self.max_count)

    @property
    def has_more(self) -> bool:
        return self._bounded_count > self.max_count

    @cached_property
    def _bounded_count(self) -> int:
        rows: Any = self.object_list
        # select only the keys, or the database would compute annotations for all counted rows
        return int(rows.order_by().values("pk")[: self.max_count + 1].count())


class KnownValuesFilter(SimpleListFilter):
    """A filter by a field whose values are listed in ``known_values``, so that no query has to find them."""

    known_values: tuple[str, ...] = ()

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, value) for value in self.known_values]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() is None:
            return queryset
        if self.value() not in {value for value, _ in self.lookup_choices}:
            return queryset.none()
        return queryset.filter(**{self.parameter_name or "": self.value()})


def short_time(at: datetime) -> str:
    return date_format(localtime(at), "DATETIME_FORMAT")


class BoundedChoices(RelatedFieldListFilter):
    """A filter by a related row. It offers only the newest rows and the selected row."""

    max_count = MAX_OFFERED

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.has_more:
            self.title = gettext("%(title)s (only the newest %(most)d)") % {
                "title": self.title,
                "most": self.max_count,
            }

    def available_rows(self, field: Any, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = field.related_model._default_manager.all()
        return rows

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> list[Any]:
        available = self.available_rows(field, request)
        rows = list(available.order_by("-pk")[: self.max_count + 1])
        self.has_more = len(rows) > self.max_count
        rows = rows[: self.max_count]
        selected_keys = [key for key in map(str, self.lookup_val or ()) if is_row_id(key)]
        if self.has_more and selected_keys:
            rows += available.filter(pk__in=selected_keys[:1]).exclude(pk__in=[row.pk for row in rows])
        return sorted(((row.pk, str(row)) for row in rows), key=lambda choice: choice[1].casefold())


class VisibleChoices(BoundedChoices):
    """A filter by a related row that offers only rows that the person may see."""

    def available_rows(self, field: Any, request: HttpRequest) -> QuerySet[Any]:
        return visible_rows(super().available_rows(field, request), request.user)


class BoundedValues(AllValuesFieldListFilter):
    """A filter by a field's values. It offers only the values of the newest rows."""

    max_count = MAX_OFFERED
    rows_searched = 10_000  # number of newest rows

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        newest_first = self.lookup_choices.order_by("-pk")
        name = self.field.name
        newest_keys = newest_first.values("pk")[: self.rows_searched]
        newest_rows = newest_first.model._default_manager.filter(pk__in=newest_keys)
        values = newest_rows.order_by(name).values_list(name, flat=True).distinct()[: self.max_count]
        choices: Any = [*dict.fromkeys([*values, *(self.lookup_val or ())])]
        self.lookup_choices = choices
        if newest_first.values("pk")[self.rows_searched : self.rows_searched + 1]:  # there are more rows
            self.title = gettext("%(title)s (only the newest %(n)s)") % {
                "title": self.title,
                "n": thousands(self.rows_searched),
            }


class QuorumAdmin(ModelAdmin):
    """Lists of 50 rows at constant cost, limited to what the person may see."""

    list_per_page = PER_PAGE
    add_label = ""  # the label of the button above a list; if empty, "Add ..."
    empty_words = ""  # a sentence for an empty list, about where its rows come from
    filled_by: type[Model] | None = None  # the model whose page for adding also adds rows of this list
    help = ""  # the documentation page about the list; if empty, that of its feature
    list_fullwidth = True
    paginator = BoundedPaginator
    show_full_result_count = False
    list_before_template = "judgments/parts/bounded.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        counts = (column for column in self.list_display if isinstance(column, CountColumn))
        rows = visible_rows(self.all_rows(request), request.user)
        return rows.annotate(**{column.name: column.count_for(request.user) for column in counts})

    def all_rows(self, request: HttpRequest) -> QuerySet[Any]:
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
        return [self._bounded_filter(entry) for entry in super().get_list_filter(request)]

    def _bounded_filter(self, entry: Any) -> Any:
        if not isinstance(entry, str):
            return entry
        field = get_fields_from_path(self.model, entry)[-1]
        if field.choices or isinstance(field, BooleanField):
            return entry
        try:
            related_model = get_model_from_relation(field)
        except NotRelationField:
            return entry, BoundedValues
        return entry, VisibleChoices if related_model in (Study, Dataset) else BoundedChoices


class ReadOnlyAdmin(QuorumAdmin):
    """Lists and pages of rows that nobody can add, change or delete here."""

    actions = None

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        json_fields = {field.name for field in self.opts.concrete_fields if isinstance(field, JSONField)}
        return [
            words_column(self.model, name) if name in json_fields else name
            for name in super().get_fields(request, obj)
        ]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def button_for_empty_list(model_admin: ModelAdmin, request: HttpRequest) -> dict[str, str]:
    """Return the label and address of the button on an empty list. It leads to a page that adds rows, or home."""
    models = [model_admin.model, *filter(None, [getattr(model_admin, "filled_by", None)])]
    for model in models:
        admin_of_model = model_admin.admin_site._registry.get(model)
        if admin_of_model is not None and admin_of_model.has_add_permission(request):
            address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_add")
            return {"label": gettext(getattr(admin_of_model, "add_label", "") or "Add"), "address": address}
    return {"label": gettext("Your studies"), "address": reverse("admin:index")}


def simulated_mark(study: Study) -> SafeString:
    mark = format_html(' <span class="q-mark">{}</span>', gettext("simulated"))
    return mark if study.simulated else SafeString()


def study_words(study: Study | None) -> SafeString | str:
    if study is None:
        return "–"
    return format_html("{}{}", study.slug, simulated_mark(study))


@display(description="study", ordering="study__slug")
def study_column(row: Any) -> SafeString | str:
    return study_words(row.study)


def thumbnail(item: Item) -> SafeString | str:
    address = picture_address(item)
    if not address:
        return gettext("no picture")
    return format_html('<img class="q-thumb" src="{}" alt="{}" loading="lazy">', address, item.name)


@display(description="image")
def item_thumbnail(row: Any) -> SafeString | str:
    return thumbnail(row.item)
