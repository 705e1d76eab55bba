"""Text kernels between captions (H13 sections 3.1 and 3.4).

A text kernel is learned from the captions of training images, and compares documents: lists of captions. A
document's captions are merged (bag of words), or its kernel values are summed over all pairs of captions
before normalising (trigrams) or averaged (tag rank), as H13 do.

Words are those of the `h13` tokenizer without stop words, stemmed: H13 correct the spelling and lemmatise
instead. The weight of a word is its IDF, log(N / (n_w + 1)) with N training images and n_w whose captions
have the word, at least 0; kernels take its square root, which H13 found best.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy  # its parts load when they are first used

from evaluation.metrics.text.tokens import STOP_FIRST, TOKENIZERS, changed, encode
from evaluation.numeric.arrays import Floats, Ints, ratio, starts_of
from evaluation.numeric.compiled import compiled

Document = Sequence[Sequence[str]]  # captions as lists of words
LONGEST = 3  # words of a sequence
MATCH, GAP = 0.5, 1.0  # H13: what a matched word and a gap multiply a match with


def words_of(captions: Sequence[str]) -> list[list[str]]:
    """Return each caption's stems, without stop words."""
    stems = changed(encode(captions, TOKENIZERS["h13"]), STOP_FIRST)
    names = (
        np.array(stems.vocabulary, dtype=object)[stems.tokens]
        if stems.tokens.size
        else np.zeros(0, dtype=object)
    )
    return [part.tolist() for part in np.split(names, stems.starts[1:-1])]


def idf_of(training: Sequence[Document]) -> dict[str, float]:
    """Return word -> log(N / (n_w + 1)), at least 0, over training documents."""
    seen = Counter(word for document in training for word in set(chain.from_iterable(document)))
    return {word: max(0.0, float(np.log(len(training) / (count + 1)))) for word, count in seen.items()}


class TextKernel(Protocol):
    def __call__(self, first: Sequence[Document], second: Sequence[Document]) -> Floats:
        """Return (first, second) kernel values."""


@dataclass(frozen=True)
class BagOfWords:
    """The cosine of word counts; `idf` multiplies counts by the root of the word's weight (BoW)."""

    idf: Mapping[str, float] | None = None

    def __call__(self, first: Sequence[Document], second: Sequence[Document]) -> Floats:
        return _cosines(
            [_counted(doc, self._weight) for doc in first], [_counted(doc, self._weight) for doc in second]
        )

    def _weight(self, word: str) -> float:
        return 1.0 if self.idf is None else self.idf.get(word, 0.0) ** 0.5


@dataclass(frozen=True)
class Trigrams:
    """The truncated string kernel over sequences of at most three words, with gaps between them (Tri).

    A sequence w matches a stretch of words that begins with its first and ends with its last word and has
    those between in order. The value is the sum over sequences of m(s, w) m(s', w) match^(2 l(w)), where m
    adds gap^(length - l(w)) per matching stretch. With `idf` it is multiplied by the root of the product of
    the words' weights.
    """

    idf: Mapping[str, float] | None = None
    match: float = MATCH
    gap: float = GAP

    def __call__(self, first: Sequence[Document], second: Sequence[Document]) -> Floats:
        return _cosines([self._features(doc) for doc in first], [self._features(doc) for doc in second])

    def _features(self, document: Document) -> dict[tuple[str, ...], float]:
        counts: defaultdict[tuple[str, ...], float] = defaultdict(float)
        for caption in document:
            for begin, word in enumerate(caption):
                counts[(word,)] += 1
                for end in range(begin + 1, len(caption)):
                    ends, length = (word, caption[end]), end - begin + 1
                    counts[ends] += self.gap ** (length - 2)
                    for between in set(caption[begin + 1 : end]):  # a stretch matches a sequence once
                        counts[(word, between, caption[end])] += self.gap ** (length - 3)
        return {feature: count * self._weight(feature) for feature, count in counts.items()}

    def _weight(self, feature: tuple[str, ...]) -> float:
        weight = self.match ** len(feature)
        if self.idf is not None:
            # The kernel has the root of the product of weights, and each side the root of that.
            weight *= float(np.prod([self.idf.get(word, 0.0) for word in feature])) ** 0.25
        return weight


class _Vectors(NamedTuple):
    """Sparse vectors of captions.

    Caption c has words[starts[c]:starts[c + 1]], document d the captions bounds[d] to bounds[d + 1] - 1.
    """

    stems: Ints
    values: Floats
    starts: Ints
    bounds: Ints


@dataclass(frozen=True)
class TagRank:
    """Two chi-square kernels over the places of words in the sentence, averaged (Hwang, Grauman 2012; H13
    3.4.2).

    A word at place p (from 1; the mean of several) weighs 1 / log2(1 + p), and in the second vector the share
    of its training occurrences behind p. Each kernel is exp(-distance / scale), with the mean distance of
    training captions as the scale, since H13 leave it open.
    """

    places: Mapping[str, Ints]
    absolute_scale: float
    relative_scale: float

    @classmethod
    def of(cls, training: Sequence[Document]) -> TagRank:
        by_word: dict[str, list[int]] = {}
        for caption in chain.from_iterable(training):
            for position, word in enumerate(caption, start=1):
                by_word.setdefault(word, []).append(position)
        places = {word: np.sort(np.array(positions, dtype=np.int64)) for word, positions in by_word.items()}
        raw = cls(places, 1.0, 1.0)
        scales = [_mean_distance(vectors) for vectors in raw._vectors(training, {})]
        return cls(places, scales[0], scales[1])

    def __call__(self, first: Sequence[Document], second: Sequence[Document]) -> Floats:
        numbers: dict[str, int] = {}
        left, right = self._vectors(first, numbers), self._vectors(second, numbers)
        scales = (self.absolute_scale, self.relative_scale)
        kernels = [_averaged(*parts) for parts in zip(left, right, scales, strict=True)]
        return (kernels[0] + kernels[1]) / 2

    def _vectors(self, documents: Sequence[Document], numbers: dict[str, int]) -> tuple[_Vectors, _Vectors]:
        """Return each caption's absolute and relative word places; `numbers` grows."""
        rows: list[list[tuple[int, float, float]]] = []
        for caption in chain.from_iterable(documents):
            by_word: dict[str, list[int]] = {}
            for position, word in enumerate(caption, start=1):
                by_word.setdefault(word, []).append(position)
            rows.append(
                sorted(
                    (numbers.setdefault(word, len(numbers)), self._absolute(at), self._relative(word, at))
                    for word, at in by_word.items()
                )
            )
        starts = starts_of([len(row) for row in rows])
        bounds = starts_of([len(document) for document in documents])
        flat = list(chain.from_iterable(rows))
        stems_of_rows = np.array([number for number, _, _ in flat], dtype=np.int64)
        absolute, relative = (np.array([row[column] for row in flat], dtype=np.float64) for column in (1, 2))
        return _Vectors(stems_of_rows, absolute, starts, bounds), _Vectors(
            stems_of_rows, relative, starts, bounds
        )

    def _absolute(self, at: Sequence[int]) -> float:
        return float(1 / np.log2(1 + np.mean(at)))

    def _relative(self, word: str, at: Sequence[int]) -> float:
        places = self.places.get(word)
        if places is None:
            return 1.0  # none of no occurrences lies before it
        return float(1 - np.searchsorted(places, np.mean(at), side="right") / places.size)


def idf_overlaps(first: Sequence[Document], second: Sequence[Document], idf: Mapping[str, float]) -> Floats:
    """Return (first, second) F1 of merged captions' words, each occurrence weighted by IDF (H13 3.1)."""

    def weights(document: Document) -> dict[tuple[str, int], float]:
        # The n-th occurrence of a word is a feature of its own, so that a product of features is the smaller count.
        counts = Counter(chain.from_iterable(document))
        return {(word, n): idf.get(word, 0.0) ** 0.5 for word, count in counts.items() for n in range(count)}

    left, right = _features([weights(doc) for doc in first], [weights(doc) for doc in second])
    sums = [(table * table).sum(axis=1) for table in (left, right)]
    shared = (left @ right.T).toarray()
    return ratio(2 * shared, sums[0][:, None] + sums[1][None, :], otherwise=0.0)


def _counted(document: Document, weight: Callable[[str], float]) -> dict[str, float]:
    counts = Counter(chain.from_iterable(document))
    return {word: count * weight(word) for word, count in counts.items()}


def _features(
    first: Sequence[Mapping[Any, float]], second: Sequence[Mapping[Any, float]]
) -> tuple[scipy.sparse.csr_array, scipy.sparse.csr_array]:
    numbers: dict[Any, int] = {}
    tables = []
    for rows in (first, second):
        columns = [numbers.setdefault(name, len(numbers)) for row in rows for name in row]
        values = np.array([value for row in rows for value in row.values()], dtype=np.float64)
        tables.append((values, columns, starts_of([len(row) for row in rows])))
    left, right = (
        scipy.sparse.csr_array(table, shape=(len(rows), len(numbers)))
        for table, rows in zip(tables, (first, second), strict=True)
    )
    return left, right


def _cosines(first: Sequence[Mapping[Any, float]], second: Sequence[Mapping[Any, float]]) -> Floats:
    """Return (first, second) cosines; 0 without features."""
    left, right = _features(first, second)
    lengths = [np.sqrt((table * table).sum(axis=1)) for table in (left, right)]
    return ratio((left @ right.T).toarray(), np.outer(lengths[0], lengths[1]), otherwise=0.0)


def _mean_distance(vectors: _Vectors) -> float:
    """Return the mean chi-square distance of training captions; 1 if all are equal."""
    mean = float(_chi_squares(vectors, vectors).mean()) if vectors.starts.size > 1 else 0.0
    return mean or 1.0


def _averaged(first: _Vectors, second: _Vectors, scale: float) -> Floats:
    """Return (first, second) means of exp(-distance / scale) over pairs of captions."""
    similar = np.exp(-_chi_squares(first, second) / scale)
    sums = np.add.reduceat(np.add.reduceat(similar, first.bounds[:-1], axis=0), second.bounds[:-1], axis=1)
    return np.asarray(sums / np.outer(np.diff(first.bounds), np.diff(second.bounds)))


@compiled
def _chi_squares(first: _Vectors, second: _Vectors) -> Floats:
    """Return (captions, captions) sums of (a - b)^2 / (a + b) over the words of either."""
    sums = np.zeros((first.starts.size - 1, second.starts.size - 1))
    for row in range(sums.shape[0]):
        for column in range(sums.shape[1]):
            i, j = first.starts[row], second.starts[column]
            last, end = first.starts[row + 1], second.starts[column + 1]
            total = 0.0
            while i < last or j < end:
                if j == end or (i < last and first.stems[i] < second.stems[j]):
                    total += first.values[i]
                    i += 1
                elif i == last or second.stems[j] < first.stems[i]:
                    total += second.values[j]
                    j += 1
                else:
                    both = first.values[i] + second.values[j]
                    if both > 0:
                        total += (first.values[i] - second.values[j]) ** 2 / both
                    i += 1
                    j += 1
            sums[row, column] = total
    return sums
