"""Pieces between blanks that `ptb` must cut together, as one may change the other's words."""

import re

import numpy as np

from quorum.metrics.text.ptb_rules import PARTS
from quorum.numeric.arrays import Flags, Ints, Numbers
from quorum.numeric.compiling import compiled

# What a piece begins with, and what the end of a piece awaits of the next, as bits, the latter
# higher; a tag awaits any up to a bracket.
ANY, NUMBER, STOP, BRACKET, TAG = 1, 2, 4, 8, 16
AWAITED = 8  # places higher
_NUMBERS = dict.fromkeys("0123456789", NUMBER)
_BEGINS = {".": STOP} | _NUMBERS
_AWAITS = {".": STOP, ")": NUMBER} | _NUMBERS
_ASKS_FOR_NUMBER = re.compile(r"(?:{NUMBERED})\.$".format(**PARTS))
_OPEN_TAG = re.compile("<[!?/A-Za-z][^<>]*$")


def ptb_edges(text: str) -> int:
    """Say which neighbours may change a piece's words: tags and numbers hold blanks, `No.` asks for a number."""
    if text.isalpha():
        return ANY
    if not text:  # where blanks end a caption
        return 0
    text = text.replace("\xad", "")
    if not text:  # nothing to the program, and `No.` looks past it
        return ANY | NUMBER | ANY << AWAITED
    begins, awaited = ANY | _BEGINS.get(text[0], 0), _AWAITS.get(text[-1], 0)
    if awaited == STOP and _ASKS_FOR_NUMBER.search(text):
        awaited |= NUMBER
    if text.endswith("I."):
        awaited |= ANY
    if "<" in text or ">" in text:
        begins |= BRACKET
        awaited |= TAG | ANY if _OPEN_TAG.search(text) else 0
    return begins | awaited << AWAITED


@compiled
def joints(pieces: Numbers, starts: Ints, marks: Numbers) -> Flags:
    """Say for each piece whether the one before may change its words, or the reverse; `ptb_edges` gives the marks."""
    is_joined = np.zeros(pieces.size, dtype=np.bool_)
    for text in range(starts.size - 1):
        awaited = 0
        for at in range(starts[text], starts[text + 1]):
            mark = marks[pieces[at]]
            is_joined[at] = mark & awaited
            in_tag = awaited & TAG and not mark & BRACKET
            awaited = mark >> AWAITED | (TAG | ANY if in_tag else 0)
    return is_joined
