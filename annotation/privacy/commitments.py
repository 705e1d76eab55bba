"""Commitments to the judgments of an erased person.

A commitment is HMAC-SHA-256 of a judgment's unit, answer and minute under a receipt of 128 bits. The receipt is shown
once, when the person is erased, and not stored: without it nobody can guess the commitments, though an answer may be
one of five numbers; with it anybody can prove that a row of a published release was this person's.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable, Mapping
from typing import Any

from annotation.models import Judgment, Worker
from judgments.kinds import KINDS
from judgments.models import Study

RECEIPT_BYTES = 16


def new_receipt() -> str:
    return base64.b32encode(secrets.token_bytes(RECEIPT_BYTES)).decode().rstrip("=")


def commitment_to(receipt: str, row: Mapping[str, Any]) -> str:
    """Return the commitment to a row with ``unit``, ``value``, ``answer`` and ``submitted_at``, as in a release."""
    content = [row["unit"], row["value"], row.get("answer"), row["submitted_at"]]
    return hmac.new(receipt.strip().upper().encode(), canonical_json(content), hashlib.sha256).hexdigest()


def canonical_json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def commitments(*, study: Study, worker: Worker, receipt: str) -> list[str]:
    """Return the sorted commitments to a worker's unrevised judgments in a study."""
    return sorted(commitment_to(receipt, row) for row in _rows(study, worker))


def _rows(study: Study, worker: Worker) -> Iterable[dict[str, Any]]:
    kind = KINDS[study.protocol]
    judgments = Judgment.objects.of_study(study).filter(assignment__worker=worker, replaced_by=None)
    names = ("unit__key", "unit__content", "value", "answer", "assignment__submitted_at")
    for key, content, value, answer, submitted in judgments.values_list(*names).iterator():
        yield {
            "unit": key,
            "value": value,
            "answer": None if answer is None else kind.exchange.to_file(answer, content=content),
            "submitted_at": submitted and f"{submitted:%Y-%m-%dT%H:%M}:00Z",
        }
