"""Choose items of a draft by scores at hand, and store them with their probabilities in its design."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, pgettext
from rest_framework import serializers

from common.amounts import thousands
from common.errors import WrongState
from common.parameters import KeysField
from evaluation.data.imported_scores.storing import NO_SCORES, ImportedScores, check_imported, imported_scores
from evaluation.data.judgment_sets import loaders
from evaluation.errors import EvaluationError, as_sentence
from evaluation.models import DEFAULT_TOKENIZER
from evaluation.results.consensus import consensus_of
from evaluation.results.meta_evaluation import judged_captions, pair_texts
from evaluation.results.metric_figures import CaptionTexts, PairTexts, References, score_captions, score_pairs
from evaluation.results.operations import AnyMetricsRequest, TokenizerField, metric_names
from judgments.access.roles import note_event
from judgments.design.reading import make_design
from judgments.drawing.material import Batch, Image, Material, rng_for
from judgments.kinds import KINDS
from judgments.models import Item, Output, Study
from judgments.models.studies import credited
from judgments.operations import CommandHelp, Outcome, operation
from judgments.studies.generation import Progress, build_batch, load_material, no_progress
from judgments.studies.studies import change_design, design_of
from quorum.numeric.arrays import Floats, Ints
from quorum.statistics import choosing
from quorum.statistics.choosing import FLOOR, METHODS, draw_items, inclusion_probabilities
from quorum.statistics.inputs import StatisticsError, one_of

PEOPLE = "people"


@dataclass(frozen=True, slots=True)
class ScoredPopulation:
    """Scores of a population.

    table: (I, S, M), higher is better, nan without a caption. of_rows: (N, 2, M) for pairs, else (N, 1, M).
    signatures: by metric.
    """

    table: Floats
    of_rows: Floats
    signatures: Mapping[str, str]


@dataclass(frozen=True)
class Population:
    """Candidate pairs, or images with all their captions, to choose from.

    Either pairs or captions is empty. members: each row's id for ``sampling.only``. systems: names per row,
    two for a pair. documents: references of all images.
    """

    per: str
    pairs: Sequence[PairTexts]
    captions: Sequence[CaptionTexts]
    members: Sequence[str]
    systems: Sequence[tuple[str, ...]]
    documents: Sequence[References]

    @cached_property
    def item(self) -> Ints:
        """Return (N,) item positions: a pair is its own item, a caption's is its image."""
        if self.pairs:
            return np.arange(len(self.pairs))
        positions = {image: position for position, image in enumerate(dict.fromkeys(self.images))}
        return np.array([positions[image] for image in self.images], dtype=np.int64)

    @property
    def images(self) -> list[int]:
        return [row.image for row in self.pairs] or [row.item for row in self.captions]

    @property
    def size(self) -> int:
        return int(self.item.max()) + 1

    def scored(
        self, metrics: Sequence[str], tokenizer: str, imported: ImportedScores = NO_SCORES
    ) -> ScoredPopulation:
        """Score all rows. Raise EvaluationError."""
        if self.pairs:
            scored, tables = score_pairs(
                self.pairs, self.documents, metrics=metrics, tokenizer=tokenizer, imported=imported
            )
            rows = np.stack([tables[name] for name in metrics], axis=2)
        else:
            scored = score_captions(
                self.captions, self.documents, metrics=metrics, tokenizer=tokenizer, imported=imported
            )
            rows = np.stack([scored.scores[name].images for name in metrics], axis=1)[:, np.newaxis]
        signatures = {name: scored.scores[name].signature for name in metrics}
        return ScoredPopulation(self.by_system(rows), rows, signatures)

    def by_system(self, rows: Floats) -> Floats:
        """Arrange (N, 2 or 1, M) scores by item and system; a system's second caption of an item has its
        own column.
        """
        columns: dict[tuple[str, int], int] = {}
        seen: Counter[tuple[int, str]] = Counter()
        cells: list[tuple[int, int, int, int]] = []
        for row, (item, names) in enumerate(zip(self.item.tolist(), self.systems, strict=True)):
            sides = enumerate(names) if self.pairs else ((0, name) for name in names or (PEOPLE,))
            for side, name in sides:
                column = columns.setdefault((name, seen[item, name]), len(columns))
                seen[item, name] += 1
                cells.append((item, column, row, side))
        table = np.full((self.size, len(columns), rows.shape[2]), np.nan)
        item_of, column_of, row_of, side_of = np.array(cells).T
        table[item_of, column_of] = rows[row_of, side_of]
        return table


def score_population(
    study: Study, population: Population, metrics: Sequence[str], tokenizer: str
) -> ScoredPopulation:
    """Score a population, also by imported metrics. Raise EvaluationError."""
    check_imported(study.dataset, metrics)
    return population.scored(metrics, tokenizer, imported_scores(study.dataset, metrics))


def check_can_be_chosen(study: Study) -> None:
    """Raise WrongState if the study's items cannot be chosen."""
    kind = KINDS[study.protocol]
    if not kind.chosen_by_id:
        raise WrongState(
            pgettext("staff", "%(name)s has no items that could be chosen one by one.") % {"name": kind.name}
        )


def population_of_draft(study: Study) -> Population:
    """Return all that the draft could ask, without its choice. Raise DesignError, WrongState."""
    check_can_be_chosen(study)
    design = design_of(study)
    everything = design.model_copy(
        update={"chosen": None, "sampling": design.sampling.model_copy(update={"only": ()})}
    )
    batch = build_batch(everything, study.dataset, maker=study.created_by_id)
    material = load_material(study.dataset, maker=study.created_by_id)
    items = dict(Item.objects.filter(dataset=study.dataset).values_list("name", "pk"))
    images = {image.name: image for image in material.images}
    return (_pairs if batch.pairs else _captions)(batch, material, images, items)


def _documents(judged: set[str], material: Material, images: Mapping[str, Image]) -> list[References]:
    splits = {images[name].split for name in judged}
    described = [image for image in material.images if image.split in splits and image.references]
    return [[text.text for text in image.references] for image in described]


def _pairs(
    batch: Batch, material: Material, images: Mapping[str, Image], items: Mapping[str, int]
) -> Population:
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
        members=[pair.key for pair in batch.pairs],
        systems=[(pair.first_system or PEOPLE, pair.second_system or PEOPLE) for pair in batch.pairs],
        documents=_documents({pair.image for pair in batch.pairs}, material, images),
    )


def _captions(
    batch: Batch, material: Material, images: Mapping[str, Image], items: Mapping[str, int]
) -> Population:
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
        members=[unit.key for unit in units],
        systems=systems,
        documents=_documents({unit.image for unit in units}, material, images),
    )


def judged_population(study: Study) -> Population:
    """Return judged rows with their consensus. Raise EvaluationError if nothing is decided."""
    check_can_be_chosen(study)
    table = loaders.load_judgments(study)
    consensus, references = consensus_of(study, table), loaders.load_references(study)
    if KINDS[study.protocol].compares_pairs:
        pairs, documents, _leading = pair_texts(study, consensus, references)
        keys = {row.pk: row.key for row in loaders.pair_rows(study)}
        return Population(
            per="pairs",
            pairs=pairs,
            captions=(),
            members=[keys[pair.pk] for pair in pairs],
            systems=[pair.systems for pair in pairs],
            documents=documents,
        )
    captions, _counts = judged_captions(study, consensus, table, references)
    unit_keys = {row.pk: row.key for row in loaders.unit_rows(study)}
    if any(caption.unit is None for caption in captions):
        raise EvaluationError(
            pgettext("staff", "Study %(slug)r judges captions in lists, of which none can be weighed alone.")
            % {"slug": study.slug}
        )
    gave: dict[tuple[int, str], list[int]] = {}
    names: dict[int, str] = {}
    rows = Output.objects.of_study(study).annotations().order_by("system__name")
    for pk, name, item, key in rows.values_list("system", "system__name", "item_id", "caption__key"):
        names[pk] = name
        gave.setdefault((item, key), []).append(pk)
    of_file = loaders.systems_of_units(study)
    return Population(
        per="images",
        pairs=(),
        captions=captions,
        members=[unit_keys[caption.unit] for caption in captions if caption.unit is not None],
        systems=[
            tuple(
                dict.fromkeys(
                    names[pk]
                    for pk in credited(of_file.get(text.unit, ()), gave.get((text.item, text.key), ()))
                    if pk in names
                )
            )
            for text in captions
        ],
        documents=references.documents(),
    )


EVEN, ALL = "even", "all"
ITEM_LABELS = {"pairs": gettext_noop("candidate pairs"), "images": gettext_noop("items")}

# Differ in what they reward, and take seconds for thousands of captions
USUAL_METRICS = ("bleu-4", "rouge-l", "cider-d")
MOST = 100_000  # ids in a design


def usefulness_of(method: str, population: Population, scored: ScoredPopulation | None) -> Floats:
    """Return (I,) usefulness of items. Raise EvaluationError."""
    if method == EVEN:
        return np.ones(population.size)
    assert scored is not None
    try:
        one_of(method, METHODS, "method")  # a job that waited since an earlier version may name another
        if method == "disagreement":
            return choosing.order_disagreement(scored.table)
        if population.pairs:
            return choosing.comparison_information(scored.of_rows)
        return choosing.score_information(scored.table)
    except StatisticsError as error:
        raise EvaluationError(as_sentence(error)) from None


def check_not_frozen(study: Study) -> None:
    """Raise WrongState if items cannot be chosen any more."""
    check_can_be_chosen(study)
    if study.state != Study.State.DRAFT:
        raise WrongState(
            pgettext("staff", "Study %(slug)r is %(state)s; items are chosen for a draft.")
            % {"slug": study.slug, "state": _(study.state)}
        )


def compute_choice(
    *,
    study: Study,
    method: str,
    budget: int,
    metrics: Sequence[str] = USUAL_METRICS,
    tokenizer: str = DEFAULT_TOKENIZER,
    floor: float | None = None,
    seed: int = 0,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Return ``chosen`` and the ids of ``sampling.only`` without storing them.

    Raises:
        WrongState: no draft, or unsuitable kind. EvaluationError: unfit budget or metric.
    """
    check_not_frozen(study)
    progress(0.05, "drawing")
    population = population_of_draft(study)
    if budget > population.size:
        raise EvaluationError(
            pgettext("staff", "budget is %(budget)s, but the design has %(n)s %(what)s; expected fewer.")
            % {
                "budget": thousands(budget),
                "n": thousands(population.size),
                "what": _(ITEM_LABELS[population.per]),
            }
        )
    if method == EVEN:
        scored, floor = None, 1.0
    else:
        progress(0.2, "scoring captions")
        scored = score_population(study, population, metrics, tokenizer)
        floor = FLOOR if floor is None else floor
    progress(0.7, "choosing")
    try:
        chance = inclusion_probabilities(usefulness_of(method, population, scored), budget, floor=floor)
    except StatisticsError as error:
        raise EvaluationError(as_sentence(error)) from None
    drawn = set(draw_items(chance, seed=rng_for(seed, "chosen items")).tolist())
    chances = {
        key: float(chance[item])
        for key, item in zip(population.members, population.item.tolist(), strict=True)
        if item in drawn
    }
    if len(chances) > MOST:
        raise EvaluationError(
            pgettext("staff", "%(n)s units would be chosen, expected %(most)s at most in a design.")
            % {"n": thousands(len(chances)), "most": thousands(MOST)}
        )
    chosen = {
        "method": method,
        "scores": dict(scored.signatures) if scored else {},
        "seed": seed,
        "floor": floor,
        "per": population.per,
        "budget": budget,
        "population": population.size,
        "chances": chances,
    }
    return {"chosen": chosen, "only": sorted(chances)}


@transaction.atomic
def store_choice(*, study: Study, choice: dict[str, Any] | None, by: User | None = None) -> Study:
    """Write a choice into a draft's design; None removes it."""
    values = study.design | {
        "sampling": study.design["sampling"] | {"only": choice["only"] if choice else []},
    }
    values.pop("chosen", None)
    if choice:
        values["chosen"] = choice["chosen"]
    elif study.design.get("chosen") is None:
        return study
    changed = change_design(study=study, design=make_design(values))
    sentence = "All items are judged again."
    if choice:
        chosen = choice["chosen"]
        sentence = (
            f"{chosen['budget']:,} of {chosen['population']:,} {chosen['per']} were chosen by {chosen['method']}, seed "
            f"{chosen['seed']}."
        )
    note_event(study=changed, what="items-chosen", sentence=sentence, by=by)
    return changed


def describe_choice(choice: dict[str, Any] | None) -> str:
    if not choice:
        return _("All items are judged again; the choice was taken back.")
    chosen = choice["chosen"]
    return pgettext("staff", "%(budget)s of %(n)s %(what)s were chosen (%(method)s, seed %(seed)s).") % {
        "budget": thousands(chosen["budget"]),
        "n": thousands(chosen["population"]),
        "what": _(ITEM_LABELS[chosen["per"]]),
        "method": chosen["method"],
        "seed": chosen["seed"],
    }


MOST_METRICS = 12


class SeedField(serializers.IntegerField):
    def __init__(self, help_text: str) -> None:
        super().__init__(
            min_value=0, max_value=2**53, required=False, initial=0, label="Seed", help_text=help_text
        )


class ScoresRequest(AnyMetricsRequest):
    """The metrics whose scores are at hand."""

    metrics = KeysField(
        required=False,
        min_length=1,
        max_length=MOST_METRICS,
        initial=list(USUAL_METRICS),
        help_text=f"Metrics, computed or imported (default: {', '.join(USUAL_METRICS)}).",
        style={"choices": metric_names},
    )
    tokenizer = TokenizerField()

    def validate_metrics(self, value: list[str]) -> list[str]:
        return list(dict.fromkeys(super().validate_metrics(value)))


class SelectItemsRequest(ScoresRequest):
    """What makes an item useful, and how many are asked about (docs/choosing.md)."""

    method = serializers.ChoiceField(
        choices=[*METHODS, EVEN, ALL],
        label="What makes an item useful",
        help_text="Disagreement or information of metrics; even: nothing does; all: take the choice back.",
    )
    budget = serializers.IntegerField(
        min_value=1,
        max_value=1_000_000,
        required=False,
        label="How many items",
        help_text="Candidate pairs, or items with all their captions.",
    )
    floor = serializers.FloatField(
        min_value=0.01,
        max_value=1,
        required=False,
        label="Chance of a useless item",
        help_text=f"In parts of an even draw's (default: {FLOOR}); no item weighs more than one over it.",
    )
    seed = SeedField("Of the draw (0).")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["method"] != ALL and "budget" not in attrs:
            raise serializers.ValidationError({"budget": ["Say how many items are chosen."]})
        return super().validate(attrs)


@operation(
    "select-items",
    "Choose the items",
    parameters=SelectItemsRequest,
    job="select_items",
    check=check_not_frozen,
    command=CommandHelp(
        "Choose the items of a draft by scores at hand, each with a chance that goes with its usefulness, so that "
        "results can be weighed back to all items (docs/choosing.md). --method all takes the choice back.",
        "arena --method disagreement --metrics cider-d,rouge-l --budget 200 --seed 1",
    ),
)
def select_items(*, study: Study, by: User | None, progress: Progress, method: str, **how: Any) -> Outcome:
    """Draws items with chances that go with their usefulness into the draft's design; follow the job."""
    choice = None if method == ALL else compute_choice(study=study, method=method, **how, progress=progress)
    store_choice(study=study, choice=choice, by=by)
    return Outcome(describe_choice(choice), choice)
