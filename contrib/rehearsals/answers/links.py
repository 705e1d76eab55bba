"""The simulated links of workers between words of a caption and boxes of the picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from contrib.rehearsals.answers.base import Rehearsal
from judgments.drawing.draws import shuffle
from judgments.kinds import Consensus
from judgments.kinds.grounding import (
    Grounding,
    labels_in_caption,
    linkable_words,
    links_as_answer,
    links_by_word,
)

OMISSION_PROBABILITY = 0.1  # probability that a careful simulated worker overlooks a link


class GroundingRehearsal(Rehearsal):
    kind_class = Grounding

    def draw_truth(
        self, unit: Any, qualities: Sequence[float], rng: np.random.Generator
    ) -> list[dict[str, Any]]:
        """Link words that are labels to their boxes. Link half of the other boxes to random words."""
        links = labels_in_caption(unit.first.text, unit.content["boxes"])
        unlinked_words = [word for word in linkable_words(unit) if word not in links]
        for box in unit.content["boxes"]:
            if box["id"] not in links.values() and unlinked_words and rng.random() < 0.5:
                links[unlinked_words.pop(int(rng.integers(len(unlinked_words))))] = box["id"]
        return links_as_answer(links)

    def draw_answer(
        self, unit: Any, truth: Any, *, right: bool | None, rng: np.random.Generator
    ) -> list[dict[str, Any]]:
        """Draw links.

        If ``right`` is true, these are the true links, of which some that are not labels are left out (but none of a
        control item). If it is false, one link is missing or wrong. If it is None, the links are random.
        """
        words, boxes = linkable_words(unit), [box["id"] for box in unit.content["boxes"]]
        links = links_by_word(truth)
        if right is None:
            drawn_words = rng.permutation(len(words))[: int(rng.integers(0, 4))].tolist()
            links = {words[index]: boxes[int(rng.integers(len(boxes)))] for index in drawn_words}
        elif right:
            labels = links if unit.control else labels_in_caption(unit.first.text, unit.content["boxes"])
            kept_words = [word for word in links if word in labels or rng.random() >= OMISSION_PROBABILITY]
            links = {word: links[word] for word in kept_words}
        elif links:
            word = shuffle(sorted(links), rng)[0]
            other_boxes = [box for box in boxes if box != links[word]]
            if other_boxes and rng.random() < 0.5:
                links[word] = other_boxes[int(rng.integers(len(other_boxes)))]
            else:
                del links[word]
        elif words:
            links = {words[int(rng.integers(len(words)))]: boxes[0]}
        return links_as_answer(links)

    def matches(self, consensus: Consensus, truth: Any) -> bool:
        return consensus.answer == truth
