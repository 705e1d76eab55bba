"""Compute the scores of segments by marked errors.

A segment is a system's text for an item. Its score is the mean of its judges' scores from 0 to 100 or, without these,
of their MQM scores.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from common.amounts import as_json
from contrib.error_spans.kind.answers import SEVERITIES, SEVERITY
from contrib.error_spans.kind.drawing import KIND_NAME
from contrib.error_spans.kind.mqm import MQM, MqmScheme, score_of
from evaluation.data.judgment_sets import loaders
from evaluation.errors import EvaluationError
from evaluation.results.consensus.clusters import scope_of
from evaluation.results.outputs import Outputs
from evaluation.results.standings import MEAN, Standings, rater_count_of
from judgments.figures import FiguresDefinition, add_figures
from judgments.models import Output, Study
from judgments.models.credits import credited_systems
from judgments.studies.designs import design_of
from quorum.statistics.aggregation import standardised_mean
from quorum.statistics.correlation import means_without_raters
from quorum.statistics.inputs import encode

WRONG_PROTOCOL = "Study {slug!r} is {protocol}; errors are marked in studies of spans alone."
TextKey = tuple[int, str]  # the row id of an item, and the key of a caption's text
Segments = Mapping[str, Sequence["Segment"]]  # one or more segments of each system, by name


def marks_errors(study: Study) -> bool:
    return study.protocol == KIND_NAME


@dataclass(frozen=True, slots=True)
class Segment:
    """The means of a text over its judges, and the judges' scores.

    Attributes:
        item: row id of its item.
        cluster: its document or, without one, its item.
        score: mean of ``scores``.
        mqm: mean MQM score; equals ``score`` if people give no scores.
        z: mean of the scores, each standardised by its judge's mean and standard deviation; None if judges are not
            identified, or if every judge gave only equal scores.
        errors: mean number of marks of a judge, by severity. A severity that nobody marked is left out.
        judgments: number of judgments of the text.
        domain: the split of its item.
        scores: the judges' scores.
        workers: the judges, in the order of ``scores``; None for judges who are not identified.
        unit: row id of the unit in which the text was judged.
        has_scores: whether the scores are people's, from 0 to 100; otherwise they are MQM's, which are at most 0.
    """

    item: int
    cluster: Hashable
    score: float
    mqm: float
    z: float | None
    errors: Mapping[str, float]
    judgments: int
    domain: str = ""
    scores: Sequence[float] = ()
    workers: Sequence[int] = ()
    unit: int = 0
    has_scores: bool = False


class TextJudgment(NamedTuple):
    """A judgment of a text.

    Attributes:
        worker: the judge; None if judges are not identified.
        answer: the marked errors, and the score if there is one.
        cluster: the text's document or, without one, its item.
        domain: the split of the item.
        unit: row id of the unit.
    """

    worker: Any
    answer: Mapping[str, Any]
    cluster: Hashable
    domain: str = ""
    unit: int = 0


def segments_of(study: Study) -> Segments:
    """Return the judged segments of each system.

    Raise EvaluationError if the study's answers are not marked errors.
    """
    if not marks_errors(study):
        raise EvaluationError(WRONG_PROTOCOL.format(slug=study.slug, protocol=study.protocol))
    judgments = loaders.included_judgments(study, loaders.load_judgments(study))
    # Indices in `judgments`, by the judged texts.
    indices_by_text: defaultdict[TextKey, list[int]] = defaultdict(list)
    for index, judgment in enumerate(judgments):
        indices_by_text[judgment.unit.item_id, judgment.unit.first.text_key].append(index)
    # The same by system and row id of the item.
    judgments_by_system: dict[str, dict[int, list[int]]] = {}
    # A judgment is about the systems that its unit credits or, if it credits none, about every system with the text.
    outputs = Output.objects.of_study(study).annotations()  # texts for items, without results of image search
    ordered_outputs = outputs.order_by("system__name", "item__position", "pk")
    rows = ordered_outputs.values_list("system", "system__name", "item_id", "caption__text_key")
    for pk, system, item, key in rows.iterator():
        indices = [
            index
            for index in indices_by_text.get((item, key), ())
            if pk in credited_systems(judgments[index].unit.systems, (pk,))
        ]
        if indices:  # If a system has several texts for an item, the first one that was judged is taken.
            judgments_by_system.setdefault(system, {}).setdefault(item, indices)
    anonymous, documents = loaders.is_anonymous(study), loaders.documents_of(study)
    text_judgments = [
        TextJudgment(
            worker=None if anonymous else row.worker,
            answer=row.answer,
            cluster=documents.get(row.unit.item_id, row.unit.item_id),
            domain=row.unit.item.split,
            unit=row.unit.pk,
        )
        for row in judgments
    ]
    mqm = MQM.with_weights(design_of(study).spans.weights_by_category)
    return score_segments(text_judgments, judgments_by_system, mqm)


def score_segments(
    text_judgments: Sequence[TextJudgment],
    judgments_by_system: Mapping[str, Mapping[int, Sequence[int]]],
    mqm: MqmScheme = MQM,
) -> Segments:
    """Return the segments of each system.

    Args:
        judgments_by_system: by system and item, indices in ``text_judgments`` of the judgments of the system's text.
    """
    scores = [score_of(judgment.answer, mqm) for judgment in text_judgments]
    workers = [judgment.worker for judgment in text_judgments]
    z = np.full(len(text_judgments), math.nan)
    if None not in workers:
        # Each judgment has a unit of its own here, whose mean is the judgment's standardised score.
        z = standardised_mean(range(len(text_judgments)), workers, scores).z

    def make_segment(item: int, indices: Sequence[int]) -> Segment:
        judgments = [text_judgments[index] for index in indices]
        marks = Counter(span[SEVERITY] for judgment in judgments for span in judgment.answer["spans"])
        z_scores = [float(z[index]) for index in indices if np.isfinite(z[index])]
        return Segment(
            item=item,
            cluster=judgments[0].cluster,
            domain=judgments[0].domain,
            unit=judgments[0].unit,
            score=float(np.mean([scores[index] for index in indices])),
            mqm=float(np.mean([mqm.score(judgment.answer["spans"]) for judgment in judgments])),
            z=float(np.mean(z_scores)) if z_scores else None,
            errors={severity: marks[severity] / len(indices) for severity in SEVERITIES if marks[severity]},
            judgments=len(indices),
            scores=[scores[index] for index in indices],
            workers=[judgment.worker for judgment in judgments],
            has_scores=all("score" in judgment.answer for judgment in judgments),
        )

    return {
        system: [make_segment(item, indices) for item, indices in indices_by_item.items()]
        for system, indices_by_item in judgments_by_system.items()
    }


def outputs_of_segments(segments: Segments) -> Outputs | None:
    """Convert segments to ``Outputs`` of systems, from which means and tests are computed; None if there are none.

    Without judges who are identified, the means with one judge left out are missing.
    """
    rows = [(name, segment) for name, system_segments in segments.items() for segment in system_segments]
    if not rows:
        return None
    names = list(segments)
    items, item_index = np.unique([segment.item for _, segment in rows], return_inverse=True)
    cluster_by_item = {segment.item: segment.cluster for _, segment in rows}
    # The row, the judge and the score of each vote of an identified judge.
    votes = [
        (row, worker, score)
        for row, (_, segment) in enumerate(rows)
        for worker, score in zip(segment.workers, segment.scores, strict=True)
        if worker is not None
    ]
    deletions = None
    if votes:
        vote_rows, vote_workers, vote_scores = zip(*votes, strict=True)
        deletions = means_without_raters(vote_rows, vote_workers, vote_scores, len(rows))
    # The code of each item's cluster; `Outputs` has items and systems by segment, but clusters by item.
    _, cluster = encode([cluster_by_item[pk] for pk in items.tolist()], "documents")
    has_scores = [segment.has_scores for _, segment in rows]
    return Outputs(
        names=names,
        item=item_index,
        system=np.array([names.index(name) for name, _ in rows]),
        cluster=cluster,
        score=np.array([segment.score for _, segment in rows]),
        deletions=deletions,
        # People's scores are from 0 to 100, MQM's from minus infinity to 0.
        scale_ends=(0.0 if all(has_scores) else -math.inf, 100.0 if any(has_scores) else 0.0),
    )


def standings_of_study(study: Study) -> Standings | None:
    """Return the systems ranked by the mean score of their segments; None without marked errors."""
    if not marks_errors(study):
        return None
    outputs = outputs_of_segments(segments_of(study))
    return None if outputs is None else outputs.standings(MEAN)


def scope_of_segments(segments: Segments) -> str:
    """Return the population to which intervals and tests over the segments generalise."""
    outputs = outputs_of_segments(segments)
    return scope_of(None if outputs is None else rater_count_of(outputs.deletions))


def _count_judgments(segments: Segments) -> int:
    return sum(segment.judgments for system_segments in segments.values() for segment in system_segments)


def _segments_from_json(systems: Mapping[str, Sequence[Mapping[str, Any]]]) -> Segments:
    return {name: [Segment(**fields) for fields in segments] for name, segments in systems.items()}


SEGMENTS = add_figures(
    FiguresDefinition(
        name="span-segments",
        compute=segments_of,
        rows=_count_judgments,
        as_json=as_json,
        from_json=_segments_from_json,
    )
)
