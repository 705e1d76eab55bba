"""Read a study's finished pages from the database, in order of submission."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import QuerySet

from annotation.models import Assignment, Judgment
from annotation.quality.controls import ROWS_PER_BATCH, control_answers
from annotation.quality.detectors.history import OwnJudgment
from annotation.quality.histories import JudgmentReader, control_judgment
from judgments.models import Study
from judgments.studies.designs import kind_of

# Indices of the columns that `pages_of` reads after those of a ``JudgmentReader``.
ASSIGNMENT_COLUMN, WORKER_COLUMN = -2, -1


class SubmittedPage(NamedTuple):
    """A finished page of work: the row id of the worker, and the judgments, with results on control items."""

    worker: int
    judgments: Sequence[OwnJudgment]


def finished_judgments(study: Study) -> QuerySet[Judgment]:
    """Return the current judgments of finished work."""
    assignments = Assignment.objects.filter(study=study).finished()
    return Judgment.objects.filter(assignment__in=assignments, replaced_by__isnull=True)


def pages_of(study: Study) -> Iterator[SubmittedPage]:
    """Yield the finished pages of a study in order of submission."""
    kind = kind_of(study)
    # Only the results of these judgments are used, so their assignment number can be 0.
    controls: dict[tuple[UUID, int], OwnJudgment] = {
        (answer.assignment, answer.unit): control_judgment(answer, kind, 0)
        for answer in control_answers(study)
    }
    reader = JudgmentReader.for_study(study)
    judgments = finished_judgments(study).order_by(
        "assignment__submitted_at", "assignment__worker_id", "assignment_id", "pk"
    )
    rows = judgments.values_list(*reader.columns, "assignment_id", "assignment__worker_id")
    for assignment, group in groupby(rows.iterator(ROWS_PER_BATCH), key=itemgetter(ASSIGNMENT_COLUMN)):
        page_rows = list(group)
        judgments_of_page = list(_with_control_results(page_rows, reader, assignment, controls))
        yield SubmittedPage(page_rows[0][WORKER_COLUMN], judgments_of_page)


def _with_control_results(
    rows: Iterable[tuple[Any, ...]],
    reader: JudgmentReader,
    assignment: UUID,
    controls: dict[tuple[UUID, int], OwnJudgment],
) -> Iterator[OwnJudgment]:
    """Yield the judgments in an assignment's rows, with the results of ``controls`` (by assignment and unit)."""
    for row in rows:
        judgment = reader.read(row)
        control = controls.get((assignment, judgment.unit))
        yield (
            judgment
            if control is None
            else judgment._replace(is_right=control.is_right, is_consistent=control.is_consistent)
        )
