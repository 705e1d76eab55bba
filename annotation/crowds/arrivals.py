"""Record workers sent by a crowd, their sessions, and their HITs."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F, Q, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.crowds import backend_of
from annotation.crowds.people import pseudonym, remove_ids
from annotation.errors import ArrivalRefused, RequirementNotMet, SlotTaken
from annotation.models import (
    Assignment,
    CrowdSession,
    Demographics,
    Participation,
    Publication,
    RawId,
    Worker,
)
from annotation.models.assignments import LIVE_STATES
from annotation.models.privacy import ids_forgotten
from annotation.quality.flags import refuse_paused_study, refuse_stopped_worker
from annotation.work.claims import (
    ATTEMPTS,
    Candidate,
    Claim,
    SlotLost,
    claim_slot,
    control_items_met,
    controls_met_before,
    may_repeat_controls,
    release_slots,
    share_pause_lock,
    units_left_out,
)
from annotation.work.joining import has_reached_limit, join_from_crowd
from annotation.work.presentation import places_of, units_of_hit
from common import rate_limits
from common.errors import WrongState
from judgments.models import HIT, Study
from judgments.studies.log import note_event
from judgments.studies.studies import design_of

MORE_SLOTS = 20  # slots of a HIT for people of whom the crowd does not say whether it knows them

Status = CrowdSession.Status


@transaction.atomic
def person_sent(*, study: Study, raw: str, name: str) -> Worker:
    """Return the worker with the crowd's id ``raw``; ``name`` is the kind of id, such as WorkerId."""
    worker, created = Worker.objects.get_or_create(
        source=Worker.Source.CROWD, place=study.place, name=pseudonym(study.place, raw)
    )
    if created or not RawId.objects.filter(worker=worker, session=None, name=name).exists():
        RawId.objects.get_or_create(worker=worker, session=None, name=name, defaults={"value": raw})
    return worker


@transaction.atomic
def open_session(*, publication: Publication, worker: Worker, external_id: str) -> CrowdSession:
    """Return the worker's session of this external id; an id that passed on (psiTurk#184) ends the first session."""
    before = CrowdSession.objects.filter(
        place=publication.place, external_id=external_id, status=Status.WORKING
    ).exclude(worker=worker)
    for other in before:
        end_session(session=other, status=Status.RETURNED)
    session, _created = CrowdSession.objects.get_or_create(
        place=publication.place,
        external_id=external_id,
        worker=worker,
        defaults={"study": publication.study, "publication": publication},
    )
    return session


def receive_worker(
    *, publication: Publication, raw: str, external_id: str, consent: bool = False
) -> CrowdSession:
    """Record the arrival of a Mechanical Turk worker; return their session, reopened if it had ended.

    Args:
        raw, external_id: Mechanical Turk's WorkerId and AssignmentId.
    Raises:
        JoinRefused, ArrivalRefused, TooMany: nothing is recorded.
    """
    known = CrowdSession.objects.filter(place=publication.place, external_id=external_id)
    if not known.filter(worker__name=pseudonym(publication.place, raw)).exists():
        rate_limits.count("join", publication.study.slug)
    return _receive(publication, raw, external_id, consent=consent)


@transaction.atomic
def _receive(publication: Publication, raw: str, external_id: str, *, consent: bool) -> CrowdSession:
    worker = person_sent(study=publication.study, raw=raw, name="WorkerId")
    join_from_crowd(study=publication.study, worker=worker, consent=consent)
    session = open_session(publication=publication, worker=worker, external_id=external_id)
    if session.publication_id != publication.pk:
        raise ArrivalRefused(
            _(
                "Nothing was recorded: you opened another HIT with this assignment before. Open that one from your "
                "worker’s page, or return it."
            )
        )
    ended = CrowdSession.objects.filter(pk=session.pk, status__in=[Status.RETURNED, Status.TIMED_OUT])
    ended.update(status=Status.WORKING)
    _move_work(session)
    session.refresh_from_db(fields=["status"])
    return session


def _move_work(session: CrowdSession) -> None:
    """Move a worker's work on a HIT to their new session of it, also work that the crowd never heard of."""
    same = CrowdSession.objects.filter(publication=session.publication, worker=session.worker_id)
    for old in same.exclude(pk=session.pk).filter(confirmed=False).order_by("pk"):
        if old.status == Status.WORKING:
            end_session(session=old, status=Status.RETURNED)
        elif old.status == Status.SUBMITTED and old.booked == CrowdSession.Booked.NOTHING:
            Assignment.objects.filter(session=old).update(session=session, external_id=session.external_id)
            CrowdSession.objects.filter(pk=old.pk).update(status=Status.RETURNED)
            CrowdSession.objects.filter(pk=session.pk).update(status=Status.SUBMITTED)


@transaction.atomic
def end_session(*, session: CrowdSession, status: str) -> bool:
    """End a session without submission; keep drafts. Return False if it was over."""
    held = Assignment.objects.filter(session=session)
    state = Assignment.State.EXPIRED if status == Status.TIMED_OUT else Assignment.State.RETURNED
    release_slots(held, state)
    return bool(CrowdSession.objects.filter(pk=session.pk, status=Status.WORKING).update(status=status))


def claim_for_session(*, session: CrowdSession, hit: HIT, late: bool = False) -> Claim:
    """Claim the HIT that the crowd gave this worker, or return the session's current claim.

    If no slot is open here, somebody left without notice, or came with a made-up id. A worker whom the crowd names
    gets one more slot, as the crowd bounds their number; an unknown one gets none. A worker whose lease expired and
    who got the HIT again finds their draft.

    Args:
        late: accept a closed study, for answers that the crowd accepted.
    """
    for _attempt in range(ATTEMPTS):
        before = Assignment.objects.filter(session=session, hit=hit).order_by("-accepted_at").first()
        if before is not None and before.state in LIVE_STATES and not _has_expired(before):
            return Claim(assignment=before, created=False, places=places_of(before))
        _refuse_second_time(session, hit)
        if not late:
            refuse_paused_study(session.study)
        if before is None and not late:
            _refuse_who_did_all(session)
        candidate = _candidate(session, hit)
        most: int | None = 0
        if _is_full(hit):  # only then is the crowd asked: nobody else waits for its answer
            most = None if session.confirmed or late else _slots_to_add(session)
        try:
            with transaction.atomic():
                if not late:
                    share_pause_lock(session.study)
                mine = Assignment.objects.filter(hit=hit, worker=session.worker_id)
                release_slots(mine.overdue(timezone.now()), Assignment.State.EXPIRED)
                make_room(hit, most=most)
                claim = claim_slot(candidate, session=session, allow_closed=late)
                if claim is not None:
                    _restore_draft(claim.assignment)
        except (SlotLost, IntegrityError):
            continue  # the attempt was rolled back; try again
        if claim is None:
            break
        return claim
    raise SlotTaken(_("This page of work cannot be taken now: the study takes no more work."))


def _slots_to_add(session: CrowdSession) -> int | None:
    """Return how many slots may be added to a HIT; None for any number.

    Raises:
        SlotTaken: the crowd does not know of this assignment.
    """
    same = CrowdSession.objects.filter(place=session.place, external_id=session.external_id)
    if same.filter(status=Status.SUBMITTED, confirmed=False).exclude(pk=session.pk).exists():
        return MORE_SLOTS  # two people under one id: the crowd can name only one of them, and not yet which
    raw = RawId.objects.filter(worker=session.worker_id, session=None).first()
    named = backend_of(session.study).knows_work(
        session.publication, worker=raw.value if raw else "", work=session.external_id
    )
    if named is False:
        raise SlotTaken(
            _(
                "This page of work cannot be taken now: Mechanical Turk does not know your assignment. If you just "
                "accepted it, load the page again in a minute; else please return it."
            )
        )
    return None if named else MORE_SLOTS


def _refuse_who_did_all(session: CrowdSession) -> None:
    """Check the limit of HITs per person, which Mechanical Turk cannot."""
    if has_reached_limit(study=session.study, design=design_of(session.study), worker=session.worker):
        raise RequirementNotMet(
            _(
                "You did as many pages of work as this study asks of one person: please return this HIT. Thank you."
            )
        )


def _has_expired(held: Assignment) -> bool:
    if held.state != Assignment.State.ACCEPTED or held.expires_at is None:
        return False
    return held.expires_at <= timezone.now()


def _refuse_second_time(session: CrowdSession, hit: HIT) -> None:
    """Refuse a HIT that the worker has through another external HIT, unknown to the crowd."""
    mine = Assignment.objects.filter(hit=hit, worker=session.worker_id).exclude(session=session)
    if any(not _has_expired(one) for one in mine.filter(state__in=LIVE_STATES)):
        raise SlotTaken(_("You have this page of work already, or did it: please return this HIT."))


def _restore_draft(now: Assignment) -> None:
    left = Assignment.objects.filter(hit=now.hit_id, worker=now.worker_id, state__in=["returned", "expired"])
    before = left.order_by("-accepted_at").first()
    if before is not None and before.answers and (before.order, before.flips) == (now.order, now.flips):
        now.answers = before.answers
        now.save(update_fields=["answers"])


def _candidate(session: CrowdSession, hit: HIT) -> Candidate:
    study, worker = session.study, session.worker
    participation = Participation.objects.get(study=study, worker=worker)
    refuse_stopped_worker(participation.standing)
    units = units_of_hit(hit.pk)
    met = control_items_met(study, worker) if may_repeat_controls(study) else {}
    if hit.pk in met:
        left_out = units_left_out(hit, worker, units)
    else:
        left_out = controls_met_before(study, units, {item for items in met.values() for item in items})
    return Candidate(
        study=study,
        worker=worker,
        participation=participation,
        hit=hit,
        cursor=participation.cursor,
        units=units,
        left_out=left_out,
    )


def _is_full(hit: HIT) -> bool:
    if HIT.objects.filter(pk=hit.pk, open_slots__gt=0).exists():
        return False
    return not Assignment.objects.overdue(timezone.now()).filter(hit=hit).exists()


def make_room(hit: HIT, *, most: int | None = None) -> None:
    """Ensure an open slot in the caller's transaction: release expired leases, or add a slot.

    Args:
        most: slots that may be added to those at the crowd; None: any number, for people whom the crowd names.
    """
    if HIT.objects.filter(pk=hit.pk, open_slots__gt=0).exists():
        return
    release_slots(Assignment.objects.overdue(timezone.now()).filter(hit=hit), Assignment.State.EXPIRED)
    full = HIT.objects.filter(pk=hit.pk, open_slots=0)
    if most is not None:
        wanted = Publication.objects.filter(hit=hit).aggregate(n=Sum("places"))["n"] or 0
        full = full.filter(required__lt=wanted + most)
    full.update(required=F("required") + 1, open_slots=F("open_slots") + 1)


@transaction.atomic
def forget_raw_ids(*, study: Study, by: User | None = None) -> int:
    """Delete raw ids of the study's people who are in no other study, and the study's demographics.

    Nobody can pay or message them any more. Includes people who never came but got a qualification that the study
    names, or about whom its crowd was asked.
    """
    if study.state == Study.State.OPEN:
        raise WrongState(
            f"Nothing was deleted: study {study.slug!r} is open, and people who come leave their ids again; close it "
            "first."
        )
    # includes people without work: they have a session but no participation
    here = Worker.objects.filter(
        Q(participations__study=study) | Q(crowd_sessions__study=study), source=Worker.Source.CROWD
    )
    elsewhere = Worker.objects.filter(
        Q(participations__in=Participation.objects.exclude(study=study))
        | Q(crowd_sessions__in=CrowdSession.objects.exclude(study=study))
    ).values("pk")
    asked = design_of(study).workers
    names = {*asked.requires, *asked.forbids, asked.grants}
    never_came = Worker.objects.filter(
        Q(qualifications__name__in=names) | Q(crowd_calls__study=study),
        source=Worker.Source.CROWD,
        place=study.place,
        participations=None,
        crowd_sessions=None,
    )
    people = RawId.objects.filter(Q(worker__in=here) | Q(worker__in=never_came)).exclude(worker__in=elsewhere)
    rows = list(people | RawId.objects.filter(session__study=study))
    # Demographics that are being stored come first.
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    Demographics.objects.filter(study=study).delete()
    remove_ids(rows)
    RawId.objects.filter(pk__in=[row.pk for row in rows]).delete()
    ids_forgotten.send(Study, study=study)
    gone = len(rows)
    note_event(study=study, what="forget-ids", words=f"{gone} raw ids of workers were deleted.", by=by)
    return gone
