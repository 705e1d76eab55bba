"""What may be done to the words of the captions between cutting and counting, by name."""

from collections.abc import Callable

import numpy as np

from evaluation.metrics.errors import UnknownName
from evaluation.metrics.text import stemming
from evaluation.metrics.text.words import Words

STOP_FIRST = "stop-first"
STEM_FIRST = "stem-first"


def _plain(words: Words) -> Words:
    return words


def _porter(words: Words) -> Words:
    return words.mapped(stemming.porter)


def _porter_1980(words: Words) -> Words:
    stems = words.mapped(stemming.porter_1980)
    # By the paper's rules nothing is left of the word `s`; programs that join stems with blanks lose it.
    return stems.without(np.array([stem == "" for stem in stems.vocabulary], dtype=bool))


def _without_stop_words(words: Words) -> Words:
    stop = stemming.smart_stop_words()
    return words.without(np.array([word in stop for word in words.vocabulary], dtype=bool))


def _rouge_porter(words: Words) -> Words:
    return words.mapped(stemming.rouge_stems)


def _rouge_wordnet(words: Words) -> Words:
    return words.mapped(stemming.rouge_wordnet_stems)


def _stop_first(words: Words) -> Words:
    """As the ROUGE-1.5.5 script does it."""
    return _rouge_porter(_without_stop_words(words))


def _stop_first_wordnet(words: Words) -> Words:
    return _rouge_wordnet(_without_stop_words(words))


def _stem_first(words: Words) -> Words:
    """The order that fits the filter figures printed in H13 §4.3.2; short words are stemmed as well."""
    return _without_stop_words(words.mapped(stemming.porter))


CHANGES: dict[str, Callable[[Words], Words]] = {
    "none": _plain,
    "porter": _porter,
    "porter-1980": _porter_1980,
    STOP_FIRST: _stop_first,
    STEM_FIRST: _stem_first,
    # What the ROUGE-1.5.5 script does: stop words kept or dropped, then stems (see `stemming`).
    "rouge-keep-none": _plain,
    "rouge-keep-porter": _rouge_porter,
    "rouge-keep-wordnet": _rouge_wordnet,
    "rouge-drop-none": _without_stop_words,
    "rouge-drop-porter": _stop_first,
    "rouge-drop-wordnet": _stop_first_wordnet,
}


def changed(words: Words, change: str) -> Words:
    """The words after the named change; UnknownName when there is no such change."""
    if change not in CHANGES:
        raise UnknownName("change of words", change, CHANGES)
    return CHANGES[change](words)
