"""The judged pairs and captions of a study, with their references, consensus and clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evaluation.data.judgment_sets import loaders
from evaluation.data.judgment_sets.records import JudgmentTable
from evaluation.errors import EvaluationError, NothingToCompare
from evaluation.results.consensus.clusters import clusters_of_captions, clusters_of_pairs
from evaluation.results.consensus.study import StudyConsensus
from evaluation.results.metrics.texts import CaptionTexts, PairMaterial, PairTexts, find_references_of_pairs
from judgments.models import Study
from judgments.studies.designs import kind_of
from quorum.numeric.arrays import Floats


def pair_texts(study: Study, references: loaders.ReferenceSet) -> PairMaterial:
    """Return the study's pairs with their references and systems. Raise NothingToCompare if references are missing."""
    material = find_references_of_pairs(loaders.pair_text_rows(study), references.of_item)
    if material is None:
        raise NothingToCompare(
            f"An item of study {study.slug!r} has no references to score against. {next_step_sentence(study)}"
        )
    systems_by_key = loaders.systems_of_pairs(study)
    systems = {pair.pk: systems_by_key[pair.key] for pair in loaders.pair_rows(study)}
    return replace(material, pairs=[replace(pair, systems=systems[pair.pk]) for pair in material.pairs])


def judged_pairs(study: Study, consensus: StudyConsensus, references: loaders.ReferenceSet) -> PairMaterial:
    """Return ``pair_texts`` with the winners of the consensus. Raise EvaluationError if no pair has a winner."""
    material = pair_texts(study, references)
    pairs = []
    for pair in material.pairs:
        outcome = consensus.of_pair[pair.pk]
        pairs.append(replace(pair, winner=outcome.value or 0, is_tied=outcome.tie))
    if not any(pair.winner for pair in pairs):
        raise EvaluationError(
            f"Study {study.slug!r} has no candidate pair with a consensus to compare a metric with."
        )
    return replace(material, pairs=pairs)


def pair_clusters(
    study: Study, table: JudgmentTable, consensus: StudyConsensus, pairs: Sequence[PairTexts]
) -> dict[str, Any]:
    """Return the clusters of a study's pairs, as columns (``clusters_of_pairs``)."""
    pair_ids = np.array([pair.pk for pair in pairs], dtype=np.int64)
    images = loaders.clusters_of_items(study, [pair.image for pair in pairs])
    return clusters_of_pairs(table, consensus, pair_ids, images, anonymous=loaders.is_anonymous(study))


def caption_clusters(
    study: Study, table: JudgmentTable, consensus: StudyConsensus, captions: Sequence[CaptionTexts]
) -> dict[str, Any]:
    """Return the clusters of a study's captions, as columns (``clusters_of_captions``)."""
    units = [caption.unit for caption in captions]
    return clusters_of_captions(
        table,
        np.array([] if None in units else units, dtype=np.int64),  # [] if several units judge each caption
        loaders.clusters_of_items(study, [caption.item for caption in captions]),
        ratings=[caption.ratings for caption in captions],
        adjudicated_units=consensus.decisions,
        anonymous=loaders.is_anonymous(study),
    )


@dataclass(frozen=True, slots=True)
class CaptionConsensus:
    """A caption with its consensus value, ``score``, which is None without a consensus.

    The other attributes are those of ``CaptionTexts``.
    """

    unit: int | None
    item: int
    key: str
    text: str
    score: float | None
    ratings: Sequence[tuple[int, float]] = ()
    systems: tuple[int, ...] = ()


def value_of_unit(consensus: StudyConsensus, pk: int) -> float | None:
    """Return a unit's value: the decision if adjudicated, else the share of yes or the mean.

    Return None if the unit has no consensus.
    """
    outcome = consensus.of_unit.get(pk)
    if outcome is None or outcome.value is None:
        return None
    is_adjudicated = pk in consensus.decisions  # ignore the share of votes, which were in dispute
    return outcome.value if outcome.share is None or is_adjudicated else outcome.share


def values_of_units(consensus: StudyConsensus, unit_ids: Sequence[int]) -> Floats:
    """Return the (N,) values of units, as ``value_of_unit`` does, but nan without consensus."""
    return np.array([value_of_unit(consensus, unit_id) for unit_id in unit_ids], dtype=np.float64)


def judged_captions(
    study: Study,
    consensus: StudyConsensus,
    table: JudgmentTable,
    references: loaders.ReferenceSet,
    *,
    without_own: bool = False,
) -> tuple[list[CaptionTexts], dict[str, int]]:
    """Return the results of ``caption_texts`` for the study's judged captions, with the values of the consensus."""
    captions = captions_of_several_units(study, table)
    if captions is None:
        captions = [
            CaptionConsensus(pk, item, key, text, value_of_unit(consensus, pk))
            for pk, item, key, text in loaders.caption_units(study)
        ]
    return caption_texts(study, captions, references, without_own=without_own)


def captions_of_several_units(study: Study, table: JudgmentTable) -> list[CaptionConsensus] | None:
    """Return captions with scores if several units judge each, as best-worst lists do; None if each has one unit."""
    kind = kind_of(study)
    scores = kind.results.caption_scores(loaders.included_judgments(study, table)) if kind.results else None
    if scores is None:
        return None
    return [
        CaptionConsensus(None, score.item, score.key, score.text, score.score, score.ratings, score.systems)
        for score in scores
    ]


def caption_texts(
    study: Study,
    judged_texts: Sequence[CaptionConsensus],
    references: loaders.ReferenceSet,
    *,
    without_own: bool = False,
) -> tuple[list[CaptionTexts], dict[str, int]]:
    """Return the captions that have a consensus and a reference, and counts of the captions left out.

    If a reference equals the caption, the reference is removed or, if ``without_own``, the caption is left out.
    A caption that audits the study's filter has the number of rejected captions that it represents as its weight.
    Raise NothingToCompare if no caption remains because references are missing, and EvaluationError if none remains for
    another reason.
    """
    references_by_item = {item: tuple(text for _, text in rows) for item, rows in references.of_item.items()}
    counts = {"units": len(judged_texts), "no_consensus": 0, "no_reference": 0, "own_reference_dropped": 0}
    if without_own:
        counts["own_left_out"] = 0
    systems_by_unit, weights = loaders.systems_of_units(study), loaders.weights_of_units(study)
    captions = []
    for judged_text in judged_texts:
        if judged_text.score is None:
            counts["no_consensus"] += 1
            continue
        texts = references_by_item.get(judged_text.item, ())
        if judged_text.text in texts and without_own:
            counts["own_left_out"] += 1
            continue
        if judged_text.text in texts:
            counts["own_reference_dropped"] += 1
            texts = tuple(text for text in texts if text != judged_text.text)
        if not texts:
            counts["no_reference"] += 1
            continue
        captions.append(
            CaptionTexts(
                unit=judged_text.unit,
                item=judged_text.item,
                key=judged_text.key,
                text=judged_text.text,
                references=texts,
                people=float(judged_text.score),
                ratings=judged_text.ratings,
                systems=tuple(systems_by_unit.get(judged_text.unit, judged_text.systems)),
                weight=1.0 if judged_text.unit is None else weights.get(judged_text.unit, 1.0),
            )
        )
    if not captions:
        problem = f"Study {study.slug!r} has no judged text with references to compare a metric with."
        if counts["no_reference"]:
            raise NothingToCompare(f"{problem} {next_step_sentence(study)}")
        raise EvaluationError(problem)
    return captions, counts


def next_step_sentence(study: Study) -> str:
    return f"Add references to dataset {study.dataset.name!r}, then compute again."
