"""Who this browser is: a cookie with the worker's token, that scripts cannot read; in a frame, the address says so."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from annotation.frames import frame_of
from annotation.models import Worker
from annotation.services.joining import worker_for_token

WORKER_COOKIE = "quorum_worker"
RESUME_COOKIE = "quorum_resume"
HALF_A_YEAR = 180 * 24 * 3600
TEN_MINUTES = 600


def worker_of(request: HttpRequest) -> Worker | None:
    """The worker this browser belongs to, or this frame."""
    frame = frame_of(request)
    if frame is not None:
        return frame.worker
    return worker_for_token(request.COOKIES.get(WORKER_COOKIE, ""))


def remember_worker(response: HttpResponse, token: str) -> None:
    """Let the browser bring the token along from now on."""
    _set(response, WORKER_COOKIE, token, HALF_A_YEAR, "/")


def remember_resume_code(response: HttpResponse, code: str, path: str) -> None:
    """Hand the resume code to the one page that shows it, so that a reload there does not lose it."""
    _set(response, RESUME_COOKIE, code, TEN_MINUTES, path)


def _set(response: HttpResponse, name: str, value: str, seconds: int, path: str) -> None:
    response.set_cookie(
        name, value, max_age=seconds, path=path, httponly=True, samesite="Lax", secure=settings.HTTPS
    )
