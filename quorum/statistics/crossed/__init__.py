"""The model behind all intervals and tests: items and raters are crossed random samples, and single answers have noise.

The error of an estimate is approximately the sum of the influences of its answers. The sums of influences by item give
the variance over new items. The sums by rater, after subtracting the variance of single answers, give the additional
variance over new raters (two-way clustering: Cameron, Gelbach, Miller 2011; generalizability theory: Brennan 2001).
See docs/statistics.md.

`clusters` reads items and raters. `variance` and `spread` compute variances and degrees of freedom. `intervals` has
intervals of shares and coefficients. If rows are consensus answers, which several raters make together, the raters are
given as `RaterDeletions` (`deletions`).
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
    too_few_clusters,
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
from quorum.statistics.crossed.variance import MIN_CLUSTERS
