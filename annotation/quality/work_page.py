"""The finished work of a study: approved or rejected page by page, or many at once."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Avg, Count
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from annotation.crowds import backend_of
from annotation.crowds.steps_page import go_on
from annotation.models import Assignment, CrowdCall
from annotation.quality.controls import ControlTally, control_tallies
from annotation.quality.reviews import (
    answer_appeal,
    approve_assignments,
    reasons_against,
    reject_assignments,
    reject_for_what_was_found,
)
from annotation.snapshots import much_work
from common.errors import WrongState
from judgments.access.roles import Right
from judgments.admin.base import signed_in
from judgments.models import Study
from judgments.remembered import Figures, add_figures, remembered
from judgments.studies.study_page import Context, Group, StudyPage, StudyStep, add_page, add_step

ON_A_PAGE = 50
SHOWN = {
    "submitted": "waiting",
    "approved": "approved",
    "rejected": "rejected",
    "invalidated": "invalidated",
    "apart": "kept apart",
}
ON_CONTROLS = add_figures(
    Figures(
        "answers on control items",
        control_tallies,
        rows=lambda found: sum(one.n for one in found),
        from_json=lambda rows: [ControlTally(*row) for row in rows],
        many=much_work,
    )
)


def show_work(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """Finished pages of work, those that wait first."""
    work = Assignment.objects.filter(study=study, state__in=SHOWN, submitted_at__isnull=False)
    counts = dict.fromkeys(SHOWN, 0) | dict(work.order_by().values_list("state").annotate(n=Count("pk")))
    chosen = request.GET.get("state", "submitted" if counts["submitted"] else "")
    if chosen in SHOWN:
        work = work.filter(state=chosen)
    else:
        chosen = ""
    # row ids alone are leafed through: of a late page, the rows of all pages before it would be read otherwise
    pages = Paginator(work.order_by("submitted_at", "pk").values_list("pk", flat=True), ON_A_PAGE)
    pages.count = counts[chosen] if chosen else sum(counts.values())  # counted above already
    page = pages.get_page(request.GET.get("page"))
    rows = Assignment.objects.filter(pk__in=page.object_list).select_related("worker", "hit", "exclusion")
    work_shown = list(rows.prefetch_related("appeal_notes__by").order_by("submitted_at", "pk"))
    # asked of these alone: beside the rows, the database would go through the judgments of all work to sort it
    given = {
        pk: (count, seconds)
        for pk, count, seconds in Assignment.objects.filter(pk__in=[one.pk for one in work_shown])
        .order_by()
        .values_list("pk", Count("judgments"), Avg("judgments__seconds"))
    }
    counted = remembered(study, ON_CONTROLS)
    against = reasons_against(study, {one.worker_id for one in work_shown}, known=counted.value)
    context |= {
        "counted": counted,
        "page": page,
        "work": [
            {
                "one": one,
                "given": given[one.pk][0],
                "seconds": given[one.pk][1],
                "against": against.get(one.worker_id, []),
            }
            for one in work_shown
        ],
        "asked": CrowdCall.objects.filter(
            study=study, kind__in=["approve", "reject"], state__in=["waiting", "started"]
        ).count()
        if study.place
        else 0,
        "states": [{"name": name, "label": label, "count": counts[name]} for name, label in SHOWN.items()],
        "chosen": chosen,
    }
    return TemplateResponse(request, "admin/annotation/study_work.html", context)


def _chosen(request: HttpRequest) -> list[UUID]:
    try:
        found = [UUID(key) for key in request.POST.getlist("assignment")]
    except ValueError:
        raise WrongState("Nothing was changed: there is no such page of work.") from None
    if not found:
        raise WrongState("Nothing was changed: choose the pages of work first.")
    return found


def _approve(request: HttpRequest, study: Study) -> None:
    count = approve_assignments(study=study, assignments=_chosen(request), by=signed_in(request))
    go_on(request, study)
    messages.success(request, _said(study, count, "approved"))


def _reject(request: HttpRequest, study: Study) -> None:
    reason = request.POST.get("reason", "")
    if "found" in request.POST and not reason.strip():
        count = reject_for_what_was_found(study=study, assignments=_chosen(request), by=signed_in(request))
    else:
        count = reject_assignments(
            study=study, assignments=_chosen(request), reason=reason, by=signed_in(request)
        )
    go_on(request, study)
    messages.success(request, _said(study, count, "rejected"))


def _said(study: Study, count: int, what: str) -> str:
    """What was done, or asked of the crowd, which has the last word."""
    pages = "One page of work is" if count == 1 else f"{count} pages of work are"
    if study.place and backend_of(study).sends_people:
        return f"{pages} to be {what}; the crowd is asked, and what it says stands here in a moment."
    return f"{pages} {what}."


def _note(request: HttpRequest, study: Study) -> None:
    found = _chosen(request)
    assignment = Assignment.objects.filter(study=study, pk=found[0]).select_related("study", "worker").first()
    if assignment is None:
        raise WrongState("Nothing was changed: there is no such page of work.")
    answer_appeal(assignment=assignment, text=request.POST.get("note", ""), by=signed_in(request))
    messages.success(request, f"The note stands beside the work of {assignment.worker}.")


add_page(StudyPage(name="work", label="Work", order=42, view=show_work, group=Group.CHECK))
add_step(StudyStep(name="approve", label="Approve work", run=_approve, permission=Right.REVIEW))
add_step(StudyStep(name="reject", label="Reject work", run=_reject, permission=Right.REVIEW))
add_step(StudyStep(name="appeal-note", label="Add a note", run=_note, permission=Right.REVIEW))
