"""Tokenizers, named and versioned: a score means nothing without the words it was counted on.

`ptb`    what the MS COCO caption evaluation does (see `ptb`)
`space`  the captions are tokens already, with blanks between them
`h13`    H13 §4.1.1: hyphenated words split, what is not alphanumeric dropped, lower case
`rouge`  what the ROUGE-1.5.5 script does with its input (Lin 2004)
`v15`    what the authors of V15 did for their published scores: lower case, runs of letters, digits, underscores

Whatever a caption holds, it stays one caption: line breaks of every kind are blanks.
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
    """How a caption becomes words.

    `tokens(caption)` gives its words. `piece(piece)` gives the words of one blank-separated piece of a
    caption, or None when they depend on what stands around it; it lets each distinct piece be cut once.
    """

    name: str
    version: str
    tokens: Callable[[str], list[str]]
    piece: Callable[[str], list[str] | None]

    @property
    def label(self) -> str:
        """How a signature names it: the name, and the version where it is not the first."""
        return self.name if self.version == FIRST else f"{self.name}-{self.version}"


def _local(name: str, version: str, cut: Callable[[str], list[str]]) -> Tokenizer:
    """A tokenizer that never looks across a blank."""
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
    """The tokenizer that a signature names so; UnknownName names the nearest known one otherwise."""
    labels = {tokenizer.label: tokenizer for tokenizer in TOKENIZERS.values()}
    if label not in labels:
        raise UnknownName("tokenizer", label, labels)
    return labels[str(label)]


def tokenizer_named(name: str) -> Tokenizer:
    """The tokenizer of that name; UnknownName names the nearest known one otherwise."""
    if name not in TOKENIZERS:
        raise UnknownName("tokenizer", name, TOKENIZERS)
    return TOKENIZERS[name]
