"""Read the content of the responses of Prolific's API, and convert errors to exceptions."""

from __future__ import annotations

import re
from decimal import Decimal
from http import HTTPStatus
from http.client import responses
from typing import Any

from annotation.crowds.base import CrowdProblem, CrowdRefusal, OutOfFunds, RetryLater
from common.http.client import HTTPReply
from common.incoming.json_documents import load_json

_MAX_DETAIL_LENGTH = 400
_SETTING_SECONDS = 60.0  # seconds until a call is tried again, in case a wrong setting was mended
# The reference has no error code for an account without money; people reported these words.
_OUT_OF_FUNDS = re.compile(r"balance|funds|top[ -]?up|wallet", re.IGNORECASE)


def normalise_column(name: str) -> str:
    """Return the name of a column of a CSV export in lower case, with single blanks between its words."""
    return " ".join(name.replace("_", " ").split()).lower()


def rows_of_response(answer: HTTPReply, path: str) -> list[dict[str, Any]]:
    """Return the rows in the response to a POST request: a list of objects, or the member "results" of an object.

    Raise RetryLater if the response has another form.
    """
    try:
        content = load_json(answer.content)
    except ValueError as error:
        raise RetryLater(f"Prolific's answer to POST {path} was cut short.") from error
    rows = content.get("results") if isinstance(content, dict) else content
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise RetryLater(f"Prolific's answer to POST {path} holds no rows; expected a list of objects.")
    return rows


def object_of_response(answer: HTTPReply, request: str) -> dict[str, Any]:
    """Return the JSON object in a response. Raise RetryLater if it has another form.

    ``request`` names the call in the error message, such as "GET studies/".
    """
    try:
        content = load_json(answer.content, parse_float=Decimal)
    except ValueError as error:
        raise RetryLater(f"Prolific's answer to {request} was cut short.") from error
    if not isinstance(content, dict):
        raise RetryLater(f"Prolific's answer to {request} is no object.")
    return content


def setting_error(why: str) -> RetryLater:
    """Return the exception for a call that was not sent for a wrong setting, which a person must mend (``final``)."""
    return RetryLater(
        f"Nothing was asked of Prolific: {why}", after=_SETTING_SECONDS, had_no_effect=True, final=True
    )


def error_of_response(method: str, path: str, answer: HTTPReply) -> CrowdProblem:
    status = answer.status
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        message = f"{method} {path} was not carried out: Prolific asks to wait."
        return RetryLater(message, after=answer.wait_seconds, had_no_effect=True)
    if status >= 500 or status == HTTPStatus.REQUEST_TIMEOUT:
        return RetryLater(
            f"{method} {path} was answered with {status}; Prolific may have carried it out or not."
        )
    detail = _read_error_message(answer)[:_MAX_DETAIL_LENGTH]
    message = f"Prolific refused {method} {path} ({status}): {detail}"
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return RetryLater(
            f"{message} Check PROLIFIC_TOKEN.", after=_SETTING_SECONDS, had_no_effect=True, final=True
        )
    return OutOfFunds(message) if _OUT_OF_FUNDS.search(detail) else CrowdRefusal(message)


def _read_error_message(answer: HTTPReply) -> str:
    """Return the error message in a response: a text, a list or an object, which may be the member "error"."""
    try:
        content = load_json(answer.content)
    except ValueError:
        return answer.content.decode(errors="replace").strip() or responses.get(answer.status, "")
    error = content.get("error", content) if isinstance(content, dict) else content
    if isinstance(error, dict):
        error = error.get("detail") or error.get("message") or error.get("title") or error
    return _format_error(error)


def _format_error(error: object) -> str:
    if isinstance(error, dict):
        return "; ".join(f"{field}: {_format_error(member)}" for field, member in error.items())
    if isinstance(error, list):
        return " ".join(_format_error(member) for member in error)
    return str(error)
