"""The population from which items are chosen, and the scores of its rows by metrics.

A row is a candidate pair, or a caption of an image. An item, which is chosen as a whole, is a pair or an image with all
its captions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evaluation.data.imported_scores import NO_SCORES, ImportedScores, check_imported, load_imported
from evaluation.results.metrics.scoring import score_captions, score_pairs
from evaluation.results.metrics.texts import CaptionTexts, PairTexts, References
from judgments.models import Study
from quorum.numeric.arrays import Floats, Ints

PEOPLE = "people"  # stands in place of a system's name


@dataclass(frozen=True, slots=True)
class ScoredPopulation:
    """The scores of a population of I items, S systems and M metrics.

    Attributes:
        item_scores: (I, S, M) scores by item, system and metric; higher is better, nan without a caption.
        row_scores: (N, 2, M) scores of the N rows if they are pairs, else (N, 1, M).
    """

    item_scores: Floats
    row_scores: Floats
    signatures: Mapping[str, str]


@dataclass(frozen=True)
class Population:
    """The N candidate pairs, or captions of images, from which items are chosen.

    Attributes:
        per: what an item is, "pairs" or "images".
        pairs, captions: the N rows; one of the two is empty.
        keys: the key of each row in the design's list ``sampling.only``.
        systems: the names of each row's systems, two for a pair.
        documents: the references of all images, for document frequencies.
    """

    per: str
    pairs: Sequence[PairTexts]
    captions: Sequence[CaptionTexts]
    keys: Sequence[str]
    systems: Sequence[tuple[str, ...]]
    documents: Sequence[References]

    @cached_property
    def item(self) -> Ints:
        """The (N,) index of each row's item."""
        if self.pairs:
            return np.arange(len(self.pairs))
        positions = {image: position for position, image in enumerate(dict.fromkeys(self.images))}
        return np.array([positions[image] for image in self.images], dtype=np.int64)

    @property
    def images(self) -> list[int]:
        """The row id of each row's image."""
        return [row.image for row in self.pairs] or [row.item for row in self.captions]

    @property
    def size(self) -> int:
        """The number of items."""
        return int(self.item.max()) + 1

    def score(
        self, metrics: Sequence[str], tokenizer: str, imported: ImportedScores = NO_SCORES
    ) -> ScoredPopulation:
        """Score all rows. Raise EvaluationError if a metric cannot score them."""
        if self.pairs:
            result, scores_by_metric = score_pairs(
                self.pairs, self.documents, metrics=metrics, tokenizer=tokenizer, imported=imported
            )
            row_scores = np.stack([scores_by_metric[name] for name in metrics], axis=2)
        else:
            result = score_captions(  # its `images` are the scores of single captions
                self.captions, self.documents, metrics=metrics, tokenizer=tokenizer, imported=imported
            )
            row_scores = np.stack([result.scores[name].images for name in metrics], axis=1)[:, np.newaxis]
        signatures = {name: result.scores[name].signature for name in metrics}
        return ScoredPopulation(self.scores_by_item(row_scores), row_scores, signatures)

    def scores_by_item(self, row_scores: Floats) -> Floats:
        """Return scores by item, system and metric: (I, S, M).

        If a system has two captions of an item, the second one gets a column of its own, as if by another system.

        Args:
            row_scores: (N, 2, M) scores of pairs, or (N, 1, M) scores of captions.
        """
        columns: dict[tuple[str, int], int] = {}  # by system and number of its caption of the item
        output_counts: Counter[tuple[int, str]] = Counter()
        # Each cell is the item and the column of a score in the result, and its row and side in `row_scores`.
        cells: list[tuple[int, int, int, int]] = []
        for row, (item, names) in enumerate(zip(self.item.tolist(), self.systems, strict=True)):
            # The two systems of a pair have a score each; all systems of a caption share its score.
            sides = enumerate(names) if self.pairs else ((0, name) for name in names or (PEOPLE,))
            for side, name in sides:
                column = columns.setdefault((name, output_counts[item, name]), len(columns))
                output_counts[item, name] += 1
                cells.append((item, column, row, side))
        metric_count = row_scores.shape[2]
        item_scores = np.full((self.size, len(columns), metric_count), np.nan)
        item_index, column_index, row_index, side_index = np.array(cells).T
        item_scores[item_index, column_index] = row_scores[row_index, side_index]
        return item_scores


def score_population(
    study: Study, population: Population, metrics: Sequence[str], tokenizer: str
) -> ScoredPopulation:
    """Score a population, also by imported metrics. Raise EvaluationError if a metric cannot score it."""
    check_imported(study.dataset, metrics)
    return population.score(metrics, tokenizer, load_imported(study.dataset, metrics))
