"""Porter's stemmer and the stop words of the ROUGE script.

Porter 1980, *An algorithm for suffix stripping*; Lin 2004, *ROUGE*.
"""

from collections.abc import Sequence
from functools import cache
from importlib import resources

import snowballstemmer  # type: ignore[import-untyped, unused-ignore]

ROUGE_STEMS_FROM = 4  # letters; the ROUGE script leaves shorter words alone


def porter(words: Sequence[str]) -> list[str]:
    """The original Porter stem of each word."""
    # A stemmer keeps its working state on itself: one a call, so that threads never share it.
    return list(snowballstemmer.stemmer("porter").stemWords(words))


def rouge_stems(words: Sequence[str]) -> list[str]:
    """Porter stems as the ROUGE-1.5.5 script takes them: words of up to three letters stay as they are."""
    return [
        stem if len(word) >= ROUGE_STEMS_FROM else word
        for word, stem in zip(words, porter(words), strict=True)
    ]


@cache
def smart_stop_words() -> frozenset[str]:
    """The SMART list of common words that comes with ROUGE-1.5.5 (596 words)."""
    text = resources.files(__package__).joinpath("data/smart_common_words.txt").read_text("ascii")
    return frozenset(text.split())
