"""Replay judgments in arrival order: results after the first n. Pure.

Votes accumulate from checkpoint to checkpoint; each checkpoint only visits units and pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluation.judgment_sets.records import Floats, Ints
from evaluation.provenance import as_json, plain
from evaluation.results.consensus import share_of
from evaluation.statistics.agreement.alpha import AlphaOfWeights
from evaluation.statistics.agreement.ratings import patterns_of_rows
from evaluation.statistics.correlation import correlation
from evaluation.statistics.meta import metric_winners
from evaluation.statistics.resampling import bootstrap, percentile_interval
from evaluation.statistics.significance import holm, mcnemar_counts

CHECKPOINTS = 20
RESAMPLES = 400
CONFIDENCE = 0.95
SETTLED = 0.05  # adjusted p below which two metrics differ


@dataclass(frozen=True, slots=True)
class VotesInOrder:
    """N included judgments in arrival order; ``unit`` has codes below ``units``."""

    unit: Ints
    value: Floats
    units: int

    def __len__(self) -> int:
        return len(self.unit)


def checkpoints(count: int, most: int = CHECKPOINTS) -> list[int]:
    return sorted({max(1, round(count * step / most)) for step in range(1, most + 1)}) if count else []


def agreement_grows(votes: VotesInOrder, level: str, *, seed: int) -> list[dict[str, Any]]:
    """Compute Krippendorff's alpha with its interval over units at each checkpoint."""
    labels, codes = np.unique(votes.value, return_inverse=True)
    rows = []
    for upto in checkpoints(len(votes)):
        patterns = patterns_of_rows(votes.unit[:upto], codes[:upto], labels, raters=0).comparable()
        row: dict[str, Any] = {"judgments": upto, "n": int(patterns.frequency.sum())}
        row |= {"value": None, "low": None, "high": None}
        if len(patterns.frequency):
            alpha = AlphaOfWeights(patterns, level)
            row["value"] = plain(float(alpha(patterns.frequency[np.newaxis].astype(np.float64))[0]))
            draws = bootstrap(
                alpha, patterns.frequency, resamples=RESAMPLES, generator=np.random.default_rng(seed)
            )
            low, high, _ = percentile_interval(draws, CONFIDENCE)
            row |= {"low": plain(low), "high": plain(high)}
        rows.append(row)
    return rows


def winners_so_far(
    votes: VotesInOrder, pair: Ints, pairs: int, decided: Mapping[int, int] | None = None
) -> Iterator[tuple[int, Ints]]:
    """Yield, per checkpoint, (P,) winners of the pairs: 1, 2, or 0 for undecided (V15 §3).

    Majorities of judgments decide units, majorities of units decide pairs; ties decide nothing.

    Args:
        pair: (U,) code of each unit's pair from 0.
        decided: unit code -> adjudicated winner, applied at the end only.
    """
    balance = np.zeros(votes.units)
    done, looks = 0, checkpoints(len(votes))
    for upto in looks:
        sign = np.where(votes.value[done:upto] == 1, 1.0, -1.0)
        balance += np.bincount(votes.unit[done:upto], weights=sign, minlength=votes.units)
        done = upto
        outcome = np.sign(balance)
        if upto == looks[-1]:
            for unit, winner in (decided or {}).items():
                outcome[unit] = 1.0 if winner == 1 else -1.0
        lead = np.bincount(pair, weights=outcome, minlength=pairs)
        yield upto, np.where(lead > 0, 1, np.where(lead < 0, 2, 0))


def accuracy_so_far(
    winners: Sequence[tuple[int, Ints]],
    scores: Mapping[str, npt.NDArray[np.float64]],
    kinds: Mapping[str, npt.NDArray[np.bool_]],
) -> dict[str, dict[str, Any]]:
    """Return pair kind -> each metric's accuracy, now and at each checkpoint, and the verdict.

    Args:
        winners: from ``winners_so_far``.
        scores: metric -> (P, 2).
        kinds: pair kind -> (P,) bool.
    """
    named = {name: metric_winners(both[:, 0], both[:, 1]) for name, both in scores.items()}
    found: dict[str, dict[str, Any]] = {}
    for kind, here in kinds.items():
        earlier = {
            name: [{"judgments": upto, **_share(said[here], won[here])} for upto, won in winners]
            for name, said in named.items()
        }
        now = winners[-1][1]
        right = {name: (said == now)[here & (now > 0)] for name, said in named.items()}
        found[kind] = {
            "metrics": {name: rows[-1] for name, rows in earlier.items()},
            "earlier": earlier,
            "verdict": significantly_best(right),
        }
    return found


def _share(said: npt.NDArray[Any], won: npt.NDArray[Any]) -> dict[str, Any]:
    decided = won > 0
    return share_of(int((said[decided] == won[decided]).sum()), int(decided.sum()))


def significantly_best(right: Mapping[str, npt.NDArray[np.bool_]]) -> dict[str, Any]:
    """Return the best metric with those not significantly worse (``leaders``), and the ``rest``.

    McNemar's exact test of the best with each other metric on the same pairs; ``p`` is the largest of the
    rest, adjusted by Holm, or None.
    """
    if not right or not len(next(iter(right.values()))):
        return {"leaders": [], "rest": [], "p": None, "n": 0}
    order = sorted(right, key=lambda name: -int(right[name].sum()))
    best, others = order[0], order[1:]
    p = [
        mcnemar_counts(
            int((right[best] & ~right[name]).sum()), int((~right[best] & right[name]).sum())
        ).exact_p
        for name in others
    ]
    adjusted = dict(zip(others, holm(p).tolist(), strict=True))
    rest = [name for name in others if adjusted[name] < SETTLED]
    return {
        "leaders": [best, *(name for name in others if name not in rest)],
        "rest": rest,
        "p": max((adjusted[name] for name in rest), default=None),
        "n": len(right[best]),
    }


def means_so_far(votes: VotesInOrder) -> Iterator[tuple[int, Floats]]:
    """Yield, per checkpoint, (U,) mean judgments; nan without judgments."""
    total, count = np.zeros(votes.units), np.zeros(votes.units)
    done = 0
    for upto in checkpoints(len(votes)):
        total += np.bincount(votes.unit[done:upto], weights=votes.value[done:upto], minlength=votes.units)
        count += np.bincount(votes.unit[done:upto], minlength=votes.units)
        done = upto
        mean = np.full(votes.units, np.nan)
        np.divide(total, count, out=mean, where=count > 0)
        yield upto, mean


def correlation_so_far(
    means: Sequence[tuple[int, Floats]], scores: Mapping[str, Floats], *, seed: int
) -> dict[str, Any]:
    """Compute Kendall's tau-b of each metric with mean judgments at each checkpoint.

    ``scores``: metric -> (U,) score of each unit's caption, or nan.
    """
    earlier: dict[str, list[dict[str, Any]]] = {name: [] for name in scores}
    for upto, mean in means:
        last = upto == means[-1][0]
        for name, values in scores.items():
            known = ~np.isnan(mean) & ~np.isnan(values)
            row: dict[str, Any] = {"judgments": upto, "value": None, "low": None, "high": None}
            row["n"] = int(known.sum())
            if row["n"] > 2:
                tau = correlation(
                    values[known],
                    mean[known],
                    "kendall-tau-b",
                    resamples=RESAMPLES // 2 if last else 0,
                    seed=seed,
                )
                row |= as_json(tau, "value", "low", "high")
            earlier[name].append(row)
    return {
        "metrics": {name: rows[-1] for name, rows in earlier.items()},
        "earlier": earlier,
        "verdict": _overlap({name: rows[-1] for name, rows in earlier.items()}),
    }


def _overlap(cells: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Compare correlations by overlapping intervals only; there is no p."""
    known = {name: cell for name, cell in cells.items() if cell["value"] is not None}
    if not known:
        return {"leaders": [], "rest": [], "p": None, "n": 0}
    order = sorted(known, key=lambda name: -known[name]["value"])
    best = known[order[0]]

    def near(name: str) -> bool:
        high, low = known[name]["high"], best["low"]
        return high is None or low is None or high >= low

    leaders = [order[0], *(name for name in order[1:] if near(name))]
    return {
        "leaders": leaders,
        "rest": [name for name in order if name not in leaders],
        "p": None,
        "n": best["n"],
    }


def verdict_sentence(verdict: Mapping[str, Any]) -> tuple[bool, str]:
    """Return whether the best metric is decided, and a sentence about it."""
    leaders, rest = list(verdict["leaders"]), list(verdict["rest"])
    if not leaders:
        return False, "No metric can be held against people yet."
    tested = f" ({_p(verdict['p'])}, Holm)" if verdict["p"] is not None else ""
    ahead = f"ahead of {'the rest' if len(rest) != 1 else rest[0]}{tested}"
    if len(leaders) == 1:
        return bool(rest), f"{leaders[0]} is {ahead}." if rest else f"{leaders[0]} is the only metric."
    names = f"{', '.join(leaders[:-1])} and {leaders[-1]}"
    if not rest:
        return False, f"{names} cannot be told apart yet."
    both = "both" if len(leaders) == 2 else "all of them"
    return False, f"{names} cannot be told apart yet; {both} are {ahead}."


def _p(value: float) -> str:
    if value < 0.001:
        return "p < .001"
    if value < 0.01:
        return "p < .01"
    return f"p = {value:.2f}".replace("0.", ".")
