"""The results of best-worst scaling: the score and the strength of each caption, computed from answers as columns."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from contrib.best_worst.answers import options_of
from judgments.kinds.base import BEST, WORST, CaptionScore, IncludedJudgment, KindResults, Results
from judgments.kinds.consensus import nan_as_none
from quorum.statistics.aggregation import (
    best_worst_scores,
    bradley_terry_of_comparisons,
    implied_comparisons,
    luce_choice,
    split_half_reliability,
)

PRIOR = 0.5  # pseudo-wins in both directions, so that a caption that always won has a finite strength


@dataclass(frozen=True, slots=True)
class ShownCaption:
    """A caption of the image with row id ``item``. ``systems`` distinguishes equal texts of different systems."""

    item: int
    image: str
    key: str
    text: str
    systems: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class BestWorstAnswers:
    """N answers as columns.

    Attributes:
        captions: the captions of all units, grouped by image. ``shown``, ``best`` and ``worst`` have indices into this
            list.
        units: (N,) the key of each answer's unit.
        shown: (N,) the captions that the unit shows.
        best, worst: (N,) the chosen captions. ``worst`` is None if workers chose only the best caption.
    """

    captions: list[ShownCaption]
    units: list[str]
    shown: list[list[int]]
    best: list[int]
    worst: list[int] | None


def _read_answers(judgments: Sequence[IncludedJudgment], *, by_system: bool = False) -> BestWorstAnswers:
    """Return answers as columns. If ``by_system``, distinguish equal texts of different systems."""
    units = {judgment.unit.pk: judgment.unit for judgment in judgments}
    caption_indices: dict[ShownCaption, int] = {}
    indices_by_unit: dict[int, list[int]] = {}
    for unit in sorted(units.values(), key=lambda unit: (unit.item.position, unit.item_id, unit.position)):
        indices_by_unit[unit.pk] = [
            caption_indices.setdefault(caption, len(caption_indices))
            for caption in _shown_captions(unit, by_system=by_system)
        ]
    shown, best, worst = [], [], []
    for judgment in judgments:
        indices = indices_by_unit[judgment.unit.pk]
        shown.append(indices)
        best.append(indices[judgment.answer[BEST] - 1])  # answers number the positions from 1
        if WORST in judgment.answer:
            worst.append(indices[judgment.answer[WORST] - 1])
    return BestWorstAnswers(
        captions=list(caption_indices),
        units=[judgment.unit.key for judgment in judgments],
        shown=shown,
        best=best,
        worst=worst if len(worst) == len(judgments) else None,
    )


def _shown_captions(unit: Any, *, by_system: bool) -> list[ShownCaption]:
    options = options_of(unit)
    # `unit.systems` has the systems of each option if a file credits them, and is empty otherwise.
    systems = (unit.systems if by_system else []) or [()] * len(options)
    return [
        ShownCaption(unit.item_id, unit.item.name, option["key"], option["text"], tuple(names))
        for option, names in zip(options, systems, strict=True)
    ]


def scores_of(answers: BestWorstAnswers) -> list[float]:
    """Return the best-worst score of each caption.

    If workers chose only the best caption, return how often a caption was chosen, divided by how often it was shown.
    """
    if answers.worst is not None:
        scores: list[float] = best_worst_scores(answers.shown, answers.best, answers.worst).score.tolist()
        return scores
    shown_counts = Counter(caption for row in answers.shown for caption in row)
    best_counts = Counter(answers.best)
    return [best_counts[caption] / shown_counts[caption] for caption in range(len(answers.captions))]


def _caption_figures(answers: BestWorstAnswers, *, seed: int) -> dict[str, Any]:
    """Return counts, score and strength of each caption, and the split-half reliability of the scores."""
    if answers.worst is None:
        return _figures_without_worst(answers)
    scores = best_worst_scores(answers.shown, answers.best, answers.worst)
    strengths = _bradley_terry_strengths(answers, answers.worst)
    reliability = split_half_reliability(answers.units, answers.shown, answers.best, answers.worst, seed=seed)
    return {
        "captions": [
            {
                "image": caption.image,
                "caption": caption.key,
                "text": caption.text,
                "shown": int(scores.shown[index]),
                "best": int(scores.best[index]),
                "worst": int(scores.worst[index]),
                "score": float(scores.score[index]),
                "strength": strengths[index],
            }
            for index, caption in enumerate(answers.captions)
        ],
        "split_half": {
            "spearman": nan_as_none(reliability.spearman),
            "spearman_deviation": nan_as_none(reliability.spearman_deviation),
            "pearson": nan_as_none(reliability.pearson),
            "pearson_deviation": nan_as_none(reliability.pearson_deviation),
            "splits": reliability.splits,
            "answers": reliability.answers,
            "seed": reliability.seed,
            "reason": reliability.reason,
            "signature": reliability.signature,
        },
        "strength": {"model": "bradley-terry", "prior": PRIOR, "within": "image"},
    }


def _figures_without_worst(answers: BestWorstAnswers) -> dict[str, Any]:
    shown_counts = Counter(index for row in answers.shown for index in row)
    best_counts = Counter(answers.best)
    rows = zip(answers.captions, scores_of(answers), _luce_strengths(answers), strict=True)
    return {
        "captions": [
            {
                "image": caption.image,
                "caption": caption.key,
                "text": caption.text,
                "shown": shown_counts[index],
                "best": best_counts[index],
                "score": score,
                "strength": strength,
            }
            for index, (caption, score, strength) in enumerate(rows)
        ],
        "strength": {"model": "luce", "prior": PRIOR, "within": "image"},
    }


def _luce_strengths(answers: BestWorstAnswers) -> list[float | None]:
    """Return the log-strength of each caption by Luce's choice model, with mean 0 per image."""
    strengths: list[float | None] = [None] * len(answers.captions)
    for rows in _rows_by_item([answers.captions[caption].item for caption in answers.best]):
        fit = luce_choice(
            [answers.shown[row] for row in rows], [answers.best[row] for row in rows], prior=PRIOR
        )
        for caption, strength in zip(fit.items.tolist(), fit.log_strength.tolist(), strict=True):
            strengths[caption] = nan_as_none(strength)
    return strengths


def _bradley_terry_strengths(answers: BestWorstAnswers, worst: Sequence[int]) -> list[float | None]:
    """Return the Bradley-Terry log-strength of each caption, with mean 0 per image.

    They are fitted to the comparisons that answers imply: the best caption wins against all others, and the worst loses
    against all others. There are no intervals, since the comparisons from one answer are dependent, and the model would
    treat them as independent.
    """
    winners, losers = implied_comparisons(answers.shown, answers.best, worst)
    strengths: list[float | None] = [None] * len(answers.captions)
    for rows in _rows_by_item([answers.captions[winner].item for winner in winners]):
        first_wins = np.ones(len(rows))  # the first of both captions is always the winner
        fit = bradley_terry_of_comparisons(
            [winners[row] for row in rows], [losers[row] for row in rows], first_wins, prior=PRIOR
        )
        for caption, strength in zip(fit.items.tolist(), fit.log_strength.tolist(), strict=True):
            strengths[caption] = nan_as_none(strength)
    return strengths


def _rows_by_item(item_by_row: Sequence[int]) -> list[list[int]]:
    """Return lists of row numbers, one list for each item, by the item of each row."""
    rows: defaultdict[int, list[int]] = defaultdict(list)
    for row, item in enumerate(item_by_row):
        rows[item].append(row)
    return list(rows.values())


class BestWorstScores(Results):
    def figures(self, judgments: Sequence[IncludedJudgment], *, seed: int) -> KindResults:
        return KindResults(study=_caption_figures(_read_answers(judgments), seed=seed) if judgments else {})

    def caption_scores(self, judgments: Sequence[IncludedJudgment]) -> list[CaptionScore]:
        """Return the score of each caption (``scores_of``).

        The ratings of a caption are 1 from workers who chose it as the best, -1 as the worst, and 0 from others.
        """
        if not judgments:
            return []
        answers = _read_answers(judgments, by_system=True)
        ratings: list[list[tuple[int, float]]] = [[] for _ in answers.captions]
        worst_captions: Sequence[int | None] = answers.worst or [None] * len(judgments)
        for judgment, shown_captions, best, worst in zip(
            judgments, answers.shown, answers.best, worst_captions, strict=True
        ):
            for caption in shown_captions:
                ratings[caption].append((judgment.worker, float(caption == best) - (caption == worst)))
        return [
            CaptionScore(
                item=caption.item,
                key=caption.key,
                text=caption.text,
                score=score,
                ratings=tuple(ratings_of_caption),
                systems=caption.systems,
            )
            for caption, score, ratings_of_caption in zip(
                answers.captions, scores_of(answers), ratings, strict=True
            )
        ]
