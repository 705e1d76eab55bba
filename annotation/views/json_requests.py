"""Read the JSON that the scripts of workers' pages send, such as ``{"answers": [...]}``, and return errors as JSON."""

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

MAX_BYTES = 1_000_000  # maximum size of the JSON

# for each error, the name of the text on the page (attribute data-note) that the script then shows
NOTES_BY_ERROR: dict[type[QuorumError], str] = {
    TooLate: "late",
    SlotTaken: "taken",
    AlreadyEnded: "over",
    TooLateToChange: "fixed",
    ObjectNotFound: "unknown",
}


def view_by_content_type(json_view: ViewFunction, form_view: ViewFunction) -> ViewFunction:
    """Return a view that passes requests with JSON to ``json_view``, and posted forms to ``form_view``."""

    def view(request: HttpRequest, **path_arguments: Any) -> HttpResponse:
        chosen_view = json_view if request.content_type == "application/json" else form_view
        return chosen_view(request, **path_arguments)

    return view


def errors_as_json(view: ViewFunction) -> ViewFunction:
    """Decorate a view to return its QuorumErrors as JSON.

    An error is ``{"title", "detail"}``, in some cases with "why" (a name from ``NOTES_BY_ERROR``), "missing" (the
    positions without an answer) or "position" (of an invalid answer).
    """

    @wraps(view)
    def wrapped_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except QuorumError as error:
            problem: dict[str, Any] = {"title": _(error.title), "detail": str(error)}
            notes = [note for error_type, note in NOTES_BY_ERROR.items() if isinstance(error, error_type)]
            if notes:
                problem["why"] = notes[0]
            if isinstance(error, AnswersMissing):
                problem["missing"] = error.missing
            if isinstance(error, AnswerProblem) and error.position is not None:
                problem["position"] = error.position
            return JsonResponse(problem, status=error.status)

    return wrapped_view


def json_object_of(request: HttpRequest) -> dict[str, Any]:
    """Return the JSON object that a script sent. Raise QuorumError if it is too large, or is no object."""
    if len(request.body) > MAX_BYTES:
        raise QuorumError(_("Nothing was saved: the answers are too large for a page of work."))
    try:
        body = load_json(request.body)
        # Characters that cannot be stored, such as NUL, are in valid JSON only as escapes, which have a backslash.
        if b"\\" in request.body and not can_be_stored(body):
            raise QuorumError(_("Nothing was saved: a text contains characters that cannot be stored."))
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise QuorumError(_('Nothing was saved: expected JSON of the form {"answers": [...]}.'))
    return body


def answers_of_request(request: HttpRequest) -> Any:
    """Return what a script sent as "answers", unchecked. Raise QuorumError if there is nothing."""
    body = json_object_of(request)
    if "answers" not in body:
        raise QuorumError(_('Nothing was saved: expected JSON of the form {"answers": [...]}.'))
    return body["answers"]
