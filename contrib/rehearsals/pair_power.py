"""The power of a study like the rehearsed one to find the better of two systems, or of two metrics, on pairs.

Such studies are simulated: their people are as often right as those of the rehearsal, and the systems or metrics differ
by given amounts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from common.amounts import as_json
from contrib.rehearsals.pairs import PairFindings
from contrib.rehearsals.simulation.truths import rehearsal_of
from judgments.models import Study, Unit
from judgments.studies.designs import design_of
from quorum.statistics.power import (
    CONVENTIONAL_POWER,
    Question,
    Size,
    TwoMetrics,
    TwoSystems,
    VoterModel,
    power_of,
)

SIMULATIONS = 400  # simulated studies for a power that is reported
QUICK_SIMULATIONS = 100  # for results of which only the order of magnitude matters
# The differences for which the power is reported: the share of pairs that the better system wins, and the difference
# of two metrics' accuracies. The power at the main differences decides whether a study counts as ready.
TRUE_SHARES_WON = (0.6, 0.7, 0.8)
ACCURACY_DIFFERENCES = (0.05, 0.1, 0.2)
MAIN_DIFFERENCES = {"systems": 0.7, "metrics": 0.1}
MAX_DOUBLINGS, MAX_JUDGMENTS = 6, 50_000  # in the search for a number of pairs that suffices


@dataclass(frozen=True, slots=True)
class PowerComparison:
    """A comparison of two systems or metrics whose power is simulated.

    Attributes:
        what: "systems" or "metrics".
        first, second: the names of two of them.
        pairs: the number of pairs in the rehearsal that compare them.
        difference: one of TRUE_SHARES_WON or of ACCURACY_DIFFERENCES.
        question: the comparison as the simulation takes it.
    """

    what: str
    first: str
    second: str
    pairs: int
    difference: float
    question: Question


def simulate_power(study: Study, findings: PairFindings, seed: int) -> list[dict[str, Any]]:
    """Return the power for each difference, with the fields of ``PowerResult``; [] if people are right by chance alone.

    The systems are the two that are compared most often. The metrics are the best two, with their agreement in the
    rehearsal.
    """
    people = findings.people
    if people is None:
        return []
    # no system truly wins ("truth") as large a share of pairs as the smallest that is reported
    shares_won = [row["truth"]["value"] or 0.0 for row in findings.systems]
    are_alike = bool(shares_won) and max(shares_won) < min(TRUE_SHARES_WON)
    units = Unit.objects.filter(study=study, control=False, pair__isnull=False).count()
    # In triplets, each pair is judged with several references, a unit for each.
    references = max(1, round(units / max(1, len(findings.truth.winners))))
    votes = design_of(study).judgments_per_unit
    rows = []
    for comparison in (*_comparisons_of_systems(study, findings), *_comparisons_of_metrics(findings)):
        question, size = comparison.question, Size(comparison.pairs, references, votes)
        (estimate,) = power_of(question, people, [size], simulations=SIMULATIONS, seed=seed)
        figures = {key: as_json(value) for key, value in asdict(estimate).items() if key != "size"}
        is_main = comparison.difference == MAIN_DIFFERENCES[comparison.what]
        needed_count = needed_pairs(question, people, size, estimate.power, seed) if is_main else None
        rows.append(
            {
                "what": comparison.what,
                "first": comparison.first,
                "second": comparison.second,
                "difference": comparison.difference,
                "main": is_main,
                "n": comparison.pairs,
            }
            | asdict(size)
            | figures
            | {"needed": needed_count, "alike": comparison.what == "systems" and are_alike}
        )
    return rows


def _comparisons_of_systems(study: Study, findings: PairFindings) -> Iterator[PowerComparison]:
    """Yield a comparison of the two systems that met most often, for each difference."""
    meetings = Counter(tuple(sorted(names)) for names in findings.compared_systems.values())
    if meetings and rehearsal_of(study).better_system_wins:  # not in triplets, where people's texts win
        # Prefer two systems to a system and people's texts, then those that met most often.
        first, second = pair = max(
            meetings, key=lambda names: ("people" not in names, meetings[names], names)
        )
        for share in TRUE_SHARES_WON:
            yield PowerComparison("systems", first, second, meetings[pair], share, TwoSystems(share))


def _comparisons_of_metrics(findings: PairFindings) -> Iterator[PowerComparison]:
    """Yield a comparison of the two best metrics, for each difference."""
    if len(findings.metrics) < 2:
        return
    first, second = (row["name"] for row in findings.metrics[:2])
    winners = findings.truth.winners
    first_is_right, second_is_right = (
        {pair: side == winners[pair] for pair, side in findings.sides_of_metrics[name].items()}
        for name in (first, second)
    )
    agreement = float(np.mean([first_is_right[pair] == second_is_right[pair] for pair in first_is_right]))
    for difference in ACCURACY_DIFFERENCES:
        # The better metric is as accurate as in the rehearsal, and the other one is not worse than chance.
        accuracy = max(findings.metrics[0]["truth"]["value"], 0.5 + difference)
        # Metrics with accuracies a and b are both right or both wrong on |a + b - 1| of the pairs at least, and on
        # 1 - |a - b| at most.
        low, high = abs(2 * accuracy - difference - 1), 1 - difference
        question = TwoMetrics(accuracy, accuracy - difference, min(max(agreement, low), high))
        yield PowerComparison("metrics", first, second, len(first_is_right), difference, question)


def needed_pairs(question: Question, people: VoterModel, size: Size, power: float, seed: int) -> int | None:
    """Return a number of pairs with which a study decides often enough; None if it would be too large.

    The number is doubled until the power suffices.
    """
    for _doubling in range(MAX_DOUBLINGS):
        if power >= CONVENTIONAL_POWER:
            break
        size = replace(size, pairs=2 * size.pairs)
        if size.judgments > MAX_JUDGMENTS:
            return None
        power = power_of(question, people, [size], simulations=QUICK_SIMULATIONS, seed=seed)[0].power
    return size.pairs if power >= CONVENTIONAL_POWER else None
