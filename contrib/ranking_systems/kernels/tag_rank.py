"""A kernel between texts that compares the positions of words in the sentence (Hwang, Grauman 2012).

Hodosh et al. 2013 (H13) use it in section 3.4.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from contrib.ranking_systems.kernels.texts import Document
from quorum.numeric.arrays import Floats, Ints, starts_of
from quorum.numeric.compiling import compiled


class _Vectors(NamedTuple):
    """Sparse vectors of captions.

    All words stand one after the other: caption c has the words stems[starts[c]:starts[c + 1]], in the order of their
    numbers, with the values in the same places, and document d has the captions from bounds[d] to bounds[d + 1] - 1.
    """

    stems: Ints
    values: Floats
    starts: Ints
    bounds: Ints


class _WordWeights(NamedTuple):
    """The number of a word, and its values in the two vectors of a caption."""

    stem: int
    absolute: float
    relative: float


@dataclass(frozen=True)
class TagRank:
    """The mean of two chi-square kernels over word positions (Hwang, Grauman 2012; H13 3.4.2).

    Position p of a word is counted from 1; for several occurrences, it is their mean. In the first vector the word
    has the value 1 / log2(1 + p), in the second the share of its training occurrences at later positions. Each
    kernel is exp(-distance / scale). The scale is the mean distance of training captions, since H13 do not state
    it.

    Attributes:
        word_positions: the positions of each word in training captions, ascending.
        absolute_scale, relative_scale: the scales of the first and of the second kernel.
    """

    word_positions: Mapping[str, Ints]
    absolute_scale: float
    relative_scale: float

    @classmethod
    def from_training(cls, training: Sequence[Document]) -> TagRank:
        positions_by_word = _positions_by_word(chain.from_iterable(training))
        word_positions = {
            word: np.sort(np.array(positions, dtype=np.int64))
            for word, positions in positions_by_word.items()
        }
        unscaled_kernel = cls(word_positions, 1.0, 1.0)
        absolute_vectors, relative_vectors = unscaled_kernel._vectors(training, {})
        return cls(word_positions, _mean_distance(absolute_vectors), _mean_distance(relative_vectors))

    def __call__(self, first: Sequence[Document], second: Sequence[Document]) -> Floats:
        """Return the kernel as a matrix with a row for each first document, and a column for each second one."""
        numbers: dict[str, int] = {}
        row_vectors, column_vectors = self._vectors(first, numbers), self._vectors(second, numbers)
        scales = (self.absolute_scale, self.relative_scale)
        absolute_kernel, relative_kernel = (
            _mean_similarities(first_vectors, second_vectors, scale)
            for first_vectors, second_vectors, scale in zip(row_vectors, column_vectors, scales, strict=True)
        )
        return (absolute_kernel + relative_kernel) / 2

    def _vectors(self, documents: Sequence[Document], numbers: dict[str, int]) -> tuple[_Vectors, _Vectors]:
        """Return vectors of absolute and of relative word positions by caption. New words are added to `numbers`."""
        weights_by_caption: list[list[_WordWeights]] = []
        for caption in chain.from_iterable(documents):
            weights = [
                _WordWeights(
                    stem=numbers.setdefault(word, len(numbers)),
                    absolute=self._absolute_weight(positions),
                    relative=self._relative_weight(word, positions),
                )
                for word, positions in _positions_by_word([caption]).items()
            ]
            weights_by_caption.append(sorted(weights))  # by number
        starts = starts_of([len(weights) for weights in weights_by_caption])
        bounds = starts_of([len(document) for document in documents])
        all_weights = list(chain.from_iterable(weights_by_caption))
        stems = np.array([weights.stem for weights in all_weights], dtype=np.int64)
        absolute = np.array([weights.absolute for weights in all_weights], dtype=np.float64)
        relative = np.array([weights.relative for weights in all_weights], dtype=np.float64)
        return _Vectors(stems, absolute, starts, bounds), _Vectors(stems, relative, starts, bounds)

    def _absolute_weight(self, positions: Sequence[int]) -> float:
        return float(1 / np.log2(1 + np.mean(positions)))

    def _relative_weight(self, word: str, positions: Sequence[int]) -> float:
        occurrences = self.word_positions.get(word)
        if occurrences is None:
            return 1.0  # the word has no training occurrences
        return float(1 - np.searchsorted(occurrences, np.mean(positions), side="right") / occurrences.size)


def _positions_by_word(captions: Iterable[Sequence[str]]) -> dict[str, list[int]]:
    """Return the positions, from 1, of each word in captions."""
    positions: dict[str, list[int]] = {}
    for caption in captions:
        for position, word in enumerate(caption, start=1):
            positions.setdefault(word, []).append(position)
    return positions


def _mean_distance(vectors: _Vectors) -> float:
    """Return the mean chi-square distance of training captions; 1 if all captions are equal."""
    mean = float(_chi_squares(vectors, vectors).mean()) if vectors.starts.size > 1 else 0.0
    return mean or 1.0


def _mean_similarities(first: _Vectors, second: _Vectors, scale: float) -> Floats:
    """Return the means of exp(-distance / scale) over pairs of the documents' captions.

    The matrix has a row for each document of ``first``, and a column for each document of ``second``.
    """
    kernel = np.exp(-_chi_squares(first, second) / scale)
    # Sum over the captions of each document. Each has one at least, as reduceat requires.
    sums = np.add.reduceat(np.add.reduceat(kernel, first.bounds[:-1], axis=0), second.bounds[:-1], axis=1)
    return np.asarray(sums / np.outer(np.diff(first.bounds), np.diff(second.bounds)))


@compiled
def _chi_squares(first: _Vectors, second: _Vectors) -> Floats:
    """Return the sums of (a - b)^2 / (a + b) over the words of either caption, whose values are a and b.

    The matrix has a row for each caption of ``first``, and a column for each caption of ``second``. The words of both
    captions are visited in the order of their numbers. A word that one caption lacks adds its value in the other.
    """
    sums = np.zeros((first.starts.size - 1, second.starts.size - 1))
    for row in range(sums.shape[0]):
        for column in range(sums.shape[1]):
            i, j = first.starts[row], second.starts[column]
            i_end, j_end = first.starts[row + 1], second.starts[column + 1]
            total = 0.0
            while i < i_end or j < j_end:
                if j == j_end or (i < i_end and first.stems[i] < second.stems[j]):
                    total += first.values[i]
                    i += 1
                elif i == i_end or second.stems[j] < first.stems[i]:
                    total += second.values[j]
                    j += 1
                else:
                    sum_of_values = first.values[i] + second.values[j]
                    if sum_of_values > 0:
                        total += (first.values[i] - second.values[j]) ** 2 / sum_of_values
                    i += 1
                    j += 1
            sums[row, column] = total
    return sums
