"""Which texts a database takes: JSON can say more than UTF-8 and PostgreSQL can hold."""

from __future__ import annotations

from typing import Any


def can_be_stored(value: Any) -> bool:
    """Whether no text in parsed JSON, keys too, holds U+0000 or half of a surrogate pair.

    Raises:
        RecursionError: it is nested too deeply.
    """
    if isinstance(value, str):
        return "\x00" not in value and not any("\ud800" <= sign <= "\udfff" for sign in value)
    if isinstance(value, dict):
        return all(can_be_stored(key) and can_be_stored(inner) for key, inner in value.items())
    return not isinstance(value, list) or all(can_be_stored(inner) for inner in value)
