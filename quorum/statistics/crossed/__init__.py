"""The one model of intervals and tests: items and raters as crossed random samples, single answers as noise within.

An estimate's error is about the sum of its answers' influences. Their sums by item give its variance over new items;
their sums by rater add what raters have in common beyond the noise of their answers (two-way clustering: Cameron,
Gelbach, Miller 2011; a generalizability study: Brennan 2001). See docs/statistics.md.

`clusters` reads items and raters, `variance` and `spread` have the variance and the degrees of freedom, `intervals` the
intervals of shares and coefficients. Where raters have no rows of their own, as their answers make a row's consensus
together, they are known by `RaterDeletions` (`deletions`).
"""

from quorum.statistics.crossed.clusters import (
    BOTH,
    ITEM,
    NAIVE,
    RATER,
    ClusterColumns,
    Clusters,
    column_codes,
    joint_clusters,
    renumber_codes,
    spread_of_mean,
    too_few,
)
from quorum.statistics.crossed.deletions import (
    NO_DELETIONS,
    RaterDeletions,
    answers_by_cell,
    cluster_columns,
    columns_and_deletions,
    positions_and_raters,
)
from quorum.statistics.crossed.intervals import (
    CONFIDENCE,
    ClusteredInterval,
    CrossedEstimate,
    DifferenceOfShares,
    check_confidence,
    coefficient_interval,
    share_interval,
    share_of_rows,
    spread_if_even,
)
from quorum.statistics.crossed.spread import NO_CONTRAST, NO_SPREAD, Contrast, Spread, quantile_of
from quorum.statistics.crossed.variance import FEWEST
