"""Kernels between texts that count words, or sequences of words (Hodosh et al. 2013 (H13), sections 3.1 and 3.4).

A text kernel is learned from the captions of training images, and compares documents, which are lists of captions.
A document's captions are merged (bag of words), or kernel values are summed over all pairs of captions before they
are normalised (trigrams), as in H13.

Words are those of the `h13` tokenizer without stop words, stemmed; H13 correct the spelling and lemmatise instead.
The weight of a word is its IDF, log(N / (n_w + 1)), but at least 0. N is the number of training images, and n_w the
number of those that have the word in their captions. Kernels use the square root of the weight, which H13 found best:
`BagOfWords` as a factor of each document's counts, `Trigrams` as a factor of the kernel's terms.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol

import numpy as np
import scipy  # submodules load when they are first used

from quorum.metrics.text.changes import STOP_THEN_STEM, change_words
from quorum.metrics.text.tokenizers import TOKENIZERS
from quorum.metrics.text.tokens import encode_texts
from quorum.numeric.arrays import Floats, ratio, starts_of

Document = Sequence[Sequence[str]]  # the captions of a document, as lists of words
MATCH, GAP = 0.5, 1.0  # H13: factors of a sequence's value for a matched word and for a skipped one


def stems_of(captions: Sequence[str]) -> list[list[str]]:
    """Return the stems of each caption, without stop words."""
    stems = change_words(encode_texts(captions, TOKENIZERS["h13"]), STOP_THEN_STEM)
    words = np.zeros(0, dtype=object)
    if stems.tokens.size:
        words = np.array(stems.vocabulary, dtype=object)[stems.tokens]
    # starts has the offset of each caption, from 0, and at last the number of all stems
    return [caption_stems.tolist() for caption_stems in np.split(words, stems.starts[1:-1])]


def idf_of(training: Sequence[Document]) -> dict[str, float]:
    """Return the IDF of each word, log(N / (n_w + 1)), but at least 0, over training documents."""
    counts = Counter(word for document in training for word in set(chain.from_iterable(document)))
    return {word: max(0.0, float(np.log(len(training) / (count + 1)))) for word, count in counts.items()}


class TextKernel(Protocol):
    """A kernel between documents."""

    def __call__(self, first: Sequence[Document], second: Sequence[Document]) -> Floats:
        """Return the kernel matrix, with a row for each of ``first`` and a column for each of ``second``."""


@dataclass(frozen=True)
class BagOfWords:
    """The cosine of word counts (H13: BoW). With `idf`, counts are multiplied by the square root of the word's IDF."""

    idf: Mapping[str, float] | None = None

    def __call__(self, first: Sequence[Document], second: Sequence[Document]) -> Floats:
        return _cosines(
            [_weighted_counts(document, self._weight) for document in first],
            [_weighted_counts(document, self._weight) for document in second],
        )

    def _weight(self, word: str) -> float:
        return 1.0 if self.idf is None else self.idf.get(word, 0.0) ** 0.5


@dataclass(frozen=True)
class Trigrams:
    """The truncated string kernel over sequences of at most three words, with gaps between them (H13: Tri).

    A sequence w of l(w) words matches a stretch of words that begins with the first and ends with the last word of
    w, and has the others between them in order. The value for captions s and s' is the sum over sequences of m(s,
    w) m(s', w) match^(2 l(w)). There m(s, w) is the sum of gap^(length - l(w)) over the stretches of s that match w.
    With `idf`, a term is multiplied by the square root of the product of the words' weights.

    Attributes:
        match, gap: factors of a sequence's value for a matched word and for a skipped one.
    """

    idf: Mapping[str, float] | None = None
    match: float = MATCH
    gap: float = GAP

    def __call__(self, first: Sequence[Document], second: Sequence[Document]) -> Floats:
        return _cosines(
            [self._features(document) for document in first],
            [self._features(document) for document in second],
        )

    def _features(self, document: Document) -> dict[tuple[str, ...], float]:
        """Return the weighted count of each sequence of one to three words."""
        counts: defaultdict[tuple[str, ...], float] = defaultdict(float)
        for caption in document:
            for begin, word in enumerate(caption):
                counts[(word,)] += 1
                for end in range(begin + 1, len(caption)):
                    length = end - begin + 1
                    counts[(word, caption[end])] += self.gap ** (length - 2)
                    for middle_word in set(caption[begin + 1 : end]):  # a stretch matches each sequence once
                        counts[(word, middle_word, caption[end])] += self.gap ** (length - 3)
        return {feature: count * self._weight(feature) for feature, count in counts.items()}

    def _weight(self, feature: tuple[str, ...]) -> float:
        weight = self.match ** len(feature)
        if self.idf is not None:
            # In the kernel, a sequence has the square root of its words' IDF product; a side has the fourth root.
            weight *= float(np.prod([self.idf.get(word, 0.0) for word in feature])) ** 0.25
        return weight


def idf_overlaps(first: Sequence[Document], second: Sequence[Document], idf: Mapping[str, float]) -> Floats:
    """Return the F1 of merged captions' words, with each occurrence weighted by IDF (H13 3.1).

    The matrix has a row for each of ``first``, and a column for each of ``second``.
    """

    def weights(document: Document) -> dict[tuple[str, int], float]:
        # The n-th occurrence of a word is a feature of its own. So of a word that the documents have with different
        # numbers of occurrences, the product of their features counts the smaller number.
        features = {}
        for word, count in Counter(chain.from_iterable(document)).items():
            for occurrence in range(count):
                features[word, occurrence] = idf.get(word, 0.0) ** 0.5
        return features

    first_table, second_table = _feature_tables(
        [weights(document) for document in first], [weights(document) for document in second]
    )
    first_sums, second_sums = ((table * table).sum(axis=1) for table in (first_table, second_table))
    shared_weights = (first_table @ second_table.T).toarray()
    return ratio(2 * shared_weights, first_sums[:, None] + second_sums[None, :], otherwise=0.0)


def _weighted_counts(document: Document, weight: Callable[[str], float]) -> dict[str, float]:
    counts = Counter(chain.from_iterable(document))
    return {word: count * weight(word) for word, count in counts.items()}


def _feature_tables(
    first: Sequence[Mapping[Any, float]], second: Sequence[Mapping[Any, float]]
) -> tuple[scipy.sparse.csr_array, scipy.sparse.csr_array]:
    """Return the (documents, features) values of both sides as sparse tables with the same columns."""
    column_by_feature: dict[Any, int] = {}
    entries = []  # of each side: values, columns, and where each document's values start
    for documents in (first, second):
        features = chain.from_iterable(documents)
        columns = [column_by_feature.setdefault(feature, len(column_by_feature)) for feature in features]
        values = chain.from_iterable(document.values() for document in documents)
        starts = starts_of([len(document) for document in documents])
        entries.append((np.array(list(values), dtype=np.float64), columns, starts))
    # Both tables are created when all features of both sides have a column.
    first_table, second_table = (
        scipy.sparse.csr_array(side, shape=(len(documents), len(column_by_feature)))
        for side, documents in zip(entries, (first, second), strict=True)
    )
    return first_table, second_table


def _cosines(first: Sequence[Mapping[Any, float]], second: Sequence[Mapping[Any, float]]) -> Floats:
    """Return the cosines of sparse vectors, with a row for each of ``first`` and a column for each of ``second``.

    The cosine of an empty vector is 0.
    """
    tables = _feature_tables(first, second)
    lengths = [np.sqrt((table * table).sum(axis=1)) for table in tables]
    return ratio((tables[0] @ tables[1].T).toarray(), np.outer(*lengths), otherwise=0.0)
