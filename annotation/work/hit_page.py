"""The page of a HIT of a study: as workers see it, its items, who holds it, the answers, and changes by hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.models import Assignment, Judgment
from annotation.quality.page import describe_control_item
from annotation.work.worksheet import units_of_hit
from common.errors import QuorumError
from judgments.admin.base import number_in, picture_address, preview_address
from judgments.drawing.by_hand import shown_texts
from judgments.drawing.controls import REPEATED
from judgments.kinds import Kind
from judgments.models import HIT, Item, Study, Unit
from judgments.operations import change_item, take_back_change
from judgments.studies.by_hand import state_of_hand_changes
from judgments.studies.generation import build_batch
from judgments.studies.studies import design_of, kind_of, why_not_discarded
from judgments.studies.study_page import (
    Context,
    Group,
    add_operation,
    study_page,
    take_refusal,
)

MOST_ASSIGNMENTS = 50  # shown, the newest
MOST_IMAGES = 500  # offered by name
TEXT_LABELS = {
    "reference": gettext_noop("Reference"),
    "first": gettext_noop("First text"),
    "second": gettext_noop("Second text"),
    "text": gettext_noop("Text"),
}


@study_page("hit", order=23, group=Group.DESIGN, under="hits")
def show_hit(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """Show the HIT of the address's ``number``; of a draft, from a draw that is not stored."""
    design, kind, is_draft = design_of(study), kind_of(study), study.state == Study.State.DRAFT
    obstacle = "" if is_draft else why_not_discarded(study)
    context |= {
        "refusal": take_refusal(request, study),
        "by_hand": design.by_hand,
        "seen": state_of_hand_changes(study),
        "obstacle": obstacle,
        "may_edit": context["may_change"] and not obstacle,
    }
    hits: Any = study.hits.order_by("position")
    if is_draft:
        try:
            hits = build_batch(design, study.dataset, maker=study.created_by_id).hits
        except QuorumError as error:
            context["problem"] = str(error)
            return TemplateResponse(request, "admin/annotation/study_hit.html", context)
    count = len(hits) if is_draft else hits.count()
    if not count:
        raise Http404
    number = min(number_in(request), count)
    hit = hits[number - 1]
    units: Sequence[Any] = hit.units if is_draft else units_of_hit(hit.pk)
    names = {unit.image for unit in units} if is_draft else set()
    items = {item.name: item for item in study.dataset.items.filter(name__in=names)}
    context |= {
        "hit": hit,
        "number": number,
        "count": count,
        "previous": number - 1,
        "next": number + 1 if number < count else 0,
        "preview": f"{preview_address(study)}?number={number}",
        "controls": sum(unit.control for unit in units),
        "items": [_describe(unit, items[unit.image] if is_draft else unit.item, kind) for unit in units],
        "shows_picture": kind.page.shows_picture or design.source.show,
        "new_hits": range(1, max((change.hit for change in design.by_hand), default=0) + 2),
        "images": study.dataset.items.values_list("name", flat=True)[:MOST_IMAGES],
        **({} if is_draft else _work_on(hit, units, kind)),
    }
    return TemplateResponse(request, "admin/annotation/study_hit.html", context)


def _describe(unit: Any, item: Item, kind: Kind) -> dict[str, Any]:
    texts = shown_texts(unit)
    labels = TEXT_LABELS if "second" in texts else {**TEXT_LABELS, "first": TEXT_LABELS["text"]}
    known: dict[str, Any] = (
        describe_control_item(kind, unit) if unit.control else {"right_answer": "", "texts": ()}
    )
    return {
        "unit": unit,
        "item": item,
        "picture": picture_address(item) if kind.page.shows_picture else "",
        "texts": [(name, _(labels.get(name, name)), text) for name, text in texts.items()],
        "right": known["right_answer"]
        or ", ".join(text.text for text, is_right in known["texts"] if is_right),
        "repeated": unit.control_kind == REPEATED,
    }


def _work_on(hit: HIT, units: Sequence[Unit], kind: Kind) -> dict[str, Any]:
    """Return who took a HIT, who holds it now, and the current answers by item."""
    assignments = list(
        Assignment.objects.filter(hit=hit)
        .select_related("worker")
        .order_by("-accepted_at")[:MOST_ASSIGNMENTS]
    )
    answers: dict[int, list[tuple[str, str]]] = defaultdict(list)
    rows = Judgment.objects.filter(assignment__in=assignments, replaced_by=None).order_by("pk")
    names = {assignment.pk: assignment.worker.name for assignment in assignments}
    for unit, assignment, value, answer in rows.values_list("unit_id", "assignment_id", "value", "answer"):
        described = kind.describe_answer(value if answer is None else answer)
        answers[unit].append((names[assignment], described))
    leases = Assignment.objects.filter(hit=hit).with_lease(timezone.now())
    return {
        "assignments": assignments,
        "holders": list(leases.values_list("worker__name", flat=True)),
        "answers": [
            (number, unit, answers[unit.pk]) for number, unit in enumerate(units, 1) if unit.pk in answers
        ],
    }


add_operation(change_item, label="Change it", fields=(), beside=True)
add_operation(take_back_change, label="Take the last change back", fields=(), beside=True)
