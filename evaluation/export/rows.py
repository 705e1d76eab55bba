"""Stream the judgments of a study as rows of an exported file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from annotation.importing.rows import IMPORTED_REVISION
from annotation.snapshots import Snapshot
from common.downloads import batched
from evaluation.export.credits import UNITS_AT_ONCE as CREDITS_AT_ONCE
from evaluation.export.credits import Credits
from evaluation.judgment_sets.loaders import by_unit_and_name
from evaluation.judgment_sets.records import JudgmentTally
from judgments.importers.records import JUDGMENT_COLUMNS
from judgments.kinds import KINDS
from judgments.models import Study

ROWS_AT_ONCE = 2_000
UNITS_AT_ONCE = 500  # units per query, where rows of some units are requested

# Column of the file -> where its value is stored: captions of a unit, and the whole row of a judgment.
CAPTIONS = {
    "reference": "reference__key",
    "first": "first__key",
    "second": "second__key",
    "reference_text": "reference__text",
    "first_text": "first__text",
    "second_text": "second__text",
}
STORED = {
    "unit": "unit__key",
    "image": "unit__item__name",
    **{name: f"unit__{path}" for name, path in CAPTIONS.items()},
    "kind": "unit__kind",
    "pair": "unit__pair__key",
    "worker": "assignment__worker__name",
    "hit": "assignment__hit__key",
    "value": "value",
    "answer": "answer",
    "control": "unit__control",
    "expected": "unit__expected",
    "presented": "presented",
    "simulated": "assignment__simulated",
    "accepted_at": "assignment__accepted_at",
    "submitted_at": "assignment__submitted_at",
    "seconds": "seconds",
    "wall_seconds": "wall_seconds",
    "comment": "comment",
}
FURTHER = (
    "unit_id", "pk", "assignment_id", "assignment__external_id", "assignment__worker_id", "set_aside", "signals",
)  # fmt: skip
OPEN_COLUMNS = ("answer", "content")  # only where answers are open


def columns_of(study: Study) -> tuple[str, ...]:
    is_open = KINDS[study.protocol].is_open
    return tuple(name for name in JUDGMENT_COLUMNS if name not in OPEN_COLUMNS or is_open)


@lru_cache(maxsize=4_096)  # cached: an assignment's rows are close together and share their times
def timestamp(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")


def no_judgments() -> dict[str, int]:
    counted = ("judgments", "used", "unused", "control", "simulated", "revised", "invalidated")
    return dict.fromkeys(counted, 0)


@dataclass(slots=True)
class JudgmentRows:
    """A study's judgments as dicts, by unit and then worker name; iterate once.

    Answers that an exclusion invalidated are included, marked as unused.

    Attributes:
        revisions: whether revised answers are included, before their revisions.
        only: ordered row ids of the only units to read; their rows name the captions' systems.
        counts, tally: complete after the last row; the tally covers current judgments.
    """

    study: Study
    moment: Snapshot
    revisions: bool = False
    only: Sequence[int] | None = None
    counts: dict[str, int] = field(default_factory=no_judgments)
    tally: JudgmentTally = field(default_factory=JudgmentTally)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        credits = Credits(self.study, self.moment)
        if self.only is None:
            yield from self._rows(None, {})
            return
        for many in batched(self.only, CREDITS_AT_ONCE):
            found = credits.of(many)
            for units in batched(many, UNITS_AT_ONCE):
                yield from self._rows(units, found)

    def _rows(self, units: Sequence[int] | None, credits: Mapping[int, Any]) -> Iterator[dict[str, Any]]:
        study, counts, kind = self.study, self.counts, KINDS[self.study.protocol]
        moment = self.moment
        imported = study.source == Study.Source.IMPORTED
        columns = columns_of(study)
        replaces = self._replaced(units)
        numbers, replaced = _revision_numbers(replaces), set(replaces.values())
        judgments = (moment.all_judgments if self.revisions else moment.judgments)(study, units=units)
        lookups = (*FURTHER, *STORED.values(), *(("unit__content",) if kind.is_open else ()))
        worker_at = lookups.index(STORED["worker"])
        rows = judgments.order_by("unit__position", "unit_id", "pk").values_list(*lookups)
        for row in by_unit_and_name(rows.iterator(ROWS_AT_ONCE), unit=0, worker=worker_at):
            unit_id, pk, assignment, external_id, worker_id, set_aside, signals = row[: len(FURTHER)]
            cells = dict(zip(STORED, row[len(FURTHER) :], strict=False))
            content = row[-1] if kind.is_open else {}
            answer, expected = cells["answer"], cells["expected"]
            invalidated = assignment in moment.gone
            current = pk not in replaced and not invalidated
            fit = not set_aside and unit_id not in moment.withdrawn
            used = current and fit and moment.counts(assignment, worker_id)
            if current:
                given = cells["value"] if answer is None else answer
                self.tally.add(
                    cells["unit"], cells["worker"], given,
                    used=used, control=cells["control"], presented=cells["presented"],
                )  # fmt: skip
            counts["judgments"] += 1
            counts["used" if used else "unused"] += 1
            counts["control"] += cells["control"]
            counts["simulated"] += cells["simulated"]
            counts["revised"] += pk in replaced
            counts["invalidated"] += invalidated
            for name in ("kind", "presented", "comment"):
                cells[name] = cells[name] or None
            cells |= {
                "study": study.slug,
                "protocol": study.protocol,
                # Imported units keep their original ids.
                "assignment": external_id if imported and external_id else str(assignment),
                "answer": None if answer is None else kind.exchange.exported(answer, content=content),
                "expected": None if expected is None else kind.exchange.exported(expected, content=content),
                "used": used,
                "accepted_at": timestamp(cells["accepted_at"]),
                "submitted_at": timestamp(cells["submitted_at"]),
                "revision": numbers.get(pk, 0) + signals.get(IMPORTED_REVISION, 0),
                "invalidated": moment.gone.get(assignment),
                "content": content or None,
                "systems": credits.get(unit_id),
            }
            yield {name: cells[name] for name in columns}

    def _replaced(self, units: Sequence[int] | None) -> dict[int, int]:
        revisions = self.moment.all_judgments(self.study, units=units).filter(replaces__isnull=False)
        return dict(revisions.values_list("pk", "replaces_id"))


def _revision_numbers(replaced: Mapping[int, int]) -> dict[int, int]:
    numbers: dict[int, int] = {}
    for pk in sorted(replaced):  # what is replaced was stored before
        numbers[pk] = numbers.get(replaced[pk], 0) + 1
    return numbers
