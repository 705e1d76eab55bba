"""Derive keys of units, pairs, HITs and texts from their content.

Row ids are not used, so the same data and seed give the same keys on every database.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from json.encoder import encode_basestring

from common.texts import one_text

_encode_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def content_key(*parts: object) -> str:
    """Return 20 hexadecimal digits of the SHA-256 of ``parts`` as JSON."""
    return _short_hash(f"[{','.join(map(_as_json, parts))}]")


def content_keys(*parts: object, last: Iterable[str]) -> list[str]:
    """Return ``content_key(*parts, text)`` for each text of ``last``. The common parts are encoded only once."""
    start = "".join(f"{_as_json(part)}," for part in parts)
    return [_short_hash(f"[{start}{encode_basestring(text)}]") for text in last]


def _as_json(part: object) -> str:
    """Return a part as compact JSON.

    Most parts are texts and whole numbers. For them, these functions give the same JSON as the general encoder in less
    time; a study may have a million units.
    """
    if isinstance(part, str):
        return encode_basestring(part)
    return str(part) if type(part) is int else _encode_json(part)


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def candidate_key(text: str) -> str:
    return f"c-{content_key(text)}"


def text_key(text: str) -> str:
    """Return the ``candidate_key`` of the normal form of a text, which all its spellings share."""
    return candidate_key(one_text(text))
