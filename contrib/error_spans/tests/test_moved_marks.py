"""A mark keeps its letters when a text is stored in another form than it was written in."""

import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from common.texts import one_text
from contrib.error_spans.kind.marks import move_offset

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
