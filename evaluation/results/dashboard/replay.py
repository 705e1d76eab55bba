"""Replay judgments in arrival order: results after the first n. Pure.

Votes accumulate between checkpoints; each checkpoint only visits units and pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluation.data.judgment_sets.records import Floats, Ints
from evaluation.data.provenance import as_json, json_float
from evaluation.results.consensus import clustered_share
from evaluation.results.verdict import correlation_verdict, pair_verdict
from evaluation.statistics.agreement.alpha import AlphaOfWeights
from evaluation.statistics.agreement.ratings import patterns_of_rows
from evaluation.statistics.clustering import ITEM, NAIVE
from evaluation.statistics.correlation import correlation
from evaluation.statistics.meta import metric_winners
from evaluation.statistics.resampling import bootstrap, percentile_interval

CHECKPOINTS = 20
RESAMPLES = 400
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class VotesInOrder:
    """N included judgments in arrival order; ``unit`` has codes below ``units``."""

    unit: Ints
    value: Floats
    units: int

    def __len__(self) -> int:
        return len(self.unit)


def checkpoints(count: int) -> list[int]:
    if not count:
        return []
    return sorted({max(1, round(count * step / CHECKPOINTS)) for step in range(1, CHECKPOINTS + 1)})


def agreement_so_far(votes: VotesInOrder, level: str, *, seed: int) -> list[dict[str, Any]]:
    """Return Krippendorff's alpha with its interval at each checkpoint."""
    labels, codes = np.unique(votes.value, return_inverse=True)
    rows = []
    for upto in checkpoints(len(votes)):
        patterns = patterns_of_rows(votes.unit[:upto], codes[:upto], labels, raters=0).comparable()
        row: dict[str, Any] = {"judgments": upto, "n": int(patterns.frequency.sum())}
        row |= {"value": None, "low": None, "high": None}
        if len(patterns.frequency):
            alpha = AlphaOfWeights(patterns, level)
            row["value"] = json_float(float(alpha(patterns.frequency[np.newaxis].astype(np.float64))[0]))
            draws = bootstrap(
                alpha, patterns.frequency, resamples=RESAMPLES, generator=np.random.default_rng(seed)
            )
            low, high, _ = percentile_interval(draws, CONFIDENCE)
            row |= {"low": json_float(low), "high": json_float(high)}
        rows.append(row)
    return rows


def winners_so_far(
    votes: VotesInOrder, pair: Ints, pairs: int, decided: Mapping[int, int] | None = None
) -> Iterator[tuple[int, Ints]]:
    """Yield, per checkpoint, (P,) winners: 1, 2, or 0 for undecided (V15 §3).

    Majorities of judgments decide units, majorities of units decide pairs; ties decide nothing.

    Args:
        pair: (U,) pair codes from 0.
        decided: unit code -> adjudicated winner, applied at the end only.
    """
    counts = np.zeros((votes.units, 4), dtype=np.int64)  # of the four sides (preferences.py)
    done, looks = 0, checkpoints(len(votes))
    for upto in looks:
        sides = votes.value[done:upto].astype(np.int64)
        counts += np.bincount(votes.unit[done:upto] * 4 + sides, minlength=4 * votes.units).reshape(-1, 4)
        done = upto
        first, second, other = counts[:, 1], counts[:, 2], np.maximum(counts[:, 0], counts[:, 3])
        outcome = 1.0 * (first > np.maximum(second, other)) - 1.0 * (second > np.maximum(first, other))
        if upto == looks[-1]:
            for unit, winner in (decided or {}).items():
                outcome[unit] = {1: 1.0, 2: -1.0}.get(winner, 0.0)
        lead = np.bincount(pair, weights=outcome, minlength=pairs)
        yield upto, np.where(lead > 0, 1, np.where(lead < 0, 2, 0))


def accuracy_so_far(
    winners: Sequence[tuple[int, Ints]],
    scores: Mapping[str, npt.NDArray[np.float64]],
    kinds: Mapping[str, npt.NDArray[np.bool_]],
    images: Ints,
) -> dict[str, dict[str, Any]]:
    """Return pair kind -> each metric's accuracy at each checkpoint, and the verdict.

    Args:
        winners: from ``winners_so_far``.
        scores: metric -> (P, 2).
        kinds: pair kind -> (P,) bool.
        images: (P,).
    """
    choices_of_metrics = {name: metric_winners(both[:, 0], both[:, 1]) for name, both in scores.items()}
    figures: dict[str, dict[str, Any]] = {}
    for kind, of_kind in kinds.items():
        earlier = {
            name: [
                {"judgments": upto, **clustered_share(choices == won, of_kind & (won > 0), {ITEM: images})}
                for upto, won in winners
            ]
            for name, choices in choices_of_metrics.items()
        }
        now = winners[-1][1]
        decided = of_kind & (now > 0)
        right = {name: (choices == now)[decided] for name, choices in choices_of_metrics.items()}
        cells = {name: rows[-1] for name, rows in earlier.items()}
        figures[kind] = {
            "metrics": cells,
            "earlier": earlier,
            "verdict": pair_verdict(right, cells, images[decided]),
        }
    return figures


def means_so_far(
    votes: VotesInOrder, decided: Mapping[int, float] | None = None
) -> Iterator[tuple[int, Floats]]:
    """Yield, per checkpoint, (U,) mean judgments; nan without any. ``decided`` as in ``winners_so_far``."""
    total, count = np.zeros(votes.units), np.zeros(votes.units)
    done, looks = 0, checkpoints(len(votes))
    for upto in looks:
        total += np.bincount(votes.unit[done:upto], weights=votes.value[done:upto], minlength=votes.units)
        count += np.bincount(votes.unit[done:upto], minlength=votes.units)
        done = upto
        mean = np.full(votes.units, np.nan)
        np.divide(total, count, out=mean, where=count > 0)
        if upto == looks[-1]:
            for unit, value in (decided or {}).items():
                mean[unit] = value
        yield upto, mean


def correlation_so_far(
    means: Sequence[tuple[int, Floats]], scores: Mapping[str, Floats], images: Ints
) -> dict[str, Any]:
    """Return Kendall's tau-b of each metric with mean judgments at each checkpoint.

    ``scores``: metric -> (U,), nan if missing. The last checkpoint has an interval by ``images`` (U,).
    """
    earlier: dict[str, list[dict[str, Any]]] = {name: [] for name in scores}
    for upto, mean in means:
        last = upto == means[-1][0]
        for name, values in scores.items():
            known = ~np.isnan(mean) & ~np.isnan(values)
            row: dict[str, Any] = {"judgments": upto, "value": None, "low": None, "high": None}
            row["n"] = int(known.sum())
            if row["n"]:
                tau = correlation(
                    values[known],
                    mean[known],
                    "kendall-tau-b",
                    resamples=0,
                    clusters={ITEM: images[known]} if last else NAIVE,
                )
                row |= as_json(tau, "value", "low", "high", "reason")
            earlier[name].append(row)
    cells = {name: rows[-1] for name, rows in earlier.items()}
    return {"metrics": cells, "earlier": earlier, "verdict": correlation_verdict(cells)}
