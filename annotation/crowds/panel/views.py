"""The pages for people sent by a panel: the entrance with a start button, and the end with the return address."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.csrf import csrf_exempt

from annotation.crowds.panel.admission import TOOK_PART_BEFORE, find_session, start_session
from annotation.crowds.panel.backend import ExternalBackend
from annotation.crowds.panel.endings import end_panel_session
from annotation.crowds.panel.links import (
    PanelIds,
    check_link_signature,
    ids_of_link,
    read_signed_ids,
    sign_ids,
)
from annotation.crowds.panel.sessions import (
    completion_code_for,
    completion_code_of,
    count_submitted,
    outcome_of,
    panel_ids_of,
    return_address_for,
    session_token_of,
)
from annotation.errors import AddressFull, CountryProblem, JoinRefused
from annotation.models import CrowdSession
from annotation.quality.exclusions import refuse_paused_study
from annotation.views.decorators import GET_POST, see_other, worker_page
from annotation.views.visitors import remember_worker, session_of, worker_of
from annotation.work.sheet.effort import describe_effort
from annotation.work.sheet.texts import read_design, spell_duration
from common.amounts import spell_money
from common.errors import QuorumError
from common.markup import render_markdown
from judgments.design.countries import countries_by_name
from judgments.design.quiz import asks_anything
from judgments.design.study_design import StudyDesign
from judgments.models import Study
from judgments.studies.studies import find_study


class CrossSiteForm(QuorumError):
    """Raised if the form of the entrance is sent from another site; nothing is stored."""

    status = 403
    title = gettext_noop("Form sent from another site")


@csrf_exempt  # no cookie is set before the start, the ids are signed, and posts from other sites are refused below
@worker_page(GET_POST)
def show_entry(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the study with a start button, or the outcome of a session that has ended. Start a session on POST.

    A GET request stores nothing.
    """
    study = find_study(slug)
    design = read_design(study)
    if design.crowd.backend != ExternalBackend.name:
        raise Http404("This study has no panel.")
    if study.simulated or study.state in (Study.State.DRAFT, Study.State.GENERATED):
        why = "simulated" if study.simulated else "not yet"
        return render(request, "annotation/panel/not_open.html", {"study": study, "why": why})
    if request.method == "POST":
        return _start_session(request, study, design)
    ids = ids_of_link(design.panel, request.GET)
    check_link_signature(study=study, design=design, ids=ids, query=request.GET)
    session = find_session(study=study, ids=ids)
    if session is not None and outcome_of(session):
        return _render_outcome(request, study, design, outcome_of(session), session)
    if session is None and study.state != Study.State.OPEN:
        return _render_outcome(request, study, design, "full")  # the study is closed
    if session is None:
        refuse_paused_study(study)
    return _render_entry(request, study, design, ids, session)


def _render_entry(
    request: HttpRequest,
    study: Study,
    design: StudyDesign,
    ids: PanelIds,
    session: CrowdSession | None,
    *,
    problem: str = "",
    status: int = 200,
) -> HttpResponse:
    page_count = design.panel.hits
    effort = describe_effort(study)
    asks_country = bool(design.requirements_checked_here.countries) and session is None
    context: dict[str, Any] = {
        "study": study,
        "design": design,
        "consent": render_markdown(design.consent) if design.consent else "",
        "countries": countries_by_name() if asks_country else {},
        "country": request.POST.get("country", ""),
        "has_quiz": asks_anything(design.quiz),
        "signed_ids": sign_ids(study, ids),
        "has_started": session is not None,
        "problem": problem,
        "page_count": page_count,
        "session_duration": spell_duration(page_count * effort["seconds"]),
        "session_pay": spell_money(page_count * design.crowd.reward_cents, design.named_currency),
        **effort,
    }
    return render(request, "annotation/panel/entry.html", context, status=status)


def _start_session(request: HttpRequest, study: Study, design: StudyDesign) -> HttpResponse:
    """Start the person's session, and redirect them to the instructions, to the work, or to the outcome."""
    # old browsers do not send this header, so a request without it is allowed
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        raise CrossSiteForm(_("Nothing was recorded: please press “Start” on the page of the study."))
    ids = read_signed_ids(study, request.POST.get("seal", ""))
    if "decline" in request.POST:  # nothing is stored about people who decline
        return _render_outcome(request, study, design, "returned")
    earlier = find_session(study=study, ids=ids)
    try:
        session = start_session(
            study=study,
            ids=ids,
            consent=request.POST.get("consent") == "1",
            country=request.POST.get("country", "")[:10],
        )
    except (AddressFull, JoinRefused, CountryProblem) as error:
        return _render_entry(request, study, design, ids, earlier, problem=str(error), status=error.status)
    if outcome_of(session):
        response: HttpResponse = see_other("annotation:panel-end", study.slug)
    else:
        response = see_other("annotation:work" if earlier is not None else "annotation:start", study.slug)
    remember_worker(response, session_token_of(session))
    return response


@worker_page(GET_POST)
def show_end(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the outcome of an ended session, or ask whether to end a running one."""
    study = find_study(slug)
    worker = worker_of(request)
    session = session_of(study=study, worker=worker) if worker is not None else None
    if session is None:
        return redirect("annotation:study", slug)
    if request.method == "POST" and "confirm" in request.POST:
        end_panel_session(session=session, status=CrowdSession.Status.RETURNED)
        return see_other("annotation:panel-end", slug)
    design = read_design(study)
    if outcome_of(session):
        return _render_outcome(request, study, design, outcome_of(session), session)
    context = {
        "study": study,
        "design": design,
        "submitted_page_count": count_submitted(session),
        "page_count": design.panel.hits,
    }
    return render(request, "annotation/panel/stop.html", context)


def _render_outcome(
    request: HttpRequest, study: Study, design: StudyDesign, outcome: str, session: CrowdSession | None = None
) -> HttpResponse:
    """Show the outcome, one of ``judgments.design.panels.OUTCOMES``, with the code or the address for the return.

    Args:
        session: None if nothing was stored about the person.
    """
    code = completion_code_of(session) if session is not None else completion_code_for(study, design, outcome)
    ids = panel_ids_of(session) if session is not None else PanelIds(worker="")
    context = {
        "study": study,
        "design": design,
        "outcome": outcome,
        "code": code,
        "return_address": return_address_for(design, outcome, code=code, ids=ids),
        "submitted_page_count": count_submitted(session) if session is not None else 0,
        "page_count": design.panel.hits,
        "is_recorded": session is not None,
        "screen_out_pay": spell_money(design.crowd.screen_out_cents, design.named_currency),
        "took_part_before": session is not None and session.feedback == TOOK_PART_BEFORE,
    }
    return render(request, "annotation/panel/outcome.html", context)
