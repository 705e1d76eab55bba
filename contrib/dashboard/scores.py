"""Score the candidates of a study once, and store the scores with the study's snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from contrib.dashboard.models import BoardSnapshot
from evaluation.data.imported_scores import load_imported
from evaluation.data.judgment_sets import loaders
from evaluation.errors import EvaluationError
from evaluation.models import DEFAULT_METRICS, DEFAULT_TOKENIZER, Analysis, ImportedMetric
from evaluation.results.metrics.scoring import score_captions, score_pairs
from evaluation.results.metrics.study_texts import CaptionConsensus, caption_texts, pair_texts
from judgments.kinds import KINDS
from judgments.models import Study
from quorum.numeric.arrays import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class CandidateScores:
    """The scores of a study's candidates by the metrics of its newest evaluation, as the page "Results" shows them.

    Attributes:
        requested_metrics: what identifies these metrics (``_requested_metrics``), to detect a later change.
        row_ids: row ids of the P candidate pairs, or of the U units, which have one caption each.
        images: row ids of their images or, in a snapshot, of their clusters: the first images of their documents.
        by_metric: the (P, 2) scores of pairs, or the (U,) scores of captions, by metric.
        reason: why there are no scores; "" if there are.
    """

    requested_metrics: list[Any]
    row_ids: Ints
    images: Ints
    by_metric: Mapping[str, Floats]
    reason: str = ""

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> CandidateScores:
        return cls(
            requested_metrics=fields["asked"],
            row_ids=np.array(fields["of"], dtype=np.int64),
            images=np.array(fields["images"], dtype=np.int64),
            by_metric={
                name: np.array(values, dtype=np.float64) for name, values in fields["metrics"].items()
            },
            reason=fields["reason"],
        )

    def as_json(self) -> dict[str, Any]:
        # Stored scores have these keys, which therefore keep the names of earlier versions.
        return {
            "of": self.row_ids.tolist(),  # of the scored pairs or units
            "images": self.images.tolist(),  # row ids
            "metrics": {name: scores.tolist() for name, scores in self.by_metric.items()},
            "reason": self.reason,
            "asked": self.requested_metrics,
        }


class _ScoredRows(NamedTuple):
    """The row id and the image of each scored pair or unit, and the scores by metric."""

    ids_and_images: Sequence[tuple[Any, Any]]
    by_metric: Mapping[str, Floats]


def candidate_scores(study: Study) -> CandidateScores:
    """Score the candidates of a study by the metrics of its newest evaluation."""
    kind = KINDS[study.protocol]
    requested_metrics = _requested_metrics(study)
    metrics, tokenizer, *_imported_ids = requested_metrics
    rows, reason = _ScoredRows([], {}), ""
    if kind.comparison.refusal:
        reason = kind.comparison.refusal
    elif not kind.compares_pairs and kind.results:  # for example, if people mark errors in texts
        reason = "The page Results compares them with the scores of texts."
    else:
        score_rows = _score_pairs if kind.compares_pairs else _score_captions
        try:
            rows = score_rows(study, metrics, tokenizer)
        except EvaluationError as error:
            reason = str(error)
    row_ids, images = np.array(rows.ids_and_images, dtype=np.int64).reshape(-1, 2).T  # also without rows
    return CandidateScores(requested_metrics, row_ids, images, rows.by_metric, reason)


def _requested_metrics(study: Study) -> list[Any]:
    """Return what identifies the metrics: ``[NAMES, TOKENIZER, ID, ...]``, with the row ids of imported metrics.

    Each import of a metric has a new row id.
    """
    evaluations = Analysis.objects.newest_first(study, Analysis.Kind.META_EVALUATION)
    settings = evaluations.values_list("settings", flat=True).first()
    metrics, tokenizer = list(DEFAULT_METRICS), DEFAULT_TOKENIZER
    if settings:
        metrics, tokenizer = settings["metrics"], settings["tok"]
    rows = ImportedMetric.objects.filter(dataset=study.dataset_id, name__in=metrics).order_by("pk")
    return [metrics, tokenizer, *rows.values_list("pk", flat=True)]


def _score_pairs(study: Study, metrics: list[str], tokenizer: str) -> _ScoredRows:
    material = pair_texts(study, loaders.load_references(study))
    imported = load_imported(study.dataset, metrics)
    _, scores = score_pairs(
        material.pairs, material.documents, metrics=metrics, tokenizer=tokenizer, imported=imported
    )
    return _ScoredRows([(pair.pk, pair.image) for pair in material.pairs], scores)


def _score_captions(study: Study, metrics: list[str], tokenizer: str) -> _ScoredRows:
    references = loaders.load_references(study)
    imported = load_imported(study.dataset, metrics)
    rows = loaders.caption_units(study)
    has_scores = imported.has_scores([(item, text) for _unit, item, _key, text in rows])
    # 0.0 stands in place of people's scores, which are not needed
    scored_captions = [CaptionConsensus(*row, 0.0) for row in compress(rows, has_scores.tolist())]
    captions, _ = caption_texts(study, scored_captions, references)
    corpus = references.documents()  # for the document frequencies of words
    results = score_captions(captions, corpus, metrics=metrics, tokenizer=tokenizer, imported=imported)
    scores = {name: result.images for name, result in results.scores.items()}  # one score per caption
    return _ScoredRows([(caption.unit, caption.item) for caption in captions], scores)


def stored_scores(study: Study) -> CandidateScores | None:
    """Return the scores stored with the last snapshot; None without them, or if the metrics have changed since."""
    fields = BoardSnapshot.objects.filter(study=study).values_list("scores", flat=True).first()
    # Snapshots of earlier releases lack the images or the requested metrics.
    if not fields or "images" not in fields or fields.get("asked") != _requested_metrics(study):
        return None
    return CandidateScores.from_json(fields)
