"""The rows of a study that was drawn: pairs, units, HITs, and captions that the dataset lacks."""

from __future__ import annotations

from collections.abc import Callable

from judgments.bulk import insert_rows, refresh_statistics
from judgments.design import StudyDesign
from judgments.material import Batch, Text
from judgments.models import HIT, CandidatePair, Caption, Dataset, HITUnit, Item, Outlook, Study, System, Unit
from judgments.stopping import full_depth_hits

ROWS_AT_ONCE = 2_000
Progress = Callable[[float, str], None]


def store_batch(study: Study, design: StudyDesign, batch: Batch, progress: Progress) -> None:
    """Store everything that a study gets; within the caller's transaction."""
    images = dict(Item.objects.filter(dataset=study.dataset).values_list("name", "pk"))
    captions = _captions(study.dataset, batch)
    systems = dict(System.objects.filter(dataset=study.dataset).values_list("name", "pk"))

    def caption_or_none(text: Text | None) -> int | None:
        return captions[text.key] if text is not None else None

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
                list(pair.references),
            )
            for position, pair in enumerate(batch.pairs)
        ),
    )  # fmt: skip
    pairs = dict(CandidatePair.objects.filter(study=study).values_list("key", "pk"))
    progress(0.3, "storing units")
    in_order = [unit for hit in batch.hits for unit in hit.units]
    in_order += [unit for group in batch.quiz for unit in group.units]
    insert_rows(
        Unit,
        ("study_id", "key", "position", "item_id", "reference_id", "first_id", "second_id", "pair_id", "kind",
         "control", "expected", "filtered", "audited", "control_kind", "content"),
        (
            (
                study.pk,
                unit.key,
                position,
                images[unit.image],
                caption_or_none(unit.reference),
                caption_or_none(unit.first),
                caption_or_none(unit.second),
                pairs.get(unit.pair),
                unit.kind,
                unit.control,
                unit.expected,
                unit.filtered,
                unit.audited,
                unit.control_kind,
                dict(unit.content),
            )
            for position, unit in enumerate(in_order)
        ),
    )  # fmt: skip
    progress(0.6, "storing HITs")
    insert_rows(
        HIT,
        ("study_id", "key", "position", "required", "open_slots"),
        (
            (study.pk, hit.key, position, design.judgments_per_unit, design.judgments_per_unit)
            for position, hit in enumerate(batch.hits)
        ),
    )
    hits = dict(HIT.objects.filter(study=study).values_list("key", "pk"))
    units = dict(Unit.objects.filter(study=study).values_list("key", "pk"))
    insert_rows(
        HITUnit,
        ("hit_id", "unit_id", "position"),
        (
            (hits[hit.key], units[unit.key], number)
            for hit in batch.hits
            for number, unit in enumerate(hit.units, start=1)
        ),
    )
    if design.stopping.rule != "none":
        full = full_depth_hits(design, len(batch.hits))
        insert_rows(
            Outlook,
            ("unit_id", "full_depth"),
            (
                (units[unit.key], number in full)
                for number, hit in enumerate(batch.hits)
                for unit in hit.units
                if not unit.control
            ),
        )
    refresh_statistics(CandidatePair, Unit, HIT, HITUnit)
    progress(1.0, f"{len(batch.hits)} HITs")


def _captions(dataset: Dataset, batch: Batch) -> dict[str, int]:
    """Key -> row id of the dataset's captions; what control items say beyond them (damaged captions, the designer's
    own texts) is added as candidates of no system."""
    captions = dict(Caption.objects.filter(dataset=dataset).values_list("key", "pk"))
    texts = (
        text
        for hit in batch.hits
        for unit in hit.units
        if unit.control
        for text in (unit.reference, unit.first, unit.second)
        if text is not None
    )
    lacking = {text.key: text.text for text in texts if text.key not in captions}
    if lacking:
        Caption.objects.bulk_create(
            (
                Caption(dataset=dataset, key=key, text=text, role=Caption.Role.CANDIDATE)
                for key, text in lacking.items()
            ),
            batch_size=ROWS_AT_ONCE,
            ignore_conflicts=True,  # another study of the dataset may store the same ones at this moment
        )
        captions = dict(Caption.objects.filter(dataset=dataset).values_list("key", "pk"))
    return captions
