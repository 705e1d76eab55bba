"""The trigram kernel with similar words: Tri5Sem of Hodosh et al. 2013 (H13), section 3.5.

Two words of the vocabulary match by their similarity. Any other word matches only itself. Tri5Sem takes the larger
of the distributional and the alignment similarity (3.5.6).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from contrib.ranking_systems.kernels.texts import MATCH, Document
from contrib.ranking_systems.kernels.word_similarity import Similarity, vocabulary_of
from quorum.numeric.arrays import Floats, Ints, ratio, starts_of
from quorum.numeric.compiling import compiled


class _Captions(NamedTuple):
    """Captions as numbers and weights of words.

    All words stand one after the other: caption c has the words stems[starts[c]:starts[c + 1]], and document d has the
    captions from bounds[d] to bounds[d + 1] - 1.

    Attributes:
        stems: numbers of the words.
        weights: weights of the words.
        previous_positions: the position of each word's previous occurrence in its caption; 0 if there is none.
            Nothing stands before position 0, so that a first occurrence needs no case of its own.
    """

    stems: Ints
    weights: Floats
    previous_positions: Ints
    starts: Ints
    bounds: Ints


@dataclass(frozen=True)
class SimilarTrigrams:
    """The trigram kernel in which words match by `similarity`, without a penalty for gaps (H13 3.5.1).

    It equals `Trigrams` if each word is similar only to itself.

    Attributes:
        vocabulary: the number of each of V words.
        similarity: (V, V) similarities of these words.
        idf: weights of words, if they are weighted.
        match: factor of a sequence's value for each matched word of either caption.
    """

    vocabulary: Mapping[str, int]
    similarity: Floats
    idf: Mapping[str, float] | None = None
    match: float = MATCH

    @classmethod
    def from_training(
        cls,
        training: Sequence[Document],
        similarities: Sequence[Similarity],
        idf: Mapping[str, float] | None = None,
    ) -> SimilarTrigrams:
        """Learn ``similarities`` from training captions. Two words match by the largest of them."""
        vocabulary = vocabulary_of(training)
        tables = [similarity(training, vocabulary) for similarity in similarities]
        return cls(vocabulary, np.maximum.reduce(tables), idf)

    def __call__(self, first: Sequence[Document], second: Sequence[Document]) -> Floats:
        numbers = dict(self.vocabulary)  # words that are not in the vocabulary get the next numbers
        rows = self._captions(first, numbers)
        columns = rows if first is second else self._captions(second, numbers)
        sums = _match_all(rows, columns, self.similarity, self.match, first is second)
        row_lengths, column_lengths = (
            np.sqrt(_self_sums(captions, self.similarity, self.match)) for captions in (rows, columns)
        )
        return ratio(sums, np.outer(row_lengths, column_lengths), otherwise=0.0)

    def _captions(self, documents: Sequence[Document], numbers: dict[str, int]) -> _Captions:
        """Encode captions. New words are added to ``numbers``."""
        captions = list(chain.from_iterable(documents))
        words = list(chain.from_iterable(captions))
        previous_positions = []
        for caption in captions:
            last_positions: dict[str, int] = {}
            for position, word in enumerate(caption):
                previous_positions.append(last_positions.get(word, 0))
                last_positions[word] = position
        # A matched sequence is weighted by the square root of the product of its words' IDF (`Trigrams`). So each
        # word is weighted by the fourth root in either caption.
        weights = [1.0 if self.idf is None else self.idf.get(word, 0.0) ** 0.25 for word in words]
        return _Captions(
            stems=np.array([numbers.setdefault(word, len(numbers)) for word in words], dtype=np.int64),
            weights=np.array(weights, dtype=np.float64),
            previous_positions=np.array(previous_positions, dtype=np.int64),
            starts=starts_of([len(caption) for caption in captions]),
            bounds=starts_of([len(document) for document in documents]),
        )


@compiled
def _match_all(
    first: _Captions, second: _Captions, similarity: Floats, match: float, is_same: bool
) -> Floats:
    """Return `_match_documents` of each document of ``first`` (rows) and each of ``second`` (columns).

    If both are the same documents (``is_same``), half of the symmetric matrix is copied.
    """
    sums = np.zeros((first.bounds.size - 1, second.bounds.size - 1))
    for row in range(sums.shape[0]):
        for column in range(row if is_same else 0, sums.shape[1]):
            sums[row, column] = _match_documents(first, row, second, column, similarity, match)
            if is_same:
                sums[column, row] = sums[row, column]
    return sums


@compiled
def _self_sums(captions: _Captions, similarity: Floats, match: float) -> Floats:
    """Return the sums of `_match_documents` of each document with itself."""
    sums = np.zeros(captions.bounds.size - 1)
    for row in range(sums.size):
        sums[row] = _match_documents(captions, row, captions, row, similarity, match)
    return sums


@compiled
def _match_documents(
    first: _Captions, row: int, second: _Captions, column: int, similarity: Floats, match: float
) -> float:
    """Return the sum of matches over all pairs of captions of two documents, numbered ``row`` and ``column``."""
    total = 0.0
    for caption in range(first.bounds[row], first.bounds[row + 1]):
        for other_number in range(second.bounds[column], second.bounds[column + 1]):
            total = _add_matches(total, first, caption, second, other_number, similarity, match)
    return total


@compiled
def _add_matches(
    total: float,
    first: _Captions,
    caption: int,
    second: _Captions,
    other_number: int,
    similarity: Floats,
    match: float,
) -> float:
    """Return ``total`` plus the sum over sequences of up to three words that match in two captions.

    A sequence's value is the product of its words' matches. With the last words at positions (i, j), what may stand
    before them are all single words and all pairs of words at earlier positions of both captions. Their sums are in two
    tables of prefix sums, whose cell (i, j) has the sum over positions below i and below j. The sum over a rectangle of
    positions follows from the cells at its four corners.
    """
    vocabulary_size, weight = similarity.shape[0], match * match  # `match` once for each caption's word
    begin, height = first.starts[caption], first.starts[caption + 1] - first.starts[caption]
    start, width = second.starts[other_number], second.starts[other_number + 1] - second.starts[other_number]
    singles = np.zeros((height + 1, width + 1))
    pairs = np.zeros((height + 1, width + 1))
    for i in range(height):
        for j in range(width):
            word, other_word = first.stems[begin + i], second.stems[start + j]
            value = 1.0 if word == other_word else 0.0
            if word < vocabulary_size and other_word < vocabulary_size:
                value = similarity[word, other_word]
            value *= weight * first.weights[begin + i] * second.weights[start + j]
            total += value * (1.0 + singles[i, j] + pairs[i, j])
            singles[i + 1, j + 1] = singles[i, j + 1] + singles[i + 1, j] - singles[i, j] + value
            # Between a first and a last word, equal middle words count once. So first words before the previous
            # occurrence of the middle word are left out: the rows up to `top`, and the columns up to `left`.
            top, left = first.previous_positions[begin + i], second.previous_positions[start + j]
            firsts = singles[i, j] - singles[top, j] - singles[i, left] + singles[top, left]
            pairs[i + 1, j + 1] = pairs[i, j + 1] + pairs[i + 1, j] - pairs[i, j] + value * firsts
    return total
