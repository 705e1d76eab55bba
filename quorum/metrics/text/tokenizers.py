"""The tokenizers that a user can name, which docs/metrics.md describes."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase

from quorum.metrics.inputs import UnknownName
from quorum.metrics.text.ptb import ptb_tokens
from quorum.metrics.text.ptb_joints import ptb_edges
from quorum.metrics.text.ptb_pieces import ptb_piece

FIRST_VERSION = "1.0"  # labels leave this version out
_WORD = re.compile(r"\w+")
_ALPHANUMERIC = re.compile(r"[^\W_]+")
_ASCII_ALPHANUMERIC = re.compile(r"[a-z0-9]+")
_ASCII_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


@dataclass(frozen=True)
class Tokenizer:
    """A tokenizer, which cuts captions into words.

    Attributes:
        cut: the function that cuts a caption.
        cut_piece: the function that cuts a piece, which is a part of a caption without blanks.
        edges: the function of a piece whose bits say with which neighbours it may have to be cut (`ptb_edges`), or None
            if each piece can be cut alone.
    """

    name: str
    version: str
    cut: Callable[[str], list[str]]
    cut_piece: Callable[[str], list[str]]
    edges: Callable[[str], int] | None = None

    @property
    def label(self) -> str:
        """The name in signatures, with the version unless it is the first."""
        return self.name if self.version == FIRST_VERSION else f"{self.name}-{self.version}"


def _h13_tokens(caption: str) -> list[str]:
    return _ALPHANUMERIC.findall(caption.lower())


def _rouge_tokens(caption: str) -> list[str]:
    # ROUGE's script lower-cases ASCII letters, and replaces every byte that is not an ASCII letter or digit by a blank.
    return _ASCII_ALPHANUMERIC.findall(caption.translate(_ASCII_LOWER))


def _v15_tokens(caption: str) -> list[str]:
    return _WORD.findall(caption.lower())


def _word_tokenizer(name: str, version: str, cut: Callable[[str], list[str]]) -> Tokenizer:
    """Return a tokenizer whose words contain no blanks, so that it may cut pieces like whole captions."""
    return Tokenizer(name, version, cut, cut)


TOKENIZERS = {
    tokenizer.name: tokenizer
    for tokenizer in (
        Tokenizer("ptb", FIRST_VERSION, ptb_tokens, ptb_piece, ptb_edges),
        _word_tokenizer("space", FIRST_VERSION, str.split),
        _word_tokenizer("h13", FIRST_VERSION, _h13_tokens),
        _word_tokenizer("rouge", FIRST_VERSION, _rouge_tokens),
        _word_tokenizer("v15", FIRST_VERSION, _v15_tokens),
    )
}


def tokenizer_labelled(label: object) -> Tokenizer:
    """Return the tokenizer with this label. Raise UnknownName if there is none."""
    labels = {tokenizer.label: tokenizer for tokenizer in TOKENIZERS.values()}
    if label not in labels:
        raise UnknownName("tokenizer", label, labels)
    return labels[str(label)]


def tokenizer_named(name: str) -> Tokenizer:
    """Return the tokenizer with this name. Raise UnknownName if there is none."""
    if name not in TOKENIZERS:
        raise UnknownName("tokenizer", name, TOKENIZERS)
    return TOKENIZERS[name]
