"""Estimate how often a study like the rehearsed one finds the better of two systems or metrics."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from common.amounts import as_json
from contrib.planning.assumptions import POWER_WANTED
from contrib.planning.rehearsals.pairs import KnownPairs
from evaluation.data.judgment_sets import loaders
from evaluation.data.judgment_sets.records import Decision
from evaluation.data.ranked_lists import Proposals, proposals_of
from evaluation.results.standings import MEAN, outputs_of_answers
from judgments.kinds import KINDS, RelevanceScale
from judgments.models import Study, Unit
from judgments.studies.designs import design_of
from quorum.numeric.arrays import Floats
from quorum.statistics.power import People, Question, Size, TwoMetrics, TwoSystems, power_of
from quorum.statistics.significance import LEVEL

SIMULATIONS = 400
# The differences for which the power is reported: the share of pairs that the better system wins, the difference of
# two metrics' accuracies, and steps of a scale between systems' means. The power at the main differences decides
# whether a study counts as ready.
TRUE_SHARES_WON = (0.6, 0.7, 0.8)
ACCURACY_DIFFERENCES = (0.05, 0.1, 0.2)
STEPS_APART, MAIN_STEPS = (0.5, 1.0), 0.5
MAIN_DIFFERENCES = {"systems": 0.7, "metrics": 0.1}
MAX_GRADES = 10  # a scale with at most this many grades is divided by grades, others into this many steps
QUICK_SIMULATIONS = 100  # for results of which only the order of magnitude matters
MAX_DOUBLINGS, MAX_JUDGMENTS = 6, 50_000


def simulate_power(
    study: Study,
    people: People | None,
    systems: list[dict[str, Any]],
    metrics: list[dict[str, Any]],
    named: Mapping[str, Mapping[int, int]],
    meetings: Mapping[int, tuple[str, str]],
    pairs: KnownPairs,
    seed: int,
) -> list[dict[str, Any]]:
    """Simulate studies like the rehearsed one that compare two systems, and two metrics, with given differences.

    The systems are the two that are compared most often. The metrics are the best two, with their agreement in the
    rehearsal.
    """
    if people is None:
        return []
    shares_won = [row["truth"]["value"] or 0.0 for row in systems]
    alike = bool(shares_won) and max(shares_won) < min(TRUE_SHARES_WON)
    units = Unit.objects.filter(study=study, control=False, pair__isnull=False).count()
    references = max(1, round(units / max(1, len(pairs.truth))))
    votes = design_of(study).judgments_per_unit
    rows = []
    for what, first, second, count, difference, question in [
        *_questions_of_systems(study, meetings),
        *_questions_of_metrics(metrics, named, pairs),
    ]:
        size = Size(count, references, votes)
        (estimate,) = power_of(question, people, [size], simulations=SIMULATIONS, seed=seed)
        figures = {key: as_json(value) for key, value in asdict(estimate).items() if key != "size"}
        main = difference == MAIN_DIFFERENCES[what]
        needed = needed_pairs(question, people, size, estimate.power, seed) if main else None
        rows.append(
            {
                "what": what,
                "first": first,
                "second": second,
                "difference": difference,
                "main": main,
                "n": count,
            }
            | asdict(size)
            | figures
            | {"needed": needed, "alike": what == "systems" and alike}
        )
    return rows


QuestionRow = tuple[str, str, str, int, float, Question]


def _questions_of_systems(study: Study, meetings: Mapping[int, tuple[str, str]]) -> Iterator[QuestionRow]:
    met = Counter(tuple(sorted(names)) for names in meetings.values())
    if met and KINDS[study.protocol].rehearses_systems:
        first, second = both = max(met, key=lambda names: ("people" not in names, met[names], names))
        for share in TRUE_SHARES_WON:
            yield "systems", first, second, met[both], share, TwoSystems(share)


def _questions_of_metrics(
    metrics: list[dict[str, Any]], named: Mapping[str, Mapping[int, int]], pairs: KnownPairs
) -> Iterator[QuestionRow]:
    if len(metrics) < 2:
        return
    names = [row["name"] for row in metrics[:2]]
    right = [{pair: side == pairs.truth[pair] for pair, side in named[name].items()} for name in names]
    same = float(np.mean([right[0][pair] == right[1][pair] for pair in right[0]]))
    for apart in ACCURACY_DIFFERENCES:
        accuracy = max(metrics[0]["truth"]["value"], 0.5 + apart)
        least, most = abs(2 * accuracy - apart - 1), 1 - apart
        question = TwoMetrics(accuracy, accuracy - apart, min(max(same, least), most))
        yield "metrics", *names, len(right[0]), apart, question


def power_of_means(
    study: Study, relevance: RelevanceScale, decisions: Mapping[int, Decision], truths: Mapping[int, Any]
) -> list[dict[str, Any]]:
    """Return the power for systems whose means differ by given amounts, with the variance of the best two."""
    proposals = proposals_of(study)
    outputs = outputs_of_answers(
        proposals, loaders.load_judgments(study), decisions, anonymous=False, ends=relevance.ends
    )
    if outputs is None or len(outputs.names) < 2:
        return []
    standings = outputs.standings(MEAN)
    first, second = np.argsort(-standings.strength, kind="stable")[:2].tolist()
    contrast = standings.contrast(first, second)
    low, high = relevance.ends
    step = 1.0 if high - low <= MAX_GRADES else (high - low) / MAX_GRADES
    true_means = _true_means(proposals, truths)
    alike = true_means[0] - true_means[1] < min(STEPS_APART) * step
    return [
        {
            "what": "systems",
            "first": standings.names[first],
            "second": standings.names[second],
            "difference": steps * step,
            "main": steps == MAIN_STEPS,
            "n": standings.items,
            "power": as_json(contrast.spread.power(steps * step, LEVEL)),
            "needed": None,
            "alike": bool(alike),
        }
        for steps in STEPS_APART
    ]


def _true_means(proposals: Proposals, truths: Mapping[int, Any]) -> Floats:
    """Return the systems' mean true answers, highest first."""
    output, unit = proposals.credits()
    value = np.array([float(truths.get(pk, math.nan)) for pk in proposals.units.pk.tolist()])[unit]
    drawn, system = ~np.isnan(value), proposals.system[output]
    number, total = np.bincount(system[drawn]), np.bincount(system[drawn], value[drawn])
    return np.sort(total[number > 0] / number[number > 0])[::-1]


def needed_pairs(question: Question, people: People, size: Size, power: float, seed: int) -> int | None:
    """Return a number of pairs with which a study decides often enough; None if it would be too large.

    The number is doubled until the power suffices.
    """
    for _doubling in range(MAX_DOUBLINGS):
        if power >= POWER_WANTED:
            break
        size = replace(size, pairs=2 * size.pairs)
        if size.judgments > MAX_JUDGMENTS:
            return None
        power = power_of(question, people, [size], simulations=QUICK_SIMULATIONS, seed=seed)[0].power
    return size.pairs if power >= POWER_WANTED else None
