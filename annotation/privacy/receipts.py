"""Receipts of erasures with commitments to judgments, and the replacement of people's names in JSON.

A commitment is the HMAC-SHA-256 of a judgment's unit, answer and minute, keyed with a receipt of 128 bits. The
receipt is shown once, when the person is erased, and not stored. Without it nobody can guess the judgments, though
an answer may be one of only five numbers. With it anybody can prove that a row of a published release was this
person's.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Callable, Mapping
from typing import Any

RECEIPT_BYTES = 16
WORKER_FIELDS = re.compile("worker|left_out")  # matches names of JSON's fields that hold people


def new_receipt() -> str:
    return base64.b32encode(secrets.token_bytes(RECEIPT_BYTES)).decode().rstrip("=")


def commitment_to(receipt: str, row: Mapping[str, Any]) -> str:
    """Return the commitment to a row with ``unit``, ``value``, ``answer`` and ``submitted_at``, as in a release."""
    content = [row["unit"], row["value"], row.get("answer"), row["submitted_at"]]
    return hmac.new(receipt.strip().upper().encode(), canonical_json(content), hashlib.sha256).hexdigest()


def canonical_json(value: Any) -> bytes:
    """Return JSON of which there is only one form, so that equal values have equal hashes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def replace_words(value: Any, replacements: Mapping[str, str]) -> Any:
    """Return JSON in which keys of ``replacements`` are replaced in fields that hold a worker, not in longer texts."""
    return replacer(replacements, sentences=False)(value)


def replacer(replacements: Mapping[str, str], *, sentences: bool = True) -> Callable[[Any], Any]:
    """Return a function that replaces the keys of ``replacements`` in JSON by their values.

    In fields that hold a worker, a string that equals a key is replaced. With ``sentences``, keys inside longer texts
    are replaced in every field. Other values are kept, since people choose their names, and a name may equal a system,
    a state, or a field of the JSON.
    """
    words = sorted((word for word in replacements if word), key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, words))})(?![\w-])") if words else None

    def replace_within(value: Any, field: str = "") -> Any:
        is_about_worker = bool(WORKER_FIELDS.search(field))
        if isinstance(value, str):
            if value in replacements:
                return replacements[value] if is_about_worker or not field else value
            return (
                pattern.sub(lambda match: replacements[match.group()], value)
                if pattern and sentences
                else value
            )
        if isinstance(value, list):
            return [replace_within(member, field) for member in value]
        if isinstance(value, dict):
            return {
                replacements.get(name, name) if is_about_worker else name: replace_within(
                    member, field if is_about_worker else name
                )
                for name, member in value.items()
            }
        return value

    return replace_within
