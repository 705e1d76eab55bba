"""Similarities of words against their definitions."""

import math
from collections import defaultdict
from itertools import product

import numpy as np
import pytest

from contrib.ranking_systems.kernels.texts import Document
from contrib.ranking_systems.kernels.word_similarity import (
    alignment_similarity,
    distributional_similarity,
    translation_probabilities,
    vocabulary_of,
)

# Of each image two captions; "rare" stands in one of them.
TWINS: list[Document] = [
    *[[["dog", "run"], ["hound", "run"]]] * 4,
    *[[["dog", "sleep"], ["hound", "sleep"]]] * 2,
    *[[["cat", "sleep"], ["cat", "sleep", "rare"]]] * 3,
]


def test_words_of_the_same_contexts_are_alike() -> None:
    """Positive pointwise mutual information over captions, by hand (H13 3.5.3)."""
    vocabulary = vocabulary_of(TWINS)
    assert list(vocabulary) == ["cat", "dog", "hound", "run", "sleep"]
    found = distributional_similarity(TWINS, vocabulary)
    # Of 18 captions, cat, dog and hound are in 6 each, run in 8, sleep in 10.
    dog = {"dog": math.log(3), "run": math.log(4 * 18 / 48), "sleep": 0.0}
    hound = {"hound": math.log(3), "run": math.log(4 * 18 / 48)}
    shared = dog["run"] * hound["run"] / (dog["dog"] ** 2 + dog["run"] ** 2)
    assert found[vocabulary["dog"], vocabulary["hound"]] == pytest.approx(shared)
    cat, sleep = (math.log(3), math.log(1.8)), (math.log(1.8), math.log(1.8))
    cosine = (cat[0] * sleep[0] + cat[1] * sleep[1]) / math.hypot(*cat) / math.hypot(*sleep)
    assert found[vocabulary["cat"], vocabulary["sleep"]] == pytest.approx(cosine)
    assert found[vocabulary["cat"], vocabulary["run"]] == 0.0
    assert found.diagonal().tolist() == [1.0] * 5


def test_words_that_translate_each_other_are_alike() -> None:
    """IBM's model 1 by its definition, five times (Brown et al. 1993; H13 3.5.4)."""
    vocabulary = vocabulary_of(TWINS)
    pairs = [
        (["", *first], second)
        for document in TWINS
        for first, second in ((document[0], document[1]), (document[1], document[0]))
    ]
    pairs = [
        ([w for w in e if not w or w in vocabulary], [w for w in f if w in vocabulary]) for e, f in pairs
    ]
    chance = {(e, f): 1.0 for source, target in pairs for e, f in product(source, target)}
    for _ in range(5):
        counts: defaultdict[tuple[str, str], float] = defaultdict(float)
        for source, target in pairs:
            for f in target:
                total = sum(chance[e, f] for e in source)
                for e in source:
                    counts[e, f] += chance[e, f] / total
        sums: defaultdict[str, float] = defaultdict(float)
        for (e, _), count in counts.items():
            sums[e] += count
        chance = {(e, f): count / sums[e] for (e, f), count in counts.items()}
    found = translation_probabilities(TWINS, vocabulary)
    expected = [[chance.get((e, f), 0.0) for f in vocabulary] for e in vocabulary]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert found[vocabulary["dog"]].argmax() == vocabulary["hound"]
    alike = alignment_similarity(TWINS, vocabulary)
    assert alike[vocabulary["dog"], vocabulary["run"]] < 0.5
    assert alike.shape == (5, 5)
    assert alignment_similarity([[["dog"]]], {}).shape == distributional_similarity([], {}).shape == (0, 0)
