"""The trigram kernel with lexical similarities, learned from training captions (H13 section 3.5: Tri5Sem).

A word is a vector of similarities to the words of a vocabulary, and two words match by the cosine of their vectors.
Words of the vocabulary occur at least five times in the captions; any other word matches itself alone. Vectors are of

- distributional similarity: the pointwise mutual information of two words in one caption, at least 0 (3.5.3). H13 also
  take it from the British National Corpus, which is not free, and average the two.
- alignment: probabilities that a word of one caption translates another of the same image, by IBM's model 1 (Brown et
  al. 1993; 3.5.4). H13 align nouns and verbs apart, found by a tagger, and go on with model 2; here all words are
  aligned together.

Cosines below .01 and .05 are 0. Tri5Sem matches words by the larger of the two (3.5.6). H13's third similarity, Lin's,
is of WordNet and not in Tri5Sem: it ranked no better than words as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import NamedTuple

import numpy as np
import scipy  # its parts load when they are first used

from evaluation.results.ranking_systems.kernels import MATCH, Document
from quorum.numeric.arrays import Floats, Ints, ratio, starts_of
from quorum.numeric.compiling import compiled

Similarity = Callable[[Sequence[Document], Mapping[str, int]], Floats]
LEAST_COUNT = 5
LEAST_DISTRIBUTIONAL, LEAST_ALIGNED = 0.01, 0.05
ITERATIONS = 5  # of model 1, as Giza++ has it
OTHER_CAPTIONS = 4  # that a caption is aligned with: of five all


def vocabulary_of(training: Sequence[Document]) -> dict[str, int]:
    """Return word -> number, of words that occur at least five times."""
    counts = Counter(chain.from_iterable(chain.from_iterable(training)))
    return {word: n for n, word in enumerate(sorted(word for word in counts if counts[word] >= LEAST_COUNT))}


def distributional_similarity(training: Sequence[Document], vocabulary: Mapping[str, int]) -> Floats:
    """Return (V, V) cosines of words' vectors of pointwise mutual information, over captions."""
    captions = list(chain.from_iterable(training))
    columns = [sorted({vocabulary[word] for word in caption if word in vocabulary}) for caption in captions]
    starts = starts_of([len(row) for row in columns])
    entries = np.array(list(chain.from_iterable(columns)), dtype=np.int64)
    shape = (len(captions), len(vocabulary))
    holds = scipy.sparse.csr_array((np.ones(len(entries)), entries, starts), shape=shape)
    together = (holds.T @ holds).toarray()
    alone = together.diagonal()
    lift = ratio(together * len(captions), np.outer(alone, alone), otherwise=0.0)
    return _cosines(np.log(np.maximum(lift, 1.0)), LEAST_DISTRIBUTIONAL)


def alignment_similarity(training: Sequence[Document], vocabulary: Mapping[str, int]) -> Floats:
    """Return (V, V) cosines of words' vectors of translation probabilities, between captions of an image."""
    return _cosines(translation_probabilities(training, vocabulary), LEAST_ALIGNED)


def translation_probabilities(training: Sequence[Document], vocabulary: Mapping[str, int]) -> Floats:
    """Return (V, V) probabilities of each word (columns) as the translation of another (rows), by IBM's model 1."""
    size = len(vocabulary)
    links, targets, count = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)], 0
    for document in training:
        coded = [
            np.array([vocabulary[w] for w in caption if w in vocabulary], np.int64) for caption in document
        ]
        steps = range(1, min(OTHER_CAPTIONS, len(coded) - 1) + 1)
        for position, step in product(range(len(coded)), steps):
            target = coded[(position + step) % len(coded)]
            source = np.append(coded[position], size)  # the empty word, to which any word can be aligned
            links.append((source[:, np.newaxis] * size + target).ravel())
            targets.append(np.tile(np.arange(count, count + len(target)), len(source)))
            count += len(target)
    pairs, link = np.unique(np.concatenate(links), return_inverse=True)
    target_of = np.concatenate(targets)
    source_of, word_of = np.divmod(pairs, max(size, 1))
    probability = np.ones(len(pairs))
    for _ in range(ITERATIONS):
        weight = probability[link]
        weight /= np.bincount(target_of, weight, minlength=count)[target_of]
        expected = np.bincount(link, weight, minlength=len(pairs))
        probability = expected / np.bincount(source_of, expected, minlength=size + 1)[source_of]
    table = np.zeros((size + 1, size))
    table[source_of, word_of] = probability
    return table[:size]


def _cosines(vectors: Floats, least: float) -> Floats:
    """Return (V, V) cosines of rows, 0 below `least`; a word is like itself, whatever its vector."""
    lengths = np.sqrt((vectors**2).sum(axis=1))
    cosines = ratio(vectors @ vectors.T, np.outer(lengths, lengths), otherwise=0.0)
    np.fill_diagonal(cosines, 1.0)
    return np.where(cosines < least, 0.0, cosines)


class _Captions(NamedTuple):
    """Captions as numbers and weights of words.

    Caption c has stems[starts[c]:starts[c + 1]], document d the captions bounds[d] to bounds[d + 1] - 1. `earlier`: the
    place in its caption of a word's last occurrence before it; 0 if there is none.
    """

    stems: Ints
    weights: Floats
    earlier: Ints
    starts: Ints
    bounds: Ints


@dataclass(frozen=True)
class SimilarTrigrams:
    """The trigram kernel whose words match by `similarity` (V, V); without gaps' penalty (H13 3.5.1).

    Equal to `Trigrams` if each word is like itself alone.
    """

    vocabulary: Mapping[str, int]
    similarity: Floats
    idf: Mapping[str, float] | None = None
    match: float = MATCH

    @classmethod
    def of(
        cls,
        training: Sequence[Document],
        similarities: Sequence[Similarity],
        idf: Mapping[str, float] | None = None,
    ) -> SimilarTrigrams:
        """Match words by the largest of `similarities` that training captions give."""
        vocabulary = vocabulary_of(training)
        tables = [similarity(training, vocabulary) for similarity in similarities]
        return cls(vocabulary, np.maximum.reduce(tables), idf)

    def __call__(self, first: Sequence[Document], second: Sequence[Document]) -> Floats:
        numbers = dict(self.vocabulary)
        left = self._captions(first, numbers)
        right = left if first is second else self._captions(second, numbers)
        sums = _sums(left, right, self.similarity, self.match, first is second)
        lengths = [np.sqrt(_own_sums(side, self.similarity, self.match)) for side in (left, right)]
        return ratio(sums, np.outer(*lengths), otherwise=0.0)

    def _captions(self, documents: Sequence[Document], numbers: dict[str, int]) -> _Captions:
        captions = list(chain.from_iterable(documents))
        flat = list(chain.from_iterable(captions))
        earlier = []
        for caption in captions:
            last: dict[str, int] = {}
            for position, word in enumerate(caption):
                earlier.append(last.get(word, 0))
                last[word] = position
        # The kernel has the root of the product of weights, and each side the root of that.
        weights = [1.0 if self.idf is None else self.idf.get(word, 0.0) ** 0.25 for word in flat]
        return _Captions(
            np.array([numbers.setdefault(word, len(numbers)) for word in flat], dtype=np.int64),
            np.array(weights, dtype=np.float64),
            np.array(earlier, dtype=np.int64),
            starts_of([len(caption) for caption in captions]),
            starts_of([len(document) for document in documents]),
        )


@compiled
def _sums(first: _Captions, second: _Captions, similarity: Floats, match: float, alike: bool) -> Floats:
    """Return (documents, documents) sums of `_match` over pairs of captions; `alike`: both are the same."""
    sums = np.zeros((first.bounds.size - 1, second.bounds.size - 1))
    for row in range(sums.shape[0]):
        for column in range(row if alike else 0, sums.shape[1]):
            sums[row, column] = _match(first, row, second, column, similarity, match)
            if alike:
                sums[column, row] = sums[row, column]
    return sums


@compiled
def _own_sums(captions: _Captions, similarity: Floats, match: float) -> Floats:
    sums = np.zeros(captions.bounds.size - 1)
    for row in range(sums.size):
        sums[row] = _match(captions, row, captions, row, similarity, match)
    return sums


@compiled
def _match(
    first: _Captions, row: int, second: _Captions, column: int, similarity: Floats, match: float
) -> float:
    """Return the sum over matching sequences of up to three words of two documents' captions.

    Sums over earlier words grow with the rectangle before a word of each caption, which has its first and middle words.
    """
    known, weight = similarity.shape[0], match * match
    total = 0.0
    for caption in range(first.bounds[row], first.bounds[row + 1]):
        begin, height = first.starts[caption], first.starts[caption + 1] - first.starts[caption]
        for other in range(second.bounds[column], second.bounds[column + 1]):
            start, width = second.starts[other], second.starts[other + 1] - second.starts[other]
            singles = np.zeros((height + 1, width + 1))
            pairs = np.zeros((height + 1, width + 1))
            for i in range(height):
                for j in range(width):
                    a, b = first.stems[begin + i], second.stems[start + j]
                    like = 1.0 if a == b else 0.0
                    if a < known and b < known:
                        like = similarity[a, b]
                    like *= weight * first.weights[begin + i] * second.weights[start + j]
                    total += like * (1.0 + singles[i, j] + pairs[i, j])
                    singles[i + 1, j + 1] = singles[i, j + 1] + singles[i + 1, j] - singles[i, j] + like
                    # A middle word counts once in a stretch, which begins no earlier than where it occurred before.
                    top, left = first.earlier[begin + i], second.earlier[start + j]
                    between = singles[i, j] - singles[top, j] - singles[i, left] + singles[top, left]
                    pairs[i + 1, j + 1] = pairs[i, j + 1] + pairs[i + 1, j] - pairs[i, j] + like * between
    return total
