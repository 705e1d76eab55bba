"""Metrics of other installed packages, which declare them as entry points of the group `quorum.metrics`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points
from itertools import pairwise

import numpy as np

from quorum.metrics.comparison import Comparison, View
from quorum.metrics.inputs import MetricsError, PackageFailed, UnknownName
from quorum.metrics.registry.built_in import METRICS
from quorum.metrics.registry.computing import mean_over_images
from quorum.metrics.registry.declaration import Compute, ComputedScores, Metric, Option, Settings
from quorum.numeric.arrays import Floats

GROUP = "quorum.metrics"  # group of entry points

# Exceptions that faulty code of a package may raise.
FAILURES = (
    *(ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, NameError, OSError),
    *(RuntimeError, SyntaxError, TypeError, ValueError),
)

TextScores = Callable[[Sequence[str], Sequence[Sequence[str]], Settings], Sequence[float] | Floats]


def text_metric(
    name: str, what: str, function: TextScores, *, options: Mapping[str, Option] | None = None
) -> Metric:
    """Return the declaration of a metric that `function` computes. Its corpus figure is the mean of the scores.

    The function gets n candidates, n lists of references and the options' values. It returns n scores; higher is
    better. The metric raises PackageFailed if the function fails or does not return n finite numbers.
    """

    def compute(comparison: Comparison, view: View, settings: Settings) -> ComputedScores:
        n, bounds = comparison.size, comparison.group_starts.tolist()
        groups = [comparison.texts[start:end] for start, end in pairwise(bounds)]
        try:
            references = [groups[group] for group in comparison.group_of.tolist()]
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

    return Metric(name, what, compute, options=dict(options or {}), cuts_words=False)


def package_metrics() -> dict[str, EntryPoint]:
    """Return the entry points of installed packages by metric name, without loading them.

    Entry points with the name of a built-in metric are left out. Raise PackageFailed if two packages share a name.
    """
    points: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=GROUP), key=_package_of):
        package, other = _package_of(point), points.get(point.name, point)
        if package != _package_of(other):
            raise PackageFailed(
                f"packages {_package_of(other)} and {package} both have a metric {point.name!r}, expected one of the "
                "two to be installed"
            )
        if point.name not in METRICS:
            points[point.name] = point
    return points


def package_names() -> list[str]:
    """Return the names of ``package_metrics``.

    If two packages share a name, return an empty list; `metric_named` reports this error.
    """
    try:
        return list(package_metrics())
    except PackageFailed:
        return []


def _package_of(point: EntryPoint) -> str:
    return "" if point.dist is None else f"{point.dist.name}-{point.dist.version}"


def metric_named(text: str) -> Metric:
    """Return the metric that `text` names; options may follow the name.

    Raise UnknownName if there is no such metric, and PackageFailed if its package cannot be loaded.
    """
    name = text.partition("|")[0]
    if name in METRICS:
        return METRICS[name]
    packages = package_metrics()
    if name not in packages:
        raise UnknownName("metric", name, [*METRICS, *packages])
    point = packages[name]
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
    fields = {**metric.shown, "package": _package_of(point)}
    return replace(metric, compute=_zero_if_empty(metric), shown=fields)


def _zero_if_empty(metric: Metric) -> Compute:
    """Return a computation that scores empty candidates 0 and passes the others to the package's metric."""

    def compute(comparison: Comparison, view: View, settings: Settings) -> ComputedScores:
        if not comparison.is_empty.any():
            return metric.compute(comparison, view, settings)
        images = np.zeros(comparison.size)
        if comparison.is_empty.all():
            return ComputedScores(0.0, images)
        filled_scores = metric.compute(comparison.without_empty(), view, settings)
        images[~comparison.is_empty] = filled_scores.images
        is_mean = metric.statistics == Metric.statistics
        return replace(
            filled_scores, corpus=float(images.mean()) if is_mean else filled_scores.corpus, images=images
        )

    return compute
