"""Early stopping: a unit gets no more judgments when these could not change its outcome.

This module computes the outcomes that are still possible, draws the pages of work that get all judgments nevertheless,
and estimates the share of judgments that are asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from judgments.design.study_design import StudyDesign
from judgments.design.tables.controls import Stopping
from judgments.drawing.draws import rng_for
from judgments.kinds import KINDS, Kind
from quorum.statistics.stopping import expected_votes, leads_enough, simulate_stopping

ASSUMED_ACCURACY = 0.8  # probability that an answer is right, which plans assume
SIMULATED_PAIRS = 400  # number of pairs whose votes are simulated to estimate the share of judgments


def describe_stopping(design: StudyDesign) -> str:
    """Return the stopping rule and its settings for a signature."""
    rule = design.stopping
    margin = f"-{rule.margin}-from-{rule.minimum}" if rule.rule == "margin" else ""
    return f"{rule.rule}{margin},full-depth-{rule.full_depth:g}"


def outcome_bounds(
    kind: Kind, stopping: Stopping, values: Sequence[float], remaining: int
) -> tuple[int, int]:
    """Return the lowest and highest outcome that a unit with the answers ``values`` can still get.

    Up to ``remaining`` more answers may follow. Outcome 1 is the first answer, -1 the second answer, and 0 a tie. Under
    the rule "margin", a lead that reaches the margin is final after the minimum number of answers.
    """
    if stopping.rule == "margin":
        outcomes = Counter(map(kind.outcome_of, values))
        # the two largest counts; 0 if there are fewer outcomes
        lead_count, next_count = ([count for _, count in outcomes.most_common(2)] + [0, 0])[:2]
        if leads_enough(lead_count, next_count, minimum=stopping.minimum, margin=stopping.margin):
            return kind.aggregation.outcome_range(values, 0)
    return kind.aggregation.outcome_range(values, remaining)


def full_depth_hits(design: StudyDesign, hit_count: int) -> frozenset[int]:
    """Draw the numbers, from 0, of the HITs that always get all judgments.

    Whole HITs are drawn, not single units, so that each of the others can end early as a whole, which saves its pay.
    Since HITs have random units, the units are still a random sample.
    """
    share = design.stopping.full_depth
    count = min(hit_count, max(1, round(share * hit_count))) if share else 0
    return frozenset(rng_for(design.seed, "full depth").permutation(hit_count)[:count].tolist())


def expected_share(design: StudyDesign, *, units_per_pair: int, accuracy: float = ASSUMED_ACCURACY) -> float:
    """Return the expected share of the planned judgments that a study asks for under its stopping rule.

    Args:
        units_per_pair: number of units of a candidate pair, each with another reference; 1 for single units.
        accuracy: the assumed probability that an answer is right.
    """
    stopping, votes = design.stopping, design.judgments_per_unit
    if stopping.rule == "none" or units_per_pair < 1:  # callers round a mean over pairs, even to 0
        return 1.0
    kind = KINDS[design.protocol]
    if units_per_pair > 1:
        share = simulate_stopping(
            accuracy=accuracy, references=units_per_pair, votes=votes, pairs=SIMULATED_PAIRS, rule=stopping.rule,
            minimum=stopping.minimum, margin=stopping.margin, seed=design.seed,
        ).share  # fmt: skip
    else:

        def bounds_after(first: int, second: int, remaining: int) -> tuple[int, int]:
            values = [kind.values[0]] * first + [kind.values[-1]] * second
            return outcome_bounds(kind, stopping, values, remaining)

        # If the two answers are not symmetric, as in relevance, assume that each is right for half of the units.
        expected_counts = [
            expected_votes(bounds_after, votes=votes, accuracy=probability)
            for probability in (accuracy, 1 - accuracy)
        ]
        share = sum(expected_counts) / 2 / votes
    return stopping.full_depth + (1 - stopping.full_depth) * share
