"""Import reviews from a result file: an x under Approve, or a reason under Reject."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from annotation.crowds.delivery import carry_out_calls
from annotation.crowds.people import pseudonym
from annotation.models import Assignment
from annotation.quality.reviews import LONGEST_REASON, approve_assignments, reject_assignments
from common.downloads import batched
from common.errors import counted
from judgments.importers.records import quoted
from judgments.importers.results.mturk import read_results
from judgments.importers.results.rows import ResultRow
from judgments.models import Study
from judgments.studies.log import note_event

REVIEW_COLUMNS = ("AssignmentId", "Approve", "Reject")
ROWS_AT_ONCE = 500
YES = "x"


@dataclass(frozen=True, slots=True)
class ReviewCounts:
    """``open`` counts lines without a review."""

    approved: int
    rejected: int
    open: int


@dataclass(frozen=True, slots=True)
class _Review:
    row: ResultRow
    assignment: str
    reason: str


def import_reviews(*, study: Study, path: Path, encoding: str | None = None) -> ReviewCounts:
    """Approve and reject by the file, all or nothing, and send the outbox messages.

    A repeated call changes nothing.
    """
    reviewed = _apply_reviews(study, path, encoding)
    if reviewed.approved or reviewed.rejected:
        carry_out_calls(study=study)
    return reviewed


@transaction.atomic
def _apply_reviews(study: Study, path: Path, encoding: str | None) -> ReviewCounts:
    approved: set[UUID] = set()
    rejected: defaultdict[str, set[UUID]] = defaultdict(set)
    seen: dict[UUID, str] = {}
    left = 0
    for batch in batched(read_results(path, required=REVIEW_COLUMNS, encoding=encoding), ROWS_AT_ONCE):
        reviews = list(_parse_reviews(batch))
        left += len(batch) - len(reviews)
        for review, assignment in _match_assignments(study, reviews):
            if seen.setdefault(assignment.pk, review.reason) != review.reason:
                raise review.row.problem(
                    "AssignmentId", f"{quoted(review.assignment)} twice", "one review of it"
                )
            if review.reason:
                rejected[review.reason].add(assignment.pk)
            else:
                approved.add(assignment.pk)
    changed = approve_assignments(study=study, assignments=approved)
    refused = sum(
        reject_assignments(study=study, assignments=work, reason=reason) for reason, work in rejected.items()
    )
    if changed or refused:
        words = f"{counted(changed, 'assignment')} approved and {refused:,} rejected by the file {path.name}."
        note_event(study=study, what="reviews-imported", words=words, approved=changed, rejected=refused)
    return ReviewCounts(approved=changed, rejected=refused, open=left)


def _parse_reviews(rows: Sequence[ResultRow]) -> Iterator[_Review]:
    for row in rows:
        approve, reject = row.text("Approve").strip(), row.text("Reject").strip()
        if not approve and not reject:
            continue
        if approve and reject:
            raise row.problem("Reject", "a reason beside an x under Approve", "one of the two")
        if approve and approve.lower() != YES:
            raise row.problem("Approve", quoted(approve), "an x, or nothing")
        if reject.lower() == YES or len(reject) > LONGEST_REASON:
            found = quoted(reject) if len(reject) <= LONGEST_REASON else f"{len(reject):,} characters"
            raise row.problem(
                "Reject", found, f"a reason that the worker can read, of at most {LONGEST_REASON} characters"
            )
        yield _Review(row=row, assignment=row.required("AssignmentId"), reason=reject)


def _match_assignments(study: Study, reviews: Sequence[_Review]) -> Iterator[tuple[_Review, Assignment]]:
    work = _find_finished(study, [review.assignment for review in reviews])
    for review in reviews:
        found = work.get(review.assignment, [])
        # the id of returned work passes to the next worker
        own = [one for one in found if _is_by_worker_of(one, review.row)] if len(found) > 1 else found
        if len(own) != 1:
            raise review.row.problem(
                "AssignmentId", quoted(review.assignment), f"finished work of study {study.slug!r}"
            )
        if review.reason and own[0].state == Assignment.State.APPROVED:
            raise review.row.problem("Reject", "a reason for work that was approved before", "nothing")
        yield review, own[0]


def _is_by_worker_of(assignment: Assignment, row: ResultRow) -> bool:
    worker, named = assignment.worker, row.text("WorkerId").strip()
    return named == worker.name or pseudonym(worker.place, named) == worker.name


def _find_finished(study: Study, names: Sequence[str]) -> dict[str, list[Assignment]]:
    found: defaultdict[str, list[Assignment]] = defaultdict(list)
    ours = [pk for name in names if (pk := _parse_uuid(name)) is not None]
    work = Assignment.objects.filter(study=study).finished().select_related("worker")
    for one in work.filter(Q(external_id__in=names) | Q(pk__in=ours)):
        for name in {one.external_id, str(one.pk)} & set(names):
            found[name].append(one)
    return found


def _parse_uuid(name: str) -> UUID | None:
    try:
        return UUID(name)
    except ValueError:
        return None
