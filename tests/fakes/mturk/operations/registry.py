"""Where operations are found by name, and what they share: paging and limits."""

import base64
import binascii
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, TypeVar

from tests.fakes.mturk.errors import ParameterValidationError, out_of_range
from tests.fakes.mturk.state import World

Parameters = dict[str, Any]
Answer = dict[str, Any]
Handler = Callable[[World, Parameters, datetime], Answer]
OPERATIONS: dict[str, Handler] = {}
USUAL_RESULTS = 10  # when MaxResults is left out (?)

Row = TypeVar("Row")


def operation(name: str) -> Callable[[Handler], Handler]:
    """Enters a function under the name of its operation."""

    def enter(handler: Handler) -> Handler:
        OPERATIONS[name] = handler
        return handler

    return enter


def page(
    parameters: Parameters, rows: Iterable[Row], number: Callable[[Row], int], *, newest_first: bool = False
) -> tuple[list[Row], Answer]:
    """One page of rows, and NumResults and NextToken for the answer.

    The token holds the last row's number, so that rows which come or go in between are neither shown twice
    nor left out. A full page has a token even when nothing follows: the last page may be empty (?).
    """
    size = parameters.get("MaxResults", USUAL_RESULTS)
    ordered = sorted(rows, key=number, reverse=newest_first)
    if token := parameters.get("NextToken"):
        last = _last(token)
        ordered = [row for row in ordered if (number(row) < last if newest_first else number(row) > last)]
    shown = ordered[:size]
    told: Answer = {"NumResults": len(shown)}
    if len(shown) == size:
        told["NextToken"] = base64.b64encode(f"p1:{number(shown[-1])}".encode()).decode()
    return shown, told


def _last(token: str) -> int:
    try:
        version, _, last = base64.b64decode(token, validate=True).decode("ascii").partition(":")
        if version == "p1":
            return int(last)
    except (binascii.Error, UnicodeDecodeError, ValueError):
        pass
    raise ParameterValidationError(f"NextToken {token} is invalid.")


def demand_range(name: str, value: int, lowest: int, highest: int) -> None:
    """Refuses numbers out of the documented limits."""
    if not lowest <= value <= highest:
        raise out_of_range(name, value, lowest, highest)


def demand_length(parameters: Parameters, **limits: int) -> None:
    """Refuses texts that are empty or longer than the documented number of characters."""
    for name, longest in limits.items():
        text = parameters.get(name)
        if text is not None and not 1 <= len(text) <= longest:
            raise ParameterValidationError(f"{name} must have between 1 and {longest} characters.")
