"""Estimate results for all items from judgments of chosen items.

Each chosen item is weighted by the inverse of the probability with which it was sampled. A row is a pair or a caption.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from django.utils.translation import pgettext

from common.amounts import as_json
from common.errors import WrongState
from contrib.choosing.loading import judged_population
from contrib.choosing.population import PEOPLE, Population, score_population
from contrib.choosing.selecting import USUAL_METRICS
from evaluation.models import DEFAULT_TOKENIZER
from judgments.design.tables.sampling import ItemSelection
from judgments.models import Study
from judgments.studies.designs import design_of
from judgments.studies.generation.progress import Progress, no_progress
from quorum.numeric.arrays import Floats
from quorum.statistics.choosing import WeightedEstimate, mean_of_all_items, weighted_kendall
from quorum.statistics.meta import metric_winners

ESTIMATE_FIELDS = ("value", "low", "high", "n", "items", "effective", "reason")  # of `WeightedEstimate`
ACCURACY, WINS, MEAN, TAU = "accuracy", "wins", "mean", "tau-b"
MAX_DIFFERENCES = 45  # number of pairs of metrics, or of systems, in a result: all pairs of ten


def choice_of_study(study: Study) -> ItemSelection:
    """Return how a study's items were chosen. Raise WrongState if the study judges all items."""
    selection = design_of(study).chosen
    if selection is None:
        raise WrongState(
            pgettext("staff", "In study %(slug)r all items are judged, so its results need no weights.")
            % {"slug": study.slug}
        )
    return selection


def compute_weighted_estimates(
    *,
    study: Study,
    metrics: Sequence[str] = USUAL_METRICS,
    tokenizer: str = DEFAULT_TOKENIZER,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Estimate results over all items from the chosen ones, and compute the same results without weights.

    The results for pairs are each metric's accuracy by kind, differences between metrics, and each system's wins. The
    results for captions are each system's mean, differences between systems, and Kendall's tau-b of each metric with
    people.

    Raises:
        WrongState: no items were chosen.
        EvaluationError: there is no consensus, or a metric lacks scores.
    """
    choice = choice_of_study(study)
    progress(0.1, "reading judgments")
    population = judged_population(study)
    progress(0.3, "scoring captions")
    scores = score_population(study, population, metrics, tokenizer)
    chance = np.array([choice.chances[key] for key in population.keys])
    images = np.array(population.images)
    progress(0.7, "weighing")
    estimate_results = estimate_pairs if population.pairs else estimate_captions
    rows = estimate_results(population, scores.row_scores, metrics, WeightedEstimator(chance, images))
    return {
        "choice": choice.model_dump(mode="json", exclude={"chances"}),
        "judged": len(set(population.item.tolist())),
        "metrics": list(metrics),
        "tokenizer": tokenizer,
        "signatures": dict(scores.signatures),
        "rows": rows,
    }


class EstimatedFigure(NamedTuple):
    """A result to estimate, as the mean of a value over rows.

    Attributes:
        measure: ACCURACY, WINS or MEAN.
        name: the metric or the system, or two of them.
        values: (N,) values; nan for rows that do not count.
        kind: the kind of pairs; "" for all.
    """

    measure: str
    name: str
    values: Floats
    kind: str = ""


class WeightedEstimator:
    """Estimates results from N chosen rows of a population.

    A result is ``{"what": "accuracy", "name": "meteor", "kind": "HC", "plain": {"value": .7, "low": .6, "high": .8}}``
    and ESTIMATE_FIELDS with weights ("effective": size of an equally precise uniform sample); ``plain`` is without.

    Args:
        chance: (N,) probabilities with which the rows' items were chosen.
        images: (N,) images of the rows, which are clusters.
    """

    def __init__(self, chance: Floats, images: Any) -> None:
        self.chance, self.images = chance, images

    def means(self, figures: Sequence[EstimatedFigure]) -> list[dict[str, Any]]:
        """Return the means of the figures that have values."""
        return [self.mean(figure) for figure in figures if not np.isnan(figure.values).all()]

    def mean(self, figure: EstimatedFigure) -> dict[str, Any]:
        """Return the weighted and the unweighted mean of the values that are not nan."""
        is_known = ~np.isnan(figure.values)
        chance, images, known_values = self.chance[is_known], self.images[is_known], figure.values[is_known]
        result = self._estimate_json(
            figure.measure,
            figure.name,
            figure.kind,
            mean_of_all_items(known_values, chance, images),
            mean_of_all_items(known_values, np.ones(len(known_values)), images),
        )
        # A figure other than a mean is a share, or a difference of two shares, so its interval is limited.
        if figure.measure != MEAN:
            lower_limit = -1.0 if known_values.min() < 0 else 0.0
            for estimate in (result, result["plain"]):
                if estimate["low"] is not None:
                    estimate["low"] = max(estimate["low"], lower_limit)
                    estimate["high"] = min(estimate["high"], 1.0)
        return result

    def kendall(self, name: str, metric_scores: Floats, people: Floats) -> dict[str, Any]:
        """Return Kendall's tau-b of a metric's and people's (N,) scores."""
        weighted = weighted_kendall(metric_scores, people, self.chance, self.images)
        plain = weighted_kendall(metric_scores, people, np.ones(len(people)), self.images)
        return self._estimate_json(TAU, name, "", weighted, plain)

    @staticmethod
    def _estimate_json(
        measure: str, name: str, kind: str, weighted: WeightedEstimate, plain: WeightedEstimate
    ) -> dict[str, Any]:
        return {
            "what": measure,
            "name": name,
            "kind": kind,
            **as_json(weighted, *ESTIMATE_FIELDS),
            "plain": as_json(plain, "value", "low", "high"),
        }


def correctness_of_metrics(scores: Floats, winners: Floats) -> Floats:
    """Return a (P, M) array: 1 if a metric names people's winner of a pair, else 0; nan for pairs without a winner.

    Args:
        scores: (P, 2, M) scores of both candidates.
        winners: (P,) people's winner, 1 or 2; 0 for none.
    """
    scores_by_metric = scores.transpose(2, 1, 0)  # (M, 2, P)
    named_winners = np.stack([metric_winners(first, second) for first, second in scores_by_metric], axis=1)
    return np.where(winners[:, np.newaxis] > 0, named_winners == winners[:, np.newaxis], np.nan)


def wins_by_system(population: Population, winners: Floats) -> dict[str, Floats]:
    """Return the results of each system by name, as (P,) arrays over the P pairs.

    A win against another system is 1, a tie 0.5, a loss 0. Other pairs, and pairs that nobody judged, are nan.
    """
    wins: dict[str, Floats] = {}
    is_tied = np.array([pair.is_tied for pair in population.pairs])
    for row, (first, second) in enumerate(population.systems):
        if first == second or not (winners[row] or is_tied[row]):
            continue
        for side, name in ((1, first), (2, second)):
            system_wins = wins.setdefault(name, np.full(len(winners), np.nan))
            system_wins[row] = float(winners[row] == side) if winners[row] else 0.5
    return wins


def estimate_pairs(
    population: Population, scores: Floats, metrics: Sequence[str], estimator: WeightedEstimator
) -> list[dict[str, Any]]:
    """Estimate accuracies of metrics, their differences, and systems' wins, from (P, 2, M) scores."""
    winners = np.array([pair.winner for pair in population.pairs], dtype=np.float64)
    is_right = correctness_of_metrics(scores, winners)
    kinds = np.array([pair.kind for pair in population.pairs])
    kind_names = [kind for kind in dict.fromkeys(kinds.tolist()) if kind]
    shown_kinds = kind_names if len(kind_names) > 1 else []
    figures: list[EstimatedFigure] = []
    for index, name in enumerate(metrics):
        figures.append(EstimatedFigure(ACCURACY, name, is_right[:, index]))
        for kind in shown_kinds:
            right_in_kind = np.where(kinds == kind, is_right[:, index], np.nan)
            figures.append(EstimatedFigure(ACCURACY, name, right_in_kind, kind))
    for first, second in list(combinations(range(len(metrics)), 2))[:MAX_DIFFERENCES]:
        names = f"{metrics[first]} − {metrics[second]}"
        figures.append(EstimatedFigure(ACCURACY, names, is_right[:, first] - is_right[:, second]))
    wins = sorted(wins_by_system(population, winners).items())
    figures += [EstimatedFigure(WINS, name, values) for name, values in wins]
    return estimator.means(figures)


def scores_by_system(population: Population, people: Floats) -> dict[str, Floats]:
    """Return people's (N,) scores of captions by system; nan for others' captions. PEOPLE wrote those of no system."""
    scores: dict[str, Floats] = {}
    for row, names in enumerate(population.systems):
        for name in names or (PEOPLE,):
            scores.setdefault(name, np.full(len(people), np.nan))[row] = people[row]
    return scores


def estimate_captions(
    population: Population, scores: Floats, metrics: Sequence[str], estimator: WeightedEstimator
) -> list[dict[str, Any]]:
    """Estimate systems' means, their differences, and tau-b of metrics with people, from (N, 1, M) scores."""
    people = np.array([caption.people for caption in population.captions])
    people_by_system = scores_by_system(population, people)
    figures = [EstimatedFigure(MEAN, name, values) for name, values in sorted(people_by_system.items())]
    means = {name: _means_by_image(values, population) for name, values in people_by_system.items()}
    for first, second in list(combinations(sorted(means), 2))[:MAX_DIFFERENCES]:
        figures.append(EstimatedFigure(MEAN, f"{first} − {second}", means[first] - means[second]))
    rows = estimator.means(figures)
    rows += [estimator.kendall(name, scores[:, 0, index], people) for index, name in enumerate(metrics)]
    return rows


def _means_by_image(values: Floats, population: Population) -> Floats:
    """Return the mean of a system's (N,) values for each image. It is at the image's first row; other rows are nan.

    Thus two systems, whose captions of an image are in different rows, can be subtracted.
    """
    has_value = ~np.isnan(values)
    item, item_count = population.item, population.size
    sums = np.bincount(item[has_value], weights=values[has_value], minlength=item_count)
    counts = np.bincount(item[has_value], minlength=item_count)
    _, first_rows = np.unique(item, return_index=True)
    means = np.full(len(values), math.nan)
    with np.errstate(invalid="ignore"):
        means[first_rows] = sums / counts
    return means
