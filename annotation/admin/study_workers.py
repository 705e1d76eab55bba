"""The workers' page of a study: its link, who may join, opening and closing."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone

from annotation.admin.crowd_jobs import go_on
from annotation.admin.forms import InvitationForm
from annotation.backends import backend_of
from annotation.models import Assignment, Invitation, Participation
from annotation.services.crowd import begin_closing, begin_opening
from annotation.services.invitations import create_invitations
from judgments.admin.addresses import public_address
from judgments.admin.base import signed_in
from judgments.admin.study_pages import Context, Group, StudyPage, StudyStep, add_page, add_step, page_address
from judgments.errors import WrongState
from judgments.models import Study
from judgments.services.studies import design_of

ON_A_PAGE = 100


def show_workers(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """Link, invitations, and who holds what."""
    design, backend = design_of(study), backend_of(study)
    invitations = Invitation.objects.filter(study=study).select_related("worker")
    page = Paginator(invitations, ON_A_PAGE).get_page(request.GET.get("page"))
    states = Assignment.objects.filter(study=study).aggregate(
        held=Count("pk", filter=Q(state="accepted", expires_at__gt=timezone.now())),
        handed_in=Count("pk", filter=Q(state__in=["submitted", "approved", "rejected"])),
        returned=Count("pk", filter=Q(state="returned")),
        expired=Count("pk", filter=Q(state="expired")),
    )
    context |= {
        "design": design,
        "link": public_address(
            request, study, code=design.access.code if design.access.join == "code" else ""
        ),
        "sent_by": backend.title if backend.sends_people else "",
        "invited": design.access.join == "invited" and not backend.sends_people,
        "page": page,
        "invitations": [
            {"invitation": one, "link": public_address(request, study, code=one.code)}
            for one in page.object_list
        ],
        "joined": Participation.objects.filter(study=study).count(),
        "states": states,
        "invitation_form": InvitationForm(),
    }
    return TemplateResponse(request, "admin/annotation/study_workers.html", context)


def _may_open(study: Study) -> bool:
    """Simulated answers and people's are never mixed; imported judgments ask nobody."""
    waits = study.state in (Study.State.GENERATED, Study.State.CLOSED)
    return waits and not study.simulated and study.source == Study.Source.DESIGNED


def _open(request: HttpRequest, study: Study) -> HttpResponse:
    messages.success(request, begin_opening(study=study, by=signed_in(request)))
    go_on(request, study)
    return redirect(page_address(study, "crowd" if backend_of(study).sends_people else "workers"))


def _close(request: HttpRequest, study: Study) -> None:
    begin_closing(study=study, by=signed_in(request))
    go_on(request, study)


def _invite(request: HttpRequest, study: Study) -> None:
    form = InvitationForm(request.POST)
    if not form.is_valid():
        raise WrongState(_first_error(form))
    made = create_invitations(study=study, count=form.cleaned_data["count"], note=form.cleaned_data["note"])
    messages.success(
        request, "One invitation was made." if len(made) == 1 else f"{len(made)} invitations were made."
    )


def _first_error(form: InvitationForm) -> str:
    name, errors = next(iter(form.errors.items()))
    return f"{form.fields[name].label}: {errors[0]}"


add_page(StudyPage(name="workers", label="Workers", order=40, view=show_workers, group=Group.COLLECT))
add_step(
    StudyStep(
        name="open",
        label="Open to workers",
        run=_open,
        offered=_may_open,
        primary_in=frozenset({Study.State.GENERATED.value}),
    )
)
add_step(
    StudyStep(
        name="close",
        label="Close",
        run=_close,
        done="The study is closed; who holds a HIT may still hand it in.",
        offered=lambda study: study.state == Study.State.OPEN,
    )
)
add_step(StudyStep(name="invite", label="Make invitations", run=_invite))
