"""Store a batch as rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import accumulate, chain, pairwise, repeat
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from common.rows.loads import indexes_built_after, refresh_statistics
from common.rows.reading import columns_of
from common.rows.writing import insert_columns, insert_rows
from judgments.design.study_design import StudyDesign
from judgments.drawing.material import Batch
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

DRAWN_FIELDS = ("kind", "control", "expected", "filtered", "audited", "control_kind", "content")


def store_batch(study: Study, design: StudyDesign, batch: Batch, progress: Progress) -> None:
    """Store pairs, units and HITs. Units of HITs come first, then an arena's pool and the items of the quiz."""
    images = dict(Item.objects.filter(dataset=study.dataset).values_list("name", "pk"))
    captions = _store_captions(study.dataset, batch)
    systems = dict(System.objects.filter(dataset=study.dataset).values_list("name", "pk"))
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
    pairs = dict(CandidatePair.objects.filter(study=study).values_list("key", "pk"))
    progress(0.3, "storing units")
    drawn_units = [unit for hit in batch.hits for unit in hit.units]
    store_system_pairs(study, batch, systems, start=len(drawn_units))
    drawn_units += batch.pool
    drawn_units += [unit for group in batch.quiz for unit in group.units]

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
    progress(0.6, "storing HITs")
    places_per_hit = design.judgments_per_unit
    insert_rows(
        HIT,
        ("study_id", "key", "position", "required", "open_slots"),
        (
            (study.pk, hit.key, position, places_per_hit, places_per_hit)
            for position, hit in enumerate(batch.hits)
        ),
    )
    hits, units = _ids_in_order(HIT, study), _ids_in_order(Unit, study)
    unit_counts = [len(hit.units) for hit in batch.hits]
    starts = list(accumulate(unit_counts, initial=0))
    with indexes_built_after(HITUnit, rows=sum(unit_counts)):
        insert_columns(
            HITUnit,
            {
                "hit_id": np.repeat(hits, unit_counts).tolist(),
                "unit_id": units[: sum(unit_counts)].tolist(),
                "position": chain.from_iterable(range(1, size + 1) for size in unit_counts),
            },
        )
    if design.stopping.rule != "none":
        full_depth_numbers = full_depth_hits(design, len(batch.hits))
        unit_ids = [units[start:end].tolist() for start, end in pairwise(starts)]
        insert_rows(
            OutcomeBounds,
            ("unit_id", "full_depth"),
            (
                (pk, number in full_depth_numbers)
                for number, (hit, hit_unit_ids) in enumerate(zip(batch.hits, unit_ids, strict=True))
                for unit, pk in zip(hit.units, hit_unit_ids, strict=True)
                if not unit.control
            ),
        )
    refresh_statistics(CandidatePair, Unit, HIT, HITUnit)
    progress(1.0, f"{len(batch.hits)} HITs")


def store_system_pairs(study: Study, batch: Batch, systems: Mapping[str, int], *, start: int) -> None:
    """Store the system pairs of an arena, each with the positions of its units in the pool, from ``start``.

    The pool must list the units of a system pair one after another.
    """
    names = {pair.key: system_names(pair) for pair in batch.pairs}
    unit_counts = Counter(names[unit.pair] for unit in batch.pool)
    starts = accumulate(unit_counts.values(), initial=start)
    insert_rows(
        SystemPair,
        ("study_id", "position", "first_system_id", "second_system_id", "start", "units", "wins", "ties",
         "losses"),
        (
            (study.pk, position, systems[first], systems[second], pair_start, unit_count, 0, 0, 0)
            for position, (((first, second), unit_count), pair_start) in enumerate(
                zip(unit_counts.items(), starts, strict=False)  # the last start is the end of the pool
            )
        ),
    )  # fmt: skip


def _ids_in_order(model: type[HIT | Unit], study: Study) -> npt.NDArray[np.int64]:
    rows = model.objects.filter(study=study).order_by("position").values_list("pk")
    return columns_of(rows, 1)[0].astype(np.int64)


def _store_captions(dataset: Dataset, batch: Batch) -> dict[str, int]:
    """Store texts of control items and manual changes that the dataset lacks, as candidates without a system.

    Return the row ids of all captions of the dataset, by text key.
    """
    captions = dict(Caption.objects.filter(dataset=dataset).values_list("key", "pk"))
    unit_groups = chain((hit.units for hit in batch.hits), (group.units for group in batch.quiz))
    texts = (
        text
        for units in unit_groups
        for unit in units
        if unit.control
        for text in (unit.reference, unit.first, unit.second)
        if text is not None
    )
    new_texts = {text.key: text.text for text in chain(texts, batch.new_texts) if text.key not in captions}
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
