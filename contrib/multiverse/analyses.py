"""Compare metrics with people under one specification (options of an analysis): accuracies, or correlations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from contrib.multiverse.choices import (
    ALL,
    COEFFICIENTS,
    HALF,
    METRIC_TIES,
    OWN_DROPPED,
    OWN_KEPT,
    TRIPLET_TIES,
    UNDECIDED_CHOICES,
    Specification,
)
from contrib.multiverse.votes import StudyVotes, draw_half
from evaluation.data.imported_scores import load_imported
from evaluation.data.judgment_sets import loaders
from evaluation.results.metrics.scoring import score_captions, score_pairs
from evaluation.results.metrics.study_texts import (
    CaptionConsensus,
    caption_texts,
    captions_of_several_units,
    pair_texts,
)
from evaluation.results.metrics.texts import CaptionTexts, PairTexts, weights_of_captions
from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.correlation import correlation, correlation_influences
from quorum.statistics.crossed import ITEM, NAIVE, Clusters
from quorum.statistics.meta import metric_winners, pair_credits

Texts = TypeVar("Texts", PairTexts, CaptionTexts)


@dataclass(frozen=True, slots=True)
class SpecificationFigures:
    """The results of metrics under a specification, which rest on N pairs or captions.

    Attributes:
        values: the accuracy or coefficient of each metric; nan if undefined.
        influences: for each metric, the (N,) influence of each pair or caption on the value.
        clusters: the clusters of the N pairs or captions.
    """

    values: dict[str, float]
    influences: dict[str, Floats]
    clusters: Clusters


class _ComparedMetrics:
    """The metrics of an evaluation, to be compared with people.

    Attributes:
        computed: names of the metrics that are computed; the scores of the others were imported.
    """

    def __init__(self, votes: StudyVotes, metrics: Sequence[str], tokenizer: str) -> None:
        self._votes, self._metrics, self._tokenizer = votes, metrics, tokenizer
        self._imported = load_imported(votes.study.dataset, metrics)
        self.computed = [name for name in metrics if name not in self._imported.names]

    def _halve_references(self, texts: Sequence[Texts]) -> list[Texts]:
        # the same halves at each call
        generator = np.random.default_rng(self._votes.seed)
        return [replace(row, references=draw_half(row.references, generator)) for row in texts]


class PairMetrics(_ComparedMetrics):
    """Metrics of pairs, whose values are their accuracies."""

    axis = "accuracy"  # what the axis of a plot shows, in wording.toml
    shows = "share"  # format of the values

    def __init__(self, votes: StudyVotes, metrics: Sequence[str], tokenizer: str) -> None:
        super().__init__(votes, metrics, tokenizer)
        references = loaders.load_references(votes.study)
        material = pair_texts(votes.study, references)
        self._pairs, self._documents = material.pairs, material.documents
        self._pks = [pair.pk for pair in self._pairs]
        items = loaders.clusters_of_items(votes.study, [pair.image for pair in self._pairs])
        _, self._images = np.unique(items, return_inverse=True)  # a number for each pair's image

    @property
    def options(self) -> dict[str, Sequence[str]]:
        """The possible options of each choice but the tokenizer, by name of the choice; () if there is no choice."""
        # in triplets, a pair has a unit for each reference
        has_several_units = len(np.unique(self._votes.units.pair)) < len(self._votes.units)
        has_undecided_pairs = not self._votes.winners({}, self._pks).all()  # {}: all choices as usual
        min_references = min(len(pair.references) for pair in self._pairs)
        return {
            "controls": self._votes.thresholds,
            "aggregation": self._votes.aggregation_rules,
            "triplet_ties": TRIPLET_TIES if has_several_units else (),
            "undecided": UNDECIDED_CHOICES if has_undecided_pairs else (),
            "metric_ties": METRIC_TIES,
            "references": (ALL, HALF) if self.computed and min_references > 1 else (),
            "clusters": (ITEM, NAIVE),
        }

    def winners_of_metrics(self, specification: Specification) -> Mapping[str, Ints]:
        """Return the (P,) winners of P pairs by each metric: 1 or 2, or 0 for none."""
        tokenizer = specification.get("tokenizer", self._tokenizer)
        references = specification.get("references", ALL)

        def compute() -> dict[str, Ints]:
            pairs = self._pairs if references == ALL else self._halve_references(self._pairs)
            _, scores = score_pairs(
                pairs, self._documents, metrics=self._metrics, tokenizer=tokenizer, imported=self._imported
            )
            return {name: metric_winners(sides[:, 0], sides[:, 1]) for name, sides in scores.items()}

        return self._votes.cached_result(("scores", tokenizer, references), compute)

    def figures(self, specification: Specification) -> SpecificationFigures:
        winners = self._votes.winners(specification, self._pks)
        rules = {
            "metric_ties": specification.get("metric_ties", METRIC_TIES[0]),
            "undecided": specification.get("undecided", UNDECIDED_CHOICES[0]),
        }
        values, influences = {}, {}
        is_counted_for_any: Flags = np.zeros(len(winners), dtype=np.bool_)
        for name, winners_of_metric in self.winners_of_metrics(specification).items():
            credit, is_counted = pair_credits(winners_of_metric, winners, **rules)
            n = int(is_counted.sum())
            values[name] = float(credit[is_counted].mean()) if n else math.nan
            # the influence of a row on a mean: its deviation from the mean, divided by n
            influences[name] = np.where(is_counted, credit - values[name], 0.0) / max(n, 1)
            is_counted_for_any |= is_counted
        return _figures(values, influences, is_counted_for_any, self._images, specification)


class CaptionMetrics(_ComparedMetrics):
    """Metrics of captions, whose values are rank correlations with people's scores."""

    axis = "tau"
    shows = "coefficient"

    def __init__(self, votes: StudyVotes, metrics: Sequence[str], tokenizer: str) -> None:
        super().__init__(votes, metrics, tokenizer)
        study = votes.study
        self._references = loaders.load_references(study)
        self._documents = self._references.documents()
        captions = captions_of_several_units(study, votes.table_under({}))  # {}: all choices as usual
        self._has_unit_captions = captions is None  # otherwise several units judge each caption
        if captions is None:
            captions = self._captions_of_units()
        self._captions, counts = caption_texts(study, captions, self._references)
        # unequal if a sample of the captions that the design's filter left out was judged, to audit the filter
        self._weights = weights_of_captions(self._captions)
        self._has_own_references = counts["own_reference_dropped"] > 0
        # a number for each caption's image
        _, self._images = np.unique([caption.item for caption in self._captions], return_inverse=True)

    def _captions_of_units(self) -> list[CaptionConsensus]:
        """Return the captions of all units, but for unjudged units that lack an imported score of a metric.

        A unit is unjudged if it has no consensus under the usual choices; another specification may use its judgments.
        """
        rows = loaders.caption_units(self._votes.study)
        consensus = self._votes.consensus({})
        judged_units = {unit for unit, outcome in consensus.items() if outcome.value is not None}
        has_scores = self._imported.has_scores([(item, text) for _unit, item, _key, text in rows])
        captions = []
        for row, has_score in zip(rows, has_scores.tolist(), strict=True):
            unit, _item, _key, _text = row
            if has_score or unit in judged_units:
                # 0.0 is no score: people's scores depend on the specification
                captions.append(CaptionConsensus(*row, 0.0))
        return captions

    @property
    def options(self) -> dict[str, Sequence[str]]:
        references = [OWN_DROPPED, OWN_KEPT] if self._has_own_references else [ALL]
        if min(len(caption.references) for caption in self._captions) > 1:
            references.append(HALF)
        return {
            "controls": self._votes.thresholds,
            "aggregation": self._votes.aggregation_rules if self._has_unit_captions else (),
            "coefficient": COEFFICIENTS,
            "references": references if self.computed else (),
            "clusters": (ITEM, NAIVE),
        }

    def scores(self, specification: Specification) -> Mapping[str, Floats]:
        """Return the (N,) scores of N captions by each metric."""
        tokenizer = specification.get("tokenizer", self._tokenizer)
        references = specification.get("references", "")

        def compute() -> dict[str, Floats]:
            captions = self._with_references(references)
            result = score_captions(
                captions, self._documents, metrics=self._metrics, tokenizer=tokenizer, imported=self._imported
            )
            # ``images`` has a score for each caption
            return {name: metric_scores.images for name, metric_scores in result.scores.items()}

        return self._votes.cached_result(("scores", tokenizer, references), compute)

    def _with_references(self, references: str) -> list[CaptionTexts]:
        """Return the captions with the references of an option: half of them, or also those that equal the caption."""
        if references == HALF:
            return self._halve_references(self._captions)
        if references == OWN_KEPT:
            texts = {item: [text for _, text in rows] for item, rows in self._references.of_item.items()}
            return [replace(caption, references=texts[caption.item]) for caption in self._captions]
        return self._captions

    def figures(self, specification: Specification) -> SpecificationFigures:
        people_scores = self._votes.people_scores(specification, self._captions)
        is_used = ~np.isnan(people_scores)
        coefficient = specification.get("coefficient", COEFFICIENTS[0])
        values, influences = {}, {}
        for name, scores in self.scores(specification).items():
            weights = None if self._weights is None else self._weights[is_used]
            estimate = correlation(
                scores[is_used], people_scores[is_used], coefficient, weights=weights, resamples=0
            )
            values[name] = estimate.value
            influences[name] = np.zeros(len(people_scores))
            if not estimate.reason:
                # with weights, the influence of one unit of weight
                row_influences = correlation_influences(
                    scores[is_used], people_scores[is_used], coefficient, estimate.value, weights=weights
                )
                influences[name][is_used] = row_influences if weights is None else weights * row_influences
        return _figures(values, influences, is_used, self._images, specification)


def _figures(
    values: dict[str, float],
    influences: dict[str, Floats],
    is_used: Flags,
    images: Ints,
    specification: Specification,
) -> SpecificationFigures:
    """Return the figures of the pairs or captions that are used, with the clusters of the specification."""
    is_naive = specification.get("clusters") == NAIVE
    # Naively, each pair or caption is a cluster of its own.
    columns = {"row": np.arange(len(is_used))} if is_naive else {ITEM: images}
    clusters = Clusters.from_columns(columns, len(is_used), is_used)
    return SpecificationFigures(
        values, {name: influence[is_used] for name, influence in influences.items()}, clusters
    )
