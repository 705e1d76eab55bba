"""The finished work of a study: approved or rejected page by page, or many at once."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.db.models import Avg, Count
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from annotation.models import Assignment, CrowdCall
from annotation.quality.controls import ControlTally, control_tallies
from annotation.quality.operations import answer_appeal, approve, approve_unopposed, reject
from annotation.quality.reviews import reasons_against
from annotation.snapshots import much_work
from judgments.admin.operations import add_operation
from judgments.models import Study
from judgments.remembered import Figures, add_figures, remembered
from judgments.studies.study_page import Context, Group, StudyPage, add_page

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
    """Show finished assignments, those that wait for a decision first."""
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


add_page(StudyPage(name="work", label="Work", order=42, view=show_work, group=Group.CHECK))
add_operation(approve, label="Approve work", fields=())
add_operation(reject, label="Reject work", fields=())
add_operation(answer_appeal, label="Add a note", fields=())
add_operation(approve_unopposed, label="Approve what nothing speaks against", fields=())
