"""Tables of the bounds of metrics, for the page and the command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.presentation import rendering
from evaluation.presentation.content import Table
from evaluation.results.consensus.tables import rank_correlations_table


def rank_tables(bounds_json: Mapping[str, Any]) -> list[Table]:
    """Return two tables of ``Bounds.as_json``: rank correlations within items, and ranks of one item's captions."""
    names = bounds_json["orders"]["names"][:-1]  # the metrics; the last name is the number of words
    columns: list[tuple[str, str] | tuple[str, str, bool]] = [("caption", "text")]
    for name in names:  # True: the heading is a name, which is not translated
        columns += [(f"{name}, rank", "count", True), (name, "coefficient", True)]
    rows = []
    for caption in bounds_json["ranked"]:
        cells = [caption["caption"]]
        for name in names:
            cells += [caption["ranks"][name], caption["scores"][name]]
        rows.append(cells)
    captions_table = rendering.table("ranked-captions", rows, columns, item=bounds_json["item"])
    return [rank_correlations_table(bounds_json["orders"]), captions_table]
