"""The page "Check questions" of a study: the control items with the answers to them, to withdraw misleading ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.quality.control_figures import (
    FIGURES,
    AnswerCounts,
    describe_control_item,
    sum_control_alarms,
)
from annotation.quality.operations import withdraw_control_items
from judgments.admin.addresses import picture_address
from judgments.cached_figures import cached_figures, required_figures
from judgments.kinds import Kind
from judgments.models import Item, Study, Unit
from judgments.studies.designs import design_of
from judgments.studies.pages import Context, StudySection
from judgments.studies.step_form import add_operation
from judgments.studies.study_page import study_page

ITEMS_PER_PAGE = 60
KIND_LABELS = {
    "degraded": gettext_noop("degraded"),
    "repeated": gettext_noop("repeated"),
    "known-good": gettext_noop("known-good"),
    "reference": gettext_noop("reference"),
    "quiz": gettext_noop("quiz"),
    "control": gettext_noop("control"),  # imported control items of unknown kind
}


@dataclass(slots=True)
class ControlGroup:
    """Control items that are shown together, since they are about one image.

    Attributes:
        picture: the address of the picture.
        items: for each control item, "unit", "counts" (or None) and the description of ``describe_control_item``.
    """

    image: Item
    picture: str
    items: list[dict[str, Any]] = field(default_factory=list)

    @property
    def keys(self) -> str:
        """The keys of the units that are not withdrawn, as a form posts them."""
        return " ".join(item["unit"].key for item in self.items if not item["unit"].withdrawn)


def group_by_image(kind: Kind, units: Iterable[Unit], counts: dict[int, AnswerCounts]) -> list[ControlGroup]:
    """Return control items in groups: of one image if the kind shows all captions of an image together.

    Args:
        units: control items in the order of their positions.
        counts: by unit row id.
    """
    groups: list[ControlGroup] = []
    previous_unit: Unit | None = None
    for unit in units:
        # a later page may show the image again: only units one after another are a group
        joins_group = (
            kind.grouped
            and previous_unit is not None
            and previous_unit.item_id == unit.item_id
            and previous_unit.position == unit.position - 1
        )
        if not joins_group:
            groups.append(ControlGroup(image=unit.item, picture=picture_address(unit.item)))
        groups[-1].items.append(
            {"unit": unit, "counts": counts.get(unit.pk), **describe_control_item(kind, unit)}
        )
        previous_unit = unit
    return groups


@study_page(
    "controls",
    "Check questions",
    order=30,
    has_tab=lambda study: study.state != Study.State.DRAFT and design_of(study).controls.per_hit > 0,
    section=StudySection.LIVE,
    section_before_opening=StudySection.DESIGN,
    help="controls.md",
)
def show_controls(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    units = (
        Unit.objects.filter(study=study, control=True)
        .exclude(control_kind=Unit.ControlKind.QUIZ)
        .select_related("item__dataset", "reference", "first", "second")
        .order_by("position")
    )
    page = Paginator(units, ITEMS_PER_PAGE).get_page(request.GET.get("page"))
    cached_counts = cached_figures(study, FIGURES)
    figures = required_figures(cached_counts)
    context |= {
        "counted": cached_counts,  # the study's base template says when they were computed
        "page": page,
        "groups": group_by_image(context["kind"], list(page.object_list), figures.by_unit),
        "figures": figures,
        "by_kind": [(_(KIND_LABELS[name]), counts) for name, counts in figures.by_kind],
        "design": design_of(study),
        "control_pool": study.notes.get("control_pool"),  # ``ControlPool`` as JSON; None if never counted
        "alarm": sum_control_alarms(study),
        "may_withdraw": context["may_change"] and study.source == Study.Source.DESIGNED,
    }
    return TemplateResponse(request, "admin/annotation/study_controls.html", context)


# fields=(): the template of the page has the form
add_operation(withdraw_control_items, label="Withdraw check questions", fields=())
