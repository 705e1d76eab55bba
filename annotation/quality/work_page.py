"""The page "Work" of a study, on which finished work is approved or rejected."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.db.models import Avg, Count
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.models import Assignment, CrowdCall
from annotation.quality.controls import ControlTally, control_tallies
from annotation.quality.operations import answer_appeal, approve, approve_unopposed, reject
from annotation.quality.reviews import find_objections
from annotation.snapshots import has_many_assignments
from judgments.cached_figures import cached_figures
from judgments.figures import FiguresDefinition, add_figures
from judgments.models import Study
from judgments.studies.pages import Context, StudySection
from judgments.studies.step_form import add_operation
from judgments.studies.study_page import study_page

PAGE_SIZE = 50
STATE_LABELS = {
    "submitted": gettext_noop("waiting"),
    "approved": gettext_noop("approved"),
    "rejected": gettext_noop("rejected"),
    "invalidated": gettext_noop("invalidated"),
    "apart": gettext_noop("not used"),  # the crowd does not know this work
}

CONTROL_TALLIES = add_figures(
    FiguresDefinition(
        "answers on check questions",
        control_tallies,
        rows=lambda tallies: sum(tally.answer_count for tally in tallies),  # judgments that were read
        # JSON stores the named tuples as lists
        from_json=lambda stored_tallies: [ControlTally(*fields) for fields in stored_tallies],
        first_needs_job=has_many_assignments,
    )
)


@study_page("work", "Work", order=43, section=StudySection.LIVE, help="quality.md#review")
def show_work(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    finished_work = Assignment.objects.filter(study=study, state__in=STATE_LABELS, submitted_at__isnull=False)
    counts = dict.fromkeys(STATE_LABELS, 0)
    counts.update(finished_work.order_by().values_list("state").annotate(n=Count("pk")))
    state = request.GET.get("state", "submitted" if counts["submitted"] else "")
    if state in STATE_LABELS:
        finished_work = finished_work.filter(state=state)
    else:
        state = ""  # work in any of these states
    # paginate row ids only: for a late page, the database would read the whole rows of all pages before it
    pages = Paginator(finished_work.order_by("submitted_at", "pk").values_list("pk", flat=True), PAGE_SIZE)
    pages.count = counts[state] if state else sum(counts.values())  # so that it does not count again
    page = pages.get_page(request.GET.get("page"))
    rows = Assignment.objects.filter(pk__in=page.object_list).select_related("worker", "hit", "exclusion")
    shown_work = list(rows.prefetch_related("appeal_notes__by").order_by("submitted_at", "pk"))
    # a separate query: if joined to the sorted rows, the database would read the judgments of all work
    shown_ids = [assignment.pk for assignment in shown_work]
    rows_of_figures = Assignment.objects.filter(pk__in=shown_ids).order_by()
    answer_figures = {
        pk: {"answer_count": answer_count, "mean_seconds": mean_seconds}
        for pk, answer_count, mean_seconds in rows_of_figures.values_list(
            "pk", Count("judgments"), Avg("judgments__seconds")
        )
    }
    cached_tallies = cached_figures(study, CONTROL_TALLIES)
    workers = {assignment.worker_id for assignment in shown_work}
    # a flag that proves nothing is an objection on this page only, where a person decides
    objections = find_objections(study, workers, tallies=cached_tallies.value, with_signs=True)
    pending_call_count = 0
    if study.platform:
        decisions = CrowdCall.objects.filter(study=study, kind__in=["approve", "reject"])
        pending_call_count = decisions.filter(state__in=["waiting", "started"]).count()
    context |= {
        "counted": cached_tallies,  # the study's base template says when they were computed
        "page": page,
        "work": [
            {"assignment": row, **answer_figures[row.pk], "objections": objections.get(row.worker_id, [])}
            for row in shown_work
        ],
        "pending_call_count": pending_call_count,
        "states": [
            {"name": name, "label": _(label), "count": counts[name]} for name, label in STATE_LABELS.items()
        ],
        "shown_state": state,
    }
    return TemplateResponse(request, "admin/annotation/study_work.html", context)


# fields=(): the template of the page has the forms
add_operation(approve, label="Approve work", fields=())
add_operation(reject, label="Reject work", fields=())
add_operation(answer_appeal, label="Add a note", fields=())
add_operation(approve_unopposed, label="Approve all work without objections", fields=())
