"""Read-only lists of the rows of datasets and studies. An empty list links to the page that adds its ``filled_by``."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.safestring import SafeString
from unfold.decorators import display

from common.texts import text_or_placeholder
from judgments.admin.base import ReadOnlyAdmin, row_or_404
from judgments.admin.columns import (
    CountColumn,
    count_reverse_relation,
    count_rows_by_key,
    format_time,
    item_thumbnail,
    study_column,
    thumbnail,
)
from judgments.admin.filters import KnownValuesFilter
from judgments.kinds import KINDS
from judgments.models import HIT, Caption, Dataset, Item, Output, StudyEvent, System, Unit
from judgments.studies.designs import design_of
from judgments.studies.study_page import study_page_address


@admin.register(Item)
class ItemAdmin(ReadOnlyAdmin):
    help = "formats.md#datasets"
    empty_list_text = "Images are created when a dataset is imported."
    filled_by = Dataset
    list_display = ("name", "picture_small", "dataset", "split", "position")
    list_select_related = ("dataset",)
    list_filter = ("split", "dataset")
    search_fields = ("name",)
    fields = ("name", "picture_small", "dataset", "split", "position", "url")
    readonly_fields = ("picture_small",)

    @display(description="picture")
    def picture_small(self, item: Item) -> SafeString | str:
        return thumbnail(item)


@admin.register(Caption)
class CaptionAdmin(ReadOnlyAdmin):
    help = "formats.md#datasets"
    empty_list_text = "Captions are created when a dataset is imported."
    filled_by = Dataset
    list_display = ("text", "role", "image_name", "dataset", "key")
    list_select_related = ("dataset", "item")
    list_filter = ("role", "dataset")
    search_fields = ("text", "=key")

    @display(description="image", ordering="item__name")
    def image_name(self, caption: Caption) -> str:
        return caption.item.name if caption.item else "–"


@admin.register(System)
class SystemAdmin(ReadOnlyAdmin):
    help = "formats.md#candidates-what-one-system-says"
    empty_list_text = "To add a system, press “Import candidates” on the page of a dataset."
    filled_by = Dataset
    list_display = (
        "name",
        "dataset",
        "human",
        # the counts do not depend on the person who looks at the list
        CountColumn(
            "captions", "n", lambda _person: count_rows_by_key(Output.objects.annotations(), "system")
        ),
        CountColumn(
            "images found",
            "search_results",
            lambda _person: count_rows_by_key(Output.objects.searches(), "system"),
        ),
    )
    list_filter = ("human", "dataset")
    list_select_related = ("dataset",)
    search_fields = ("name",)
    exclude = ("fingerprint", "search_fingerprint")


class KindFilter(KnownValuesFilter):
    # two captions by people for the image (HC), one of them for another image (HI), one by a system (HM), two (MM)
    title, parameter_name, known_values = "kind", "kind", ("HC", "HI", "HM", "MM")


@admin.register(Unit)
class UnitAdmin(ReadOnlyAdmin):
    help = "glossary.md#what-is-judged"
    empty_list_text = "Items are created when a study's pages of work are generated."
    list_display = (
        *("key", "picture", study_column, "kind", "first_text", "second_text", "role"),
        CountColumn(
            "judgments", "n", lambda _person: count_reverse_relation(Unit, "judgments"), sortable=False
        ),
    )
    list_select_related = ("study", "item__dataset", "reference", "first", "second", "pair")
    list_filter = ("control", "withdrawn", "filtered", KindFilter, "study")
    search_fields = ("=key", "first__text", "second__text", "item__name")
    fields = (
        *("key", "study", "picture", "reference", "first", "second", "pair", "kind"),
        *("control", "right_answer", "filtered", "withdrawn"),
    )
    readonly_fields = ("picture", "right_answer")
    picture = staticmethod(item_thumbnail)

    @display(description="first text")
    def first_text(self, unit: Unit) -> str:
        return text_or_placeholder(unit.first.text) if unit.first else "–"

    @display(description="second text")
    def second_text(self, unit: Unit) -> str:
        return text_or_placeholder(unit.second.text) if unit.second else "–"

    @display(description="right answer")
    def right_answer(self, unit: Unit) -> str:
        if unit.expected is None:
            return "–"
        return KINDS[unit.study.protocol].for_design(design_of(unit.study)).describe_expected(unit.expected)

    @display(description="role", label={"control": "info", "withdrawn": "danger", "filtered": "warning"})
    def role(self, unit: Unit) -> tuple[str, str] | str:
        for name in ("withdrawn", "control", "filtered"):
            if getattr(unit, name):
                return name, name
        return ""


@admin.register(HIT)
class HITAdmin(ReadOnlyAdmin):
    help = "designing.md#hits-by-hand"
    empty_list_text = "To create pages of work, press “Generate pages of work” on the page of a study."
    list_display = (
        "key",
        study_column,
        "number",
        CountColumn("items", "size", lambda _person: count_reverse_relation(HIT, "places"), sortable=False),
        "required",
        "open_slots",
    )
    list_filter = ("study",)
    list_select_related = ("study",)
    search_fields = ("=key", "=external_id")

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **options: Any) -> HttpResponse:
        hit = row_or_404(self.get_queryset(request), object_id)
        return redirect(f"{study_page_address(hit.study, 'hit')}?number={hit.position + 1}")

    @display(description="number", ordering="position")
    def number(self, hit: HIT) -> int:
        return hit.position + 1


@admin.register(StudyEvent)
class StudyEventAdmin(ReadOnlyAdmin):
    help = "roles.md#the-log"
    empty_list_text = (
        "This list shows all changes to studies, with the person who made each change and the reason."
    )
    list_display = ("event_time", study_column, "what", "words", "why", "by")
    list_filter = ("what", "study")
    list_select_related = ("study", "by")
    search_fields = ("words", "why", "slug")

    @display(description="time", ordering="pk")
    def event_time(self, event: StudyEvent) -> str:
        return format_time(event.at)
