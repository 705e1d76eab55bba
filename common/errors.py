"""Named errors, each with a sentence for its user and an HTTP status.

A command prints the sentence and exits with 1; a page shows it; the API returns an RFC 9457 problem document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from django.utils.translation import gettext

from quorum.numeric.names import nearest_name

PROBLEM_TYPE = "application/problem+json"
MOST_LISTED = 20  # values that a sentence expects
LONGEST_DETAIL = 600  # characters of a sentence that goes out


class QuorumError(Exception):
    """An error that a user can correct. ``str()`` is a sentence: what, where, what was expected."""

    status = 400
    title = "Bad request"


class DesignError(QuorumError):
    """An unusable study design; ``field`` is the dotted key of the study file, or ''."""

    title = "The design is not valid"

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class DataConflict(QuorumError):
    """The rows exist with other content, or contradict stored data."""

    status = 409
    title = "Conflicts with stored data"


class NotThere(QuorumError):
    """An object does not exist, or is not visible to this person."""

    status = 404
    title = "Not found"


class WrongState(QuorumError):
    status = 409
    title = "Not possible now"


class FeatureIsOff(WrongState):
    """Something needs a feature that is off, or whose package is not installed."""


class Busy(WrongState):
    """The same runs elsewhere at this moment; a job tries again later."""


class Changed(QuorumError):
    """Somebody else changed the object since it was read."""

    status = 412
    title = "Changed meanwhile"


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Return a sentence with the nearest known name, after a space; "" if none is near."""
    near = nearest_name(name, known)
    return " " + gettext("Did you mean %(near)r?") % {"near": near} if near else ""


def unknown_value(value: object, known: Iterable[object]) -> str:
    """Say of a parameter's value what was expected."""
    known = list(known)
    listed = ", ".join(map(str, known[:MOST_LISTED])) + (", …" if len(known) > MOST_LISTED else "")
    sentence = (
        gettext("%(value)r is unknown; expected one of %(known)s.")
        if known
        else gettext("%(value)r is unknown; there is none yet.")
    )
    return sentence % {"value": str(value)[:80], "known": listed} + did_you_mean(value, known)


def problem(status: int, detail: str, *, title: str = "", **members: Any) -> dict[str, Any]:
    """Return an RFC 9457 problem document with ``members`` as extensions; shorten long input."""
    return {
        "type": "about:blank",
        "title": title or HTTPStatus(status).phrase,
        "status": status,
        "detail": shortened(detail),
        **members,
    }


def shortened(value: Any) -> Any:
    if isinstance(value, list):
        return [shortened(entry) for entry in value]
    if not isinstance(value, str) or len(value) <= LONGEST_DETAIL:
        return value
    return f"{value[: LONGEST_DETAIL // 2]} … {value[-LONGEST_DETAIL // 2 :]}"


def sentence_of(detail: Any) -> str:
    """Return a sentence about the first mistake in ``ValidationError.detail``, with the parameter's name."""
    if isinstance(detail, Mapping):
        name, inner = next(iter(detail.items()))
        sentence = sentence_of(inner)
        return sentence if name in ("", "non_field_errors") else f"{name}: {sentence}"
    if isinstance(detail, list):
        return sentence_of(detail[0])
    return str(detail)
