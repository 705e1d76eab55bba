"""The page "Launch" of a study: its checklist and, once the study is open, its link and the next steps."""

from __future__ import annotations

import segno
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from annotation.crowds import UnavailableBackend, backend_of
from annotation.crowds.operations import open_to_workers
from annotation.crowds.panel.page import has_panel
from annotation.launch.views.launch import Readiness, launch_of
from annotation.launch.views.points import LAUNCH_JOB_SOURCES, checklist
from judgments.admin.addresses import public_address
from judgments.admin.base import signed_in
from judgments.models import Study
from judgments.studies.pages import Context, StudySection, was_opened
from judgments.studies.step_form import add_operation
from judgments.studies.study_page import study_page


@study_page(
    "launch",
    "Checklist",
    order=20,
    has_tab=lambda study: study.source == Study.Source.DESIGNED,
    section=StudySection.LAUNCH,
    help="tutorial.md#8-let-people-in",
)
def show_launch(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    backend = backend_of(study)
    if isinstance(backend, UnavailableBackend):
        raise backend.error()
    launch = launch_of(study, signed_in(request))
    design, points = launch.design, checklist(launch)
    public_link = "" if backend.sends_people else public_address(request, study)
    if not was_opened(study):
        for jobs_of in LAUNCH_JOB_SOURCES:
            context["jobs"] += jobs_of(study)
    context |= launch.plan | {  # the plan is template variables, too
        "design": design,
        "points": points,
        "can_go_back": launch.can_go_back,  # to the design, as the pages of work can be discarded
        "cannot_open": any(point.readiness is Readiness.BLOCKS for point in points),
        "opens_only_if_confirmed": any(point.readiness is Readiness.DOUBTFUL for point in points),
        "missing_count": sum(point.readiness is Readiness.MISSING for point in points),
        "public_link": public_link,
        "qr_code": draw_qr_code(public_link) if public_link else "",
        "entrance_sentence": backend.describe_entrance(study),
        "sent_by": _(backend.title) if backend.sends_people else "",
        "has_panel": has_panel(study),
        "needs_invitation": design.access.join == "invited" and not backend.sends_people,
    }
    return TemplateResponse(request, "admin/annotation/study_launch.html", context)


def draw_qr_code(address: str) -> SafeString:
    """Draw an address as a QR code in SVG.

    It is dark on light even in a dark colour scheme, so that all cameras can read it.
    """
    svg = segno.make_qr(address, error="m").svg_inline(
        scale=4, border=3, dark="#000", light="#fff", title=_("QR code for the link"), omitsize=True
    )
    return mark_safe(svg)  # noqa: S308 - the address is drawn as squares, not written


def _may_reopen(study: Study) -> bool:
    """Return whether the page offers to reopen a closed study. The first opening has a button of its own."""
    return study.state == Study.State.CLOSED and not study.simulated and study.source == Study.Source.DESIGNED


add_operation(
    open_to_workers,
    label="Open to participants",
    has_button=_may_reopen,
    fields=(),  # none are asked for
    leads_to=lambda study: "launch",
)
