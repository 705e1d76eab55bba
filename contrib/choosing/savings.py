"""Measure how many judgments choosing items would have saved in a study that judged them all.

For each method and budget, items are sampled many times. The error of the results estimated from these samples is
compared with the error of uniform samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from django.utils.translation import pgettext

from common.amounts import json_float
from contrib.choosing.loading import judged_population
from contrib.choosing.population import Population, score_population
from contrib.choosing.selecting import UNIFORM, USUAL_METRICS, usefulness_of
from contrib.choosing.weighing import correctness_of_metrics, scores_by_system, wins_by_system
from evaluation.data.judgment_sets.study_signatures import hash_of_judgments
from evaluation.errors import EvaluationError
from evaluation.models import DEFAULT_TOKENIZER
from judgments.drawing.draws import rng_for
from judgments.models import Study
from judgments.studies.generation.progress import Progress, no_progress
from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.choosing import FLOOR, METHODS, draw_items, inclusion_probabilities

BUDGET_SHARES = (0.05, 0.1, 0.2, 0.3, 0.5)  # budgets as shares of the items
DRAWS = 200  # samples for each method and budget
MIN_ITEMS = 20  # with fewer items, the smallest budgets would be one or two items


@dataclass(frozen=True, slots=True)
class EstimatedResults:
    """The T results to estimate. Each is the mean of a value over the population's rows, which are pairs or captions.

    Attributes:
        values: (N, T) values of the N rows; nan for rows that do not count.
        groups, names: the group and the name of each result.
    """

    values: Floats
    groups: Sequence[str]
    names: Sequence[str]

    def weighted_means(self, weights: Floats) -> Floats:
        """Return the (D, T) results in D samples.

        Args:
            weights: (D, N) weights of the rows in each sample; 0 for rows that are not in it.
        """
        has_value = ~np.isnan(self.values)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((weights @ np.where(has_value, self.values, 0.0)) / (weights @ has_value))


def results_to_estimate(population: Population, scores: Floats, metrics: Sequence[str]) -> EstimatedResults:
    """Return the results to estimate: accuracies of metrics, their differences, and scores of systems.

    Args:
        scores: (N, 2, M) scores of pairs, or (N, 1, M) scores of captions.
    """
    targets: list[tuple[str, str, Floats]] = []  # group, name and values of each result
    if population.pairs:
        winners = np.array([pair.winner for pair in population.pairs], dtype=np.float64)
        is_right = correctness_of_metrics(scores, winners)
        targets += [("accuracy", name, is_right[:, index]) for index, name in enumerate(metrics)]
        targets += [
            ("difference", f"{metrics[first]} − {metrics[second]}", is_right[:, first] - is_right[:, second])
            for first, second in combinations(range(len(metrics)), 2)
        ]
        values_by_system = wins_by_system(population, winners)
    else:
        people = np.array([caption.people for caption in population.captions])
        values_by_system = scores_by_system(population, people)
    targets += [("system", name, values) for name, values in sorted(values_by_system.items())]
    groups, names, values = zip(*targets, strict=True)
    return EstimatedResults(np.stack(values, axis=1), groups, names)


def savings_rows(
    population: Population,
    usefulness: Mapping[str, Floats],
    targets: EstimatedResults,
    *,
    draws: int = DRAWS,
    seed: int = 0,
    progress: Progress = no_progress,
) -> list[dict[str, Any]]:
    """Return the error and the saving of each method, group of results and budget.

    The error is the root mean square deviation from the results of all items, over draws and a group's results. `saved`
    is the fraction of a uniform sample's items that need not be judged for the same error, negative if more are needed.
    A uniform sample of n of N items has the squared error S² (1 / n - 1 / N), with S² fitted to uniform samples.

    Args:
        usefulness: the (I,) usefulness of the items by method.
    """
    size = population.size
    budgets = sorted({max(2, round(share * size)) for share in BUDGET_SHARES})
    methods = [UNIFORM, *usefulness]
    errors: dict[tuple[str, int], dict[str, float]] = {}  # of each group, by method and budget
    for done_count, method in enumerate(methods, 1):
        for budget in budgets:
            if method == UNIFORM:
                chance = inclusion_probabilities(np.ones(size), budget, floor=1.0)  # all equal
            else:
                chance = inclusion_probabilities(usefulness[method], budget, floor=FLOOR)
            weights = _draw_weights(chance, population.item, draws, rng_for(seed, f"{method} {budget}"))
            errors[method, budget] = _errors_by_group(targets, weights)
        progress(done_count / len(methods), method)
    rows = []
    groups = list(dict.fromkeys(targets.groups))
    variance_by_group = {  # S² of each group
        group: float(
            np.mean([errors[UNIFORM, budget][group] ** 2 / (1 / budget - 1 / size) for budget in budgets])
        )
        for group in groups
    }
    for method, group, budget in product(methods, groups, budgets):
        error = errors[method, budget][group]
        rows.append(
            {
                "method": method,
                "group": group,
                "budget": budget,
                "error": json_float(error),
                "even": json_float(errors[UNIFORM, budget][group]),  # error of a uniform sample
                "saved": json_float(_saved_share(error, budget, size, variance_by_group[group])),
            }
        )
    return rows


def _errors_by_group(targets: EstimatedResults, weights: Floats) -> dict[str, float]:
    """Return the root mean square error of each group of results in samples with (D, N) weights of the rows."""
    truth = targets.weighted_means(np.ones((1, weights.shape[1])))[0]
    squared_errors = np.square(targets.weighted_means(weights) - truth)
    column_groups = np.array(targets.groups)
    return {
        group: float(np.sqrt(np.nanmean(squared_errors[:, column_groups == group])))
        for group in dict.fromkeys(targets.groups)
    }


def _draw_weights(chance: Floats, item: Ints, draws: int, generator: np.random.Generator) -> Floats:
    """Draw items D times, and return the (D, N) weights of the N rows; 0 for rows of items that were not drawn.

    Args:
        chance: (I,) probabilities of the items.
        item: (N,) index of each row's item.
    """
    item_weights = np.zeros((draws, len(chance)))
    for weights in item_weights:
        drawn_items = draw_items(chance, seed=generator)
        weights[drawn_items] = 1 / chance[drawn_items]
    return np.asarray(item_weights[:, item])


def _saved_share(error: float, budget: int, size: int, variance: float) -> float:
    """Return the share of a uniform sample that need not be judged; nan if S², ``variance``, is not positive.

    A uniform sample of n items has the squared error e² = S² (1 / n - 1 / N), so that 1 / n = e² / S² + 1 / N. The
    saved share is 1 - budget / n.
    """
    if not variance > 0:
        return np.nan
    return 1 - budget * (error * error / variance + 1 / size)


def compute_savings(
    *,
    study: Study,
    metrics: Sequence[str] = USUAL_METRICS,
    tokenizer: str = DEFAULT_TOKENIZER,
    draws: int = DRAWS,
    seed: int = 0,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Measure the savings for a judged study. Raise EvaluationError if they cannot be measured."""
    progress(0.05, "reading judgments")
    population = judged_population(study)
    if population.size < MIN_ITEMS:
        raise EvaluationError(
            pgettext(
                "staff",
                "Study %(slug)r has too few items with a consensus (%(n)s); expected at least %(fewest)s to sample "
                "from.",
            )
            % {"slug": study.slug, "n": population.size, "fewest": MIN_ITEMS}
        )
    progress(0.2, "scoring captions")
    population_scores = score_population(study, population, metrics, tokenizer)
    usefulness = {
        method: usefulness_of(method, population, population_scores)
        for method in METHODS
        if method != "disagreement" or len(metrics) > 1  # a single metric disagrees with none
    }
    targets = results_to_estimate(population, population_scores.row_scores, metrics)
    rows = savings_rows(
        population,
        usefulness,
        targets,
        draws=draws,
        seed=seed,
        progress=lambda share, message: progress(0.4 + 0.6 * share, message),
    )
    return {
        "study": study.slug,
        "per": population.per,
        "items": population.size,
        "rows_judged": len(population.keys),
        "metrics": list(metrics),
        "signatures": dict(population_scores.signatures),
        "figures": [
            {"group": group, "name": name} for group, name in zip(targets.groups, targets.names, strict=True)
        ],
        "draws": draws,
        "seed": seed,
        "floor": FLOOR,
        "data_hash": hash_of_judgments(study),
        "rows": rows,
    }
