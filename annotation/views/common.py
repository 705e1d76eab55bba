"""What the worker's pages share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.utils.translation import gettext

from annotation.answers import without_unfinished
from annotation.cookies import WORKER_COOKIE, worker_of
from annotation.errors import NotAdmitted, NotJoined, PassedOn, StudyPaused
from annotation.frames import frame_of
from annotation.models import Assignment, CrowdSession, Worker
from annotation.presentation import places_of
from annotation.services.framed_work import hand_in
from annotation.services.joining import worker_for_token
from annotation.services.submissions import Submission, own_assignment, save_answers, submit_assignment
from annotation.worksheet import answers_of_form
from judgments.errors import NotThere, QuorumError
from judgments.kinds import KINDS
from judgments.services.studies import design_of

View = Callable[..., HttpResponse]


class SeeOther(HttpResponseRedirect):
    """After a form was taken: look at this page now (a reload there sends nothing again)."""

    status_code = 303


def see_other(to: str, *args: Any, fragment: str = "") -> SeeOther:
    """A SeeOther to a named address."""
    return SeeOther(resolve_url(to, *args) + (f"#{fragment}" if fragment else ""))


def errors_as_pages(view: View) -> View:
    """Show a named error as a page of its own; what is not there, or not for this worker, is a 404."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except QuorumError as error:
            if isinstance(error, NotThere) and not isinstance(error, NotJoined):
                raise Http404(str(error)) from None
            return render(
                request,
                "annotation/ended.html",
                {
                    "title": gettext(error.title),
                    "message": str(error),
                    "slug": kwargs.get("slug", "") if _may_go_on(request, error) else "",
                    "paused": isinstance(error, StudyPaused),
                },
                status=error.status,
            )

    return wrapped


def _may_go_on(request: HttpRequest, error: QuorumError) -> bool:
    """Whether there may be other work for them; for who is not known here, there is none to go on with."""
    return isinstance(error, NotJoined) or (
        not isinstance(error, NotAdmitted) and worker_of(request) is not None
    )


def worker_of_token(request: HttpRequest) -> Worker | None:
    """The worker of the API's ``Authorization: Token ...``, or of this browser."""
    header = request.headers.get("Authorization", "")
    if header.lower().startswith("token "):
        return worker_for_token(header[len("token ") :].strip())
    return worker_of(request)


def own_assignment_of(request: HttpRequest, slug: str, assignment_id: UUID) -> Assignment:
    """The assignment of this browser's worker in this study.

    Raises:
        NotThere: nobody is known here, or it is somebody else's.
        NotJoined: this browser was known, and its token was replaced by one in another browser.
        PassedOn: in a frame, the work went to somebody else by now.
    """
    worker = worker_of(request)
    if worker is None and WORKER_COOKIE in request.COOKIES:
        raise NotJoined(
            gettext(
                "Nothing was changed: you went on in another browser, and this one is not known any more. "
                "What was saved before is kept; your name and resume code let you go on here."
            )
        )
    if worker is None:
        raise NotThere("There is no such assignment.")
    assignment = own_assignment(worker=worker, assignment_id=assignment_id)
    if assignment.study.slug != slug:
        raise NotThere("There is no such assignment.")
    frame = frame_of(request)
    if frame is not None:
        if assignment.session_id != frame.session.pk:
            raise NotThere("There is no such assignment.")
        refuse_passed_on(frame.session)
    return assignment


def refuse_passed_on(session: CrowdSession) -> None:
    """Let in who still has the work.

    Raises:
        PassedOn: it went to somebody else, or was given back.
    """
    if session.status == CrowdSession.Status.RETURNED:
        raise PassedOn(
            gettext(
                "Nothing was changed: this HIT was returned, or Mechanical Turk gave it to somebody else. If you have "
                "it still, open it again from your worker’s page."
            )
        )


def submitted(
    request: HttpRequest, assignment: Assignment, answers: Sequence[Mapping[str, Any]]
) -> Submission:
    """Submit, in a frame as the work of its session.

    Raises:
        as ``submit_assignment``; in a frame, KeptApart where the time was over.
    """
    frame = frame_of(request)
    if frame is not None:
        return hand_in(session=frame.session, assignment=assignment, answers=answers)
    return submit_assignment(assignment=assignment, answers=answers)


def keep_draft(request: HttpRequest, assignment: Assignment) -> None:
    """Whatever button of the work page is pressed, what was answered there is not lost."""
    places, design = places_of(assignment), design_of(assignment.study)
    answers, unfinished = without_unfinished(
        answers_of_form(
            request.POST,
            places,
            kind=KINDS[design.protocol].of(design),
            final=False,
            saved=assignment.answers,
        ),
        design=design,
        places=places,
    )
    if answers or unfinished:
        save_answers(assignment=assignment, answers=answers, unfinished=unfinished)
