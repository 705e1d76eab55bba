"""Stems by Porter's paper and by the program that he released."""

from pathlib import Path

import pytest

import evaluation.metrics
from evaluation.metrics.text.stemming import (
    porter,
    porter_1980,
    rouge_stems,
    rouge_wordnet_stems,
    smart_stop_words,
    wordnet_exceptions,
)
from tests.metrics.reading import GOLDEN, read_json

# The examples that Porter 1980 gives for his steps, taken to the end of the algorithm.
EXAMPLES = """
caresses:caress ponies:poni ties:ti cats:cat feed:feed agreed:agre plastered:plaster bled:bled
motoring:motor sing:sing conflated:conflat troubled:troubl sized:size hopping:hop tanned:tan falling:fall
hissing:hiss fizzed:fizz failing:fail filing:file happy:happi sky:sky relational:relat conditional:condit
rational:ration valenci:valenc digitizer:digit operator:oper feudalism:feudal decisiveness:decis
hopefulness:hope formaliti:formal sensibiliti:sensibl triplicate:triplic formative:form electrical:electr
goodness:good revival:reviv allowance:allow airliner:airlin adjustable:adjust replacement:replac
adoption:adopt communism:commun effective:effect bowdlerize:bowdler probate:probat rate:rate cease:ceas
controll:control roll:roll trekking:trek
"""
PAPER = dict(pair.split(":") for pair in EXAMPLES.split())


def test_the_words_of_the_paper_get_the_stems_of_the_paper() -> None:
    assert dict(zip(PAPER, porter_1980(list(PAPER)), strict=True)) == PAPER
    assert dict(zip(PAPER, porter(list(PAPER)), strict=True)) == PAPER


@pytest.mark.parametrize(
    ("word", "by_the_paper", "as_released"),
    [
        ("us", "u", "us"),
        ("is", "i", "is"),
        ("possibly", "possibli", "possibl"),
        ("doubly", "doubli", "doubli"),
        ("technology", "technologi", "technolog"),
        ("biology", "biologi", "biologi"),
    ],
)
def test_the_released_program_departs_from_the_paper_in_three_places(
    word: str, by_the_paper: str, as_released: str
) -> None:
    assert porter_1980([word]) == [by_the_paper]
    assert porter([word]) == [as_released]


def test_the_rouge_script_leaves_words_of_up_to_three_letters_alone() -> None:
    assert rouge_stems(["was", "dies", "dogs", "ate"]) == ["was", "di", "dog", "ate"]


def test_the_rouge_script_goes_on_taking_off_suffixes() -> None:
    # All words of WordNet and Flickr8k for which the script departs from Porter's program, and 300 others.
    expected = read_json(GOLDEN / "rouge155_several.json")["stems"]
    assert dict(zip(expected, rouge_stems(list(expected)), strict=True)) == expected
    assert porter(["governmental", "element"]) == ["government", "element"]
    assert rouge_stems(["governmental", "element"]) == ["govern", "elem"]


@pytest.mark.parametrize(
    ("word", "lemma"),
    [
        ("children", "child"),
        ("better", "well"),  # the adverb wins over the adjective, which has "good"
        ("offer", "offer"),  # the later line wins over "off"
        ("testes", "testes"),  # the verb wins over the noun
        ("taxes", "tax"),  # the first lemma of a line
        ("feet", "foot"),
        ("dogs", "dog"),  # regular: stemmed by rule
        ("ran", "ran"),  # three letters: never looked up
    ],
)
def test_irregular_forms_are_wordnets(word: str, lemma: str) -> None:
    assert rouge_wordnet_stems([word]) == [lemma]


def test_the_irregular_forms_stand_beside_their_licence() -> None:
    assert len(wordnet_exceptions()) == 5593
    data = Path(evaluation.metrics.__file__).parent / "data"
    assert "WordNet 2.0 Copyright 2003 by Princeton University." in (
        data / "wordnet_2_0_license.txt"
    ).read_text("ascii")


def test_rouges_stop_list_holds_its_596_words() -> None:
    assert len(smart_stop_words()) == 596
    assert {"the", "a", "reuters", "yourselves"} <= smart_stop_words()
    assert "dog" not in smart_stop_words()
