"""Collect the rows of a release in little memory, to compute its results.

The same class collects the rows when a release is made and when it is verified. Units, pairs and people are numbered in
the order of the bundle, so results do not depend on the database.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
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
from judgments.design.tables.controls import Controls
from judgments.drawing.controls.makers import REPEATED
from judgments.drawing.documents import first_of_documents
from judgments.kinds import KINDS, IncludedJudgment, Kind
from quorum.statistics.aggregation.pair_answers import FIRST, SECOND

ANONYMOUS_PREFIX = "anon-"  # prefix of pseudonyms for raters of published totals
# One number stores whether a judgment is used, and the option on the left: 0, 1 or 2.
USED_FACTOR, SIDE_FACTOR = 1, 2
Row = Mapping[str, Any]
# Columns of the tables that are kept. TEXTS of units are kept only if answers are compared with them.
UNIT_FIELDS = ("unit", "image", "reference", "first", "second", "pair", "kind", "control", "control_kind", "expected",
           "repeats", "struck", "filtered", "audited", "full_depth", "decided", "content")  # fmt: skip
TIMES = ("accepted_at", "submitted_at")
TEXTS = ("reference_text", "first_text", "second_text")
PAIR_FIELDS = ("pair", "kind", "image", "first", "second", "first_system", "second_system", "references",
           "published_winner")  # fmt: skip
SCORE_FIELDS = ("metric", "pair", "unit", "image", "caption", "first", "second")
CAPTION_FIELDS = ("caption", "text", "image", "document")
PROPOSAL_FIELDS = ("system", "task", "image", "caption", "query", "rank", "original")
CONTENT_FIELDS = ("system", "image", "names")
# Values of columns that older bundles lack, which were made before systems ranked images for captions.
OLD_PROPOSAL = {"task": ANNOTATION, "query": None, "original": None}
UNIQUE_COLUMNS = frozenset({"unit", "text", *TEXTS})  # not interned, because each row has its own value


@dataclass(frozen=True, slots=True)
class ReleaseSettings:
    """What the results depend on besides the rows. The manifest has it as ``settings``, with these names.

    Older releases lack the settings that have a default, which says how results were computed then.

    Attributes:
        protocol, seed: the study's protocol, and the seed of its design.
        controls: the required share of right control items, or a word, as in the judgment signature.
        version: the version of Quorum that made the release.
        others: the fields of the judgment signature that not every study has.
        full_depth: whether agreement uses only units that early stopping did not end.
        evaluation: settings and signatures of the evaluation of metrics, or ``why_not``.
        filter: number of image-caption ``pairs``, and of those that ``passed`` the filter; {} without an audit.
        asked: the setting of the design that answers depend on (``Kind.setting``); usually empty.
        cut_times: whether times are cut to the minute, so that there are no durations.
        wording: version of the wording of the report's sentences.
        winners_signed: whether the signature covers published winners.
        clustered: whether intervals and tests cluster by image and worker.
        raters_known: whether names of workers tell people apart, so that intervals of metrics can cluster by worker.
        credited: how a text that several units show is scored. If true, each unit scores the systems that a file
            credits with its text. If false, the first of these units scores all systems that gave the text.
        both_orders: whether agreement counts choices between two texts in both orders.
    """

    protocol: str
    seed: int
    controls: float | str
    version: str
    others: Mapping[str, Any]
    full_depth: bool
    evaluation: Mapping[str, Any] = field(default_factory=dict)
    filter: Mapping[str, int] = field(default_factory=dict)
    asked: str = ""
    cut_times: bool = False
    wording: int = 0
    winners_signed: bool = False
    clustered: bool = False
    raters_known: bool = False
    credited: bool = False
    both_orders: bool = False

    def as_json(self) -> dict[str, Any]:
        # Older bundles lack some settings, which have their default then.
        optional = {setting.name for setting in fields(self) if setting.default is not MISSING}
        return {name: value for name, value in asdict(self).items() if name not in optional or value}

    @property
    def kind(self) -> Kind:
        return KINDS[self.protocol].with_setting(self.asked)

    @property
    def control_rule(self) -> Controls:
        """The rule on control items. If ``controls`` is a word, such as ``as-imported``, it excludes nobody."""
        threshold = 0.0 if isinstance(self.controls, str) else self.controls
        return Controls(threshold=threshold, least=self.others.get("least", 1))


class CompactRow(tuple[Any, ...]):
    """A row with access by column, which needs a quarter of the memory of a dict."""

    __slots__ = ()
    column_positions: Mapping[str, int] = {}

    def __getitem__(self, name: Any) -> Any:
        return tuple.__getitem__(self, self.column_positions[name])


def _make_row_class(*names: str) -> type[CompactRow]:
    return type(
        "CompactRow",
        (CompactRow,),
        {"__slots__": (), "column_positions": {name: at for at, name in enumerate(names)}},
    )


@dataclass(slots=True)
class CompactRows:
    """Rows of a table. Equal strings are stored once, in ``interned``, which several tables share."""

    row_class: type[CompactRow]
    interned: dict[str, str]
    rows: list[Any] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows)

    def __getitem__(self, number: int) -> Any:
        return self.rows[number]

    def append(self, row: Row) -> None:
        """Add a row. Raise KeyError if the row lacks a column."""
        self.rows.append(
            self.row_class([self._shared_value(name, row[name]) for name in self.row_class.column_positions])
        )

    def extend(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self.append(row)

    def _shared_value(self, name: str, value: Any) -> Any:
        if isinstance(value, str) and name not in UNIQUE_COLUMNS:
            return self.interned.setdefault(value, value)
        if isinstance(value, list):
            return [self._shared_value(name, element) for element in value]
        return value


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
    """The rows of a bundle. Add units, pairs, scores, captions and proposals before judgments.

    Attributes:
        judgment_count: number of judgments, including invalidated ones.
        invalidated_count: number of invalidated judgments.
        has_old_proposals: whether the bundle was made before systems ranked images for captions.
        first_with_text: by unit number, the first caption id with the same words.
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
    _full_values: array[float] = field(default_factory=lambda: array("d"))
    _seconds: array[float] = field(default_factory=lambda: array("d"))
    _answers: list[Any] = field(default_factory=list)
    _tally: JudgmentTally = field(default_factory=JudgmentTally)

    def __post_init__(self) -> None:
        interned: dict[str, str] = {}
        kind = self.settings.kind
        texts = TEXTS if kind.is_open or kind.results else ()
        self.units = CompactRows(_make_row_class(*UNIT_FIELDS, *texts), interned)
        self.pairs = CompactRows(_make_row_class(*PAIR_FIELDS), interned)
        self.scores = CompactRows(_make_row_class(*SCORE_FIELDS), interned)
        self.captions = CompactRows(_make_row_class(*CAPTION_FIELDS), interned)
        self.proposals = CompactRows(_make_row_class(*PROPOSAL_FIELDS), interned)
        self.contents = CompactRows(_make_row_class(*CONTENT_FIELDS), interned)

    def add_pair(self, row: Row) -> None:
        self._note_document(row)
        self.pairs.append(row)

    def _note_document(self, row: Row) -> None:
        """Remember the document of a row's image, if the row names one."""
        if "document" in row:
            self.document_of[row["image"]] = row["document"]

    @property
    def documents(self) -> dict[str, str]:
        """The first image of each image's document, by image; {} if no document has several images."""
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
        """Add a judgment. Invalidated judgments are only counted."""
        self.judgment_count += 1
        if row["invalidated"]:
            self.invalidated_count += 1
            return
        unit_number, kind = self._unit_numbers[row["unit"]], self.settings.kind
        unit, name, presented = self.units[unit_number], row["worker"], row["presented"] or ""
        answer = row["answer"] if kind.is_open else row["value"]
        is_used, control = bool(row["used"]), bool(unit["control"])
        self._tally.add(row["unit"], name, answer, used=is_used, control=control, presented=presented)
        if kind.is_open:
            answer = kind.exchange.from_file(answer, content=unit["content"] or {})
        self._answers.append(answer if kind.is_open else None)
        outcome = kind.outcome_of(answer)
        side = (FIRST if presented == FIRST_LEFT else SECOND) if presented else 0
        person = self._people.setdefault(name, len(self._people))
        if row["simulated"]:
            self._simulated_names.add(name)
        self._unit_column.append(unit_number)
        self._person_column.append(person)
        self._flags.append(USED_FACTOR * is_used + SIDE_FACTOR * side)
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
        kind, rows = self.settings.kind, []
        for work in self.work.values():
            for number, answer in work.answers.items():
                unit = self.units[number]
                if not unit["control"] or unit["struck"]:
                    continue
                expected, control_kind = unit["expected"], unit["control_kind"] or ""
                if control_kind == REPEATED:
                    first_answer = work.answers.get(self._unit_numbers[unit["repeats"]])
                    expected = None if first_answer is None else kind.expected_on_repeat(first_answer)
                elif expected is not None:
                    expected = kind.exchange.from_file(expected, content=unit["content"] or {})
                if expected is not None:
                    rows.append((work.person, answer, expected, control_kind))
        return rows

    def included_judgments(self, table: JudgmentTable) -> list[IncludedJudgment]:
        """Return the counted judgments of the table with their units."""
        is_counted = table.is_counted
        images: dict[str, int] = {}
        units = [
            _unit_of(
                number,
                row,
                images.setdefault(row["image"], len(images)),
                self.credits.get(number, ()),
                self.document_of.get(row["image"], ""),
            )
            for number, row in enumerate(self.units)
        ]
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
        """Return the judgment signature."""
        settings = self.settings
        judged_units = [row for row in self.units if not row["control"]]
        references_of_pair: dict[tuple[Any, Any], set[str]] = {}
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
        if settings.winners_signed:
            published = {row["pair"]: row["published_winner"] for row in self.pairs}
            winners = {pair: winner for pair, winner in published.items() if winner is not None}
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


def to_the_minute(time: str | None) -> str | None:
    """Return a time with its seconds set to 0, or None.

    Exact times could be matched with the crowd platform's own records.
    """
    return time and f"{time[:16]}:00Z"


@lru_cache(maxsize=4_096)  # cached, as the rows of an assignment have the same times
def _seconds_between(accepted: str | None, submitted: str | None) -> float:
    """Return the seconds between two times in ISO 8601, or 0 if one is unknown."""
    if not accepted or not submitted:
        return 0.0
    return (datetime.fromisoformat(submitted) - datetime.fromisoformat(accepted)).total_seconds()
