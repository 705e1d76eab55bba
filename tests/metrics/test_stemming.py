"""Stems by Porter's paper and by the program that he released."""

import pytest

from evaluation.metrics.stemming import porter, porter_1980, rouge_stems, smart_stop_words

# The examples that Porter 1980 gives for his steps, taken to the end of the algorithm.
PAPER = {
    "caresses": "caress",
    "ponies": "poni",
    "ties": "ti",
    "cats": "cat",
    "feed": "feed",
    "agreed": "agre",
    "plastered": "plaster",
    "bled": "bled",
    "motoring": "motor",
    "sing": "sing",
    "conflated": "conflat",
    "troubled": "troubl",
    "sized": "size",
    "hopping": "hop",
    "tanned": "tan",
    "falling": "fall",
    "hissing": "hiss",
    "fizzed": "fizz",
    "failing": "fail",
    "filing": "file",
    "happy": "happi",
    "sky": "sky",
    "relational": "relat",
    "conditional": "condit",
    "rational": "ration",
    "valenci": "valenc",
    "digitizer": "digit",
    "operator": "oper",
    "feudalism": "feudal",
    "decisiveness": "decis",
    "hopefulness": "hope",
    "formaliti": "formal",
    "sensibiliti": "sensibl",
    "triplicate": "triplic",
    "formative": "form",
    "electrical": "electr",
    "goodness": "good",
    "revival": "reviv",
    "allowance": "allow",
    "airliner": "airlin",
    "adjustable": "adjust",
    "replacement": "replac",
    "adoption": "adopt",
    "communism": "commun",
    "effective": "effect",
    "bowdlerize": "bowdler",
    "probate": "probat",
    "rate": "rate",
    "cease": "ceas",
    "controll": "control",
    "roll": "roll",
    "trekking": "trek",
}


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


def test_rouges_stop_list_holds_its_596_words() -> None:
    assert len(smart_stop_words()) == 596
    assert {"the", "a", "reuters", "yourselves"} <= smart_stop_words()
    assert "dog" not in smart_stop_words()
