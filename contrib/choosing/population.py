"""The population from which items are chosen: the pairs or captions of a draft or of a judged study, and their scores.

A row is a pair or a caption. An item is a pair, or an image with all its captions; items are what is chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from django.utils.translation import pgettext

from common.errors import WrongState
from evaluation.data.imported_scores import NO_SCORES, ImportedScores, check_imported, load_imported
from evaluation.data.judgment_sets import loaders
from evaluation.errors import EvaluationError
from evaluation.results.consensus.study import consensus_of
from evaluation.results.metrics.scoring import score_captions, score_pairs
from evaluation.results.metrics.study_texts import judged_captions, judged_pairs
from evaluation.results.metrics.texts import CaptionTexts, PairTexts, References
from judgments.drawing.material import Batch, Image, Material
from judgments.kinds import KINDS
from judgments.models import Item, Output, Study
from judgments.models.credits import credited_systems
from judgments.studies.designs import design_of
from judgments.studies.generation.batches import build_batch
from judgments.studies.generation.material import load_material
from quorum.numeric.arrays import Floats, Ints

PEOPLE = "people"  # stands in place of a system's name


@dataclass(frozen=True, slots=True)
class ScoredPopulation:
    """The scores of a population of I items, S systems and M metrics.

    Attributes:
        item_scores: (I, S, M) scores by item, system and metric; higher is better, nan without a caption.
        row_scores: (N, 2, M) scores of the N rows if they are pairs, else (N, 1, M).
        signatures: the signature of each metric.
    """

    item_scores: Floats
    row_scores: Floats
    signatures: Mapping[str, str]


@dataclass(frozen=True)
class Population:
    """The N candidate pairs, or captions of images, from which items are chosen.

    Attributes:
        per: "pairs" or "images", the items that are chosen.
        pairs, captions: the N rows; one of the two is empty.
        row_ids: the id of each row for ``sampling.only``.
        systems: the names of each row's systems, two for a pair.
        documents: the references of all images, for document frequencies.
    """

    per: str
    pairs: Sequence[PairTexts]
    captions: Sequence[CaptionTexts]
    row_ids: Sequence[str]
    systems: Sequence[tuple[str, ...]]
    documents: Sequence[References]

    @cached_property
    def item(self) -> Ints:
        """The index of each row's item: (N,). A pair is an item; all captions of an image together are one item."""
        if self.pairs:
            return np.arange(len(self.pairs))
        positions = {image: position for position, image in enumerate(dict.fromkeys(self.images))}
        return np.array([positions[image] for image in self.images], dtype=np.int64)

    @property
    def images(self) -> list[int]:
        """The row id of each row's image."""
        return [row.image for row in self.pairs] or [row.item for row in self.captions]

    @property
    def size(self) -> int:
        """The number of items."""
        return int(self.item.max()) + 1

    def score_population(
        self, metrics: Sequence[str], tokenizer: str, imported: ImportedScores = NO_SCORES
    ) -> ScoredPopulation:
        """Score all rows. Raise EvaluationError if a metric cannot score them."""
        if self.pairs:
            result, scores_by_metric = score_pairs(
                self.pairs, self.documents, metrics=metrics, tokenizer=tokenizer, imported=imported
            )
            row_scores = np.stack([scores_by_metric[name] for name in metrics], axis=2)
        else:
            result = score_captions(
                self.captions, self.documents, metrics=metrics, tokenizer=tokenizer, imported=imported
            )
            row_scores = np.stack([result.scores[name].images for name in metrics], axis=1)[:, np.newaxis]
        signatures = {name: result.scores[name].signature for name in metrics}
        return ScoredPopulation(self.scores_by_item(row_scores), row_scores, signatures)

    def scores_by_item(self, row_scores: Floats) -> Floats:
        """Return the (N, 2, M) scores of pairs, or (N, 1, M) scores of captions, by item, system and metric: (I, S, M).

        If a system has two captions of an item, the second one gets a column of its own.
        """
        columns: dict[tuple[str, int], int] = {}
        output_counts: Counter[tuple[int, str]] = Counter()
        cells: list[tuple[int, int, int, int]] = []  # item, column, row and side of each score
        for row, (item, names) in enumerate(zip(self.item.tolist(), self.systems, strict=True)):
            # The two systems of a pair have a score each; all systems of a caption share its score.
            sides = enumerate(names) if self.pairs else ((0, name) for name in names or (PEOPLE,))
            for side, name in sides:
                column = columns.setdefault((name, output_counts[item, name]), len(columns))
                output_counts[item, name] += 1
                cells.append((item, column, row, side))
        item_scores = np.full((self.size, len(columns), row_scores.shape[2]), np.nan)
        item_index, column_index, row_index, side_index = np.array(cells).T
        item_scores[item_index, column_index] = row_scores[row_index, side_index]
        return item_scores


def score_population(
    study: Study, population: Population, metrics: Sequence[str], tokenizer: str
) -> ScoredPopulation:
    """Score a population, also by imported metrics. Raise EvaluationError if a metric cannot score it."""
    check_imported(study.dataset, metrics)
    return population.score_population(metrics, tokenizer, load_imported(study.dataset, metrics))


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
    batch = build_batch(full_design, study.dataset, maker=study.created_by_id)
    material = load_material(study.dataset, maker=study.created_by_id)
    items = dict(Item.objects.filter(dataset=study.dataset).values_list("name", "pk"))
    images = {image.name: image for image in material.images}
    make_population = _pair_population if batch.pairs else _caption_population
    return make_population(batch, material, images, items)


def _documents(names: set[str], material: Material, images: Mapping[str, Image]) -> list[References]:
    """Return the references of each image in the splits of the named images."""
    splits = {images[name].split for name in names}
    described_images = [image for image in material.images if image.split in splits and image.references]
    return [[text.text for text in image.references] for image in described_images]


def _pair_population(
    batch: Batch, material: Material, images: Mapping[str, Image], items: Mapping[str, int]
) -> Population:
    """Return the pairs of a draft's batch. ``images`` and ``items`` (row ids) are by the image's name."""
    pairs = []
    for row, pair in enumerate(batch.pairs):
        texts = {text.key: text.text for text in images[pair.image].references}
        references = tuple(texts[key] for key in pair.references) or tuple(texts.values())
        pairs.append(
            PairTexts(row, pair.kind, items[pair.image], pair.first.text, pair.second.text, references, 0)
        )
    return Population(
        per="pairs",
        pairs=pairs,
        captions=(),
        row_ids=[pair.key for pair in batch.pairs],
        systems=[(pair.first_system or PEOPLE, pair.second_system or PEOPLE) for pair in batch.pairs],
        documents=_documents({pair.image for pair in batch.pairs}, material, images),
    )


def _caption_population(
    batch: Batch, material: Material, images: Mapping[str, Image], items: Mapping[str, int]
) -> Population:
    """Return the captions of a draft's batch, as ``_pair_population`` does for pairs."""
    units = [
        unit
        for hit in batch.hits
        for unit in hit.units
        if not unit.control and not unit.filtered and unit.first is not None
    ]
    captions, systems = [], []
    for unit in units:
        assert unit.first is not None
        image, text = images[unit.image], unit.first.text
        references = tuple(caption.text for caption in image.references if caption.text != text)
        captions.append(CaptionTexts(None, items[unit.image], unit.first.key, text, references, np.nan))
        systems.append(tuple(dict.fromkeys(name for name, caption in image.outputs if caption.text == text)))
    return Population(
        per="images",
        pairs=(),
        captions=captions,
        row_ids=[unit.key for unit in units],
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
            row_ids=[keys[pair.pk] for pair in material.pairs],
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
    systems_by_caption: dict[tuple[int, str], list[int]] = {}
    names: dict[int, str] = {}
    rows = Output.objects.of_study(study).annotations().order_by("system__name")
    for pk, name, item, key in rows.values_list("system", "system__name", "item_id", "caption__key"):
        names[pk] = name
        systems_by_caption.setdefault((item, key), []).append(pk)
    credits_by_unit = loaders.systems_of_units(study)

    def system_names(caption: CaptionTexts) -> tuple[str, ...]:
        credits = credits_by_unit.get(caption.unit, ())
        systems = credited_systems(credits, systems_by_caption.get((caption.item, caption.key), ()))
        return tuple(dict.fromkeys(names[pk] for pk in systems if pk in names))

    return Population(
        per="images",
        pairs=(),
        captions=captions,
        row_ids=[unit_keys[caption.unit] for caption in captions if caption.unit is not None],
        systems=[system_names(caption) for caption in captions],
        documents=references.documents(),
    )
