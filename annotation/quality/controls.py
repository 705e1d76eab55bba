"""Read workers' answers to control items, and compute each worker's results."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Count

from annotation.models import Judgment
from annotation.models.assignments import EXCLUDED_STATES
from annotation.models.judgments import JudgmentQuerySet
from annotation.snapshots import Snapshot
from common.rows.batches import KEYS_PER_QUERY, batched
from judgments.design.tables.controls import Controls
from judgments.drawing.controls.dealing import ORIGINAL_UNIT
from judgments.drawing.controls.makers import REPEATED
from judgments.kinds import Kind
from judgments.models import Study
from judgments.studies.designs import kind_of

ROWS_PER_BATCH = 2_000  # rows that the database sends at once


@dataclass(frozen=True, slots=True)
class ControlRecord:
    """A worker's results on control items that were not withdrawn.

    Attributes:
        answers, right_answers: the numbers of answers and of right answers.
        share: right_answers / answers; None if the worker saw no control item.
        is_used: whether the study's control rule says that the worker's answers are used.
        by_kind: the numbers of answers and of right answers, by kind of control item.
        right_values: the number of possible values that would have been right, summed over the answers. Divided by the
            number of possible values, it is the expected number of right answers by guessing.
    """

    answers: int
    right_answers: int
    share: float | None
    is_used: bool
    by_kind: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    right_values: int = 0


def control_record(answers: int, right_answers: int, rule: Controls) -> ControlRecord:
    """Return a worker's results, from the numbers of their answers and right answers to control items."""
    share = right_answers / answers if answers else None
    return ControlRecord(answers, right_answers, share, is_used=not rule.excludes(answers, right_answers))


class ControlAnswer(NamedTuple):
    """A judgment on a control item.

    Attributes:
        answer: the answer, in the unit's order.
        expected: the right answer, as ``Kind.is_right`` takes it. For a repeated unit it comes from the worker's answer
            to the original.
        control_kind: "degraded", "repeated", "known-good" or "reference"; "" for some imports.
        worker, unit: row ids.
    """

    worker: int
    answer: Any
    expected: Any
    control_kind: str
    unit: int
    assignment: UUID


class ControlTally(NamedTuple):
    """Equal answers of a worker to control items.

    ``answer_count`` is their number; the other fields are those of ``ControlAnswer``.
    """

    worker: int
    answer: Any
    expected: Any
    control_kind: str
    answer_count: int


def control_records(
    answers: Iterable[tuple[Any, ...]], *, rule: Controls, kind: Kind
) -> dict[int, ControlRecord]:
    """Return the results of each worker who saw a control item, by the worker's row id.

    Args:
        answers: rows that begin with the first four fields of ``ControlAnswer``.
    """
    tallies = (
        ControlTally(worker, answer, expected, control_kind, answer_count=1)
        for worker, answer, expected, control_kind, *_ in answers
    )
    return records_from_tallies(tallies, rule=rule, kind=kind)


def records_from_tallies(
    tallies: Iterable[ControlTally], *, rule: Controls, kind: Kind
) -> dict[int, ControlRecord]:
    """Return the results of each worker, by the worker's row id."""
    answer_counts: defaultdict[int, Counter[str]] = defaultdict(Counter)  # by worker and kind of control item
    right_counts: defaultdict[int, Counter[str]] = defaultdict(Counter)
    right_values: Counter[int] = Counter()  # by worker
    right_values_by_expected: dict[str, int] = {}  # a cache, since a slider has a hundred values
    for worker, answer, expected, control_kind, answer_count in tallies:
        answer_counts[worker][control_kind] += answer_count
        if answer is not None and kind.is_right(answer, expected):  # an answer that a file lacks is not right
            right_counts[worker][control_kind] += answer_count
        expected_text = repr(expected)  # expected answers can be lists, which are no keys of a dict
        if expected_text not in right_values_by_expected:
            right_values_by_expected[expected_text] = kind.count_right(expected)
        right_values[worker] += answer_count * right_values_by_expected[expected_text]
    records = {}
    for worker, counts_by_kind in answer_counts.items():
        record = control_record(counts_by_kind.total(), right_counts[worker].total(), rule)
        by_kind = {
            name: (count, right_counts[worker][name]) for name, count in sorted(counts_by_kind.items())
        }
        records[worker] = replace(record, by_kind=by_kind, right_values=right_values[worker])
    return records


def tallies_of_snapshot(study: Study, snapshot: Snapshot) -> list[ControlTally]:
    """Count the answers to control items in a snapshot: the judgments, exclusions and withdrawals of one moment.

    The answers are counted in Python, since the database no longer shows which work was invalid then.
    """
    rows = (
        snapshot.judgments(study)
        .filter(unit__control=True)
        .values_list(
            "unit_id", "assignment_id", "assignment__worker_id", "value", "answer", "unit__expected",
            "unit__control_kind",
        )
    )  # fmt: skip
    # by worker, answer, right answer and kind (answers as ``repr``, since they can be lists); still without counts
    tallies: dict[tuple[Any, ...], ControlTally] = {}
    counts: Counter[tuple[Any, ...]] = Counter()
    has_repetitions = False
    for unit, assignment, worker, value, answer, expected, control_kind in rows.iterator(ROWS_PER_BATCH):
        if unit in snapshot.withdrawn_items or assignment in snapshot.invalidating_rules:
            continue
        if control_kind == REPEATED:
            has_repetitions = True
        elif expected is not None:
            given_answer = _given_answer(value, answer)
            key = (worker, repr(given_answer), repr(expected), control_kind)
            counts[key] += 1
            if key not in tallies:
                tallies[key] = ControlTally(worker, given_answer, expected, control_kind, answer_count=0)
    counted_tallies = [tally._replace(answer_count=counts[key]) for key, tally in tallies.items()]
    if has_repetitions:
        counted_tallies += repeated_tallies(study, snapshot=snapshot)
    return counted_tallies


def repeated_tallies(study: Study, **selection: Any) -> list[ControlTally]:
    """Return a tally of each answer to a repeated unit. ``selection`` are arguments of ``control_answers``."""
    repetitions = control_answers(study, repeated_only=True, **selection)
    return [
        ControlTally(answer.worker, answer.answer, answer.expected, answer.control_kind, answer_count=1)
        for answer in repetitions
    ]


def control_tallies(study: Study, *, workers: Collection[int] | None = None) -> list[ControlTally]:
    """Count the answers to control items in the database, which returns a few rows per worker.

    The answers are those of ``control_answers``.
    """
    rows = (
        _of_workers(_valid_judgments(as_first_given=False), study, workers)
        .filter(unit__control=True, unit__withdrawn=False)
        .order_by()
        .values_list(
            "assignment__worker_id", "value", "answer", "unit__expected", "unit__control_kind",
        )
        .annotate(answer_count=Count("pk"))
    )  # fmt: skip
    tallies: list[ControlTally] = []
    has_repetitions = False
    for worker, value, answer, expected, control_kind, answer_count in rows:
        if control_kind == REPEATED:
            has_repetitions = True
        elif expected is not None:
            given_answer = _given_answer(value, answer)
            tallies.append(ControlTally(worker, given_answer, expected, control_kind, answer_count))
    if has_repetitions:
        tallies += repeated_tallies(study, workers=workers)
    return tallies


def control_answers(
    study: Study,
    *,
    workers: Collection[int] | None = None,
    as_first_given: bool = False,
    repeated_only: bool = False,
    snapshot: Snapshot | None = None,
) -> list[ControlAnswer]:
    """Return the current answers to control items in the order given, without withdrawn items.

    A repeated unit is left out if the original was not answered, and so is an imported item without an expected
    answer.

    Args:
        workers: row ids; None for all.
        as_first_given: whether to ignore revisions.
        repeated_only: whether to return only repeated units.
        snapshot: if given, use its judgments and withdrawn items.
    """
    if snapshot is None:
        judgments = _of_workers(_valid_judgments(as_first_given=as_first_given), study, workers)
        control_judgments = judgments.filter(unit__control=True, unit__withdrawn=False)
    else:
        judgments = _of_workers(snapshot.judgments(study), study, workers)
        control_judgments = judgments.filter(unit__control=True)
    if repeated_only:
        control_judgments = control_judgments.filter(unit__control_kind=REPEATED)
    rows = [
        _ControlRow(*row)
        for row in control_judgments.order_by("pk").values_list(*_CONTROL_COLUMNS).iterator(ROWS_PER_BATCH)
    ]
    original_keys = sorted({row.content[ORIGINAL_UNIT] for row in rows if row.control_kind == REPEATED})
    original_answers = dict(_original_answers(judgments, original_keys)) if original_keys else {}
    kind = kind_of(study)
    answers = []
    for row in rows:
        if snapshot and row.unit in snapshot.withdrawn_items:
            continue
        if snapshot and row.assignment in snapshot.invalidating_rules:
            continue
        expected = row.expected
        if row.control_kind == REPEATED:
            original_answer = original_answers.get((row.assignment, row.content[ORIGINAL_UNIT]))
            expected = None if original_answer is None else kind.expected_on_repeat(original_answer)
        if expected is not None:
            answer = _given_answer(row.value, row.answer)
            answers.append(
                ControlAnswer(row.worker, answer, expected, row.control_kind, row.unit, row.assignment)
            )
    return answers


class _ControlRow(NamedTuple):
    """The columns ``_CONTROL_COLUMNS`` of a judgment on a control item."""

    worker: int
    value: float | None
    answer: Any
    expected: Any
    control_kind: str
    unit: int
    assignment: UUID
    content: dict[str, Any]


_CONTROL_COLUMNS = (
    "assignment__worker_id", "value", "answer", "unit__expected", "unit__control_kind", "unit_id", "assignment_id",
    "unit__content",
)  # fmt: skip


def _given_answer(value: float | None, answer: Any) -> Any:
    """Return the answer of a judgment, which is stored in ``answer`` if it is open, and in ``value`` otherwise."""
    return value if answer is None else answer


def _of_workers(
    judgments: JudgmentQuerySet, study: Study, workers: Collection[int] | None
) -> JudgmentQuerySet:
    """Return the judgments of a study's workers; of all its workers if ``workers`` is None."""
    judgments = judgments.filter(assignment__study=study)
    return judgments if workers is None else judgments.filter(assignment__worker__in=workers)


def _valid_judgments(*, as_first_given: bool) -> JudgmentQuerySet:
    """Return the judgments that are not excluded, with the latest revision of each answer or with the first one."""
    if as_first_given:
        return Judgment.objects.filter(replaces__isnull=True).exclude(assignment__state__in=EXCLUDED_STATES)
    return Judgment.objects.current()


def _original_answers(judgments: JudgmentQuerySet, keys: list[str]) -> Iterator[tuple[tuple[UUID, str], Any]]:
    """Yield the assignment and the key of each unit with one of ``keys``, and the answer to it."""
    for key_batch in batched(keys, KEYS_PER_QUERY):
        rows = judgments.filter(unit__control=False, unit__key__in=key_batch)
        names = ("assignment_id", "unit__key", "value", "answer")
        for assignment, key, value, answer in rows.values_list(*names).iterator(ROWS_PER_BATCH):
            yield (assignment, key), _given_answer(value, answer)
