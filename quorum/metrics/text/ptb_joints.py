"""Find neighbouring pieces that `ptb` must cut together, because one may change the tokens of the other.

A piece is the text between two blanks. For example, `No.` keeps its full stop only if the next piece is a number, so
`No. 5` must be cut together. For each piece, `ptb_edges` computes two sets of bits: how the piece begins, and which
beginnings of the next piece matter for it. `find_joints` then compares neighbouring pieces.
"""

import re

import numpy as np

from quorum.metrics.text.ptb_rules import EXPRESSIONS
from quorum.numeric.arrays import Flags, Ints, Numbers
from quorum.numeric.compiling import compiled

# Bits of beginnings. ANY: any beginning. NUMBER: a digit. STOP: a full stop. BRACKET: the piece has an angle bracket.
# TAG: the piece leaves a tag open, so all next pieces belong to it, until one has an angle bracket.
ANY, NUMBER, STOP, BRACKET, TAG = 1, 2, 4, 8, 16
AWAITED_BITS = 8  # the bits of the next piece's beginning are shifted by this number
_DIGITS = dict.fromkeys("0123456789", NUMBER)
_BEGINNING_BITS = {".": STOP} | _DIGITS  # of a piece, by its first character
# Of the next piece, by the last character of this one. Examples of one token: `. . .`, `(212) 555-1234`, `1 1/2`.
_AWAITED_BITS = {".": STOP, ")": NUMBER} | _DIGITS
_ENDS_BEFORE_NUMBER = re.compile(r"(?:{NUMBERED})\.$".format(**EXPRESSIONS))
_OPEN_TAG = re.compile("<[!?/A-Za-z][^<>]*$")


def ptb_edges(text: str) -> int:
    """Return bits that say with which neighbouring pieces a piece may have to be cut.

    The low bits say how the piece begins. The higher bits, shifted by AWAITED_BITS, say which beginnings of the next
    piece may change the tokens of this one.
    """
    if text.isalpha():
        return ANY
    if not text:  # an empty piece, at an end of a caption that is a blank
        return 0
    text = text.replace("\xad", "")  # soft hyphens, which Stanford's program ignores
    if not text:  # the piece has no token, so the next piece counts for `No.`
        return ANY | NUMBER | ANY << AWAITED_BITS
    beginning_bits, awaited_bits = ANY | _BEGINNING_BITS.get(text[0], 0), _AWAITED_BITS.get(text[-1], 0)
    if awaited_bits == STOP and _ENDS_BEFORE_NUMBER.search(text):
        awaited_bits |= NUMBER
    if text.endswith("I."):  # an initial, unless a word that often begins a sentence follows
        awaited_bits |= ANY
    if "<" in text or ">" in text:
        beginning_bits |= BRACKET
        awaited_bits |= TAG | ANY if _OPEN_TAG.search(text) else 0
    return beginning_bits | awaited_bits << AWAITED_BITS


@compiled
def find_joints(pieces: Numbers, starts: Ints, bits_of_pieces: Numbers) -> Flags:
    """Return, for each piece, whether it must be cut together with the piece before it.

    Text t has the pieces pieces[starts[t]:starts[t + 1]], which are numbers of distinct pieces. `bits_of_pieces` has
    the `ptb_edges` of each distinct piece.
    """
    is_joined = np.zeros(pieces.size, dtype=np.bool_)
    for text in range(starts.size - 1):
        awaited_bits = 0
        for position in range(starts[text], starts[text + 1]):
            bits = bits_of_pieces[pieces[position]]
            is_joined[position] = bits & awaited_bits
            in_tag = awaited_bits & TAG and not bits & BRACKET
            awaited_bits = bits >> AWAITED_BITS | (TAG | ANY if in_tag else 0)
    return is_joined
