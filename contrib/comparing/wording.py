"""Describe the result of comparing two metrics: which one agrees better with people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from common.amounts import coefficient, p_in_text, percent, thousands
from evaluation.results.consensus.clusters import scope_sentence

SIGNIFICANCE_LEVEL = 0.05


def describe_comparison(result: Mapping[str, Any]) -> str:
    """Describe a result of ``compare_metrics`` or ``compare_with_scores``, whose rows have both metrics' agreement."""
    rows = result["rows"]
    # Of pairs, the row of all kinds; of captions, whose rows have no kind, the first one, which is Kendall's tau-b.
    row = next((row for row in rows if row.get("kind", "all") == "all"), None)
    first, second = result["metrics"]
    if row is None or row["difference"] is None:
        return _("%(first)s and %(second)s cannot be compared item by item.") % {
            "first": first,
            "second": second,
        }
    format_value = percent if result["what"] == "pairs" else coefficient
    p = row["p"]
    ahead, behind = (first, second) if row["difference"] >= 0 else (second, first)
    values = {
        "ahead": ahead,
        "behind": behind,
        "better": format_value(max(row["first"], row["second"])),
        "worse": format_value(min(row["first"], row["second"])),
        "n": thousands(row["n"]),
        "p": "" if p is None else p_in_text(p),
    }
    if p is None:
        sentence = _(
            "The difference between %(ahead)s and %(behind)s was not tested: %(better)s and %(worse)s, n = %(n)s."
        )
    elif p > SIGNIFICANCE_LEVEL:
        sentence = _(
            "No significant difference between %(ahead)s and %(behind)s: %(better)s and %(worse)s, n = %(n)s (%(p)s)."
        )
    else:
        sentence = _(
            "%(ahead)s agrees with people better than %(behind)s does: %(better)s against "
            "%(worse)s, n = %(n)s (%(p)s)."
        )
    # "scope" is the population to which the result generalises. Results of earlier versions do not have it.
    return f"{sentence % values} {scope_sentence(result) if 'scope' in result else ''}".strip()
