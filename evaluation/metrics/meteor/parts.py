"""The figures that one METEOR score is made of, for its explanation."""

from dataclasses import dataclass

from evaluation.metrics.meteor.alignment import (
    CHUNKS,
    FUNCTION_1,
    FUNCTION_2,
    LENGTH_1,
    LENGTH_2,
    MATCHED,
    PER_STAGE,
)
from evaluation.metrics.meteor.relations import STAGES
from evaluation.metrics.meteor.scoring import ALPHA, BETA, DELTA, GAMMA, WEIGHTS, MeteorStatistics


@dataclass(frozen=True, slots=True)
class Matches:
    """The candidate's words of one sort that a stage matched; `each` is what one of them weighs."""

    name: str
    words: int
    each: float
    weight: float


@dataclass(frozen=True, slots=True)
class TakenApart:
    """The figures of one candidate beside one reference."""

    matches: tuple[Matches, ...]
    precision: float
    recall: float
    mean: float
    chunks: float
    penalty: float


def taken_apart(statistics: MeteorStatistics, row: int) -> TakenApart:
    """What the score of a row of the statistics is computed from."""
    counts = statistics.counts[row].tolist()
    matches = []
    weighted = [0.0, 0.0]
    matched = [0, 0]
    for stage, name in enumerate(STAGES):
        for kind, (sort, share) in enumerate((("content", DELTA), ("function", 1.0 - DELTA))):
            each = WEIGHTS[stage] * share
            ours, theirs = (counts[MATCHED + PER_STAGE * stage + 2 * kind + side] for side in range(2))
            matches.append(Matches(f"{name}, {sort} words", ours, each, ours * each))
            weighted[0] += ours * each
            weighted[1] += theirs * each
            matched[0] += ours
            matched[1] += theirs
    if not all(weighted):
        return TakenApart(tuple(matches), 0.0, 0.0, 0.0, counts[CHUNKS], 0.0)
    of = [
        DELTA * (counts[length] - counts[function]) + (1.0 - DELTA) * counts[function]
        for length, function in ((LENGTH_1, FUNCTION_1), (LENGTH_2, FUNCTION_2))
    ]
    precision, recall = weighted[0] / of[0], weighted[1] / of[1]
    whole = matched[0] == counts[LENGTH_1] and matched[1] == counts[LENGTH_2] and counts[CHUNKS] == 1
    fragments = 0.0 if whole else counts[CHUNKS] / (sum(matched) / 2)
    return TakenApart(
        matches=tuple(matches),
        precision=precision,
        recall=recall,
        mean=1.0 / ((1.0 - ALPHA) / precision + ALPHA / recall),
        chunks=counts[CHUNKS],
        penalty=GAMMA * fragments**BETA,
    )
