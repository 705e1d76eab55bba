"""The judgments of a study as the rows of an exported file, streamed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from annotation.models import Judgment
from evaluation.loaders import in_order, unused_workers
from evaluation.provenance import DataHash
from judgments.importers.records import JUDGMENT_COLUMNS
from judgments.kinds import KINDS
from judgments.models import Study

ROWS_AT_ONCE = 2_000

_LOOKUPS = (
    "unit_id",
    "assignment__worker__name",
    "assignment__worker_id",
    "assignment_id",
    "assignment__external_id",
    "set_aside",
    "unit__key",
    "unit__item__name",
    "unit__reference__key",
    "unit__first__key",
    "unit__second__key",
    "unit__reference__text",
    "unit__first__text",
    "unit__second__text",
    "unit__kind",
    "unit__pair__key",
    "assignment__hit__key",
    "value",
    "answer",
    "unit__control",
    "unit__expected",
    "unit__struck",
    "presented",
    "assignment__simulated",
    "assignment__accepted_at",
    "assignment__submitted_at",
    "seconds",
)


def columns_of(study: Study) -> tuple[str, ...]:
    """The columns of the study's judgments; ``answer`` is one only where answers are open."""
    is_open = not KINDS[study.protocol].values
    return tuple(name for name in JUDGMENT_COLUMNS if name != "answer" or is_open)


@lru_cache(maxsize=4_096)  # the rows of an assignment stand close together and share their times
def timestamp(moment: datetime | None) -> str | None:
    """ISO 8601 in UTC with a Z."""
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")


@dataclass(slots=True)
class JudgmentRows:
    """A study's judgments, one dict a row, by unit and then by worker's name; iterate once.

    ``counts`` and ``data_hash`` are complete when the rows have run out.
    """

    study: Study
    counts: dict[str, int] = field(
        default_factory=lambda: {"judgments": 0, "used": 0, "unused": 0, "control": 0, "simulated": 0}
    )
    data_hash: DataHash = field(default_factory=DataHash)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        study, counts = self.study, self.counts
        unused = unused_workers(study)
        imported = study.source == Study.Source.IMPORTED
        is_open = not KINDS[study.protocol].values
        rows = (
            Judgment.objects.filter(assignment__study=study)
            .order_by("unit__position", "unit_id", "pk")
            .values_list(*_LOOKUPS)
        )
        for row in in_order(rows.iterator(ROWS_AT_ONCE), unit=0, worker=1):
            (
                _, worker, worker_id, assignment, external_id, set_aside, unit, image, reference, first, second,
                reference_text, first_text, second_text, kind, pair, hit, value, answer, control, expected, struck,
                presented, simulated, accepted_at, submitted_at, seconds,
            ) = row  # fmt: skip
            used = not set_aside and not struck and worker_id not in unused
            self.data_hash.add(unit, worker, value if answer is None else answer, used)
            counts["judgments"] += 1
            counts["used" if used else "unused"] += 1
            counts["control"] += control
            counts["simulated"] += simulated
            yield {
                "study": study.slug,
                "unit": unit,
                "protocol": study.protocol,
                "image": image,
                "reference": reference,
                "first": first,
                "second": second,
                "reference_text": reference_text,
                "first_text": first_text,
                "second_text": second_text,
                "kind": kind or None,
                "pair": pair,
                "worker": worker,
                # what came from elsewhere keeps the name it had there
                "assignment": external_id if imported and external_id else str(assignment),
                "hit": hit,
                "value": value,
                **({"answer": answer} if is_open else {}),
                "control": control,
                "expected": expected,
                "used": used,
                "presented": presented or None,
                "simulated": simulated,
                "accepted_at": timestamp(accepted_at),
                "submitted_at": timestamp(submitted_at),
                "seconds": seconds,
            }
