"""Options of intervals, and signed results.

A signature names the statistic, its form of input if there are several, and every option:
`krippendorff-alpha|input:table|level:ordinal|confidence:0.95|resamples:2000|seed:0|clusters:both|v:1.0`
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple, ParamSpec, TypedDict, TypeVar, Unpack

import numpy as np

from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.numeric.signatures import PLACEHOLDER, Signature, Value
from quorum.statistics.crossed import (
    BOTH,
    CONFIDENCE,
    NAIVE,
    ClusterColumns,
    Clusters,
    RaterDeletions,
    check_confidence,
    cluster_columns,
    columns_and_deletions,
)
from quorum.statistics.resampling import RESAMPLES, Seed, bootstrap, generator_of, percentile_interval

VERSION = "1.0"
INDEPENDENCE_NOTE = "no clusters were given, so items are treated as independent"
Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")

DEFAULTS: Mapping[str, Any] = {
    "confidence": CONFIDENCE,
    "resamples": RESAMPLES,
    "seed": 0,
    "clusters": NAIVE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Fields that all results have in addition to their figures.

    seed: of random numbers, if there were any. reason: why a figure or the interval is undefined. note: remarks on the
    method. clusters: number of clusters by name, such as item and rater. signature: see the docstring of this module.
    """

    seed: int | None = None
    reason: str = ""
    note: str = ""
    clusters: Mapping[str, int] = field(default_factory=dict)
    signature: str = ""

    def fields_by_name(self) -> dict[str, Any]:
        """Return the values of all fields, from which a result with further fields can be constructed."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference(Result):
    """A result with an interval, or nan for its limits. `undefined_resamples` gave no value, and are left out."""

    low: float = math.nan
    high: float = math.nan
    confidence: float = CONFIDENCE
    resamples: int = 0
    undefined_resamples: int = 0


class Sampling(TypedDict, total=False):
    """The options of functions that return an interval, in the order of their signatures."""

    confidence: float
    resamples: int
    seed: Seed
    clusters: ClusterColumns


class Clustering(TypedDict, total=False):
    """The options of functions that do not resample."""

    confidence: float
    clusters: ClusterColumns


class RaterSampling(Sampling, total=False):
    """The options of coefficients of agreement. Units and raters are random unless `clusters` says otherwise."""


# The options, by the annotation of a function's `**options`, which is a text at run time.
OPTIONS = {f"Unpack[{kind.__name__}]": kind for kind in (Sampling, Clustering, RaterSampling)}


@dataclass(frozen=True, slots=True)
class Options:
    """The checked options of an interval."""

    confidence: float
    resamples: int
    generator: np.random.Generator
    seed: int | None
    columns: Mapping[str, Iterable[Any]]

    @classmethod
    def from_sampling(cls, **options: Unpack[Sampling]) -> Options:
        columns = cluster_columns(options.get("clusters", NAIVE))
        confidence = check_confidence(options.get("confidence", CONFIDENCE))
        generator, seed = generator_of(options.get("seed", 0))
        return cls(confidence, options.get("resamples", RESAMPLES), generator, seed, columns)

    @classmethod
    def with_raters(cls, **options: Unpack[Sampling]) -> tuple[Options, RaterDeletions | None]:
        """Return the options without `RaterDeletions` in `clusters`, and these effects of leaving out raters."""
        options["clusters"], deletions = columns_and_deletions(options.get("clusters", NAIVE))
        return cls.from_sampling(**options), deletions

    def clusters_of(self, row_name: str, keep: Flags) -> Clusters:
        """Return the clusters of the rows for which `keep` (N,) is true.

        Without columns, each row is a cluster and `counts` is empty. `row_name` says what a row is, such as "pair".
        """
        if self.columns:
            return Clusters.from_columns(self.columns, len(keep), keep)
        return replace(Clusters.from_columns({row_name: range(len(keep))}, len(keep), keep), counts={})

    def undefined_inference(self, reason: str = "") -> Inference:
        return Inference(confidence=self.confidence, resamples=self.resamples, seed=self.seed, reason=reason)

    def bootstrap(self, statistic: Callable[[Floats], Floats], frequency: Ints, width: int = 1) -> Inference:
        """Return the percentile interval of a statistic of resampled units. Arguments are as in `bootstrap`."""
        draws = bootstrap(
            statistic, frequency, resamples=self.resamples, generator=self.generator, width=width
        )
        return self.interval_of_draws(draws)

    def interval_of_draws(self, draws: Floats) -> Inference:
        low, high, undefined_count = percentile_interval(draws, self.confidence)
        return replace(self.undefined_inference(), low=low, high=high, undefined_resamples=undefined_count)

    def interval_of_clusters(self, clusters: Clusters, limits: tuple[float, float]) -> Inference:
        low, high = limits
        return Inference(
            low=low,
            high=high,
            confidence=self.confidence,
            seed=self.seed,
            reason=clusters.reason,
            note=clusters.note,
            clusters=clusters.counts,
        )


class Statistic(NamedTuple):
    """The name of a signed function, and the fixed fields that distinguish functions with the same name."""

    name: str
    fixed: Mapping[str, str]


def statistic_of(function: object) -> Statistic | None:
    """Return the statistic of a function that `signed` has decorated; None for anything else."""
    statistic = getattr(function, "statistic", None)
    return statistic if isinstance(statistic, Statistic) else None


def signed(
    name: str, *, data: tuple[str, ...] = (), **fixed: str
) -> Callable[[Callable[Parameters, Returned]], Callable[Parameters, Returned]]:
    """Return a decorator that signs a function's result: a dataclass with a field `signature`, or a mapping to them.

    Parameters with a default are part of the signature, except those named in `data`. `fixed` fields distinguish
    functions with the same name (`input="rows"`). If the function takes clusters and the call passes none, the result's
    note says that rows are regarded as independent.
    """

    def decorate(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
        parameters = _signature_of(function)
        options = [
            key
            for key, parameter in parameters.parameters.items()
            if parameter.default is not parameter.empty and key not in data
        ]

        @functools.wraps(function)
        def wrapper(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
            call = parameters.bind(*args, **kwargs)
            has_clusters_argument = "clusters" in call.arguments
            result = function(*args, **kwargs)
            call.apply_defaults()
            values = {key: _signature_value(call.arguments[key]) for key in options}
            clusters_parameter = parameters.parameters.get("clusters")
            is_naive_by_default = clusters_parameter is not None and clusters_parameter.default == NAIVE
            if is_naive_by_default and values.get("clusters") == NAIVE:
                del values["clusters"]  # so that signatures equal those of releases without the option
            note = INDEPENDENCE_NOTE if is_naive_by_default and not has_clusters_argument else ""
            return _with_signature(result, str(Signature(name, {**fixed, **values}, VERSION)), note)

        vars(wrapper).update(statistic=Statistic(name, fixed), __signature__=parameters)
        return wrapper

    return decorate


def _signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """Return the function's signature, with the keys of `Sampling` or another of `OPTIONS` in place of `**options`."""
    signature = inspect.signature(function)
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        if parameter.kind is not parameter.VAR_KEYWORD:
            parameters.append(parameter)
            continue
        options = OPTIONS[str(parameter.annotation)]
        parameters += [
            inspect.Parameter(
                key,
                parameter.KEYWORD_ONLY,
                default=BOTH if options is RaterSampling and key == "clusters" else DEFAULTS[key],
                annotation=annotation,
            )
            for key, annotation in options.__annotations__.items()
        ]
    return signature.replace(parameters=parameters)


def _with_signature(result: Any, signature: str, note: str) -> Any:
    """Return the result, or each entry of a mapping, with the signature and the note added."""
    if isinstance(result, Mapping):
        return {key: _with_signature(entry, signature, note) for key, entry in result.items()}
    if isinstance(result, Result) and note:
        result = replace(result, note="; ".join(filter(None, (result.note, note))))
    return replace(result, signature=signature)


def _signature_value(value: Any) -> Value:
    """Return an option as a signature states it. Data become a placeholder; of columns, the names are kept."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(_signature_value(item) for item in value)
    if isinstance(value, Mapping):
        return "-".join([PLACEHOLDER, *map(str, value)])
    return PLACEHOLDER
