"""Receipts of erasures, with which an erased person can prove that published judgments were theirs.

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
import secrets
from collections.abc import Mapping
from typing import Any

RECEIPT_BYTES = 16


def new_receipt() -> str:
    return base64.b32encode(secrets.token_bytes(RECEIPT_BYTES)).decode().rstrip("=")


def commitment_to(receipt: str, row: Mapping[str, Any]) -> str:
    """Return the commitment to a row with ``unit``, ``value``, ``answer`` and ``submitted_at``, as in a release."""
    content = [row["unit"], row["value"], row.get("answer"), row["submitted_at"]]
    return hmac.new(receipt.strip().upper().encode(), canonical_json(content), hashlib.sha256).hexdigest()


def canonical_json(value: Any) -> bytes:
    """Return a value as JSON with sorted keys and without spaces, so that equal values have equal hashes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
