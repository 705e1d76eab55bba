"""Load the population of a draft, from which items are chosen, and that of a study whose chosen items were judged.

The judged items are weighted by the inverse of the probability with which they were chosen. A row is a pair or caption.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
from django.utils.translation import pgettext

from common.errors import WrongState
from contrib.choosing.population import PEOPLE, Population
from evaluation.data.judgment_sets import loaders
from evaluation.errors import EvaluationError
from evaluation.results.consensus.study import consensus_of
from evaluation.results.metrics.study_texts import judged_captions, judged_pairs
from evaluation.results.metrics.texts import CaptionTexts, PairTexts, References
from judgments.drawing.material import Batch, Image, Material
from judgments.kinds import KINDS
from judgments.models import Item, Output, Study
from judgments.models.credits import credited_systems
from judgments.studies.designs import design_of
from judgments.studies.generation.batches import build_batch
from judgments.studies.generation.material import load_material


def check_items_can_be_chosen(study: Study) -> None:
    """Raise WrongState if items of the study's kind cannot be chosen one by one."""
    kind = KINDS[study.protocol]
    if not kind.supports_unit_ids:
        raise WrongState(
            pgettext("staff", "Items of the kind %(name)s cannot be chosen individually.")
            % {"name": kind.name}
        )


def population_of_draft(study: Study) -> Population:
    """Return all rows that the draft could ask about, as if no items were chosen yet.

    Raises:
        DesignError: nothing can be generated from the design.
        WrongState: items of this study cannot be chosen.
    """
    check_items_can_be_chosen(study)
    design = design_of(study)
    full_design = design.model_copy(
        update={"chosen": None, "sampling": design.sampling.model_copy(update={"only": ()})}
    )
    # Unpublished systems of accounts other than the maker are left out.
    batch = build_batch(full_design, study.dataset, maker=study.created_by_id)
    material = load_material(study.dataset, maker=study.created_by_id)
    items = dict(Item.objects.filter(dataset=study.dataset).values_list("name", "pk"))
    images = {image.name: image for image in material.images}
    make_population = _pair_population if batch.pairs else _caption_population
    return make_population(batch, material, images, items)


def _documents(names: set[str], material: Material, images: Mapping[str, Image]) -> list[References]:
    """Return the references of each image in the splits of the named images, for document frequencies."""
    splits = {images[name].split for name in names}
    described_images = [image for image in material.images if image.split in splits and image.references]
    return [[text.text for text in image.references] for image in described_images]


def _pair_population(
    batch: Batch, material: Material, images: Mapping[str, Image], items: Mapping[str, int]
) -> Population:
    """Return the pairs of a draft's batch. They are not stored and have no winners (0) yet; they are numbered from 0.

    ``images`` and ``items`` have the images, and the images' database ids, by name.
    """
    pairs = []
    for row, pair in enumerate(batch.pairs):
        texts = {text.key: text.text for text in images[pair.image].references}
        # A pair that names no references has all those of its image.
        references = tuple(texts[key] for key in pair.references) or tuple(texts.values())
        pairs.append(
            PairTexts(row, pair.kind, items[pair.image], pair.first.text, pair.second.text, references, 0)
        )
    return Population(
        per="pairs",
        pairs=pairs,
        captions=(),
        keys=[pair.key for pair in batch.pairs],
        systems=[(pair.first_system or PEOPLE, pair.second_system or PEOPLE) for pair in batch.pairs],
        documents=_documents({pair.image for pair in batch.pairs}, material, images),
    )


def _caption_population(
    batch: Batch, material: Material, images: Mapping[str, Image], items: Mapping[str, int]
) -> Population:
    """Return the captions of a draft's batch, as ``_pair_population`` does for pairs. Units are None, scores nan."""
    units, captions, systems = [], [], []
    for unit in chain.from_iterable(hit.units for hit in batch.hits):
        # A caption that the design's filter left out (``filtered``) is shown only to fill up a group.
        if unit.control or unit.filtered or unit.first is None:
            continue
        units.append(unit)
        image, text = images[unit.image], unit.first.text
        references = tuple(caption.text for caption in image.references if caption.text != text)
        captions.append(CaptionTexts(None, items[unit.image], unit.first.key, text, references, np.nan))
        systems.append(tuple(dict.fromkeys(name for name, caption in image.outputs if caption.text == text)))
    return Population(
        per="images",  # captions are chosen by image
        pairs=(),
        captions=captions,
        keys=[unit.key for unit in units],
        systems=systems,
        documents=_documents({unit.image for unit in units}, material, images),
    )


def judged_population(study: Study) -> Population:
    """Return the judged rows with their consensus. Raise EvaluationError if there is no consensus."""
    check_items_can_be_chosen(study)
    table = loaders.load_judgments(study)
    consensus, references = consensus_of(study, table), loaders.load_references(study)
    if KINDS[study.protocol].compares_pairs:
        material = judged_pairs(study, consensus, references)
        keys = {row.pk: row.key for row in loaders.pair_rows(study)}
        return Population(
            per="pairs",
            pairs=material.pairs,
            captions=(),
            keys=[keys[pair.pk] for pair in material.pairs],
            systems=[pair.systems for pair in material.pairs],
            documents=material.documents,
        )
    captions, _counts = judged_captions(study, consensus, table, references)
    unit_keys = {row.pk: row.key for row in loaders.judged_units_of(study)}
    if any(caption.unit is None for caption in captions):
        raise EvaluationError(
            pgettext(
                "staff",
                "Study %(slug)r judges lists of captions. Single captions of a list cannot be weighted.",
            )
            % {"slug": study.slug}
        )
    return Population(
        per="images",
        pairs=(),
        captions=captions,
        keys=[unit_keys[caption.unit] for caption in captions if caption.unit is not None],
        systems=_systems_of_captions(study, captions),
        documents=references.documents(),
    )


def _systems_of_captions(study: Study, captions: Sequence[CaptionTexts]) -> list[tuple[str, ...]]:
    """Return, for each caption, the systems that a file credits with its unit, or else those that gave the caption."""
    systems_by_caption: dict[tuple[int, str], list[int]] = {}
    names: dict[int, str] = {}
    outputs = Output.objects.of_study(study).annotations().order_by("system__name")
    for pk, name, item, key in outputs.values_list("system", "system__name", "item_id", "caption__key"):
        names[pk] = name
        systems_by_caption.setdefault((item, key), []).append(pk)
    file_systems_by_unit = loaders.systems_of_units(study)
    names_by_caption = []
    for caption in captions:
        file_systems = file_systems_by_unit.get(caption.unit, ())
        systems = credited_systems(file_systems, systems_by_caption.get((caption.item, caption.key), ()))
        names_by_caption.append(tuple(dict.fromkeys(names[pk] for pk in systems if pk in names)))
    return names_by_caption
