"""Store what a crowd reports about submissions: their status, their answers and their payment.

Answers of a session that the crowd does not know are excluded: they are stored in the state "apart", but do not count
and are not paid. If the crowd reports the session later, they count again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from annotation.crowds import CrowdBackend
from annotation.crowds.base import CrowdWork, SubmittedAnswers
from annotation.crowds.claims import claim_for_session
from annotation.crowds.extra_slots import ensure_open_slot
from annotation.crowds.outbox.effects import DECIDED_STATUSES, settle_session
from annotation.crowds.people import erasure_marks, is_session_of, pseudonym
from annotation.crowds.sessions import end_session, open_session, worker_for_crowd_id
from annotation.models import Assignment, CrowdCall, CrowdSession, Publication
from annotation.models.assignments import LIVE_STATES
from annotation.money.bookings import pay_screen_out
from annotation.work.answers.checks import answer_key
from annotation.work.joining import join_from_crowd
from annotation.work.sheet.units import page_units_of
from annotation.work.slots.release import release_slots
from annotation.work.stopping import free_slot, lock_for_settling, reopen_slots, update_outcomes
from annotation.work.submissions import submit_assignment
from annotation.work.system_pairs import recount_system_pairs
from common.errors import QuorumError
from judgments.kinds import KINDS
from judgments.models import HIT
from judgments.studies.designs import design_of

Status = CrowdSession.Status
SUBMITTED_STATUSES = (Status.SUBMITTED, Status.APPROVED, Status.REJECTED)
ENDED_EARLY_STATUSES = (Status.RETURNED, Status.TIMED_OUT, Status.SCREENED_OUT)
MINUTES_TO_STORE = 10  # minutes of a lease that is only taken to store existing answers


class IncompleteWork(QuorumError):
    """Raised if the crowd has work whose answers are not completely stored in the database."""


def record_work(*, backend: CrowdBackend, publication: Publication, work: CrowdWork) -> CrowdSession:
    """Store the crowd's report about a submission: its status, its answers and its payment.

    A repeated call changes nothing.

    Raises:
        IncompleteWork: answers are missing; everything else is stored.
    """
    session = _find_or_open_session(backend, publication, work)
    if session.publication_id != publication.pk:  # a browser opened the session for another one
        _move_session(session, publication)
    if session.worker.erased:  # do not store their answers or identity again
        work = replace(work, receipt="", feedback="")
    _store_report(session, work)
    problem: QuorumError | None = None
    if work.status in SUBMITTED_STATUSES and not session.worker.erased:
        try:
            _store_missing_answers(backend, session, publication, work)
        except QuorumError as error:
            problem = IncompleteWork(str(error))
    elif work.status in ENDED_EARLY_STATUSES:
        end_session(session=session, status=work.status)
        if work.status == Status.SCREENED_OUT:
            pay_screen_out(session=session)
    if work.status in DECIDED_STATUSES:
        settle_session(
            session=session,
            status=work.status,
            decided_at=work.decided_at,
            feedback=work.feedback,
            is_fact=True,  # the crowd has decided, so it is booked even beyond the budget
        )
    if problem is not None:
        raise problem
    return session


def _find_or_open_session(backend: CrowdBackend, publication: Publication, work: CrowdWork) -> CrowdSession:
    """Return the session of the reported submission, also if its worker was erased; open it if it is missing."""
    study, platform = publication.study, publication.platform
    external_id = backend.session_id(platform, work.external_id)
    # By the marks, ``is_session_of`` recognises people who were erased from the study, and have no name any more.
    name, marks = pseudonym(platform, work.worker), erasure_marks(study)
    sessions = CrowdSession.objects.filter(
        platform=platform, external_id=external_id, worker__platform=platform
    )
    for session in sessions.filter(Q(worker__name=name) | Q(worker__erased=True)).select_related("worker"):
        if is_session_of(session, name, marks):
            return session
    id_name = backend.person_of(design_of(study))
    worker = worker_for_crowd_id(study=study, crowd_id=work.worker, id_name=id_name)
    return open_session(publication=publication, worker=worker, external_id=external_id)


@transaction.atomic
def _move_session(session: CrowdSession, publication: Publication) -> None:
    """Move a session to the publication that the crowd reports. Answers to another HIT or study are excluded."""
    is_published_work = (
        Q(study=publication.study) if publication.hit_id is None else Q(hit=publication.hit_id)
    )
    other_work = Assignment.objects.filter(session=session).exclude(is_published_work)
    other_assignments = list(other_work.select_for_update().order_by("pk"))
    row = CrowdSession.objects.select_for_update().get(pk=session.pk)
    if row.booked:  # its payment or rejection is part of the other publication's bookings
        return
    submitted_assignments = [
        assignment for assignment in other_assignments if assignment.state == Assignment.State.SUBMITTED
    ]
    _mark_as_excluded(submitted_assignments)
    locked_work = Assignment.objects.filter(pk__in=[assignment.pk for assignment in other_assignments])
    release_slots(locked_work, Assignment.State.RETURNED)
    for study in {assignment.study for assignment in submitted_assignments}:
        recount_system_pairs(study)  # an arena's counters of the answers to each pair of systems
    locked_work.update(session=None)
    row.publication, row.study = publication, publication.study
    row.save(update_fields=["publication", "study"])
    session.refresh_from_db()


@transaction.atomic
def _store_report(session: CrowdSession, work: CrowdWork) -> None:
    """Mark a session as confirmed, and store the crowd's report: times, submission, and answer text (``receipt``)."""
    row = CrowdSession.objects.select_for_update().get(pk=session.pk)
    row.confirmed, row.seen_at = True, timezone.now()
    row.submitted_at = work.submitted_at or row.submitted_at
    row.auto_approval_at = work.auto_approval_at
    row.receipt = work.receipt.replace("\x00", "�")  # PostgreSQL stores no null character
    if not row.booked and row.status not in SUBMITTED_STATUSES and work.status in SUBMITTED_STATUSES:
        row.status = Status.SUBMITTED
    row.save()
    session.refresh_from_db()


def _store_missing_answers(
    backend: CrowdBackend, session: CrowdSession, publication: Publication, work: CrowdWork
) -> None:
    """Store the answers of submitted work, unless they are stored already. Count excluded answers again.

    The answers come from the crowd if its own page collected them, or else from the draft in the database. At a panel
    only excluded answers are missing.

    Raises:
        IncompleteWork: neither the crowd nor the draft has all answers, or some answers cannot be counted again.
    """
    work_of_session = Assignment.objects.filter(session=session).order_by("-accepted_at")
    if publication.hit is None:  # workers of a panel do several HITs, and their pages show what is missing
        problems = []
        for excluded_assignment in work_of_session.filter(state=Assignment.State.APART):
            try:
                _restore_excluded(excluded_assignment)
            except IncompleteWork as problem:  # other pages of the session may still count
                problems.append(problem)
        if problems:
            raise problems[0]
        return
    assignment = work_of_session.first()
    if assignment is not None and assignment.state == Assignment.State.APART:
        _restore_excluded(assignment)
        return
    if assignment is not None and assignment.submitted_at is not None:
        return
    crowd_answers = backend.fetch_answers(publication, work)
    if crowd_answers is not None:
        _submit_crowd_answers(session, publication, crowd_answers)
        return
    if assignment is None:
        raise IncompleteWork("Nothing was ever answered here under that assignment.")
    if not _is_complete(assignment):
        raise IncompleteWork("Some of its answers were never saved here.")
    _submit_draft(assignment)


def _is_complete(assignment: Assignment) -> bool:
    """Return whether the draft answers every unit. A draft is stored by position, such as ``{"1": {"value": 2}}``."""
    key = answer_key(KINDS[assignment.study.protocol])
    return all(
        key in assignment.answers.get(str(page_unit.position), {}) for page_unit in page_units_of(assignment)
    )


def _submit_crowd_answers(
    session: CrowdSession, publication: Publication, crowd_answers: SubmittedAnswers
) -> None:
    """Claim the HIT for the session, and submit the answers from the crowd's own page with the order it showed."""
    if crowd_answers.missing_positions:
        positions = ", ".join(map(str, crowd_answers.missing_positions[:10]))
        raise IncompleteWork(f"It leaves {positions} without an answer.")
    assert publication.hit is not None  # a crowd's own page shows a HIT
    join_from_crowd(study=session.study, worker=session.worker, consent=True)
    claim = claim_for_session(session=session, hit=publication.hit, for_existing_answers=True)
    assignment, layout = claim.assignment, crowd_answers.layout
    assignment.order, assignment.flips = layout.order, layout.sides
    assignment.save(update_fields=["order", "flips"])
    submit_assignment(assignment=assignment, answers=crowd_answers.answers)


def _submit_draft(assignment: Assignment) -> None:
    """Submit a complete draft. If its lease has ended, take a slot for it again."""
    with transaction.atomic():
        row = Assignment.objects.select_for_update().get(pk=assignment.pk)
        now = timezone.now()
        expires_at = now + timedelta(minutes=MINUTES_TO_STORE)
        if row.state == Assignment.State.ACCEPTED:
            row.renew_lease(now=now, expires_at=expires_at)
        elif row.state in (Assignment.State.EXPIRED, Assignment.State.RETURNED):
            _take_slot(row)
            row.renew_lease(now=now, expires_at=expires_at)
            Assignment.objects.filter(pk=row.pk).update(state=Assignment.State.ACCEPTED)
            update_outcomes(study=row.study, hits=[row.hit_id] if row.hit_id else [])
    # the answers are in the draft, so none are added
    submit_assignment(assignment=Assignment.objects.select_related("study").get(pk=assignment.pk), answers=[])


def _take_slot(assignment: Assignment) -> None:
    """Take a slot for an assignment that has none, before its state changes. Call this function in a transaction.

    Raises:
        IncompleteWork: the worker has done the HIT again, or no slot is open.
    """
    hit_pk = assignment.hit_id
    assert hit_pk is not None  # only imported work has no HIT, and a crowd's work is never imported
    lock_for_settling(study=assignment.study, hits=[hit_pk])
    live_assignments = Assignment.objects.filter(hit=hit_pk, state__in=LIVE_STATES)
    if live_assignments.filter(worker=assignment.worker_id).exists():
        raise IncompleteWork("Its participant has done the same page of work again.")
    ensure_open_slot(HIT.objects.get(pk=hit_pk))
    if not HIT.objects.filter(pk=hit_pk, open_slots__gt=0).update(open_slots=F("open_slots") - 1):
        raise IncompleteWork("No slot of its HIT is open.")
    Assignment.objects.filter(pk=assignment.pk).update(slot=free_slot(hit_pk))


@transaction.atomic
def exclude_unknown_work(*, session: CrowdSession) -> int:
    """Exclude the submitted work of a session that the crowd does not know, and reopen its slots.

    Return the number of excluded assignments: 0 if the session is confirmed or its payment is booked.
    """
    submitted_work = Assignment.objects.filter(session=session, state=Assignment.State.SUBMITTED)
    assignments = list(submitted_work.select_for_update().order_by("pk"))
    row = CrowdSession.objects.select_for_update().get(pk=session.pk)
    if row.confirmed or row.booked:
        return 0
    CrowdSession.objects.filter(pk=row.pk).update(status=Status.UNKNOWN)
    CrowdCall.objects.filter(
        session=row, state=CrowdCall.State.WAITING, kind__in=["approve", "reject"]
    ).update(state=CrowdCall.State.DROPPED, problem="The crowd never knew of this work.")
    _mark_as_excluded(assignments)
    recount_system_pairs(row.study)
    return len(assignments)


def _mark_as_excluded(assignments: Sequence[Assignment]) -> None:
    """Exclude assignments, and reopen the slots of their HITs."""
    assignment_pks = [assignment.pk for assignment in assignments]
    Assignment.objects.filter(pk__in=assignment_pks).update(state=Assignment.State.APART)
    for assignment in assignments:
        if assignment.hit_id is not None:
            reopen_slots(study=assignment.study, counts_by_hit={assignment.hit_id: 1})


@transaction.atomic
def _restore_excluded(assignment: Assignment) -> None:
    """Count excluded answers again, since the crowd has confirmed them.

    Raise IncompleteWork if no slot is open, or if the worker has done the same HIT again.
    """
    row = Assignment.objects.select_for_update().get(pk=assignment.pk)
    if row.state != Assignment.State.APART:
        return
    _take_slot(row)
    Assignment.objects.filter(pk=row.pk).update(state=Assignment.State.SUBMITTED)
    update_outcomes(study=row.study, hits=[row.hit_id] if row.hit_id else [])
    recount_system_pairs(row.study)
