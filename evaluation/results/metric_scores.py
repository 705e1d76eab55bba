"""Compare metrics with a study's consensus, and store the scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

from django.db import transaction

from evaluation.errors import EvaluationError
from evaluation.judgment_sets import loaders
from evaluation.judgment_sets.signature import signature_of_study
from evaluation.models import Analysis, MetricScore
from evaluation.provenance import signature
from evaluation.results.aggregation import StudyConsensus, consensus_of
from evaluation.results.consensus import agreement_rows, one_against_rest
from evaluation.results.meta_evaluation import (
    DEFAULT_METRICS,
    DEFAULT_TOKENIZER,
    CaptionTexts,
    Judged,
    PairTexts,
    References,
    judge_captions,
    judge_pairs,
    with_references,
)
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.generation import Progress, no_progress
from judgments.studies.log import note_event
from judgments.studies.studies import design_of

ROWS_AT_ONCE = 2_000
ALL = "all"


@dataclass(frozen=True, slots=True)
class MetaEvaluation:
    """The result of ``evaluate``, with ``settings``, ``signature`` and ``judgments`` as provenance."""

    study: Study
    judged: Judged
    result: dict[str, Any]
    settings: dict[str, Any]
    signature: str
    judgments: str
    data_hash: str


def compute_evaluation(
    *,
    study: Study,
    metrics: Sequence[str] = DEFAULT_METRICS,
    tokenizer: str = DEFAULT_TOKENIZER,
    progress: Progress = no_progress,
) -> MetaEvaluation:
    """Score the study's captions and compare metrics with its consensus, without storing.

    Raises:
        EvaluationError: an unknown metric or tokenizer, no consensus, or no references.
    """
    kind, design = KINDS[study.protocol], design_of(study)
    if kind.comparison.refusal:
        raise EvaluationError(
            f"Study {study.slug!r} is not evaluated against metrics: {kind.comparison.refusal}"
        )
    progress(0.05, "reading judgments")
    table = loaders.load_judgments(study)
    consensus = consensus_of(study, table)
    references = loaders.load_references(study)
    progress(0.3, "scoring captions")
    settings: dict[str, Any] = {"protocol": study.protocol, "metrics": ",".join(metrics), "tok": tokenizer}
    result: dict[str, Any] = {}
    if kind.compares_pairs:
        pairs, documents, leading = pair_texts(study, consensus, references)
        judged = judge_pairs(pairs, documents, metrics=metrics, tokenizer=tokenizer)
        settings |= {"df": f"{len(documents)}-images", "refs": f"first-{leading}" if leading else "all"}
        settings |= {"metric-ties": "wrong", "no-consensus": "left-out"}
        people = one_against_rest(
            table, consensus.units, agreement_rows(table, loaders.full_depth_units(study))
        )
        result["people"] = people if people["all"]["n"] else {}
        result["counts"] = {"pairs": len(pairs), "no_consensus": sum(pair.winner == 0 for pair in pairs)}
    else:
        scores = kind.results.caption_scores(loaders.judged_answers(study, table)) if kind.results else None
        said = (
            _of_units(study, consensus) if scores is None else [Said(None, *astuple(one)) for one in scores]
        )
        captions, counts = caption_texts(study, said, references)
        documents = [[text for _, text in rows] for rows in references.of_item.values()]
        judged = judge_captions(
            captions,
            documents,
            metrics=metrics,
            tokenizer=tokenizer,
            cuts=kind.comparison.cuts,
            per_image=kind.comparison.per_image,
            seed=design.seed,
        )
        settings |= {"df": f"{len(documents)}-images", "own": "dropped", "seed": design.seed}
        result["counts"] = counts
    settings["split"] = "+".join(split or ALL for split in references.splits)
    result = {
        "metrics": judged.metrics,
        "signatures": judged.signatures,
        **result,
        "notes": list(judged.notes),
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


def texts_of_pairs(
    study: Study, references: loaders.ReferenceSet
) -> tuple[list[PairTexts], list[References], int]:
    """Return pairs with references but no winner, documents, and references per document.

    If every pair uses the same number of leading references (PASCAL-50S: 48 of 50), documents use as many
    too (0: all).

    Raises:
        EvaluationError: an image has no references.
    """
    found = with_references(loaders.pair_texts(study), references.of_item)
    if found is None:
        raise EvaluationError(f"An image of study {study.slug!r} has no reference captions to score against.")
    return found


def pair_texts(
    study: Study, consensus: StudyConsensus, references: loaders.ReferenceSet
) -> tuple[list[PairTexts], list[References], int]:
    """Return ``texts_of_pairs`` with the winners of the consensus, at least one."""
    found, documents, used = texts_of_pairs(study, references)
    pairs = [replace(pair, winner=consensus.of_pair[pair.pk].value or 0) for pair in found]
    if not any(pair.winner for pair in pairs):
        raise EvaluationError(
            f"Study {study.slug!r} has no candidate pair with a consensus to hold a metric against."
        )
    return pairs, documents, used


@dataclass(frozen=True, slots=True)
class Said:
    """A caption's consensus value, or None; ``unit`` is None if several units judged it."""

    unit: int | None
    item: int
    key: str
    text: str
    score: float | None


def _of_units(study: Study, consensus: StudyConsensus) -> list[Said]:
    """Return each unit's value: adjudicated, else the answer's share, else the mean."""
    rows = []
    for pk, item, key, text in loaders.caption_units(study):
        found = consensus.of_unit.get(pk)
        known = found is not None and found.value is not None
        decided = pk in consensus.decisions  # the share of votes reflects what was disputed
        score = (found.value if found.share is None or decided else found.share) if found and known else None
        rows.append(Said(pk, item, key, text, score))
    return rows


def caption_texts(
    study: Study, said: Sequence[Said], references: loaders.ReferenceSet
) -> tuple[list[CaptionTexts], dict[str, int]]:
    """Return the captions with consensus and reference, and the number of others."""
    texts = {item: tuple(text for _, text in rows) for item, rows in references.of_item.items()}
    counts = {"units": len(said), "no_consensus": 0, "no_reference": 0, "own_reference_dropped": 0}
    captions = []
    for one in said:
        if one.score is None:
            counts["no_consensus"] += 1
            continue
        own = texts.get(one.item, ())
        if one.text in own:
            counts["own_reference_dropped"] += 1
            own = tuple(text for text in own if text != one.text)
        if not own:
            counts["no_reference"] += 1
            continue
        captions.append(CaptionTexts(one.unit, one.item, one.key, one.text, own, float(one.score)))
    if not captions:
        raise EvaluationError(
            f"Study {study.slug!r} has no judged caption with references to hold a metric against."
        )
    return captions, counts


@transaction.atomic
def store_evaluation(evaluation: MetaEvaluation) -> Analysis:
    """Store the result with every score behind it; only the newest data's scores stay."""
    study, judged = evaluation.study, evaluation.judged
    analysis = Analysis.objects.replace(
        study=study,
        what=Analysis.What.META_EVALUATION,
        signature=evaluation.signature,
        data_hash=evaluation.data_hash,
        settings=evaluation.settings,
        judgments=evaluation.judgments,
        result=evaluation.result,
    )
    MetricScore.objects.filter(analysis__study=study, analysis__signature=evaluation.signature).delete()
    MetricScore.objects.bulk_create(_score_rows(analysis, judged), batch_size=ROWS_AT_ONCE)
    words = "Metrics were compared with what people said."
    note_event(study=study, what="evaluated", words=words, signature=evaluation.signature)
    return analysis


def _score_rows(analysis: Analysis, judged: Judged) -> Iterator[MetricScore]:
    if judged.pks is None:
        return
    for metric, scores in judged.scores.items():
        for pk, row in zip(judged.pks.tolist(), scores.tolist(), strict=True):
            if len(row) == 2:
                yield MetricScore(analysis=analysis, metric=metric, pair_id=pk, first=row[0], second=row[1])
            else:
                yield MetricScore(analysis=analysis, metric=metric, unit_id=pk, first=row[0])


def evaluate_study(
    *,
    study: Study,
    metrics: Sequence[str] = DEFAULT_METRICS,
    tokenizer: str = DEFAULT_TOKENIZER,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Compute and store the agreement of metrics with the consensus (docs/evaluation.md)."""
    evaluation = compute_evaluation(study=study, metrics=metrics, tokenizer=tokenizer, progress=progress)
    progress(0.85, "storing scores")
    store_evaluation(evaluation)
    progress(1.0, "done")
    return {**evaluation.result, "judgments": evaluation.judgments}
