"""What the admin's lists have in common."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.admin import RelatedFieldListFilter, SimpleListFilter, display
from django.contrib.admin.utils import NotRelationField, get_fields_from_path, get_model_from_relation
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localtime
from unfold.admin import ModelAdmin

from judgments.admin.addresses import picture_address
from judgments.models import Dataset, Item, Study
from judgments.visibility import may_view, visible_rows

MOST_LEAFED = 50_000


def signed_in(request: HttpRequest) -> User:
    """The person at the admin, who is signed in by now."""
    assert isinstance(request.user, User)
    return request.user


def count_of(rows: QuerySet[Any], owner: str) -> Coalesce:
    """How many of ``rows`` belong to the outer row."""
    counted = (
        rows.filter(**{owner: OuterRef("pk")}).order_by().values(owner).annotate(n=Count("pk")).values("n")
    )
    return Coalesce(Subquery(counted, output_field=IntegerField()), Value(0))


def counted_beside(model: type[Any], relation: str) -> Coalesce:
    """How many rows of ``relation`` an outer row of ``model`` has."""
    field: Any = model._meta.get_field(relation)
    return count_of(field.related_model._default_manager.all(), field.field.name)


def in_short(value: float | None) -> str:
    """A score or share to four places, without zeros at its end; a dash for none."""
    if value is None:
        return "–"
    text = f"{value:.4f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


class BoundedPaginator(Paginator):
    """Counts no further than ``most``: counting a million rows takes longer than showing fifty, and nobody leafs
    through them."""

    most = MOST_LEAFED

    @cached_property
    def count(self) -> int:
        """How many rows can be leafed through."""
        return min(self._counted, self.most)

    @property
    def has_more(self) -> bool:
        """Whether there are rows that no page shows."""
        return self._counted > self.most

    @cached_property
    def _counted(self) -> int:
        rows: Any = self.object_list
        # the keys alone: what a row shows beside itself would be counted for all of them
        return int(rows.order_by().values("pk")[: self.most + 1].count())


class WordsFilter(SimpleListFilter):
    """Narrows a list by a field whose values are known: asking the rows for them would go through all of them."""

    words: tuple[str, ...] = ()

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The values."""
        return [(word, word) for word in self.words]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Those of the chosen value; another one finds nothing."""
        chosen = {word for word, _ in self.lookup_choices}
        if self.value() is None:
            return queryset
        return (
            queryset.filter(**{self.parameter_name or "": self.value()})
            if self.value() in chosen
            else queryset.none()
        )


def short_time(at: datetime) -> str:
    """20 Nov 2026 18:29, on one line."""
    return localtime(at).strftime("%-d %b %Y %H:%M").replace(" ", "\N{NO-BREAK SPACE}")


class VisibleChoices(RelatedFieldListFilter):
    """Narrows a list by a study or dataset, of those that the person may look at."""

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """Their names; another's name would tell that it is there."""
        shown = visible_rows(field.related_model._default_manager.all(), request.user)
        order = self.field_admin_ordering(field, request, model_admin)
        found: list[tuple[str, Any]] = field.get_choices(
            include_blank=False, ordering=order, limit_choices_to={"pk__in": shown.order_by().values("pk")}
        )
        return found


class QuorumAdmin(ModelAdmin):
    """Lists of 50 that cost the same for any number of rows, and show those that the person may look at."""

    list_per_page = 50
    add_label = ""  # the words of the button above a list; empty: "Add ..."
    empty_words = ""  # where rows come from, said in a list that has none yet
    list_fullwidth = True
    paginator = BoundedPaginator
    show_full_result_count = False
    list_before_template = "judgments/parts/bounded.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """What this person may look at: lists, single rows, searches and suggestions all begin here."""
        return visible_rows(self.all_rows(request), request.user)

    def all_rows(self, request: HttpRequest) -> QuerySet[Any]:
        """For lists of what belongs to no study and has a rule of its own."""
        return super().get_queryset(request)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """A role in a study leads to the lists where its rows stand."""
        return super().has_module_permission(request) or may_view(request.user, self.model)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Django's permission, or a role in a study that the row belongs to."""
        if super().has_view_permission(request, obj):
            return True
        if not may_view(request.user, self.model):
            return False
        return (
            obj is None or visible_rows(self.model._default_manager.filter(pk=obj.pk), request.user).exists()
        )

    def get_list_filter(self, request: HttpRequest) -> list[Any]:
        """Filters by study or dataset offer what the person may look at."""
        return [
            (entry, VisibleChoices) if isinstance(entry, str) and self._leads_to_names(entry) else entry
            for entry in super().get_list_filter(request)
        ]

    def _leads_to_names(self, lookup: str) -> bool:
        try:
            return get_model_from_relation(get_fields_from_path(self.model, lookup)[-1]) in (Study, Dataset)
        except NotRelationField:
            return False


class ReadOnlyAdmin(QuorumAdmin):
    """To look at, never to change: these rows come from services alone."""

    actions = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody adds a row by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody changes a row by hand."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody deletes a row by hand."""
        return False


SIMULATED = ' <span class="q-mark">simulated</span>'


def study_words(study: Study | None) -> SafeString | str:
    """A study's short name, and whether its answers are simulated."""
    if study is None:
        return "–"
    return format_html("{}" + (SIMULATED if study.simulated else ""), study.slug)


@display(description="study", ordering="study__slug")
def study_column(row: Any) -> SafeString | str:
    """The study of a row, for lists."""
    return study_words(row.study)


def thumbnail(item: Item) -> SafeString | str:
    """The image, small."""
    address = picture_address(item)
    if not address:
        return "no picture"
    return format_html('<img class="q-thumb" src="{}" alt="{}" loading="lazy">', address, item.name)


@display(description="image")
def item_thumbnail(row: Any) -> SafeString | str:
    """The picture of a row's image, for lists."""
    return thumbnail(row.item)
