"""Store what was drawn for a study: its pairs, units and HITs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain, repeat
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from common.rows.loads import indexes_built_after, refresh_statistics
from common.rows.reading import columns_of
from common.rows.writing import insert_columns, insert_rows
from judgments.design.study_design import StudyDesign
from judgments.drawing.material import Batch, Text, UnitSpec
from judgments.drawing.pairs.drawing import system_names
from judgments.models import (
    HIT,
    CandidatePair,
    Caption,
    Dataset,
    HITUnit,
    Item,
    OutcomeBounds,
    Study,
    System,
    SystemPair,
    Unit,
)
from judgments.studies.generation.material import ROWS_PER_BATCH
from judgments.studies.generation.progress import Progress
from judgments.studies.stopping import full_depth_hits

RowIds = Mapping[str, int]  # the row ids of a table, by name or key
# The fields of ``Unit`` that have the same names in ``UnitSpec``.
DRAWN_FIELDS = ("kind", "control", "expected", "filtered", "audited", "control_kind", "content")


def store_batch(study: Study, design: StudyDesign, batch: Batch, progress: Progress) -> None:
    images = dict(Item.objects.filter(dataset=study.dataset).values_list("name", "pk"))
    captions = _store_captions(study.dataset, batch)
    systems = dict(System.objects.filter(dataset=study.dataset).values_list("name", "pk"))
    _store_pairs(study, batch, images, captions, systems)
    progress(0.3, "storing units")
    hit_sizes = [len(hit.units) for hit in batch.hits]
    store_system_pairs(study, batch, systems, start=sum(hit_sizes))
    # Keep this order: the first units are those of the HITs (_store_places), and an arena's pool follows them
    # (store_system_pairs).
    drawn_units = [*batch.hit_units(), *batch.pool]
    for group in batch.quiz:
        drawn_units += group.units
    _store_units(study, drawn_units, images, captions)
    progress(0.6, "storing HITs")
    slot_count = design.judgments_per_unit
    insert_rows(
        HIT,
        ("study_id", "key", "position", "required", "open_slots"),
        ((study.pk, hit.key, position, slot_count, slot_count) for position, hit in enumerate(batch.hits)),
    )
    unit_ids = _ids_in_order(Unit, study)[: sum(hit_sizes)]
    _store_places(study, unit_ids, hit_sizes)
    if design.stopping.rule != "none":
        _store_outcome_bounds(design, batch, unit_ids)
    refresh_statistics(CandidatePair, Unit, HIT, HITUnit)
    progress(1.0, f"{len(batch.hits)} HITs")


def _store_pairs(study: Study, batch: Batch, images: RowIds, captions: RowIds, systems: RowIds) -> None:
    insert_rows(
        CandidatePair,
        ("study_id", "key", "position", "kind", "item_id", "first_id", "second_id", "first_system_id",
         "second_system_id", "references"),
        (
            (
                study.pk,
                pair.key,
                position,
                pair.kind,
                images[pair.image],
                captions[pair.first.key],
                captions[pair.second.key],
                systems.get(pair.first_system or ""),
                systems.get(pair.second_system or ""),
                pair.references,
            )
            for position, pair in enumerate(batch.pairs)
        ),
    )  # fmt: skip


def _store_units(study: Study, drawn_units: Sequence[UnitSpec], images: RowIds, captions: RowIds) -> None:
    """Store the units column by column, which is faster than row by row for a million units."""
    pairs = dict(CandidatePair.objects.filter(study=study).values_list("key", "pk"))

    def values_of(name: str) -> Iterator[Any]:
        return map(attrgetter(name), drawn_units)

    def caption_ids_of(name: str) -> list[int | None]:
        return [None if text is None else captions[text.key] for text in values_of(name)]

    with indexes_built_after(Unit, rows=len(drawn_units)):
        insert_columns(
            Unit,
            {
                "study_id": repeat(study.pk, len(drawn_units)),
                "key": values_of("key"),
                "position": range(len(drawn_units)),
                "item_id": map(images.__getitem__, values_of("image")),
                "reference_id": caption_ids_of("reference"),
                "first_id": caption_ids_of("first"),
                "second_id": caption_ids_of("second"),
                "pair_id": map(pairs.get, values_of("pair")),
                **{name: values_of(name) for name in DRAWN_FIELDS},
            },
        )


def _store_places(study: Study, unit_ids: npt.NDArray[np.int64], hit_sizes: Sequence[int]) -> None:
    """Store which unit has which place in which HIT. ``unit_ids`` are row ids of units, HIT by HIT."""
    with indexes_built_after(HITUnit, rows=len(unit_ids)):
        insert_columns(
            HITUnit,
            {
                "hit_id": np.repeat(_ids_in_order(HIT, study), hit_sizes).tolist(),
                "unit_id": unit_ids.tolist(),
                "position": chain.from_iterable(range(1, size + 1) for size in hit_sizes),
            },
        )


def _store_outcome_bounds(design: StudyDesign, batch: Batch, unit_ids: npt.NDArray[np.int64]) -> None:
    """Store which judged units get all judgments, without early stopping. ``unit_ids`` are in the order of the HITs."""
    full_depth_numbers = full_depth_hits(design, len(batch.hits))
    numbered_units = ((number, unit) for number, hit in enumerate(batch.hits) for unit in hit.units)
    insert_rows(
        OutcomeBounds,
        ("unit_id", "full_depth"),
        (
            (pk, number in full_depth_numbers)
            for (number, unit), pk in zip(numbered_units, unit_ids.tolist(), strict=True)
            if not unit.control
        ),
    )


def store_system_pairs(study: Study, batch: Batch, systems: RowIds, *, start: int) -> None:
    """Store the system pairs of an arena, each with the positions of its units among the study's units.

    They are in the pool, from which pages are drawn later. It begins at ``start``, with the units of a pair together.
    """
    names = {pair.key: system_names(pair) for pair in batch.pairs}
    pool_counts = Counter(names[unit.pair] for unit in batch.pool)
    starts = list(accumulate(pool_counts.values(), initial=start))
    insert_rows(
        SystemPair,
        ("study_id", "position", "first_system_id", "second_system_id", "start", "units", "wins", "ties",
         "losses"),
        (
            (study.pk, position, systems[first], systems[second], starts[position], unit_count, 0, 0, 0)
            for position, ((first, second), unit_count) in enumerate(pool_counts.items())
        ),
    )  # fmt: skip


def _ids_in_order(model: type[HIT | Unit], study: Study) -> npt.NDArray[np.int64]:
    """Return the row ids of a study's HITs or units, by their positions."""
    rows = model.objects.filter(study=study).order_by("position").values_list("pk")
    return columns_of(rows, 1)[0].astype(np.int64)


def _store_captions(dataset: Dataset, batch: Batch) -> dict[str, int]:
    """Store texts of control items and manual changes that the dataset lacks, as candidates without a system.

    Return the row ids of all captions of the dataset, by text key.
    """
    captions = dict(Caption.objects.filter(dataset=dataset).values_list("key", "pk"))
    texts: list[Text | None] = []
    for units in chain((hit.units for hit in batch.hits), (group.units for group in batch.quiz)):
        for unit in units:
            if unit.control:
                texts += (unit.reference, unit.first, unit.second)
    texts += batch.new_texts
    new_texts = {text.key: text.text for text in texts if text is not None and text.key not in captions}
    if new_texts:
        Caption.objects.bulk_create(
            (
                Caption(dataset=dataset, key=key, text=text, role=Caption.Role.CANDIDATE)
                for key, text in new_texts.items()
            ),
            batch_size=ROWS_PER_BATCH,
            ignore_conflicts=True,  # another study of the dataset may store the same texts concurrently
        )
        captions = dict(Caption.objects.filter(dataset=dataset).values_list("key", "pk"))
    return captions
