"""Read the JSON that the page's scripts send, and return errors as JSON."""

from __future__ import annotations

from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _

from annotation.errors import AlreadyEnded, AnswerProblem, AnswersMissing, SlotTaken, TooLate, TooLateToChange
from annotation.views.decorators import ViewFunction
from common.errors import ObjectNotFound, QuorumError
from common.files import can_be_stored
from common.incoming.json_documents import load_json

MAX_BYTES = 1_000_000  # of the JSON that a call sends

# the name of the note (data-note) that the page shows for each error
NOTES_BY_ERROR: dict[type[QuorumError], str] = {
    TooLate: "late",
    SlotTaken: "taken",
    AlreadyEnded: "over",
    TooLateToChange: "fixed",
    ObjectNotFound: "unknown",
}


def view_by_content_type(script: ViewFunction, form: ViewFunction) -> ViewFunction:
    """Return a view that passes a script's JSON to ``script``, and a posted form to ``form``."""

    def view(request: HttpRequest, **path: Any) -> HttpResponse:
        return (script if request.content_type == "application/json" else form)(request, **path)

    return view


def errors_as_json(view: ViewFunction) -> ViewFunction:
    """Decorate a view to return its QuorumErrors as ``{"title", "detail", "why"?, "missing"?, "position"?}``."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except QuorumError as error:
            problem: dict[str, Any] = {"title": _(error.title), "detail": str(error)}
            note = next((name for kind, name in NOTES_BY_ERROR.items() if isinstance(error, kind)), "")
            if note:
                problem["why"] = note
            if isinstance(error, AnswersMissing):
                problem["missing"] = error.missing
            if isinstance(error, AnswerProblem) and error.position is not None:
                problem["position"] = error.position
            return JsonResponse(problem, status=error.status)

    return wrapped


def body_of_call(request: HttpRequest) -> dict[str, Any]:
    """Return the JSON object that a script sent. Raise QuorumError if it is too large, or is no object."""
    if len(request.body) > MAX_BYTES:
        raise QuorumError(_("Nothing was saved: the answers are too large for a page of work."))
    try:
        body = load_json(request.body)
        # in JSON, characters that cannot be stored are always escaped
        if b"\\" in request.body and not can_be_stored(body):
            raise QuorumError(_("Nothing was saved: a text contains characters that cannot be stored."))
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise QuorumError(_('Nothing was saved: expected JSON of the form {"answers": [...]}.'))
    return body


def answers_of_call(request: HttpRequest) -> Any:
    """Return what a script sent as "answers", unchecked. Raise QuorumError if there is nothing."""
    body = body_of_call(request)
    if "answers" not in body:
        raise QuorumError(_('Nothing was saved: expected JSON of the form {"answers": [...]}.'))
    return body["answers"]
