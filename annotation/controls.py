"""The answers on a study's control items, each with what was expected of it: the one place where that is settled."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Count

from annotation.models import Judgment, Worker
from annotation.models.assignments import NOT_COUNTED, JudgmentQuerySet
from annotation.moments import Moment
from annotation.quality import RunningAccuracy, running_accuracy
from judgments.controls import REPEATED, REPEATS
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.services.studies import design_of, kind_of
from judgments.streams import batched

ROWS_AT_ONCE = 2_000
KEYS_AT_ONCE = 500  # within what SQLite takes in one statement


class ControlAnswer(NamedTuple):
    """A judgment on a control item.

    Attributes:
        worker, unit: row ids.
        given: the answer in the unit's order.
        expected: what ``Kind.is_right`` compares it with; of a repeated unit, what the worker said the other time.
        control_kind: "degraded", "repeated", "known-good", "reference"; "" where an import does not say.
    """

    worker: int
    given: Any
    expected: Any
    control_kind: str
    unit: int
    assignment: UUID


class ControlTally(NamedTuple):
    """Answers on control items that are alike; the fields before ``n`` are those of ``ControlAnswer``."""

    worker: int
    given: Any
    expected: Any
    control_kind: str
    n: int


def tallies_at(study: Study, moment: Moment) -> list[ControlTally]:
    """``control_tallies`` of the answers that stood at ``moment``, without the items that were struck then.

    Counted as they pass by: which work was invalidated then is not for the database to say. Memory grows with workers.
    """
    rows = (
        moment.judgments(study)
        .filter(unit__control=True)
        .values_list(
            "unit_id", "assignment_id", "assignment__worker_id", "value", "answer", "unit__expected",
            "unit__control_kind",
        )
    )  # fmt: skip
    counts: dict[tuple[Any, ...], int] = {}
    held: dict[tuple[Any, ...], tuple[Any, Any]] = {}
    repeated = False
    for unit, assignment, worker, value, answer, expected, control_kind in rows.iterator(ROWS_AT_ONCE):
        if unit in moment.struck or assignment in moment.gone:
            continue
        if control_kind == REPEATED:
            repeated = True
        elif expected is not None:
            given = value if answer is None else answer
            key = (worker, repr(given), repr(expected), control_kind)
            counts[key] = counts.get(key, 0) + 1
            held.setdefault(key, (given, expected))
    tallies = [ControlTally(key[0], *held[key], key[3], n) for key, n in counts.items()]
    if repeated:
        again = control_answers(study, repeated_alone=True, moment=moment)
        tallies += [ControlTally(one.worker, one.given, one.expected, one.control_kind, 1) for one in again]
    return tallies


def control_tallies(study: Study, *, workers: Collection[int] | None = None) -> list[ControlTally]:
    """``control_answers``, equal ones counted together: the database counts, so that a few rows a worker come back
    however much they answered. Units shown again are compared one by one."""
    own: dict[str, Any] = {"assignment__study": study}
    if workers is not None:
        own["assignment__worker__in"] = workers
    rows = (
        _standing(as_first_given=False)
        .filter(**own, unit__control=True, unit__struck=False)
        .order_by()
        .values_list(
            "assignment__worker_id", "value", "answer", "unit__expected", "unit__control_kind",
        )
        .annotate(n=Count("pk"))
    )  # fmt: skip
    tallies, repeated = [], False
    for worker, value, answer, expected, control_kind, n in rows:
        if control_kind == REPEATED:
            repeated = True
        elif expected is not None:
            tallies.append(
                ControlTally(worker, value if answer is None else answer, expected, control_kind, n)
            )
    if repeated:
        again = control_answers(study, workers=workers, repeated_alone=True)
        tallies += [ControlTally(one.worker, one.given, one.expected, one.control_kind, 1) for one in again]
    return tallies


def control_answers(
    study: Study,
    *,
    worker: Worker | None = None,
    workers: Collection[int] | None = None,
    as_first_given: bool = False,
    repeated_alone: bool = False,
    moment: Moment | None = None,
) -> list[ControlAnswer]:
    """The current answers on control items that are not struck, in the order they were given; of one worker, of some
    (row ids), or of all.

    ``as_first_given``: whatever was revised since. ``repeated_alone``: those on units that were shown again.
    ``moment``: those that stood then, without the control items that were struck then.

    A repeated unit of which the other answer is missing, and an imported item without a right answer, say nothing and
    are left out.
    """
    own: dict[str, Any] = {"assignment__study": study}
    if worker is not None:
        own["assignment__worker"] = worker
    if workers is not None:
        own["assignment__worker__in"] = workers
    if moment is None:
        given_ones = _standing(as_first_given=as_first_given).filter(**own)
        on_controls = given_ones.filter(unit__control=True, unit__struck=False)
    else:
        given_ones = moment.judgments(study).filter(**own)
        on_controls = given_ones.filter(unit__control=True)
    if repeated_alone:
        on_controls = on_controls.filter(unit__control_kind=REPEATED)
    rows = (
        on_controls.order_by("pk")
        .values_list(
            "assignment__worker_id", "value", "answer", "unit__expected", "unit__control_kind", "unit_id",
            "assignment_id", "unit__content",
        )
    )  # fmt: skip
    found = list(rows.iterator(ROWS_AT_ONCE))
    if moment is not None:  # *, unit, assignment, content
        found = [row for row in found if row[5] not in moment.struck and row[6] not in moment.gone]
    keys = sorted({content[REPEATS] for *_, control_kind, _, _, content in found if control_kind == REPEATED})
    first = dict(_first_answers(given_ones, keys)) if keys else {}
    kind = kind_of(study)
    answers = []
    for worker_id, value, answer, expected, control_kind, unit, assignment, content in found:
        if control_kind == REPEATED:
            other = first.get((assignment, content[REPEATS]))
            expected = None if other is None else kind.again(other)
        if expected is not None:
            given = value if answer is None else answer
            answers.append(ControlAnswer(worker_id, given, expected, control_kind, unit, assignment))
    return answers


def _standing(*, as_first_given: bool) -> JudgmentQuerySet:
    """One judgment of each worker and unit that is not invalidated: the last, or the first."""
    if as_first_given:
        return Judgment.objects.filter(replaces__isnull=True).exclude(assignment__state__in=NOT_COUNTED)
    return Judgment.objects.current()


def _first_answers(answers: JudgmentQuerySet, keys: list[str]) -> Iterator[tuple[tuple[UUID, str], Any]]:
    """(assignment, unit key) -> answer, for the units that were shown again."""
    for some in batched(keys, KEYS_AT_ONCE):
        rows = answers.filter(unit__control=False, unit__key__in=some)
        names = ("assignment_id", "unit__key", "value", "answer")
        for assignment, key, value, answer in rows.values_list(*names).iterator(ROWS_AT_ONCE):
            yield (assignment, key), value if answer is None else answer


def accuracy_of(study: Study, worker: Worker) -> RunningAccuracy:
    """How the worker is doing on the study's control items, by the design's threshold and least number."""
    kind, controls = KINDS[study.protocol], design_of(study).controls
    answers = control_answers(study, worker=worker)
    rights = [kind.is_right(answer.given, answer.expected) for answer in answers]
    return running_accuracy(rights, after=controls.after, threshold=controls.threshold)
