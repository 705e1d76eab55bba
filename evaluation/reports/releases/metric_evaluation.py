"""Evaluate the metrics of a release against people, from the release's rows.

The same is computed for a study by ``evaluation.results.metrics.evaluation``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evaluation.data.releases.rows import ReleasedRows
from evaluation.data.releases.tables import Row
from evaluation.reports.inputs import EvaluationResult, ReportInputs
from evaluation.results.agreement import flag_judgments_for_agreement, one_against_rest
from evaluation.results.consensus.clusters import clusters_of_captions
from evaluation.results.metrics.figures import (
    accuracy_of_pairs,
    correlation_of_captions,
    preference_for_longer,
)
from evaluation.results.metrics.halves import compare_on_same_halves, halves_of_pairs
from evaluation.results.metrics.study_texts import values_of_units
from evaluation.results.metrics.texts import kinds_with_unknown
from evaluation.results.verdict import correlation_verdict, pair_verdicts, scope_fields
from judgments.kinds import CaptionScore, IncludedJudgment
from quorum.numeric.arrays import Flags, Floats
from quorum.statistics.crossed import ITEM, NAIVE, ClusterColumns, columns_and_deletions
from quorum.statistics.meta import kinds_of


@dataclass(frozen=True, slots=True)
class _ScoredCaptions:
    """N captions with scores of metrics, and people's judgments of them.

    Attributes:
        captions: image and id of each caption.
        people: (N,) people's consensus; nan without judgments.
        unit_numbers: number of each caption's unit; None if several units may judge a caption.
        ratings: (worker, rating) pairs of each caption, if several units may judge a caption.
    """

    captions: list[tuple[str, str]]
    people: Floats
    unit_numbers: list[int] | None
    ratings: list[Sequence[tuple[int, float]]]


def add_evaluation(
    rows: ReleasedRows, inputs: ReportInputs, judgments: Sequence[IncludedJudgment]
) -> ReportInputs:
    """Return the inputs with the evaluation of the metrics whose scores the release has."""
    rows_by_metric: dict[str, list[Row]] = {}
    for row in rows.scores:
        rows_by_metric.setdefault(row["metric"], []).append(row)
    if rows.settings.kind.compares_pairs:
        inputs, result = _evaluate_pairs(rows, inputs, rows_by_metric)
    else:
        inputs, result = _evaluate_captions(rows, inputs, rows_by_metric, judgments)
    assert inputs.evaluation is not None
    result |= {"signatures": dict(rows.settings.evaluation["signatures"]), "notes": []}
    return replace(inputs, evaluation=replace(inputs.evaluation, result=result))


def _evaluate_pairs(
    rows: ReleasedRows, inputs: ReportInputs, rows_by_metric: Mapping[str, list[Row]]
) -> tuple[ReportInputs, dict[str, Any]]:
    """Return the inputs with the metrics' scores of pairs, and the result, which their evaluation does not have yet."""
    names, pair_numbers = [row["pair"] for row in rows.pairs], range(len(rows.pairs))
    pair_kinds = [row["kind"] or "" for row in rows.pairs]
    scores: dict[str, Floats] = {}
    for metric, metric_rows in rows_by_metric.items():
        scores_by_pair = {row["pair"]: (row["first"], row["second"]) for row in metric_rows}
        pair_scores = [scores_by_pair[name] for name in names]
        scores[metric] = np.array(pair_scores, dtype=np.float64).reshape(-1, 2)
    settings = rows.settings.evaluation
    evaluation = EvaluationResult({}, settings["settings"], settings["signature"], scores, pair_numbers)
    inputs = replace(inputs, evaluation=evaluation)
    metrics = {
        metric: accuracy_of_pairs(pair_scores, inputs.people_winners, pair_kinds)
        for metric, pair_scores in scores.items()
    }
    agreement_of_people = one_against_rest(
        inputs.table,
        inputs.consensus.units,
        flag_judgments_for_agreement(inputs.table, inputs.full_depth_units),
        images=inputs.unit_images,
        anonymous=any(row.anonymous for row in rows.people()),  # releases before 0.6 lack are_raters_known
    )
    kind_names = kinds_with_unknown(pair_kinds)
    accuracy = {metric: figures["accuracy"] for metric, figures in metrics.items()}
    result = {
        **_pair_comparisons(rows, inputs, scores, kinds_of(kind_names, len(names))),
        "metrics": metrics,
        "verdict": pair_verdicts(scores, inputs.people_winners, kind_names, accuracy),
        "people": agreement_of_people if agreement_of_people["all"]["n"] else {},
        "counts": {"pairs": len(names), "no_consensus": int((inputs.winners == 0).sum())},
        **scope_fields(inputs.people_winners.deletions),
    }
    return inputs, result


def _pair_comparisons(
    rows: ReleasedRows, inputs: ReportInputs, scores: Mapping[str, Floats], by_kind: Mapping[str, Flags]
) -> dict[str, Any]:
    """Return the comparisons of metrics and people on halves of the judgments, and people's preference for length.

    Return {} for a release from before 0.6, whose intervals do not cluster.
    """
    clusters = inputs.item_clusters_of(range(len(rows.pairs)))
    if isinstance(clusters, str):  # NAIVE
        return {}
    pair_numbers = np.arange(len(rows.pairs), dtype=np.int64)
    halves, halves_without_rater = halves_of_pairs(
        inputs.table, inputs.consensus.units, pair_numbers, anonymous=not inputs.are_raters_known
    )
    comparisons = {
        "halves": compare_on_same_halves(halves, halves_without_rater, scores, by_kind, clusters[ITEM])
    }
    if texts := {row["caption"]: row["text"] for row in rows.captions}:
        candidates = [(texts[row["first"]], texts[row["second"]]) for row in rows.pairs]
        comparisons["longer"] = preference_for_longer(candidates, inputs.people_winners, by_kind)
    return comparisons


def _evaluate_captions(
    rows: ReleasedRows,
    inputs: ReportInputs,
    rows_by_metric: Mapping[str, list[Row]],
    judgments: Sequence[IncludedJudgment],
) -> tuple[ReportInputs, dict[str, Any]]:
    """Return the inputs with the scores of captions, and the result, which their evaluation does not have yet."""
    kind, settings = rows.settings.kind, rows.settings.evaluation
    # The rows of all metrics are of the same captions, in the same order.
    scored_captions = _scored_captions(rows, inputs, next(iter(rows_by_metric.values())), judgments)
    scores = {
        metric: np.array([row["first"] for row in metric_rows], dtype=np.float64)
        for metric, metric_rows in rows_by_metric.items()
    }
    evaluation = EvaluationResult(
        {},
        settings["settings"],
        settings["signature"],
        {metric: caption_scores[:, None] for metric, caption_scores in scores.items()},
        scored_captions.unit_numbers,
        people=scored_captions.people,
        captions=scored_captions.captions,
    )
    inputs = replace(inputs, evaluation=evaluation)
    # Since 0.6, texts that the filter rejected, and that were sampled to audit it, weigh more. Other rejected texts
    # ("filtered") only fill up a group of texts.
    if "audited" in evaluation.settings:
        weight = inputs.aggregation.result["filter_audit"]["weight"]
        audits = [number for number, row in enumerate(rows.units) if row["audited"] and not row["filtered"]]
        inputs = replace(inputs, unit_weights=dict.fromkeys(audits, weight))
    weights = inputs.weights if inputs.unit_weights else None
    clusters = _caption_clusters(rows, inputs, scored_captions)
    image_codes: dict[str, int] = {}
    groups = [image_codes.setdefault(image, len(image_codes)) for image, _ in scored_captions.captions]
    caption_ids = [caption_id for _, caption_id in scored_captions.captions]
    metrics = {
        metric: correlation_of_captions(
            caption_scores,
            scored_captions.people,
            groups,
            caption_ids,
            cuts=kind.comparison.cuts,
            per_image=kind.comparison.per_image,
            seed=rows.settings.seed,
            clusters=clusters,
            weights=weights,
        )
        for metric, caption_scores in scores.items()
    }
    taus = {metric: figures["kendall_tau_b"] for metric, figures in metrics.items()}
    result = {
        "metrics": metrics,
        "verdict": {"all": correlation_verdict(scores, scored_captions.people, clusters, taus, weights)},
        "counts": {"units": len(scored_captions.captions)},
        **scope_fields(columns_and_deletions(clusters)[1]),
    }
    return inputs, result


def _scored_captions(
    rows: ReleasedRows,
    inputs: ReportInputs,
    score_rows: Sequence[Row],
    judgments: Sequence[IncludedJudgment],
) -> _ScoredCaptions:
    """Return the captions of one metric's rows of scores, which name a unit, or else an image and a caption."""
    if score_rows[0]["unit"] is not None:
        number_by_unit = {row["unit"]: number for number, row in enumerate(rows.units)}
        unit_numbers = [number_by_unit[row["unit"]] for row in score_rows]
        captions = [(rows.units[number]["image"], rows.units[number]["first"]) for number in unit_numbers]
        return _ScoredCaptions(captions, values_of_units(inputs.consensus, unit_numbers), unit_numbers, [])
    captions = [(row["image"], row["caption"]) for row in score_rows]
    caption_scores = _scores_of_captions(rows, judgments, captions)
    people = np.array([score.score for score in caption_scores], dtype=np.float64)
    return _ScoredCaptions(captions, people, None, [score.ratings for score in caption_scores])


def _caption_clusters(rows: ReleasedRows, inputs: ReportInputs, captions: _ScoredCaptions) -> ClusterColumns:
    """Return the clusters of captions by document or image, and people; NAIVE for a release from before 0.6."""
    if not rows.settings.clustered:
        return NAIVE
    documents = rows.documents
    return clusters_of_captions(
        inputs.table,
        np.array(captions.unit_numbers or [], dtype=np.int64),
        [documents.get(image, image) for image, _ in captions.captions],
        ratings=captions.ratings,
        adjudicated_units=inputs.consensus.decisions,
        anonymous=not inputs.are_raters_known,
    )


def _scores_of_captions(
    rows: ReleasedRows, judgments: Sequence[IncludedJudgment], captions: Sequence[tuple[str, str]]
) -> list[CaptionScore]:
    """Return people's scores of captions, given as (image, caption id).

    A text of several systems has one score for each, in the order of its units.
    """
    results = rows.settings.kind.results
    all_scores = results.caption_scores(judgments) if results else None
    images = list(dict.fromkeys(row["image"] for row in rows.units))  # numbered as in the judged units
    scores_by_caption: defaultdict[tuple[str, str], list[CaptionScore]] = defaultdict(list)
    for score in all_scores or []:
        scores_by_caption[images[score.item], score.key].append(score)
    return [scores_by_caption[caption].pop(0) for caption in captions]
