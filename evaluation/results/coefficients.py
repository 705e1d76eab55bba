"""Percent agreement, Fleiss' kappa and Gwet's AC as JSON. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from evaluation.data.provenance import as_json
from evaluation.statistics.agreement import (
    AgreementResult,
    FleissKappa,
    Gwet,
    Percent,
    Ratings,
    agreement,
)
from evaluation.statistics.clustering import NAIVE, ClusterColumns, Clusters

COEFFICIENTS = ("percent", "fleiss", "gwet")
# Gwet's weights for a level of alpha; identity gives AC1.
WEIGHTS = {"nominal": "identity", "ordinal": "ordinal", "interval": "quadratic", "ratio": "ratio"}
UNEQUAL = "units have different numbers of judgments, expected equally many (alpha takes any)"


def agreement_coefficients(
    ratings: Ratings,
    level: str,
    *,
    names: Collection[str] = COEFFICIENTS,
    categories: Sequence[Any] = (),
    resamples: int,
    seed: int,
    clusters: ClusterColumns | Clusters = NAIVE,
) -> dict[str, dict[str, Any]]:
    """Return name -> coefficient with its interval.

    Args:
        clusters: as in ``agreement``.
        categories: the whole scale; default: the values that occur.
    """
    scale = list(categories) or None
    found: dict[str, dict[str, Any]] = {}
    for name in COEFFICIENTS:
        if name not in names:
            continue
        if name == "fleiss":
            found[name] = _fleiss(ratings, resamples, seed, clusters)
        else:
            coefficient = Gwet(WEIGHTS[level], scale) if name == "gwet" else Percent(categories=scale)
            found[name] = _figure(
                agreement(ratings, coefficient, resamples=resamples, seed=seed, clusters=clusters)
            )
    return found


def _fleiss(
    ratings: Ratings, resamples: int, seed: int, clusters: ClusterColumns | Clusters
) -> dict[str, Any]:
    """Compute Fleiss' kappa over units with two or more judgments, equally many each."""
    sizes = np.bincount(ratings.unit, minlength=len(ratings.units))
    several = sizes >= 2
    if len(np.unique(sizes[several])) > 1:
        return {
            "statistic": "fleiss-kappa", "value": None, "low": None, "high": None, "n": int(several.sum()),
            "weights": "nominal", "reason": UNEQUAL,
        }  # fmt: skip
    return _figure(agreement(ratings, FleissKappa(), resamples=resamples, seed=seed, clusters=clusters))


def _figure(result: AgreementResult) -> dict[str, Any]:
    return {
        **as_json(result, "statistic", "value", "low", "high"),
        "n": result.pairable,
        "weights": result.level,
        "reason": result.reason,
    }
