"""The pages in Mechanical Turk's frame: arrival, work, and submission."""

from __future__ import annotations

from typing import Any

from csp.constants import SELF
from csp.decorators import csp_replace
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from annotation.crowds.claims import claim_for_session
from annotation.crowds.mturk.frames import (
    SUBMIT_PATH,
    Arrival,
    Frame,
    framed_address,
    new_ticket,
    read_arrival,
    sites_of,
)
from annotation.crowds.people import pseudonym
from annotation.crowds.sessions import receive_worker
from annotation.crowds.submitting import mark_as_submitted, too_late_message
from annotation.errors import ArrivalRefused, NotAdmitted
from annotation.models import Assignment, CrowdSession, Participation, Publication
from annotation.privacy.consent import consent_version
from annotation.quality.exclusions import refuse_stopped_worker
from annotation.views.decorators import GET, SeeOther, errors_as_pages, see_other, worker_page
from annotation.views.sheet_page import render_sheet
from annotation.views.visitors import frame_of, mark_as_framed, refuse_returned_session
from annotation.work.quiz import quiz_backend
from annotation.work.sheet.effort import describe_effort
from annotation.work.sheet.examples import worked_examples
from annotation.work.sheet.texts import read_design, translated_text
from annotation.work.sheet.units import page_units_of
from common.errors import ObjectNotFound
from common.markup import render_markdown
from judgments.design.study_design import StudyDesign
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.designs import design_of
from judgments.studies.studies import find_study

# expired ones are included: people who accepted the HIT before the study closed may finish
ANSWERABLE_STATES = (Publication.State.PUBLISHED, Publication.State.EXPIRED)


@never_cache
@csrf_exempt  # pages in a frame use no cookie, so a forged post could not abuse one
@xframe_options_exempt
@require_http_methods(["GET", "POST"])
def show_arrival(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Show an example until the HIT is accepted. Then show the consent form, if required, and redirect to the work."""
    try:
        study = find_study(slug)
    except ObjectNotFound as error:
        raise Http404(str(error)) from None
    sites = sites_of(study.platform)
    if not sites:
        raise Http404("This study is not at Mechanical Turk.")
    mark_as_framed(request)
    policy = {"frame-ancestors": list(sites), "form-action": [SELF, *sites]}

    # the policy depends on the study, and pages of errors need it, too
    def admit_arrival(request: HttpRequest) -> HttpResponse:
        return errors_as_pages(_admit_arrival)(request, study=study, sites=sites)

    response = csp_replace(policy)(admit_arrival)(request)
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _admit_arrival(request: HttpRequest, *, study: Study, sites: tuple[str, ...]) -> HttpResponse:
    """Show the entrance to people who have not accepted the HIT or not consented yet; redirect others to the work.

    The address of the redirect contains a ticket, by which the next pages recognise the worker.
    """
    arrival = read_arrival(request.GET, sites=sites)
    design = read_design(study)
    if arrival.is_preview:
        return _render_entrance(request, study, design, preview=True)
    publication = _find_publication(study, arrival)
    has_consented_now = "consent" in request.POST
    if design.consent and not has_consented_now and not _has_joined(study, arrival):
        return _render_entrance(request, study, design, lacks_consent=request.method == "POST")
    session = receive_worker(
        publication=publication,
        worker_id=arrival.worker,
        assignment_id=arrival.assignment,
        consent=has_consented_now,
    )
    page_name = "annotation:work"
    if _quiz_refusal(session, design) is None:
        # people who have just agreed saw the instructions with the consent text
        if not has_consented_now and _should_read_instructions(session, design):
            page_name = "annotation:start"
        _claim_hit(session)
    return SeeOther(framed_address(new_ticket(session, site=arrival.site), page_name, study.slug))


def _should_read_instructions(session: CrowdSession, design: StudyDesign) -> bool:
    """Return whether the study has instructions or examples that this worker has not seen with an assignment."""
    if not (design.instructions or design.examples):
        return False
    return not Assignment.objects.filter(study=session.study, worker=session.worker).exists()


def _find_publication(study: Study, arrival: Arrival) -> Publication:
    """Return the publication of the HIT that the worker opened. Raise ArrivalRefused if it is not open."""
    publications = Publication.objects.select_related("study", "hit")
    publication = publications.filter(
        study=study,
        platform=study.platform,
        external_id=arrival.hit,
        state__in=ANSWERABLE_STATES,
        hit__isnull=False,
    ).first()
    if publication is None:
        raise ArrivalRefused(
            _(
                "Nothing was recorded: this HIT is not open in this study. If you have just "
                "accepted the HIT, load the page again in a minute. Otherwise, please return the "
                "HIT."
            )
        )
    return publication


def _has_joined(study: Study, arrival: Arrival) -> bool:
    """Return whether the worker has joined the study, and has agreed to its current consent text if it has one."""
    name = pseudonym(study.platform, arrival.worker)
    participations = Participation.objects.filter(
        study=study, worker__platform=study.platform, worker__name=name
    )
    version = consent_version(design_of(study))
    if version:
        participations = participations.filter(consent_version=version)
    return participations.exists()


def _quiz_refusal(session: CrowdSession, design: StudyDesign) -> NotAdmitted | None:
    """Return the error by which the quiz refuses the worker; None if the worker may begin.

    A quiz that has only questions is a qualification test at Mechanical Turk. A quiz with known items is on
    Quorum's own pages (``contrib.quiz``).
    """
    if not design.quiz.items:
        return None
    try:
        quiz_backend().check_passed(study=session.study, design=design, worker=session.worker)
    except NotAdmitted as error:
        return error
    return None


def _claim_hit(session: CrowdSession) -> None:
    """Claim the session's HIT, unless the session has ended."""
    hit = session.publication.hit
    assert hit is not None  # ``_find_publication`` finds only publications of HITs
    if session.status == CrowdSession.Status.WORKING:
        claim_for_session(session=session, hit=hit)


def _render_entrance(
    request: HttpRequest,
    study: Study,
    design: StudyDesign,
    *,
    preview: bool = False,
    lacks_consent: bool = False,
) -> HttpResponse:
    """Show the study's description without any unit, or the consent form.

    ``lacks_consent`` says whether the worker tried to continue without consenting.
    """
    context: dict[str, Any] = {
        "study": study,
        "design": design,
        "is_preview": preview,
        "lacks_consent": lacks_consent,
        "consent": render_markdown(design.consent) if design.consent else "",
        "instructions": render_markdown(translated_text(design.instructions)) if design.instructions else "",
        "examples": worked_examples(study, design),
        "kind": KINDS[design.protocol].for_design(design),
        "has_quiz": bool(design.quiz.items),
        **describe_effort(study),
    }
    return render(request, "annotation/framed/entrance.html", context, status=422 if lacks_consent else 200)


def work_in_frame(request: HttpRequest, frame: Frame) -> HttpResponse:
    """Show the session's page of work, or redirect the worker to the quiz or to the final page."""
    session, design = frame.session, design_of(frame.session.study)
    refuse_returned_session(session)
    assignment = _latest_assignment(session)
    if assignment is None:
        refusal = _quiz_refusal(session, design)
        if refusal is not None and refusal.address:  # the page of the quiz
            return redirect(refusal.address, session.study.slug)
        if refusal is not None:
            raise refusal
        _claim_hit(session)
        assignment = _latest_assignment(session)
    if assignment is None or _is_submitted(assignment):
        return redirect("annotation:finish", session.study.slug)
    if assignment.state == Assignment.State.INVALIDATED:
        refuse_stopped_worker(Participation.Standing.EXCLUDED)  # raises WorkerExcluded
    if (
        assignment.state != Assignment.State.ACCEPTED
        or assignment.expires_at is None
        or assignment.expires_at <= timezone.now()
    ):
        return render_late_page(request, assignment)
    assignment.study = session.study  # saves a query
    return render_sheet(request, assignment, page_units_of(assignment))


def render_late_page(request: HttpRequest, assignment: Assignment) -> HttpResponse:
    """Tell the worker that the time is over, and what becomes of the answers."""
    was_submitted_late = assignment.state == Assignment.State.APART
    kept_message = _(
        "The time that Mechanical Turk allows for this HIT is over. Your answers are kept, but they count "
        "only if you submitted them in time."
    )
    message = too_late_message() if was_submitted_late else kept_message
    context = {"title": _("The time is over"), "message": message}
    return render(request, "annotation/ended.html", context, status=409)


def _latest_assignment(session: CrowdSession) -> Assignment | None:
    return Assignment.objects.filter(session=session).order_by("-accepted_at").first()


def _is_submitted(assignment: Assignment) -> bool:
    """Return whether the assignment was submitted in time; late submissions are excluded."""
    return assignment.submitted_at is not None and assignment.state != Assignment.State.APART


@worker_page(GET)
def show_submission(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the form that tells Mechanical Turk that the HIT is done. The answers are stored before.

    The page may be opened again.
    """
    frame = frame_of(request)
    if frame is None:
        raise Http404("This page is part of a HIT of Mechanical Turk.")
    assignment = _latest_assignment(frame.session)
    if assignment is None or not _is_submitted(assignment):
        return see_other("annotation:work", slug)
    mark_as_submitted(session=frame.session)
    context = {
        "study": frame.session.study,
        "design": read_design(frame.session.study),
        "action": frame.site + SUBMIT_PATH,
        "assignment_id": frame.session.external_id,
        "receipt": str(assignment.pk),
        "is_confirmed": frame.session.confirmed,  # Mechanical Turk has listed the submission
    }
    response = render(request, "annotation/framed/finish.html", context)
    # send the origin, as the pages of other requesters do, but never the ticket
    response.headers["Referrer-Policy"] = "strict-origin"
    return response
