"""Make rows of systems with their strengths and rank bands, for models of pairs and of choices."""

from __future__ import annotations

from typing import Any

from evaluation.presentation.content import rows_as_json
from quorum.statistics.aggregation import LuceResult, RankBands, StrengthResult, rank_bands


def rank_bands_of(strengths: StrengthResult | LuceResult) -> RankBands:
    return rank_bands(strengths.log_strength, strengths.covariance, freedom=strengths.freedom.tolist())


def system_rows(strengths: StrengthResult | LuceResult, bands: RankBands) -> list[dict[str, Any]]:
    """Return a row for each system, strongest first. Ranks are None if they are unknown."""
    # The order is empty if the model could not be fitted.
    order = strengths.order if len(strengths.order) else slice(None)
    return rows_as_json(
        system=map(str, strengths.items[order].tolist()),
        strength=strengths.log_strength[order],
        low=strengths.low[order],
        high=strengths.high[order],
        # The statistics return 0 for an unknown rank.
        best_rank=[rank or None for rank in bands.best[order].tolist()],
        worst_rank=[rank or None for rank in bands.worst[order].tolist()],
    )
