"""The alignment search beside a slow and obvious form of it, on small made-up tables."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.metrics.comparison import Comparison, View
from evaluation.metrics.meteor.scoring import meteor_scores, meteor_statistics, pooled
from evaluation.metrics.text.tokens import tokenizer_named
from tests.metrics import plainly_meteor
from tests.metrics.plainly_meteor import Data

VIEW = View(tokenizer_named("space"))
WORDS = ("run", "runs", "dog", "hound", "the", "of")
PHRASES = ("run", "dog", "the dog", "of the", "run of the", "hound the", "dog run")

words = st.lists(st.sampled_from(WORDS), max_size=9)
tables = st.builds(
    Data,
    st.frozensets(st.sampled_from(("the", "of", "dog"))),
    st.dictionaries(
        st.sampled_from(WORDS), st.frozensets(st.integers(1, 3), min_size=1), min_size=1, max_size=4
    ),
    st.lists(
        st.tuples(st.sampled_from(PHRASES), st.sampled_from(PHRASES)).filter(lambda pair: pair[0] != pair[1]),
        unique=True,
        max_size=8,
    ),
)


def counted(candidates: list[str], references: list[list[str]], data: Data) -> plainly_meteor.Counts:
    comparison = Comparison.of(candidates, references)
    return meteor_statistics(comparison, VIEW, data.tables(), 4 if data.paraphrases else 3).counts


@pytest.mark.large
@given(words, words, tables)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_the_search_finds_what_the_plain_form_finds(ours: list[str], theirs: list[str], data: Data) -> None:
    found = counted([" ".join(ours)], [[" ".join(theirs)]], data)
    assert found[0].tolist() == plainly_meteor.statistics(ours, theirs, data)


@pytest.mark.parametrize("repeated", [2, 12])
def test_matches_of_one_word_with_many_are_tried_in_order(repeated: int) -> None:
    """Equal words first, then stems and synonyms, each from left to right, be they few or many."""
    data = Data(frozenset(["dog"]), {"dog": frozenset([1]), "hound": frozenset([1])}, [("dog", "run dog")])
    ours = ["running", "dog", "hound", "runs"] * repeated
    theirs = ["hound", "run", "dog", "runs", "run", "dog", "dogs"]
    found = counted([" ".join(ours)], [[" ".join(theirs)]], data)
    assert found[0].tolist() == plainly_meteor.statistics(ours, theirs, data)


def test_the_first_stage_alone_counts_equal_words_only() -> None:
    data = Data(frozenset(), {"dog": frozenset([1]), "hound": frozenset([1])}, ())
    comparison = Comparison.of(["dog runs the"], [["hound run the"]])
    counts = meteor_statistics(comparison, VIEW, data.tables(), 1).counts
    assert counts[0].tolist() == [3, 3, 0, 0, 1, 1, *[0] * 14, 1]


@given(st.lists(words.filter(bool), min_size=1, max_size=5), tables)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_captions_that_equal_a_reference_score_one_alone_and_together(
    texts: list[list[str]], data: Data
) -> None:
    captions = [" ".join(text) for text in texts]
    comparison = Comparison.of(captions, [["hound", caption] for caption in captions])
    statistics = meteor_statistics(comparison, VIEW, data.tables(), 2)
    np.testing.assert_allclose(meteor_scores(statistics), 1.0, rtol=1e-15)
    np.testing.assert_allclose(meteor_scores(pooled(statistics)), 1.0, rtol=1e-15)


@given(words, words, tables, st.integers(1, 6))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_search_finds_the_same_when_it_cannot_hold_all_matches_at_once(
    ours: list[str], theirs: list[str], data: Data, enough: int
) -> None:
    comparison = Comparison.of([" ".join(ours)], [[" ".join(theirs)]])
    tables, stages = data.tables(), 4 if data.paraphrases else 3
    found = meteor_statistics(comparison, VIEW, tables, stages, enough=enough).counts
    assert found.tolist() == meteor_statistics(comparison, VIEW, tables, stages).counts.tolist()
