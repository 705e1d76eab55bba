"""Cut the pieces of captions between blanks into the tokens of `ptb`, and cache the results.

Many pieces are equal but for their digits, so they share one cached result.
"""

import re
from functools import lru_cache

from quorum.metrics.text.ptb import SPECIAL_WORDS, ptb_tokens
from quorum.metrics.text.ptb_rules import EXPRESSIONS

MAX_TEMPLATE_BYTES = 64  # bytes; bounds the memory of the cache

# Letters, with or without hyphens, and at most one mark, which `ptb` drops: one word, unless it is a special word.
_PLAIN_WORD = re.compile("(?:{L}{{2,}}(?:-{L}+)*)?[.,]?".format(**EXPRESSIONS))

_OTHER_BYTES = bytes(set(range(256)) - set(b"0123456789"))
_ZEROS = bytes.maketrans(b"123456789", b"000000000")


def ptb_piece(text: str) -> list[str]:
    """Return the tokens of a piece, or of several neighbouring pieces that must be cut together (`ptb_joints`)."""
    if _PLAIN_WORD.fullmatch(text):
        word = text.rstrip(".,").lower()
        if word not in SPECIAL_WORDS:
            return [word] if word else []
    piece = text.encode("utf-8", "surrogatepass")
    digits = piece.translate(None, _OTHER_BYTES)
    if not digits or len(piece) > MAX_TEMPLATE_BYTES or "\n" in text:  # templates have a token on each line
        return ptb_tokens(text)
    # %c takes the byte of a digit, which is the code of the character
    return (_digit_template(piece.translate(_ZEROS)) % tuple(digits)).split("\n")


@lru_cache(maxsize=1 << 14)
def _digit_template(piece: bytes) -> str:
    """Return the tokens of a piece whose digits are all 0, one per line, with %c for each. Rules treat digits alike."""
    return "\n".join(ptb_tokens(piece.decode("utf-8", "surrogatepass"))).replace("%", "%%").replace("0", "%c")
