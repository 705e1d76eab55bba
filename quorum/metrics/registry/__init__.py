"""Names of metrics, and the function `score`, which returns their scores with signatures.

To add a metric, write its function in a module of `quorum.metrics`, its computation in `computing`, and its declaration
in `METRICS` (`built_in`). A package of your own adds one by an entry point of the group `quorum.metrics`
(docs/metrics.md).
"""

from quorum.metrics.registry.built_in import METRICS
from quorum.metrics.registry.calls import MetricCall, call_of
from quorum.metrics.registry.declaration import Metric, Option
from quorum.metrics.registry.packages import metric_named, package_metric_names, package_metrics, text_metric
from quorum.metrics.registry.scoring import (
    VERSION,
    MetricScore,
    PreparedReferences,
    Scores,
    check_metrics,
    score,
)

__all__ = [
    "METRICS", "VERSION", "Metric", "MetricCall", "MetricScore", "Option", "PreparedReferences", "Scores", "call_of",
    "check_metrics", "metric_named", "package_metric_names", "package_metrics", "score", "text_metric",
]  # fmt: skip
