"""Compare the judgments of two sources, which are studies or files, without a database.

The second source is the standard: precision is the share of the units with yes by the first source that have yes by the
second, and recall is the share of the units with yes by the second that have yes by the first. All figures are defined
in contrib/comparing/README.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from common.amounts import as_json
from contrib.comparing.sources.judgments import SourceJudgments
from contrib.comparing.sources.matching import MatchedSources, match_sources
from contrib.comparing.sources.outcomes import compare_consensus, compare_winners
from contrib.comparing.sources.raters import Resampling, figures_of_source, pooled_alpha
from contrib.comparing.sources.scores import (
    correlations_of_scores,
    figures_at_thresholds,
    kappa_at_thresholds,
)
from quorum.numeric.signatures import signature
from quorum.statistics.inputs import one_of
from quorum.statistics.resampling import RESAMPLES

# The rules for units that only the second source has.
LEAVE_OUT, COUNT_AS_NO = "leave-out", "no"
MISSING_RULES = (LEAVE_OUT, COUNT_AS_NO)


def compare_sources(
    first: SourceJudgments,
    second: SourceJudgments,
    *,
    first_at_least: float | None = None,
    second_at_least: float | None = None,
    missing: str = LEAVE_OUT,
    resamples: int = RESAMPLES,
    seed: int = 0,
    naive: bool = False,
) -> dict[str, Any]:
    """Compare the first source with the second, which is the standard.

    Return figures of each source (`first`, `second`), numbers of units (`units`, `missing`), statistics of yes and no
    (`thresholds`), of consensus (`consensus`, and the keys of `compare_winners`), and of scores (`correlation`,
    `pooled_alpha`), and the `signature`. Undefined statistics are null, with a `reason`.

    Args:
        first_at_least, second_at_least: thresholds for yes; by default all thresholds that the protocol reports.
        missing: whether units that only the second source has are left out, or count as a no of the first (as
            Hodosh et al. 2013 count pairs that they did not let people judge). Units that only the first source has are
            always left out.
        naive: whether to treat judgments as independent, with bootstrap intervals, instead of clustering them by
            image and worker.

    Raises:
        EvaluationError: the sources cannot be compared.
        BadOption: `missing` is unknown, or a number is invalid.
    """
    one_of(missing, MISSING_RULES, "missing")
    sources = match_sources(first, second)
    resampling = Resampling(resamples, seed, naive)
    kappa_grid, reason = kappa_at_thresholds(sources, first_at_least, second_at_least, missing, resampling)
    settings: dict[str, Any] = {"missing": missing}
    settings |= {"resamples": resamples, "seed": seed} if naive else {"clusters": "item-rater"}
    for name, threshold in (("first_at_least", first_at_least), ("second_at_least", second_at_least)):
        if threshold is not None:
            settings[name] = threshold
    units = _count_units(sources)
    comparison: dict[str, Any] = as_json(
        {
            "first": figures_of_source(first, resampling),
            "second": figures_of_source(second, resampling),
            "units": units,
            "missing": _count_left_out(units, missing),
            "thresholds": figures_at_thresholds(kappa_grid, reason),
            "consensus": compare_consensus(sources, resampling),
            **compare_winners(sources, resampling),
            "correlation": correlations_of_scores(sources, resampling),
            "pooled_alpha": pooled_alpha(sources, resampling),
            "signature": signature("comparison", settings),
        }
    )
    return comparison


def _count_units(sources: MatchedSources) -> dict[str, Any]:
    """Return numbers of units that are shared, not shared, merged or swapped, and whether references are ignored."""
    unit_counts = [len(np.unique(source.unit)) for source in (sources.first, sources.second)]
    shared_count = int(sources.is_shared.sum())
    return {
        "shared": shared_count,
        "by_id": sources.matched_by_id_count,
        "by_content": shared_count - sources.matched_by_id_count,
        "first_only": unit_counts[0] - shared_count,
        "second_only": unit_counts[1] - shared_count,
        "sides_exchanged": sources.swapped_count,
        "first_joined": sources.merged_counts[0],
        "second_joined": sources.merged_counts[1],
        "reference_ignored": sources.ignores_references,
    }


def _count_left_out(units: dict[str, Any], missing: str) -> dict[str, Any]:
    """Return how many units count as no, and how many are left out, by the rule ``missing``."""
    counts_as_no = missing == COUNT_AS_NO
    return {
        "policy": missing,
        "taken_as_no": units["second_only"] if counts_as_no else 0,
        "left_out": units["first_only"] + (0 if counts_as_no else units["second_only"]),
    }
