"""Estimate how many good captions the filter before judging rejected, from a judged random sample of rejected ones.

The filter is ``[filter]`` of a study file: captions are judged if references have enough of their words (Bleu-pre).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.utils.translation import gettext as _

from common.amounts import interval_in_text, json_float, percent, thousands
from judgments.kinds import Consensus, RelevanceScale
from quorum.statistics.crossed import CONFIDENCE
from quorum.statistics.meta import wilson_interval


def audit_filter(
    relevance: RelevanceScale,
    consensus: Mapping[int, Consensus],
    *,
    passed_units: Collection[int],
    audited_units: Collection[int],
    pair_count: int,
    passed_pair_count: int,
) -> dict[str, Any]:
    """Estimate the share, and the number, of good captions among those that the filter rejected.

    Args:
        relevance: the scale, which says which consensus values are good.
        consensus: consensus of units by row id.
        passed_units, audited_units: row ids of units that passed the filter, and of sampled rejected units.
        pair_count, passed_pair_count: number of all image-caption pairs, and of those that passed.

    Returns:
        Counts; ``share`` of good captions in the judged pairs; ``weight``: rejected pairs for each sampled pair;
        ``missed_in_all``: estimated number of missed pairs; ``recall`` of the filter. Undefined values are None.
    """
    values = {unit: consensus[unit].value for unit in audited_units if unit in consensus}
    judged_audits = [unit for unit, value in values.items() if value is not None]
    missed_count = sum(relevance.is_relevant(value) for value in values.values() if value is not None)
    dropped_count = pair_count - passed_pair_count
    share = low = high = None
    if judged_audits:
        share = missed_count / len(judged_audits)
        low, high = wilson_interval(missed_count, len(judged_audits), CONFIDENCE)
    unanimous_count = 0
    for unit in judged_audits:
        votes = consensus[unit].votes.items()
        if not any(count and relevance.is_relevant(float(answer)) for answer, count in votes):
            unanimous_count += 1  # nobody answered that the text describes the item
    consensus_values = [consensus[unit].value for unit in passed_units if unit in consensus]
    is_good = [relevance.is_relevant(value) for value in consensus_values if value is not None]
    # The number of good pairs among those that passed, by the share among the judged ones.
    good_count = sum(is_good) / len(is_good) * passed_pair_count if is_good else None
    return {
        "dropped": dropped_count,
        "sampled": len(audited_units),
        "judged": len(judged_audits),
        "missed": missed_count,
        "share": json_float(share),
        "low": json_float(low),
        "high": json_float(high),
        "confidence": CONFIDENCE,
        "unanimous_no": unanimous_count,
        "weight": dropped_count / len(audited_units) if audited_units else None,
        "missed_in_all": {
            name: None if bound is None else bound * dropped_count
            for name, bound in (("value", share), ("low", low), ("high", high))
        },
        "recall": {
            name: _weighted_recall(good_count, bound, dropped_count)
            # The more good pairs were rejected, the lower the recall.
            for name, bound in (("value", share), ("low", high), ("high", low))
        },
    }


def _weighted_recall(
    good_count: float | None, missed_share: float | None, dropped_count: int
) -> float | None:
    """Return the share of all good pairs that passed the filter, or None if it is undefined.

    Args:
        good_count: number of good pairs that passed.
        missed_share: share of good pairs among the ``dropped_count`` pairs that did not pass.
    """
    if good_count is None or missed_share is None or not good_count + missed_share * dropped_count:
        return None
    return good_count / (good_count + missed_share * dropped_count)


def audit_sentence(audit: Mapping[str, Any]) -> str:
    """Return sentences on the result of ``audit_filter``."""
    if not audit["judged"]:
        return _(
            "None of the pairs that the filter left out has been judged yet. Pairs to be judged: %(n)s."
        ) % {"n": thousands(audit["sampled"])}
    sentence = _(
        "Pairs of item and text that the filter left out: %(dropped)s. Random pairs of these that were judged: "
        "%(judged)s. Judged pairs in which the text describes the item: %(missed)s, or %(share)s (95 %% interval "
        "%(ends)s). Judged pairs in which it does not, according to all participants: %(unanimous)s."
    ) % {
        "dropped": thousands(audit["dropped"]),
        "judged": thousands(audit["judged"]),
        "missed": thousands(audit["missed"]),
        "share": percent(audit["share"]),
        "ends": interval_in_text(audit, percent),
        "unanimous": thousands(audit["unanimous_no"]),
    }
    recall = audit["recall"]
    if recall["value"] is None:
        return sentence
    recall_sentences = _(
        "Good texts that the filter misses: about %(missed)s. Share of all good texts that pass the filter: %(share)s "
        "(95 %% interval %(ends)s)."
    ) % {
        "missed": thousands(round(audit["missed_in_all"]["value"])),
        "share": percent(recall["value"]),
        "ends": interval_in_text(recall, percent),
    }
    return f"{sentence} {recall_sentences}"
