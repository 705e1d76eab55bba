"""Errors with a sentence for the user and an HTTP status.

A command prints the sentence and exits with code 1. A page shows the sentence. The API returns an RFC 9457 problem
document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from django.utils.translation import gettext

from quorum.numeric.names import nearest_name

PROBLEM_TYPE = "application/problem+json"
MAX_LISTED = 20  # expected values that a sentence lists
MAX_DETAIL_LENGTH = 600  # characters of a sentence sent to a client


class QuorumError(Exception):
    """An error that a user can correct. ``str()`` is a sentence: what is wrong, where, and what was expected."""

    status = 400
    title = "Bad request"


class DesignError(QuorumError):
    """A study design is unusable. ``field`` is the dotted key of the study file, or ''."""

    title = "The design is not valid"

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class DataConflict(QuorumError):
    """New data have the name of stored data with other content, or contradict stored data."""

    status = 409
    title = "Conflict with stored data"


class ObjectNotFound(QuorumError):
    """An object does not exist, or the person may not see it."""

    status = 404
    title = "Not found"


class WrongState(QuorumError):
    """The state of an object does not allow the action."""

    status = 409
    title = "Not possible now"


class FeatureIsOff(WrongState):
    """A feature that is needed is off, or its package is not installed."""


class ServiceBusy(WrongState):
    """Another process is doing the same at the moment. A job tries again later."""


class EditConflict(QuorumError):
    """Somebody else changed the object since it was read."""

    status = 412
    title = "Changed in the meantime"


def did_you_mean(name: object, known_names: Iterable[object]) -> str:
    """Return " Did you mean NAME?" with the most similar known name; "" if no name is similar."""
    suggestion = nearest_name(name, known_names)
    return " " + gettext("Did you mean %(near)r?") % {"near": suggestion} if suggestion else ""


def unknown_value(value: object, expected: Iterable[object]) -> str:
    """Return a sentence about an unknown value of a parameter, with the expected values."""
    expected = list(expected)
    first_values = ", ".join(map(str, expected[:MAX_LISTED]))
    if len(expected) > MAX_LISTED:
        first_values += ", …"
    if expected:
        sentence = gettext("%(value)r is unknown; expected one of %(known)s.")
    else:
        sentence = gettext("%(value)r is unknown; there are no values to choose from yet.")
    return sentence % {"value": str(value)[:80], "known": first_values} + did_you_mean(value, expected)


def problem_document(status: int, detail: str, *, title: str = "", **members: Any) -> dict[str, Any]:
    """Return an RFC 9457 problem document with the extension ``members``. Shorten a long detail."""
    return {
        "type": "about:blank",
        "title": title or HTTPStatus(status).phrase,
        "status": status,
        "detail": shorten_details(detail),
        **members,
    }


def shorten_details(value: Any) -> Any:
    """Cut out the middle of texts, also of those in lists, that have more than MAX_DETAIL_LENGTH characters."""
    if isinstance(value, list):
        return [shorten_details(entry) for entry in value]
    if not isinstance(value, str) or len(value) <= MAX_DETAIL_LENGTH:
        return value
    return f"{value[: MAX_DETAIL_LENGTH // 2]} … {value[-MAX_DETAIL_LENGTH // 2 :]}"


def sentence_of(detail: Any) -> str:
    """Return a sentence about the first mistake in ``ValidationError.detail``, with the name of the parameter."""
    if isinstance(detail, Mapping):
        name, inner_detail = next(iter(detail.items()))
        sentence = sentence_of(inner_detail)
        return sentence if name in ("", "non_field_errors") else f"{name}: {sentence}"
    if isinstance(detail, list):
        return sentence_of(detail[0])
    return str(detail)
