"""Recognise the visitor of a worker's page, and remember them in cookies.

A worker is identified by a cookie with a token or, in Mechanical Turk's frame, by a ticket, signed text in the address.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext

from annotation.crowds.mturk.frames import Frame, addresses_under
from annotation.crowds.panel.sessions import latest_session
from annotation.errors import NotJoined, WorkTakenBack
from annotation.models import Assignment, CrowdSession, Participation, Worker
from annotation.work.answers.drafts import own_assignment
from annotation.work.joining import worker_for_token
from common.errors import ObjectNotFound
from judgments.models import Study

WORKER_COOKIE = "quorum_worker"
RESUME_COOKIE = "quorum_resume"
HALF_YEAR = 180 * 24 * 3600  # seconds
TEN_MINUTES = 600  # seconds
# keys of request.META that no visitor's header can have
FRAME_KEY = "quorum.frame"  # the frame of a page with a ticket
ENTRANCE_KEY = "quorum.entrance"  # set for pages in a frame that have no ticket


def frame_of(request: HttpRequest) -> Frame | None:
    """Return the frame that the middleware read from the ticket in the address; None outside Mechanical Turk's site."""
    return request.META.get(FRAME_KEY)


def mark_as_framed(request: HttpRequest) -> None:
    """Mark a page without a ticket as shown in a crowd's frame, since its worker is not known yet."""
    request.META[ENTRANCE_KEY] = True


def frame_context(request: HttpRequest) -> dict[str, Any]:
    """Return the template context that says whether the page is in a crowd's frame. Links must not leave the frame."""
    return {"in_frame": frame_of(request) is not None or ENTRANCE_KEY in request.META}


def outer_address(request: HttpRequest, name: str, *args: object) -> str:
    """Return the URL of a public page without the frame's secret ticket, for links that open another window."""
    if frame_of(request) is None:
        return reverse(name, args=args)
    # in a frame, Django begins addresses with the ticket; this address begins as outside of it
    with addresses_under(request.META.get("SCRIPT_NAME") or "/"):
        return reverse(name, args=args)


def worker_of(request: HttpRequest) -> Worker | None:
    """Return the worker whom the frame's ticket or the cookie identifies; None for any other visitor."""
    frame = frame_of(request)
    if frame is not None:
        return frame.worker
    return worker_for_token(request.COOKIES.get(WORKER_COOKIE, ""))


def session_of(*, study: Study, worker: Worker) -> CrowdSession | None:
    """Return the worker's latest session in the study; None if the worker did not come from a crowd."""
    return latest_session(study=study, worker=worker) if worker.source == Worker.Source.CROWD else None


def member_of(request: HttpRequest, study: Study) -> Worker | None:
    """Return the visiting worker if they take part in the study, else None."""
    worker = worker_of(request)
    if worker is None or not Participation.objects.filter(study=study, worker=worker).exists():
        return None
    return worker


def remember_worker(response: HttpResponse, token: str) -> None:
    _set_cookie(response, WORKER_COOKIE, token, HALF_YEAR, "/")


def remember_resume_code(response: HttpResponse, code: str, path: str) -> None:
    """Store the resume code in a cookie, so that the page that shows the code can be reloaded."""
    _set_cookie(response, RESUME_COOKIE, code, TEN_MINUTES, path)


def _set_cookie(response: HttpResponse, name: str, value: str, seconds: int, path: str) -> None:
    response.set_cookie(
        name, value, max_age=seconds, path=path, httponly=True, samesite="Lax", secure=settings.HTTPS
    )


def api_worker(request: HttpRequest) -> Worker | None:
    """Return the worker whose token is in the header ``Authorization: Token ...``; None if there is none."""
    scheme, _space, token = request.headers.get("Authorization", "").partition(" ")
    return worker_for_token(token.strip()) if scheme.lower() == "token" else None


def own_assignment_of(request: HttpRequest, slug: str, assignment_id: UUID) -> Assignment:
    """Return the assignment of this browser's worker in this study.

    Raises:
        NotJoined: the worker continued in another browser.
        ObjectNotFound: the worker or the session has no such assignment in the study.
    """
    worker = worker_of(request)
    if worker is None and WORKER_COOKIE in request.COOKIES:
        raise NotJoined(
            gettext(
                "Nothing was changed: you continued in another browser, so this browser is no longer signed "
                "in. Your saved answers are kept. To continue in this browser, enter your name and your "
                "resume code."
            )
        )
    if worker is None:
        raise ObjectNotFound("There is no such assignment.")
    assignment = own_assignment(worker=worker, assignment_id=assignment_id)
    if assignment.study.slug != slug:  # the address was put together by hand
        raise ObjectNotFound("There is no such assignment.")
    frame = frame_of(request)
    if frame is not None:
        if assignment.session_id != frame.session.pk:
            raise ObjectNotFound("There is no such assignment.")
        refuse_returned_session(frame.session)
    return assignment


def refuse_returned_session(session: CrowdSession) -> None:
    """Raise WorkTakenBack if the crowd's session was returned."""
    if session.status == CrowdSession.Status.RETURNED:
        raise WorkTakenBack(
            gettext(
                "Nothing was changed: this HIT was returned, or Mechanical Turk gave it to somebody else. "
                "If you still have the HIT, open it again from your worker’s page."
            )
        )
