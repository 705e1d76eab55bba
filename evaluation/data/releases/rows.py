"""Collect the rows of a release in little memory, to compute its results.

The same class collects the rows when a release is made and when it is verified. Units, pairs and people are numbered in
the order of the bundle, so results do not depend on the database.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from evaluation.data.judgment_sets.data_hash import hash_with_winners
from evaluation.data.judgment_sets.records import JudgmentTable, WorkerRow
from evaluation.data.judgment_sets.signatures import MaterialCounts, judgment_signature
from evaluation.data.judgment_sets.tallies import FIRST_LEFT, JudgmentTally
from evaluation.data.ranked_lists import ANNOTATION
from evaluation.data.releases.settings import ReleaseSettings
from evaluation.data.releases.tables import (
    CAPTION_FIELDS,
    CONTENT_FIELDS,
    PAIR_FIELDS,
    PROPOSAL_FIELDS,
    SCORE_FIELDS,
    TEXTS,
    UNIT_FIELDS,
    CompactRows,
    Row,
    make_row_class,
)
from judgments.drawing.controls.makers import REPEATED
from judgments.drawing.documents import first_of_documents
from judgments.kinds import IncludedJudgment
from quorum.statistics.aggregation.pair_answers import FIRST, SECOND

ANONYMOUS_PREFIX = "anon-"  # prefix of pseudonyms for raters of published totals
# The flags of a judgment are one number: 1 if it is used, plus 2 times the option on the left (1 or 2; 0 if unknown).
USED_FACTOR, SIDE_FACTOR = 1, 2
# Values of columns that older bundles lack, which were made before systems ranked images for captions.
OLD_PROPOSAL = {"task": ANNOTATION, "query": None, "original": None}


@dataclass(slots=True)
class _Assignment:
    """An assignment.

    Attributes:
        person: number of the worker.
        seconds: time from taking to submitting it; 0 if unknown.
        judgments: number of judgments.
        answers: answers to control items and to units that are repeated, by unit number.
    """

    person: int
    seconds: float
    judgments: int = 0
    answers: dict[int, Any] = field(default_factory=dict)


@dataclass(slots=True)
class ReleasedRows:
    """The rows of a bundle, from which its results are computed. Add judgments after the rows of all other tables.

    Units, pairs and people are numbered from 0 in the order of the rows. Judgments are kept as columns.

    Attributes:
        judgment_count: number of judgments, including invalidated ones.
        invalidated_count: number of invalidated judgments.
        has_old_proposals: whether the bundle was made before systems ranked images for captions.
        first_with_text: by unit number, the id of the first caption with the same words, if it is not the unit's own.
        credits: by unit number, the systems that a file credits with the unit's text, or with each of its options.
        document_of: documents of images, if files name them.
        work: assignments by id.
    """

    settings: ReleaseSettings
    units: CompactRows = field(init=False)
    pairs: CompactRows = field(init=False)
    scores: CompactRows = field(init=False)
    captions: CompactRows = field(init=False)
    proposals: CompactRows = field(init=False)
    contents: CompactRows = field(init=False)
    judgment_count: int = 0
    invalidated_count: int = 0
    has_old_proposals: bool = False
    first_with_text: dict[int, str] = field(default_factory=dict)
    credits: dict[int, list[Any]] = field(default_factory=dict)
    document_of: dict[str, str] = field(default_factory=dict)
    work: dict[str, _Assignment] = field(default_factory=dict)
    _unit_numbers: dict[str, int] = field(default_factory=dict)
    _repeated_units: set[str] = field(default_factory=set)
    _people: dict[str, int] = field(default_factory=dict)
    _simulated_names: set[str] = field(default_factory=set)
    _unit_column: array[int] = field(default_factory=lambda: array("q"))
    _person_column: array[int] = field(default_factory=lambda: array("q"))
    _flags: array[int] = field(default_factory=lambda: array("b"))
    _values: array[float] = field(default_factory=lambda: array("d"))
    _full_values: array[float] = field(default_factory=lambda: array("d"))  # with strength and confidence
    _seconds: array[float] = field(default_factory=lambda: array("d"))
    _answers: list[Any] = field(default_factory=list)
    _tally: JudgmentTally = field(default_factory=JudgmentTally)

    def __post_init__(self) -> None:
        interned_strings: dict[str, str] = {}
        kind = self.settings.kind
        texts = TEXTS if kind.is_open or kind.results else ()
        self.units = CompactRows(make_row_class(*UNIT_FIELDS, *texts), interned_strings)
        self.pairs = CompactRows(make_row_class(*PAIR_FIELDS), interned_strings)
        self.scores = CompactRows(make_row_class(*SCORE_FIELDS), interned_strings)
        self.captions = CompactRows(make_row_class(*CAPTION_FIELDS), interned_strings)
        self.proposals = CompactRows(make_row_class(*PROPOSAL_FIELDS), interned_strings)
        self.contents = CompactRows(make_row_class(*CONTENT_FIELDS), interned_strings)

    def add_pair(self, row: Row) -> None:
        self._note_document(row)
        self.pairs.append(row)

    def _note_document(self, row: Row) -> None:
        """Remember the document of a row's image, if the row names one."""
        if "document" in row:
            self.document_of[row["image"]] = row["document"]

    @property
    def documents(self) -> dict[str, str]:
        """The first image of each image's document, by image; {} unless there are several documents."""
        return first_of_documents(self.document_of.items())

    def add_unit(self, row: Row) -> None:
        self._note_document(row)
        if "same_words" in row:
            self.first_with_text[len(self.units)] = row["same_words"]
        if "systems" in row:
            self.credits[len(self.units)] = row["systems"]
        self._unit_numbers[row["unit"]] = len(self.units)
        self.units.append(row)
        if row["repeats"]:
            self._repeated_units.add(row["repeats"])

    def add_proposal(self, row: Row) -> None:
        self.has_old_proposals = self.has_old_proposals or "task" not in row
        self.proposals.append({**OLD_PROPOSAL, **row})

    def add_judgment(self, row: Row) -> None:
        """Add a judgment. Invalidated ones are only counted. The tally hashes open answers in their form in files."""
        self.judgment_count += 1
        if row["invalidated"]:
            self.invalidated_count += 1
            return
        kind = self.settings.kind
        unit_number = self._unit_numbers[row["unit"]]
        unit = self.units[unit_number]
        name, presented = row["worker"], row["presented"] or ""
        answer = row["answer"] if kind.is_open else row["value"]
        is_used, control = bool(row["used"]), bool(unit["control"])
        self._tally.add(row["unit"], name, answer, used=is_used, control=control, presented=presented)
        if kind.is_open:
            answer = kind.exchange.from_file(answer, content=unit["content"] or {})
        outcome = kind.outcome_of(answer)
        side = 0
        if presented:
            side = FIRST if presented == FIRST_LEFT else SECOND
        person = self._people.setdefault(name, len(self._people))
        if row["simulated"]:
            self._simulated_names.add(name)
        self._unit_column.append(unit_number)
        self._person_column.append(person)
        self._flags.append(USED_FACTOR * is_used + SIDE_FACTOR * side)
        self._answers.append(answer if kind.is_open else None)
        self._values.append(np.nan if kind.is_open else float(outcome))
        self._full_values.append(np.nan if kind.is_open else float(answer))
        self._seconds.append(np.nan if row["seconds"] is None else float(row["seconds"]))
        work = self.work.setdefault(
            row["assignment"], _Assignment(person, _seconds_between(row["accepted_at"], row["submitted_at"]))
        )
        work.judgments += 1
        if control or row["unit"] in self._repeated_units:
            work.answers[unit_number] = answer

    def table(self) -> JudgmentTable:
        """Return the current judgments, in the order of the bundle. Row ids are numbers of units and people."""
        unit = np.array(self._unit_column, dtype=np.int64)
        worker = np.array(self._person_column, dtype=np.int64)
        flags = np.array(self._flags, dtype=np.int8)
        control = np.array([bool(row["control"]) for row in self.units], dtype=bool)
        return JudgmentTable(
            pk=np.arange(len(unit)),
            unit=unit,
            worker=worker,
            value=np.array(self._values, dtype=np.float64),
            full_value=np.array(self._full_values, dtype=np.float64),
            answer=tuple(self._answers),
            control=control[unit] if len(unit) else np.zeros(0, dtype=bool),
            used=flags % SIDE_FACTOR == USED_FACTOR,
            side=flags // SIDE_FACTOR,
            seconds=np.array(self._seconds, dtype=np.float64),
            data_hash=self._tally.finish().data_hash,
        )

    def people(self) -> list[WorkerRow]:
        """Return the workers of the judgments, sorted by pseudonym."""
        people = [
            WorkerRow(number, name, name.startswith(ANONYMOUS_PREFIX), name in self._simulated_names)
            for name, number in self._people.items()
        ]
        return sorted(people, key=lambda row: row.name)

    def wall_times(self) -> dict[int, list[float]]:
        """Return, for each worker, the seconds per judgment of the worker's assignments.

        Assignments of unknown duration are left out. If times are cut to the minute, all durations are unknown.
        """
        times: dict[int, list[float]] = {}
        if self.settings.cut_times:
            return times
        for work in self.work.values():
            if work.seconds > 0:
                times.setdefault(work.person, []).append(work.seconds / work.judgments)
        return times

    def control_answers(self) -> list[tuple[int, Any, Any, str]]:
        """Return (person, answer, expected answer, kind of control item) for control items that are not withdrawn.

        The expected answer to a repeated unit is the same person's first answer.
        """
        rows = []
        for work in self.work.values():
            for number, answer in work.answers.items():
                unit = self.units[number]
                if not unit["control"] or unit["struck"]:
                    continue
                expected_answer = self._expected_answer(unit, work)
                if expected_answer is not None:
                    rows.append((work.person, answer, expected_answer, unit["control_kind"] or ""))
        return rows

    def _expected_answer(self, unit: Row, work: _Assignment) -> Any:
        """Return the expected answer to a control item of an assignment, or None if it is unknown."""
        kind = self.settings.kind
        if unit["control_kind"] == REPEATED:
            first_answer = work.answers.get(self._unit_numbers[unit["repeats"]])
            return None if first_answer is None else kind.expected_on_repeat(first_answer)
        if unit["expected"] is None:
            return None
        return kind.exchange.from_file(unit["expected"], content=unit["content"] or {})

    def included_judgments(self, table: JudgmentTable) -> list[IncludedJudgment]:
        is_counted = table.is_counted
        image_numbers: dict[str, int] = {}
        units = []
        for number, row in enumerate(self.units):
            image = image_numbers.setdefault(row["image"], len(image_numbers))
            document = self.document_of.get(row["image"], "")
            units.append(_unit_of(number, row, image, self.credits.get(number, ()), document))
        rows = zip(
            table.unit[is_counted].tolist(),
            table.worker[is_counted].tolist(),
            table.answers_of(is_counted),
            strict=True,
        )
        return [
            IncludedJudgment(unit=units[unit], worker=worker, answer=answer) for unit, worker, answer in rows
        ]

    def signature(self) -> str:
        settings = self.settings
        judged_units = [row for row in self.units if not row["control"]]
        references_of_pair: dict[tuple[Any, Any], set[str]] = {}  # by pair, or None, and image
        for row in judged_units:
            if row["reference"]:
                references_of_pair.setdefault((row["pair"], row["image"]), set()).add(row["reference"])
        references = [len(names) for names in references_of_pair.values()] or [0]
        material = MaterialCounts(
            units=len(judged_units),
            pairs=len(self.pairs) if settings.kind.compares_pairs else None,
            images=len({row["image"] for row in judged_units}),
            references=(min(references), max(references)),
        )
        vote_counts = self._tally.finish()
        if settings.winners_signed:  # not in bundles of earlier versions
            published_winners = {row["pair"]: row["published_winner"] for row in self.pairs}
            winners = {pair: winner for pair, winner in published_winners.items() if winner is not None}
            vote_counts = replace(vote_counts, data_hash=hash_with_winners(vote_counts.data_hash, winners))
        signature = judgment_signature(
            settings.kind,
            material,
            vote_counts,
            controls=settings.controls,
            seed=settings.seed,
            version=settings.version,
            others=dict(settings.others),
        )
        return str(signature)


def _unit_of(number: int, row: Row, image: int, systems: Sequence[Any], document: str) -> SimpleNamespace:
    """Return an object with the attributes of ``judgments.models.Unit`` that the computation of results reads."""

    def caption(name: str) -> SimpleNamespace | None:
        return SimpleNamespace(key=row[name], text=row[f"{name}_text"] or "") if row[name] else None

    return SimpleNamespace(
        pk=number, key=row["unit"], kind=row["kind"] or "", content=row["content"] or {}, position=number,
        item=SimpleNamespace(pk=image, name=row["image"], position=image, document=document), item_id=image,
        reference=caption("reference"), first=caption("first"), second=caption("second"), systems=systems,
    )  # fmt: skip


@lru_cache(maxsize=4_096)  # cached, as the rows of an assignment have the same times
def _seconds_between(accepted_at: str | None, submitted_at: str | None) -> float:
    """Return the seconds between two times in ISO 8601, or 0 if one is unknown."""
    if not accepted_at or not submitted_at:
        return 0.0
    return (datetime.fromisoformat(submitted_at) - datetime.fromisoformat(accepted_at)).total_seconds()
