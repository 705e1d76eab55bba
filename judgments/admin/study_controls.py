"""The control items of a study, to look through before workers see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from judgments.admin.addresses import picture_address
from judgments.admin.study_pages import Context, StudyPage, StudyStep, add_page, add_step
from judgments.errors import WrongState
from judgments.kinds import Kind
from judgments.models import Item, Study, Unit
from judgments.services.generation import strike_control

ITEMS_ON_A_PAGE = 60


@dataclass(slots=True)
class ControlGroup:
    """Control items that stand under one image on a page of work."""

    image: Item
    picture: str
    items: list[dict[str, Any]] = field(default_factory=list)

    @property
    def keys(self) -> str:
        """The items that are not struck yet, for the button that strikes them all."""
        return " ".join(item["unit"].key for item in self.items if not item["unit"].struck)


def show_controls(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """Each control item with its picture, what is shown, and which answer counts as right."""
    units = (
        Unit.objects.filter(study=study, control=True)
        .exclude(control_kind=Unit.ControlKind.QUIZ)  # they stand on the page of the quiz
        .select_related("item__dataset", "reference", "first", "second")
        .order_by("position")
    )
    page = Paginator(units, ITEMS_ON_A_PAGE).get_page(request.GET.get("page"))
    context |= {
        "page": page,
        "groups": grouped(context["kind"], list(page.object_list)),
        "may_strike": context["may_change"] and study.state == Study.State.GENERATED,
    }
    return TemplateResponse(request, "judgments/study/controls.html", context)


def grouped(kind: Kind, units: Sequence[Unit]) -> list[ControlGroup]:
    """Runs of units under the same image, as workers see them; kinds that show one at a time give single ones."""
    groups: list[ControlGroup] = []
    before: Unit | None = None
    for unit in units:
        together = (
            kind.grouped
            and before is not None
            and before.item_id == unit.item_id
            and before.position == unit.position - 1
        )
        if not together:
            groups.append(ControlGroup(image=unit.item, picture=picture_address(unit.item)))
        groups[-1].items.append({"unit": unit, **_answers(kind, unit)})
        before = unit
    return groups


def _answers(kind: Kind, unit: Unit) -> dict[str, Any]:
    """What the worker reads, which of it is right, and the right answer in words."""
    if kind.two_sided:
        shown = [(unit.first, unit.expected == 1), (unit.second, unit.expected == 2)]
        return {"reference": unit.reference, "texts": shown, "right_answer": ""}
    words = {str(choice.value): choice.label for choice in kind.choices}
    right = " or ".join(words.get(part, part) for part in str(unit.expected).split("-"))
    return {"reference": None, "texts": [(unit.first, False)], "right_answer": right}


def _strike(request: HttpRequest, study: Study) -> None:
    """Strike one item, or all under an image: all or none."""
    keys = request.POST.get("units", "").split()
    if not keys:
        raise WrongState("Nothing was struck: the items named were struck before.")
    with transaction.atomic():
        for key in keys:
            strike_control(study=study, unit_key=key)
    count = "One control item was" if len(keys) == 1 else f"{len(keys)} control items were"
    messages.success(
        request,
        f"{count} struck; no worker will see it."
        if len(keys) == 1
        else f"{count} struck; no worker will see them.",
    )


add_page(StudyPage(name="controls", label="Control items", order=30, view=show_controls))
add_step(StudyStep(name="strike", label="Strike control items", run=_strike))
