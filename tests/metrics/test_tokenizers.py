"""Captions become the words that other people's programs make of them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.metrics import UnknownName
from evaluation.metrics.text import tokens
from evaluation.metrics.text.tokens import TOKENIZERS, encode, tokenizer_named
from tests.metrics.reading import GOLDEN, read_json, read_lines

PTB = read_json(GOLDEN / "ptb_tokenizer.json")["sentences"]
TOKENS = read_json(GOLDEN / "small/tokens.json")
LINE_BREAKS = ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"]


def encoded(texts: list[str], name: str) -> list[list[str]]:
    """The words of each text after numbering, that is on the path that scores take."""
    words = encode(texts, TOKENIZERS[name])
    return [
        [words.vocabulary[number] for number in words.tokens[start:end].tolist()]
        for start, end in zip(words.starts[:-1], words.starts[1:], strict=True)
    ]


def test_ptb_prints_what_stanfords_tokenizer_prints() -> None:
    assert [" ".join(tokens.raw_tokens(case["text"])) for case in PTB] == [case["ptb"] for case in PTB]


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
    assert tokens.ptb_tokens(caption) == words


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
@pytest.mark.parametrize("piece", ["a,", "a.", "http://", "<a ", "n't", "Co. A "])
def test_a_caption_of_thirty_kilobytes_is_cut_like_a_short_one(piece: str) -> None:
    long = piece * (30_000 // len(piece))
    assert TOKENIZERS["ptb"].tokens(f"{long} dog")[-1] == "dog"


@given(st.text(alphabet=st.sampled_from(list("abAB01'’-.,!?/ \t\"<>()&;:_#@$%½…")), max_size=40))
def test_cutting_piece_by_piece_gives_what_cutting_the_whole_caption_gives(caption: str) -> None:
    for name, tokenizer in TOKENIZERS.items():
        assert encoded([caption], name) == [tokenizer.tokens(caption)]


@pytest.mark.large
@given(st.text(max_size=60))
def test_any_text_at_all_is_cut(caption: str) -> None:
    for name, tokenizer in TOKENIZERS.items():
        assert encoded([caption, "x"], name) == [tokenizer.tokens(caption), ["x"]]


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
    with pytest.raises(UnknownName, match=r"unknown tokenizer 'pbt'; did you mean 'ptb'\?"):
        tokenizer_named("pbt")


@pytest.mark.parametrize("text", ["", " ", "  ", " a ", " a  ", "a  ", "\n\u3000", "\x1f \u2028"])
@pytest.mark.parametrize("many", [1, 1000])
def test_texts_of_hardly_more_than_blanks_are_cut_however_many_there_are(text: str, many: int) -> None:
    assert encoded([text] * many, "space") == [text.split()] * many


@settings(max_examples=40)
@given(st.lists(st.text(st.sampled_from("aé \n\u3000\x1f\x00"), max_size=9), min_size=1, max_size=5))
def test_words_between_any_blanks_are_those_of_split(texts: list[str]) -> None:
    assert encoded(texts, "space") == [text.split() for text in texts]
