"""The range of row ids and of other integer columns, which have 64 bits, and the test of an id in a text.

Texts such as addresses and forms can contain longer numbers, with which a query would fail.
"""

from __future__ import annotations

MAX_BIGINT = 2**63 - 1
MAX_ID_DIGITS = 18  # MAX_BIGINT has 19 digits, so some numbers with 19 digits exceed it, but none with 18
ID_REGEX = f"[0-9]{{1,{MAX_ID_DIGITS}}}"


def is_row_id(text: str) -> bool:
    """Return whether a text is a whole number in the range of row ids. Digits of all scripts count."""
    return text.isdecimal() and len(text) <= MAX_ID_DIGITS
