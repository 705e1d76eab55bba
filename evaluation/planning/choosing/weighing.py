"""Weigh judgments of chosen items back, and measure what choosing would have saved by drawing from judged items."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from django.utils.translation import pgettext
from rest_framework import serializers

from common.amounts import as_json, json_float
from common.errors import WrongState
from evaluation.data.imported_scores.storing import check_imported
from evaluation.data.judgment_sets.study_signatures import hash_of_judgments
from evaluation.errors import EvaluationError
from evaluation.models import DEFAULT_TOKENIZER
from evaluation.planning.choosing.selecting import (
    EVEN,
    PEOPLE,
    USUAL_METRICS,
    Population,
    ScoresRequest,
    SeedField,
    check_can_be_chosen,
    judged_population,
    score_population,
    usefulness_of,
)
from judgments.design.tables import Chosen
from judgments.drawing.material import rng_for
from judgments.models import Study
from judgments.operations import background_operation
from judgments.studies.generation import Progress, no_progress
from judgments.studies.studies import design_of
from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.choosing import (
    FLOOR,
    METHODS,
    WeightedEstimate,
    draw_items,
    inclusion_probabilities,
    weighted_kendall,
    weighted_mean,
)
from quorum.statistics.meta import metric_winners

ESTIMATE = ("value", "low", "high", "n", "items", "effective", "reason")
ACCURACY, WINS, MEAN, TAU = "accuracy", "wins", "mean", "tau-b"
MOST_DIFFERENCES = 45  # pairs of metrics, or of systems, in a result


def chosen_of(study: Study) -> Chosen:
    """Return the choice of a study's items. Raise WrongState if all are judged."""
    chosen = design_of(study).chosen
    if chosen is None:
        raise WrongState(
            pgettext("staff", "Study %(slug)r judges all its items; there is nothing to weigh back.")
            % {"slug": study.slug}
        )
    return chosen


def _chances_of(study: Study) -> Mapping[str, float]:
    """Return pair or unit key -> probability of choice; empty if all items are judged."""
    chosen = design_of(study).chosen
    return chosen.chances if chosen else {}


def compute_weighed(
    *,
    study: Study,
    metrics: Sequence[str] = USUAL_METRICS,
    tokenizer: str = DEFAULT_TOKENIZER,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Estimate results over all items, beside unweighted ones over the chosen.

    For pairs: each metric's accuracy by kind, differences of metrics, each system's wins. For captions: each
    system's mean, differences of systems, and Kendall's tau-b of each metric with people.

    Raises:
        WrongState: no items were chosen. EvaluationError: nothing is decided, or a metric lacks scores.
    """
    chosen = chosen_of(study)
    progress(0.1, "reading judgments")
    population = judged_population(study)
    progress(0.3, "scoring captions")
    scored = score_population(study, population, metrics, tokenizer)
    chance = np.array([chosen.chances[key] for key in population.members])
    images = np.array(population.images)
    progress(0.7, "weighing")
    rows = WeightedRows(chance, images)
    figures = (pair_estimates if population.pairs else caption_estimates)(
        population, scored.of_rows, metrics, rows
    )
    return {
        "choice": chosen.model_dump(mode="json", exclude={"chances"}),
        "judged": len(set(population.item.tolist())),
        "metrics": list(metrics),
        "tokenizer": tokenizer,
        "signatures": dict(scored.signatures),
        "rows": figures,
    }


class WeightedRows:
    """Estimate from some of N rows, with (N,) chances and images."""

    def __init__(self, chance: Floats, images: Any) -> None:
        self.chance, self.images = chance, images

    def mean(self, what: str, name: str, values: Floats, kind: str = "") -> dict[str, Any]:
        """Return the mean of known values, weighted and plain."""
        known = ~np.isnan(values)
        chance, images, known_values = self.chance[known], self.images[known], values[known]
        figure = self._figure(
            what,
            name,
            kind,
            weighted_mean(known_values, chance, images),
            weighted_mean(known_values, np.ones(len(known_values)), images),
        )
        if what != MEAN:  # a share, or a difference of two
            least = -1.0 if known_values.min() < 0 else 0.0
            for estimate in (figure, figure["plain"]):
                if estimate["low"] is not None:
                    estimate |= {"low": max(estimate["low"], least), "high": min(estimate["high"], 1.0)}
        return figure

    def kendall(self, name: str, metric: Floats, people: Floats) -> dict[str, Any]:
        weighted = weighted_kendall(metric, people, self.chance, self.images)
        plain = weighted_kendall(metric, people, np.ones(len(people)), self.images)
        return self._figure(TAU, name, "", weighted, plain)

    @staticmethod
    def _figure(
        what: str, name: str, kind: str, weighted: WeightedEstimate, plain: WeightedEstimate
    ) -> dict[str, Any]:
        return {
            "what": what,
            "name": name,
            "kind": kind,
            **as_json(weighted, *ESTIMATE),
            "plain": as_json(plain, "value", "low", "high"),
        }


def metrics_agree(scores: Floats, winners: Floats) -> Floats:
    """Return (P, M) whether metrics agree with people's winner, from (P, 2, M) scores; nan if undecided."""
    predicted = np.stack(
        [metric_winners(scores[:, 0, at], scores[:, 1, at]) for at in range(scores.shape[2])], axis=1
    )
    return np.where(winners[:, np.newaxis] > 0, predicted == winners[:, np.newaxis], np.nan)


def wins_by_system(population: Population, winners: Floats) -> dict[str, Floats]:
    """Return system -> (P,) wins against other systems; a tie is half a win, nan elsewhere."""
    wins: dict[str, Floats] = {}
    tied = np.array([pair.tied for pair in population.pairs])
    for row, (first, second) in enumerate(population.systems):
        if first == second or not (winners[row] or tied[row]):
            continue
        for side, name in ((1, first), (2, second)):
            system_wins = wins.setdefault(name, np.full(len(winners), np.nan))
            system_wins[row] = float(winners[row] == side) if winners[row] else 0.5
    return wins


def pair_estimates(
    population: Population, scores: Floats, metrics: Sequence[str], rows: WeightedRows
) -> list[dict[str, Any]]:
    winners = np.array([pair.winner for pair in population.pairs], dtype=np.float64)
    right = metrics_agree(scores, winners)
    kinds = np.array([pair.kind for pair in population.pairs])
    named = [kind for kind in dict.fromkeys(kinds.tolist()) if kind]
    estimates = []
    for index, name in enumerate(metrics):
        estimates.append(rows.mean(ACCURACY, name, right[:, index]))
        for kind in named if len(named) > 1 else ():
            of_kind = np.where(kinds == kind, right[:, index], np.nan)
            if not np.isnan(of_kind).all():
                estimates.append(rows.mean(ACCURACY, name, of_kind, kind))
    for first, second in list(combinations(range(len(metrics)), 2))[:MOST_DIFFERENCES]:
        difference = f"{metrics[first]} − {metrics[second]}"
        estimates.append(rows.mean(ACCURACY, difference, right[:, first] - right[:, second]))
    estimates += [
        rows.mean(WINS, name, values) for name, values in sorted(wins_by_system(population, winners).items())
    ]
    return estimates


def scores_by_system(population: Population, people: Floats) -> dict[str, Floats]:
    """Return system -> (N,) people's scores of its captions, nan for others."""
    scores: dict[str, Floats] = {}
    for row, names in enumerate(population.systems):
        for name in names or (PEOPLE,):
            scores.setdefault(name, np.full(len(people), np.nan))[row] = people[row]
    return scores


def caption_estimates(
    population: Population, scores: Floats, metrics: Sequence[str], rows: WeightedRows
) -> list[dict[str, Any]]:
    people = np.array([caption.people for caption in population.captions])
    by_system = scores_by_system(population, people)
    estimates = [rows.mean(MEAN, name, values) for name, values in sorted(by_system.items())]
    means = {name: _means_by_image(values, population) for name, values in by_system.items()}
    for first, second in list(combinations(sorted(means), 2))[:MOST_DIFFERENCES]:
        difference = means[first] - means[second]
        if not np.isnan(difference).all():
            estimates.append(rows.mean(MEAN, f"{first} − {second}", difference))
    estimates += [rows.kendall(name, scores[:, 0, index], people) for index, name in enumerate(metrics)]
    return estimates


def _means_by_image(values: Floats, population: Population) -> Floats:
    """Return (N,) a system's mean per image in the image's first row, nan elsewhere."""
    known = ~np.isnan(values)
    item = population.item
    sums = np.bincount(item[known], weights=values[known], minlength=population.size)
    counts = np.bincount(item[known], minlength=population.size)
    _, first = np.unique(item, return_index=True)
    means = np.full(len(values), math.nan)
    with np.errstate(invalid="ignore"):
        means[first] = sums / counts
    return means


SHARES = (0.05, 0.1, 0.2, 0.3, 0.5)
DRAWS = 200
FEWEST = 20  # items, of which a twentieth is one


@dataclass(frozen=True, slots=True)
class Targets:
    """(N, T) values per row whose means are the targets, nan for unrelated rows; with group and name of each."""

    values: Floats
    groups: Sequence[str]
    names: Sequence[str]

    def of(self, weights: Floats) -> Floats:
        known = ~np.isnan(self.values)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((weights @ np.where(known, self.values, 0.0)) / (weights @ known))


def targets_of(population: Population, scores: Floats, metrics: Sequence[str]) -> Targets:
    """Return the results to estimate: accuracies of metrics and scores of systems."""
    targets: list[tuple[str, str, Floats]] = []
    if population.pairs:
        winners = np.array([pair.winner for pair in population.pairs], dtype=np.float64)
        right = metrics_agree(scores, winners)
        targets += [("accuracy", name, right[:, index]) for index, name in enumerate(metrics)]
        targets += [
            ("difference", f"{metrics[first]} − {metrics[second]}", right[:, first] - right[:, second])
            for first, second in combinations(range(len(metrics)), 2)
        ]
        of_systems = wins_by_system(population, winners)
    else:
        people = np.array([caption.people for caption in population.captions])
        of_systems = scores_by_system(population, people)
    targets += [("system", name, values) for name, values in sorted(of_systems.items())]
    groups, names, values = zip(*targets, strict=True)
    return Targets(np.stack(values, axis=1), groups, names)


def savings_rows(
    population: Population,
    usefulness: Mapping[str, Floats],
    targets: Targets,
    *,
    draws: int = DRAWS,
    seed: int = 0,
    progress: Progress = no_progress,
) -> list[dict[str, Any]]:
    """Return the error and the saving per method, group and budget.

    The error is the root mean square over draws and targets. `saved` is the share of an even draw's items
    that need not be judged for the same error, negative if more are needed. An even draw of n of N has the
    squared error S² (1 / n - 1 / N), with S² fitted to its own draws.
    """
    size = population.size
    item = population.item
    truth = targets.of(np.ones((1, len(item))))[0]
    budgets = sorted({max(2, round(share * size)) for share in SHARES})
    groups = list(dict.fromkeys(targets.groups))
    errors: dict[tuple[str, int], dict[str, float]] = {}
    methods = [EVEN, *usefulness]
    for number, method in enumerate(methods):
        for budget in budgets:
            useful = np.ones(size) if method == EVEN else usefulness[method]
            chance = inclusion_probabilities(useful, budget, floor=1.0 if method == EVEN else FLOOR)
            estimates = targets.of(_draw_weights(chance, item, draws, rng_for(seed, f"{method} {budget}")))
            off = np.square(estimates - truth)
            errors[method, budget] = {
                group: float(np.sqrt(np.nanmean(off[:, np.array(targets.groups) == group])))
                for group in groups
            }
        progress((number + 1) / len(methods), method)
    spread = {
        group: float(
            np.mean([errors[EVEN, budget][group] ** 2 / (1 / budget - 1 / size) for budget in budgets])
        )
        for group in groups
    }
    return [
        {
            "method": method,
            "group": group,
            "budget": budget,
            "error": json_float(errors[method, budget][group]),
            "even": json_float(errors[EVEN, budget][group]),
            "saved": json_float(_saved_share(errors[method, budget][group], budget, size, spread[group])),
        }
        for method in methods
        for group in groups
        for budget in budgets
    ]


def _draw_weights(chance: Floats, item: Ints, draws: int, generator: np.random.Generator) -> Floats:
    """Return (D, N) row weights, 0 for items not drawn."""
    weights = np.zeros((draws, len(chance)))
    for row in weights:
        drawn = draw_items(chance, seed=generator)
        row[drawn] = 1 / chance[drawn]
    return np.asarray(weights[:, item])


def _saved_share(error: float, budget: int, size: int, spread: float) -> float:
    if not spread > 0:
        return np.nan
    return 1 - budget * (error * error / spread + 1 / size)


def compute_savings(
    *,
    study: Study,
    metrics: Sequence[str] = USUAL_METRICS,
    tokenizer: str = DEFAULT_TOKENIZER,
    draws: int = DRAWS,
    seed: int = 0,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Measure the savings for a judged study. Raise EvaluationError."""
    progress(0.05, "reading judgments")
    population = judged_population(study)
    if population.size < FEWEST:
        raise EvaluationError(
            pgettext(
                "staff", "Study %(slug)r has %(n)s decided items, expected %(fewest)s or more to draw from."
            )
            % {"slug": study.slug, "n": population.size, "fewest": FEWEST}
        )
    progress(0.2, "scoring captions")
    scored = score_population(study, population, metrics, tokenizer)
    usefulness = {
        method: usefulness_of(method, population, scored)
        for method in METHODS
        if method != "disagreement" or len(metrics) > 1
    }
    targets = targets_of(population, scored.of_rows, metrics)
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
        "rows_judged": len(population.members),
        "metrics": list(metrics),
        "signatures": dict(scored.signatures),
        "figures": [
            {"group": group, "name": name} for group, name in zip(targets.groups, targets.names, strict=True)
        ],
        "draws": draws,
        "seed": seed,
        "floor": FLOOR,
        "data_hash": hash_of_judgments(study),
        "rows": rows,
    }


@background_operation(
    "weigh-back", "Weigh answers back to all items", job="weigh_back", parameters=ScoresRequest
)
def weigh_back(
    *, study: Study, metrics: Collection[str] = USUAL_METRICS, tokenizer: str = DEFAULT_TOKENIZER
) -> dict[str, Any]:
    """Starts a job that estimates, from chosen items, what all would say: of metrics and of systems."""
    chosen_of(study)
    check_imported(study.dataset, metrics)
    return {"metrics": list(metrics), "tokenizer": tokenizer}


class SavingsRequest(ScoresRequest):
    """With which scores items are chosen, and how often."""

    draws = serializers.IntegerField(
        min_value=20,
        max_value=2000,
        required=False,
        initial=DRAWS,
        label="Draws",
        help_text=f"How often items are drawn for each method and budget ({DRAWS}).",
    )
    seed = SeedField("Of the draws (0).")


@background_operation(
    "choice-savings", "What choosing items would have saved", job="choice_savings", parameters=SavingsRequest
)
def choice_savings(
    *,
    study: Study,
    metrics: Collection[str] = USUAL_METRICS,
    tokenizer: str = DEFAULT_TOKENIZER,
    draws: int = DRAWS,
    seed: int = 0,
) -> dict[str, Any]:
    """Starts a job that chooses from what people judged already, and compares with an even draw of as many."""
    check_can_be_chosen(study)
    check_imported(study.dataset, metrics)
    return {"metrics": list(metrics), "tokenizer": tokenizer, "draws": draws, "seed": seed}
