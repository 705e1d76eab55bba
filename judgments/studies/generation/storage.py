"""Store a batch as rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import accumulate, chain, repeat
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
    images = dict(Item.objects.filter(dataset=study.dataset).values_list("name", "pk"))
    captions = _captions(study.dataset, batch)
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
    in_order = [unit for hit in batch.hits for unit in hit.units]
    store_system_pairs(study, batch, systems, start=len(in_order))
    in_order += batch.pool
    in_order += [unit for group in batch.quiz for unit in group.units]

    def of_each(name: str) -> Iterator[Any]:
        return map(attrgetter(name), in_order)

    def captions_of_each(name: str) -> list[int | None]:
        return [None if text is None else captions[text.key] for text in of_each(name)]

    with indexes_built_after(Unit, rows=len(in_order)):
        insert_columns(
            Unit,
            {
                "study_id": repeat(study.pk, len(in_order)),
                "key": of_each("key"),
                "position": range(len(in_order)),
                "item_id": map(images.__getitem__, of_each("image")),
                "reference_id": captions_of_each("reference"),
                "first_id": captions_of_each("first"),
                "second_id": captions_of_each("second"),
                "pair_id": map(pairs.get, of_each("pair")),
                **{name: of_each(name) for name in DRAWN_FIELDS},
            },
        )
    progress(0.6, "storing HITs")
    votes_wanted = design.judgments_per_unit
    insert_rows(
        HIT,
        ("study_id", "key", "position", "required", "open_slots"),
        (
            (study.pk, hit.key, position, votes_wanted, votes_wanted)
            for position, hit in enumerate(batch.hits)
        ),
    )
    hits, units = _ids_in_order(HIT, study), _ids_in_order(Unit, study)
    ends = np.cumsum([len(hit.units) for hit in batch.hits]).tolist()
    units_of = [units[start:end] for start, end in zip((0, *ends), ends, strict=False)]
    sizes = [len(hit_units) for hit_units in units_of]
    with indexes_built_after(HITUnit, rows=sum(sizes)):
        insert_columns(
            HITUnit,
            {
                "hit_id": np.repeat(hits, sizes).tolist(),
                "unit_id": units[: sum(sizes)].tolist(),
                "position": chain.from_iterable(range(1, size + 1) for size in sizes),
            },
        )
    if design.stopping.rule != "none":
        full = full_depth_hits(design, len(batch.hits))
        insert_rows(
            OutcomeBounds,
            ("unit_id", "full_depth"),
            (
                (pk, number in full)
                for number, (hit, hit_units) in enumerate(zip(batch.hits, units_of, strict=True))
                for unit, pk in zip(hit.units, hit_units.tolist(), strict=True)
                if not unit.control
            ),
        )
    refresh_statistics(CandidatePair, Unit, HIT, HITUnit)
    progress(1.0, f"{len(batch.hits)} HITs")


def store_system_pairs(study: Study, batch: Batch, systems: Mapping[str, int], *, start: int) -> None:
    """Store the system pairs of an arena, each with the positions of its units in the pool, from ``start``."""
    names = {pair.key: system_names(pair) for pair in batch.pairs}
    sizes = Counter(names[unit.pair] for unit in batch.pool)
    starts = chain((0,), accumulate(sizes.values()))
    insert_rows(
        SystemPair,
        (
            "study_id",
            "position",
            "first_system_id",
            "second_system_id",
            "start",
            "units",
            "wins",
            "ties",
            "losses",
        ),
        (
            (study.pk, position, systems[first], systems[second], start + size_before, size, 0, 0, 0)
            for position, (((first, second), size), size_before) in enumerate(
                zip(sizes.items(), starts, strict=False)
            )
        ),
    )


def _ids_in_order(model: type[HIT | Unit], study: Study) -> npt.NDArray[np.int64]:
    rows = model.objects.filter(study=study).order_by("position").values_list("pk")
    return columns_of(rows, 1)[0].astype(np.int64)


def _captions(dataset: Dataset, batch: Batch) -> dict[str, int]:
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
    lacking = {text.key: text.text for text in chain(texts, batch.new_texts) if text.key not in captions}
    if lacking:
        Caption.objects.bulk_create(
            (
                Caption(dataset=dataset, key=key, text=text, role=Caption.Role.CANDIDATE)
                for key, text in lacking.items()
            ),
            batch_size=ROWS_PER_BATCH,
            ignore_conflicts=True,  # another study of the dataset may store the same texts concurrently
        )
        captions = dict(Caption.objects.filter(dataset=dataset).values_list("key", "pk"))
    return captions
