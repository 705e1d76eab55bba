"""The answers to a list of captions: their consensus, their form in files, and the order on the page.

An answer names the two ends of a ranking by the positions of captions, from 1, as {"best": 2, "worst": 4}. It has only
the best if the design does not ask for the worst.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from judgments.kinds.base import (
    BEST,
    ENDS,
    WORST,
    AnswerFileFormat,
    OpenAggregation,
    ShownContent,
    Sides,
)
from judgments.kinds.consensus import Consensus


class OptionOrder(Sides):
    """The order in which a worker sees the options. A side is the list of their positions in the unit, from 0.

    Answers number positions from 1. Without a side, the worker sees the stored order.
    """

    def draw(self, units: Sequence[Any], rng: np.random.Generator) -> list[list[int]]:
        return [rng.permutation(len(options_of(unit))).tolist() for unit in units]

    def mirror(self, side: Any) -> list[int]:
        """Return the reverse order, which another worker sees, so that no caption gains by its position."""
        return list(reversed(side))

    def to_canonical(self, answer: Mapping[str, int], *, side: Any) -> dict[str, int]:
        return {end: side[answer[end] - 1] + 1 if side else answer[end] for end in ENDS if end in answer}

    def from_canonical(self, answer: Mapping[str, int], *, side: Any) -> dict[str, int]:
        return {
            end: side.index(answer[end] - 1) + 1 if side else answer[end] for end in ENDS if end in answer
        }


class MostFrequentEnds(OpenAggregation):
    rule = "most-often"
    tie_rule = "no-winner"
    level = "ordinal"

    def combine(self, answers: list[Mapping[str, int]]) -> Consensus:
        """Return the positions of the captions that were chosen most often as best and as worst; None on a tie.

        ``votes`` has entries such as {"best 2": 3}: the caption at position 2 was chosen three times as the best.
        """
        votes: dict[str, int] = {}
        consensus_answer: dict[str, int | None] = {}
        for end in ENDS:
            counts = Counter(answer[end] for answer in answers if end in answer)
            if counts:
                votes |= {f"{end} {position}": counts[position] for position in sorted(counts)}
                consensus_answer[end] = _winning_position(counts)
        return Consensus(
            n=len(answers), tie=None in consensus_answer.values(), votes=votes, answer=consensus_answer
        )

    def codes(self, unit: Any, answer: Mapping[str, int]) -> dict[str, float]:
        """Return 1 for the best caption, -1 for the worst if the answer has one, and 0 for others, by caption id."""
        points = {answer[BEST]: 1}
        if WORST in answer:
            points[answer[WORST]] = -1
        return {option["key"]: points.get(position, 0) for position, option in enumerate(options_of(unit), 1)}


def _winning_position(counts: Counter[int]) -> int | None:
    """Return the position that was chosen most often; None on a tie."""
    leaders = [position for position, count in counts.items() if count == max(counts.values())]
    return leaders[0] if len(leaders) == 1 else None


class ShownOption(ShownContent):
    key: str
    text: str


class ShownOptions(ShownContent):
    options: list[ShownOption]


class CaptionIds(AnswerFileFormat):
    """The form of answers in files: captions are named by their ids instead of their positions."""

    def to_file(self, answer: Any, *, content: Mapping[str, Any]) -> dict[str, Any]:
        options = content["options"]  # a consensus has the position None on a tie
        return {end: options[position - 1]["key"] if position else None for end, position in answer.items()}

    def from_file(self, answer: Any, *, content: Mapping[str, Any]) -> dict[str, int]:
        keys = [option.get("key") for option in content.get("options", ())]
        has_only_ends = isinstance(answer, Mapping) and set(answer) <= set(ENDS)
        if not has_only_ends or any(key not in keys for key in answer.values()):
            raise ValueError(
                'expected {"best": ..., "worst": ...}, ids of two captions that content.options lists'
            )
        return {end: keys.index(key) + 1 for end, key in answer.items()}


def matches_expected_ends(answer: Mapping[str, int], expected: Mapping[str, int]) -> bool:
    """Return whether the answer has the expected best and worst caption. Only one of them may be expected."""
    return all(answer[end] == position for end, position in expected.items())


def options_of(unit: Any) -> Sequence[Mapping[str, str]]:
    """Return the captions of a unit in its stored order, each with ``key`` and ``text``."""
    return unit.content["options"]
