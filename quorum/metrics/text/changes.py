"""Changes of words between tokenizing and counting: dropping stop words, and stemming.

A change has a name (`CHANGES`) and consists of steps.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from quorum.metrics.inputs import UnknownName
from quorum.metrics.text.porter import porter, porter_1980, rouge_stems, rouge_wordnet_stems
from quorum.metrics.text.tokens import TokenizedTexts
from quorum.metrics.text.word_lists import smart_stop_words

STOP_THEN_STEM = "stop-first"
STEM_THEN_STOP = "stem-first"
Step = Callable[[TokenizedTexts], TokenizedTexts]  # one step of a change


def _stem_step(stem: Callable[..., list[str]]) -> Step:
    return lambda texts: texts.change_words(stem)


def _remove_words(texts: TokenizedTexts, read_words: Callable[[], frozenset[str]]) -> TokenizedTexts:
    dropped_words = read_words()
    return texts.drop_words(np.array([word in dropped_words for word in texts.vocabulary], dtype=np.bool_))


_DROP_STOP_WORDS: Step = partial(_remove_words, read_words=smart_stop_words)

# Porter's published rules turn the word `s` into an empty stem, which programs that join stems with blanks lose.
_DROP_EMPTY: Step = partial(_remove_words, read_words=lambda: frozenset([""]))

_STEM_PORTER = _stem_step(porter)
_STEM_ROUGE, _STEM_WORDNET = _stem_step(rouge_stems), _stem_step(rouge_wordnet_stems)

CHANGES: dict[str, tuple[Step, ...]] = {
    "none": (),
    "porter": (_STEM_PORTER,),
    "porter-1980": (_stem_step(porter_1980), _DROP_EMPTY),
    STOP_THEN_STEM: (_DROP_STOP_WORDS, _STEM_ROUGE),
    # The order that reproduces the filter figures of Hodosh et al. 2013, §4.3.2; short words are stemmed as well.
    STEM_THEN_STOP: (_STEM_PORTER, _DROP_STOP_WORDS),
    # The ROUGE-1.5.5 script keeps or drops stop words, then stems (see `porter`).
    "rouge-keep-none": (),
    "rouge-keep-porter": (_STEM_ROUGE,),
    "rouge-keep-wordnet": (_STEM_WORDNET,),
    "rouge-drop-none": (_DROP_STOP_WORDS,),
    "rouge-drop-porter": (_DROP_STOP_WORDS, _STEM_ROUGE),
    "rouge-drop-wordnet": (_DROP_STOP_WORDS, _STEM_WORDNET),
}


def change_words(texts: TokenizedTexts, change: str) -> TokenizedTexts:
    """Apply a change of CHANGES. Raise UnknownName if there is no such change."""
    if change not in CHANGES:
        raise UnknownName("change of words", change, CHANGES)
    for step in CHANGES[change]:
        texts = step(texts)
    return texts
