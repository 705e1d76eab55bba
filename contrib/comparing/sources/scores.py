"""Compare two sources by the scores of units: kappa at thresholds, and correlations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from django.utils.translation import gettext_noop

from common.amounts import as_json
from contrib.comparing.sources.judgments import SourceJudgments
from contrib.comparing.sources.matching import MatchedSources
from contrib.comparing.sources.raters import Resampling, items_of_units
from quorum.statistics.agreement import KappaGrid, ThresholdAgreement, kappa_grid
from quorum.statistics.correlation import correlation

COEFFICIENTS = ("pearson", "spearman", "kendall-tau-b")

NO_SHARED_UNITS = gettext_noop("the sources have no item in common")
NO_THRESHOLDS = gettext_noop("{} has no default thresholds; name a threshold")
ANSWERS_ARE_TEXTS = gettext_noop("the answers of {} are texts, so no mean can be computed")


def kappa_at_thresholds(
    sources: MatchedSources,
    first_at_least: float | None,
    second_at_least: float | None,
    missing: str,
    resampling: Resampling,
) -> tuple[KappaGrid | None, str]:
    """Return kappa for each combination of thresholds of the two sources, and "".

    If it is undefined, return None and the reason.

    Args:
        first_at_least, second_at_least: the threshold of each source, from which a score counts as yes; None for all
            that its protocol reports.
        missing: the rule for units that only the second source has.
    """
    reason = _why_no_scores(sources)
    first_thresholds = _thresholds_of(sources.first, first_at_least)
    second_thresholds = _thresholds_of(sources.second, second_at_least)
    for source, thresholds in ((sources.first, first_thresholds), (sources.second, second_thresholds)):
        if not reason and not thresholds:
            reason = NO_THRESHOLDS.format(source.name)
    if reason:
        return None, reason
    first_scores, second_scores = sources.first.scores(), sources.second.scores()
    has_score = ~np.isnan(second_scores)  # units that only the first source has are left out
    grid = kappa_grid(
        first_scores[has_score],
        second_scores[has_score],
        first_thresholds,
        second_thresholds,
        missing=missing,
        **resampling.options(item=items_of_units(sources.first, sources.second)[has_score]),
    )
    return grid, ""


def _why_no_scores(sources: MatchedSources) -> str:
    """Return why a source has no scores; "" if both have."""
    for source in (sources.first, sources.second):
        if not source.is_numeric:
            return ANSWERS_ARE_TEXTS.format(source.name)
    return ""


def _thresholds_of(source: SourceJudgments, threshold: float | None) -> Sequence[float]:
    """Return the given threshold or, if it is None, those that the source's protocol reports."""
    if threshold is not None:
        return (threshold,)
    return () if source.kind is None else sorted(source.kind.comparison.cuts)


def figures_at_thresholds(grid: KappaGrid | None, reason: str) -> dict[str, Any]:
    """Return a grid of ``kappa_at_thresholds`` as JSON. ``best`` is the cell with the highest kappa."""
    if grid is None:
        return {"first": [], "second": [], "cells": [], "best": None, "reason": reason}
    return {
        "first": list(grid.first_thresholds),
        "second": list(grid.second_thresholds),
        "cells": [_cell_as_json(cell) for cell in grid.cells],
        "best": None if grid.best is None else _cell_as_json(grid.best),
        "reason": "",
    }


def _cell_as_json(cell: ThresholdAgreement) -> dict[str, Any]:
    return as_json(
        cell, "first_at_least", "second_at_least", "kappa", "precision", "recall", "f1", "both", "first_only",
        "second_only", "neither", "n", "reason",
    )  # fmt: skip


def correlations_of_scores(sources: MatchedSources, resampling: Resampling) -> dict[str, Any]:
    """Return the correlations between the scores of shared units."""
    reason = _why_no_scores(sources) or ("" if sources.is_shared.any() else NO_SHARED_UNITS)
    if reason:
        return {
            name: {"value": None, "low": None, "high": None, "n": 0, "reason": reason}
            for name in COEFFICIENTS
        }
    first, second = (source.scores()[sources.is_shared] for source in (sources.first, sources.second))
    options = resampling.options(item=items_of_units(sources.first, sources.second)[sources.is_shared])
    return {
        name: as_json(correlation(first, second, name, **options), "value", "low", "high", "n", "reason")
        for name in COEFFICIENTS
    }
