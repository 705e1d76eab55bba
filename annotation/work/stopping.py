"""Asking no more where the outcome is settled, and asking again where it no longer is (docs/stopping.md).

Whatever adds, revises, or takes away judgments or seats of a study that stops early calls ``settle_hits``,
``settle_submission`` or ``reopen_slots`` in its own transaction. It brings the outlooks of the units up to date,
follows them through their candidate pairs, and says of each HIT concerned how many more seats it is to offer:

    open slots = the most votes that one of its units still wants and no copy in work will bring
    live assignments + open slots + spared slots = required

So slots are given up when all is settled and come back when it is not, and a HIT asks for a worker more than planned
only where a copy that left a unit out took the seat that the unit now needs. Locks are taken in the order assignments,
pairs, HITs, each by row id: nobody waits in a circle.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db import connection, transaction
from django.db.models import Count, F, Q, Sum

from annotation.models import Assignment, Judgment
from annotation.models.assignments import LIVE
from annotation.quality.controls import ControlAnswer, ControlRecord, control_answers, control_records
from common.streams import batched
from judgments.design.study_design import StudyDesign
from judgments.drawing.controls import REPEATS
from judgments.drawing.stopping import stops_early, unit_range
from judgments.kinds import KINDS
from judgments.models import HIT, CandidatePair, HITUnit, Outlook, Study, Unit
from judgments.studies.studies import design_of

IN_WORK = (Assignment.State.RESERVED, Assignment.State.ACCEPTED)
HITS_AT_ONCE = 200


def settle_submission(*, assignment: Assignment, revised: bool = False) -> None:
    """After judgments of ``assignment`` were stored; in the transaction that stored them.

    Where they changed whether the worker's judgments are used at all, everything the worker did is looked at again.
    """
    study = assignment.study
    if not stops_early(study) or assignment.hit_id is None:
        return
    hits = {assignment.hit_id}
    if revised or _changed_use(assignment):
        own = Assignment.objects.filter(study=study, worker=assignment.worker_id).finished()
        hits |= set(own.exclude(hit=None).values_list("hit_id", flat=True))
    settle_hits(study=study, hits=hits)


def settle_study(*, study: Study) -> None:
    """Look at every HIT again, as after control items were struck, which may change whose judgments are used."""
    if stops_early(study):
        settle_hits(study=study, hits=HIT.objects.filter(study=study).values_list("pk", flat=True))


def lock_for_settling(*, study: Study, hits: Collection[int]) -> None:
    """Before whoever is going to call ``settle_hits`` for these HITs locks or changes one of their rows: pairs come
    before HITs. Nothing where the study does not stop early."""
    if stops_early(study):
        units = HITUnit.objects.filter(hit__in=hits, unit__control=False, unit__pair__isnull=False)
        _lock_pairs(set(units.values_list("unit__pair_id", flat=True)))


@transaction.atomic
def settle_hits(*, study: Study, hits: Iterable[int]) -> None:
    """Bring outlooks and slots up to date after judgments or seats of these HITs changed."""
    if not stops_early(study):
        return
    design = design_of(study)
    parts = [_places_of(batch) for batch in batched(sorted(set(hits)), HITS_AT_ONCE)]
    _lock_pairs({place.pair for places in parts for place in places if place.pair and place.judged})
    for places in parts:
        seats = _Seats.of(places)
        outlooks = _look_again(study, design, seats)
        others = _follow_pairs(design, {place.pair for place in places if place.pair and place.judged})
        if others:  # a pair was settled, or is open again
            seats = _Seats.of([*places, *_places_of(others - seats.hits.keys())])
            outlooks = list(Outlook.objects.filter(pk__in=[place.unit for place in seats.places]))
        _set_slots(design, seats, {one.pk: one.cast for one in outlooks if not one.done})


def reopen_slots(*, study: Study, freed: Mapping[int, int]) -> None:
    """Give back seats that assignments left, HIT -> how many, in the transaction that ended them."""
    if stops_early(study):
        settle_hits(study=study, hits=freed)
        return
    for slots in set(freed.values()):
        same = [hit for hit, count in freed.items() if count == slots]
        HIT.objects.filter(pk__in=same).update(open_slots=F("open_slots") + slots)


def settled_units(hit_id: int, units: Sequence[Unit]) -> frozenset[int]:
    """Row ids of those of a HIT's ``units`` that want no more judgments, and of their repetitions."""
    done = set(Outlook.objects.filter(unit__places__hit=hit_id, done=True).values_list("pk", flat=True))
    keys = {unit.key for unit in units if unit.pk in done}
    again = {unit.pk for unit in units if unit.control and unit.content.get(REPEATS) in keys}
    return frozenset(done | again)


def in_work_by_hit(hits: Collection[int]) -> Counter[int]:
    """HIT -> how many copies of it are being worked on."""
    rows = Assignment.objects.filter(hit__in=hits, state__in=IN_WORK).order_by()
    return Counter(dict(rows.values_list("hit_id").annotate(count=Count("pk"))))


@dataclass(frozen=True, slots=True)
class _Place:
    """A unit in a HIT, its pair, and whether it is judged; control items are not."""

    hit: int
    unit: int
    pair: int | None
    judged: bool


def _places_of(hits: Collection[int]) -> list[_Place]:
    rows = HITUnit.objects.filter(hit__in=hits).order_by("hit_id", "position")
    return [
        _Place(hit, unit, pair, not control)
        for hit, unit, pair, control in rows.values_list(
            "hit_id", "unit_id", "unit__pair_id", "unit__control"
        )
    ]


@dataclass(frozen=True, slots=True)
class _Seats:
    """HITs, locked, and what the copies of them that are in work will bring.

    Attributes:
        places: their places, HIT by HIT in order.
        hits: the rows by id.
        live: HIT -> live assignments.
        coming: unit -> how many copies in work show it.
    """

    places: list[_Place]
    hits: Mapping[int, HIT]
    live: Counter[int]
    coming: Counter[int]

    @classmethod
    def of(cls, places: list[_Place]) -> _Seats:
        """In two queries."""
        units: defaultdict[int, list[int]] = defaultdict(list)
        for place in places:
            units[place.hit].append(place.unit)
        rows = HIT.objects.filter(pk__in=units).order_by("pk").select_for_update(no_key=True)
        hits = {hit.pk: hit for hit in rows}
        live: Counter[int] = Counter()
        coming: Counter[int] = Counter()
        copies = Assignment.objects.filter(hit__in=units, state__in=LIVE)
        for hit, state, order in copies.values_list("hit_id", "state", "order"):
            assert hit is not None  # it is one of ``units``
            live[hit] += 1
            if state in IN_WORK:
                coming.update(units[hit][index] for index in order or range(len(units[hit])))
        return cls(places, hits, live, coming)


def _lock_pairs(pairs: Collection[int]) -> None:
    """Two submissions that concern one pair follow one another; SQLite lets one write at a time anyway."""
    if not pairs or not connection.features.has_select_for_update:
        return
    rows = CandidatePair.objects.filter(pk__in=pairs).order_by("pk")
    list(rows.select_for_update(no_key=True).values_list("pk", flat=True))


def _look_again(study: Study, design: StudyDesign, seats: _Seats) -> list[Outlook]:
    """The outlook of each judged unit in the HITs, from its judgments; rows that do not change are left alone."""
    kind = KINDS[study.protocol]
    wanted = _wanted_of(design, seats)
    units = {place.unit for place in seats.places if place.judged}
    in_pairs = {place.unit for place in seats.places if place.pair}
    rows = list(
        Judgment.objects.current()
        .filter(unit__in=units)
        .values_list("unit_id", "value", "assignment__worker_id")
    )
    unused = _unused_workers(study, design, {worker for _, _, worker in rows})
    cast = Counter(unit for unit, _, _ in rows)
    used: defaultdict[int, list[int]] = defaultdict(list)
    for unit, value, worker in rows:
        if worker not in unused and value is not None:
            used[unit].append(value)
    outlooks, changed = list(Outlook.objects.filter(pk__in=units)), []
    for outlook in outlooks:
        unit = outlook.pk
        remaining = max(wanted[unit] - cast[unit], seats.coming[unit], 0)
        low, high = unit_range(kind, design.stopping, used[unit], remaining)
        done = cast[unit] >= wanted[unit]
        if not outlook.full_depth:
            # what its pair made of a unit stands until the pair is asked
            done = done or low == high or (outlook.done and unit in in_pairs)
        if (cast[unit], low, high, done) != (outlook.cast, outlook.low, outlook.high, outlook.done):
            outlook.cast, outlook.low, outlook.high, outlook.done = cast[unit], low, high, done
            changed.append(outlook)
    _store(changed)
    return outlooks


def _wanted_of(design: StudyDesign, seats: _Seats) -> dict[int, int]:
    """Unit -> how many judgments it is to get at full depth: what the design says, and what was added since."""
    return {place.unit: design.judgments_per_unit + seats.hits[place.hit].extra for place in seats.places}


def _store(outlooks: Collection[Outlook]) -> None:
    """One statement for each value that rows come to share, and there are few."""
    alike: defaultdict[tuple[int, int, int, bool], list[int]] = defaultdict(list)
    for one in outlooks:
        alike[one.cast, one.low, one.high, one.done].append(one.pk)
    for (cast, low, high, done), units in alike.items():
        Outlook.objects.filter(pk__in=units).update(cast=cast, low=low, high=high, done=done)


def _unused_workers(study: Study, design: StudyDesign, workers: Collection[int]) -> set[int]:
    """Those of ``workers`` whose judgments the control rule sets aside."""
    if not workers or not design.controls.per_hit:
        return set()
    records = _records(study, design, control_answers(study, workers=workers))
    return {worker for worker, record in records.items() if not record.used}


def _changed_use(assignment: Assignment) -> bool:
    """Whether the control items of this assignment changed if its worker's judgments are used."""
    study, design, worker = assignment.study, design_of(assignment.study), assignment.worker_id
    if not design.controls.per_hit:
        return False
    answers = control_answers(study, workers=[worker])
    now = _records(study, design, answers).get(worker)
    before = _records(study, design, [one for one in answers if one.assignment != assignment.pk]).get(worker)
    return (now is None or now.used) != (before is None or before.used)


def _records(study: Study, design: StudyDesign, answers: Iterable[ControlAnswer]) -> dict[int, ControlRecord]:
    return control_records(
        answers,
        threshold=design.controls.threshold,
        is_right=KINDS[study.protocol].is_right,
    )


def _follow_pairs(design: StudyDesign, pairs: Collection[int]) -> set[int]:
    """Units of settled pairs want no more judgments, those of pairs that are open again do; returns their HITs."""
    if not pairs:
        return set()
    sums = Outlook.objects.filter(unit__pair__in=pairs).order_by().values_list("unit__pair")
    settled: list[int] = []
    unsettled: list[int] = []
    for pair, low, high in sums.annotate(low_sum=Sum("low"), high_sum=Sum("high")):
        # a tie is settled once every triplet is
        (settled if low > 0 or high < 0 or low == high else unsettled).append(pair)
    ending = Q(unit__pair__in=settled, done=False, full_depth=False)
    reviving = Q(
        unit__pair__in=unsettled,
        done=True,
        full_depth=False,
        low__lt=F("high"),
        cast__lt=design.judgments_per_unit + F("unit__places__hit__extra"),
    )
    changed = dict(Outlook.objects.filter(ending | reviving).values_list("pk", "done"))
    for done in set(changed.values()):
        same = [unit for unit, was in changed.items() if was == done]
        Outlook.objects.filter(pk__in=same).update(done=not done)
    return (
        set(HITUnit.objects.filter(unit__in=changed).values_list("hit_id", flat=True)) if changed else set()
    )


def _set_slots(design: StudyDesign, seats: _Seats, wanting: Mapping[int, int]) -> None:
    """How many seats each HIT still offers; the rest of what it asked for is spared.

    Args:
        wanting: unit that wants more judgments -> how many it has.
    """
    wanted = _wanted_of(design, seats)
    missing: defaultdict[int, int] = defaultdict(int)
    for place in seats.places:
        if place.unit in wanting:
            lacking = wanted[place.unit] - wanting[place.unit] - seats.coming[place.unit]
            missing[place.hit] = max(missing[place.hit], lacking)
    alike: defaultdict[tuple[int, int, int], list[int]] = defaultdict(list)
    for hit in seats.hits.values():
        live, open_slots = seats.live[hit.pk], missing[hit.pk]
        required = max(hit.required, live + open_slots)
        spared = required - live - open_slots
        if (open_slots, required, spared) != (hit.open_slots, hit.required, hit.spared):
            alike[open_slots, required, spared].append(hit.pk)
    for (open_slots, required, spared), same in alike.items():
        HIT.objects.filter(pk__in=same).update(open_slots=open_slots, required=required, spared=spared)
