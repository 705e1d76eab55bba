"""Stop asking for votes once an outcome is decided, and ask again if it no longer is (docs/stopping.md).

Code that changes judgments or slots of a study with early stopping calls ``update_outcomes``,
``update_study_outcomes``, ``settle_submission`` or ``reopen_slots`` in the same transaction. These functions update the
outcome bounds of units, then the candidate pairs, then the slots of each HIT. The bounds (``OutcomeBounds``) are the
lowest and the highest outcome that the votes to come can still give, where 1 is the first answer, -1 the second, and 0
a tie. If they are equal, the unit is decided (``done``), unless it must get all its votes (``full_depth``).

    open slots = the most votes that a unit of the HIT needs, without those that assignments in progress will give
    live assignments + open slots + saved slots = required

Live assignments are in progress, or finished with answers that are used. Saved slots (``HIT.spared``) are no longer
needed. ``required`` grows only in one case: an assignment that left out a unit took the slot that this unit now needs.
To avoid deadlocks, locks are taken in the order assignments, pairs, HITs, each by id.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from django.db import connection, transaction
from django.db.models import Count, F, Q, Sum

from annotation.models import Assignment, Judgment
from annotation.models.assignments import LEASED_STATES, LIVE_STATES
from annotation.quality.controls import ControlAnswer, ControlRecord, control_answers, control_records
from common.rows.batches import batched
from common.rows.prepared import PreparedQuery, query_parameter
from judgments.design.study_design import StudyDesign
from judgments.drawing.controls.dealing import ORIGINAL_UNIT
from judgments.kinds import KINDS
from judgments.models import HIT, CandidatePair, HITUnit, OutcomeBounds, Study, Unit
from judgments.studies.designs import design_of, kind_of, stops_early
from judgments.studies.stopping import outcome_bounds

HITS_PER_BATCH = 200  # HITs that are locked and updated together


def settle_submission(*, assignment: Assignment, is_revision: bool = False) -> None:
    """Update outcomes after the judgments of ``assignment`` were stored, in the same transaction.

    Nothing is done without early stopping. If answers were revised, or if the judgments changed whether the worker's
    answers are used, all HITs of the worker are updated.
    """
    study = assignment.study
    if assignment.hit_id is None:  # of imported judgments
        return
    hits = {assignment.hit_id}
    if is_revision or _changed_use_of_answers(assignment):
        workers_assignments = Assignment.objects.filter(study=study, worker=assignment.worker_id).finished()
        hits |= set(workers_assignments.exclude(hit=None).values_list("hit_id", flat=True))
    update_outcomes(study=study, hits=hits)


def update_study_outcomes(*, study: Study) -> None:
    """Update outcome bounds and slots of all HITs of the study, for instance after control items were withdrawn."""
    if stops_early(study):
        update_outcomes(study=study, hits=HIT.objects.filter(study=study).values_list("pk", flat=True))


def lock_for_settling(*, study: Study, hits: Collection[int]) -> None:
    """Lock the candidate pairs of these HITs, if the study stops early. Call it before locking the HITs."""
    if stops_early(study):
        hit_units = HITUnit.objects.filter(hit__in=hits, unit__control=False, unit__pair__isnull=False)
        _lock_pairs(set(hit_units.values_list("unit__pair_id", flat=True)))


@transaction.atomic
def update_outcomes(*, study: Study, hits: Iterable[int]) -> None:
    """Update outcome bounds and slots of these HITs, after their judgments or slots changed."""
    if not stops_early(study):
        return
    design = design_of(study)
    batches = [_hit_units_of(batch) for batch in batched(sorted(set(hits)), HITS_PER_BATCH)]
    # lock the pairs of all batches before the first HIT
    _lock_pairs(_judged_pairs(chain.from_iterable(batches)))
    for hit_units in batches:
        slots = _LockedSlots.lock(hit_units)
        bounds = _update_bounds(study, design, slots)
        changed_hits = _update_by_pairs(design, _judged_pairs(hit_units))
        if changed_hits:  # a pair was decided or reopened, which concerns other HITs, too
            slots = _LockedSlots.lock([*hit_units, *_hit_units_of(changed_hits - slots.hits.keys())])
            bounds = list(
                OutcomeBounds.objects.filter(pk__in=[hit_unit.unit for hit_unit in slots.hit_units])
            )
        given_votes = {outcome.pk: outcome.cast for outcome in bounds if not outcome.done}
        _set_slots(design, slots, given_votes)


def reopen_slots(*, study: Study, counts_by_hit: Mapping[int, int]) -> None:
    """Reopen slots, in the transaction that ended their assignments.

    Args:
        counts_by_hit: the number of slots to reopen, by HIT row id.
    """
    if stops_early(study):
        update_outcomes(study=study, hits=counts_by_hit)
        return
    for slot_count in set(counts_by_hit.values()):  # one statement for all HITs with the same number
        hits = [hit for hit, hit_slots in counts_by_hit.items() if hit_slots == slot_count]
        HIT.objects.filter(pk__in=hits).update(open_slots=F("open_slots") + slot_count)


_TAKEN_SLOTS: PreparedQuery[int] = PreparedQuery(
    lambda: (
        Assignment.objects.filter(hit=query_parameter("hit"), state__in=LIVE_STATES)
        .order_by()
        .values_list("slot", flat=True)
    )
)


def free_slot(hit_id: int) -> int:
    """Return the lowest number of a slot that no live assignment of the HIT has."""
    taken_slots = set(_TAKEN_SLOTS.all_rows(hit=hit_id))
    slot = 0
    while slot in taken_slots:
        slot += 1
    return slot


def decided_units(hit_id: int, units: Sequence[Unit]) -> frozenset[int]:
    """Return the ids of the HIT's units that need no more judgments, and of their repetitions."""
    # ``places`` of a unit are its rows of ``HITUnit``, one for each HIT that shows it
    decided_bounds = OutcomeBounds.objects.filter(unit__places__hit=hit_id, done=True)
    decided_ids = set(decided_bounds.values_list("pk", flat=True))
    decided_keys = {unit.key for unit in units if unit.pk in decided_ids}
    repetition_ids = {
        unit.pk for unit in units if unit.control and unit.content.get(ORIGINAL_UNIT) in decided_keys
    }
    return frozenset(decided_ids | repetition_ids)


def count_leases_by_hit(hits: Collection[int]) -> Counter[int]:
    """Return the number of assignments in progress, by HIT row id."""
    rows = Assignment.objects.filter(hit__in=hits, state__in=LEASED_STATES).order_by()
    return Counter(dict(rows.values_list("hit_id").annotate(count=Count("pk"))))


@dataclass(frozen=True, slots=True)
class _HitUnit:
    """The row ids of a HIT, one of its units and the unit's candidate pair.

    ``is_judged`` is false for control items, whose answers are known.
    """

    hit: int
    unit: int
    pair: int | None
    is_judged: bool


def _hit_units_of(hits: Collection[int]) -> list[_HitUnit]:
    """Return the units of these HITs, sorted by HIT and position."""
    rows = HITUnit.objects.filter(hit__in=hits).order_by("hit_id", "position")
    return [
        _HitUnit(hit, unit, pair, is_judged=not control)
        for hit, unit, pair, control in rows.values_list(
            "hit_id", "unit_id", "unit__pair_id", "unit__control"
        )
    ]


def _judged_pairs(hit_units: Iterable[_HitUnit]) -> set[int]:
    return {hit_unit.pair for hit_unit in hit_units if hit_unit.pair and hit_unit.is_judged}


@dataclass(frozen=True, slots=True)
class _LockedSlots:
    """Locked HITs, and the numbers of the assignments that take their slots.

    Attributes:
        hits: the HITs by row id.
        live_counts: the number of live assignments by HIT row id.
        pending_counts: the number of assignments in progress that show a unit, by unit row id.
    """

    hit_units: list[_HitUnit]
    hits: Mapping[int, HIT]
    live_counts: Counter[int]
    pending_counts: Counter[int]

    @classmethod
    def lock(cls, hit_units: list[_HitUnit]) -> _LockedSlots:
        """Lock the HITs of these units, and count their assignments."""
        units_by_hit: defaultdict[int, list[int]] = defaultdict(list)
        for hit_unit in hit_units:
            units_by_hit[hit_unit.hit].append(hit_unit.unit)
        rows = HIT.objects.filter(pk__in=units_by_hit).order_by("pk").select_for_update(no_key=True)
        hits = {hit.pk: hit for hit in rows}
        live_counts: Counter[int] = Counter()
        pending_counts: Counter[int] = Counter()
        live_assignments = Assignment.objects.filter(hit__in=units_by_hit, state__in=LIVE_STATES)
        for hit, state, order in live_assignments.values_list("hit_id", "state", "order"):
            assert hit is not None  # it is a key of ``units_by_hit``
            live_counts[hit] += 1
            if state in LEASED_STATES:
                units = units_by_hit[hit]
                shown_indices = order or range(len(units))  # ``order`` is empty, or leaves out decided units
                pending_counts.update(units[index] for index in shown_indices)
        return cls(hit_units, hits, live_counts, pending_counts)


def _lock_pairs(pairs: Collection[int]) -> None:
    """Lock pairs, so that submissions for one pair wait for each other.

    SQLite needs no lock, since it has only one writer.
    """
    if not pairs or not connection.features.has_select_for_update:
        return
    rows = CandidatePair.objects.filter(pk__in=pairs).order_by("pk")
    list(rows.select_for_update(no_key=True).values_list("pk", flat=True))


def _update_bounds(study: Study, design: StudyDesign, slots: _LockedSlots) -> list[OutcomeBounds]:
    """Update the bounds of each judged unit, and return them. Only changed rows are written."""
    kind = KINDS[study.protocol].for_design(design)
    votes_wanted = _votes_wanted(design, slots)
    units = {hit_unit.unit for hit_unit in slots.hit_units if hit_unit.is_judged}
    paired_units = {hit_unit.unit for hit_unit in slots.hit_units if hit_unit.pair}
    vote_counts, values_by_unit = _votes_of(study, design, units)
    bounds = list(OutcomeBounds.objects.filter(pk__in=units))
    changed_bounds = []
    for outcome in bounds:
        unit = outcome.pk
        # votes that may still come: those asked for, or those of assignments in progress if these are more
        remaining_votes = max(votes_wanted[unit] - vote_counts[unit], slots.pending_counts[unit], 0)
        low, high = outcome_bounds(kind, design.stopping, values_by_unit[unit], remaining_votes)
        is_done = vote_counts[unit] >= votes_wanted[unit]
        if not outcome.full_depth:
            # the decision of the pair holds until the pair is updated
            is_done = is_done or low == high or (outcome.done and unit in paired_units)
        if (vote_counts[unit], low, high, is_done) != (outcome.cast, outcome.low, outcome.high, outcome.done):
            outcome.cast = vote_counts[unit]
            outcome.low = low
            outcome.high = high
            outcome.done = is_done
            changed_bounds.append(outcome)
    _write_bounds(changed_bounds)
    return bounds


def _votes_of(
    study: Study, design: StudyDesign, units: Collection[int]
) -> tuple[Counter[int], defaultdict[int, list[float]]]:
    """Return the number of votes of each unit, and the values that are used, by unit row id.

    Answers without a value, and those of workers who fail control items, count as votes, but their values are not used.
    """
    judgments = Judgment.objects.current().filter(unit__in=units)
    votes = list(judgments.values_list("unit_id", "value", "assignment__worker_id"))
    unused_workers = _workers_not_used(study, design, {worker for _unit, _value, worker in votes})
    vote_counts: Counter[int] = Counter()
    values_by_unit: defaultdict[int, list[float]] = defaultdict(list)
    for unit, value, worker in votes:
        vote_counts[unit] += 1
        if worker not in unused_workers and value is not None:
            values_by_unit[unit].append(value)
    return vote_counts, values_by_unit


def _votes_wanted(design: StudyDesign, slots: _LockedSlots) -> dict[int, int]:
    """Return the wanted judgments of each unit, by unit row id: the design's, and those added later (``extra``)."""
    return {
        hit_unit.unit: design.judgments_per_unit + slots.hits[hit_unit.hit].extra
        for hit_unit in slots.hit_units
    }


def _write_bounds(bounds: Collection[OutcomeBounds]) -> None:
    """Store the bounds, with one statement for all units that have the same values."""
    units_by_values: defaultdict[tuple[int, int, int, bool], list[int]] = defaultdict(list)
    for outcome in bounds:
        units_by_values[outcome.cast, outcome.low, outcome.high, outcome.done].append(outcome.pk)
    for (cast, low, high, done), units in units_by_values.items():
        OutcomeBounds.objects.filter(pk__in=units).update(cast=cast, low=low, high=high, done=done)


def _workers_not_used(study: Study, design: StudyDesign, workers: Collection[int]) -> set[int]:
    """Return those of the workers whose answers are not used because of their accuracy on control items."""
    if not workers or not design.controls.per_hit:
        return set()
    records = _control_records(study, design, control_answers(study, workers=workers))
    return {worker for worker, record in records.items() if not record.is_used}


def _changed_use_of_answers(assignment: Assignment) -> bool:
    """Return whether the control items of this assignment changed whether the worker's answers are used.

    The answers of a worker who has not seen any control item are used.
    """
    study = assignment.study
    design = design_of(assignment.study)
    worker = assignment.worker_id
    if not design.controls.per_hit:
        return False
    answers = control_answers(study, workers=[worker])
    earlier_answers = [answer for answer in answers if answer.assignment != assignment.pk]
    record = _control_records(study, design, answers).get(worker)
    earlier_record = _control_records(study, design, earlier_answers).get(worker)
    is_used = record is None or record.is_used
    was_used = earlier_record is None or earlier_record.is_used
    return is_used != was_used


def _control_records(
    study: Study, design: StudyDesign, answers: Iterable[ControlAnswer]
) -> dict[int, ControlRecord]:
    return control_records(answers, rule=design.controls, kind=kind_of(study))


def _update_by_pairs(design: StudyDesign, pairs: Collection[int]) -> set[int]:
    """Mark the units of decided pairs as done, and undo it if a pair is undecided again.

    A pair compares two candidates by several triplets, which are its units. Return the row ids of the HITs that show a
    changed unit.
    """
    if not pairs:
        return set()
    sums_by_pair = OutcomeBounds.objects.filter(unit__pair__in=pairs).order_by().values_list("unit__pair")
    decided_pairs: list[int] = []
    undecided_pairs: list[int] = []
    for pair, low_sum, high_sum in sums_by_pair.annotate(low_sum=Sum("low"), high_sum=Sum("high")):
        # the sign of the sum of its triplets decides a pair; a tie is decided when every triplet is decided
        if low_sum > 0 or high_sum < 0 or low_sum == high_sum:
            decided_pairs.append(pair)
        else:
            undecided_pairs.append(pair)
    # units of undecided pairs are reopened if their own outcome is open and they lack votes
    is_newly_decided = Q(unit__pair__in=decided_pairs, done=False, full_depth=False)
    is_reopened = Q(
        unit__pair__in=undecided_pairs,
        done=True,
        full_depth=False,
        low__lt=F("high"),
        cast__lt=design.judgments_per_unit + F("unit__places__hit__extra"),
    )
    changed_bounds = OutcomeBounds.objects.filter(is_newly_decided | is_reopened)
    was_done_by_unit = dict(changed_bounds.values_list("pk", "done"))
    for was_done in set(was_done_by_unit.values()):
        units = [unit for unit, unit_was_done in was_done_by_unit.items() if unit_was_done == was_done]
        OutcomeBounds.objects.filter(pk__in=units).update(done=not was_done)
    if not was_done_by_unit:
        return set()
    return set(HITUnit.objects.filter(unit__in=was_done_by_unit).values_list("hit_id", flat=True))


def _set_slots(design: StudyDesign, slots: _LockedSlots, given_votes: Mapping[int, int]) -> None:
    """Set the open and saved slots of HITs.

    Args:
        given_votes: the number of judgments so far of each unit that needs more, by unit row id.
    """
    # a HIT needs as many assignments as its unit with the most missing votes
    votes_wanted = _votes_wanted(design, slots)
    missing_votes: defaultdict[int, int] = defaultdict(int)
    for hit_unit in slots.hit_units:
        if hit_unit.unit in given_votes:
            missing_count = (
                votes_wanted[hit_unit.unit] - given_votes[hit_unit.unit] - slots.pending_counts[hit_unit.unit]
            )
            missing_votes[hit_unit.hit] = max(missing_votes[hit_unit.hit], missing_count)
    # one statement for all HITs that get the same numbers; HITs whose numbers stay are left out
    hits_by_slots: defaultdict[tuple[int, int, int], list[int]] = defaultdict(list)
    for hit in slots.hits.values():
        live_count = slots.live_counts[hit.pk]
        open_slots = missing_votes[hit.pk]
        required = max(hit.required, live_count + open_slots)
        spared = required - live_count - open_slots
        if (open_slots, required, spared) != (hit.open_slots, hit.required, hit.spared):
            hits_by_slots[open_slots, required, spared].append(hit.pk)
    for (open_slots, required, spared), hits in hits_by_slots.items():
        HIT.objects.filter(pk__in=hits).update(open_slots=open_slots, required=required, spared=spared)
