"""How often a metric names the same winner as people do (V15 section 3)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from evaluation.statistics.errors import BadOption, BadValue
from evaluation.statistics.resampling import CONFIDENCE, check_confidence
from evaluation.statistics.score_vectors import score_vector
from evaluation.statistics.signed import signed
from evaluation.statistics.tables import Floats, encode, finite_vector, is_real, same_length

# Two scores of one candidate pair that differ by less than this part of their size differ by rounding.
TIE_TOLERANCE = 1e-12

NO_PAIRS = "no pair has a consensus"


@dataclass(frozen=True, slots=True)
class AccuracyResult:
    """Accuracy of a metric on the pairs of one kind, with a Wilson interval.

    `value` is `correct` over `n`, the pairs with a consensus; a metric's tie counts as wrong, as in V15.
    `pairs` = `n` + `no_consensus`. The other readings: `value_ties_half` gives a metric's tie half a
    point; `value_all_pairs` draws a winner at random for pairs without a consensus (in expectation, so a
    metric that names a winner gets half a point there) and divides by all pairs. nan where there is
    nothing to divide by; `reason` says so.
    """

    kind: str
    value: float
    low: float
    high: float
    n: int
    correct: int
    metric_ties: int
    no_consensus: int
    pairs: int
    value_ties_half: float
    value_all_pairs: float
    confidence: float
    interval: str
    reason: str
    signature: str = ""


def wilson_interval(successes: float, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Wilson's score interval of a share p = `successes` / n (Wilson 1927); nan, nan for n = 0.

    (p + z^2 / 2n -+ z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n), z the normal quantile of `confidence`.
    `successes` may be a mean of several counts. Raises BadOption.
    """
    check_confidence(confidence)
    if not (is_real(successes) and is_real(n) and 0 <= successes <= n < math.inf):
        raise BadOption(f"{successes!r} successes of {n!r}, expected between 0 and all")
    if n == 0:
        return math.nan, math.nan
    z = float(ndtri(0.5 + confidence / 2))
    share = successes / n
    scale = 1 + z**2 / n
    centre = (share + z**2 / (2 * n)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # At the ends the formula gives 0 and 1 but for rounding.
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == n else centre + half
    return low, high


def metric_winners(first_scores: ArrayLike, second_scores: ArrayLike) -> NDArray[np.int64]:
    """(P,) 1 where the first candidate scores higher, 2 where the second does, 0 for a tie (but for rounding).

    Raises BadShape, BadValue.
    """
    first = score_vector(first_scores, "first_scores")
    second = score_vector(second_scores, "second_scores")
    same_length(first_scores=first, second_scores=second)
    margin: Floats = TIE_TOLERANCE * np.maximum(np.abs(first), np.abs(second))
    return (first - second > margin) + 2 * (second - first > margin).astype(np.int64)


@signed("pair-accuracy", data=("kinds",))
def pair_accuracy(
    first_scores: ArrayLike,
    second_scores: ArrayLike,
    winners: ArrayLike,
    kinds: Iterable[Any] | None = None,
    *,
    confidence: float = CONFIDENCE,
) -> dict[str, AccuracyResult]:
    """Accuracy of a metric by pair kind, and over all pairs under the key "all".

    (P,) scores of the first and the second candidates, (P,) winners of the consensus (1, 2, or 0 where
    there is none) and (P,) kinds (HC, HI, HM, MM; without them only "all"). Raises BadShape, BadValue.
    """
    check_confidence(confidence)
    named = metric_winners(first_scores, second_scores)
    consensus = consensus_winners(winners)
    same_length(first_scores=named, winners=consensus)
    return {
        kind: _accuracy(kind, named[here], consensus[here], confidence)
        for kind, here in kinds_of(kinds, len(named)).items()
    }


def consensus_winners(winners: ArrayLike) -> Floats:
    """(P,) winners of the consensus: 1, 2, or 0 where there is none. Raises BadShape, BadValue."""
    consensus = finite_vector(winners, "winners")
    wrong = np.flatnonzero(~np.isin(consensus, (0, 1, 2)))
    if wrong.size:
        raise BadValue(f"winners[{wrong[0]}] is {consensus[wrong[0]]:g}, expected 1, 2, or 0 for none")
    return consensus


def kinds_of(kinds: Iterable[Any] | None, pairs: int) -> dict[str, NDArray[np.bool_]]:
    """Which of the pairs are of each kind, (P,) each, and "all" last. Raises BadShape, BadValue."""
    members = {}
    if kinds is not None:
        labels, codes = encode(kinds, "kinds")
        same_length(winners=np.empty(pairs), kinds=codes)
        for place, label in enumerate(labels.tolist()):
            if str(label) == "all":
                raise BadValue("kinds holds 'all', expected names of pair kinds; 'all' names the total")
            members[str(label)] = codes == place
    members["all"] = np.ones(pairs, dtype=np.bool_)
    return members


def _accuracy(kind: str, named: NDArray[np.int64], consensus: Floats, confidence: float) -> AccuracyResult:
    decided = consensus != 0
    n = int(decided.sum())
    correct = int((named[decided] == consensus[decided]).sum())
    ties = int((named[decided] == 0).sum())
    pairs = len(named)
    by_lot = int((named[~decided] != 0).sum())
    low, high = wilson_interval(correct, n, confidence)
    return AccuracyResult(
        kind=kind,
        value=correct / n if n else math.nan,
        low=low,
        high=high,
        n=n,
        correct=correct,
        metric_ties=ties,
        no_consensus=pairs - n,
        pairs=pairs,
        value_ties_half=(correct + ties / 2) / n if n else math.nan,
        value_all_pairs=(correct + by_lot / 2) / pairs if pairs else math.nan,
        confidence=float(confidence),
        interval="wilson",
        reason="" if n else NO_PAIRS,
    )
