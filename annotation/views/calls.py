"""JSON calls of the page's script; a form without scripts gets pages instead."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import resolve_url
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_POST

from annotation.crowds.mturk.frames import frame_of
from annotation.errors import AlreadyEnded, AnswerProblem, AnswersMissing, SeatTaken, TooLate, TooLateToChange
from annotation.models import Assignment
from annotation.views.common import (
    errors_as_pages,
    keep_draft,
    own_assignment_of,
    render_sheet,
    see_other,
    submitted,
)
from annotation.work.leases import Lease, extend_lease, reserve_next, retake_assignment
from annotation.work.submissions import changeable_until, revise_judgments, save_answers, submit_and_claim
from common.errors import NotThere, QuorumError
from common.files import can_be_stored

MOST_BYTES = 1_000_000

# the page's note for each error
WHY: dict[type[QuorumError], str] = {
    TooLate: "late",
    SeatTaken: "taken",
    AlreadyEnded: "over",
    TooLateToChange: "fixed",
    NotThere: "unknown",
}
View = Callable[..., HttpResponse]


def is_json(request: HttpRequest) -> bool:
    return request.content_type == "application/json"


def errors_as_json(view: View) -> View:
    """Return a named error as ``{"title", "detail", "why"?, "missing"?, "position"?}``."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except QuorumError as error:
            problem: dict[str, Any] = {"title": _(error.title), "detail": str(error)}
            why = next((word for kind, word in WHY.items() if isinstance(error, kind)), "")
            if why:
                problem["why"] = why
            if isinstance(error, AnswersMissing):
                problem["missing"] = error.missing
            if isinstance(error, AnswerProblem) and error.position is not None:
                problem["position"] = error.position
            return JsonResponse(problem, status=error.status)

    return wrapped


def _body(request: HttpRequest) -> dict[str, Any]:
    if len(request.body) > MOST_BYTES:
        raise QuorumError(_("Nothing was saved: the answers are larger than a page of work can be."))
    try:
        body = json.loads(request.body)
        if b"\\" in request.body and not can_be_stored(body):  # without an escape neither can occur
            raise QuorumError(_("Nothing was saved: a text holds signs that cannot be stored."))
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise QuorumError(_('Nothing was saved: expected JSON of the form {"answers": [...]}.'))
    return body


def _answers(request: HttpRequest) -> Any:
    body = _body(request)
    if "answers" not in body:
        raise QuorumError(_('Nothing was saved: expected JSON of the form {"answers": [...]}.'))
    return body["answers"]


def _left(lease: Lease) -> dict[str, int]:
    return {"left": max(0, int((lease.expires_at - timezone.now()).total_seconds())), "more": lease.more}


@errors_as_json
def save_json(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    assignment = own_assignment_of(request, slug, assignment_id)
    save_answers(assignment=assignment, answers=_answers(request))
    return JsonResponse({"saved": True})


@errors_as_json
def submit_json(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    """Submit and claim the next page, which the script prefetched or opens by its address."""
    assignment = own_assignment_of(request, slug, assignment_id)
    if frame_of(request) is not None:  # a frame has one assignment only
        submitted(request, assignment, _answers(request))
        return JsonResponse({"next": None, "where": resolve_url("annotation:finish", slug)})
    submission, claim = submit_and_claim(assignment=assignment, answers=_answers(request))
    said = _("Your page of work is submitted.")
    reply: dict[str, Any] = {"said": said, "next": None, "where": resolve_url("annotation:work", slug)}
    if claim is not None:
        held = claim.assignment
        left = (held.expires_at - timezone.now()).total_seconds() if held.expires_at else 0
        reply |= {"next": str(held.pk), "left": max(0, int(left))}
    if changeable_until(submission.assignment) is not None:
        reply["change"] = resolve_url("annotation:change", slug, assignment_id)
    if reply["next"] is None or reply["next"] != _body(request).get("ahead"):
        messages.success(request, said)
    return JsonResponse(reply)


@errors_as_json
def change_json(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    assignment = own_assignment_of(request, slug, assignment_id)
    changed = revise_judgments(assignment=assignment, answers=_answers(request))
    messages.success(request, said_of_change(changed))
    return JsonResponse({"next": None, "where": resolve_url("annotation:work", slug)})


def said_of_change(changed: list[int]) -> str:
    if not changed:
        return _("Nothing was different: your answers stay as they are.")
    return _("Your answers are changed; what you submitted first is kept beside them.")


@gzip_page
@never_cache
@require_POST
@errors_as_json
def ahead(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    """Return the reserved next page, or 204 if there is none."""
    claim = reserve_next(assignment=own_assignment_of(request, slug, assignment_id))
    if claim is None:
        return HttpResponse(status=204)
    return render_sheet(request, claim.assignment, claim.places)


@never_cache
@require_POST
def extend(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    return (_extend_json if is_json(request) else _extend_form)(
        request, slug=slug, assignment_id=assignment_id
    )


@errors_as_json
def _extend_json(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    return JsonResponse(_left(extend_lease(assignment=own_assignment_of(request, slug, assignment_id))))


@errors_as_pages
def _extend_form(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    assignment = own_assignment_of(request, slug, assignment_id)
    keep_draft(request, assignment)
    extend_lease(assignment=assignment)
    messages.success(request, _("You have more time now."))
    return see_other("annotation:work", slug)


@never_cache
@require_POST
def retake(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    return (_retake_json if is_json(request) else _retake_form)(
        request, slug=slug, assignment_id=assignment_id
    )


@errors_as_json
def _retake_json(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    _taken_again(request, own_assignment_of(request, slug, assignment_id))
    return JsonResponse({"where": resolve_url("annotation:work", slug)})


@errors_as_pages
def _retake_form(request: HttpRequest, slug: str, assignment_id: UUID) -> HttpResponse:
    _taken_again(request, own_assignment_of(request, slug, assignment_id))
    return see_other("annotation:work", slug)


def _taken_again(request: HttpRequest, assignment: Assignment) -> None:
    retake_assignment(assignment=assignment)
    messages.success(request, _("You have this page of work again, with your answers."))
