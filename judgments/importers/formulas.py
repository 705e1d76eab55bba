"""Keeping spreadsheet programs from running exported cells, in a way that can be undone exactly.

A cell that begins with one of `= + - @`, a tab or a carriage return is a formula to them. It gets an
apostrophe in front; so does a cell that looks as if it had got one, so that removing one apostrophe
gives back every text.
"""

from __future__ import annotations

import re

_RISKY = re.compile(r"'*[=+\-@\t\r]")
_GUARDED = re.compile(r"'+[=+\-@\t\r]")


def guard_formula(text: str) -> str:
    """`text` as it may stand in a CSV cell."""
    return f"'{text}" if _RISKY.match(text) else text


def unguard_formula(cell: str) -> str:
    """The text that `guard_formula` made a cell of."""
    return cell[1:] if _GUARDED.match(cell) else cell
