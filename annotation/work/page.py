"""The page "Participants" of a study, and the operations of its dashboard on the work."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.crowds import backend_of
from annotation.crowds.publishing import close
from annotation.models import Assignment, Invitation, Participation
from annotation.work.operations import expire, extend, invite, pause, resume
from judgments.admin.base import public_address
from judgments.models import Study
from judgments.studies.studies import design_of
from judgments.studies.study_page import Context, Group, add_operation, study_page, was_opened

ON_A_PAGE = 100


@study_page(
    "workers",
    "Participants",
    order=40,
    shown=lambda study: was_opened(study) or design_of(study).access.join == "invited",
    group=Group.LIVE,
    before=Group.LAUNCH,
)
def show_workers(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    design, backend = design_of(study), backend_of(study)
    invitations = Invitation.objects.filter(study=study).select_related("worker")
    page = Paginator(invitations, ON_A_PAGE).get_page(request.GET.get("page"))
    states = Assignment.objects.filter(study=study).aggregate(
        working=Count("pk", filter=Q(state="accepted", expires_at__gt=timezone.now())),
        handed_in=Count("pk", filter=Q(state__in=["submitted", "approved", "rejected"])),
        returned=Count("pk", filter=Q(state="returned")),
        expired=Count("pk", filter=Q(state="expired")),
    )
    context |= {
        "design": design,
        "link": public_address(
            request, study, code=design.access.code if design.access.join == "code" else ""
        ),
        "sent_by": _(backend.title) if backend.sends_people else "",
        "invited": design.access.join == "invited" and not backend.sends_people,
        "page": page,
        "invitations": [
            {"invitation": invitation, "link": public_address(request, study, code=invitation.code)}
            for invitation in page.object_list
        ],
        "joined": Participation.objects.filter(study=study).count(),
        "states": states,
    }
    return TemplateResponse(request, "admin/annotation/study_workers.html", context)


add_operation(
    close,
    label="Close",
    offered=lambda study: study.state == Study.State.OPEN,
    leads_to=lambda study: "results",  # what people said is what follows
)
add_operation(invite, label="Make invitations", fields=())

# on the dashboard
add_operation(pause, label="Pause")
add_operation(resume, label="Resume")
add_operation(
    extend, name="add-workers", label="Extend", fields=("workers", "hits", "why"), needed=("workers",)
)
add_operation(
    extend, name="more-time", label="Give more time", fields=("minutes", "why"), needed=("minutes",)
)
add_operation(expire, name="take-back", label="Take back", fields=("why",))
add_operation(
    expire, name="expire-slots", label="Expire open slots", fields=("hits", "why"), needed=("hits",)
)
