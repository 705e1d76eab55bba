"""Load a report's inputs from a study; reuse stored analyses of the same judgments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evaluation.errors import EvaluationError
from evaluation.judgment_sets import loaders
from evaluation.judgment_sets.records import Floats
from evaluation.models import Analysis, MetricScore
from evaluation.provenance import quorum_version
from evaluation.report.inputs import Computed, ReportInputs, Texts, people_of_units
from evaluation.results.aggregation import compute_aggregation, consensus_of
from evaluation.results.consensus import StudyConsensus
from evaluation.results.meta_evaluation import DEFAULT_METRICS, DEFAULT_TOKENIZER
from evaluation.results.metric_scores import compute_evaluation, pair_texts
from evaluation.results.rankings import newest_output, proposals_of
from judgments.kinds import KINDS
from judgments.models import CandidatePair, Study
from judgments.studies.generation import Progress, no_progress
from judgments.studies.studies import design_of, kind_of

ROWS_AT_ONCE = 2_000


def load_inputs(
    study: Study,
    *,
    metrics: Sequence[str] = (),
    tokenizer: str = "",
    progress: Progress = no_progress,
) -> ReportInputs:
    """Read and compute the inputs of a report.

    Raises:
        EvaluationError: an unknown metric or tokenizer.
    """
    kind = kind_of(study)
    progress(0.02, "reading judgments")
    table = loaders.load_judgments(study)
    consensus = consensus_of(study, table)
    progress(0.15, "consensus and agreement")
    aggregation = _aggregation(study, consensus)
    progress(0.3, "metrics against people")
    found, why_not = evaluation_of(study, consensus, metrics, tokenizer)
    pairs = kind.compares_pairs
    inputs = ReportInputs(
        kind=kind,
        seed=design_of(study).seed,
        table=table,
        consensus=consensus,
        aggregation=aggregation,
        evaluation=None,
        why_not=why_not,
        full_depth=loaders.full_depth_units(study),
        names={worker.pk: worker.name for worker in loaders.worker_rows(study)},
        systems=loaders.systems_of_pairs(study) if pairs else {},
        images=dict(CandidatePair.objects.filter(study=study).values_list("pk", "item_id")) if pairs else {},
        proposals=None if pairs or kind.is_open else proposals_of(study),
        texts=lambda: _texts(study, consensus),
    )
    if found is None:
        return inputs
    return replace(
        inputs,
        evaluation=found.computed,
        scores=found.scores,
        pks=found.pks,
        people=found.people,
        captions=found.captions,
    )


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Metrics against people, with their scores; as in ``ReportInputs``."""

    computed: Computed
    scores: dict[str, Floats]
    pks: list[int] | None
    people: Floats | None
    captions: tuple[tuple[int, str], ...]


def evaluation_of(
    study: Study, consensus: StudyConsensus, metrics: Sequence[str] = (), tokenizer: str = ""
) -> tuple[Evaluated | None, str]:
    """Return metrics against the consensus, stored or recomputed; or None and the reason.

    Raises:
        EvaluationError: an unknown metric or tokenizer.
    """
    why_not = KINDS[study.protocol].comparison.refusal
    if why_not:
        return None, why_not
    try:
        return _evaluation(study, consensus, metrics, tokenizer), ""
    except EvaluationError as error:
        if metrics or tokenizer:
            raise
        return None, str(error)


def _texts(study: Study, consensus: StudyConsensus) -> Texts:
    pairs, documents, _ = pair_texts(study, consensus, loaders.load_references(study))
    return pairs, documents


def _stored(study: Study, what: str, data_hash: str) -> list[Analysis]:
    """Return analyses of these judgments by this version, newest first."""
    found = Analysis.objects.newest_first(study, what).filter(data_hash=data_hash)
    return list(found.filter(signature__endswith=f"|v:{quorum_version()}"))


def _aggregation(study: Study, consensus: StudyConsensus) -> Computed:
    newest = (None, newest_output(study))
    for one in _stored(study, Analysis.What.AGGREGATION, consensus.data_hash)[:1]:
        if "outputs" not in one.result or one.result["outputs"] not in newest:
            break
        return Computed(one.result, one.settings, one.signature)
    made = compute_aggregation(study=study)
    return Computed(made.result, made.settings, made.signature)


def _evaluation(study: Study, consensus: StudyConsensus, metrics: Sequence[str], tokenizer: str) -> Evaluated:
    stored = _stored(study, Analysis.What.META_EVALUATION, consensus.data_hash)
    for one in stored:
        asked = not metrics or list(metrics) == one.settings["metrics"]
        if asked and (not tokenizer or tokenizer == one.settings["tok"]):
            scores, pks = _stored_scores(one)
            if set(scores) == set(one.result["metrics"]):
                alone = not KINDS[study.protocol].compares_pairs
                return Evaluated(
                    Computed(one.result, one.settings, one.signature),
                    scores,
                    pks,
                    people_of_units(consensus, pks) if alone else None,
                    _captions_of_units(study, pks) if alone else (),
                )
    made = compute_evaluation(
        study=study,
        metrics=list(metrics) or (stored[0].settings["metrics"] if stored else DEFAULT_METRICS),
        tokenizer=tokenizer or (stored[0].settings["tok"] if stored else DEFAULT_TOKENIZER),
    )
    return Evaluated(
        Computed(made.result, made.settings, made.signature),
        dict(made.judged.scores),
        None if made.judged.pks is None else made.judged.pks.tolist(),
        made.judged.people,
        made.judged.captions,
    )


def _captions_of_units(study: Study, pks: Sequence[int]) -> tuple[tuple[int, str], ...]:
    of = {pk: (item, key) for pk, item, key, _ in loaders.caption_units(study)}
    return tuple(of[pk] for pk in pks)


def _stored_scores(analysis: Analysis) -> tuple[dict[str, Floats], list[int]]:
    """Return metric -> scores in the order of the study's pairs or units."""
    rows = MetricScore.objects.filter(analysis=analysis).order_by("pk")
    found: dict[str, list[tuple[float, ...]]] = {}
    order: dict[str, list[int]] = {}
    for metric, pair, unit, first, second in rows.values_list(
        "metric", "pair_id", "unit_id", "first", "second"
    ).iterator(ROWS_AT_ONCE):
        found.setdefault(metric, []).append((first,) if second is None else (first, second))
        order.setdefault(metric, []).append(unit if pair is None else pair)
    # In the analysis's order of metrics.
    scores = {
        name: np.array(found[name], dtype=np.float64) for name in analysis.result["metrics"] if name in found
    }
    return scores, next(iter(order.values()), [])
