"""Load a study's judgments, units, pairs, workers and references as arrays and records.

Judgments are ordered by unit, and then by worker name, so the order does not depend on the database.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, starmap
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from annotation.crowds import Ability, backend_of
from annotation.models import Adjudication, Assignment, Judgment, Worker
from annotation.models.assignments import EXCLUDED_STATES
from annotation.quality.controls import (
    ControlRecord,
    ControlTally,
    control_tallies,
    records_from_tallies,
    repeated_tallies,
    tallies_of_snapshot,
)
from annotation.snapshots import Snapshot
from common.rows.reading import columns_of, plain_rows
from evaluation.data.judgment_sets.blocks import OPEN, SET_ASIDE, judgment_columns, unit_columns
from evaluation.data.judgment_sets.data_hash import DataHash
from evaluation.data.judgment_sets.records import Decision, JudgmentTable, PairRow, UnitRow, Units, WorkerRow
from evaluation.data.judgment_sets.tallies import JudgmentTally
from judgments.design.numbers import plain_number
from judgments.design.tables.controls import Controls
from judgments.drawing.controls.makers import REPEATED
from judgments.drawing.documents import document_in, first_of_documents
from judgments.kinds import KINDS, IncludedJudgment
from judgments.models import CandidatePair, Caption, Item, OutcomeBounds, Study, Unit
from judgments.studies.designs import design_of, kind_of, stops_early
from quorum.numeric.arrays import Flags, Floats, Ints, places_in
from quorum.statistics.aggregation.pair_answers import MUCH
from quorum.statistics.inputs import encode
from quorum.statistics.sorting import order_of

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_PER_BATCH = 2_000


def worker_rows(study: Study) -> list[WorkerRow]:
    """Return the workers with finished assignments, sorted by name."""
    finished_work = Assignment.objects.filter(study=study).finished()
    is_simulated = Q(pk__in=finished_work.filter(simulated=True).values("worker"))
    rows = Worker.objects.filter(pk__in=finished_work.values("worker")).annotate(made_up=is_simulated)
    workers = [WorkerRow(*row) for row in rows.values_list("pk", "name", "anonymous", "made_up")]
    return sorted(workers, key=lambda row: (row.name, row.pk))


def is_anonymous(study: Study) -> bool:
    """Return whether some workers are anonymous: an import made their names up, for instance from counts of votes."""
    finished_work = Assignment.objects.filter(study=study, worker=OuterRef("pk")).finished()
    return Worker.objects.filter(Exists(finished_work), anonymous=True).exists()


def control_records_of(study: Study, *, moment: Snapshot | None = None) -> dict[int, ControlRecord]:
    """Return the workers' results on control items, now or at ``moment``, by the worker's row id.

    The results decide which judgments count, except in imports, which state for each judgment whether it is used.
    """
    return _control_records(
        study, control_tallies(study) if moment is None else tallies_of_snapshot(study, moment)
    )


def rule_of_controls(study: Study) -> Controls:
    """Return the study's rule on control items. The rule of an import excludes nobody."""
    return Controls(threshold=0.0) if study.source == Study.Source.IMPORTED else design_of(study).controls


def _control_records(
    study: Study, tallies: list[ControlTally], rule: Controls | None = None
) -> dict[int, ControlRecord]:
    rule = rule or rule_of_controls(study)
    return records_from_tallies(tallies, rule=rule, kind=kind_of(study))


def _tally_controls(study: Study, unit: Ints, worker: Ints, value: Floats) -> list[ControlTally]:
    """Return the number of each worker's equal answers to control items with the same expected answer and kind.

    Args:
        unit, worker: (N,) row ids of the control items and workers of N judgments.
        value: (N,) answers.
    """
    if not len(unit):
        return []
    controls = Unit.objects.filter(study=study, control=True).order_by()
    rows = plain_rows(controls.values_list("pk", "expected", "control_kind"))
    # A type is an expected answer, as JSON text, and a kind of control item. Many control items have the same type.
    type_by_unit = {pk: (expected, kind) for pk, expected, kind in rows}
    types = list(dict.fromkeys(type_by_unit.values()))
    code_by_type = {item_type: code for code, item_type in enumerate(types)}
    code_of_control = np.array(
        [code_by_type[item_type] for item_type in type_by_unit.values()], dtype=np.int64
    )
    type_code = code_of_control[places_in(np.fromiter(type_by_unit, dtype=np.int64), unit)]
    # Count equal combinations of worker, type and answer, which are combined to one number.
    answer_code = np.unique(value, return_inverse=True)[1]
    worker_code = places_in(np.unique(worker), worker)
    combination = (worker_code * len(types) + type_code) * (answer_code.max() + 1) + answer_code
    _, first_rows, counts = np.unique(combination, return_index=True, return_counts=True)
    tallies, has_repeated = [], False
    for row, n in zip(first_rows.tolist(), counts.tolist(), strict=True):
        expected_json, control_kind = types[type_code[row]]
        expected = None if expected_json is None else json.loads(expected_json)
        if control_kind == REPEATED:  # expects the worker's own earlier answer, so it is tallied below
            has_repeated = True
        elif expected is not None:
            tallies.append(
                ControlTally(int(worker[row]), plain_number(value[row]), expected, control_kind, n)
            )
    return [*tallies, *repeated_tallies(study)] if has_repeated else tallies


def workers_below_pass_mark(study: Study, *, moment: Snapshot | None = None) -> frozenset[int]:
    """Return the row ids of the workers who fail the rule on control items, now or at ``moment``.

    Workers whom staff or a detector excluded are not among them, unless they fail it, too.
    """
    records = control_records_of(study, moment=moment)
    return frozenset(worker for worker, record in records.items() if not record.is_used)


def unconfirmed_work(study: Study) -> QuerySet[Assignment]:
    """Return paid work that the crowd platform has not confirmed, or none if the platform cannot list its work.

    Anybody can open a task page with invented ids, so such answers count only after confirmation.
    """
    if not study.platform or Ability.LIST not in backend_of(study).can:
        return Assignment.objects.none()
    return Assignment.objects.filter(study=study, session__confirmed=False)


def sorted_by_unit_and_name(
    rows: Iterator[tuple[Any, ...]], *, unit: int, worker: int
) -> Iterator[tuple[Any, ...]]:
    """Yield ``rows``, which are ordered by unit, sorted by worker name within each unit.

    Names are sorted in Python, because the collations of databases differ. ``unit`` and ``worker`` are the positions
    of the columns with the unit and with the worker's name.
    """
    for _, group in groupby(rows, key=itemgetter(unit)):
        yield from sorted(group, key=itemgetter(worker))


@dataclass(frozen=True, slots=True)
class StudyUnits:
    """All units of a study in order, including control items. ``control`` and ``is_withdrawn`` are (U,) bool."""

    all_units: Units
    control: Flags
    is_withdrawn: Flags

    @property
    def judged_units(self) -> Units:
        return self.all_units.units_at(np.flatnonzero(~self.control))


def study_units(study: Study) -> StudyUnits:
    """Return the units of the study, sorted by position and row id."""
    import pyarrow as pa  # imported late, because it loads slowly

    table = unit_columns(study, ("pk", "key", "kind", "pair", "position", "control"))
    pk, position = table["pk"].to_numpy(), table["position"].to_numpy()
    units, control = Units.of_columns(table), table["control"].to_numpy()
    # The table has the units in the order of row ids, which usually is the order of positions.
    if not ((np.diff(position) > 0) | (np.diff(position) == 0) & (np.diff(pk) > 0)).all():
        order = np.lexsort((pk, position))
        units, control = units.units_at(order), control[order]
    del table
    pa.default_memory_pool().release_unused()
    # Only control items can be withdrawn, and the filter on them uses an index.
    row_ids = Unit.objects.filter(study=study, control=True, withdrawn=True).values_list("pk", flat=True)
    return StudyUnits(units, control, np.isin(units.pk, list(row_ids)))


def load_judgments(
    study: Study,
    *,
    newest: int | None = None,
    units: StudyUnits | None = None,
    rule: Controls | None = None,
) -> JudgmentTable:
    """Return the current judgments of ``study`` (``JudgmentTable``), up to row id ``newest`` if it is given.

    Args:
        units: all units of the study, if they are already loaded.
        rule: rule on control items; by default the study's own.
    """
    units = units or study_units(study)
    columns = judgment_columns(study)
    names = dict(
        Worker.objects.filter(pk__in=Assignment.objects.filter(study=study).values("worker")).values_list(
            "pk", "name"
        )
    )
    # Sort by name in Python, because the collations of databases differ.
    worker_ids = np.array(sorted(names, key=names.__getitem__), dtype=np.int64)
    worker_names = [names[worker_id] for worker_id in worker_ids.tolist()]
    # Leave out judgments that are not current. Columns are deleted as soon as possible, because they can be large.
    is_current = _are_current(study, columns["pk"], columns.pop("replaces"), newest)
    if not is_current.all():
        columns = {name: column[is_current] for name, column in columns.items()}
    del is_current
    if (np.diff(columns["pk"]) < 0).any():  # the next sort keeps this order of a worker's answers to a unit
        by_arrival = np.argsort(columns["pk"])
        columns = {name: column[by_arrival] for name, column in columns.items()}
    unit_index = places_in(units.all_units.pk, columns["unit"])
    worker_index = places_in(worker_ids, columns["worker"])
    assert not (unit_index < 0).any(), "judgments are of the study's own units"
    # Sort by unit and worker name, as one number.
    order = order_of(unit_index * len(worker_ids) + worker_index)
    unit_index, worker_index = unit_index[order], worker_index[order]
    fields = "pk", "unit", "worker", "value", "seconds", "flags"
    pk, unit, worker, value, seconds, flags = (columns.pop(field)[order] for field in fields)
    del order
    # Apply the rule on control items. The sums of flags are explained in blocks.py.
    has_open_answers = (flags >= OPEN).any()
    if has_open_answers:  # `_tally_controls` compares only numbers
        tallies = control_tallies(study)
    else:
        on_controls = np.flatnonzero(units.control[unit_index] & ~units.is_withdrawn[unit_index])
        tallies = _tally_controls(study, unit[on_controls], worker[on_controls], value[on_controls])
    records = _control_records(study, tallies, rule)
    excluded_ids = [worker_id for worker_id, record in records.items() if not record.is_used]
    is_set_aside = flags // SET_ASIDE % 2 == 1
    is_used = ~is_set_aside & ~units.is_withdrawn[unit_index] & ~np.isin(worker, excluded_ids)
    unconfirmed_judgments = Judgment.objects.filter(assignment__in=unconfirmed_work(study).values("pk"))
    is_used &= ~np.isin(pk, list(unconfirmed_judgments.values_list("pk", flat=True)))
    answer: tuple[Any, ...] = ()
    if has_open_answers:
        answers = _open_answers(study, newest)
        answer = tuple(answers.get(judgment) for judgment in pk.tolist())
    # With two candidates, a value of MUCH or more has a strength or confidence, and its last digit is the side.
    has_strength = KINDS[study.protocol].two_sided and (value >= MUCH).any()
    side_or_value = value % MUCH if has_strength else value
    return JudgmentTable(
        pk=pk,
        unit=unit,
        worker=worker,
        value=side_or_value,
        full_value=value,
        answer=answer,
        control=units.control[unit_index],
        used=is_used,
        side=flags % SET_ASIDE,
        seconds=seconds,
        records=records,
        data_hash=_hash_judgments(
            units.all_units.key, worker_names, unit_index, worker_index, value, answer, is_used
        ),
    )


def _are_current(study: Study, pk: Ints, replaces: Ints, newest: int | None) -> Flags:
    """Return (N,) flags of judgments, up to row id ``newest``, that were neither revised nor excluded.

    Work in the state "apart", of which the crowd platform has said that it does not know it, counts as excluded.
    """
    is_stored = np.full(len(pk), True) if newest is None else pk <= newest
    excluded_rows = Judgment.objects.filter(assignment__study=study, assignment__state__in=EXCLUDED_STATES)
    is_unrevised = is_stored & ~np.isin(pk, replaces[is_stored & (replaces > 0)])
    return is_unrevised & ~np.isin(pk, list(excluded_rows.order_by().values_list("pk", flat=True)))


def _open_answers(study: Study, newest: int | None) -> dict[int, Any]:
    """Return the current open answers, up to row id ``newest``, by row id of the judgment."""
    rows = Judgment.objects.current().filter(assignment__study=study, answer__isnull=False)
    if newest is not None:
        rows = rows.filter(pk__lte=newest)
    return dict(rows.order_by().values_list("pk", "answer").iterator(ROWS_PER_BATCH))


def _hash_judgments(
    units: pa.Array,
    workers: list[str],
    unit_index: Ints,
    worker_index: Ints,
    value: Floats,
    answer: Sequence[Any],
    used: Flags,
) -> str:
    """Return the hash of N judgments, sorted by unit and worker name.

    Args:
        units, workers: keys of units, and names of workers.
        unit_index, worker_index: (N,) positions in ``units`` and ``workers``.
        value: (N,) values.
        answer: N open answers or None, or () if no answer is open.
        used: (N,) whether the judgment is used.
    """
    # `encode` is faster, but refuses nan, which is the value of open answers.
    numbers, code = np.unique(value, return_inverse=True) if answer else encode(value)
    answers: list[Any] = [None if np.isnan(number) else plain_number(number) for number in numbers.tolist()]
    open_rows = [row for row, open_answer in enumerate(answer) if open_answer is not None]
    # Open answers are not compared with one another. They get the codes after those of the distinct numbers.
    code[open_rows] = len(answers) + np.arange(len(open_rows))
    data_hash = DataHash()
    data_hash.add_coded(
        units,
        workers,
        [*answers, *(answer[row] for row in open_rows)],
        (unit_index, worker_index, code, used.astype(np.int64)),
    )
    return data_hash.hexdigest()


def counted_answers(study: Study, moment: Snapshot) -> Iterator[tuple[int, list[Any]]]:
    """Yield unit row ids in order, each with the answers included at ``moment``, ordered by worker name.

    Control items are omitted, and so are units without judgments. A unit whose judgments are all excluded may have an
    empty list.
    """
    rows = (
        moment.judgments(study)
        .filter(unit__control=False, set_aside=False)
        .order_by("unit__position", "unit_id", "pk")
        .values_list(
            "unit_id", "assignment__worker__name", "assignment__worker_id", "assignment_id", "value", "answer"
        )
    )
    sorted_rows = sorted_by_unit_and_name(rows.iterator(ROWS_PER_BATCH), unit=0, worker=1)
    for unit, unit_rows in groupby(sorted_rows, key=itemgetter(0)):
        included_answers = [
            value if answer is None else answer
            for _, _, worker, assignment, value, answer in unit_rows
            if moment.includes(assignment, worker)
        ]
        yield unit, included_answers


def included_judgments(study: Study, table: JudgmentTable) -> list[IncludedJudgment]:
    """Return the counted judgments with their units, in the order of the table."""
    is_counted = table.is_counted
    units = {
        unit.pk: unit
        for unit in Unit.objects.filter(study=study, control=False)
        .select_related("item", "reference", "first", "second")
        .iterator(ROWS_PER_BATCH)
    }
    answers = table.answers_of(is_counted)
    rows = zip(table.unit[is_counted].tolist(), table.worker[is_counted].tolist(), answers, strict=True)
    return [IncludedJudgment(unit=units[unit], worker=worker, answer=answer) for unit, worker, answer in rows]


def work_times(study: Study, workers: Collection[int]) -> dict[int, list[float]]:
    """Return the time from taking to submitting each finished assignment, as seconds per judgment, by worker's row id.

    It is divided among all judgments of the assignment, so it is used only for ``workers_without_times``. Imports
    without times have none.
    """
    rows = (
        Assignment.objects.filter(study=study, worker__in=workers)
        .finished()
        .annotate(count=Count("judgments"))
        .values_list("worker_id", "accepted_at", "submitted_at", "count")
    )
    times: dict[int, list[float]] = {}
    if not workers:
        return times
    for worker, accepted_at, submitted_at, count in rows.iterator(ROWS_PER_BATCH):
        if count and submitted_at is not None and submitted_at > accepted_at:
            times.setdefault(worker, []).append((submitted_at - accepted_at).total_seconds() / count)
    return times


def workers_without_times(table: JudgmentTable, workers: Iterable[WorkerRow]) -> set[int]:
    """Return the row ids of workers of whom no judgment has a time."""
    workers_with_times = np.unique(table.worker[~np.isnan(table.seconds)])
    return {worker.pk for worker in workers}.difference(workers_with_times.tolist())


def judged_units_of(study: Study) -> Units:
    return study_units(study).judged_units


def documents_of(study: Study) -> dict[int, int]:
    """Map each item of the study to the first of the study's items in its document, as row ids.

    Items without a document are left out. With a single document, return {} (``first_of_documents``).
    """
    rows = Item.objects.filter(dataset=study.dataset_id).exclude(fields=[]).order_by("position", "pk")
    if not rows.exists():  # most datasets have no documents, and finding the study's items takes long
        return {}
    units = Unit.objects.filter(study=study).exclude(control_kind=Unit.ControlKind.QUIZ)
    pairs = CandidatePair.objects.filter(study=study)
    return documents_of_items(rows.filter(Q(pk__in=units.values("item")) | Q(pk__in=pairs.values("item"))))


def documents_of_items(items: QuerySet[Item], only: Container[int] | None = None) -> dict[int, int]:
    """Map each of the items to the first of these items in its document, as ``documents_of`` does.

    ``items`` are in order. If ``only`` is given, the items without these row ids are left out.
    """
    rows = items.values_list("pk", "fields").iterator(ROWS_PER_BATCH)
    return first_of_documents((pk, document_in(fields)) for pk, fields in rows if only is None or pk in only)


def clusters_of_items(study: Study, items: Ints | Sequence[int]) -> Ints:
    """Return the (N,) clusters of items, as row ids: the first item of the item's document, or else the item."""
    documents, pks = documents_of(study), np.asarray(items, dtype=np.int64)
    if not documents:
        return pks
    return np.array([documents.get(pk, pk) for pk in pks.tolist()], dtype=np.int64)


def clusters_of_units(study: Study, units: Sequence[UnitRow]) -> Ints:
    """Return the (N,) clusters of the units' items, as ``clusters_of_items`` does."""
    units = Units.from_rows(units)
    # If every unit has a pair, fewer rows are read by pair.
    by_pair = len(units) > 0 and bool((units.pair >= 0).all())
    pairs = CandidatePair.objects.filter(study=study).values_list("pk", "item_id")
    items = Unit.objects.filter(study=study, control=False).values_list("pk", "item_id")
    pk, item = columns_of((pairs if by_pair else items).order_by(), 2).astype(np.int64)
    return clusters_of_items(study, item[places_in(pk, units.pair if by_pair else units.pk)])


def passed_and_audited_units(study: Study) -> tuple[set[int], set[int]]:
    """Return the row ids of judged units that passed the filter, and of audited units, which it had rejected."""
    rows = Unit.objects.filter(study=study, control=False, filtered=False).values_list("pk", "audited")
    passed_units: set[int] = set()
    audited_units: set[int] = set()
    for pk, is_audited in rows.iterator(ROWS_PER_BATCH):
        (audited_units if is_audited else passed_units).add(pk)
    return passed_units, audited_units


def weights_of_units(study: Study) -> dict[int, float]:
    """Return the weights of audited units, by row id.

    Audited units are a sample of the captions that a filter rejected. The weight is the number of rejected captions
    that the unit represents. Other units have the weight 1.
    """
    notes = study.notes  # "candidate_pairs" is the number of pairs of image and caption before the filter
    if not notes.get("audited"):
        return {}
    _, units = passed_and_audited_units(study)
    return {unit: (notes["candidate_pairs"] - notes["passed_filter"]) / len(units) for unit in units}


def full_depth_units(study: Study) -> set[int] | None:
    """Return the row ids (also of `OutcomeBounds`) of units that early stopping leaves alone; None if it is off."""
    if not stops_early(study):
        return None
    return set(OutcomeBounds.objects.filter(unit__study=study, full_depth=True).values_list("pk", flat=True))


def decisions_of(study: Study) -> dict[int, Decision]:
    """Return the adjudicated decisions by unit row id, in the order of units, without open answers."""
    rows = Adjudication.objects.filter(study=study, state=Adjudication.State.DECIDED, value__isnull=False)
    names = ("unit_id", "value", "adjudicator__username", "decided_at", "reason", "votes")
    return {
        unit: Decision(value=value, by=by, at=at.isoformat(), reason=reason, votes=votes)
        for unit, value, by, at, reason, votes in rows.order_by("unit__position").values_list(*names)
    }


def pair_rows(study: Study) -> list[PairRow]:
    rows = CandidatePair.objects.filter(study=study).order_by("position", "pk")
    names = ("pk", "key", "kind", "first__key", "second__key", "published_winner")
    return list(starmap(PairRow, plain_rows(rows.values_list(*names))))


def systems_of_pairs(study: Study) -> dict[str, tuple[str, str]]:
    """Return the systems of both captions of each pair, by pair key. A caption without a system has 'people'."""
    rows = CandidatePair.objects.filter(study=study).values_list(
        "key", "first_system__name", "second_system__name"
    )
    return {key: (first or "people", second or "people") for key, first, second in plain_rows(rows)}


@dataclass(frozen=True, slots=True)
class ReferenceSet:
    """References of images in the judged splits, in import order.

    Attributes:
        of_item: (key, text) of the image's references in order, by image row id.
        splits: names of the splits; [""] if there are none.
    """

    of_item: dict[int, list[tuple[str, str]]]
    splits: list[str]

    def documents(self, leading: int | None = None) -> list[Sequence[str]]:
        """Return the texts of each image's references, or of its first ``leading`` ones, for document frequencies."""
        return [[text for _, text in rows[:leading]] for rows in self.of_item.values()]


def load_references(study: Study) -> ReferenceSet:
    """Return the references of all images of the splits that the study judges."""
    if KINDS[study.protocol].compares_pairs:
        items: Any = CandidatePair.objects.filter(study=study).values_list("item_id")
    else:
        items = Unit.objects.filter(study=study, control=False).values_list("item_id")
    splits = set(Item.objects.filter(pk__in=items).values_list("split", flat=True))
    return references_of_splits(study.dataset_id, sorted(splits))


def references_of_splits(dataset: int, splits: list[str]) -> ReferenceSet:
    rows = (
        Caption.objects.filter(dataset_id=dataset, role=Caption.Role.REFERENCE, item__split__in=splits)
        .order_by("item__position", "position", "pk")
        .values_list("item_id", "key", "text")
    )
    of_item: dict[int, list[tuple[str, str]]] = {}
    for item, key, text in rows.iterator(ROWS_PER_BATCH):
        of_item.setdefault(item, []).append((key, text))
    return ReferenceSet(of_item=of_item, splits=splits)


def pair_text_rows(study: Study) -> list[tuple[int, str, int, str, str, list[str]]]:
    """Return (row id, kind, image row id, first text, second text, ids of references) of each pair."""
    rows = CandidatePair.objects.filter(study=study).order_by("position", "pk")
    return list(rows.values_list("pk", "kind", "item_id", "first__text", "second__text", "references"))


def caption_units(study: Study) -> list[tuple[int, int, str, str]]:
    """Return (row id, image row id, caption id, caption text) of each judged unit."""
    rows = Unit.objects.filter(study=study, control=False).order_by("position", "pk")
    return list(rows.values_list("pk", "item_id", "first__key", "first__text"))


def systems_of_units(study: Study) -> dict[int | None, list[Any]]:
    """Return ``Unit.systems``, ids or a list of ids for each option, of judged units for which a file names systems."""
    rows = Unit.objects.filter(study=study, control=False).exclude(systems=[])
    return dict(rows.order_by().values_list("pk", "systems"))


def included_votes(
    study: Study, moment: Snapshot | None, tally: JudgmentTally, *, units: Sequence[int] | None = None
) -> Iterator[tuple[int, int, str, Any]]:
    """Yield (unit, worker, worker's name, answer) of the judgments that count in consensus and agreement.

    They are ordered by unit and worker name. Others are also added to ``tally``, except revised and invalidated ones.

    Args:
        moment: the snapshot of judgments to read; None for the present judgments.
        units: row ids of the units to read; None for all.
    """
    if moment is None:
        excluded_ids, invalidated_ids = workers_below_pass_mark(study), frozenset[UUID]()
        unconfirmed_ids = frozenset(unconfirmed_work(study).values_list("pk", flat=True))
        judgments = Judgment.objects.current().filter(
            Q(assignment__study=study) if units is None else Q(unit__in=units)
        )
    else:
        excluded_ids, invalidated_ids, unconfirmed_ids = (
            moment.workers_below_pass_mark,
            frozenset(moment.invalidating_rules),  # the assignments, which are the keys
            moment.unconfirmed_assignments,
        )
        judgments = moment.judgments(study, units=units)
    rows = judgments.order_by("unit__position", "unit_id", "pk").values_list(
        "unit_id", "assignment__worker__name", "assignment__worker_id", "unit__key", "value", "answer", "set_aside",
        "unit__withdrawn", "assignment_id", "unit__control", "presented",
    )  # fmt: skip
    for row in sorted_by_unit_and_name(rows.iterator(ROWS_PER_BATCH), unit=0, worker=1):
        unit, name, worker, key, value, answer, set_aside, withdrawn, assignment, control, presented = row
        if assignment in invalidated_ids:
            continue
        if moment is not None:
            withdrawn = unit in moment.withdrawn_items
        is_used = not (set_aside or withdrawn or worker in excluded_ids or assignment in unconfirmed_ids)
        vote = value if answer is None else answer
        tally.add(key, name, vote, used=is_used, control=control, presented=presented)
        if is_used and not control:
            yield unit, worker, name, vote
