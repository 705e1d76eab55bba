"""From rows to what the rules look at: one worker's history in two queries, or a whole study page by page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from annotation.controls import ControlAnswer, control_answers
from annotation.models import Assignment, Judgment, Worker
from annotation.rules import Answers, Given, History, Other, Page, make_history
from annotation.rules.history import NAN, WINDOW
from judgments.kinds import KINDS, Kind
from judgments.models import Study, Unit

ROWS_AT_ONCE = 2_000
SAID = (
    "assignment_id", "unit_id", "value", "presented", "seconds", "signals", "assignment__worker_id",
)  # fmt: skip


def answers_of(study: Study) -> Answers:
    """What answers of the study look like to the rules."""
    kind = KINDS[study.protocol]
    return Answers.of(kind.values, level=kind.level, sided=kind.two_sided)


def judged(study: Study) -> QuerySet[Judgment]:
    """The current judgments of finished work."""
    finished = Assignment.objects.filter(study=study).finished()
    return Judgment.objects.current().filter(assignment__in=finished)


@dataclass(slots=True)
class _Reader:
    """Makes records of rows; assignments are numbered as they come."""

    kind: Kind
    numbers: dict[UUID, int]

    def given(self, row: tuple[Any, ...]) -> Given:
        assignment, unit, value, presented, seconds, signals, _ = row
        seen = left = NAN
        if value is not None:
            seen = self.kind.seen(value, side=presented == Judgment.Presented.SECOND_LEFT)
            left = float(seen == 1) if presented else NAN
        return Given(
            self.numbers.setdefault(assignment, len(self.numbers)),
            unit,
            seen,
            NAN if value is None else value,
            left,
            NAN if seconds is None else seconds,
            pasted=NAN if value is not None else float(bool(signals.get("pasted"))),
        )


def history_of(study: Study, worker: Worker, *, total: int, fresh: int, others: bool) -> History:
    """The worker's latest judgments as they were shown, and what others said of the same units where ``others``.

    Args:
        total: how many judgments the worker has made in the study.
        fresh: how many of them came with the latest submission.
    """
    mine = judged(study).filter(assignment__worker=worker).order_by("-pk").values_list(*SAID)[:WINDOW]
    reader = _Reader(KINDS[study.protocol], {})
    given = [reader.given(row) for row in reversed(mine)]
    said: defaultdict[int, list[Other]] = defaultdict(list)
    if others:
        theirs = judged(study).filter(unit__in={one.unit for one in given}).exclude(assignment__worker=worker)
        for unit, value, seconds in theirs.values_list("unit_id", "value", "seconds"):
            said[unit].append(Other(NAN if value is None else value, NAN if seconds is None else seconds))
    return make_history(given, said, answers=answers_of(study), total=total, fresh=fresh)


def known_history_of(study: Study, worker: Worker, *, latest: UUID) -> History:
    """The worker's answers on control items; those of the assignment ``latest`` are the new ones."""
    found = control_answers(study, worker=worker)
    kind = KINDS[study.protocol]
    given = [_known(one, kind, number) for number, one in enumerate(found)]
    fresh = sum(one.assignment == latest for one in found)
    return make_history(given, {}, answers=answers_of(study), total=len(given), fresh=fresh)


def _known(one: ControlAnswer, kind: Kind, number: int) -> Given:
    right = float(kind.is_right(one.given, one.expected))
    repeated = one.control_kind == Unit.ControlKind.REPEATED
    return Given(
        number, one.unit, NAN, NAN, right=NAN if repeated else right, same=right if repeated else NAN
    )


def pages_of(study: Study) -> Iterator[Page]:
    """The finished work of a study, one page after the other as they were submitted."""
    kind = KINDS[study.protocol]
    known: dict[tuple[UUID, int], Given] = {
        (one.assignment, one.unit): _known(one, kind, 0) for one in control_answers(study)
    }
    rows = judged(study).order_by("assignment__submitted_at", "assignment_id", "pk").values_list(*SAID)
    reader = _Reader(kind, {})
    for assignment, group in groupby(rows.iterator(ROWS_AT_ONCE), key=itemgetter(0)):
        page = list(group)
        yield Page(page[0][-1], list(_with_known(page, reader, assignment, known)))


def _with_known(
    rows: Iterable[tuple[Any, ...]],
    reader: _Reader,
    assignment: UUID,
    known: dict[tuple[UUID, int], Given],
) -> Iterator[Given]:
    for row in rows:
        given = reader.given(row)
        control = known.get((assignment, given.unit))
        yield given if control is None else given._replace(right=control.right, same=control.same)
