"""The simulated keywords of workers who choose words of a text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from contrib.rehearsals.answers.base import Rehearsal
from judgments.kinds import Consensus
from judgments.kinds.keywords import Keywords
from quorum.phrases import normalise_phrase, words_of

RECOVERY_F1 = 0.8  # least F1 with which a rehearsal's keywords match the truth
OMISSION_PROBABILITY = 0.15  # probability that a careful simulated worker omits a keyword


class KeywordRehearsal(Rehearsal):
    kind_class = Keywords

    def draw_truth(self, unit: Any, qualities: Sequence[float], rng: np.random.Generator) -> list[str]:
        """Draw three to six words that are not stop words, and up to two collocations."""
        # Imported lazily, since the metrics' machine code takes memory in every web process.
        from quorum.metrics.text.word_lists import smart_stop_words

        stop_words = smart_stop_words()
        candidates = [
            word for word in dict.fromkeys(words_of(unit.content["text"])) if word not in stop_words
        ]
        collocations = list(unit.content["collocations"])
        words = _draw_keywords(candidates or words_of(unit.content["text"]), int(rng.integers(3, 7)), rng)
        return words + _draw_keywords(collocations, int(rng.integers(0, 3)), rng)

    def draw_answer(
        self, unit: Any, truth: Any, *, right: bool | None, rng: np.random.Generator
    ) -> list[str]:
        """Draw keywords.

        If ``right`` is true, these are the true keywords, some of which are left out. If it is false, the second
        half is replaced by two other words. If it is None, they are random words of the text.
        """
        candidates = list(dict.fromkeys(words_of(unit.content["text"])))
        if right is None:
            return _draw_keywords(candidates, int(rng.integers(1, 5)), rng)
        if right:
            kept_keywords = [keyword for keyword in truth if rng.random() >= OMISSION_PROBABILITY]
            return kept_keywords or list(truth[:1])
        other_words = [word for word in candidates if word not in truth]
        return list(truth[: len(truth) // 2]) + _draw_keywords(other_words or candidates, 2, rng)

    def matches(self, consensus: Consensus, truth: Any) -> bool:
        """Return whether the keywords of the majority have an F1 of ``RECOVERY_F1`` or more."""
        majority = {keyword for keyword, count in (consensus.answer or {}).items() if 2 * count > consensus.n}
        true_keywords = {normalise_phrase(phrase) for phrase in truth}
        return 2 * len(majority & true_keywords) >= RECOVERY_F1 * (len(majority) + len(true_keywords))


def _draw_keywords(pool: Collection[str], count: int, rng: np.random.Generator) -> list[str]:
    keywords = list(pool)
    return [keywords[index] for index in rng.permutation(len(keywords))[:count].tolist()]
