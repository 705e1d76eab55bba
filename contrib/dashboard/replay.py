"""Replay judgments in the order of arrival, and compute agreement, winners and metrics at checkpoints.

A checkpoint is a number of judgments, such as 50 of 1,000. Between checkpoints, only votes are counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from common.amounts import as_json
from evaluation.results.agreement import alpha_of_ratings, clusters_of_ratings
from evaluation.results.consensus.clusters import rater_deletions
from evaluation.results.verdict import correlation_verdict, pair_verdict, scope_fields, winners_of_metrics
from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.aggregation.pair_answers import FIRST, NEITHER, NO_DIFFERENCE, SECOND, SIDE_NAMES
from quorum.statistics.agreement import ratings_of_judgments
from quorum.statistics.agreement.both_orders import Exchange
from quorum.statistics.correlation import correlation
from quorum.statistics.crossed import ITEM, NAIVE, RATER, columns_and_deletions
from quorum.statistics.meta import PeoplesWinners

CHECKPOINTS = 20  # number of checkpoints, at equal numbers of judgments
ACCURACY_FIELDS = ("value", "low", "high", "n", "clusters", "reason")


@dataclass(frozen=True, slots=True)
class VotesInOrder:
    """N included judgments of U units in the order of arrival.

    Attributes:
        unit, worker: (N,) codes; those of units begin at 0.
        value: (N,) float64; for pairs the codes of the chosen sides (``pair_answers.py``).
        image: (U,) row ids of the units' images.
        anonymous: whether workers are not identified people.
    """

    unit: Ints
    worker: Ints
    value: Floats
    image: Ints
    anonymous: bool = False

    def __len__(self) -> int:
        return len(self.unit)

    @property
    def units(self) -> int:
        return len(self.image)


def checkpoints(count: int) -> list[int]:
    """Return the numbers of judgments at which results are computed, up to ``count``."""
    if not count:
        return []
    return sorted({max(1, round(count * step / CHECKPOINTS)) for step in range(1, CHECKPOINTS + 1)})


def agreement_so_far(
    votes: VotesInOrder, level: str, *, seed: int, exchange: Exchange | None = None
) -> list[dict[str, Any]]:
    """Return Krippendorff's alpha with its interval at each checkpoint.

    If ``exchange``, a function that exchanges the sides of an answer, is given, each unit counts in both orders.
    """
    rows = []
    for end in checkpoints(len(votes)):
        ratings = ratings_of_judgments(votes.unit[:end], votes.worker[:end], votes.value[:end])
        units = np.arange(votes.units)
        clusters = clusters_of_ratings(ratings, units, votes.image, anonymous=votes.anonymous)
        alpha = alpha_of_ratings(ratings, clusters, level, seed=seed, exchange=exchange)
        rows.append(
            {"judgments": end, **{name: alpha[name] for name in ("n", "value", "low", "high", "reason")}}
        )
    return rows


def winners_so_far(
    votes: VotesInOrder, pair: Ints, images: Ints, decisions: Mapping[int, float] | None = None
) -> Iterator[tuple[int, PeoplesWinners]]:
    """Yield the number of votes, and the winners of P pairs with their clusters, at each checkpoint.

    The majority of a unit's judgments is its winner, and the majority of a pair's units is the pair's winner (Vedantam
    et al. 2015, section 3). A tie has no winner.

    Args:
        pair: (U,) the pair of each of the U units, as codes from 0.
        images: (P,) the image of each pair.
        decisions: the adjudicated winners by unit code. They are applied only at the last checkpoint.
    """
    counts = np.zeros((votes.units, len(SIDE_NAMES)), dtype=np.int64)  # votes for each side, by its code
    done_count, ends = 0, checkpoints(len(votes))
    is_decided = np.zeros(votes.units, dtype=np.bool_)
    for end in ends:
        # the index of each vote in the flattened table of counts, which has a row for each unit, and a column per side
        cells = votes.unit[done_count:end] * len(SIDE_NAMES) + votes.value[done_count:end].astype(np.int64)
        counts += np.bincount(cells, minlength=counts.size).reshape(counts.shape)
        done_count = end
        # the outcome of a unit is 1 if the first candidate has the most votes, -1 for the second, otherwise 0
        first, second = counts[:, FIRST], counts[:, SECOND]
        neither = np.maximum(counts[:, NO_DIFFERENCE], counts[:, NEITHER])
        outcome = 1.0 * (first > np.maximum(second, neither)) - 1.0 * (second > np.maximum(first, neither))
        if end == ends[-1]:
            for unit, winner in (decisions or {}).items():
                outcome[unit] = {FIRST: 1.0, SECOND: -1.0}.get(int(winner), 0.0)
                is_decided[unit] = True
        leads = np.bincount(pair, weights=outcome, minlength=len(images)).astype(np.float64)
        clusters: dict[str, Any] = {ITEM: images}
        if not votes.anonymous:
            clusters[RATER] = rater_deletions(  # how winners change if a rater is left out
                unit=votes.unit[:end],
                worker=votes.worker[:end],
                side=votes.value[:end],
                unit_leads=outcome,
                pair=pair,
                pair_leads=leads,
                is_adjudicated=is_decided,
            )
        winners = np.select([leads > 0, leads < 0], [FIRST, SECOND], default=0)  # 0: a tie
        yield end, PeoplesWinners.from_winners(winners, clusters=clusters)


def accuracy_so_far(
    winners: Sequence[tuple[int, PeoplesWinners]],
    scores: Mapping[str, npt.NDArray[np.float64]],
    kinds: Mapping[str, npt.NDArray[np.bool_]],
) -> dict[str, dict[str, Any]]:
    """Return results by pair kind: accuracies now (``metrics``) and at all checkpoints (``earlier``), and the verdict.

    Args:
        winners: from ``winners_so_far``, about P pairs.
        scores: (P, 2) scores of both candidates, by metric.
        kinds: (P,) whether each pair is of the kind, by pair kind.
    """
    metric_winners = winners_of_metrics(scores)
    _, newest_winners = winners[-1]
    results_by_kind: dict[str, dict[str, Any]] = {}
    for kind, is_of_kind in kinds.items():
        rows_by_metric = {
            name: [
                {"judgments": end, **as_json(people.accuracy_of(metric, is_of_kind), *ACCURACY_FIELDS)}
                for end, people in winners
            ]
            for name, metric in metric_winners.items()
        }
        newest_rows = {name: rows[-1] for name, rows in rows_by_metric.items()}
        results_by_kind[kind] = {
            "metrics": newest_rows,
            "earlier": rows_by_metric,
            "verdict": pair_verdict(metric_winners, newest_winners, is_of_kind, newest_rows),
            **scope_fields(newest_winners.deletions),  # whether results hold for other raters, too
        }
    return results_by_kind


def means_so_far(
    votes: VotesInOrder, decisions: Mapping[int, float] | None = None
) -> Iterator[tuple[int, Floats]]:
    """Yield the number of votes, and the (U,) mean judgments of the units, at each checkpoint; nan without judgments.

    Args:
        decisions: the adjudicated values by unit code. They are applied only at the last checkpoint.
    """
    totals, counts = np.zeros(votes.units), np.zeros(votes.units)
    done_count, ends = 0, checkpoints(len(votes))
    for end in ends:
        unit, value = votes.unit[done_count:end], votes.value[done_count:end]
        totals += np.bincount(unit, weights=value, minlength=votes.units)
        counts += np.bincount(unit, minlength=votes.units)
        done_count = end
        mean = np.full(votes.units, np.nan)
        np.divide(totals, counts, out=mean, where=counts > 0)
        if end == ends[-1]:
            for decided_unit, decided_value in (decisions or {}).items():
                mean[decided_unit] = decided_value
        yield end, mean


def correlation_so_far(
    means: Sequence[tuple[int, Floats]],
    scores: Mapping[str, Floats],
    clusters: Mapping[str, Any],
    weights: Floats | None = None,
) -> dict[str, Any]:
    """Return Kendall's tau-b of each metric with mean judgments, and the verdict.

    ``metrics`` are the values now, and ``earlier`` those at all checkpoints. Only the last tau-b has an interval.

    Args:
        means: from ``means_so_far``.
        scores: (U,) scores of the U units by metric, nan if missing.
        clusters, weights: the clusters of the U captions, and their (U,) weights; None if all weigh the same.
    """
    rows_by_metric: dict[str, list[dict[str, Any]]] = {name: [] for name in scores}
    newest_count, newest_mean = means[-1]
    for end, mean in means:
        is_last = end == newest_count
        for name, values in scores.items():
            is_known = ~np.isnan(mean) & ~np.isnan(values)
            row: dict[str, Any] = {"judgments": end, "value": None, "low": None, "high": None}
            row["n"] = int(is_known.sum())
            if row["n"]:
                tau = correlation(
                    values,
                    mean,
                    "kendall-tau-b",
                    missing="leave-out",
                    weights=weights,
                    resamples=0,  # without clusters and resamples, there is no interval
                    clusters=clusters if is_last else NAIVE,
                )
                row |= as_json(tau, "value", "low", "high", "reason")
            rows_by_metric[name].append(row)
    newest_rows = {name: rows[-1] for name, rows in rows_by_metric.items()}
    _, deletions = columns_and_deletions(clusters)
    return {
        "metrics": newest_rows,
        "earlier": rows_by_metric,
        "verdict": correlation_verdict(scores, newest_mean, clusters, newest_rows, weights),
        **scope_fields(deletions),
    }
