"""Pages of a study about its work: "Participants", and a HIT with its items, holders, answers and changes.

The module also adds the forms of operations on a running study, which these pages or the dashboard show.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.crowds import backend_of
from annotation.crowds.operations import close
from annotation.models import Assignment, Invitation, Judgment, Participation
from annotation.quality.control_figures import describe_control_item
from annotation.work.operations import expire, extend, invite, pause, resume
from annotation.work.sheet.units import units_of_hit
from common.errors import QuorumError
from judgments.admin.addresses import picture_address, preview_address, public_address
from judgments.admin.base import requested_number
from judgments.design.study_design import StudyDesign
from judgments.drawing.by_hand import shown_texts
from judgments.drawing.controls.makers import REPEATED
from judgments.kinds import Kind
from judgments.models import HIT, Item, Study, Unit
from judgments.studies.designs import design_of, kind_of
from judgments.studies.discarding import why_not_discarded
from judgments.studies.generation.batches import build_batch
from judgments.studies.generation.hand_changes import state_of_hand_changes
from judgments.studies.operations import change_item, take_back_change
from judgments.studies.pages import Context, StudySection, was_opened
from judgments.studies.step_form import add_operation, take_refusal
from judgments.studies.study_page import PAGES, study_page

PAGE_SIZE = 100  # invitations per page
MAX_SHOWN = 50  # newest assignments of a HIT
MAX_IMAGES = 500  # images whose names are suggested
TEXT_LABELS = {
    "reference": gettext_noop("Reference"),
    "first": gettext_noop("First text"),
    "second": gettext_noop("Second text"),
    "text": gettext_noop("Text"),
}


@study_page(
    "workers",
    "Participants",
    order=40,
    has_tab=lambda study: was_opened(study) or design_of(study).access.join == "invited",
    section=StudySection.LIVE,
    section_before_opening=StudySection.LAUNCH,
    help="workers.md",
)
def show_workers(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    design = design_of(study)
    backend = backend_of(study)
    # the forms to run the study are here, unless a feature has another page for them
    shows_run_forms = not any(page.has_run_forms for page in PAGES.values())
    invitations = Invitation.objects.filter(study=study).select_related("worker")
    page = Paginator(invitations, PAGE_SIZE).get_page(request.GET.get("page"))
    assignment_counts = Assignment.objects.filter(study=study).aggregate(
        working=Count("pk", filter=Q(state="accepted", expires_at__gt=timezone.now())),
        handed_in=Count("pk", filter=Q(state__in=["submitted", "approved", "rejected"])),
        returned=Count("pk", filter=Q(state="returned")),
        expired=Count("pk", filter=Q(state="expired")),
    )
    context |= {
        "design": design,
        "link": public_address(request, study),
        "sent_by": _(backend.title) if backend.sends_people else "",
        "needs_invitation": design.access.join == "invited" and not backend.sends_people,
        "page": page,
        "invitations": [
            {"invitation": invitation, "link": public_address(request, study, code=invitation.code)}
            for invitation in page.object_list
        ],
        "joined_count": Participation.objects.filter(study=study).count(),
        "assignment_counts": assignment_counts,
        "shows_run_forms": shows_run_forms,
        "refusal": take_refusal(request, study) if shows_run_forms else None,
    }
    return TemplateResponse(request, "admin/annotation/study_workers.html", context)


add_operation(
    close,
    label="Close",
    has_button=lambda study: study.state == Study.State.OPEN,
    leads_to=lambda study: "results",  # the next step is to look at results
)
add_operation(invite, label="Create invitations", fields=())  # (): a template has the form

# these operations have forms in ``run_study.html``, which is on the dashboard if that feature is on
add_operation(pause, label="Pause")
add_operation(resume, label="Resume")
add_operation(
    extend, name="add-workers", label="Extend", fields=("workers", "hits", "why"), needed=("workers",)
)
add_operation(
    extend, name="more-time", label="Give more time", fields=("minutes", "why"), needed=("minutes",)
)
# without ids: all overdue assignments
add_operation(expire, name="take-back", label="Expire", fields=("why",))
add_operation(
    expire, name="expire-slots", label="Close open places", fields=("hits", "why"), needed=("hits",)
)


@study_page(
    "hit", order=23, section=StudySection.DESIGN, parent_page="hits", help="designing.md#hits-by-hand"
)
def show_hit(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """Show the HIT with the ``number`` in the address. For a draft, generate the HITs without storing them."""
    design = design_of(study)
    kind = kind_of(study)
    is_draft = study.state == Study.State.DRAFT
    obstacle = "" if is_draft else why_not_discarded(study)  # a change generates the pages of work again
    context |= {
        "refusal": take_refusal(request, study),
        "hand_changes": design.by_hand,
        "state_of_changes": state_of_hand_changes(study),
        "obstacle": obstacle,
        "may_edit": context["may_change"] and not obstacle,
    }
    try:
        shown_hit = _generate_hit(request, study, design) if is_draft else _read_hit(request, study)
    except QuorumError as error:
        context["generation_problem"] = str(error)
        return TemplateResponse(request, "admin/annotation/study_hit.html", context)
    units = [unit for unit, _item in shown_hit.units]
    context |= {
        "hit": shown_hit.hit,
        "number": shown_hit.number,
        "hit_count": shown_hit.hit_count,
        "previous_number": shown_hit.number - 1,
        "next_number": shown_hit.number + 1 if shown_hit.number < shown_hit.hit_count else 0,
        "preview_address": f"{preview_address(study)}?number={shown_hit.number}",
        "control_count": sum(unit.control for unit in units),
        "items": [_describe_unit(unit, item, kind) for unit, item in shown_hit.units],
        "offers_other_item": kind.page.shows_picture or design.source.show,
        # numbers, from 1 among added pages alone, of the pages that manual changes have added and of a new one
        "manual_page_numbers": range(1, max((change.hit for change in design.by_hand), default=0) + 2),
        "image_names": study.dataset.items.values_list("name", flat=True)[:MAX_IMAGES],
    }
    if not is_draft:
        context |= _work_context(shown_hit.hit, units, kind)
    return TemplateResponse(request, "admin/annotation/study_hit.html", context)


class _ShownHit(NamedTuple):
    """The HIT that the page shows, its number (from 1) among the HITs, and its units, each with the item.

    HIT and units are rows of the database or, for a draft, those of ``judgments.drawing.material``.
    """

    hit: Any
    number: int
    hit_count: int
    units: list[tuple[Any, Item]]


def _read_hit(request: HttpRequest, study: Study) -> _ShownHit:
    hits = study.hits.order_by("position")
    hit_count = hits.count()
    number = _chosen_number(request, hit_count)
    hit = hits[number - 1]
    return _ShownHit(hit, number, hit_count, [(unit, unit.item) for unit in units_of_hit(hit.pk)])


def _generate_hit(request: HttpRequest, study: Study, design: StudyDesign) -> _ShownHit:
    """Generate the HITs of a draft, and return the chosen one. Raise QuorumError if they cannot be generated."""
    hits = build_batch(design, study.dataset, maker=study.created_by_id).hits
    number = _chosen_number(request, len(hits))
    hit = hits[number - 1]
    # units that are not stored have the name of their item
    image_names = {unit.image for unit in hit.units}
    items = {item.name: item for item in study.dataset.items.filter(name__in=image_names)}
    return _ShownHit(hit, number, len(hits), [(unit, items[unit.image]) for unit in hit.units])


def _chosen_number(request: HttpRequest, hit_count: int) -> int:
    """Return the number of the HIT in the address, at most ``hit_count``. Raise Http404 if there is no HIT."""
    if not hit_count:
        raise Http404
    return min(requested_number(request), hit_count)


def _describe_unit(unit: Any, item: Item, kind: Kind) -> dict[str, Any]:
    """Return a unit as the page of a HIT shows it: its texts and, for a control item, the right answer."""
    texts = shown_texts(unit)
    labels = TEXT_LABELS if "second" in texts else {**TEXT_LABELS, "first": TEXT_LABELS["text"]}
    right_answer = ""
    if unit.control:
        control = describe_control_item(kind, unit)
        right_texts = [text.text for text, is_right in control["texts"] if is_right]
        right_answer = control["right_answer"] or ", ".join(right_texts)
    return {
        "unit": unit,
        "item": item,
        "picture": picture_address(item) if kind.page.shows_picture else "",
        "texts": [(name, _(labels.get(name, name)), text) for name, text in texts.items()],
        "right_answer": right_answer,
        "is_repeated": unit.control_kind == REPEATED,
    }


def _work_context(hit: HIT, units: Sequence[Unit], kind: Kind) -> dict[str, Any]:
    """Return template variables: the latest assignments of a HIT, who holds it now, and the answers to each unit."""
    assignments = list(
        Assignment.objects.filter(hit=hit).select_related("worker").order_by("-accepted_at")[:MAX_SHOWN]
    )
    answers: dict[int, list[tuple[str, str]]] = defaultdict(list)  # by unit: worker's name, answer in words
    rows = Judgment.objects.filter(assignment__in=assignments, replaced_by=None).order_by("pk")
    names = {assignment.pk: assignment.worker.name for assignment in assignments}
    for unit, assignment, value, answer in rows.values_list("unit_id", "assignment_id", "value", "answer"):
        # a judgment has a number (``value``) or, for an open question such as a caption, an ``answer``
        description = kind.describe_answer(value if answer is None else answer)
        answers[unit].append((names[assignment], description))
    leases = Assignment.objects.filter(hit=hit).with_lease(timezone.now())
    return {
        "assignments": assignments,
        "holders": list(leases.values_list("worker__name", flat=True)),
        "answers": [
            (number, unit, answers[unit.pk]) for number, unit in enumerate(units, 1) if unit.pk in answers
        ],
    }


add_operation(change_item, label="Change the item", fields=(), inline=True)  # inline: errors are at the form
add_operation(take_back_change, label="Undo the last change", fields=(), inline=True)
