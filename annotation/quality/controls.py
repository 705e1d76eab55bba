"""Control items: read the answers to them, compute workers' accuracy, and find items that may be wrong themselves."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Count

from annotation.models import Judgment
from annotation.models.assignments import EXCLUDED_STATES
from annotation.models.judgments import JudgmentQuerySet
from annotation.quality.detectors.chances import binomial_at_most
from annotation.snapshots import Snapshot
from common.rows.batches import KEYS_PER_QUERY, batched
from judgments.design.tables.controls import Controls
from judgments.drawing.controls.dealing import ORIGINAL_UNIT
from judgments.drawing.controls.makers import REPEATED
from judgments.kinds import Kind
from judgments.models import Study
from judgments.studies.designs import kind_of
from quorum.statistics.significance import holm

MIN_OTHER_ANSWERS = 2  # answers to other items that a worker needs to count as careful about one item
MIN_CAREFUL_WORKERS = 3  # careful workers that are needed to suspect an item
# largest share of careful workers with a right answer; an item that more of them get right is only hard
MAX_RIGHT_SHARE = 0.5
ALPHA = 0.05  # significance level
ROWS_PER_BATCH = 2_000  # rows that the database sends at once


@dataclass(frozen=True, slots=True)
class ControlItemTest:
    """The test whether one control item is wrong.

    A worker counts as careful about the item, and vouches for it, if their accuracy on ``MIN_OTHER_ANSWERS`` or more
    other control items reaches the threshold.

    Attributes:
        seen, right: the numbers of answers, and of right answers, by all workers.
        vouching, vouching_right: the numbers of answers, and of right answers, by careful workers.
        elsewhere: pooled accuracy of these workers on the other items; nan if there are none.
        p: exact binomial probability of ``vouching_right`` or fewer right answers if the accuracy on the item were
            (r + 1) / (n + 2), where n and r are the numbers of all and of right answers of these workers to the other
            items. It is Holm-adjusted over the items with ``MIN_CAREFUL_WORKERS`` workers, and 1 for items with fewer.
        suspect: whether p is at most ``ALPHA``, and at most half of these workers are right.
    """

    seen: int
    right: int
    vouching: int
    vouching_right: int
    elsewhere: float
    p: float
    suspect: bool


def check_control_items(
    answers: Iterable[tuple[Hashable, Hashable, bool]], *, threshold: float
) -> dict[Hashable, ControlItemTest]:
    """Test whether control items themselves are wrong.

    Args:
        answers: for each answer, the item, the worker, and whether it is right. Equal items of several HITs have one
            key.
        threshold: the accuracy on other items from which a worker's answer counts.
    """
    answers_by_item: dict[Hashable, list[tuple[Hashable, bool]]] = defaultdict(list)
    answer_counts: dict[Hashable, int] = defaultdict(int)
    right_counts: dict[Hashable, int] = defaultdict(int)
    for item, worker, is_right in answers:
        answers_by_item[item].append((worker, is_right))
        answer_counts[worker] += 1
        right_counts[worker] += is_right
    tests = {
        item: _test_item(answers_to_item, answer_counts, right_counts, threshold)
        for item, answers_to_item in answers_by_item.items()
    }
    tested_items = [item for item, test in tests.items() if test.vouching >= MIN_CAREFUL_WORKERS]
    p_by_item = dict(zip(tested_items, holm([tests[item].p for item in tested_items]).tolist(), strict=True))
    return {item: _with_adjusted_p(test, p_by_item.get(item, 1.0)) for item, test in tests.items()}


def _test_item(
    answers: Sequence[tuple[Hashable, bool]],
    answer_counts: dict[Hashable, int],
    right_counts: dict[Hashable, int],
    threshold: float,
) -> ControlItemTest:
    """Return the test of one item. Its p is not adjusted yet, and ``suspect`` is not decided.

    Args:
        answers: the worker of each answer to the item, and whether the answer is right.
        answer_counts, right_counts: the numbers of answers and of right answers to all items, by worker.
    """
    right_flags_by_worker: dict[Hashable, list[bool]] = defaultdict(list)
    for worker, is_right in answers:
        right_flags_by_worker[worker].append(is_right)
    # the answers of careful workers: to this item, and to the others
    vouching = vouching_right = others = others_right = 0
    for worker, right_flags in right_flags_by_worker.items():
        other_count = answer_counts[worker] - len(right_flags)
        other_right_count = right_counts[worker] - sum(right_flags)
        if other_count >= MIN_OTHER_ANSWERS and other_right_count / other_count >= threshold:
            vouching += len(right_flags)
            vouching_right += sum(right_flags)
            others += other_count
            others_right += other_right_count
    return ControlItemTest(
        seen=len(answers),
        right=sum(is_right for _, is_right in answers),
        vouching=vouching,
        vouching_right=vouching_right,
        elsewhere=others_right / others if others else float("nan"),
        # one right and one wrong answer are added, so that six right answers of six do not count as certainty
        p=binomial_at_most(vouching_right, vouching, (others_right + 1) / (others + 2)) if others else 1.0,
        suspect=False,
    )


def _with_adjusted_p(test: ControlItemTest, p: float) -> ControlItemTest:
    """Return the test with its adjusted p, and with the decision whether the item is suspect."""
    is_missed = test.vouching_right <= MAX_RIGHT_SHARE * test.vouching
    return replace(test, p=p, suspect=is_missed and p <= ALPHA)


@dataclass(frozen=True, slots=True)
class ControlRecord:
    """A worker's results on control items that were not withdrawn.

    Attributes:
        answers, right_answers: the numbers of answers and of right answers.
        share: right_answers / answers; None if the worker saw no control item.
        is_used: whether the study's control rule says that the worker's answers are used.
        by_kind: the numbers of answers and of right answers, by kind of control item.
        right_values: the sum, over the answers, of how many values of the kind would be right. It says how many right
            answers guessing gives.
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


def control_records(
    answers: Iterable[tuple[Any, ...]], *, rule: Controls, kind: Kind
) -> dict[int, ControlRecord]:
    """Return the results of each worker who saw a control item, by the worker's row id.

    Args:
        answers: rows that begin with the fields of ``ControlAnswer``: worker, answer, expected, and perhaps the kind
            of control item.
    """
    return records_from_tallies(
        (
            (worker, answer, expected, rest[0] if rest else "", 1)
            for worker, answer, expected, *rest in answers
        ),
        rule=rule,
        kind=kind,
    )


def records_from_tallies(
    tallies: Iterable[tuple[int, Any, Any, str, int]], *, rule: Controls, kind: Kind
) -> dict[int, ControlRecord]:
    """Return the results of each worker, by the worker's row id.

    Args:
        tallies: rows with the fields of ``ControlTally``.
    """
    answer_counts: defaultdict[int, Counter[str]] = defaultdict(Counter)  # by worker and kind of control item
    right_counts: defaultdict[int, Counter[str]] = defaultdict(Counter)
    right_values: Counter[int] = Counter()
    right_values_by_expected: dict[str, int] = {}  # a cache, since a slider has a hundred values
    for worker, answer, expected, control_kind, n in tallies:
        answer_counts[worker][control_kind] += n
        right_counts[worker][control_kind] += n * (answer is not None and kind.is_right(answer, expected))
        if (key := repr(expected)) not in right_values_by_expected:
            right_values_by_expected[key] = kind.count_right(expected)
        right_values[worker] += n * right_values_by_expected[key]
    records = {}
    for worker, counts_by_kind in answer_counts.items():
        record = control_record(counts_by_kind.total(), right_counts[worker].total(), rule)
        by_kind = {
            name: (count, right_counts[worker][name]) for name, count in sorted(counts_by_kind.items())
        }
        records[worker] = replace(record, by_kind=by_kind, right_values=right_values[worker])
    return records


class ControlAnswer(NamedTuple):
    """A judgment on a control item.

    Attributes:
        answer: the answer, in the unit's order.
        expected: the argument of ``Kind.is_right``. For a repeated unit it is the worker's other answer.
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
    """``n`` equal answers of a worker to control items; the other fields are those of ``ControlAnswer``."""

    worker: int
    answer: Any
    expected: Any
    control_kind: str
    n: int


def tallies_of_snapshot(study: Study, snapshot: Snapshot) -> list[ControlTally]:
    """Count the answers to control items in a snapshot.

    The answers are counted in Python, since the database no longer shows which work was invalid at the time of the
    snapshot.
    """
    rows = (
        snapshot.judgments(study)
        .filter(unit__control=True)
        .values_list(
            "unit_id", "assignment_id", "assignment__worker_id", "value", "answer", "unit__expected",
            "unit__control_kind",
        )
    )  # fmt: skip
    tallies: dict[tuple[Any, ...], ControlTally] = {}  # without counts, which are not known yet
    counts: Counter[tuple[Any, ...]] = Counter()
    has_repetitions = False
    for unit, assignment, worker, value, answer, expected, control_kind in rows.iterator(ROWS_PER_BATCH):
        if unit in snapshot.withdrawn_items or assignment in snapshot.invalidating_rules:
            continue
        if control_kind == REPEATED:
            has_repetitions = True
        elif expected is not None:
            answered = value if answer is None else answer
            key = (worker, repr(answered), repr(expected), control_kind)
            counts[key] += 1
            if key not in tallies:
                tallies[key] = ControlTally(worker, answered, expected, control_kind, n=0)
    counted_tallies = [tally._replace(n=counts[key]) for key, tally in tallies.items()]
    return counted_tallies + (repeated_tallies(study, snapshot=snapshot) if has_repetitions else [])


def repeated_tallies(study: Study, **selection: Any) -> list[ControlTally]:
    """Return a tally of each answer to a repeated unit. ``selection`` are arguments of ``control_answers``."""
    repetitions = control_answers(study, repeated_alone=True, **selection)
    return [
        ControlTally(answer.worker, answer.answer, answer.expected, answer.control_kind, n=1)
        for answer in repetitions
    ]


def control_tallies(study: Study, *, workers: Collection[int] | None = None) -> list[ControlTally]:
    """Count the answers to control items in the database, which returns a few rows per worker.

    The answers are those of ``control_answers``.
    """
    scope: dict[str, Any] = {"assignment__study": study}
    if workers is not None:
        scope["assignment__worker__in"] = workers
    rows = (
        _valid_judgments(as_first_given=False)
        .filter(**scope, unit__control=True, unit__withdrawn=False)
        .order_by()
        .values_list(
            "assignment__worker_id", "value", "answer", "unit__expected", "unit__control_kind",
        )
        .annotate(n=Count("pk"))
    )  # fmt: skip
    tallies, has_repetitions = [], False
    for worker, value, answer, expected, control_kind, n in rows:
        if control_kind == REPEATED:
            has_repetitions = True
        elif expected is not None:
            tallies.append(
                ControlTally(worker, value if answer is None else answer, expected, control_kind, n)
            )
    return tallies + (repeated_tallies(study, workers=workers) if has_repetitions else [])


def control_answers(
    study: Study,
    *,
    workers: Collection[int] | None = None,
    as_first_given: bool = False,
    repeated_alone: bool = False,
    snapshot: Snapshot | None = None,
) -> list[ControlAnswer]:
    """Return the current answers to control items in the order given, without withdrawn items.

    A repeated unit without another answer is left out, and so is an imported item without an expected answer.

    Args:
        workers: row ids; None for all.
        as_first_given: whether to ignore revisions.
        repeated_alone: whether to return only repeated units.
        snapshot: if given, use its judgments and withdrawn items.
    """
    scope: dict[str, Any] = {"assignment__study": study}
    if workers is not None:
        scope["assignment__worker__in"] = workers
    if snapshot is None:
        judgments = _valid_judgments(as_first_given=as_first_given).filter(**scope)
        control_judgments = judgments.filter(unit__control=True, unit__withdrawn=False)
    else:
        judgments = snapshot.judgments(study).filter(**scope)
        control_judgments = judgments.filter(unit__control=True)
    if repeated_alone:
        control_judgments = control_judgments.filter(unit__control_kind=REPEATED)
    rows = (
        control_judgments.order_by("pk")
        .values_list(
            "assignment__worker_id", "value", "answer", "unit__expected", "unit__control_kind", "unit_id",
            "assignment_id", "unit__content",
        )
    )  # fmt: skip
    answer_rows = list(rows.iterator(ROWS_PER_BATCH))
    original_keys = sorted(
        {
            content[ORIGINAL_UNIT]
            for *_, control_kind, _, _, content in answer_rows
            if control_kind == REPEATED
        }
    )
    first_answers = dict(_first_answers(judgments, original_keys)) if original_keys else {}
    kind = kind_of(study)
    answers = []
    for worker_id, value, answer, expected, control_kind, unit, assignment, content in answer_rows:
        if snapshot and (unit in snapshot.withdrawn_items or assignment in snapshot.invalidating_rules):
            continue
        if control_kind == REPEATED:
            first_answer = first_answers.get((assignment, content[ORIGINAL_UNIT]))
            expected = None if first_answer is None else kind.expected_on_repeat(first_answer)
        if expected is not None:
            answered = value if answer is None else answer
            answers.append(ControlAnswer(worker_id, answered, expected, control_kind, unit, assignment))
    return answers


def _valid_judgments(*, as_first_given: bool) -> JudgmentQuerySet:
    """Return the judgments that are not excluded: the current ones, or the first ones of each revised answer."""
    if as_first_given:
        return Judgment.objects.filter(replaces__isnull=True).exclude(assignment__state__in=EXCLUDED_STATES)
    return Judgment.objects.current()


def _first_answers(judgments: JudgmentQuerySet, keys: list[str]) -> Iterator[tuple[tuple[UUID, str], Any]]:
    """Yield the assignment and the key of each unit with one of ``keys``, and the answer to it."""
    for key_batch in batched(keys, KEYS_PER_QUERY):
        rows = judgments.filter(unit__control=False, unit__key__in=key_batch)
        names = ("assignment_id", "unit__key", "value", "answer")
        for assignment, key, value, answer in rows.values_list(*names).iterator(ROWS_PER_BATCH):
            yield (assignment, key), value if answer is None else answer
