"""Export the consensus: qrels, Flickr8k's files, gold answers, soft labels, captions and the reliability matrix.

Units without included judgments are omitted and counted.
"""

from __future__ import annotations

import json
import sqlite3
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from annotation.models import Worker
from annotation.snapshots import Snapshot
from common.files import HashedFile, csv_line, guard_formula
from common.rows import batched
from evaluation.data.export.parts import (
    UNITS_AT_ONCE,
    Encoding,
    ExportWork,
    read_lines,
    take_snapshot,
    write_line,
)
from evaluation.data.judgment_sets import loaders
from evaluation.data.judgment_sets.loaders import by_unit_and_name
from evaluation.data.judgment_sets.records import MOST_VALUES
from evaluation.errors import EvaluationError, ExportError
from judgments.design.scale import number_text
from judgments.drawing.material import content_key
from judgments.kinds import KINDS, Consensus
from judgments.kinds.grounding import box_numbers, boxes_named
from judgments.kinds.keywords import stemmed
from judgments.models import Study, Unit
from judgments.studies.studies import kind_of
from quorum.statistics.disagreement import soft_labels

GRADES_A_LINE = 3  # the expert file has three columns of grades
ROWS_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class UnitAnswers:
    pk: int
    image: str
    caption: str
    values: tuple[int, ...]


def read_unit_answers(work: ExportWork) -> Iterator[list[UnitAnswers]]:
    for some, answers in work.answers():
        names = Unit.objects.filter(pk__in=some, control=False).order_by("position", "pk")
        rows = names.values_list("pk", "item__name", "first__key")
        yield [UnitAnswers(pk, image, caption, tuple(answers.get(pk, ()))) for pk, image, caption in rows]


def _check_no_blank(text: str, *, what: str) -> str:
    if not text or text.split() != [text]:
        raise ExportError(f"The {what} {text!r} holds a blank; qrels separates its fields by blanks.")
    return text


class LineParts(Encoding):
    tallies = True
    counts = {"lines": 0, "left_out": 0}

    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        for units in read_unit_answers(work):
            for line in self.lines(work, units):
                if line is None:
                    work.counts["left_out"] += 1
                else:
                    file.write_text(f"{line}\n")
                    work.counts["lines"] += 1

    @abstractmethod
    def lines(self, work: ExportWork, units: Sequence[UnitAnswers]) -> Iterator[str | None]:
        """Yield each unit's line, or None to omit it."""


class Qrels(LineParts):
    """Write TREC relevance judgments: ``query 0 document relevance``.

    Relevance is the adjudicated answer or the consensus (``RelevanceScale.grade``).
    """

    def lines(self, work: ExportWork, units: Sequence[UnitAnswers]) -> Iterator[str | None]:
        kind, decisions = kind_of(work.study), work.moment.decisions
        assert kind.relevance is not None  # the format refuses other kinds
        if decisions:
            work.counts.setdefault("adjudicated", 0)
        positions = [position for position, unit in enumerate(units) for _ in unit.values]
        values = [value for unit in units for value in unit.values]
        consensus = kind.aggregation.consensus(positions, values) if values else {}
        for position, unit in enumerate(units):
            decision = decisions.get(unit.pk)
            if position not in consensus and decision is None:
                yield None
                continue
            if decision is not None:
                work.counts["adjudicated"] += 1
            value = consensus[position].value if decision is None else float(decision)
            assert value is not None  # these kinds have no ties
            image, caption = (
                _check_no_blank(unit.image, what="image"),
                _check_no_blank(unit.caption, what="caption id"),
            )
            query, document = (image, caption) if work.task == "annotation" else (caption, image)
            yield f"{query} 0 {document} {kind.relevance.grade(value)}"


class Flickr8k(LineParts):
    """Write image, caption id, and Flickr8k's columns for the study's scale."""

    def lines(self, work: ExportWork, units: Sequence[UnitAnswers]) -> Iterator[str | None]:
        columns = FLICKR8K[kind_of(work.study).values]
        for unit in units:
            cells = columns(unit.values)
            yield f"{unit.image}\t{unit.caption}\t{cells}" if cells else None


def _crowd_columns(values: Sequence[float]) -> str:
    """Return the columns of CrowdFlowerAnnotations.txt: share of yes, number of yes, number of no."""
    n, yes = len(values), sum(values)
    return f"{yes / n:.15g}\t{yes}\t{n - yes}" if n else ""


def _expert_columns(values: Sequence[float]) -> str:
    """Return the columns of ExpertAnnotations.txt: exactly three grades, ascending."""
    return "\t".join(map(str, sorted(values))) if len(values) == GRADES_A_LINE else ""


# Scale -> the columns of its file.
FLICKR8K: dict[tuple[float, ...], Callable[[Sequence[float]], str]] = {
    (0, 1): _crowd_columns,
    (1, 2, 3, 4): _expert_columns,
}


def keyword_gold(study: Study, *, stems: bool = True) -> dict[str, Counter[str]]:
    """Return image -> multiset of tags R_j (MC12 §3.2), merged by ``stems`` as in the paper."""
    return {
        unit.item.name: Counter(stemmed(consensus.answer) if stems else consensus.answer)
        for unit, consensus in _consensus_of_all(study)
    }


def content_gold(study: Study) -> dict[str, list[set[int]]]:
    """Return image -> 0-based boxes named by each description (the sets G_m of WG15 eq. 1-3)."""
    gold: dict[str, list[set[int]]] = {}
    for unit, consensus in _consensus_of_all(study):
        gold.setdefault(unit.item.name, []).append(set(box_numbers(consensus.answer, unit.content["boxes"])))
    return gold


class GoldLines(Encoding):
    suffix = "jsonl"
    tallies = True
    lines: str  # what they are called

    def __init__(self) -> None:
        self.counts = {self.lines: 0, "left_out": 0}

    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        for some, answers in work.answers():
            lines = 0
            for unit, consensus in _consensus_of(work.study, list(answers.items())):
                if (row := self.row(unit, consensus)) is not None:
                    write_line(file, row)
                    lines += 1
            work.counts[self.lines] += lines
            work.counts["left_out"] += Unit.objects.filter(pk__in=some, control=False).count() - lines

    @abstractmethod
    def row(self, unit: Unit, consensus: Consensus) -> dict[str, Any] | None:
        """Return a unit's line, or None to omit it."""


class KeywordLines(GoldLines):
    lines = "images"

    def row(self, unit: Unit, consensus: Consensus) -> dict[str, Any]:
        return {
            "image": unit.item.name,
            "unit": unit.key,
            "workers": consensus.n,
            "keywords": consensus.answer,
            "stems": stemmed(consensus.answer),
        }


class GroundingLines(GoldLines):
    lines = "descriptions"

    def row(self, unit: Unit, consensus: Consensus) -> dict[str, Any]:
        labels = {box["id"]: box["label"] for box in unit.content["boxes"]}
        text, row = row_of_caption(unit, consensus)
        tokens = text.split()
        return row | {
            "tie": consensus.tie,
            "links": [
                {
                    **link,
                    "text": tokens[link["word"]],
                    "label": labels[link["box"]],
                    "votes": consensus.votes[f"{link['word']}:{link['box']}"],
                }
                for link in consensus.answer
            ],
            "boxes": boxes_named(consensus.answer),
            "box_numbers": box_numbers(consensus.answer, unit.content["boxes"]),
        }


def row_of_caption(unit: Unit, consensus: Consensus) -> tuple[str, dict[str, Any]]:
    """Return the judged text, and what a row says of it."""
    caption = unit.first
    assert caption is not None  # every unit of these kinds has one
    return caption.text, {
        "image": unit.item.name,
        "unit": unit.key,
        "caption_id": caption.key,
        "caption": caption.text,
        "workers": consensus.n,
    }


def _consensus_of_all(study: Study) -> Iterator[tuple[Unit, Consensus]]:
    for some in batched(loaders.counted_answers(study, take_snapshot(study)), UNITS_AT_ONCE):
        yield from _consensus_of(study, some)


def _consensus_of(study: Study, some: Sequence[tuple[int, list[Any]]]) -> Iterator[tuple[Unit, Consensus]]:
    answers = [(unit, answer) for unit, unit_answers in some for answer in unit_answers]
    if not answers:
        return
    consensus = kind_of(study).aggregation.consensus(
        [unit for unit, _ in answers], [answer for _, answer in answers]
    )
    units = Unit.objects.select_related("item", "first", "second").in_bulk([unit for unit, _ in some])
    for unit, _ in some:
        if unit in consensus:
            yield units[unit], consensus[unit]


@dataclass(frozen=True, slots=True)
class CollectedCaption:
    """An included caption; ``key`` is equal on every database, and new for a revision."""

    key: str
    text: str
    image: str
    split: str
    item_id: int
    worker_id: int
    worker: str
    judgment_id: int


def check_writes(study: Study) -> None:
    """Raise EvaluationError unless the study collects captions."""
    if not KINDS[study.protocol].writes_captions:
        raise EvaluationError(
            f"Study {study.slug!r} is {study.protocol}; captions are written in studies of protocol caption alone."
        )


def written_captions(
    study: Study, moment: Snapshot, *, units: Sequence[int] | None = None
) -> Iterator[CollectedCaption]:
    """Yield the captions included at ``moment``, by unit, then worker name."""
    rows = (
        moment.judgments(study, units=units)
        .filter(unit__control=False, set_aside=False)
        .order_by("unit__position", "unit_id", "pk")
        .values_list(
            "unit_id", "assignment__worker__name", "assignment__worker_id", "pk", "answer", "unit__key",
            "unit__item_id", "unit__item__name", "unit__item__split", "assignment_id",
        )
    )  # fmt: skip
    for row in by_unit_and_name(rows.iterator(ROWS_AT_ONCE), unit=0, worker=1):
        _, worker, worker_id, judgment, text, unit, item, image, split, assignment = row
        if moment.includes(assignment, worker_id):
            key = f"w-{content_key('written', study.slug, unit, worker, text)}"
            yield CollectedCaption(key, text, image, split, item, worker_id, worker, judgment)


def pseudonyms(workers: Collection[int]) -> dict[int, str]:
    return {worker: f"writer-{number:04d}" for number, worker in enumerate(names_in_order(workers), start=1)}


def names_in_order(workers: Collection[int]) -> dict[int, str]:
    """Return worker -> name, in the order of names."""
    names: dict[int, str] = {}
    for some in batched(workers, ROWS_AT_ONCE):
        names |= dict(Worker.objects.filter(pk__in=some).values_list("pk", "name"))
    return dict(sorted(names.items(), key=lambda entry: (entry[1], entry[0])))


class WrittenCaptions(Encoding):
    """Write JSON lines: image, caption, caption_id, split if any, and the writer's pseudonym.

    Parts hold row ids of writers, as pseudonyms need all of them.
    """

    suffix = "rows"
    progress_count = "captions"
    counts = {"captions": 0, "writers": 0}

    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        for some in batched(work.pieces, UNITS_AT_ONCE):
            for caption in written_captions(work.study, work.moment, units=some):
                row = {
                    "image": caption.image,
                    "caption": caption.text,
                    "caption_id": caption.key,
                    **({"split": caption.split} if caption.split else {}),
                    "worker": caption.worker_id,
                }
                write_line(file, row)
                work.counts["captions"] += 1

    def join(self, work: ExportWork, file: HashedFile, parts: Iterator[Path]) -> None:
        paths = list(parts)
        names = pseudonyms({row["worker"] for row in read_lines(paths)})
        for row in read_lines(paths):
            write_line(file, row | {"worker": names[row["worker"]]})
        work.counts["writers"] = len(names)


class Reliability(Encoding):
    """Write a header of unit ids and a line per worker; missing cells are empty.

    Joining transposes the parts in an SQLite file that sorts on disk, so memory holds only worker names.
    """

    suffix = "units"
    tallies = True
    progress_count = "values"
    counts = {"lines": 0, "units": 0, "values": 0}

    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        side_of = KINDS[work.study.protocol].outcome_of  # without strength and confidence
        for some, answers in work.votes():
            units = Unit.objects.filter(pk__in=some, control=False).order_by("position", "pk")
            for pk, key in units.values_list("pk", "key"):
                votes = [(worker, side_of(value)) for worker, value in answers.get(pk, [])]
                file.write_text(f"{json.dumps([key, votes], separators=(',', ':'))}\n")
                work.counts["units"] += 1
                work.counts["values"] += len(votes)

    def join(self, work: ExportWork, file: HashedFile, parts: Iterator[Path]) -> None:
        scratch = work.folder / "turned"
        scratch.unlink(missing_ok=True)  # of a join that was stopped
        with closing(sqlite3.connect(scratch, isolation_level=None)) as database:
            for name in ("journal_mode", "synchronous"):
                database.execute(f"PRAGMA {name} = OFF")
            database.execute("CREATE TABLE cells (worker INTEGER, column INTEGER, value INTEGER)")
            database.execute("BEGIN")
            file.write_text("worker")
            for batch in batched(enumerate(read_lines(parts)), ROWS_AT_ONCE):
                file.write_text(f",{csv_line(guard_formula(key) for _, (key, _) in batch)}")
                database.executemany(
                    "INSERT INTO cells VALUES (?, ?, ?)",
                    ((worker, column, value) for column, (_, votes) in batch for worker, value in votes),
                )
            file.write_text("\r\n")
            for name, cells in _worker_lines(database):
                file.write_text(csv_line([guard_formula(name)]))
                at = -1
                for some in batched(cells, ROWS_AT_ONCE):
                    text = ""
                    for column, value in some:
                        text += f"{',' * (column - at)}{value}"
                        at = column
                    file.write_text(text)
                file.write_text(f"{',' * (work.counts['units'] - 1 - at)}\r\n")
                work.counts["lines"] += 1


def _worker_lines(database: sqlite3.Connection) -> Iterator[tuple[str, Iterator[tuple[int, int]]]]:
    workers = [worker for (worker,) in database.execute("SELECT DISTINCT worker FROM cells ORDER BY worker")]
    names = names_in_order(workers)
    database.execute("CREATE TABLE ranks (worker INTEGER PRIMARY KEY, position INTEGER)")
    database.executemany("INSERT INTO ranks VALUES (?, ?)", ((worker, at) for at, worker in enumerate(names)))
    rows = database.execute(
        "SELECT position, column, value FROM cells JOIN ranks USING (worker) ORDER BY position, column"
    )
    for name, (_, group) in zip(names.values(), groupby(rows, key=itemgetter(0)), strict=True):
        yield name, ((column, value) for _, column, value in group)


CORRECTED = "miller-madow"  # of a unit alone, so that a part says the same whatever the others hold


def has_soft_labels(study: Study) -> bool:
    kind = kind_of(study)
    return not kind.is_open and 2 <= len(kind.outcomes) <= MOST_VALUES


def why_no_soft_labels(study: Study) -> str:
    return "" if has_soft_labels(study) else f"it holds answers of at most {MOST_VALUES} values"


class SoftLabelLines(Encoding):
    """Write a line per unit with included judgments; count the others."""

    tallies = True
    counts = {"lines": 0, "left_out": 0}

    def write_part(self, work: ExportWork, file: HashedFile) -> None:
        kind = kind_of(work.study)
        labels = kind.outcomes
        for some, answers in work.answers():
            rows = Unit.objects.filter(pk__in=some, control=False).order_by("position", "pk")
            shown = rows.select_related("item", "reference", "first", "second")
            units = [unit for unit in shown if answers.get(unit.pk)]
            work.counts["left_out"] += len(shown) - len(units)
            if not units:
                continue
            codes = [index for index, unit in enumerate(units) for _ in answers[unit.pk]]
            values = [kind.outcome_of(value) for unit in units for value in answers[unit.pk]]
            plain = soft_labels(codes, values, labels=labels, correction="none")
            corrected = soft_labels(codes, values, labels=labels, correction=CORRECTED)
            for index, unit in enumerate(units):
                names = [number_text(label) for label in labels]
                several = plain.judgments[index] > 1
                write_line(
                    file,
                    {
                        "unit": unit.key,
                        "image": unit.item.name,
                        **{
                            side: caption.key if caption else None
                            for side, caption in (
                                ("reference", unit.reference),
                                ("first", unit.first),
                                ("second", unit.second),
                            )
                        },
                        "n": int(plain.judgments[index]),
                        "votes": dict(zip(names, plain.counts[index].tolist(), strict=True)),
                        "distribution": dict(zip(names, plain.shares[index].tolist(), strict=True)),
                        "entropy": float(plain.entropy[index]) if several else None,
                        "entropy_corrected": float(corrected.entropy[index]) if several else None,
                    },
                )
                work.counts["lines"] += 1
