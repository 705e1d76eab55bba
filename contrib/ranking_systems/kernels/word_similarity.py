"""Similarities of words, learned from training captions (Hodosh et al. 2013 (H13), section 3.5).

A word is represented by a vector of its relations to the V words of a vocabulary. Two words match by the cosine of
their vectors. Words of the vocabulary occur at least five times in the captions. There are two types of vectors:

- distributional similarity: the pointwise mutual information of two words in one caption, at least 0 (3.5.3). H13
  also take it from the British National Corpus, which is not free, and average the two.
- alignment: probabilities that a word of one caption translates a word of another caption of the same image, by
  IBM's model 1 (Brown et al. 1993; 3.5.4). H13 align nouns and verbs separately, found by a tagger, and continue
  with model 2; this module aligns all words together.

Cosines below .01 (distributional) and .05 (alignment) are 0. H13's third similarity, Lin's, is based on WordNet and
not part of their best kernel (Tri5Sem), since it ranked no better than plain words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, product
from typing import NamedTuple

import numpy as np
import scipy  # submodules load when they are first used

from contrib.ranking_systems.kernels.texts import Document
from quorum.numeric.arrays import Floats, Ints, ratio, starts_of

# A function of training documents and a vocabulary of V words, which returns their (V, V) similarities.
Similarity = Callable[[Sequence[Document], Mapping[str, int]], Floats]
MIN_COUNT = 5  # occurrences of a word of the vocabulary
MIN_DISTRIBUTIONAL, MIN_ALIGNED = 0.01, 0.05  # smaller cosines are 0
ITERATIONS = 5  # iterations of model 1, as in Giza++
OTHER_CAPTIONS = 4  # captions with which a caption is aligned, which are all others of five


def vocabulary_of(training: Sequence[Document]) -> dict[str, int]:
    """Return the words that occur at least five times, each with its number in alphabetical order."""
    counts = Counter(chain.from_iterable(chain.from_iterable(training)))
    words = sorted(word for word in counts if counts[word] >= MIN_COUNT)
    return {word: number for number, word in enumerate(words)}


def distributional_similarity(training: Sequence[Document], vocabulary: Mapping[str, int]) -> Floats:
    """Return the (V, V) cosines of words' vectors of pointwise mutual information within captions."""
    captions = list(chain.from_iterable(training))
    columns = [sorted({vocabulary[word] for word in caption if word in vocabulary}) for caption in captions]
    starts = starts_of([len(row) for row in columns])
    entries = np.array(list(chain.from_iterable(columns)), dtype=np.int64)
    shape = (len(captions), len(vocabulary))
    occurs = scipy.sparse.csr_array((np.ones(len(entries)), entries, starts), shape=shape)
    # in how many captions two words occur together; on the diagonal, in how many a word occurs
    pair_counts = (occurs.T @ occurs).toarray()
    word_counts = pair_counts.diagonal()
    # The logarithm of P(a, b) / (P(a) P(b)) is the pointwise mutual information.
    lift = ratio(pair_counts * len(captions), np.outer(word_counts, word_counts), otherwise=0.0)
    return _cosines(np.log(np.maximum(lift, 1.0)), MIN_DISTRIBUTIONAL)


def alignment_similarity(training: Sequence[Document], vocabulary: Mapping[str, int]) -> Floats:
    """Return the (V, V) cosines of words' vectors of translation probabilities between captions of an image."""
    return _cosines(translation_probabilities(training, vocabulary), MIN_ALIGNED)


class _Links(NamedTuple):
    """Possible explanations of words: a word of one caption (source) may explain a word of another (target).

    Attributes:
        pairs: the link's two words as one number, source * V + target; the source V is the empty word.
        occurrences: the number of the target's occurrence that the link may explain.
        occurrence_count: the number of occurrences.
    """

    pairs: Ints
    occurrences: Ints
    occurrence_count: int


def _collect_links(training: Sequence[Document], vocabulary: Mapping[str, int]) -> _Links:
    """Return the links from each caption to the next captions of its image, of which the first follows the last."""
    size = len(vocabulary)
    pairs, occurrences = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    occurrence_count = 0
    for document in training:
        captions = [
            np.array([vocabulary[word] for word in caption if word in vocabulary], np.int64)
            for caption in document
        ]
        steps = range(1, min(OTHER_CAPTIONS, len(captions) - 1) + 1)
        for position, step in product(range(len(captions)), steps):
            target = captions[(position + step) % len(captions)]
            # The last source is the empty word, with which any word can be aligned.
            source = np.append(captions[position], size)
            pairs.append((source[:, np.newaxis] * size + target).ravel())
            # in the order of the raveled pairs: all words of the target for each word of the source
            target_occurrences = np.arange(occurrence_count, occurrence_count + len(target))
            occurrences.append(np.tile(target_occurrences, len(source)))
            occurrence_count += len(target)
    return _Links(np.concatenate(pairs), np.concatenate(occurrences), occurrence_count)


def translation_probabilities(training: Sequence[Document], vocabulary: Mapping[str, int]) -> Floats:
    """Return (V, V) probabilities that the word of the row translates to the word of the column, by IBM's model 1."""
    size = len(vocabulary)
    links = _collect_links(training, vocabulary)
    pairs, pair_index = np.unique(links.pairs, return_inverse=True)
    pair_sources, pair_targets = np.divmod(pairs, max(size, 1))  # 1: without a vocabulary, there are no pairs
    probability = np.ones(len(pairs))
    for _ in range(ITERATIONS):
        # Expectation: how probable each link is as the explanation of its occurrence.
        weight = probability[pair_index]
        weight /= np.bincount(links.occurrences, weight, minlength=links.occurrence_count)[links.occurrences]
        # Maximisation: the share of each pair among the links of its source.
        counts = np.bincount(pair_index, weight, minlength=len(pairs))
        probability = counts / np.bincount(pair_sources, counts, minlength=size + 1)[pair_sources]
    table = np.zeros((size + 1, size))
    table[pair_sources, pair_targets] = probability
    return table[:size]  # without the row of the empty word


def _cosines(vectors: Floats, min_cosine: float) -> Floats:
    """Return the (V, V) cosines of the rows of ``vectors``.

    Cosines below `min_cosine` are 0; the cosine of a word with itself is always 1.
    """
    lengths = np.sqrt((vectors**2).sum(axis=1))
    cosines = ratio(vectors @ vectors.T, np.outer(lengths, lengths), otherwise=0.0)
    np.fill_diagonal(cosines, 1.0)
    return np.where(cosines < min_cosine, 0.0, cosines)
