"""Draw the true answers of a rehearsed study from the seed of the rehearsal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from django.utils.translation import gettext as _

from common.errors import WrongState
from contrib.rehearsals.answers.base import Rehearsal, find_rehearsal
from judgments.drawing.controls.dealing import ORIGINAL_UNIT
from judgments.drawing.controls.makers import REPEATED
from judgments.drawing.draws import rng_for, shuffle
from judgments.models import Caption, Output, Study, System, Unit
from judgments.models.datasets import OutputQuerySet
from judgments.studies.designs import design_of, kind_of

# the quality, as a grade, of a person's caption for the image, a system's caption for it, and one of another image
CAPTION_QUALITY = {"own": 4.0, "machine": 2.5, "foreign": 1.0}
# the difference in quality between the best and a middle system, if systems are compared, and if captions are graded
SYSTEM_OFFSET = 2.0
GRADED_SYSTEM_OFFSET = 0.5


def rehearsal_of(study: Study) -> Rehearsal:
    """Return how the study's kind is rehearsed. Raise WrongState if it has no simulated answers."""
    rehearsal = find_rehearsal(kind_of(study))
    if rehearsal is None:
        raise WrongState(
            _("Study %(slug)r cannot be rehearsed: its protocol has no simulated answers.")
            % {"slug": study.slug}
        )
    return rehearsal


def truths_of(study: Study, seed: int) -> dict[int, Any]:
    """Return the true answer of each unit, by unit row id.

    The truth of a control item is its expected answer. Others are drawn from the seed, by the usual quality of
    captions (``CAPTION_QUALITY``). All triplets of a pair share one truth, and so do repetitions of a unit. If the
    kind compares systems (in pairs, by the best of several, or by grades), the systems differ in quality, as drawn
    from the seed, since no study could find the better of equal systems.
    """
    rehearsal, kind = rehearsal_of(study), kind_of(study)
    # If workers choose the worst caption, too, the kind draws the truth without qualities.
    names_only_best = kind.names_best and not design_of(study).answers.worst
    max_offset = 0.0
    if rehearsal.better_system_wins or names_only_best:
        max_offset = SYSTEM_OFFSET
    elif kind.judges_one_caption:
        max_offset = GRADED_SYSTEM_OFFSET
    system_offsets = _offsets_of_systems(study, seed, max_offset) if max_offset else {}
    is_human = dict(System.objects.filter(dataset=study.dataset).values_list("pk", "human"))
    outputs = Output.objects.annotations().filter(system__dataset=study.dataset)
    # units of these kinds have no pair of systems, so the systems are found by the texts that they gave
    finds_systems_by_text = system_offsets and not rehearsal.better_system_wins
    text_offsets = _offsets_of_texts(outputs, system_offsets) if finds_systems_by_text else {}
    output_rows = outputs.values_list("item_id", "caption_id", "system_id")
    machine_captions = {(item, caption) for item, caption, system in output_rows if not is_human[system]}
    truths: dict[int, Any] = {}
    truths_by_key: dict[str, Any] = {}
    original_keys: dict[int, str] = {}  # of repeated units, by row id: the key of the unit that is repeated
    rows = Unit.objects.filter(study=study).select_related("first", "second", "pair").order_by("position")
    for unit in rows.iterator(2000):
        if unit.control_kind == REPEATED:
            original_keys[unit.pk] = unit.content[ORIGINAL_UNIT]
            continue
        if unit.control:
            truths[unit.pk] = unit.expected
            continue
        qualities = [_quality(text, unit, machine_captions) for text in (unit.first, unit.second) if text]
        if kind.judges_one_caption and unit.first:
            qualities = [qualities[0] + text_offsets.get((unit.item_id, unit.first.text), 0.0)]
        if system_offsets and unit.pair:
            systems = unit.pair.first_system_id, unit.pair.second_system_id
            # a caption by people has no system, and no offset; 0 is no row id
            qualities = [
                quality + system_offsets.get(system or 0, 0.0)
                for quality, system in zip(qualities, systems, strict=True)
            ]
        if names_only_best:
            qualities = [
                CAPTION_QUALITY["machine"] + text_offsets.get((unit.item_id, option["text"]), 0.0)
                for option in unit.content["options"]
            ]
        # drawn by the pair's key, so that its triplets share one truth
        rng = rng_for(seed, f"truth {unit.pair.key if unit.pair else unit.key}")
        truths[unit.pk] = truths_by_key[unit.key] = rehearsal.draw_truth(unit, qualities, rng)
    return truths | {pk: truths_by_key[key] for pk, key in original_keys.items()}


def _offsets_of_systems(study: Study, seed: int, max_offset: float) -> dict[int, float]:
    """Return the offset of each system's quality, by system row id.

    The offsets are evenly spaced from -max_offset to max_offset, and assigned in an order drawn from the seed.
    """
    rows = System.objects.filter(dataset=study.dataset).order_by("name")
    systems = shuffle(list(rows.values_list("pk", flat=True)), rng_for(seed, "rehearsed systems"))
    return dict(zip(systems, np.linspace(-max_offset, max_offset, len(systems)).tolist(), strict=True))


def _offsets_of_texts(outputs: OutputQuerySet, offsets: Mapping[int, float]) -> dict[tuple[int, str], float]:
    """Return the mean quality offset of the systems that gave a text, by item and text."""
    offsets_by_text: dict[tuple[int, str], list[float]] = {}
    for item, text, system in outputs.values_list("item_id", "caption__text", "system_id"):
        offsets_by_text.setdefault((item, text), []).append(offsets.get(system, 0.0))
    return {item_and_text: float(np.mean(values)) for item_and_text, values in offsets_by_text.items()}


def _quality(caption: Caption, unit: Unit, machine_captions: set[tuple[int, int]]) -> float:
    """Return the usual quality of a caption for a unit's image, as a grade from 1 to 4.

    ``machine_captions`` has the item and the caption of each output of a system that is no person.
    """
    if caption.item_id is not None:  # a reference caption, which a person wrote about an image
        return CAPTION_QUALITY["own" if caption.item_id == unit.item_id else "foreign"]
    return CAPTION_QUALITY["machine" if (unit.item_id, caption.pk) in machine_captions else "foreign"]
