"""Evaluate metrics: compare their scores with the consensus of a study, for pairs or for captions.

`compute_evaluation` reads the study and computes all figures; `storage.py` stores them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evaluation.data.imported_scores import ImportedScores, check_imported, imported_hashes, load_imported
from evaluation.data.judgment_sets import loaders
from evaluation.data.judgment_sets.records import JudgmentTable
from evaluation.data.judgment_sets.study_signatures import signature_of_study
from evaluation.errors import EvaluationError
from evaluation.models import DEFAULT_METRICS, DEFAULT_TOKENIZER
from evaluation.results.agreement import flag_judgments_for_agreement, one_against_rest
from evaluation.results.consensus.clusters import CLUSTER_OPTIONS
from evaluation.results.consensus.study import StudyConsensus, consensus_of
from evaluation.results.metrics.caption_variants import compute_caption_variants
from evaluation.results.metrics.figures import (
    MetricResults,
    evaluate_on_captions,
    evaluate_on_pairs,
    preference_for_longer,
)
from evaluation.results.metrics.halves import compare_on_same_halves, halves_of_pairs
from evaluation.results.metrics.options import EvaluationOptions
from evaluation.results.metrics.pair_variants import compute_pair_variants
from evaluation.results.metrics.study_texts import (
    caption_clusters,
    judged_captions,
    judged_pairs,
    pair_clusters,
)
from evaluation.results.metrics.texts import PairMaterial, kinds_with_unknown, weights_of_captions
from evaluation.results.verdict import correlation_verdict, pair_verdicts, scope_fields
from judgments.kinds import Kind
from judgments.models import Study
from judgments.studies.designs import design_of, kind_of
from judgments.studies.generation.progress import Progress, no_progress
from quorum.numeric.signatures import signature
from quorum.statistics.crossed import ITEM, NAIVE, ClusterColumns, columns_and_deletions
from quorum.statistics.meta import PeoplesWinners, kinds_of

# Note on studies whose design selected items by their usefulness (contrib/choosing).
NOTE_ON_CHOSEN_ITEMS = (
    "The items were chosen by their usefulness, and these figures hold for the chosen items alone; “Weigh back” says "
    "what they are for all items."
)


@dataclass(frozen=True, slots=True)
class MetaEvaluation:
    """An evaluation before it is stored.

    Attributes:
        result: the result of the analysis, as it is stored (docs/evaluation.md).
        settings: options of the evaluation, and the material that it used, as it is stored.
        judgments: signature of the judgments.
        data_hash: hash of the judgments, with published winners and decisions.
    """

    study: Study
    metric_results: MetricResults
    result: dict[str, Any]
    settings: dict[str, Any]
    signature: str
    judgments: str
    data_hash: str


def compared_kind(study: Study) -> Kind:
    """Return the study's kind. Raise EvaluationError if its answers cannot be compared with metrics."""
    kind = kind_of(study)
    if kind.comparison.refusal:
        raise EvaluationError(
            f"Study {study.slug!r} is not evaluated against metrics: {kind.comparison.refusal}"
        )
    return kind


def compute_evaluation(
    *,
    study: Study,
    metrics: Sequence[str] = DEFAULT_METRICS,
    tokenizer: str = DEFAULT_TOKENIZER,
    clusters: str = CLUSTER_OPTIONS[0],
    progress: Progress = no_progress,
    **option_values: Any,
) -> MetaEvaluation:
    """Compare metrics with the study's consensus, without storing the result.

    If ``clusters`` is "naive", intervals and tests regard pairs, captions and judgments as independent.
    ``option_values`` are fields of ``EvaluationOptions``.

    Raises:
        EvaluationError: a metric or tokenizer is unknown, an option is of another protocol, or there is no consensus.
        NothingToCompare: there are no references.
    """
    kind, is_clustered = compared_kind(study), clusters != NAIVE
    naive_fields = {} if is_clustered else {"clusters": NAIVE}
    options = EvaluationOptions(**option_values)
    options.check(compares_pairs=kind.compares_pairs)
    progress(0.05, "reading judgments")
    table = loaders.load_judgments(study)
    consensus = consensus_of(study, table)
    references = loaders.load_references(study)
    progress(0.3, "scoring captions")
    check_imported(study.dataset, metrics)
    imported_scores = load_imported(study.dataset, metrics)
    # Values are as in the signature, which joins the names of metrics; the stored settings list them.
    settings: dict[str, Any] = {"protocol": study.protocol, "metrics": ",".join(metrics), "tok": tokenizer}
    if imported_scores.names:
        settings["imported"] = imported_hashes(study.dataset, metrics)
    inputs = _EvaluationInputs(
        study=study,
        table=table,
        consensus=consensus,
        references=references,
        options=options,
        metrics=metrics,
        tokenizer=tokenizer,
        imported_scores=imported_scores,
        is_clustered=is_clustered,
    )
    if kind.compares_pairs:
        metric_results, kind_settings, result = _compare_on_pairs(inputs)
    else:
        metric_results, kind_settings, result = _compare_on_captions(inputs)
    settings |= kind_settings | options.settings() | naive_fields
    settings["split"] = "+".join(split or "all" for split in references.splits)
    notes = [NOTE_ON_CHOSEN_ITEMS] if design_of(study).chosen else []
    audit_weight: float | None = kind_settings.get("audited")
    if audit_weight is not None:
        notes.append(f"Each audited text stands for {audit_weight:.3g} texts that the filter rejected.")
    result = {
        "metrics": metric_results.metrics,
        "signatures": metric_results.signatures,
        **naive_fields,
        **result,
        "notes": [*metric_results.notes, *notes],
    }
    return MetaEvaluation(
        study=study,
        metric_results=metric_results,
        result=result,
        settings=settings | {"metrics": list(metrics)},
        signature=signature("meta-evaluation", settings),
        judgments=str(signature_of_study(study, table=table)),
        data_hash=consensus.data_hash,
    )


@dataclass(frozen=True, slots=True)
class _EvaluationInputs:
    study: Study
    table: JudgmentTable
    consensus: StudyConsensus
    references: loaders.ReferenceSet
    options: EvaluationOptions
    metrics: Sequence[str]
    tokenizer: str
    imported_scores: ImportedScores
    is_clustered: bool

    @property
    def computed_metrics(self) -> list[str]:
        """The metrics that are not imported, so that Quorum can compute them with other references."""
        return [name for name in self.metrics if name not in self.imported_scores.names]


def _compare_on_pairs(inputs: _EvaluationInputs) -> tuple[MetricResults, dict[str, Any], dict[str, Any]]:
    """Return the metrics' figures on pairs, and the settings and results that only studies of pairs have."""
    study, consensus = inputs.study, inputs.consensus
    material = judged_pairs(study, consensus, inputs.references)
    pairs = material.pairs
    clusters = pair_clusters(study, inputs.table, consensus, pairs) if inputs.is_clustered else NAIVE
    winners = PeoplesWinners.from_winners([pair.winner for pair in pairs], clusters=clusters)
    metric_results = evaluate_on_pairs(
        pairs,
        material.documents,
        metrics=inputs.metrics,
        imported=inputs.imported_scores,
        tokenizer=inputs.tokenizer,
        people=winners,
    )
    settings = {
        "df": f"{len(material.documents)}-images",  # from which document frequencies are computed
        "refs": f"first-{material.leading_count}" if material.leading_count else "all",  # of each image
        "metric-ties": "wrong",
        "no-consensus": "left-out",
    }
    return metric_results, settings, _results_on_pairs(inputs, material, metric_results, winners, clusters)


def _results_on_pairs(
    inputs: _EvaluationInputs,
    material: PairMaterial,
    metric_results: MetricResults,
    winners: PeoplesWinners,
    clusters: ClusterColumns,
) -> dict[str, Any]:
    """Return the results that only studies of pairs have, under the keys with which they are stored.

    people: how well each person's judgments agree with those of the others; {} if no unit has several judgments.
    halves: by pair kind, how often metrics, and one half of a pair's votes, name the winner of the other half.
    longer: by pair kind, how often people prefer the text with more words.
    verdict: by pair kind, the best metrics, with tests of the differences to the others.
    counts: the numbers of pairs, and of pairs without a consensus.
    readings: by option, the variants of the accuracy that the options request; missing if they request none.
    scope, raters: to which population the verdicts generalise, and the number of raters, if it is known.
    """
    study, table, consensus, pairs = inputs.study, inputs.table, inputs.consensus, material.pairs
    kind_of_pair = kinds_with_unknown(pair.kind for pair in pairs)
    flags_by_kind = kinds_of(kind_of_pair, len(pairs))
    agreement_of_people = one_against_rest(
        table,
        consensus.units,
        # units that early stopping ends when people agree would bias agreement
        flag_judgments_for_agreement(table, loaders.full_depth_units(study)),
        images=loaders.clusters_of_units(study, consensus.units) if inputs.is_clustered else None,
        anonymous=loaders.is_anonymous(study),
    )
    halves, halves_without_rater = halves_of_pairs(
        table,
        consensus.units,
        np.array([pair.pk for pair in pairs], dtype=np.int64),
        # without clusters, intervals do not cover other raters
        anonymous=not inputs.is_clustered or loaders.is_anonymous(study),
    )
    images = clusters[ITEM] if isinstance(clusters, Mapping) else None
    accuracy = {name: figures["accuracy"] for name, figures in metric_results.metrics.items()}
    result: dict[str, Any] = {
        "people": agreement_of_people if agreement_of_people["all"]["n"] else {},
        "halves": compare_on_same_halves(
            halves, halves_without_rater, metric_results.scores, flags_by_kind, images
        ),
        "longer": preference_for_longer(
            [(pair.first, pair.second) for pair in pairs], winners, flags_by_kind
        ),
        "verdict": pair_verdicts(metric_results.scores, winners, kind_of_pair, accuracy),
        "counts": {"pairs": len(pairs), "no_consensus": sum(pair.winner == 0 for pair in pairs)},
    }
    variants = compute_pair_variants(
        inputs.options,
        pairs,
        material.documents,
        metric_results,
        metrics=inputs.computed_metrics,
        tokenizer=inputs.tokenizer,
        seed=design_of(study).seed,
        people=winners,
        clusters=clusters,
    )
    if variants:
        result["readings"] = variants
    return result | scope_fields(winners.deletions)


def _compare_on_captions(inputs: _EvaluationInputs) -> tuple[MetricResults, dict[str, Any], dict[str, Any]]:
    """Return the metrics' figures on captions, and the settings and results that only studies of captions have.

    A caption's own reference is a reference with the same text. The caption is scored without it or, if the options
    say ``without_own``, is left out. If they say ``own_kept``, it is also scored with it.
    """
    study, table, consensus, options = inputs.study, inputs.table, inputs.consensus, inputs.options
    comparison, seed = kind_of(study).comparison, design_of(study).seed
    captions, counts = judged_captions(
        study, consensus, table, inputs.references, without_own=options.without_own
    )
    documents = inputs.references.documents()
    clusters = caption_clusters(study, table, consensus, captions) if inputs.is_clustered else NAIVE
    shared_options: dict[str, Any] = {
        "tokenizer": inputs.tokenizer,
        "cuts": comparison.cuts,
        "seed": seed,
        "clusters": clusters,
    }
    metric_results = evaluate_on_captions(
        captions,
        documents,
        metrics=inputs.metrics,
        imported=inputs.imported_scores,
        per_image=comparison.per_image,
        **shared_options,
    )
    # what is removed: the captions that have an own reference ("left-out"), or only that reference ("dropped")
    own_references = "left-out" if options.without_own else "dropped"
    settings = {"df": f"{len(documents)}-images", "own": own_references, "seed": seed}
    tau_by_metric = {name: figures["kendall_tau_b"] for name, figures in metric_results.metrics.items()}
    scores = {name: caption_scores[:, 0] for name, caption_scores in metric_results.scores.items()}  # (N, 1)
    people = np.array([caption.people for caption in captions], dtype=np.float64)
    weights = weights_of_captions(captions)
    verdict = correlation_verdict(scores, people, clusters, tau_by_metric, weights)
    result: dict[str, Any] = {"counts": counts, "verdict": {"all": verdict}}
    if weights is not None:
        settings["audited"] = float(weights.max())  # the weight of audited captions; that of others is 1
    cuts = options.people_at_least or comparison.cuts  # thresholds of people's scores for kappa
    variants = compute_caption_variants(
        options, captions, metric_results, table, cuts=cuts, seed=seed, clusters=clusters
    )
    # Also score with own references (Hodosh et al. 2013, §4.1.1).
    if options.own_kept and inputs.computed_metrics:
        captions_with_all_references = [
            replace(caption, references=[text for _, text in inputs.references.of_item[caption.item]])
            for caption in captions
        ]
        results_with_own_references = evaluate_on_captions(
            captions_with_all_references,
            documents,
            metrics=inputs.computed_metrics,
            per_image=False,
            **shared_options,
        )
        variants["own_kept"] = results_with_own_references.metrics
    if variants:
        result["readings"] = variants
    return metric_results, settings, result | scope_fields(columns_and_deletions(clusters)[1])
