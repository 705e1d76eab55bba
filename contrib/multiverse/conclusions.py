"""Compute a multiverse of analyses: the same conclusions under every defensible combination of choices.

A specification is one such combination, and a universe is the set of specifications of one analysis.

Steegen, Tuerlinckx, Gelman, Vanpaemel 2016, "Increasing Transparency Through a Multiverse Analysis";
Simonsohn, Simmons, Nelson 2020, "Specification Curve Analysis".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from common.amounts import as_json
from contrib.multiverse.analyses import CaptionMetrics, PairMetrics, SpecificationFigures
from contrib.multiverse.choices import MAX_SPECIFICATIONS, Universe, choices_of
from contrib.multiverse.votes import StudyVotes
from evaluation.errors import EvaluationError
from judgments.models import Study
from judgments.studies.generation.progress import Progress, no_progress
from quorum.numeric.arrays import Flags, Floats
from quorum.statistics.crossed import CONFIDENCE

METRICS, AGREEMENT = "metrics", "agreement"  # the names of the two universes
BEST_METRIC = "best"

# Krippendorff 2004: the least alpha for reliable and for tentative conclusions.
RELIABLE, TENTATIVE = 0.8, 0.667
MAX_COMPARED_METRICS = 8  # number of metrics with which the best one is compared


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The claim that an estimate lies above a threshold or, if ``below`` is true, below it.

    Attributes:
        universe: METRICS or AGREEMENT, by the specifications on which the conclusion depends.
        better, worse: the metrics whose difference is the estimate. ``worse`` is "" if the best metric is compared
            with all others. Both are "" if the estimate is Krippendorff's alpha.
    """

    name: str
    universe: str
    better: str
    worse: str
    threshold: float
    below: bool = False


def compute_multiverse(
    study: Study, *, metrics: Sequence[str], tokenizer: str, data_hash: str, progress: Progress = no_progress
) -> dict[str, Any]:
    """Return the multiverse of a study as JSON: its universes, and its conclusions with their estimates.

    Args:
        metrics: the metrics of the evaluation; () if the study has none.
        data_hash: hash of the consensus.

    Raises:
        EvaluationError: the study has neither votes nor metrics.
    """
    votes = StudyVotes.for_study(study)
    generator = np.random.default_rng(votes.seed)
    universes: dict[str, Universe] = {}
    conclusions: list[dict[str, Any]] = []
    if metrics:
        progress(0.0, "choices of the evaluation")
        analysis = (PairMetrics if votes.kind.compares_pairs else CaptionMetrics)(votes, metrics, tokenizer)
        options = analysis.options | {"tokenizer": tokenizers(analysis.computed, tokenizer)}
        universe = Universe.from_choices(choices_of(options), generator)
        universes[METRICS] = universe
        conclusions += _metric_conclusions(analysis, universe, progress)
    if votes.has_votes and not votes.kind.aggregation.no_alpha:
        universe = Universe.from_choices(choices_of(votes.options_of_alpha), generator)
        progress(0.9, "choices of agreement")
        estimates = _alpha_estimates(votes, universe)
        default_alpha = float(estimates.value[0])
        if not math.isnan(default_alpha):
            universes[AGREEMENT] = universe
            agreement = _conclusion_json(_alpha_conclusion(default_alpha), universe, estimates)
            conclusions.append(agreement | {"shows": "coefficient", "axis": "alpha"})
    if not conclusions:
        raise EvaluationError(
            f"Study {study.slug!r} has no conclusion to hold under other choices: it needs two metrics that differ, "
            "or judgments that agree or not."
        )
    return {
        "data_hash": data_hash,
        "seed": votes.seed,
        "metrics": list(metrics),
        "tokenizer": tokenizer,
        "most": MAX_SPECIFICATIONS,  # in a universe; "most" of a conclusion is its largest value
        "universes": {name: _universe_json(universe) for name, universe in universes.items()},
        "conclusions": conclusions,
    }


def _universe_json(universe: Universe) -> dict[str, Any]:
    return {
        "choices": [
            {"name": choice.name, "label": choice.label, "options": list(choice.options)}
            for choice in universe.choices
        ],
        "possible": universe.combination_count,
        "specifications": universe.option_indices.tolist(),
    }


class _Estimates(NamedTuple):
    """(S,) estimates under S specifications, and the bounds of their intervals; nan if undefined."""

    low: Floats
    value: Floats
    high: Floats


def _metric_conclusions(
    analysis: PairMetrics | CaptionMetrics, universe: Universe, progress: Progress
) -> list[dict[str, Any]]:
    """Return the conclusions about metrics, as JSON, with their results under each specification."""
    figures = []
    for index, specification in enumerate(universe):
        progress(0.9 * index / len(universe), f"specification {index + 1:,} of {len(universe):,}")
        figures.append(analysis.figures(specification))
    format_and_axis = {"shows": analysis.shows, "axis": analysis.axis}
    return [
        _conclusion_json(conclusion, universe, _metric_differences(figures, conclusion)) | format_and_axis
        for conclusion in conclusions_of(figures[0])  # the first specification is the default
    ]


def _alpha_estimates(votes: StudyVotes, universe: Universe) -> _Estimates:
    alphas = [votes.alpha(specification) for specification in universe]
    low, value, high = (
        np.array([math.nan if alpha[end] is None else alpha[end] for alpha in alphas], dtype=np.float64)
        for end in ("low", "value", "high")
    )
    return _Estimates(low, value, high)


def tokenizers(metrics: Sequence[str], default: str) -> tuple[str, ...]:
    """Return the study's tokenizer and, if a metric depends on the tokenizer, further ones."""
    from quorum.metrics.registry import metric_named
    from quorum.metrics.text.tokenizers import TOKENIZERS

    # A metric that splits texts into words uses the study's tokenizer unless it has a tokenizer of its own.
    if any(metric.cuts_words and not metric.tokenizer for metric in map(metric_named, metrics)):
        return (default, *(name for name in TOKENIZERS if name != default))
    return (default,)


def conclusions_of(default: SpecificationFigures) -> list[Conclusion]:
    """Return the conclusions under the default specification: which metric is best, and that it exceeds others."""
    values = {name: value for name, value in default.values.items() if not math.isnan(value)}
    order = sorted(values, key=lambda name: -values[name])
    if len(order) < 2:
        return []
    best, *other_metrics = order
    worse_metrics = [name for name in other_metrics if values[best] > values[name]][:MAX_COMPARED_METRICS]
    conclusions = [
        Conclusion(f"{BEST_METRIC}-and-{number}", METRICS, best, name, 0.0)
        for number, name in enumerate(worse_metrics, start=1)
    ]
    if values[other_metrics[0]] == values[best]:
        return conclusions  # several metrics are highest, so none is best
    best_of_all = Conclusion(BEST_METRIC, METRICS, best, "", 0.0)
    # With a single other metric, the conclusion about it would say the same.
    return [best_of_all, *conclusions] if len(conclusions) > 1 else [best_of_all]


def _alpha_conclusion(value: float) -> Conclusion:
    """Return the conclusion about agreement that alpha under the default specification, ``value``, supports."""
    threshold = RELIABLE if value >= RELIABLE else TENTATIVE
    return Conclusion(AGREEMENT, AGREEMENT, "", "", threshold, below=value < TENTATIVE)


def _metric_differences(figures: Sequence[SpecificationFigures], conclusion: Conclusion) -> _Estimates:
    """Return the value of the better metric minus that of the worse one under each specification.

    If the conclusion names no worse metric, the best of all other metrics is subtracted.
    """
    low, value, high = np.full((3, len(figures)), math.nan)
    for index, specification_figures in enumerate(figures):
        values, influences = specification_figures.values, specification_figures.influences
        other_names = [name for name in values if name != conclusion.better]
        names = [conclusion.worse] if conclusion.worse else other_names
        other_values = {name: values[name] for name in names if not math.isnan(values[name])}
        if not other_values or math.isnan(values[conclusion.better]):
            continue
        best_name = max(other_values, key=lambda name: other_values[name])
        difference = values[conclusion.better] - other_values[best_name]
        influences_on_difference = influences[conclusion.better] - influences[best_name]
        spread = specification_figures.clusters.spread(influences_on_difference)
        half_width = spread.half_width(CONFIDENCE)
        low[index], value[index], high[index] = difference - half_width, difference, difference + half_width
    return _Estimates(low, value, high)


def _conclusion_json(conclusion: Conclusion, universe: Universe, estimates: _Estimates) -> dict[str, Any]:
    """Return a conclusion with its estimates under the specifications of its universe, as JSON.

    ``holds`` is the share of specifications in which the value passes the threshold, ``clear`` the share in which the
    whole interval does, and ``moved_by`` the choice whose options differ most in their mean value.
    """
    low, value, high = estimates
    threshold, is_below = conclusion.threshold, conclusion.below
    is_inclusive = conclusion.universe == AGREEMENT
    holds = passes_threshold(value, threshold, below=is_below, inclusive=is_inclusive)
    nearer_end = high if is_below else low  # if this end of an interval passes the threshold, all of it does
    is_clear = passes_threshold(nearer_end, threshold, below=is_below, inclusive=is_inclusive)
    is_defined = ~np.isnan(value)
    choices: dict[str, dict[str, dict[str, Any]]] = {}  # by name of the choice, and by option
    for column, choice in enumerate(universe.choices):
        choices[choice.name] = {}
        for index, option in enumerate(choice.options):
            has_option = is_defined & (universe.option_indices[:, column] == index)
            choices[choice.name][option] = {
                "n": int(has_option.sum()),
                "mean": _mean(value, has_option),
                "holds": _mean(holds, has_option),
                "clear": _mean(is_clear, has_option),
            }
    ranges = {name: _range_of_means(figures_by_option) for name, figures_by_option in choices.items()}
    return as_json(
        {
            **asdict(conclusion),
            "n": int(is_defined.sum()),
            "undefined": int((~is_defined).sum()),
            "holds": _mean(holds, is_defined),
            "clear": _mean(is_clear, is_defined),
            "median": float(np.median(value[is_defined])),
            "least": float(value[is_defined].min()),
            "most": float(value[is_defined].max()),
            "moved_by": max(ranges, key=lambda name: ranges[name]) if ranges else "",
            "ranges": ranges,
            "choices": choices,
            "low": low,
            "value": value,
            "high": high,
        }
    )


def passes_threshold(values: Floats, threshold: float, *, below: bool, inclusive: bool) -> Flags:
    """Return which values are above the threshold or, with ``below``, below it.

    With ``inclusive``, a value that equals the threshold counts as above it.
    """
    if below:
        return values < threshold
    return values >= threshold if inclusive else values > threshold


def _mean(values: Floats | Flags, is_included: Flags) -> float | None:
    """Return the mean of the flagged values; None if there are none."""
    return float(values[is_included].mean()) if is_included.any() else None


def _range_of_means(figures_by_option: Mapping[str, Mapping[str, Any]]) -> float:
    """Return the largest difference between the ``mean`` of two options of a choice."""
    means = [figures["mean"] for figures in figures_by_option.values() if figures["mean"] is not None]
    return max(means) - min(means) if means else 0.0
