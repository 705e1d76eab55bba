"""Compute a multiverse of analyses: conclusions under other defensible choices.

Steegen, Tuerlinckx, Gelman, Vanpaemel 2016, "Increasing Transparency Through a Multiverse Analysis";
Simonsohn, Simmons, Nelson 2020, "Specification Curve Analysis".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from common.amounts import as_json
from contrib.multiverse.analyses import CaptionMetrics, PairMetrics, SpecificationFigures
from contrib.multiverse.choices import MAX_SPECIFICATIONS, Universe, choices_of
from contrib.multiverse.votes import StudyVotes
from evaluation.data.imported_scores import imported_hashes
from evaluation.errors import EvaluationError
from evaluation.models import Analysis
from judgments.models import Study
from judgments.studies.generation.progress import Progress, no_progress
from quorum.numeric.arrays import Flags, Floats
from quorum.numeric.signatures import signature
from quorum.statistics.crossed import CONFIDENCE

METRICS, AGREEMENT = "metrics", "agreement"  # the names of the two universes
BEST_METRIC = "best"

# Krippendorff 2004: the least alpha for reliable and for tentative conclusions.
RELIABLE, TENTATIVE = 0.8, 0.667
MAX_COMPARED_METRICS = 8  # number of metrics with which the best one is compared


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A conclusion: an estimate lies above a threshold or, if ``below`` is true, below it.

    Attributes:
        universe: METRICS or AGREEMENT, by the specifications on which the conclusion depends.
        better, worse: metrics, whose difference is the estimate. ``worse`` is "" if the best metric is compared with
            all others. Both are "" for agreement, whose estimate is alpha.
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
    """Return the multiverse of a study as JSON.

    Args:
        metrics: the metrics of the evaluation; () if there is none.
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
        universe = universes[METRICS] = Universe.from_choices(choices_of(options), generator)
        rows = []
        for index, specification in enumerate(universe):
            progress(0.9 * index / len(universe), f"specification {index + 1:,} of {len(universe):,}")
            rows.append(analysis.figures(specification))
        for conclusion in conclusions_of(rows[0]):
            low, value, high = _metric_differences(rows, conclusion)
            shows = {"shows": analysis.shows, "axis": analysis.axis}
            conclusions.append(_conclusion_json(conclusion, universe, low, value, high) | shows)
    if votes.has_votes and not votes.kind.aggregation.no_alpha:
        universe = Universe.from_choices(choices_of(votes.options_of_alpha), generator)
        progress(0.9, "choices of agreement")
        alphas = [votes.alpha(specification) for specification in universe]
        low, value, high = (
            np.array([math.nan if alpha[end] is None else alpha[end] for alpha in alphas], dtype=np.float64)
            for end in ("low", "value", "high")
        )
        if not math.isnan(value[0]):
            universes[AGREEMENT] = universe
            agreement = _conclusion_json(_alpha_conclusion(float(value[0])), universe, low, value, high)
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
        "most": MAX_SPECIFICATIONS,
        "universes": {
            name: {
                "choices": [
                    {"name": choice.name, "label": choice.label, "options": list(choice.options)}
                    for choice in universe.choices
                ],
                "possible": universe.combination_count,
                "specifications": universe.option_indices.tolist(),
            }
            for name, universe in universes.items()
        },
        "conclusions": conclusions,
    }


def tokenizers(metrics: Sequence[str], default: str) -> tuple[str, ...]:
    """Return the study's tokenizer and, if a metric depends on the tokenizer, further ones."""
    from quorum.metrics.registry import metric_named
    from quorum.metrics.text.tokenizers import TOKENIZERS

    if all(metric.tokenizer or not metric.cuts_words for metric in map(metric_named, metrics)):
        return (default,)
    return (default, *(name for name in TOKENIZERS if name != default))


def conclusions_of(default: SpecificationFigures) -> list[Conclusion]:
    """Return the conclusions under the default specification.

    They say which metric agrees best, and that it exceeds each other metric.
    """
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
    if len(worse_metrics) < len(other_metrics[:MAX_COMPARED_METRICS]):
        return conclusions  # several metrics are highest, so none is best
    return [Conclusion(BEST_METRIC, METRICS, best, "", 0.0), *(conclusions if len(conclusions) > 1 else ())]


def _alpha_conclusion(value: float) -> Conclusion:
    """Return the conclusion about agreement that alpha under the default specification supports."""
    threshold = RELIABLE if value >= RELIABLE else TENTATIVE
    return Conclusion(AGREEMENT, AGREEMENT, "", "", threshold, below=value < TENTATIVE)


def _metric_differences(
    rows: Sequence[SpecificationFigures], conclusion: Conclusion
) -> tuple[Floats, Floats, Floats]:
    """Return the lower bound, the value and the upper bound of the better metric minus the other: three (S,) arrays.

    Each has one entry for each of S specifications. If the conclusion names no other metric, it is the best of all
    others.
    """
    differences = np.full((3, len(rows)), math.nan)
    for index, row in enumerate(rows):
        other_names = [name for name in row.values if name != conclusion.better]
        names = [conclusion.worse] if conclusion.worse else other_names
        other_values = {name: row.values[name] for name in names if not math.isnan(row.values[name])}
        if not other_values or math.isnan(row.values[conclusion.better]):
            continue
        best_other = max(other_values, key=lambda name: other_values[name])
        difference = row.values[conclusion.better] - other_values[best_other]
        influences = row.influences[conclusion.better] - row.influences[best_other]
        half_width = row.clusters.spread(influences).half_width(CONFIDENCE)
        differences[:, index] = difference - half_width, difference, difference + half_width
    low, value, high = differences
    return low, value, high


def _conclusion_json(
    conclusion: Conclusion, universe: Universe, low: Floats, value: Floats, high: Floats
) -> dict[str, Any]:
    """Return a conclusion with its results under the S specifications of its universe, as JSON.

    ``holds`` is the share of specifications in which the value is beyond the threshold, ``clear`` the share in which
    the whole interval is, and ``moved_by`` the choice whose options differ most in their mean value.
    """
    threshold, below = conclusion.threshold, conclusion.below
    inclusive = conclusion.universe == AGREEMENT
    holds = passes_threshold(value, threshold, below=below, inclusive=inclusive)
    # clear if the whole interval passes the threshold
    is_clear = passes_threshold(high if below else low, threshold, below=below, inclusive=inclusive)
    is_defined = ~np.isnan(value)
    choices: dict[str, dict[str, dict[str, Any]]] = {}
    for column, choice in enumerate(universe.choices):
        choices[choice.name] = {}
        for index, option in enumerate(choice.options):
            has_option = is_defined & (universe.option_indices[:, column] == index)
            figures: dict[str, Floats | Flags] = {"mean": value, "holds": holds, "clear": is_clear}
            means = {name: _mean(figure, has_option) for name, figure in figures.items()}
            choices[choice.name][option] = {"n": int(has_option.sum()), **means}
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
    """Return flags of values above the threshold, or below it. ``inclusive``: or equal to it, unless ``below``."""
    if below:
        return values < threshold
    return values >= threshold if inclusive else values > threshold


def _mean(values: Floats | Flags, rows: Flags) -> float | None:
    return float(values[rows].mean()) if rows.any() else None


def _range_of_means(figures_by_option: Mapping[str, Mapping[str, Any]]) -> float:
    """Return by how much the mean value differs between the options of a choice."""
    means = [figures["mean"] for figures in figures_by_option.values() if figures["mean"] is not None]
    return max(means) - min(means) if means else 0.0


def multiverse_signature(study: Study, result: Mapping[str, Any]) -> str:
    """Return the signature of a multiverse. It names every choice and its options."""
    fields: dict[str, Any] = {"protocol": study.protocol, "metrics": ",".join(result["metrics"])}
    for name, universe in result["universes"].items():
        fields[name] = f"{len(universe['specifications'])}-of-{universe['possible']}"
        fields |= {f"{name}-{choice['name']}": ",".join(choice["options"]) for choice in universe["choices"]}
    return signature("multiverse", fields | {"seed": result["seed"]})


def stored_multiverse(
    study: Study, *, metrics: Sequence[str], tokenizer: str, data_hash: str
) -> dict[str, Any] | None:
    """Return the multiverse that this version of Quorum stored for these judgments and metrics, or None."""
    analysis = Analysis.objects.filter(
        study=study,
        what=Analysis.Kind.MULTIVERSE,
        signature=signature("multiverse", _settings(study, metrics, tokenizer)),
        data_hash=data_hash,
    ).first()
    return None if analysis is None else analysis.result


def store_multiverse(study: Study, result: Mapping[str, Any], *, judgments: str) -> None:
    """Store a multiverse unless it is already stored."""
    key = {name: result[name] for name in ("metrics", "tokenizer", "data_hash")}
    if stored_multiverse(study, **key) is None:
        settings = _settings(study, result["metrics"], result["tokenizer"])
        Analysis.objects.replace(
            study=study,
            what=Analysis.Kind.MULTIVERSE,
            signature=signature("multiverse", settings),
            data_hash=result["data_hash"],
            judgments=judgments,
            settings=settings | {"choices": multiverse_signature(study, result)},
            result=dict(result),
        )


def _settings(study: Study, metrics: Sequence[str], tokenizer: str) -> dict[str, Any]:
    """Return the settings that, with the judgments, determine a multiverse."""
    settings = {
        "protocol": study.protocol,
        "metrics": ",".join(metrics),
        "tok": tokenizer,
        "most": MAX_SPECIFICATIONS,
    }
    hashes = imported_hashes(study.dataset, metrics)
    return settings | {"imported": hashes} if hashes else settings
