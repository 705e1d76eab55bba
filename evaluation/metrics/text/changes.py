"""Named changes of words between tokenising and counting."""

from collections.abc import Callable
from functools import partial

import numpy as np

from evaluation.metrics.errors import UnknownName
from evaluation.metrics.text import stemming
from evaluation.metrics.text.words import Words

STOP_FIRST = "stop-first"
STEM_FIRST = "stem-first"

Step = Callable[[Words], Words]


def _stemmed(stem: Callable[..., list[str]]) -> Step:
    return lambda words: words.mapped(stem)


def _without(words: Words, dropped: Callable[[], frozenset[str]]) -> Words:
    listed = dropped()
    return words.without(np.array([word in listed for word in words.vocabulary], dtype=np.bool_))


_STOP: Step = partial(_without, dropped=stemming.smart_stop_words)
# By the paper's rules nothing is left of the word `s`; programs that join stems with blanks lose it.
_EMPTY: Step = partial(_without, dropped=lambda: frozenset([""]))
_PORTER = _stemmed(stemming.porter)
_ROUGE, _WORDNET = _stemmed(stemming.rouge_stems), _stemmed(stemming.rouge_wordnet_stems)

CHANGES: dict[str, tuple[Step, ...]] = {
    "none": (),
    "porter": (_PORTER,),
    "porter-1980": (_stemmed(stemming.porter_1980), _EMPTY),
    STOP_FIRST: (_STOP, _ROUGE),
    # The order that fits the filter figures printed in H13 §4.3.2; short words are stemmed as well.
    STEM_FIRST: (_PORTER, _STOP),
    # What the ROUGE-1.5.5 script does: stop words kept or dropped, then stems (see `stemming`).
    "rouge-keep-none": (),
    "rouge-keep-porter": (_ROUGE,),
    "rouge-keep-wordnet": (_WORDNET,),
    "rouge-drop-none": (_STOP,),
    "rouge-drop-porter": (_STOP, _ROUGE),
    "rouge-drop-wordnet": (_STOP, _WORDNET),
}


def changed(words: Words, change: str) -> Words:
    if change not in CHANGES:
        raise UnknownName("change of words", change, CHANGES)
    for step in CHANGES[change]:
        words = step(words)
    return words
