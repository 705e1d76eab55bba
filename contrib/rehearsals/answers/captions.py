"""The simulated captions of workers who describe an image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from contrib.rehearsals.answers.base import Rehearsal
from judgments.kinds import Consensus
from judgments.kinds.caption import CaptionWriting, fold_text
from judgments.kinds.caption_rules import broken_rules, first_refusal, tidy_text

MIN_SHARED_SHARE = 0.5  # share of a simulated caption's words that a reference must contain
# Captions by careless simulated workers. FALLBACK_CAPTION is for images without references.
CARELESS_CAPTIONS = (
    "People are doing something in this place.",
    "Some things are in front of other things.",
    "It is a nice day and everything looks fine.",
)
FALLBACK_CAPTION = "Several things can be seen close together."
# Words of a reference, and what a simulated worker writes in their place.
REPLACEMENTS = (
    ("A ", "One "), (" a ", " one "), ("Two ", "A couple of "), (" next to ", " beside "), (" near ", " close to "),
    (" man ", " person "), (" woman ", " person "), (" child ", " kid "), (" with ", " along with "),
)  # fmt: skip


class CaptionRehearsal(Rehearsal):
    kind_class = CaptionWriting

    def draw_truth(self, unit: Any, qualities: Sequence[float], rng: np.random.Generator) -> list[str]:
        return list(unit.item.references.order_by("position").values_list("text", flat=True))

    def draw_answer(self, unit: Any, truth: Any, *, right: bool | None, rng: np.random.Generator) -> str:
        """Return a varied reference if ``right`` is true, its first four words if false, a stock caption if None.

        If the hard rules of English refuse this text, return the whole reference, or else ``FALLBACK_CAPTION``.
        """
        if right is None:
            return CARELESS_CAPTIONS[int(rng.integers(len(CARELESS_CAPTIONS)))]
        if not truth:
            return FALLBACK_CAPTION
        text = tidy_text(truth[int(rng.integers(len(truth)))])
        draft = _vary_caption(text, rng) if right else " ".join(text.split(" ")[:4])
        captions = (caption for caption in (draft, text) if not first_refusal(broken_rules(caption, "en")))
        return next(captions, FALLBACK_CAPTION)

    def matches(self, consensus: Consensus, truth: Any) -> bool:
        """Return whether more than half of the captions share half of their words with a reference."""
        if not truth:  # the image has no references
            return True
        matching_captions = [text for text in consensus.answer if _resembles_any(text, truth)]
        return 2 * len(matching_captions) > len(consensus.answer)


def _vary_caption(text: str, rng: np.random.Generator) -> str:
    """Return the text with one random replacement of ``REPLACEMENTS``, or unchanged if none applies."""
    matches = [(words, replacement) for words, replacement in REPLACEMENTS if words in text]
    if not matches:
        return text
    words, replacement = matches[int(rng.integers(len(matches)))]
    return text.replace(words, replacement, 1)


def _resembles_any(text: str, references: Sequence[str]) -> bool:
    return any(_share_of_words_in(text, reference) >= MIN_SHARED_SHARE for reference in references)


def _share_of_words_in(text: str, reference: str) -> float:
    tokens, reference_tokens = fold_text(text).split(), set(fold_text(reference).split())
    return sum(word in reference_tokens for word in tokens) / len(tokens) if tokens else 0.0
