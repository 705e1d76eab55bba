"""Find and load metrics of other installed packages, which declare them as entry points of the group `quorum.metrics`.

`text_metric` makes the declaration of such a metric from a function of texts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points
from itertools import pairwise

import numpy as np

from quorum.metrics.comparison import ReferenceComparison, Tokenization
from quorum.metrics.inputs import MetricsError, PackageFailed, UnknownName
from quorum.metrics.registry.built_in import METRICS
from quorum.metrics.registry.computing import mean_over_images
from quorum.metrics.registry.declaration import Compute, ComputedScores, Metric, MetricSettings, Option
from quorum.numeric.arrays import Floats

ENTRY_POINT_GROUP = "quorum.metrics"

# Exceptions that faulty code of a package may raise.
FAILURES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)

TextScorer = Callable[[Sequence[str], Sequence[Sequence[str]], MetricSettings], Sequence[float] | Floats]


def text_metric(
    name: str, what: str, function: TextScorer, *, options: Mapping[str, Option] | None = None
) -> Metric:
    """Return the declaration of a metric that `function` computes. Its corpus score is the mean of the scores.

    `what` describes it in words. The function gets n candidates, n lists of references and the options' values, and
    returns n scores; higher is better. The metric raises PackageFailed if it fails or returns no n finite numbers.
    """

    def compute(
        comparison: ReferenceComparison, tokenization: Tokenization, settings: MetricSettings
    ) -> ComputedScores:
        n, group_starts = comparison.candidate_count, comparison.group_starts.tolist()
        references_by_group = [comparison.texts[start:end] for start, end in pairwise(group_starts)]
        try:
            references = [references_by_group[group] for group in comparison.group_of.tolist()]
            scores = np.array(function(comparison.texts[:n], references, settings), dtype=np.float64)
        except MetricsError:
            raise
        except FAILURES as error:
            raise PackageFailed(
                f"metric {name!r} cannot be computed: {type(error).__name__}: {error}"
            ) from error
        if scores.shape != (n,) or not np.isfinite(scores).all():
            raise PackageFailed(f"metric {name!r} gives no finite number for each of {n} candidates")
        return mean_over_images(scores)

    # `cuts_words` is false, because the function gets whole texts.
    return Metric(name, what, compute, options=dict(options or {}), cuts_words=False)


def package_metrics() -> dict[str, EntryPoint]:
    """Return the entry points of installed packages by metric name, without loading them.

    Entry points with the name of a built-in metric are left out. Raise PackageFailed if two packages share a name.
    """
    points: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=_package_of):
        package = _package_of(point)
        earlier_point = points.get(point.name)
        # A package that is found twice does not conflict with itself.
        if earlier_point is not None and _package_of(earlier_point) != package:
            raise PackageFailed(
                f"packages {_package_of(earlier_point)} and {package} both have a metric {point.name!r}, expected "
                "one of the two to be installed"
            )
        if point.name not in METRICS:
            points[point.name] = point
    return points


def package_metric_names() -> list[str]:
    """Return the names of the metrics in `package_metrics`.

    If two packages share a name, return an empty list; `metric_named` reports this error.
    """
    try:
        return list(package_metrics())
    except PackageFailed:
        return []


def _package_of(point: EntryPoint) -> str:
    """Return the name and version of the package that declares an entry point."""
    return "" if point.dist is None else f"{point.dist.name}-{point.dist.version}"


def metric_named(text: str) -> Metric:
    """Return the metric that `text` names; options may follow the name.

    Raise UnknownName if there is no such metric, and PackageFailed if its package cannot be loaded.
    """
    name = text.partition("|")[0]
    if name in METRICS:
        return METRICS[name]
    entry_points_by_name = package_metrics()
    if name not in entry_points_by_name:
        raise UnknownName("metric", name, [*METRICS, *entry_points_by_name])
    point = entry_points_by_name[name]
    try:
        metric = point.load()
    except FAILURES as error:
        raise PackageFailed(
            f"metric {name!r} of package {_package_of(point)} cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(metric, Metric) or metric.name != name:
        raise PackageFailed(
            f"the entry point {name!r} of package {_package_of(point)} is {point.value}, expected a Metric of that name"
        )
    fields = {**metric.shown, "package": _package_of(point)}  # which signatures show
    return replace(metric, compute=_score_empty_as_zero(metric), shown=fields)


def _score_empty_as_zero(metric: Metric) -> Compute:
    """Return a computation that scores empty candidates 0 and passes the others to the package's metric."""

    def compute(
        comparison: ReferenceComparison, tokenization: Tokenization, settings: MetricSettings
    ) -> ComputedScores:
        if not comparison.is_empty.any():
            return metric.compute(comparison, tokenization, settings)
        candidate_scores = np.zeros(comparison.candidate_count)
        if comparison.is_empty.all():
            return ComputedScores(0.0, candidate_scores)
        scores = metric.compute(comparison.without_empty(), tokenization, settings)
        candidate_scores[~comparison.is_empty] = scores.images  # one score of each candidate
        # Empty candidates are part of the mean.
        corpus_score = float(candidate_scores.mean()) if metric.has_mean_as_corpus_score else scores.corpus
        return replace(scores, corpus=corpus_score, images=candidate_scores)

    return compute
