"""The single column of clusters that the statistics of judges accept."""

from __future__ import annotations

from quorum.numeric.arrays import Ints
from quorum.statistics.crossed import ITEM, ClusterColumns, cluster_columns, column_codes
from quorum.statistics.inputs import BadOption


def single_column(clusters: ClusterColumns, default_codes: Ints, row: str) -> tuple[str, Ints]:
    """Return the name and the (N,) codes of the only column of clusters.

    Without clusters, return ITEM and the (N,) `default_codes`. Raise BadOption if there are several columns. `row` is
    the noun in messages for what an entry of a column belongs to, such as "a unit".
    """
    columns = cluster_columns(clusters)
    if not columns:
        return ITEM, default_codes
    if len(columns) != 1:
        raise BadOption(f"clusters has {len(columns)} columns, expected one: what units share")
    ((name, values),) = columns.items()
    return name, column_codes(values, name, len(default_codes), row)
