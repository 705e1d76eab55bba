"""Normalise and compare texts that may differ in line ends, blanks at the ends, or composed letters."""

from __future__ import annotations

import re
import unicodedata

from django.utils.translation import gettext

CONTEXT_CHARACTERS = 15  # characters quoted on each side of the first difference
# A word, or a single letter of a script without blanks between words: Thai and Lao, Burmese, Khmer, kana, and three
# ranges of Chinese characters.
WORD = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
    r"|[^\s\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+"
)


def one_text(text: str) -> str:
    """Return a text in normal form, to compare it: LF line ends, composed letters, and no blanks at the ends."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return (text if text.isascii() else unicodedata.normalize("NFC", text)).strip()


def is_empty(text: str) -> bool:
    """Return whether a text has no visible character, but only separators (Z) and control characters (C)."""
    return all(unicodedata.category(letter)[0] in "ZC" for letter in text)


def text_or_placeholder(text: str) -> str:
    """Return the text or, if it is empty, "(empty)", since a gap on a page looks like an error."""
    return gettext("(empty)") if is_empty(text) else text


def word_bounds(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each word. In scripts without blanks, a word is a single letter."""
    return [match.span() for match in WORD.finditer(text)]


def quote_difference(first: str, second: str) -> tuple[str, str]:
    """Return quotations of two texts around the first character that differs."""
    first, second = one_text(first), one_text(second)
    position = min(len(first), len(second))  # if one text begins with the other
    for index in range(position):
        if first[index] != second[index]:
            position = index
            break
    return _excerpt(first, position), _excerpt(second, position)


def _excerpt(text: str, position: int) -> str:
    start = max(0, position - CONTEXT_CHARACTERS)
    end = position + CONTEXT_CHARACTERS
    before = "…" if start > 0 else ""
    after = "…" if end < len(text) else ""
    return repr(f"{before}{text[start:end]}{after}")
