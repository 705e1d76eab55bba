"""Derive keys from content, never from row ids."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from json.encoder import encode_basestring

from common.texts import one_text

_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def content_key(*parts: object) -> str:
    """Return 20 hexadecimal digits of the SHA-256 of ``parts`` as JSON."""
    return _digits(f"[{','.join(map(_as_json, parts))}]")


def content_keys(*parts: object, last: Iterable[str]) -> list[str]:
    """Return ``content_key(*parts, text)`` for each text of ``last``."""
    start = "".join(f"{_as_json(part)}," for part in parts)
    return [_digits(f"[{start}{encode_basestring(text)}]") for text in last]


def _as_json(part: object) -> str:
    if isinstance(part, str):
        return encode_basestring(part)
    return str(part) if type(part) is int else _compact(part)


def _digits(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def candidate_key(text: str) -> str:
    return f"c-{content_key(text)}"


def text_key(text: str) -> str:
    """Return the ``candidate_key`` of the normal form of a text, which all its spellings share."""
    return candidate_key(one_text(text))
