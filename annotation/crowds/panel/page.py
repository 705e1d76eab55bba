"""The page "Panel" of a study: links and codes for the panel, bonuses, and pay for sessions that ended early.

The functions of the page's steps take the request and the study; ``add_step`` registers them.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.crowds.outbox.delivery import carry_out_calls
from annotation.crowds.panel.backend import ExternalBackend
from annotation.crowds.panel.links import signed_links
from annotation.crowds.panel.page_context import panel_context, site_address
from annotation.crowds.panel.payouts import as_csv, make_bonus_list, pay_pages
from annotation.crowds.raw_ids import forget_raw_ids
from annotation.money.orders import with_confirmation
from common.errors import WrongState
from judgments.admin.base import signed_in
from judgments.models import Study
from judgments.operations import Outcome
from judgments.studies.pages import Context, StudySection, StudyStep
from judgments.studies.study_page import add_step, study_page, study_page_address


def has_panel(study: Study) -> bool:
    """Return whether the study's people come from a panel without an API."""
    return str(study.design.get("crowd", {}).get("backend", "")) == ExternalBackend.name


@study_page(
    "panel",
    "Panel",
    order=42,
    has_tab=has_panel,
    section=StudySection.LIVE,
    section_before_opening=StudySection.LAUNCH,
    help="crowds/panels.md",
)
def show_panel(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    return TemplateResponse(
        request, "admin/annotation/study_panel.html", context | panel_context(request, study)
    )


def csv_download(rows: Sequence[Sequence[object]], name: str) -> HttpResponse:
    response = HttpResponse(as_csv(rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _download_bonus_list(request: HttpRequest, study: Study) -> HttpResponse:
    """Send a new bonus list or, if the form names a number, an earlier one again."""
    number_text = request.POST.get("number", "")
    requested_number = int(number_text) if number_text.isdecimal() and len(number_text) < 6 else 0
    number, lines = make_bonus_list(study=study, number=requested_number, by=signed_in(request))
    return csv_download(lines, f"{study.slug}-bonuses-{number}.csv")


def _download_signed_links(request: HttpRequest, study: Study) -> HttpResponse:
    lines = signed_links(study=study, people=request.POST.get("people", ""), address=site_address(request))
    return csv_download([("id", "link"), *lines], f"{study.slug}-links.csv")


@with_confirmation("pay-pages")
def _order_pay_for_pages(*, study: Study, by: User | None, why: str) -> Outcome:
    bonus_count = pay_pages(study=study, why=why, by=by)
    message = ngettext(
        "One bonus is recorded; it will be in the next bonus list.",
        "%(count)s bonuses are recorded; they will be in the next bonus list.",
        bonus_count,
    )
    return Outcome(message % {"count": bonus_count})


def _pay_pages(request: HttpRequest, study: Study) -> HttpResponse:
    outcome = _order_pay_for_pages(study=study, by=signed_in(request), why=request.POST.get("why", ""))
    if not outcome.is_pending:  # a pending order waits for a second person
        carry_out_calls(study=study)
    messages.success(request, outcome.message)
    return redirect(study_page_address(study, "panel"))


def _forget_ids(request: HttpRequest, study: Study) -> HttpResponse:
    if request.POST.get("typed", "").strip() != study.slug:
        raise WrongState(_("Nothing was deleted: to confirm, type %(slug)s.") % {"slug": study.slug})
    id_count = forget_raw_ids(study=study, by=signed_in(request))
    message = ngettext("One raw id is deleted.", "%(gone)s raw ids are deleted.", id_count)
    messages.success(request, message % {"gone": id_count})
    return redirect(study_page_address(study, "panel"))


add_step(StudyStep(name="signed-links", label="Make signed links", run=_download_signed_links))
add_step(StudyStep(name="bonus-list", label="Make a bonus list", run=_download_bonus_list))
add_step(
    StudyStep(name="pay-pages", label="Pay for pages of work in sessions that ended early", run=_pay_pages)
)
add_step(StudyStep(name="forget-ids", label="Delete raw ids", run=_forget_ids))
