"""Compare automatic metrics with people, and store the evaluation.

Optional variants ("readings") supplement the usual figures. They use other pairs, references, grades or thresholds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from django.db import transaction

from common.amounts import as_json, json_float
from evaluation.data.imported_scores import (
    ImportedScores,
    check_imported,
    imported_hashes,
    imported_scores,
)
from evaluation.data.judgment_sets import loaders
from evaluation.data.judgment_sets.records import JudgmentTable
from evaluation.data.judgment_sets.study_signatures import signature_of_study
from evaluation.errors import EvaluationError, NothingToCompare
from evaluation.models import DEFAULT_METRICS, DEFAULT_TOKENIZER, Analysis, MetricScore
from evaluation.results.agreement import agreement_rows, one_against_rest
from evaluation.results.consensus.clusters import CLUSTERED, clusters_of_captions, clusters_of_pairs
from evaluation.results.consensus.study import StudyConsensus, consensus_of
from evaluation.results.metric_figures import (
    UNKNOWN_KIND,
    CaptionTexts,
    MetricResults,
    PairTexts,
    References,
    compare_on_same_halves,
    find_references_of_pairs,
    halves_of_pairs,
    judge_captions,
    judge_pairs,
    kappa_at_cuts,
    preference_for_longer,
    score_pairs,
    weights_of_captions,
)
from evaluation.results.verdict import correlation_verdict, pair_verdicts, scope_fields, winners_named
from judgments.access.study_log import note_event
from judgments.kinds import Kind
from judgments.models import Study
from judgments.studies.designs import design_of, kind_of
from judgments.studies.generation.progress import Progress, no_progress
from quorum.numeric.arrays import Flags, Floats, Ints, places_in
from quorum.numeric.signatures import signature
from quorum.statistics.correlation import correlation
from quorum.statistics.crossed import ITEM, NAIVE, RATER, ClusterColumns, columns_and_deletions
from quorum.statistics.inference import Inference
from quorum.statistics.inputs import ROUNDING
from quorum.statistics.meta import (
    PeoplesWinners,
    ReferenceCurve,
    accuracy_by_references,
    kinds_of,
    metric_winners,
    pair_credits,
    pairwise_accuracy,
    random_subsets,
    soft_accuracy_of_comparisons,
)
from quorum.statistics.meta.pairwise import CALIBRATE

DRAWS = 10  # number of random subsets of references for each size
SINGLE_COEFFICIENTS = {"kendall_tau_b": "kendall-tau-b", "kendall_tau_c": "kendall-tau-c"}
MIN_RESAMPLES, MAX_RESAMPLES, GRADES_DRAWN = 50, 1000, 2_000_000
ESTIMATE = ("value", "low", "high", "n", "reason")
OF_PAIRS, OF_CAPTIONS = (
    ("all_pairs", "references", "ties"),
    ("tau_c", "single_grades", "own_kept", "without_own", "people_at_least", "metric_at_least"),
)
ITEMS_CHOSEN = (
    "The items were chosen by their usefulness, and these figures hold for the chosen items alone; “Weigh back” says "
    "what they are for all items."
)
ROWS_PER_BATCH = 2_000


@dataclass(frozen=True, slots=True)
class EvaluationOptions:
    """Options of an evaluation, which say which variants to compute in addition to the usual figures.

    Attributes of pairs:
        all_pairs: accuracy over all pairs, where any answer to a pair without a consensus is half right.
        references: accuracy with random subsets of references of these sizes.
        ties: accuracy where a metric's tie is right if people see no difference, and soft pairwise accuracy.

    Attributes of captions:
        tau_c: Kendall's tau-c with people's share or mean.
        single_grades: correlation with every single judgment instead of the mean.
        own_kept: scores against all references, including those equal to the caption.
        without_own: figures without captions that are equal to a reference.
        people_at_least, metric_at_least: thresholds of kappa to use instead of the usual ones.
    """

    all_pairs: bool = False
    references: Sequence[int] = ()
    ties: bool = False
    tau_c: bool = False
    single_grades: bool = False
    own_kept: bool = False
    without_own: bool = False
    people_at_least: Sequence[float] = ()
    metric_at_least: Sequence[float] = ()

    def settings(self) -> dict[str, Any]:
        readings = {name: getattr(self, name) for name in (*OF_PAIRS, *OF_CAPTIONS)}
        return {
            name.replace("_", "-"): "yes" if value is True else ",".join(map(str, value))
            for name, value in readings.items()
            if value
        }

    def check(self, *, compares_pairs: bool) -> None:
        """Raise EvaluationError if an option is of another protocol, or if two options exclude each other."""
        for name in OF_CAPTIONS if compares_pairs else OF_PAIRS:
            if getattr(self, name):
                expected, has = ("captions", "pairs") if compares_pairs else ("pairs", "captions")
                raise EvaluationError(
                    f"{name} is a reading of judged {expected}; this study judges {has}: leave {name} out."
                )
        if self.own_kept and self.without_own:
            raise EvaluationError(
                "own_kept keeps references equal to the text, and without_own leaves such texts out; expected "
                "one of them."
            )


def accuracy_over_all(
    scores: Floats, people: PeoplesWinners, kinds: Sequence[str] | None
) -> dict[str, dict[str, Any]]:
    """Return accuracy over all pairs, by kind, from (N, 2) scores.

    Any answer to a pair without a consensus, including a tie, is half right.
    """
    named = metric_winners(scores[:, 0], scores[:, 1])

    def credit(pairs: Ints, winners: Floats) -> Floats:
        return pair_credits(named[pairs], winners, undecided="half")[0]

    everywhere = np.arange(len(named))
    accuracies = {}
    for kind, of_kind in kinds_of(kinds, len(named)).items():
        n = int(of_kind.sum())
        estimate = people.share(credit, of_kind, undecided=True) if n else Inference()
        value = float(credit(everywhere, people.winners)[of_kind].mean()) if n else math.nan
        accuracies[kind] = {"value": json_float(value), **as_json(estimate, "low", "high"), "n": n}
        accuracies[kind]["reason"] = estimate.reason
    return accuracies


def accuracy_with_ties(
    scores: Floats, people: PeoplesWinners, judged: Flags, systems: Sequence[tuple[str, str]], seed: int
) -> dict[str, Any]:
    """Return accuracies on the judged pairs in which a metric's tie is right if people tie the pair.

    scores: (N, 2). systems: systems of both texts of the judged pairs. For ``plain``, equal scores are ties. For
    ``calibrated``, scores are ties if their gap is up to the value that is best on these pairs (Deutsch et al. 2023).
    ``soft`` is the soft pairwise accuracy of systems.
    """
    outcomes, judged_scores = people.winners[judged], scores[judged]
    sides = np.stack([outcomes == 1, outcomes == 2], axis=1).astype(np.float64)
    groups = np.repeat(np.arange(len(outcomes)), 2)
    accuracies: dict[str, Any] = {}
    for name, epsilon in (("plain", 0.0), ("calibrated", CALIBRATE)):
        accuracy = pairwise_accuracy(
            judged_scores.ravel(), sides.ravel(), groups, epsilon=epsilon, resamples=0, seed=seed
        )
        named = metric_outcomes(scores, accuracy.epsilon)
        estimate = people.share(partial(_is_right, named), judged, undecided=True)
        accuracies[name] = {
            "value": json_float(accuracy.value),
            **as_json(estimate, "low", "high"),
            "n": accuracy.pairs,
            **as_json(accuracy, "epsilon", "tied_both", "tied_metric", "tied_people", "signature"),
            "reason": accuracy.reason or estimate.reason,
        }
    first, second = zip(*systems, strict=True)
    margins = judged_scores[:, 0] - judged_scores[:, 1]
    sides = (outcomes == 1) - 1.0 * (outcomes == 2)
    soft = soft_accuracy_of_comparisons(first, second, margins, sides, seed=seed)
    accuracies["soft"] = {
        **as_json(soft, "value", "pairwise", "pairs", "comparisons", "reason", "signature"),
        "low": None,
        "high": None,
        "n": soft.pairs,
    }
    return accuracies


def _is_right(named: Ints, pairs: Ints, winners: Floats) -> Floats:
    return (named[pairs] == winners).astype(np.float64)


def metric_outcomes(scores: Floats, epsilon: float) -> Ints:
    """Return (N,) winners by (N, 2) scores: 1 or 2, or 0 if scores differ by at most ``epsilon``."""
    gap = scores[:, 0] - scores[:, 1]
    slack = ROUNDING * float(np.abs(scores).max(initial=0.0))
    return np.where(np.abs(gap) <= epsilon + slack, 0, np.where(gap > 0, 1, 2)).astype(np.int64)


def curves_as_json(curves: Mapping[str, ReferenceCurve]) -> dict[str, list[dict[str, Any]]]:
    names = ("references", "draws", "value", "low", "high")
    return {
        kind: [
            as_json(dict(zip(names, row, strict=True)) | {"n": curve.n})
            for row in zip(*(getattr(curve, name).tolist() for name in names), strict=True)
        ]
        for kind, curve in curves.items()
    }


def compute_pair_readings(
    readings: EvaluationOptions,
    pairs: Sequence[PairTexts],
    documents: Sequence[References],
    judged: MetricResults,
    *,
    metrics: Sequence[str],
    tokenizer: str,
    seed: int,
    people: PeoplesWinners,
    clusters: ClusterColumns,
) -> dict[str, Any]:
    """Return the requested variants of the figures of pairs, by metric."""
    kinds = [pair.kind or UNKNOWN_KIND for pair in pairs] if any(pair.kind for pair in pairs) else None
    figures: dict[str, Any] = {}
    if readings.all_pairs:
        figures["all_pairs"] = {
            name: accuracy_over_all(both, people, kinds) for name, both in judged.scores.items()
        }
    if readings.ties:
        judged_pairs = np.array([bool(pair.winner or pair.tied) for pair in pairs])
        systems = [pair.systems for pair in pairs if pair.winner or pair.tied]
        figures["ties"] = {
            name: accuracy_with_ties(both, people, judged_pairs, systems, seed)
            for name, both in judged.scores.items()
        }
    if readings.references and metrics:
        scores = scores_by_random_subsets(
            pairs, documents, readings.references, DRAWS, metrics=metrics, tokenizer=tokenizer, seed=seed
        )
        figures["references"] = {
            name: curves_as_json(accuracy_by_references(tables, people.winners, kinds, clusters=clusters))
            for name, tables in scores.items()
        }
    return figures


def scores_by_random_subsets(
    pairs: Sequence[PairTexts],
    documents: Sequence[References],
    sizes: Iterable[int],
    draws: int,
    *,
    metrics: Sequence[str],
    tokenizer: str,
    seed: int | np.random.Generator,
) -> dict[str, dict[int, tuple[Floats, Floats]]]:
    """Return (D, N) scores of first and of second candidates, by metric and number of references.

    Each pair has its own random subsets, because pairs may have different numbers of references (decision 0012). If
    ``seed`` is a number, each size starts a new generator; if it is a generator, all sizes share it. D is 1 if the
    size is the number of references of the pair with the fewest.

    Raises:
        EvaluationError: a pair has fewer references than a size.
    """
    most = min(len(pair.references) for pair in pairs)
    scores: dict[str, dict[int, tuple[Floats, Floats]]] = {name: {} for name in metrics}
    for size in sorted(set(sizes)):
        if size > most:
            raise EvaluationError(
                f"references: {size} is too many; a pair has {most}, expected at most {most}."
            )
        generator = np.random.default_rng(seed)
        n_subsets = draws if size < most else 1
        drawn = [random_subsets(len(pair.references), size, n_subsets, seed=generator) for pair in pairs]
        tables = []
        for draw in range(n_subsets):
            chosen = []
            for pair, subsets in zip(pairs, drawn, strict=True):
                subset = subsets[min(draw, len(subsets) - 1)]
                chosen.append(replace(pair, references=[pair.references[index] for index in subset]))
            tables.append(score_pairs(chosen, documents, metrics=metrics, tokenizer=tokenizer)[1])
        for name in metrics:
            first, second = np.stack([table[name] for table in tables]).transpose(2, 0, 1)
            scores[name][size] = first, second
    return scores


def compute_caption_readings(
    readings: EvaluationOptions,
    captions: Sequence[CaptionTexts],
    judged: MetricResults,
    table: JudgmentTable,
    *,
    cuts: Sequence[float],
    seed: int,
    clusters: ClusterColumns,
) -> dict[str, Any]:
    """Return the requested variants of the figures of captions that need no further scores, by metric.

    Raise EvaluationError if a variant does not fit the study's judgments.
    """
    people = np.array([caption.people for caption in captions], dtype=np.float64)
    weights = weights_of_captions(captions)
    figures: dict[str, Any] = {}

    def by_metric(figure: Callable[[Floats], Any]) -> dict[str, Any]:
        return {name: figure(both[:, 0]) for name, both in judged.scores.items()}

    def tau_c(metric: Floats) -> Any:
        tau = correlation(metric, people, "kendall-tau-c", weights=weights, clusters=clusters)
        return as_json(tau, *ESTIMATE)

    if readings.tau_c:
        figures["tau_c"] = by_metric(tau_c)
    if readings.people_at_least or readings.metric_at_least:
        at_least = readings.metric_at_least
        figures["thresholds"] = by_metric(
            lambda metric: kappa_at_cuts(metric, people, cuts, seed, clusters, at_least, weights)
        )
    if readings.single_grades:
        of, grades, grade_clusters = _single_grades(captions, table, clusters)
        resamples = int(np.clip(GRADES_DRAWN // len(grades), MIN_RESAMPLES, MAX_RESAMPLES))
        options: dict[str, Any] = {"resamples": resamples, "seed": seed, "clusters": grade_clusters}
        options["weights"] = None if weights is None else weights[of]
        figures["single_grades"] = by_metric(
            lambda metric: {
                key: as_json(correlation(metric[of], grades, name, **options), *ESTIMATE)
                for key, name in SINGLE_COEFFICIENTS.items()
            }
        )
    return figures


def _single_grades(
    captions: Sequence[CaptionTexts], table: JudgmentTable, clusters: ClusterColumns
) -> tuple[Ints, Floats, ClusterColumns]:
    """Return all counted judgments of the captions, as positions of the captions, values, and clusters.

    Raises:
        EvaluationError: the judgments are of lists of captions, or their values are not numbers.
    """
    units = [caption.unit for caption in captions]
    if None in units:
        raise EvaluationError(
            "single_grades needs a judgment of each caption; this study judges several at once."
        )
    of = places_in(np.array(units, dtype=np.int64), table.unit)
    rows = table.counted & ~np.isnan(table.value) & (of >= 0)
    if not rows.any():
        raise EvaluationError(
            "single_grades needs judgments that are numbers; this study has none of these captions."
        )
    of = of[rows]
    if isinstance(clusters, Mapping):
        raters = {RATER: table.worker[rows]} if RATER in clusters else {}
        clusters = {ITEM: np.asarray(clusters[ITEM])[of], **raters}
    return of, table.value[rows], clusters


@dataclass(frozen=True, slots=True)
class MetaEvaluation:
    study: Study
    judged: MetricResults
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
    clusters: str = CLUSTERED[0],
    progress: Progress = no_progress,
    **requested: Any,
) -> MetaEvaluation:
    """Compare metrics with the study's consensus, without storing the result.

    If ``clusters`` is "naive", intervals and tests regard pairs, captions and judgments as independent.
    ``requested`` are fields of ``EvaluationOptions``.

    Raises:
        EvaluationError: a metric or tokenizer is unknown, an option is of another protocol, or there is no consensus.
        NothingToCompare: there are no references.
    """
    kind, clustered = compared_kind(study), clusters != NAIVE
    readings = EvaluationOptions(**requested)
    readings.check(compares_pairs=kind.compares_pairs)
    progress(0.05, "reading judgments")
    table = loaders.load_judgments(study)
    consensus = consensus_of(study, table)
    references = loaders.load_references(study)
    progress(0.3, "scoring captions")
    check_imported(study.dataset, metrics)
    imported = imported_scores(study.dataset, metrics)
    settings: dict[str, Any] = {"protocol": study.protocol, "metrics": ",".join(metrics), "tok": tokenizer}
    if imported.names:
        settings["imported"] = imported_hashes(study.dataset, metrics)
    inputs = _Inputs(study, table, consensus, references, readings, metrics, tokenizer, imported, clustered)
    compare = _compare_on_pairs if kind.compares_pairs else _compare_on_captions
    judged, of_kind, result = compare(inputs)
    settings |= of_kind | readings.settings() | ({} if clustered else {"clusters": NAIVE})
    settings["split"] = "+".join(split or "all" for split in references.splits)
    notes = [ITEMS_CHOSEN] if design_of(study).chosen else []
    if "audited" in settings:
        notes.append(
            f"Each audited text counts {settings['audited']:.3g} times: so many were left out for each one drawn."
        )
    result = {
        "metrics": judged.metrics,
        "signatures": judged.signatures,
        **({} if clustered else {"clusters": NAIVE}),
        **result,
        "notes": [*judged.notes, *notes],
    }
    return MetaEvaluation(
        study=study,
        judged=judged,
        result=result,
        settings=settings | {"metrics": list(metrics)},
        signature=signature("meta-evaluation", settings),
        judgments=str(signature_of_study(study, table=table)),
        data_hash=consensus.data_hash,
    )


@dataclass(frozen=True, slots=True)
class _Inputs:
    """The data and options of an evaluation."""

    study: Study
    table: JudgmentTable
    consensus: StudyConsensus
    references: loaders.ReferenceSet
    readings: EvaluationOptions
    metrics: Sequence[str]
    tokenizer: str
    imported: ImportedScores
    clustered: bool

    @property
    def computed(self) -> list[str]:
        """The metrics that Quorum computes, and so can compute with other references.

        The other metrics were imported.
        """
        return [name for name in self.metrics if name not in self.imported.names]


def _compare_on_pairs(inputs: _Inputs) -> tuple[MetricResults, dict[str, Any], dict[str, Any]]:
    """Return the metrics' figures on pairs, and settings and results that only studies of pairs have."""
    study, table, consensus, clustered = inputs.study, inputs.table, inputs.consensus, inputs.clustered
    pairs, documents, leading = pair_texts(study, consensus, inputs.references)
    kinds = [pair.kind or UNKNOWN_KIND for pair in pairs]
    clusters_by_name = pair_clusters(study, table, consensus, pairs) if clustered else NAIVE
    images = clusters_by_name[ITEM] if isinstance(clusters_by_name, Mapping) else None
    winners = PeoplesWinners.of([pair.winner for pair in pairs], clusters=clusters_by_name)
    how: dict[str, Any] = {"tokenizer": inputs.tokenizer, "people": winners}
    judged = judge_pairs(pairs, documents, metrics=inputs.metrics, imported=inputs.imported, **how)
    settings = {"df": f"{len(documents)}-images", "refs": f"first-{leading}" if leading else "all"}
    settings |= {"metric-ties": "wrong", "no-consensus": "left-out"}
    people = one_against_rest(
        table,
        consensus.units,
        agreement_rows(table, loaders.full_depth_units(study)),
        images=loaders.clusters_of_units(study, consensus.units) if clustered else None,
        anonymous=loaders.is_anonymous(study),
    )
    result: dict[str, Any] = {"people": people if people["all"]["n"] else {}}
    pks = np.array([pair.pk for pair in pairs], dtype=np.int64)
    alone = not clustered or loaders.is_anonymous(study)
    halves = halves_of_pairs(table, consensus.units, pks, anonymous=alone)
    all_kinds = kinds_of(kinds, len(pairs))
    result["halves"] = compare_on_same_halves(*halves, judged.scores, all_kinds, images)
    result["longer"] = preference_for_longer(
        [(pair.first, pair.second) for pair in pairs], winners, all_kinds
    )
    accuracy = {name: figures["accuracy"] for name, figures in judged.metrics.items()}
    result["verdict"] = pair_verdicts(judged.scores, winners, kinds, accuracy)
    result["counts"] = {"pairs": len(pairs), "no_consensus": sum(pair.winner == 0 for pair in pairs)}
    how |= {"seed": design_of(study).seed, "clusters": clusters_by_name}
    if further := compute_pair_readings(
        inputs.readings, pairs, documents, judged, metrics=inputs.computed, **how
    ):
        result["readings"] = further
    return judged, settings, result | scope_fields(winners.deletions)


def _compare_on_captions(inputs: _Inputs) -> tuple[MetricResults, dict[str, Any], dict[str, Any]]:
    """Return the metrics' figures on captions, and settings and results that only studies of captions have."""
    study, table, consensus, readings = inputs.study, inputs.table, inputs.consensus, inputs.readings
    comparison, seed = kind_of(study).comparison, design_of(study).seed
    captions, counts = judged_captions(
        study, consensus, table, inputs.references, without_own=readings.without_own
    )
    documents = inputs.references.documents()
    by = caption_clusters(study, table, consensus, captions) if inputs.clustered else NAIVE
    how: dict[str, Any] = {"tokenizer": inputs.tokenizer, "seed": seed, "clusters": by}
    how["cuts"] = comparison.cuts
    scored: dict[str, Any] = {"metrics": inputs.metrics, "imported": inputs.imported}
    judged = judge_captions(captions, documents, per_image=comparison.per_image, **scored, **how)
    own = "left-out" if readings.without_own else "dropped"
    settings = {"df": f"{len(documents)}-images", "own": own, "seed": seed}
    cells = {name: figures["kendall_tau_b"] for name, figures in judged.metrics.items()}
    scores = {name: of_metric[:, 0] for name, of_metric in judged.scores.items()}
    graded = np.array([caption.people for caption in captions], dtype=np.float64)
    weights = weights_of_captions(captions)
    verdict = correlation_verdict(scores, graded, by, cells, weights)
    result: dict[str, Any] = {"counts": counts, "verdict": {"all": verdict}}
    if weights is not None:
        settings["audited"] = float(weights.max())
    cuts = readings.people_at_least or comparison.cuts
    further = compute_caption_readings(readings, captions, judged, table, cuts=cuts, seed=seed, clusters=by)
    # Also score with references that equal the caption (H13 §4.1.1).
    if readings.own_kept and inputs.computed:
        whole = [
            replace(caption, references=[text for _, text in inputs.references.of_item[caption.item]])
            for caption in captions
        ]
        with_own = judge_captions(whole, documents, metrics=inputs.computed, per_image=False, **how)
        further["own_kept"] = with_own.metrics
    if further:
        result["readings"] = further
    return judged, settings, result | scope_fields(columns_and_deletions(by)[1])


def texts_of_pairs(
    study: Study, references: loaders.ReferenceSet
) -> tuple[list[PairTexts], list[References], int]:
    """Return ``find_references_of_pairs`` for the study, with the systems of each pair.

    If all pairs use the same number of first references (in PASCAL-50S 48 of 50), documents consist of that number too.

    Raises:
        NothingToCompare: an image has no references.
    """
    texts = find_references_of_pairs(loaders.pair_text_rows(study), references.of_item)
    if texts is None:
        raise NothingToCompare(
            f"An item of study {study.slug!r} has no references to score against. {_next_step(study)}"
        )
    pairs, documents, used = texts
    of_key = loaders.systems_of_pairs(study)
    systems = {pair.pk: of_key[pair.key] for pair in loaders.pair_rows(study)}
    return [replace(pair, systems=systems[pair.pk]) for pair in pairs], documents, used


def pair_texts(
    study: Study, consensus: StudyConsensus, references: loaders.ReferenceSet
) -> tuple[list[PairTexts], list[References], int]:
    """Return ``texts_of_pairs`` with the winners of the consensus. Raise EvaluationError if no pair has a winner."""
    texts, documents, used = texts_of_pairs(study, references)
    pairs = []
    for pair in texts:
        outcome = consensus.of_pair[pair.pk]
        pairs.append(replace(pair, winner=outcome.value or 0, tied=outcome.tie))
    if not any(pair.winner for pair in pairs):
        raise EvaluationError(
            f"Study {study.slug!r} has no candidate pair with a consensus to hold a metric against."
        )
    return pairs, documents, used


def stored_winners(study: Study) -> tuple[dict[str, Ints], PeoplesWinners | None, list[str]]:
    """Return, for the pairs of the newest evaluation, each metric's winners, people's winners, and the kinds."""
    newest = Analysis.objects.newest(study, Analysis.Kind.META_EVALUATION)
    rows = MetricScore.objects.filter(analysis=newest, pair__isnull=False).order_by(
        "metric", "pair__position"
    )
    kinds: dict[int, str] = {}
    images: dict[int, int] = {}
    scores: dict[str, list[tuple[float, float]]] = {}
    names = ("metric", "pair_id", "pair__kind", "pair__item_id", "first", "second")
    for metric, pair, kind, image, first, second in rows.values_list(*names).iterator(ROWS_PER_BATCH):
        kinds[pair], images[pair] = kind, image
        scores.setdefault(metric, []).append((first, second))
    if not scores:
        return {}, None, []
    table = loaders.load_judgments(study)
    consensus = consensus_of(study, table)
    pks = np.array(list(kinds), dtype=np.int64)
    items = loaders.clusters_of_items(study, list(images.values()))
    clusters = clusters_of_pairs(table, consensus, pks, items, anonymous=loaders.is_anonymous(study))
    people = PeoplesWinners.of([consensus.of_pair[pk].value or 0 for pk in kinds], clusters=clusters)
    return (
        winners_named({metric: np.array(both) for metric, both in scores.items()}),
        people,
        list(kinds.values()),
    )


def pair_clusters(
    study: Study, table: JudgmentTable, consensus: StudyConsensus, pairs: Sequence[PairTexts]
) -> dict[str, Any]:
    """Return ``clusters_of_pairs`` for a study's pairs."""
    pks = np.array([pair.pk for pair in pairs], dtype=np.int64)
    images = loaders.clusters_of_items(study, [pair.image for pair in pairs])
    return clusters_of_pairs(table, consensus, pks, images, anonymous=loaders.is_anonymous(study))


def caption_clusters(
    study: Study, table: JudgmentTable, consensus: StudyConsensus, captions: Sequence[CaptionTexts]
) -> dict[str, Any]:
    """Return ``clusters_of_captions`` for a study's captions."""
    units = [caption.unit for caption in captions]
    return clusters_of_captions(
        table,
        np.array([] if None in units else units, dtype=np.int64),
        loaders.clusters_of_items(study, [caption.item for caption in captions]),
        ratings=[caption.ratings for caption in captions],
        decided=consensus.decisions,
        anonymous=loaders.is_anonymous(study),
    )


@dataclass(frozen=True, slots=True)
class CaptionConsensus:
    """A caption with its consensus value, ``score``. ``unit`` is None if several units judge the caption."""

    unit: int | None
    item: int
    key: str
    text: str
    score: float | None
    ratings: Sequence[tuple[int, float]] = ()
    systems: tuple[int, ...] = ()


def value_of_unit(consensus: StudyConsensus, pk: int) -> float | None:
    """Return a unit's value: the decision if adjudicated, else the share of yes or the mean.

    Return None without consensus.
    """
    outcome = consensus.of_unit.get(pk)
    if outcome is None or outcome.value is None:
        return None
    decided = pk in consensus.decisions  # ignore the share of votes, which were in dispute
    return outcome.value if outcome.share is None or decided else outcome.share


def judged_captions(
    study: Study,
    consensus: StudyConsensus,
    table: JudgmentTable,
    references: loaders.ReferenceSet,
    *,
    without_own: bool = False,
) -> tuple[list[CaptionTexts], dict[str, int]]:
    """Return ``caption_texts`` for the study's judged captions."""
    kind = kind_of(study)
    scores = kind.results.caption_scores(loaders.judged_answers(study, table)) if kind.results else None
    if scores is None:
        captions = [
            CaptionConsensus(pk, item, key, text, value_of_unit(consensus, pk))
            for pk, item, key, text in loaders.caption_units(study)
        ]
    else:
        captions = [
            CaptionConsensus(
                None, score.item, score.key, score.text, score.score, score.ratings, score.systems
            )
            for score in scores
        ]
    return caption_texts(study, captions, references, without_own=without_own)


def caption_texts(
    study: Study,
    judged: Sequence[CaptionConsensus],
    references: loaders.ReferenceSet,
    *,
    without_own: bool = False,
) -> tuple[list[CaptionTexts], dict[str, int]]:
    """Return the captions that have a consensus and a reference, and counts of the captions left out.

    A reference that equals the caption is removed. With ``without_own``, the caption is left out instead.

    Raise NothingToCompare if no caption remains because references are missing, and EvaluationError if none remains for
    another reason.
    """
    of_item = {item: tuple(text for _, text in rows) for item, rows in references.of_item.items()}
    counts = {"units": len(judged), "no_consensus": 0, "no_reference": 0, "own_reference_dropped": 0}
    if without_own:
        counts["own_left_out"] = 0
    of_file, weights = loaders.systems_of_units(study), loaders.weights_of_units(study)
    captions = []
    for row in judged:
        if row.score is None:
            counts["no_consensus"] += 1
            continue
        texts = of_item.get(row.item, ())
        if row.text in texts and without_own:
            counts["own_left_out"] += 1
            continue
        if row.text in texts:
            counts["own_reference_dropped"] += 1
            texts = tuple(text for text in texts if text != row.text)
        if not texts:
            counts["no_reference"] += 1
            continue
        systems = tuple(of_file.get(row.unit, row.systems))
        score, weight = float(row.score), weights.get(row.unit or 0, 1.0)
        captions.append(
            CaptionTexts(row.unit, row.item, row.key, row.text, texts, score, row.ratings, systems, weight)
        )
    if not captions:
        why = f"Study {study.slug!r} has no judged text with references to hold a metric against."
        if counts["no_reference"]:
            raise NothingToCompare(f"{why} {_next_step(study)}")
        raise EvaluationError(why)
    return captions, counts


def _next_step(study: Study) -> str:
    return f"Add references to dataset {study.dataset.name!r}, then compute again."


@transaction.atomic
def store_evaluation(evaluation: MetaEvaluation) -> Analysis:
    """Store the evaluation and its scores, replacing evaluations of older data."""
    study, judged = evaluation.study, evaluation.judged
    analysis = Analysis.objects.replace(
        study=study,
        what=Analysis.Kind.META_EVALUATION,
        signature=evaluation.signature,
        data_hash=evaluation.data_hash,
        settings=evaluation.settings,
        judgments=evaluation.judgments,
        result=evaluation.result,
    )
    MetricScore.objects.filter(analysis__study=study, analysis__signature=evaluation.signature).delete()
    MetricScore.objects.bulk_create(_score_rows(analysis, judged), batch_size=ROWS_PER_BATCH)
    sentence = "Metrics were compared with what people said."
    note_event(study=study, what="evaluated", sentence=sentence, signature=evaluation.signature)
    return analysis


def _score_rows(analysis: Analysis, judged: MetricResults) -> Iterator[MetricScore]:
    if judged.pks is None:
        return
    for metric, scores in judged.scores.items():
        for pk, row in zip(judged.pks.tolist(), scores.tolist(), strict=True):
            if len(row) == 2:
                yield MetricScore(analysis=analysis, metric=metric, pair_id=pk, first=row[0], second=row[1])
            else:
                yield MetricScore(analysis=analysis, metric=metric, unit_id=pk, first=row[0])


def evaluate_study(*, study: Study, progress: Progress = no_progress, **how: Any) -> dict[str, Any]:
    """Compute and store an evaluation, and return its result (docs/evaluation.md). ``how`` are the options."""
    evaluation = compute_evaluation(study=study, progress=progress, **how)
    progress(0.85, "storing scores")
    store_evaluation(evaluation)
    progress(1.0, "done")
    return {**evaluation.result, "judgments": evaluation.judgments}
