"""Read the input of detectors from the database: one worker in two queries, or a study page by page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from annotation.models import Assignment, Judgment, Worker
from annotation.quality.controls import ControlAnswer, control_answers
from annotation.quality.detectors import Answers, Given, History, Other, Page, make_history
from annotation.quality.detectors.history import NAN, WINDOW
from judgments.kinds import KINDS, Kind
from judgments.models import Study, Unit

ROWS_AT_ONCE = 2_000
FINISHED = ["submitted", "approved", "rejected"]
SAID = (
    "assignment__hit_id",
    "unit_id",
    "value",
    "presented",
    "seconds",
)  # a HIT's id is read faster than a UUID
WRITTEN = (*SAID, "signals")


def answers_of(study: Study) -> Answers:
    kind = KINDS[study.protocol]
    return Answers.of(kind.values, level=kind.aggregation.level, sided=kind.two_sided)


def judged(study: Study) -> QuerySet[Judgment]:
    finished = Assignment.objects.filter(study=study).finished()
    return Judgment.objects.filter(assignment__in=finished, replaced_by__isnull=True)


@dataclass(slots=True)
class _Reader:
    """Turns rows into records, and numbers assignments as they come."""

    kind: Kind
    numbers: dict[int, int]

    def given(self, row: tuple[Any, ...]) -> Given:
        """Build a record from ``columns``; later columns are ignored."""
        assignment, unit, value, presented, seconds = row[:5]
        seen = left = pasted = NAN
        if value is None:
            pasted = float(bool(row[5].get("pasted")))
        else:
            seen = self.kind.sides.seen(value, side=presented == Judgment.Presented.SECOND_LEFT)
            left = float(seen == 1) if presented else NAN
        return Given(
            self.numbers.setdefault(assignment, len(self.numbers)),
            unit,
            seen,
            NAN if value is None else value,
            left,
            NAN if seconds is None else seconds,
            pasted=pasted,
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns to read; signals only for written answers."""
        return WRITTEN if self.kind.is_open else SAID


def pages_done(study: Study, worker: int) -> int:
    return Assignment.objects.filter(worker=worker, study=study, submitted_at__isnull=False).count()


def judgments_of(study: Study, worker: int) -> int:
    """Return the number of the worker's judgments without revisions."""
    finished = Assignment.objects.filter(study=study, worker=worker, submitted_at__isnull=False)
    return Judgment.objects.filter(assignment__in=finished, replaces__isnull=True).count()


def history_of(study: Study, worker: int, *, total: int, pages: int, others: bool) -> History:
    """Return the worker's latest judgments and, if ``others``, those of others on the same units.

    Args:
        total: the worker's judgments in the study.
        pages: how many of the latest pages are new to the detectors.
    """
    reader = _Reader(KINDS[study.protocol], {})
    current = Judgment.objects.filter(assignment__state__in=FINISHED, replaced_by__isnull=True)
    own = current.filter(assignment__study=study, assignment__worker=worker)
    given = [reader.given(row) for row in reversed(own.order_by("-pk").values_list(*reader.columns)[:WINDOW])]
    last = len(reader.numbers) - pages
    fresh = sum(one.assignment >= last for one in given)
    said: defaultdict[int, list[Other]] = defaultdict(list)
    if others:
        theirs = current.filter(unit__in=[one.unit for one in given]).exclude(assignment__worker=worker)
        for unit, value, seconds in theirs.values_list("unit_id", "value", "seconds"):
            said[unit].append(Other(NAN if value is None else value, NAN if seconds is None else seconds))
    return make_history(given, said, answers=answers_of(study), total=total, fresh=fresh)


def known_history_of(study: Study, worker: Worker, *, pages: int) -> History:
    """Return the worker's answers on control items; those of the latest ``pages`` are new."""
    finished = Assignment.objects.filter(worker=worker, study=study, submitted_at__isnull=False)
    latest = set(finished.order_by("-submitted_at", "-pk").values_list("pk", flat=True)[:pages])
    found = control_answers(study, worker=worker)
    kind = KINDS[study.protocol]
    given = [_known(one, kind, number) for number, one in enumerate(found)]
    fresh = sum(one.assignment in latest for one in found)
    return make_history(given, {}, answers=answers_of(study), total=len(given), fresh=fresh)


def _known(one: ControlAnswer, kind: Kind, number: int) -> Given:
    right = float(kind.is_right(one.given, one.expected))
    repeated = one.control_kind == Unit.ControlKind.REPEATED
    return Given(
        number, one.unit, NAN, NAN, right=NAN if repeated else right, same=right if repeated else NAN
    )


def pages_of(study: Study) -> Iterator[Page]:
    """Yield the finished pages of a study in order of submission."""
    kind = KINDS[study.protocol]
    known: dict[tuple[UUID, int], Given] = {
        (one.assignment, one.unit): _known(one, kind, 0) for one in control_answers(study)
    }
    reader = _Reader(kind, {})
    in_order = judged(study).order_by("assignment__submitted_at", "assignment_id", "pk")
    rows = in_order.values_list(*reader.columns, "assignment_id", "assignment__worker_id")
    for assignment, group in groupby(rows.iterator(ROWS_AT_ONCE), key=itemgetter(-2)):
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
