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

NO_UNITS = gettext_noop("the sources have no item in common")
NO_CUTS = gettext_noop("{} has no default thresholds; name a threshold")
TEXTS = gettext_noop("the answers of {} are texts, so no mean can be computed")


def kappa_at_thresholds(
    matched: MatchedSources,
    first_at_least: float | None,
    second_at_least: float | None,
    missing: str,
    drawing: Resampling,
) -> tuple[KappaGrid | None, str]:
    reason = _why_no_scores(matched)
    cuts = _cuts(matched.first, first_at_least), _cuts(matched.second, second_at_least)
    for source, source_cuts in zip((matched.first, matched.second), cuts, strict=True):
        if not reason and not source_cuts:
            reason = NO_CUTS.format(source.name)
    if reason:
        return None, reason
    second = matched.second.scores()
    compared = ~np.isnan(second)
    first = matched.first.scores()
    images = items_of_units(matched.first, matched.second)[compared]
    options = drawing.options(item=images)
    return kappa_grid(first[compared], second[compared], *cuts, missing=missing, **options), ""


def _why_no_scores(matched: MatchedSources) -> str:
    for source in (matched.first, matched.second):
        if not source.is_numeric:
            return TEXTS.format(source.name)
    return ""


def _cuts(source: SourceJudgments, chosen: float | None) -> Sequence[float]:
    if chosen is not None:
        return (chosen,)
    return () if source.kind is None else sorted(source.kind.comparison.cuts)


def figures_at_thresholds(grid: KappaGrid | None, reason: str) -> dict[str, Any]:
    if grid is None:
        return {"first": [], "second": [], "cells": [], "best": None, "reason": reason}
    return {
        "first": list(grid.first_thresholds),
        "second": list(grid.second_thresholds),
        "cells": [_cell(cell) for cell in grid.cells],
        "best": None if grid.best is None else _cell(grid.best),
        "reason": "",
    }


def _cell(cell: ThresholdAgreement) -> dict[str, Any]:
    return as_json(
        cell, "first_at_least", "second_at_least", "kappa", "precision", "recall", "f1", "both", "first_only",
        "second_only", "neither", "n", "reason",
    )  # fmt: skip


def correlations_of_scores(matched: MatchedSources, drawing: Resampling) -> dict[str, Any]:
    reason = _why_no_scores(matched) or ("" if matched.shared.any() else NO_UNITS)
    if reason:
        return {
            name: {"value": None, "low": None, "high": None, "n": 0, "reason": reason}
            for name in COEFFICIENTS
        }
    first, second = (source.scores()[matched.shared] for source in (matched.first, matched.second))
    options = drawing.options(item=items_of_units(matched.first, matched.second)[matched.shared])
    return {
        name: as_json(correlation(first, second, name, **options), "value", "low", "high", "n", "reason")
        for name in COEFFICIENTS
    }
