"""The sessions of workers sent by a crowd: their arrival, HITs and answers, and what the crowd reports about them.

Anybody can invent an id, so a session is unconfirmed until the crowd reports it. Answers of a session that the crowd
does not know are excluded ("apart"): stored, but not counted and not paid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, Q, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.crowds import CrowdBackend, backend_of
from annotation.crowds.base import CrowdWork, SubmittedAnswers
from annotation.crowds.outbox.effects import DECIDED_STATUSES, settle_session
from annotation.crowds.people import erasure_marks, is_session_of, pseudonym
from annotation.errors import ArrivalRefused, RequirementNotMet, SlotTaken, StoredTooLate, TooLate
from annotation.models import (
    Assignment,
    CrowdCall,
    CrowdSession,
    Judgment,
    Participation,
    Publication,
    RawId,
    Worker,
)
from annotation.models.assignments import LIVE_STATES
from annotation.money.bookings import pay_screen_out
from annotation.quality.flags import refuse_paused_study, refuse_stopped_worker
from annotation.work.answers.checks import answer_key
from annotation.work.answers.drafts import (
    CheckedAnswers,
    check_submitted_answers,
    lock_assignment,
    merge_answers,
)
from annotation.work.answers.judgments import build_judgment
from annotation.work.claims import MAX_ATTEMPTS
from annotation.work.joining import has_reached_limit, join_from_crowd
from annotation.work.seats import share_pause_lock
from annotation.work.sheet.units import page_units_of, units_of_hit
from annotation.work.slots.acceptance import SlotLost, claim_slot
from annotation.work.slots.candidates import CandidateHIT, Claim
from annotation.work.slots.release import release_slots
from annotation.work.stopping import free_slot, lock_for_settling, reopen_slots, update_outcomes
from annotation.work.submissions import SubmissionResult, submit_assignment
from annotation.work.suitability import (
    controls_left_out_before,
    controls_seen_before,
    may_repeat_controls,
    seen_control_items,
)
from annotation.work.system_pairs import recount_system_pairs
from common import rate_limits
from common.errors import QuorumError
from judgments.kinds import KINDS
from judgments.models import HIT, Study
from judgments.studies.designs import design_of

MAX_EXTRA_SLOTS = 20  # extra slots of a HIT for people of whom the crowd does not say whether it knows them

Status = CrowdSession.Status
SUBMITTED_STATUSES = (Status.SUBMITTED, Status.APPROVED, Status.REJECTED)
ENDED_EARLY_STATUSES = (Status.RETURNED, Status.TIMED_OUT, Status.SCREENED_OUT)
MINUTES_TO_STORE = 10  # minutes of a lease that is only taken to store existing answers


@transaction.atomic
def worker_for_crowd_id(*, study: Study, raw: str, name: str) -> Worker:
    """Return the worker whose id at the crowd is ``raw``; create the worker if the id is new.

    Args:
        name: the crowd's name for this kind of id, such as WorkerId.
    """
    worker, created = Worker.objects.get_or_create(
        source=Worker.Source.CROWD, platform=study.platform, name=pseudonym(study.platform, raw)
    )
    if created or not RawId.objects.filter(worker=worker, session=None, name=name).exists():
        RawId.objects.get_or_create(worker=worker, session=None, name=name, defaults={"value": raw})
    return worker


@transaction.atomic
def open_session(*, publication: Publication, worker: Worker, external_id: str) -> CrowdSession:
    """Return the worker's session with this external id; create it if it is missing.

    If another worker's session has the id, that session is ended (psiTurk#184).
    """
    earlier_sessions = CrowdSession.objects.filter(
        platform=publication.platform, external_id=external_id, status=Status.WORKING
    ).exclude(worker=worker)
    for earlier_session in earlier_sessions:
        end_session(session=earlier_session, status=Status.RETURNED)
    session, _created = CrowdSession.objects.get_or_create(
        platform=publication.platform,
        external_id=external_id,
        worker=worker,
        defaults={"study": publication.study, "publication": publication},
    )
    return session


def receive_worker(
    *, publication: Publication, raw: str, external_id: str, consent: bool = False
) -> CrowdSession:
    """Store the arrival of a Mechanical Turk worker. Return their session; if it had ended, it is reopened.

    Args:
        raw, external_id: Mechanical Turk's WorkerId and AssignmentId.

    Raises:
        JoinRefused, ArrivalRefused, TooManyAttempts: nothing is stored.
    """
    sessions = CrowdSession.objects.filter(platform=publication.platform, external_id=external_id)
    if not sessions.filter(worker__name=pseudonym(publication.platform, raw)).exists():
        rate_limits.count_use("join", publication.study.slug)
    return _join_and_open(publication, raw, external_id, consent=consent)


@transaction.atomic
def _join_and_open(publication: Publication, raw: str, external_id: str, *, consent: bool) -> CrowdSession:
    worker = worker_for_crowd_id(study=publication.study, raw=raw, name="WorkerId")
    join_from_crowd(study=publication.study, worker=worker, consent=consent)
    session = open_session(publication=publication, worker=worker, external_id=external_id)
    if session.publication_id != publication.pk:
        raise ArrivalRefused(
            _(
                "Nothing was recorded: you already opened another HIT with this assignment. Open that HIT "
                "from your worker’s page, or return it."
            )
        )
    ended_rows = CrowdSession.objects.filter(pk=session.pk, status__in=[Status.RETURNED, Status.TIMED_OUT])
    ended_rows.update(status=Status.WORKING)
    _take_over_work(session)
    session.refresh_from_db(fields=["status"])
    return session


def _take_over_work(session: CrowdSession) -> None:
    """Move the worker's unconfirmed work on the same HIT from their earlier sessions to this session."""
    sessions = CrowdSession.objects.filter(publication=session.publication, worker=session.worker_id)
    for past in sessions.exclude(pk=session.pk).filter(confirmed=False).order_by("pk"):
        if past.status == Status.WORKING:
            end_session(session=past, status=Status.RETURNED)
        elif past.status == Status.SUBMITTED and past.booked == CrowdSession.Booked.NOTHING:
            Assignment.objects.filter(session=past).update(session=session, external_id=session.external_id)
            CrowdSession.objects.filter(pk=past.pk).update(status=Status.RETURNED)
            CrowdSession.objects.filter(pk=session.pk).update(status=Status.SUBMITTED)


@transaction.atomic
def end_session(*, session: CrowdSession, status: str) -> bool:
    """End a session that was not submitted; drafts are kept. Return False if it had ended."""
    work = Assignment.objects.filter(session=session)
    state = Assignment.State.EXPIRED if status == Status.TIMED_OUT else Assignment.State.RETURNED
    release_slots(work, state)
    return bool(CrowdSession.objects.filter(pk=session.pk, status=Status.WORKING).update(status=status))


def claim_for_session(*, session: CrowdSession, hit: HIT, late: bool = False) -> Claim:
    """Claim the HIT that the crowd gave this worker, or return the session's current claim.

    If no slot is open, somebody left without notice, or came with an invented id. If the crowd confirms the worker,
    a slot is added, since the crowd limits the number of its workers. If the crowd does not know the worker, the claim
    is refused. A worker who gets the HIT again after their lease expired finds their draft.

    Args:
        late: whether to claim even in a closed study, to store answers that the crowd accepted.

    Raises:
        SlotTaken: the crowd does not know the assignment, the worker holds or did the HIT, or no slot is open.
        RequirementNotMet: the worker has done as many HITs as one person may.
    """
    for _attempt in range(MAX_ATTEMPTS):
        earlier = Assignment.objects.filter(session=session, hit=hit).order_by("-accepted_at").first()
        if earlier is not None and earlier.state in LIVE_STATES and not _has_expired(earlier):
            return Claim(assignment=earlier, is_new=False, page_units=page_units_of(earlier))
        _refuse_second_claim(session, hit)
        if not late:
            refuse_paused_study(session.study)
        if earlier is None and not late:
            _refuse_beyond_limit(session)
        candidate = _make_candidate(session, hit)
        max_extra_slots: int | None = 0
        if _is_full(hit):  # ask the crowd only if the HIT is full, since the visitor waits for the response
            max_extra_slots = None if session.confirmed or late else _max_extra_slots(session)
        try:
            with transaction.atomic():
                if not late:
                    share_pause_lock(session.study)
                own_assignments = Assignment.objects.filter(hit=hit, worker=session.worker_id)
                release_slots(own_assignments.overdue(timezone.now()), Assignment.State.EXPIRED)
                ensure_open_slot(hit, max_extra_slots=max_extra_slots)
                claim = claim_slot(candidate, session=session, allow_closed=late)
                if claim is not None:
                    _restore_draft(claim.assignment)
        except (SlotLost, IntegrityError):
            continue  # the attempt was rolled back; try again
        if claim is None:
            break
        return claim
    raise SlotTaken(_("You cannot take this page of work now: the study accepts no more work."))


def _max_extra_slots(session: CrowdSession) -> int | None:
    """Return how many slots a HIT may have beyond its places at the crowd; None for any number.

    It asks the crowd whether it knows the session's assignment.

    Raises:
        SlotTaken: the crowd does not know the assignment.
    """
    sessions = CrowdSession.objects.filter(platform=session.platform, external_id=session.external_id)
    if sessions.filter(status=Status.SUBMITTED, confirmed=False).exclude(pk=session.pk).exists():
        return MAX_EXTRA_SLOTS  # two people have the same id, of whom the crowd will later confirm only one
    raw_id = RawId.objects.filter(worker=session.worker_id, session=None).first()
    is_confirmed = backend_of(session.study).knows_work(
        session.publication, worker=raw_id.value if raw_id else "", work=session.external_id
    )
    if is_confirmed is False:
        raise SlotTaken(
            _(
                "You cannot take this page of work now: Mechanical Turk does not know your "
                "assignment. If you have just accepted the HIT, load the page again in a minute. "
                "Otherwise, please return the HIT."
            )
        )
    return None if is_confirmed else MAX_EXTRA_SLOTS


def _refuse_beyond_limit(session: CrowdSession) -> None:
    """Raise RequirementNotMet if the worker reached the limit of HITs per person.

    Mechanical Turk cannot check this limit.
    """
    if has_reached_limit(study=session.study, design=design_of(session.study), worker=session.worker):
        raise RequirementNotMet(
            _(
                "You have done all the pages of work that one person can do in this study. Please return "
                "this HIT. Thank you."
            )
        )


def _has_expired(assignment: Assignment) -> bool:
    """Return whether the lease of an assignment is over, although no sweep has marked it as expired yet."""
    if assignment.state != Assignment.State.ACCEPTED or assignment.expires_at is None:
        return False
    return assignment.expires_at <= timezone.now()


def _refuse_second_claim(session: CrowdSession, hit: HIT) -> None:
    """Raise SlotTaken if the worker holds or did the HIT in another session."""
    assignments = Assignment.objects.filter(hit=hit, worker=session.worker_id).exclude(session=session)
    if any(not _has_expired(assignment) for assignment in assignments.filter(state__in=LIVE_STATES)):
        raise SlotTaken(
            _("You already have this page of work, or you have already submitted it. Please return this HIT.")
        )


def _restore_draft(assignment: Assignment) -> None:
    """Copy the worker's draft from their last lease of the HIT, if the page has the same order and sides."""
    earlier_leases = Assignment.objects.filter(
        hit=assignment.hit_id, worker=assignment.worker_id, state__in=["returned", "expired"]
    )
    last = earlier_leases.order_by("-accepted_at").first()
    if last is not None and last.answers and (last.order, last.flips) == (assignment.order, assignment.flips):
        assignment.answers = last.answers
        assignment.save(update_fields=["answers"])


def _make_candidate(session: CrowdSession, hit: HIT) -> CandidateHIT:
    """Return the HIT as a candidate for the session's worker. Raise an error if the worker was stopped."""
    study, worker = session.study, session.worker
    participation = Participation.objects.get(study=study, worker=worker)
    refuse_stopped_worker(participation.standing)
    units = units_of_hit(hit.pk)
    seen_items_by_hit = seen_control_items(study, worker) if may_repeat_controls(study) else {}
    if hit.pk in seen_items_by_hit:  # the worker had this HIT before, and finds it unchanged
        excluded_items = controls_left_out_before(hit, worker, units)
    else:
        seen_items = {item for items in seen_items_by_hit.values() for item in items}
        excluded_items = controls_seen_before(study, units, seen_items)
    return CandidateHIT(
        study=study,
        worker=worker,
        participation=participation,
        hit=hit,
        cursor=participation.cursor,
        units=units,
        excluded_items=excluded_items,
    )


def _is_full(hit: HIT) -> bool:
    """Return whether the HIT has no open slot, and no expired lease that could be released."""
    if HIT.objects.filter(pk=hit.pk, open_slots__gt=0).exists():
        return False
    return not Assignment.objects.overdue(timezone.now()).filter(hit=hit).exists()


def ensure_open_slot(hit: HIT, *, max_extra_slots: int | None = None) -> None:
    """Give the HIT an open slot if it has none: release expired leases or, if there are none, add a slot.

    No slot is added if the HIT has reached the limit. Call this function in a transaction.

    Args:
        max_extra_slots: number of slots that the HIT may have beyond its places at the crowd; None for no limit.
    """
    if HIT.objects.filter(pk=hit.pk, open_slots__gt=0).exists():
        return
    release_slots(Assignment.objects.overdue(timezone.now()).filter(hit=hit), Assignment.State.EXPIRED)
    full = HIT.objects.filter(pk=hit.pk, open_slots=0)
    if max_extra_slots is not None:
        places_at_crowd = Publication.objects.filter(hit=hit).aggregate(n=Sum("places"))["n"] or 0
        full = full.filter(required__lt=places_at_crowd + max_extra_slots)
    full.update(required=F("required") + 1, open_slots=F("open_slots") + 1)


class IncompleteWork(QuorumError):
    """Raised if the crowd has work whose answers are not completely stored in the database."""


def record_work(*, backend: CrowdBackend, publication: Publication, work: CrowdWork) -> CrowdSession:
    """Store the crowd's report about a submission: its status, its answers and its payment.

    A repeated call changes nothing.

    Raises:
        IncompleteWork: answers are missing; everything else is stored.
    """
    session = _find_or_open_session(backend, publication, work)
    if session.publication_id != publication.pk:
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
            is_fact=True,
        )
    if problem is not None:
        raise problem
    return session


def _find_or_open_session(backend: CrowdBackend, publication: Publication, work: CrowdWork) -> CrowdSession:
    study, platform = publication.study, publication.platform
    external_id = backend.session_id(platform, work.external_id)
    name, marks = pseudonym(platform, work.worker), erasure_marks(study)
    rows = CrowdSession.objects.filter(platform=platform, external_id=external_id, worker__platform=platform)
    for session in rows.filter(Q(worker__name=name) | Q(worker__erased=True)).select_related("worker"):
        if is_session_of(session, name, marks):
            return session
    worker = worker_for_crowd_id(study=study, raw=work.worker, name=backend.person_of(design_of(study)))
    return open_session(publication=publication, worker=worker, external_id=external_id)


@transaction.atomic
def _move_session(session: CrowdSession, publication: Publication) -> None:
    """Move a session to the external HIT that the crowd reports. Answers to another HIT are excluded."""
    belongs = Q(study=publication.study) if publication.hit_id is None else Q(hit=publication.hit_id)
    foreign_work = Assignment.objects.filter(session=session).exclude(belongs)
    foreign_assignments = list(foreign_work.select_for_update().order_by("pk"))
    locked = CrowdSession.objects.select_for_update().get(pk=session.pk)
    if locked.booked:
        return
    submitted = [work for work in foreign_assignments if work.state == Assignment.State.SUBMITTED]
    _mark_as_excluded(submitted)
    work = Assignment.objects.filter(pk__in=[assignment.pk for assignment in foreign_assignments])
    release_slots(work, Assignment.State.RETURNED)
    for study in {assignment.study for assignment in submitted}:
        recount_system_pairs(study)
    work.update(session=None)
    locked.publication, locked.study = publication, publication.study
    locked.save(update_fields=["publication", "study"])
    session.refresh_from_db()


@transaction.atomic
def _store_report(session: CrowdSession, work: CrowdWork) -> None:
    """Store in a session that the crowd confirms it, and what the crowd reports about it."""
    locked = CrowdSession.objects.select_for_update().get(pk=session.pk)
    locked.confirmed, locked.seen_at = True, timezone.now()
    locked.submitted_at = work.submitted_at or locked.submitted_at
    locked.auto_approval_at = work.auto_approval_at
    locked.receipt = work.receipt.replace("\x00", "�")  # PostgreSQL stores no null character
    if not locked.booked and locked.status not in SUBMITTED_STATUSES and work.status in SUBMITTED_STATUSES:
        locked.status = Status.SUBMITTED
    locked.save()
    session.refresh_from_db()


def _store_missing_answers(
    backend: CrowdBackend, session: CrowdSession, publication: Publication, work: CrowdWork
) -> None:
    """Store the answers of submitted work, unless they are stored: those at the crowd, or else the draft here.

    Raises:
        IncompleteWork: neither the crowd nor the draft has all answers.
    """
    assignment = Assignment.objects.filter(session=session).order_by("-accepted_at").first()
    if assignment is not None and assignment.state == Assignment.State.APART:
        _restore_excluded(assignment)
        return
    if assignment is not None and assignment.submitted_at is not None:
        return
    crowd_answers = backend.fetch_answers(publication, work)
    if crowd_answers is not None:
        _submit_crowd_answers(session, publication, crowd_answers)
        return
    if publication.hit is None:
        return  # workers of a panel do several HITs, and their pages show what is missing
    if assignment is None:
        raise IncompleteWork("Nothing was ever answered here under that assignment.")
    if not _is_complete(assignment):
        raise IncompleteWork("Some of its answers were never saved here.")
    _submit_draft(assignment)


def _is_complete(assignment: Assignment) -> bool:
    key = answer_key(KINDS[assignment.study.protocol])
    return all(
        key in assignment.answers.get(str(page_unit.position), {}) for page_unit in page_units_of(assignment)
    )


def _submit_crowd_answers(session: CrowdSession, publication: Publication, answers: SubmittedAnswers) -> None:
    if answers.missing_positions:
        positions = ", ".join(map(str, answers.missing_positions[:10]))
        raise IncompleteWork(f"It leaves {positions} without an answer.")
    assert publication.hit is not None  # a crowd's own page shows a HIT
    join_from_crowd(study=session.study, worker=session.worker, consent=True)
    claim = claim_for_session(session=session, hit=publication.hit, late=True)
    claim.assignment.order, claim.assignment.flips = answers.layout.order, answers.layout.sides
    claim.assignment.save(update_fields=["order", "flips"])
    submit_assignment(assignment=claim.assignment, answers=answers.answers)


def _submit_draft(assignment: Assignment) -> None:
    """Submit a complete draft. If its lease has ended, take a slot for it again."""
    with transaction.atomic():
        locked = Assignment.objects.select_for_update().get(pk=assignment.pk)
        now = timezone.now()
        expires_at = now + timedelta(minutes=MINUTES_TO_STORE)
        if locked.state == Assignment.State.ACCEPTED:
            locked.renew_lease(now=now, expires_at=expires_at)
        elif locked.state in (Assignment.State.EXPIRED, Assignment.State.RETURNED):
            _take_slot(locked)
            locked.renew_lease(now=now, expires_at=expires_at)
            Assignment.objects.filter(pk=locked.pk).update(state=Assignment.State.ACCEPTED)
            update_outcomes(study=locked.study, hits=[locked.hit_id] if locked.hit_id else [])
    recount_system_pairs(locked.study)
    submit_assignment(assignment=Assignment.objects.select_related("study").get(pk=assignment.pk), answers=[])


def _take_slot(assignment: Assignment) -> None:
    """Take a slot for an assignment that has none, before its state changes. Call it in a transaction.

    Raises:
        IncompleteWork: the worker has done the HIT again, or no slot is open.
    """
    hit = assignment.hit_id
    assert hit is not None  # crowd work is never imported
    lock_for_settling(study=assignment.study, hits=[hit])
    live_assignments = Assignment.objects.filter(hit=hit, state__in=LIVE_STATES)
    if live_assignments.filter(worker=assignment.worker_id).exists():
        raise IncompleteWork("Its participant has done the same page of work again.")
    ensure_open_slot(HIT.objects.get(pk=hit))
    if not HIT.objects.filter(pk=hit, open_slots__gt=0).update(open_slots=F("open_slots") - 1):
        raise IncompleteWork("No slot of its HIT is open.")
    Assignment.objects.filter(pk=assignment.pk).update(slot=free_slot(hit))


@transaction.atomic
def exclude_unknown_work(*, session: CrowdSession) -> int:
    """Exclude work that the crowd does not know, and reopen its slots. Return the number of excluded assignments."""
    work = Assignment.objects.filter(session=session, state=Assignment.State.SUBMITTED)
    assignments = list(work.select_for_update().order_by("pk"))
    locked = CrowdSession.objects.select_for_update().get(pk=session.pk)
    if locked.confirmed or locked.booked:
        return 0
    CrowdSession.objects.filter(pk=locked.pk).update(status=Status.UNKNOWN)
    CrowdCall.objects.filter(
        session=locked, state=CrowdCall.State.WAITING, kind__in=["approve", "reject"]
    ).update(state=CrowdCall.State.DROPPED, problem="The crowd never knew of this work.")
    _mark_as_excluded(assignments)
    recount_system_pairs(locked.study)
    return len(assignments)


def _mark_as_excluded(assignments: Sequence[Assignment]) -> None:
    Assignment.objects.filter(pk__in=[work.pk for work in assignments]).update(state=Assignment.State.APART)
    for assignment in assignments:
        if assignment.hit_id is not None:
            reopen_slots(study=assignment.study, freed={assignment.hit_id: 1})


@transaction.atomic
def _restore_excluded(assignment: Assignment) -> None:
    """Count excluded answers again, since the crowd has confirmed them. Raise IncompleteWork if no slot is open."""
    locked = Assignment.objects.select_for_update().get(pk=assignment.pk)
    if locked.state != Assignment.State.APART:
        return
    _take_slot(locked)
    Assignment.objects.filter(pk=locked.pk).update(state=Assignment.State.SUBMITTED)
    update_outcomes(study=locked.study, hits=[locked.hit_id] if locked.hit_id else [])


def remove_extra_slots(*, study: Study) -> int:
    """Remove slots that were added in place of workers who left; return their number."""
    required = int(study.design["judgments_per_unit"])
    hits = HIT.objects.filter(study=study, required__gt=required, open_slots__gt=0)
    return sum(_remove_excess_slots(study, pk, required) for pk in hits.values_list("pk", flat=True))


@transaction.atomic
def _remove_excess_slots(study: Study, hit: int, min_slots: int) -> int:
    """Remove the open slots of a HIT beyond ``min_slots``. Return their number."""
    work = Assignment.objects.filter(hit=hit, state__in=LIVE_STATES)
    live_assignments = list(work.select_for_update().order_by("pk"))
    lock_for_settling(study=study, hits=[hit])
    row = HIT.objects.select_for_update(no_key=True).get(pk=hit)
    # only open slots are removed, and as many stay as the design asks for and as are taken or saved
    excess_count = min(row.open_slots, row.required - max(min_slots, len(live_assignments) + row.spared))
    if excess_count <= 0:
        return 0
    slot_count = row.required - excess_count
    # assignments in slots that are removed move to the lowest free ones
    taken_slots = {assignment.slot for assignment in live_assignments if assignment.slot < slot_count}
    for assignment in live_assignments:
        if assignment.slot >= slot_count:
            assignment.slot = next(slot for slot in count() if slot not in taken_slots)
            taken_slots.add(assignment.slot)
            assignment.save(update_fields=["slot"])
    HIT.objects.filter(pk=hit).update(required=slot_count, open_slots=F("open_slots") - excess_count)
    return excess_count


def hand_in(
    *, session: CrowdSession, assignment: Assignment, answers: Sequence[Mapping[str, Any]]
) -> SubmissionResult:
    """Submit an assignment of the session, which then waits for the crowd's confirmation.

    Raises:
        StoredTooLate: the lease had ended, or the crowd does not know the work; the answers are stored but
            excluded.
    """
    if assignment.state == Assignment.State.APART:
        raise StoredTooLate(late_note())
    try:
        submission = submit_assignment(assignment=assignment, answers=answers)
    except TooLate:
        store_late_answers(session=session, assignment=assignment, answers=answers)
        raise StoredTooLate(late_note()) from None
    record_handed_in(session=session)
    return submission


def late_note() -> str:
    return _(
        "You submitted this HIT after the time that Mechanical Turk allows. Your answers are stored "
        "separately. They do not count, and you are not paid for them."
    )


def record_handed_in(*, session: CrowdSession) -> bool:
    """Mark a running session as submitted. Return False if it had ended."""
    running_sessions = CrowdSession.objects.filter(pk=session.pk, status=Status.WORKING)
    return bool(running_sessions.update(status=Status.SUBMITTED))


@transaction.atomic
def store_late_answers(
    *, session: CrowdSession, assignment: Assignment, answers: Sequence[Mapping[str, Any]]
) -> None:
    """Store answers that came late, and end the assignment and the session.

    Complete answers are stored as excluded judgments, others as a draft.
    """
    sheet = check_submitted_answers(assignment, answers)
    locked = lock_assignment(assignment)
    release_slots(Assignment.objects.filter(pk=locked.pk), Assignment.State.EXPIRED)
    key = answer_key(sheet.kind)
    merged = merge_answers(locked.answers, sheet.answers)
    Assignment.objects.filter(pk=locked.pk, state=Assignment.State.EXPIRED).update(answers=merged)
    if all(key in merged.get(str(page_unit.position), {}) for page_unit in sheet.page_units):
        _store_excluded(locked, sheet, merged)
    CrowdSession.objects.filter(pk=session.pk, status=Status.WORKING).update(status=Status.TIMED_OUT)


def _store_excluded(locked: Assignment, sheet: CheckedAnswers, answers: Mapping[str, dict[str, Any]]) -> None:
    """Store complete late answers as judgments of an excluded assignment. ``answers`` are keyed by position."""
    now = timezone.now()
    row_count = Assignment.objects.filter(pk=locked.pk, state=Assignment.State.EXPIRED).update(
        state=Assignment.State.APART, submitted_at=now
    )
    if row_count:
        Judgment.objects.bulk_create(
            build_judgment(locked, page_unit, answers[str(page_unit.position)], kind=sheet.kind, made_at=now)
            for page_unit in sheet.page_units
        )
