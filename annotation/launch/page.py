"""The page "Launch" of a study: the checklist before it is opened, then its link and the next steps."""

from __future__ import annotations

import segno
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from annotation.crowds import backend_of
from annotation.crowds.operations import open_to_workers
from annotation.crowds.panel.page import has_panel
from annotation.launch.checklist_page import Readiness, checklist, launch_of
from judgments.admin.base import public_address, signed_in
from judgments.admin.operations import add_operation
from judgments.models import Study
from judgments.studies.studies import design_of
from judgments.studies.study_page import Context, Group, StudyPage, add_page


def show_launch(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    backend = backend_of(study)
    launch = launch_of(study, signed_in(request))
    design, points = launch.design, checklist(launch)
    link = _link(request, study)
    context |= launch.plan | {
        "design": design,
        "points": points,
        "blocked": any(point.readiness is Readiness.BLOCKS for point in points),
        "missing": sum(point.readiness is Readiness.MISSING for point in points),
        "link": link,
        "qr_code": qr_code(link) if link else "",
        "where": backend.where(study),
        "sent_by": _(backend.title) if backend.sends_people else "",
        "has_panel": has_panel(study),
        "invited": design.access.join == "invited" and not backend.sends_people,
    }
    return TemplateResponse(request, "admin/annotation/study_launch.html", context)


def _link(request: HttpRequest, study: Study) -> str:
    """Return the address for participants; "" if a crowd sends them."""
    if backend_of(study).sends_people:
        return ""
    access = design_of(study).access
    return public_address(request, study, code=access.code if access.join == "code" else "")


def qr_code(address: str) -> SafeString:
    """Draw an address as SVG, dark on light in every colour scheme, so that all cameras read it."""
    drawn = segno.make_qr(address, error="m").svg_inline(
        scale=4, border=3, dark="#000", light="#fff", title=_("QR code of the link"), omitsize=True
    )
    return mark_safe(drawn)  # noqa: S308 - the address is drawn as squares, not written


def _may_reopen(study: Study) -> bool:
    """Return whether a study is closed; before the first opening, the page itself has the button."""
    return study.state == Study.State.CLOSED and not study.simulated and study.source == Study.Source.DESIGNED


add_page(
    StudyPage(
        name="launch",
        label="Checklist",
        order=20,
        view=show_launch,
        shown=lambda study: study.source == Study.Source.DESIGNED,
        group=Group.LAUNCH,
    )
)
add_operation(
    open_to_workers,
    label="Open to participants",
    offered=_may_reopen,
    leads_to=lambda study: "launch",
)
