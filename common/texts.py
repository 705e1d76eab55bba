"""One text, however it was written: line ends, blanks at the ends, and composed or decomposed letters."""

from __future__ import annotations

import unicodedata

SHOWN_AROUND = 15  # characters on each side of where two texts part


def one_text(text: str) -> str:
    """Return the form in which texts are compared: LF, composed letters, no blanks at the ends."""
    return _with_one_form_of_letters(text).strip()


def _with_one_form_of_letters(text: str) -> str:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def parting(one: str, other: str) -> str:
    """Quote two texts around the first character that differs."""
    one, other = one_text(one), one_text(other)
    pairs = enumerate(zip(one, other, strict=False))
    at = next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))
    return f"{_around(one, at)} and {_around(other, at)}"


def _around(text: str, at: int) -> str:
    start, end = max(0, at - SHOWN_AROUND), at + SHOWN_AROUND
    return repr(f"{'…' * (start > 0)}{text[start:end]}{'…' * (end < len(text))}")


def moved(offset: int, written: str, other: str) -> int:
    """Return where an offset into one writing of a text lies in another writing of it."""
    wanted = _place(written, offset)
    last = len(other.rstrip())
    return max((place for place in range(last + 1) if _place(other, place) <= wanted), default=0)


def _place(text: str, offset: int) -> int:
    return len(_with_one_form_of_letters(text[:offset]).lstrip())
