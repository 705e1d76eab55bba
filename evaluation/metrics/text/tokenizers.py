"""Named and versioned tokenizers.

    ptb    that of the MS COCO caption evaluation (see `ptb`)
    space  captions that are tokens already, separated by blanks
    h13    H13 §4.1.1: hyphenated words split, non-alphanumeric characters dropped, lower case
    rouge  that of the ROUGE-1.5.5 script (Lin 2004)
    v15    that of V15's published scores: lower case, runs of letters, digits, underscores

Line breaks of every kind are blanks.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase

from evaluation.metrics.errors import UnknownName
from evaluation.metrics.text import ptb

FIRST = "1.0"


@dataclass(frozen=True)
class Tokenizer:
    """A tokenizer.

    `tokens(caption)` returns its words. `piece(piece)` returns the words of a blank-separated piece, or None
    if they depend on its neighbours, so that each distinct piece is cut once.
    """

    name: str
    version: str
    tokens: Callable[[str], list[str]]
    piece: Callable[[str], list[str] | None]

    @property
    def label(self) -> str:
        """Return its name in signatures, with the version unless it is the first."""
        return self.name if self.version == FIRST else f"{self.name}-{self.version}"


def _local(name: str, version: str, cut: Callable[[str], list[str]]) -> Tokenizer:
    """Return a tokenizer that never looks across a blank."""
    return Tokenizer(name, version, cut, cut)


_WORD = re.compile(r"\w+")
_ALPHANUMERIC = re.compile(r"[^\W_]+")
_ASCII_ALPHANUMERIC = re.compile(r"[a-z0-9]+")
_ASCII_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


def _h13(caption: str) -> list[str]:
    return _ALPHANUMERIC.findall(caption.lower())


def _rouge(caption: str) -> list[str]:
    # The script lower-cases ASCII letters alone and turns every other byte into a blank.
    return _ASCII_ALPHANUMERIC.findall(caption.translate(_ASCII_LOWER))


def _v15(caption: str) -> list[str]:
    return _WORD.findall(caption.lower())


TOKENIZERS = {
    tokenizer.name: tokenizer
    for tokenizer in (
        Tokenizer("ptb", FIRST, ptb.tokens, ptb.piece),
        _local("space", FIRST, str.split),
        _local("h13", FIRST, _h13),
        _local("rouge", FIRST, _rouge),
        _local("v15", FIRST, _v15),
    )
}


def tokenizer_labelled(label: object) -> Tokenizer:
    """Return the tokenizer that a signature names."""
    labels = {tokenizer.label: tokenizer for tokenizer in TOKENIZERS.values()}
    if label not in labels:
        raise UnknownName("tokenizer", label, labels)
    return labels[str(label)]


def tokenizer_named(name: str) -> Tokenizer:
    if name not in TOKENIZERS:
        raise UnknownName("tokenizer", name, TOKENIZERS)
    return TOKENIZERS[name]
