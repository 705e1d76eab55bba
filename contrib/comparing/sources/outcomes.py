"""Compare the consensus of two sources (studies or files) on units, and the winners of pairs by both."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from django.utils.translation import gettext_noop

from common.amounts import as_json
from contrib.comparing.sources.judgments import UnitContent
from contrib.comparing.sources.matching import TWO_SCALES, MatchedSources
from contrib.comparing.sources.raters import Resampling, items_of_units
from evaluation.results.metrics.texts import kinds_or_none
from quorum.numeric.arrays import Flags
from quorum.statistics.agreement import kappa_interval
from quorum.statistics.crossed import CONFIDENCE, ITEM, share_of_rows
from quorum.statistics.meta import kinds_of

NOT_NOMINAL = gettext_noop("the answers are grades, not categories")


def compare_consensus(matched: MatchedSources, resampling: Resampling) -> dict[str, Any]:
    """Return kappa between the consensuses of both sources, and the table of their labels.

    Rows of ``table`` are labels by the first source, and columns labels by the second.
    """
    no_result: dict[str, Any] = {"kappa": None, "labels": [], "table": [], "n": 0, "same": 0, "undecided": 0}
    sources = (matched.first, matched.second)
    if any(source.level != "nominal" for source in sources):
        return no_result | {"reason": NOT_NOMINAL}
    if not matched.have_same_scale:
        return no_result | {"reason": TWO_SCALES}
    first, second = (source.on_units(matched.is_shared).consensus() for source in sources)
    units = sorted(first.keys() & second.keys())
    first_answers, second_answers = ([by_unit[unit] for unit in units] for by_unit in (first, second))
    kind = matched.first.kind
    labels: list[Any] = (
        sorted({*first_answers, *second_answers}, key=str) if kind is None else list(kind.outcomes)
    )
    images = items_of_units(*sources)[units]
    kappa = kappa_interval(
        first_answers, second_answers, labels=labels or None, **resampling.options(item=images)
    )
    counts = Counter(zip(first_answers, second_answers, strict=True))
    return {
        "kappa": {**as_json(kappa, "value", "low", "high"), "n": len(units)},
        "labels": labels,
        "table": [[counts[row, column] for column in labels] for row in labels],
        "n": len(units),
        "same": sum(counts[label, label] for label in labels),
        "undecided": int(matched.is_shared.sum()) - len(units),
        "reason": kappa.reason,
    }  # fmt: skip


def compare_winners(matched: MatchedSources, resampling: Resampling) -> dict[str, Any]:
    """Return how often both sources name the same winner of a pair, by pair kind.

    Among pairs with different winners, also return how often the first source's winner is the text with more words.
    This compares what people like with what is human-like (Vedantam et al. 2015, appendix III). Return {} if a source
    does not compare two candidates.
    """
    sources = (matched.first, matched.second)
    if not all(source.two_sided for source in sources):
        return {}
    first_winners, second_winners = (source.on_units(matched.is_shared).consensus() for source in sources)
    shared_units = sorted(first_winners.keys() & second_winners.keys())
    # Pairs of which both sources prefer a text. Another consensus is, for example, that both texts are equally good.
    units = [unit for unit in shared_units if {first_winners[unit], second_winners[unit]} <= {1, 2}]
    first_choices = np.array([first_winners[unit] for unit in units], dtype=np.int64)
    second_choices = np.array([second_winners[unit] for unit in units], dtype=np.int64)
    contents = [(matched.first.contents[unit], matched.second.contents[unit]) for unit in units]
    kinds = [first_content.kind or second_content.kind for first_content, second_content in contents]
    length_differences = np.array(
        [
            _length_difference(first_content) or _length_difference(second_content)
            for first_content, second_content in contents
        ],
        dtype=np.int64,
    )
    images = np.arange(len(units)) if resampling.ignores_clusters else items_of_units(*sources)[units]

    def share(outcomes: Flags, pairs: Flags) -> dict[str, Any]:
        """Return the share of pairs with the outcome, with its interval.

        Args:
            outcomes: (N,) whether each pair has the outcome.
            pairs: (N,) whether each pair is included.
        """
        interval = share_of_rows(outcomes.astype(np.float64), {ITEM: images}, CONFIDENCE, keep=pairs)
        n = int(pairs.sum())
        return {
            "value": float(outcomes[pairs].mean()) if n else None,
            **as_json(interval, "low", "high"),
            "n": n,
        }

    is_same = first_choices == second_choices
    chooses_longer = first_choices == np.where(length_differences > 0, 1, 2)
    has_longer = length_differences != 0
    # The (N,) flags of the pairs of each kind, such as HC, and of "all".
    by_kind = kinds_of(kinds_or_none(kinds), len(units))
    return {
        "pairs": {
            kind: {
                "same": share(is_same, pairs),
                "longer": share(chooses_longer, pairs & ~is_same & has_longer),
            }
            for kind, pairs in by_kind.items()
        }
    }


def _length_difference(content: UnitContent) -> int:
    """Return the number of words of the first text minus that of the second; 0 if one of them is unknown."""
    _reference, first, second = content.texts
    return 0 if first is None or second is None else len(first.split()) - len(second.split())
