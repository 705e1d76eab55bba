"""The words of a text, and the runs of words that are offered with it."""

from collections import Counter

import pytest

from quorum.phrases import (
    clauses,
    count_texts_by_ngram,
    frequent_phrases,
    known_titles,
    ngrams,
    normalise_phrase,
    spellings_of_grams,
    titles_in,
    vocabulary,
    words_of,
)

STOP = frozenset({"the", "of", "at", "a", "in", "and"})
CAMPUS = "The University of Texas at Dallas (UTD) opened a library. Students of the University of Texas came."


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A tank, two Tanks!", ["a", "tank", "two", "tanks"]),
        ("“Bush’s” U.S. visit – 1,000 people", ["bush's", "u.s", "visit", "1,000", "people"]),
        ("cafe\u0301", ["café"]),
        ("ΟΔΥΣΣΕΥΣ", ["οδυσσευς"]),
        ("नमस्ते दुनिया ।", ["नमस्ते", "दुनिया"]),
        ("— … !", []),
        ("", []),
    ],
)
def test_words_are_what_stands_between_blanks_without_punctuation(text, words):
    assert words_of(text) == words


def test_a_word_inside_a_word_is_a_word_of_the_text():
    assert list(vocabulary("London's well-known Bus/tram")) == [
        "london's", "london", "well-known", "well", "known", "bus/tram", "bus", "tram",
    ]  # fmt: skip


def test_phrases_are_equal_whatever_their_capitals_and_punctuation():
    assert normalise_phrase("  The “University” of\nTexas, ") == "the university of texas"


def test_every_run_of_two_to_seven_words_is_an_ngram():
    words = [str(number) for number in range(9)]
    # a text of w words has w - n + 1 runs of n words
    assert Counter(gram.count(" ") + 1 for gram, _ in ngrams(words)) == {n: 9 - n + 1 for n in range(2, 8)}


def test_the_titles_of_the_papers_own_example_are_all_found_with_their_parts():
    # MC12 §3.2: gold of one image holds these four, subsets of each other
    titles = {
        "university of texas",
        "university of texas at dallas",
        "the university of texas",
        "the university of texas at dallas",
        "dallas cowboys",
    }
    found = titles_in(CAMPUS, titles)
    assert set(found) == titles - {"dallas cowboys"}
    assert spellings_of_grams(CAMPUS, ["university of texas at dallas"]) == ["University of Texas at Dallas"]


def test_a_title_may_run_across_a_comma_but_a_frequent_run_may_not():
    text = "They met in Paris, Texas. Later in Paris, Texas again."
    assert titles_in(text, {"paris texas"}) == ["paris texas"]
    assert frequent_phrases(text, Counter(), STOP) == []
    assert list(clauses("Met J. Smith in the U.S. today. Then, home (again)")) == [
        ["met", "j", "smith", "in", "the", "u.s", "today"], ["then"], ["home"], ["again"],
    ]  # fmt: skip


def test_without_titles_runs_are_offered_that_stand_twice_or_in_several_texts():
    texts = [CAMPUS, "A fire in Dallas Love Field .", "Dallas Love Field was closed ."]
    spread = count_texts_by_ngram(texts, STOP)
    assert frequent_phrases(CAMPUS, spread, STOP) == ["university of texas"]
    assert frequent_phrases(texts[1], spread, STOP) == ["dallas love field"]
    assert frequent_phrases("nothing comes twice", spread, STOP) == []


def test_a_run_inside_a_longer_one_is_offered_where_it_stands_more_often():
    text = "red bus stop . red bus stop . red bus ."
    assert frequent_phrases(text, Counter(), STOP) == ["red bus", "red bus stop"]


def test_of_too_many_runs_the_most_frequent_stay_in_the_order_of_the_text():
    text = " . ".join(f"word{n} thing{n}" for n in range(60) for _ in range(3 if n in (5, 40) else 2))
    found = frequent_phrases(text, Counter(), STOP, most=2)
    assert found == ["word5 thing5", "word40 thing40"]


def test_titles_are_known_by_their_words_from_a_stream_that_is_read_once():
    titles = iter(
        ["University_of_Texas_at_Dallas", "Texas", "Love Field", "the UNIVERSITY of Texas", "Of Texas at"]
    )
    read: list[int] = []
    assert known_titles(titles, [CAMPUS], progress=read.append) == [
        "of texas at",
        "the university of texas",
        "university of texas at dallas",
    ]
    assert read == [5]
    assert known_titles(["University of Texas"], []) == []
