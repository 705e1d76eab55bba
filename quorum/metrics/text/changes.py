"""Changes of words between tokenizing and counting: dropping stop words, and stemming.

A change has a name (`CHANGES`) and consists of steps, which are functions of tokenized texts.
"""

from collections.abc import Callable

import numpy as np

from quorum.metrics.inputs import UnknownName
from quorum.metrics.text.porter import porter, porter_1980, rouge_stems, rouge_wordnet_stems
from quorum.metrics.text.tokens import TokenizedTexts
from quorum.metrics.text.word_lists import smart_stop_words

STOP_THEN_STEM = "stop-first"
STEM_THEN_STOP = "stem-first"
Step = Callable[[TokenizedTexts], TokenizedTexts]  # one step of a change


def _drop_stop_words(texts: TokenizedTexts) -> TokenizedTexts:
    return _drop_words(texts, smart_stop_words())


def _drop_empty(texts: TokenizedTexts) -> TokenizedTexts:
    """Drop empty stems, as programs do that write stems between blanks. Porter's paper makes one of the word `s`."""
    return _drop_words(texts, frozenset([""]))


def _drop_words(texts: TokenizedTexts, dropped_words: frozenset[str]) -> TokenizedTexts:
    return texts.drop_words(np.array([word in dropped_words for word in texts.vocabulary], dtype=np.bool_))


def _stem_porter(texts: TokenizedTexts) -> TokenizedTexts:
    return texts.change_words(porter)


def _stem_porter_1980(texts: TokenizedTexts) -> TokenizedTexts:
    return texts.change_words(porter_1980)


def _stem_rouge(texts: TokenizedTexts) -> TokenizedTexts:
    return texts.change_words(rouge_stems)


def _stem_wordnet(texts: TokenizedTexts) -> TokenizedTexts:
    return texts.change_words(rouge_wordnet_stems)


CHANGES: dict[str, tuple[Step, ...]] = {
    "none": (),
    "porter": (_stem_porter,),
    "porter-1980": (_stem_porter_1980, _drop_empty),
    STOP_THEN_STEM: (_drop_stop_words, _stem_rouge),
    # This order reproduces the filter figures of Hodosh et al. 2013, §4.3.2. Unlike in ROUGE, short words are stemmed.
    STEM_THEN_STOP: (_stem_porter, _drop_stop_words),
    # The ROUGE-1.5.5 script keeps or drops stop words, then stems (see `porter`).
    "rouge-keep-none": (),
    "rouge-keep-porter": (_stem_rouge,),
    "rouge-keep-wordnet": (_stem_wordnet,),
    "rouge-drop-none": (_drop_stop_words,),
    "rouge-drop-porter": (_drop_stop_words, _stem_rouge),
    "rouge-drop-wordnet": (_drop_stop_words, _stem_wordnet),
}


def change_words(texts: TokenizedTexts, change: str) -> TokenizedTexts:
    """Apply a change of CHANGES. Raise UnknownName if there is no such change."""
    if change not in CHANGES:
        raise UnknownName("change of words", change, CHANGES)
    for step in CHANGES[change]:
        texts = step(texts)
    return texts
