"""R-precision of systems' lists, computed item by item."""

from collections import Counter, defaultdict
from statistics import mean
from typing import Any

from benchmarks.claims.rows import Rows
from judgments.models import Output

# Above this, a consensus is nearer to the second point of the scale than to the lowest.
MIN_RELEVANT_VALUES = {"graded": 1.5, "slider": 0.5, "relevance": 0.5}


def relevance(rows: Rows) -> dict[tuple[int, int], bool]:
    """Return whether people find a text relevant to its item, by (item, text)."""
    return {
        (rows.units[unit].item_id, rows.units[unit].first_id or 0): (value or 0)
        > MIN_RELEVANT_VALUES[rows.protocol]
        for unit, value in rows.consensus.items()
    }


def systems(rows: Rows) -> dict[str, dict[int, list[int]]]:
    """Return the texts of each system and item, best first. Only the order of ranks matters; they may have gaps."""
    lists: Any = defaultdict(lambda: defaultdict(list))
    outputs = Output.objects.filter(item__dataset=rows.study.dataset).select_related("system")
    for output in outputs.order_by("rank"):
        lists[output.system.name][output.item_id].append(output.caption_id)
    return lists


def precision_by_system(rows: Rows) -> dict[str, float]:
    """Return the R-precision of each system.

    It is the mean, over items with r relevant texts, of the share of these texts among the first r of the list.
    """
    judged, values = relevance(rows), {}
    wanted = Counter(item for (item, _), relevant in judged.items() if relevant)
    for name, of_item in systems(rows).items():
        took_part = any((item, text) in judged for item, texts in of_item.items() for text in texts)
        shares = [
            sum(judged.get((item, text), False) for text in texts[: wanted[item]]) / wanted[item]
            for item, texts in of_item.items()
            if wanted[item]
        ]
        if took_part and shares:
            values[name] = mean(shares)
    return values
