"""The finished work of a study: approved or rejected page by page, or many at once."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Avg, Count, Q
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from annotation.models import Assignment
from annotation.services.reviews import approve_assignments, reject_assignments
from judgments.admin.study_pages import Context, StudyPage, StudyStep, add_page, add_step
from judgments.errors import WrongState
from judgments.models import Study

ON_A_PAGE = 50
SHOWN = {"submitted": "waiting", "approved": "approved", "rejected": "rejected", "invalidated": "invalidated"}


def show_work(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """Finished pages of work, those that wait first."""
    work = Assignment.objects.filter(study=study, state__in=SHOWN, submitted_at__isnull=False)
    counts = work.aggregate(**{state: Count("pk", filter=Q(state=state)) for state in SHOWN})
    chosen = request.GET.get("state", "submitted" if counts["submitted"] else "")
    if chosen in SHOWN:
        work = work.filter(state=chosen)
    else:
        chosen = ""
    rows = (
        work.select_related("worker", "hit", "exclusion")
        .annotate(given=Count("judgments"), seconds=Avg("judgments__seconds"))
        .order_by("submitted_at", "pk")
    )
    page = Paginator(rows, ON_A_PAGE).get_page(request.GET.get("page"))
    context |= {
        "page": page,
        "work": list(page.object_list),
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
    count = approve_assignments(study=study, assignments=_chosen(request))
    messages.success(request, "One page of work is approved." if count == 1 else f"{count} are approved.")


def _reject(request: HttpRequest, study: Study) -> None:
    reason = request.POST.get("reason", "")
    count = reject_assignments(study=study, assignments=_chosen(request), reason=reason)
    messages.success(request, "One page of work is rejected." if count == 1 else f"{count} are rejected.")


add_page(StudyPage(name="work", label="Work", order=42, view=show_work))
add_step(StudyStep(name="approve", label="Approve work", run=_approve))
add_step(StudyStep(name="reject", label="Reject work", run=_reject))
