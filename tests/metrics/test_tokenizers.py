"""Tokenizers and stemmers against the programs that they follow."""

import re
from itertools import chain
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quorum.metrics
from quorum.metrics import UnknownName
from quorum.metrics.text import ptb, ptb_rules
from quorum.metrics.text.porter import porter, porter_1980, rouge_stems, rouge_wordnet_stems
from quorum.metrics.text.tokenizers import TOKENIZERS, tokenizer_named
from quorum.metrics.text.tokens import encode_texts
from quorum.metrics.text.word_lists import smart_stop_words, wordnet_exceptions
from tests.marks import long_except
from tests.metrics.reading import GOLDEN, read_json, read_lines
from tests.refusals import refuses

PTB = read_json(GOLDEN / "ptb_tokenizer.json")["sentences"]
TOKENS = read_json(GOLDEN / "small/tokens.json")
NOWHERE = re.compile("(?!)")
LINE_BREAKS = ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"]


def encoded(texts: list[str], name: str) -> list[list[str]]:
    """The words of each text after numbering, that is on the path that scores take."""
    words = encode_texts(texts, TOKENIZERS[name])
    return [
        [words.vocabulary[number] for number in words.tokens[start:end].tolist()]
        for start, end in zip(words.starts[:-1], words.starts[1:], strict=True)
    ]


def test_ptb_prints_what_stanfords_tokenizer_prints() -> None:
    assert [" ".join(ptb.raw_tokens(case["text"])) for case in PTB] == [case["ptb"] for case in PTB]


def test_ptb_keeps_the_words_that_the_coco_evaluation_keeps() -> None:
    texts = [case["text"] for case in PTB]
    assert encoded(texts, "ptb") == [case["tokens"] for case in PTB]


def test_captions_of_the_small_golden_set_get_the_coco_evaluations_tokens() -> None:
    candidates = read_lines(GOLDEN / "small/candidates.jsonl")
    expected = [TOKENS["candidates"][row["system"]][row["image"]].split() for row in candidates]
    assert encoded([row["caption"] for row in candidates], "ptb") == expected


@pytest.mark.parametrize(
    ("caption", "words"),
    [
        ("She's at St. Mary's, isn't she?", ["she", "'s", "at", "st.", "mary", "'s", "is", "n't", "she"]),
        ("I cannot wanna", ["i", "can", "not", "wan", "na"]),
        ("A sign (on a door).", ["a", "sign", "-lrb-", "on", "a", "door", "-rrb-"]),
        ("5 1/2 dogs", ["5\xa01/2", "dogs"]),
        ("he said ““dogs””", ["he", "said", "````", "dogs", "''''"]),
        ("dogs&nbsp;run &nbsp; far", ["dogs", "run", "far"]),
        ("call 555 123 4567 now", ["call", "555\xa0123\xa04567", "now"]),
        ("room No. 5, oh No.", ["room", "no.", "5", "oh", "no"]),
    ],
)
def test_ptb_cuts_contractions_abbreviations_and_numbers_as_stanford_does(
    caption: str, words: list[str]
) -> None:
    assert ptb.ptb_tokens(caption) == words


@pytest.mark.parametrize("line_break", LINE_BREAKS)
@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_line_break_in_a_caption_shifts_no_other_caption(name: str, line_break: str) -> None:
    texts = [f"a dog{line_break}runs", "two cats", f"{line_break}", "a bird"]
    assert encoded(texts, name) == [["a", "dog", "runs"], ["two", "cats"], [], ["a", "bird"]]


@pytest.mark.parametrize("name", TOKENIZERS)
def test_nul_bytes_lone_surrogates_and_emptiness_are_survived(name: str) -> None:
    texts = ["", "   ", "\x00", "a\x00b", "\ud800", "dog \U0001f415"]
    found = encoded(texts, name)
    assert found[:2] == [[], []]
    assert "dog" in found[5]


@pytest.mark.large
@pytest.mark.parametrize(
    "piece", long_except(["a,", "a.", "http://", "<a ", "n't", "Co. A "], "http://", "n't")
)
def test_a_caption_of_thirty_kilobytes_is_cut_like_a_short_one(piece: str) -> None:
    long = piece * (30_000 // len(piece))
    assert TOKENIZERS["ptb"].cut(f"{long} dog")[-1] == "dog"


@given(st.text(alphabet=st.sampled_from(list("abAB01'’-.,!?/ \t\"<>()&;:_#@$%½…")), max_size=40))
def test_cutting_piece_by_piece_gives_what_cutting_the_whole_caption_gives(caption: str) -> None:
    for name, tokenizer in TOKENIZERS.items():
        assert encoded([caption], name) == [tokenizer.cut(caption)]


# Texts with all that is cut in a way of its own, and marks that only together, or across blanks, are words.
FRAGMENTS = """
a dog runs Re-use O'Brien don't n't cannot They're I. The No. fig. Mr. U.S. Ph.D. e.g. DOGS AT&T C++ and/or dog, dog.
1999 '99 $12.99 12:30 1,000 (555) 555 123-4567 +1 5 1/2 3/4 ½ http://www.dog.com/1.html dog@cat.org #dog @cat
img_0123.jpg <b>dog</b> <a href='x'> <br /> <dog </dog <3 🐕 café 狗 كلب ٣ "dog" “dog” 'dog' ``dog''
. . .5 ... … -- ? !! :) &amp; &nbsp; % %s %c \xad No.\xad \xad5
"""
fragments = st.lists(
    st.tuples(st.sampled_from(FRAGMENTS.split()), st.sampled_from([*" " * 9, "", "  ", "\t", "\n", "\xa0"])),
    max_size=7,
).map(lambda parts: "".join(chain.from_iterable(parts)))


@settings(max_examples=300)
@given(fragments)
def test_cutting_a_text_of_all_sorts_piece_by_piece_gives_what_cutting_it_whole_gives(caption: str) -> None:
    assert encoded([caption], "ptb") == [ptb.ptb_tokens(caption)]


@settings(max_examples=300)
@given(fragments)
def test_no_rule_is_left_out_that_would_cut_a_longer_token(caption: str) -> None:
    every = [rule for _, rule in ptb_rules.RULES]
    with patch.object(ptb, "rules_at", lambda character: every), patch.object(ptb, "_SINGLE_TOKEN", NOWHERE):
        plainly = ptb.raw_tokens(caption)
    assert ptb.raw_tokens(caption) == plainly


@pytest.mark.parametrize("many", [1, 100])
@pytest.mark.parametrize(
    ("caption", "words"),
    [
        ("(555) 123-4567", ["-lrb-555-rrb-\xa0123-4567"]),
        ("(555)  123-4567", ["-lrb-", "555", "-rrb-", "123-4567"]),
        ("call 555 123\t4567", ["call", "555", "123", "4567"]),
        ("<a href='x y'>dog</a> 5", ["<a\xa0href='x\xa0y'>", "dog", "</a>", "5"]),
        ("a <b dog\nruns> 5  dogs", ["a", "<b\xa0dog\nruns>", "5", "dogs"]),
        ("I. The I. dog", ["i", "the", "i.", "dog"]),
        ("no. \xad 5 no. dog", ["no.", "5", "no", "dog"]),
        (". . .5", ["5"]),
        ("5%s 100% &#39;", ["5", "%", "s", "100", "%", "&#39;"]),
        ("1" * 99, ["1" * 99]),
    ],
)
def test_words_that_hold_blanks_or_depend_on_neighbours_are_cut_across_pieces(
    caption: str, words: list[str], many: int
) -> None:
    assert encoded(["a dog", *[caption] * many, "runs 1/2"], "ptb") == [
        ["a", "dog"], *[words] * many, ["runs", "1/2"]
    ]  # fmt: skip
    assert ptb.ptb_tokens(caption) == words


@pytest.mark.large
@given(st.text(max_size=60))
def test_any_text_at_all_is_cut(caption: str) -> None:
    for name, tokenizer in TOKENIZERS.items():
        assert encoded([caption, "x"], name) == [tokenizer.cut(caption), ["x"]]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("space", ["Don't", "re-use", "the_2", "café."]),
        ("h13", ["don", "t", "re", "use", "the", "2", "café"]),
        ("rouge", ["don", "t", "re", "use", "the", "2", "caf"]),
        ("v15", ["don", "t", "re", "use", "the_2", "café"]),
    ],
)
def test_the_other_tokenizers_do_what_their_papers_say(name: str, words: list[str]) -> None:
    assert encoded(["Don't re-use the_2 café."], name) == [words]


def test_an_unknown_tokenizer_is_refused_with_the_nearest_name() -> None:
    with refuses(UnknownName, "pbt", "ptb"):
        tokenizer_named("pbt")


@pytest.mark.parametrize("text", ["", " ", "  ", " a ", " a  ", "a  ", "\n\u3000", "\x1f \u2028"])
@pytest.mark.parametrize("many", [1, 1000])
def test_texts_of_hardly_more_than_blanks_are_cut_however_many_there_are(text: str, many: int) -> None:
    assert encoded([text] * many, "space") == [text.split()] * many


@settings(max_examples=40)
@given(st.lists(st.text(st.sampled_from("aé \n\u3000\x1f\x00"), max_size=9), min_size=1, max_size=5))
def test_words_between_any_blanks_are_those_of_split(texts: list[str]) -> None:
    assert encoded(texts, "space") == [text.split() for text in texts]


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
    data = Path(quorum.metrics.__file__).parent / "data"
    assert "WordNet 2.0 Copyright 2003 by Princeton University." in (
        data / "wordnet_2_0_license.txt"
    ).read_text("ascii")


def test_rouges_stop_list_holds_its_596_words() -> None:
    assert len(smart_stop_words()) == 596
    assert {"the", "a", "reuters", "yourselves"} <= smart_stop_words()
    assert "dog" not in smart_stop_words()
