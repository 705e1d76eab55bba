"""One text has several writings, which are compared in one form and quoted where they part."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.texts import is_empty, move_offset, one_text, quote_difference


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("  a dog ", "a dog"),
        ("one\r\nline\r\n", "one\nline"),
        ("one\rline", "one\nline"),
        ("cafe\u0301", "café"),
        ("\u00a0lo\u0308n\u2029", "lön"),
        ("a  dog", "a  dog"),
        ("", ""),
        (" \r\n", ""),
    ],
)
def test_a_text_has_one_form(written: str, text: str) -> None:
    assert one_text(written) == text
    assert one_text(one_text(written)) == text


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        ("a red car", "a red cat", "'a red car' and 'a red cat'"),
        ("a dog", "a dog runs", "'a dog' and 'a dog runs'"),
        (
            "The quick brown fox jumps over the lazy dog.",
            "The quick brown fox leaps over the lazy dog.",
            "'…uick brown fox jumps over the …' and '…uick brown fox leaps over the …'",
        ),
        ("one\r\nline", "one line", r"'one\nline' and 'one line'"),
    ],
)
def test_two_texts_are_quoted_where_they_part(one: str, other: str, words: str) -> None:
    assert " and ".join(quote_difference(one, other)) == words


LETTERS = st.text(alphabet="aé\u0301ö o\n", max_size=12)


def writings(text: str) -> list[str]:
    composed, parts = unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)
    return [composed, parts, f"  {parts} ", f"\n{composed}\r\n", composed.replace("\n", "\r\n")]


@given(text=LETTERS.map(one_text).filter(lambda text: text and not unicodedata.combining(text[0])))
@settings(max_examples=60, deadline=None)
def test_a_mark_covers_the_same_letters_in_every_writing(text: str) -> None:
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            for other in writings(text):
                marked = other[move_offset(start, text, other) : move_offset(end, text, other)]
                assert one_text(f"|{marked}|") == one_text(f"|{text[start:end]}|")


@pytest.mark.parametrize("text", ["", " \t\n", "​", "‏‎", "\u2066\u2069"])
def test_text_without_visible_characters_looks_empty(text: str) -> None:
    assert is_empty(text)


@pytest.mark.parametrize("text", ["a", ".", "犬", "🐕", "́"])
def test_text_with_any_visible_character_does_not(text: str) -> None:
    assert not is_empty(text)
