"""Take a slot for a worker, or accept the slot that was reserved for them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.errors import AddressFull, NotAdmitted
from annotation.models import Assignment, CrowdSession, Participation, StudyAlarm, Worker
from annotation.work.seats import may_take_seat, note_seat
from annotation.work.sheet.layout import draw_layout
from annotation.work.sheet.units import arrange_units, units_of_hit
from annotation.work.slots.admission import ONLY_OPEN, STUDIES_TAKING_WORK, TAKE_SLOT
from annotation.work.slots.candidates import CandidateHIT, Claim
from annotation.work.slots.suitability import own_captions, used_up_alarms
from annotation.work.stopping import decided_units, free_slot
from common.features import of_features
from judgments.design.study_design import StudyDesign
from judgments.drawing.keys import content_key
from judgments.models import Study, Unit
from judgments.studies.designs import design_of, draws_at_claim, stops_early

RESERVED_MINUTES = 10  # short, since a prefetched HIT is needed soon


class SlotLost(Exception):
    """A slot could not be taken: another worker was faster, or the outcome of the HIT was decided meanwhile."""


def _admission_values(study: Study, worker: Worker) -> dict[str, Any]:
    """Return the parameters of the queries of ``slots.admission``. Only simulated workers can work in a rehearsal."""
    simulated = worker.source == Worker.Source.REHEARSAL
    return {"study": study.pk, "worker": worker.pk, "simulated": simulated}


def claim_slot(
    candidate: CandidateHIT,
    *,
    reserve: bool = False,
    session: CrowdSession | None = None,
    allow_closed: bool = False,
) -> Claim | None:
    """Claim a slot of the HIT, in a transaction that holds ``share_pause_lock``, so that the study cannot be paused.

    Return None if the study or the worker was paused or excluded meanwhile, or if only one of them is simulated.

    Args:
        reserve: whether to reserve the HIT for the time after the worker's current HIT, instead of accepting it.
        session: a session to which the crowd gave the HIT. The worker then gets it even if its outcome is decided.
        allow_closed: whether to claim the slot also in a closed or paused study, to store answers that the crowd has
            already accepted (``annotation.crowds.claims``). The transaction then needs no lock.

    Raises:
        AddressFull: the visitor's address holds its share of the seats.
        SlotLost, IntegrityError: another worker or window was faster. The caller must roll back and try again.
    """
    study, hit, worker = candidate.study, candidate.hit, candidate.worker
    is_promised = session is not None
    session = session or candidate.session
    if session is None and not may_take_seat(study):
        raise AddressFull
    if not _take_slot(candidate, allow_closed=allow_closed):
        return None
    units, decided_ids = _units_and_decided_ids(candidate, is_promised=is_promised)
    design = design_of(study)
    now = timezone.now()
    layout = draw_layout(
        design=design, hit=hit, worker=worker, units=units, left_out=candidate.excluded_units | decided_ids
    )
    minutes = min(design.crowd.lease_minutes, RESERVED_MINUTES) if reserve else design.crowd.lease_minutes
    if candidate.excluded_units:
        _note_used_up_controls(candidate)
    assignment = Assignment(
        study=study,
        hit=hit,
        worker=worker,
        session=session,
        external_id=session.external_id if session is not None else "",
        state=Assignment.State.RESERVED if reserve else Assignment.State.ACCEPTED,
        slot=free_slot(hit.pk),
        accepted_at=now,
        expires_at=now + timedelta(minutes=minutes),
        order=layout.order,
        flips=layout.sides,
        consent_version=candidate.participation.consent_version,
        instructions_version=instructions_version(design),
        simulated=worker.source == Worker.Source.REHEARSAL,
    )
    assignment.save(force_insert=True)
    if session is None:  # at a panel, the session holds the seat; Mechanical Turk itself limits people
        note_seat(study, assignment)
    return Claim(
        assignment=assignment, is_new=True, page_units=arrange_units(units, layout.order, layout.sides)
    )


def _take_slot(candidate: CandidateHIT, *, allow_closed: bool) -> bool:
    """Take a slot of the HIT, and store where the worker's next search for a HIT begins.

    Return False if the study gives the worker no work now. Raise SlotLost if no slot is open.
    """
    admission = _admission_values(candidate.study, candidate.worker)
    if not TAKE_SLOT[allow_closed](hit=candidate.hit.pk, **admission):
        if not STUDIES_TAKING_WORK[allow_closed].all_rows(**admission):
            return False
        raise SlotLost
    if candidate.participation.cursor != candidate.cursor:
        Participation.objects.filter(pk=candidate.participation.pk).update(cursor=candidate.cursor)
    return True


def _units_and_decided_ids(
    candidate: CandidateHIT, *, is_promised: bool
) -> tuple[list[Unit], frozenset[int]]:
    """Return the units of the HIT, and the row ids of those that the worker need not judge.

    These are units whose outcome is decided or, in an arena, that the worker judged on other pages.

    Args:
        is_promised: whether the worker gets the HIT even if no unit remains. They then judge all units.

    Raises:
        SlotLost: no unit remains.
    """
    study, hit, worker = candidate.study, candidate.hit, candidate.worker
    units = candidate.units
    decided_ids = decided_units(hit.pk, units) if stops_early(study) else frozenset()
    if draws_at_claim(study):
        drawings = of_features("arena_drawings")
        if not drawings:  # the feature is off
            raise NotAdmitted(_("This study is not open for answers."))
        captions = set(own_captions(study, worker).values_list("caption", flat=True))
        draw_page = drawings[0]
        decided_ids = draw_page(study=study, hit=hit, worker=worker, own_captions=captions)
        # read the units that were just drawn; do not cache them, since this transaction may be rolled back
        units = units_of_hit(hit.pk)
    if all(unit.control or unit.pk in decided_ids for unit in units):
        if not is_promised:
            raise SlotLost  # the outcome was decided meanwhile
        decided_ids = frozenset()
    return units, decided_ids


def instructions_version(design: StudyDesign) -> str:
    """Return a hash of the question, the instructions and the worked examples that an assignment shows."""
    examples = [example.model_dump(mode="json") for example in design.examples]
    return content_key(design.question, design.instructions, examples)[:16]


def _note_used_up_controls(candidate: CandidateHIT) -> None:
    """Record that an assignment lacks control items because the worker has seen them before."""
    # count images, since a designer thinks of all captions of a control image as one control item
    item_count = len({unit.item_id for unit in candidate.units if unit.pk in candidate.excluded_units})
    has_alarm = used_up_alarms(candidate.study, candidate.worker).update(
        pages=F("pages") + 1, missing=F("missing") + item_count, last_at=timezone.now()
    )
    if not has_alarm:  # a worker claims one HIT at a time, so no other transaction creates this row
        StudyAlarm.objects.create(
            study=candidate.study,
            worker=candidate.worker,
            what=StudyAlarm.Kind.CONTROLS_USED_UP,
            pages=1,
            missing=item_count,
        )


def accept_reservation(claim: Claim) -> Claim | None:
    """Accept a reservation, so that it becomes the current assignment with a full lease.

    Return None if the study or the worker was paused or excluded meanwhile.

    Raises:
        SlotLost: the reservation has ended.
    """
    assignment = claim.assignment
    admission = _admission_values(assignment.study, assignment.worker)
    if not STUDIES_TAKING_WORK[ONLY_OPEN].all_rows(**admission):
        return None
    now = timezone.now()
    expires_at = now + timedelta(minutes=design_of(assignment.study).crowd.lease_minutes)
    reservation = Assignment.objects.filter(pk=assignment.pk, state=Assignment.State.RESERVED)
    if not reservation.update(state=Assignment.State.ACCEPTED, accepted_at=now, expires_at=expires_at):
        raise SlotLost
    assignment.state = Assignment.State.ACCEPTED
    assignment.accepted_at = now
    assignment.expires_at = expires_at
    return Claim(assignment=assignment, is_new=True, page_units=claim.page_units)
