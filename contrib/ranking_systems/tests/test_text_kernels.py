"""Text kernels against slow, obvious forms."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest

from contrib.ranking_systems.kernels.similar_trigrams import SimilarTrigrams
from contrib.ranking_systems.kernels.tag_rank import TagRank
from contrib.ranking_systems.kernels.texts import (
    BagOfWords,
    Document,
    Trigrams,
    idf_of,
    idf_overlaps,
    stems_of,
)

LARGE, SMALL = (
    ["small", "child", "red", "hair", "play", "large", "brown", "dog"],
    ["small", "white", "dog", "play", "large", "red", "dog"],
)
DOCUMENTS: list[Document] = [[LARGE, ["child", "play"]], [SMALL], [["dog", "run", "dog"], SMALL]]


def test_words_are_stems_without_stop_words() -> None:
    assert stems_of(["The dogs are running", "A"]) == [["dog", "run"], []]


def matches(words: list[str], sequence: tuple[str, ...], gap: float) -> float:
    """Try every stretch of words (H13 3.4.3)."""
    total = 0.0
    for begin in range(len(words)):
        for end in range(begin, len(words)):
            stretch = words[begin : end + 1]
            if stretch[0] != sequence[0] or stretch[-1] != sequence[-1] or len(stretch) < len(sequence):
                continue
            if len(sequence) == 1 and len(stretch) > 1:
                continue
            inner = stretch[1:-1]
            if len(sequence) < 3 or sequence[1] in inner:
                total += gap ** (len(stretch) - len(sequence))
    return total


def slow_trigrams(one: Document, other: Document, idf: dict[str, float], match: float, gap: float) -> float:
    vocabulary = sorted({word for document in (one, other) for words in document for word in words})
    sequences = [sequence for length in (1, 2, 3) for sequence in product(vocabulary, repeat=length)]

    def value(first: Document, second: Document) -> float:
        return sum(
            math.prod(idf[word] for word in sequence) ** 0.5
            * sum(matches(list(words), sequence, gap) for words in first)
            * sum(matches(list(words), sequence, gap) for words in second)
            * match ** (2 * len(sequence))
            for sequence in sequences
        )

    return value(one, other) / math.sqrt(value(one, one) * value(other, other))


@pytest.mark.parametrize("gap", [1.0, 0.7])
def test_the_trigram_kernel_counts_the_stretches_that_two_captions_share(gap: float) -> None:
    idf = {word: 0.3 + 0.1 * place for place, word in enumerate(sorted({*LARGE, *SMALL, "run"}))}
    found = Trigrams(idf, gap=gap)(DOCUMENTS, DOCUMENTS)
    expected = [[slow_trigrams(one, other, idf, 0.5, gap) for other in DOCUMENTS] for one in DOCUMENTS]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    plain = Trigrams(gap=gap)(DOCUMENTS[:1], DOCUMENTS[1:2])[0, 0]
    assert plain == pytest.approx(
        slow_trigrams(DOCUMENTS[0], DOCUMENTS[1], dict.fromkeys(idf, 1.0), 0.5, gap)
    )


def test_similar_words_match_in_part_and_others_match_themselves_alone() -> None:
    """Every pair of sequences, by the product of their words' similarities (H13 3.5.1)."""
    names = sorted({*LARGE, *SMALL, "run"})
    idf = {word: 0.3 + 0.1 * place for place, word in enumerate(names)}
    vocabulary = {word: number for number, word in enumerate(names[:6])}  # the others are in none
    drawn = np.random.default_rng(5).uniform(0, 1, (6, 6))
    similarity = (drawn + drawn.T) / 2
    np.fill_diagonal(similarity, 1.0)

    def like(word: str, other: str) -> float:
        if word in vocabulary and other in vocabulary:
            return float(similarity[vocabulary[word], vocabulary[other]])
        return float(word == other)

    def sequences(document: Document) -> dict[tuple[str, ...], float]:
        own = sorted({word for words in document for word in words})
        counts = {
            sequence: sum(matches(list(words), sequence, 1.0) for words in document)
            for length in (1, 2, 3)
            for sequence in product(own, repeat=length)
        }
        weights = {sequence: math.prod(idf[word] for word in sequence) ** 0.25 for sequence in counts}
        return {sequence: n * weights[sequence] * 0.5 ** len(sequence) for sequence, n in counts.items() if n}

    found = [sequences(document) for document in DOCUMENTS]
    sums = np.array(
        [
            [
                sum(
                    n * m * math.prod(map(like, w, v))
                    for (w, n), (v, m) in product(one.items(), other.items())
                    if len(w) == len(v)
                )
                for other in found
            ]
            for one in found
        ]
    )
    lengths = np.sqrt(sums.diagonal())
    kernel = SimilarTrigrams(vocabulary, similarity, idf)
    np.testing.assert_allclose(kernel(DOCUMENTS, DOCUMENTS), sums / np.outer(lengths, lengths), rtol=1e-12)
    np.testing.assert_allclose(kernel(DOCUMENTS[:1], DOCUMENTS[1:]), kernel(DOCUMENTS, DOCUMENTS)[:1, 1:])
    alone = SimilarTrigrams(vocabulary, np.eye(6), idf)
    np.testing.assert_allclose(alone(DOCUMENTS, DOCUMENTS), Trigrams(idf)(DOCUMENTS, DOCUMENTS), rtol=1e-12)


def test_bags_of_words_are_compared_by_cosine_and_by_weighted_f1() -> None:
    idf = idf_of(DOCUMENTS)
    assert idf["run"] == pytest.approx(math.log(3 / 2))
    assert idf["dog"] == 0.0
    idf = {word: 0.5 + weight for word, weight in idf.items()}
    counts = [Counter(word for words in document for word in words) for document in DOCUMENTS]
    cosines, overlaps = BagOfWords()(DOCUMENTS, DOCUMENTS), idf_overlaps(DOCUMENTS, DOCUMENTS, idf)
    for (i, one), (j, other) in product(enumerate(counts), enumerate(counts)):
        dot = sum(one[word] * other[word] for word in one)
        size = math.sqrt(sum(n * n for n in one.values()) * sum(n * n for n in other.values()))
        assert cosines[i, j] == pytest.approx(dot / size)
        shared = sum(min(n, other[word]) * idf[word] for word, n in one.items())
        precision, recall = (shared / sum(n * idf[word] for word, n in bag.items()) for bag in (one, other))
        f1 = 2 * precision * recall / (precision + recall) if shared else 0.0
        assert overlaps[i, j] == pytest.approx(f1)


def test_tag_rank_weighs_words_by_their_place() -> None:
    kernel = TagRank.from_training(DOCUMENTS)
    captions = [words for document in DOCUMENTS for words in document]
    places = [(word, place) for words in captions for place, word in enumerate(words, 1)]

    def vectors(words: list[str]) -> tuple[dict[str, float], dict[str, float]]:
        at = {word: np.mean([place for place, own in enumerate(words, 1) if own == word]) for word in words}
        behind = {
            word: float(
                np.mean([place > mean for own, place in places if own == word]) if word in dict(places) else 1
            )
            for word, mean in at.items()
        }
        return {word: float(1 / np.log2(1 + mean)) for word, mean in at.items()}, behind

    def distance(one: dict[str, float], other: dict[str, float]) -> float:
        words = {*one, *other}
        sides = [(one.get(word, 0.0), other.get(word, 0.0)) for word in words]
        return sum((a - b) ** 2 / (a + b) for a, b in sides if a + b)

    scales = [
        np.mean(
            [distance(vectors(list(a))[side], vectors(list(b))[side]) for a in captions for b in captions]
        )
        for side in (0, 1)
    ]
    new: Document = [["cat", "play", "dog"]]
    expected = [
        np.mean(
            [
                math.exp(-distance(vectors(list(a))[side], vectors(list(b))[side]) / scales[side])
                for side in (0, 1)
                for a in new
                for b in document
            ]
        )
        for document in DOCUMENTS
    ]
    np.testing.assert_allclose(kernel([new], DOCUMENTS)[0], expected, rtol=1e-12)
