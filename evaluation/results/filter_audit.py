"""Audit a filter by a seeded sample of its rejections (as in H13 §4.3.2). Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.utils.translation import gettext as _

from common.amounts import thousands
from evaluation.data.provenance import json_float
from evaluation.presentation.content import percent, percent_number
from evaluation.statistics.meta import wilson_interval
from judgments.kinds import Consensus, RelevanceScale

CONFIDENCE = 0.95


def audit_filter(
    relevance: RelevanceScale,
    found: Mapping[int, Consensus],
    *,
    passed: Collection[int],
    audited: Collection[int],
    pairs: int,
    passed_pairs: int,
) -> dict[str, Any]:
    """Estimate the share of good captions among the rejected ones, and their total.

    Args:
        found: unit row id -> consensus.
        passed, audited: units that passed the filter, and sampled rejected ones.
        pairs, passed_pairs: numbers of all image-caption pairs, and of those that passed.

    Returns:
        Counts; ``share`` of judged rejected pairs that describe their image; ``weight``: rejected pairs per
        sampled one; ``missed_in_all``; ``recall`` of the filter. Undefined values are None.
    """
    values = {unit: found[unit].value for unit in audited if unit in found}
    judged = [unit for unit, value in values.items() if value is not None]
    missed = sum(relevance.describes(value) for value in values.values() if value is not None)
    dropped = pairs - passed_pairs
    share = low = high = None
    if judged:
        share, (low, high) = missed / len(judged), wilson_interval(missed, len(judged), CONFIDENCE)
    right = [
        relevance.describes(one.value)
        for unit in passed
        if (one := found.get(unit)) and one.value is not None
    ]
    good = sum(right) / len(right) * passed_pairs if right else None  # as many among those not judged yet
    return {
        "dropped": dropped,
        "sampled": len(audited),
        "judged": len(judged),
        "missed": missed,
        "share": json_float(share),
        "low": json_float(low),
        "high": json_float(high),
        "confidence": CONFIDENCE,
        "unanimous_no": sum(
            not any(
                count and relevance.describes(float(answer)) for answer, count in found[unit].votes.items()
            )
            for unit in judged
        ),
        "weight": dropped / len(audited) if audited else None,
        "missed_in_all": {
            name: None if one is None else one * dropped
            for name, one in (("value", share), ("low", low), ("high", high))
        },
        "recall": {
            name: _recall(good, one, dropped)
            for name, one in (("value", share), ("low", high), ("high", low))
        },
    }


def _recall(good: float | None, share: float | None, dropped: int) -> float | None:
    if good is None or share is None or not good + share * dropped:
        return None
    return good / (good + share * dropped)


def audit_sentence(audit: Mapping[str, Any]) -> str:
    if not audit["judged"]:
        return _("%(n)s pairs that the filter left out are to be judged; none of them is yet.") % {
            "n": thousands(audit["sampled"])
        }
    said = _(
        "Of %(dropped)s pairs of image and caption that the filter left out, %(judged)s drawn at random were judged: "
        "%(missed)s of them describe their image, %(share)s (95 %% interval %(low)s to %(high)s), and on "
        "%(unanimous)s nobody said so."
    ) % {
        "dropped": thousands(audit["dropped"]),
        "judged": thousands(audit["judged"]),
        "missed": thousands(audit["missed"]),
        "share": percent(audit["share"]),
        "low": percent_number(audit["low"]),
        "high": percent(audit["high"]),
        "unanimous": thousands(audit["unanimous_no"]),
    }
    recall = audit["recall"]
    if recall["value"] is None:
        return said
    missed = _(
        "So about %(missed)s good captions are missed, and the filter lets %(share)s of them pass (%(low)s to "
        "%(high)s)."
    ) % {
        "missed": thousands(round(audit["missed_in_all"]["value"])),
        "share": percent(recall["value"]),
        "low": percent_number(recall["low"]),
        "high": percent(recall["high"]),
    }
    return f"{said} {missed}"
