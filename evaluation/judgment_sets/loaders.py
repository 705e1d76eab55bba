"""Load stored judgments as arrays and records.

Order is by unit, then worker name, equal on every database whatever its row ids and collation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from django.db.models import Case, Count, Exists, F, FloatField, OuterRef, QuerySet, Value, When
from django.db.models.functions import Coalesce

from annotation.crowds import Ability, backend_of
from annotation.models import Adjudication, Assignment, Judgment, Worker
from annotation.quality.controls import ControlRecord, control_tallies, tallied_records, tallies_at
from annotation.snapshots import Snapshot
from common.rows import columns_of, plain_rows
from evaluation.judgment_sets.records import (
    Decision,
    Flags,
    Floats,
    Ints,
    JudgmentTable,
    PairRow,
    UnitRow,
    WorkerRow,
)
from evaluation.models import Analysis, Consensus, MetricScore
from evaluation.provenance import DataHash
from judgments.drawing.stopping import stops_early
from judgments.kinds import KINDS, IncludedJudgment
from judgments.models import CandidatePair, Caption, Item, OutcomeBounds, Study, Unit
from judgments.studies.studies import design_of

ROWS_AT_ONCE = 2_000
FIRST_LEFT, SECOND_LEFT = 1, 2
SET_ASIDE, OPEN = 3, 6  # beside the side, in one number
NO_VALUE = -1e9


def worker_rows(study: Study) -> list[WorkerRow]:
    finished = Assignment.objects.filter(study=study).finished()
    simulated = Exists(finished.filter(simulated=True, worker=OuterRef("pk")))
    rows = Worker.objects.filter(pk__in=finished.values("worker")).annotate(made_up=simulated)
    found = [WorkerRow(*row) for row in rows.values_list("pk", "name", "anonymous", "made_up")]
    return sorted(found, key=lambda row: (row.name, row.pk))


def control_records_of(study: Study, *, moment: Snapshot | None = None) -> dict[int, ControlRecord]:
    """Return worker -> results on control items. Imports state per judgment whether it is used."""
    imported = study.source == Study.Source.IMPORTED
    threshold = 0.0 if imported else design_of(study).controls.threshold
    is_right = KINDS[study.protocol].is_right
    tallies = control_tallies(study) if moment is None else tallies_at(study, moment)
    return tallied_records(tallies, threshold=threshold, is_right=is_right)


def excluded_workers(study: Study, *, moment: Snapshot | None = None) -> frozenset[int]:
    records = control_records_of(study, moment=moment)
    return frozenset(worker for worker, record in records.items() if not record.used)


def unconfirmed_work(study: Study) -> QuerySet[Assignment]:
    """Return paid work that the crowd has not named (yet).

    Anyone can open a page with made-up ids, so such answers count only after confirmation.
    """
    if not study.place or Ability.LIST not in backend_of(study).can:
        return Assignment.objects.none()
    return Assignment.objects.filter(study=study, session__confirmed=False)


def by_unit_and_name(rows: Iterator[tuple[Any, ...]], *, unit: int, worker: int) -> Iterator[tuple[Any, ...]]:
    """Sort ``rows`` by unit and worker name, in Python because database collations differ."""
    for _, group in groupby(rows, key=itemgetter(unit)):
        yield from sorted(group, key=itemgetter(worker))


def load_judgments(
    study: Study, *, newest: int | None = None, unused: Collection[int] | None = None
) -> JudgmentTable:
    """Load all judgments of ``study``: a million take two seconds.

    Args:
        newest: last row id to include.
        unused: row ids of workers excluded by the control rule, if known.
    """
    pk, unit, worker, value, seconds, side, aside, is_open = _columns(study, newest)
    names = dict(
        Worker.objects.filter(pk__in=Assignment.objects.filter(study=study).values("worker")).values_list(
            "pk", "name"
        )
    )
    # Sorted here by name: database collations differ.
    people = np.array(sorted(names, key=lambda one: names[one]), dtype=np.int64)
    units = list(
        plain_rows(
            Unit.objects.filter(study=study)
            .order_by("position", "pk")
            .values_list("pk", "key", "control", "withdrawn")
        )
    )
    place, person = (
        _places(np.array([row[0] for row in units], dtype=np.int64), unit),
        _places(people, worker),
    )
    order = np.lexsort((pk, place * len(people) + person))
    pk, unit, worker, value, seconds = pk[order], unit[order], worker[order], value[order], seconds[order]
    place, person, side, is_open = place[order], person[order], side[order], is_open[order]
    out = np.array(sorted(excluded_workers(study) if unused is None else unused), dtype=np.int64)
    used = ~aside[order] & ~np.array([bool(row[3]) for row in units], dtype=bool)[place]
    used &= ~np.isin(worker, out) & ~np.isin(pk, _of_unnamed_work(study))
    answers = _open_answers(study, newest) if is_open.any() else {}
    answer = [answers.get(one) for one in pk.tolist()] if answers else [None] * len(pk)
    return JudgmentTable(
        pk=pk,
        unit=unit,
        worker=worker,
        value=value,
        answer=tuple(answer),
        control=np.array([bool(row[2]) for row in units], dtype=bool)[place],
        used=used,
        left=(side > 0) & (value == side),
        sided=side > 0,
        seconds=seconds,
        data_hash=_hashed(
            [row[1] for row in units],
            [names[one] for one in people.tolist()],
            place,
            person,
            value,
            answer,
            used,
        ),
    )


def _columns(study: Study, newest: int | None) -> tuple[Any, ...]:
    """Return unordered (N,) columns.

    Row ids of judgment, unit and worker, value and seconds (or nan), the option on the left (0: none),
    whether it is excluded, and whether the answer is open.
    """
    rows = Judgment.objects.current().filter(assignment__study=study)
    if newest is not None:
        rows = rows.filter(pk__lte=newest)
    flags = (
        Case(When(presented="", then=0), When(presented="first-left", then=FIRST_LEFT), default=SECOND_LEFT)
        + Case(When(set_aside=True, then=SET_ASIDE), default=0)
        + Case(When(answer__isnull=False, then=OPEN), default=0)
    )
    columns = columns_of(
        rows.order_by().values_list(
            F("pk"),
            F("unit_id"),
            F("assignment__worker_id"),
            Coalesce(F("value"), Value(NO_VALUE), output_field=FloatField()),
            Coalesce(F("seconds"), Value(-1.0)),
            flags,
        ),
        6,
    )
    pk, unit, worker, flag = (columns[at].astype(np.int64) for at in (0, 1, 2, 5))
    value, seconds = columns[3], columns[4]
    value[value == NO_VALUE] = np.nan
    seconds[seconds < 0] = np.nan
    return pk, unit, worker, value, seconds, flag % SET_ASIDE, flag // SET_ASIDE % 2 > 0, flag >= OPEN


def _places(known: Ints, wanted: Ints) -> Ints:
    """Return positions of ``wanted`` in ``known``; all must occur."""
    order = np.argsort(known)
    found = order[np.searchsorted(known, wanted, sorter=order)] if len(wanted) else wanted
    assert (known[found] == wanted).all(), "judgments are of the study's own units and workers"
    return found


def _of_unnamed_work(study: Study) -> Ints:
    rows = Judgment.objects.filter(assignment__in=unconfirmed_work(study).values("pk"))
    return np.array(list(rows.values_list("pk", flat=True)), dtype=np.int64)


def _open_answers(study: Study, newest: int | None) -> dict[int, Any]:
    rows = Judgment.objects.current().filter(assignment__study=study, answer__isnull=False)
    if newest is not None:
        rows = rows.filter(pk__lte=newest)
    return dict(rows.order_by().values_list("pk", "answer").iterator(ROWS_AT_ONCE))


def _hashed(
    units: list[str],
    names: list[str],
    place: Ints,
    person: Ints,
    value: Floats,
    answer: Sequence[Any],
    used: Flags,
) -> str:
    known, code = np.unique(value, return_inverse=True)
    answers: list[Any] = [None if np.isnan(one) else int(one) for one in known.tolist()]
    given = [row for row, one in enumerate(answer) if one is not None]
    code[given] = len(answers) + np.arange(len(given))
    data_hash = DataHash()
    data_hash.add_coded(
        units,
        names,
        [*answers, *(answer[row] for row in given)],
        (place, person, code, used.astype(np.int64)),
    )
    return data_hash.hexdigest()


def counted_answers(
    study: Study, moment: Snapshot, *, units: Sequence[int] | None = None
) -> Iterator[tuple[int, list[Any]]]:
    """Yield (unit row id, answers included at ``moment`` by worker name), in unit order.

    Control items are omitted; a unit without included answers has an empty list, or is missing. ``units``
    are row ids.
    """
    rows = (
        moment.judgments(study, units=units)
        .filter(unit__control=False, set_aside=False)
        .order_by("unit__position", "unit_id", "pk")
        .values_list(
            "unit_id", "assignment__worker__name", "assignment__worker_id", "assignment_id", "value", "answer"
        )
    )
    for unit, group in groupby(
        by_unit_and_name(rows.iterator(ROWS_AT_ONCE), unit=0, worker=1), key=itemgetter(0)
    ):
        yield (
            unit,
            [
                value if answer is None else answer
                for _, _, worker, assignment, value, answer in group
                if moment.counts(assignment, worker)
            ],
        )


def judged_answers(study: Study, table: JudgmentTable) -> list[IncludedJudgment]:
    counted = table.counted
    units = {
        unit.pk: unit
        for unit in Unit.objects.filter(study=study, control=False)
        .select_related("item", "reference", "first", "second")
        .iterator(ROWS_AT_ONCE)
    }
    rows = zip(
        table.unit[counted].tolist(), table.worker[counted].tolist(), table.given(counted), strict=True
    )
    return [IncludedJudgment(unit=units[unit], worker=worker, given=given) for unit, worker, given in rows]


def work_times(study: Study, workers: Collection[int]) -> dict[int, list[float]]:
    """Return seconds per unit of finished assignments, by wall time.

    It counts all judgments: use it only for workers ``without_times``. Imports without times give none.
    """
    rows = (
        Assignment.objects.filter(study=study, worker__in=workers)
        .finished()
        .annotate(count=Count("judgments"))
        .values_list("worker_id", "accepted_at", "submitted_at", "count")
    )
    times: dict[int, list[float]] = {}
    for worker, accepted, submitted, count in rows.iterator(ROWS_AT_ONCE) if workers else ():
        if count and submitted is not None and submitted > accepted:
            times.setdefault(worker, []).append((submitted - accepted).total_seconds() / count)
    return times


def without_times(table: JudgmentTable, workers: Iterable[WorkerRow]) -> set[int]:
    timed = np.unique(table.worker[~np.isnan(table.seconds)])
    return {worker.pk for worker in workers}.difference(timed.tolist())


def unit_rows(study: Study) -> list[UnitRow]:
    rows = Unit.objects.filter(study=study, control=False).order_by("position", "pk")
    return list(map(UnitRow._make, plain_rows(rows.values_list("pk", "key", "kind", "pair_id"))))


def units_by_filter(study: Study) -> tuple[set[int], set[int]]:
    """Return the judged units that passed the filter, and the audited ones."""
    rows = Unit.objects.filter(study=study, control=False, filtered=False).values_list("pk", "audited")
    found: tuple[set[int], set[int]] = set(), set()
    for pk, audited in rows.iterator(ROWS_AT_ONCE):
        found[audited].add(pk)
    return found


def full_depth_units(study: Study) -> set[int] | None:
    """Return the unstopped sample of units; None without early stopping."""
    if not stops_early(study):
        return None
    return set(OutcomeBounds.objects.filter(unit__study=study, full_depth=True).values_list("pk", flat=True))


def decisions_of(study: Study) -> dict[int, Decision]:
    """Return unit row id -> adjudicated decision, in unit order."""
    rows = Adjudication.objects.filter(study=study, state=Adjudication.State.DECIDED, value__isnull=False)
    names = ("unit_id", "value", "adjudicator__username", "decided_at", "reason", "votes")
    return {
        unit: Decision(value=value, by=by, at=at.isoformat(), reason=reason, votes=votes)
        for unit, value, by, at, reason, votes in rows.order_by("unit__position").values_list(*names)
    }


def pair_rows(study: Study) -> list[PairRow]:
    rows = CandidatePair.objects.filter(study=study).order_by("position", "pk")
    names = ("pk", "key", "kind", "first__key", "second__key", "published_winner")
    return [PairRow(*row) for row in rows.values_list(*names).iterator(ROWS_AT_ONCE)]


def systems_of_pairs(study: Study) -> dict[str, tuple[str, str]]:
    """Return pair key -> systems of both captions, or 'people'."""
    rows = CandidatePair.objects.filter(study=study).values_list(
        "key", "first_system__name", "second_system__name"
    )
    return {key: (first or "people", second or "people") for key, first, second in rows}


@dataclass(frozen=True, slots=True)
class ReferenceSet:
    """References of images in the judged splits, in import order.

    Attributes:
        of_item: image row id -> its ordered (key, text) references.
        splits: names; [""] for a dataset without splits.
    """

    of_item: dict[int, list[tuple[str, str]]]
    splits: list[str]

    def documents(self, leading: int | None = None) -> list[Sequence[str]]:
        return [[text for _, text in rows[:leading]] for rows in self.of_item.values()]


def load_references(study: Study) -> ReferenceSet:
    if KINDS[study.protocol].compares_pairs:
        items: Any = CandidatePair.objects.filter(study=study).values_list("item_id")
    else:
        items = Unit.objects.filter(study=study, control=False).values_list("item_id")
    splits = sorted(set(Item.objects.filter(pk__in=items).values_list("split", flat=True)))
    rows = (
        Caption.objects.filter(
            dataset_id=study.dataset_id, role=Caption.Role.REFERENCE, item__split__in=splits
        )
        .order_by("item__position", "position", "pk")
        .values_list("item_id", "key", "text")
    )
    of_item: dict[int, list[tuple[str, str]]] = {}
    for item, key, text in rows.iterator(ROWS_AT_ONCE):
        of_item.setdefault(item, []).append((key, text))
    return ReferenceSet(of_item=of_item, splits=splits)


def pair_texts(study: Study) -> list[tuple[int, str, int, str, str, list[str]]]:
    """Return (row id, kind, image row id, first text, second text, reference keys) of each pair."""
    rows = CandidatePair.objects.filter(study=study).order_by("position", "pk")
    return list(rows.values_list("pk", "kind", "item_id", "first__text", "second__text", "references"))


def caption_units(study: Study) -> list[tuple[int, int, str, str]]:
    """Return (row id, image row id, caption id, caption text) of each judged unit."""
    rows = Unit.objects.filter(study=study, control=False).order_by("position", "pk")
    return list(rows.values_list("pk", "item_id", "first__key", "first__text"))


def metric_outcomes(study: Study) -> tuple[dict[str, Flags], list[str]]:
    """Return whether each metric of the newest meta-evaluation names people's winner, and the pairs' kinds.

    Only pairs with a consensus, in order; a metric's tie is wrong.
    """
    newest = (
        Analysis.objects.filter(study=study, what=Analysis.What.META_EVALUATION)
        .order_by("-created_at", "-pk")
        .first()
    )
    decided = Consensus.objects.filter(study=study, pair__isnull=False, value__isnull=False)
    winners = dict(decided.values_list("pair_id", "value"))
    kinds: dict[int, str] = {}
    right: dict[str, list[bool]] = {}
    rows = MetricScore.objects.filter(analysis=newest, pair__in=decided.values("pair")).order_by(
        "metric", "pair__position"
    )
    names = ("metric", "pair_id", "pair__kind", "first", "second")
    for metric, pair, kind, first, second in rows.values_list(*names).iterator(ROWS_AT_ONCE):
        kinds[pair] = kind
        right.setdefault(metric, []).append(first > second if winners[pair] == 1 else second > first)
    return {metric: np.array(own, dtype=bool) for metric, own in right.items()}, list(kinds.values())
