"""Claim the HIT that Mechanical Turk gave to a worker.

Mechanical Turk chooses the HIT and limits the number of its workers; Quorum checks that the worker may do it.
"""

from __future__ import annotations

from itertools import chain

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.crowds import backend_of
from annotation.crowds.extra_slots import MAX_EXTRA_SLOTS, ensure_open_slot
from annotation.errors import RequirementNotMet, SlotTaken
from annotation.models import Assignment, CrowdSession, Participation, RawId
from annotation.models.assignments import LIVE_STATES
from annotation.quality.exclusions import refuse_paused_study, refuse_stopped_worker
from annotation.work.claims import MAX_ATTEMPTS
from annotation.work.requirements import has_reached_limit
from annotation.work.seats import share_pause_lock
from annotation.work.sheet.units import page_units_of, units_of_hit
from annotation.work.slots.acceptance import SlotLost, claim_slot
from annotation.work.slots.candidates import CandidateHIT, Claim
from annotation.work.slots.release import release_slots
from annotation.work.slots.suitability import (
    controls_left_out_before,
    controls_seen_before,
    may_repeat_controls,
    seen_control_items,
)
from judgments.models import HIT
from judgments.studies.designs import design_of


def claim_for_session(*, session: CrowdSession, hit: HIT, for_existing_answers: bool = False) -> Claim:
    """Claim the HIT that the crowd gave this worker, or return the session's current claim.

    If no slot is open, somebody left without notice, or came with an invented id. If the crowd confirms the worker,
    a slot is added, since the crowd limits the number of its workers. If the crowd does not know the worker, the claim
    is refused. A worker who gets the HIT again after their lease expired finds their draft.

    Args:
        for_existing_answers: whether to claim only in order to store answers that the crowd has accepted. Then the
            claim succeeds even if the study is closed or paused, or the worker reached the limit of HITs per person.

    Raises:
        SlotTaken: the crowd does not know the assignment, the worker holds or did the HIT, or no slot is open.
        RequirementNotMet: the worker has done as many HITs as one person may.
        StudyPaused, WorkPaused, WorkerExcluded: the study is paused, or the worker was stopped.
    """
    for _attempt in range(MAX_ATTEMPTS):
        last_lease = Assignment.objects.filter(session=session, hit=hit).order_by("-accepted_at").first()
        if last_lease is not None and last_lease.state in LIVE_STATES and not _has_expired(last_lease):
            return Claim(assignment=last_lease, is_new=False, page_units=page_units_of(last_lease))
        _refuse_second_claim(session, hit)
        if not for_existing_answers:
            refuse_paused_study(session.study)
        if last_lease is None and not for_existing_answers:
            _refuse_beyond_limit(session)
        candidate = _make_candidate(session, hit)
        max_extra_slots: int | None = 0  # a HIT that is not full needs no slot beyond its places at the crowd
        if _is_full(hit):  # ask the crowd only if the HIT is full, since the visitor waits for the response
            is_unlimited = session.confirmed or for_existing_answers
            max_extra_slots = None if is_unlimited else _max_extra_slots(session)
        try:
            with transaction.atomic():
                if not for_existing_answers:
                    share_pause_lock(session.study)  # as ``claim_slot`` requires
                # the worker's own expired lease first, since a worker can hold a HIT only once
                assignments_of_worker = Assignment.objects.filter(hit=hit, worker=session.worker_id)
                release_slots(assignments_of_worker.overdue(timezone.now()), Assignment.State.EXPIRED)
                ensure_open_slot(hit, max_extra_slots=max_extra_slots)
                claim = claim_slot(candidate, session=session, allow_closed=for_existing_answers)
                if claim is not None:
                    _restore_draft(claim.assignment)
        except (SlotLost, IntegrityError):
            continue  # the attempt was rolled back; try again
        if claim is None:  # the study or the worker was paused or excluded meanwhile
            break
        return claim
    raise SlotTaken(_("You cannot take this page of work now: the study accepts no more work."))


def _max_extra_slots(session: CrowdSession) -> int | None:
    """Return how many slots a HIT may have beyond its places at the crowd; None for any number.

    The crowd is asked whether it knows the session's assignment.

    Raises:
        SlotTaken: the crowd does not know the assignment.
    """
    sessions = CrowdSession.objects.filter(platform=session.platform, external_id=session.external_id)
    unconfirmed_sessions = sessions.filter(status=CrowdSession.Status.SUBMITTED, confirmed=False)
    if unconfirmed_sessions.exclude(pk=session.pk).exists():
        return MAX_EXTRA_SLOTS  # two people have the same id, of whom the crowd will later confirm only one
    # the raw id without a session is that of the person, the WorkerId
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
    return None if is_confirmed else MAX_EXTRA_SLOTS  # `is_confirmed` is None if the crowd does not say


def _refuse_beyond_limit(session: CrowdSession) -> None:
    # Mechanical Turk cannot check this limit.
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
    """Copy the worker's draft from their last lease of the HIT.

    A draft is stored by position on the page, so it fits only if the page has the same order and sides as before.
    """
    earlier_leases = Assignment.objects.filter(
        hit=assignment.hit_id, worker=assignment.worker_id, state__in=["returned", "expired"]
    )
    last = earlier_leases.order_by("-accepted_at").first()
    if last is not None and last.answers and (last.order, last.flips) == (assignment.order, assignment.flips):
        assignment.answers = last.answers
        assignment.save(update_fields=["answers"])


def _make_candidate(session: CrowdSession, hit: HIT) -> CandidateHIT:
    """Return the HIT as a candidate for the session's worker. Control items that the worker saw before are left out.

    Raise WorkPaused or WorkerExcluded if the worker was stopped.
    """
    study, worker = session.study, session.worker
    participation = Participation.objects.get(study=study, worker=worker)
    refuse_stopped_worker(participation.standing)
    units = units_of_hit(hit.pk)
    seen_items_by_hit = seen_control_items(study, worker) if may_repeat_controls(study) else {}
    if hit.pk in seen_items_by_hit:  # the worker had this HIT before, and gets it unchanged
        excluded_units = controls_left_out_before(hit, worker, units)
    else:
        seen_items = set(chain.from_iterable(seen_items_by_hit.values()))
        excluded_units = controls_seen_before(study, units, seen_items)
    return CandidateHIT(
        study=study,
        worker=worker,
        participation=participation,
        hit=hit,
        cursor=participation.cursor,
        units=units,
        excluded_units=excluded_units,
    )


def _is_full(hit: HIT) -> bool:
    """Return whether the HIT has no open slot, and no expired lease that could be released."""
    if HIT.objects.filter(pk=hit.pk, open_slots__gt=0).exists():
        return False
    return not Assignment.objects.overdue(timezone.now()).filter(hit=hit).exists()
