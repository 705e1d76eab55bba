"""What is right in a rehearsal, unit by unit: drawn with the seed, so that a consensus can be held against it."""

from __future__ import annotations

from typing import Any

from judgments.controls import REPEATED, REPEATS
from judgments.draws import rng_for
from judgments.models import Caption, Output, Study, System, Unit
from judgments.services.studies import kind_of

# how good a caption is on the scale of grades: a person's for the image, a machine's for it, one of another image
QUALITY = {"own": 4.0, "machine": 2.5, "foreign": 1.0}


def truths_of(study: Study, seed: int) -> dict[int, Any]:
    """Unit id -> the right answer: of a control item what is expected, else drawn with the seed, leaning the way
    people's answers do (QUALITY). Triplets of one pair share their truth, and so does a unit that is shown again."""
    kind = kind_of(study)
    human = dict(System.objects.filter(dataset=study.dataset).values_list("pk", "human"))
    captions = Output.objects.annotations().filter(system__dataset=study.dataset)
    outputs = captions.values_list("item_id", "caption_id", "system_id")
    by_machine = {(item, caption) for item, caption, system in outputs if not human[system]}
    truths: dict[int, Any] = {}
    of_key: dict[str, Any] = {}
    again: dict[int, str] = {}
    rows = Unit.objects.filter(study=study).select_related("first", "second", "pair").order_by("position")
    for unit in rows.iterator(2000):
        if unit.control_kind == REPEATED:
            again[unit.pk] = unit.content[REPEATS]
            continue
        if unit.control:
            truths[unit.pk] = unit.expected
            continue
        qualities = [_quality(caption, unit, by_machine) for caption in (unit.first, unit.second) if caption]
        rng = rng_for(seed, f"truth {unit.pair.key if unit.pair else unit.key}")
        truths[unit.pk] = of_key[unit.key] = kind.draw_truth(unit, qualities, rng)
    return truths | {pk: of_key[key] for pk, key in again.items()}


def _quality(caption: Caption, unit: Unit, by_machine: set[tuple[int, int]]) -> float:
    if caption.item_id is not None:
        return QUALITY["own" if caption.item_id == unit.item_id else "foreign"]
    return QUALITY["machine" if (unit.item_id, caption.pk) in by_machine else "foreign"]
