"""One text has several writings, which are compared in one form and quoted where they part."""

import pytest

from common.texts import is_empty, one_text, quote_difference


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


@pytest.mark.parametrize("text", ["", " \t\n", "​", "‏‎", "\u2066\u2069"])
def test_text_without_visible_characters_looks_empty(text: str) -> None:
    assert is_empty(text)


@pytest.mark.parametrize("text", ["a", ".", "犬", "🐕", "́"])
def test_text_with_any_visible_character_does_not(text: str) -> None:
    assert not is_empty(text)
