"""Simulated workers who choose the best and the worst caption of a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from contrib.best_worst.answers import matches_expected_ends, options_of
from contrib.best_worst.kind import BestWorst
from contrib.rehearsals.answers.base import Rehearsal
from judgments.drawing.draws import shuffle
from judgments.drawing.keys import content_key
from judgments.kinds import Consensus
from judgments.kinds.base import BEST, WORST


class BestWorstRehearsal(Rehearsal):
    kind_class = BestWorst

    def draw_truth(self, unit: Any, qualities: Sequence[float], rng: np.random.Generator) -> dict[str, int]:
        """Return the positions of the captions with the highest and the lowest worth.

        The worth of a caption is a number derived from its id, so it is the same in all units. If workers choose only
        the best caption, draw it by Luce's model from the qualities of the captions: the highest of the qualities after
        noise of the Gumbel distribution is added.
        """
        worths: list[float] = [int(content_key("worth", option["key"]), 16) for option in options_of(unit)]
        # A rehearsal gives the quality of each caption, from 1 to 4. Tests give none; then the worths decide.
        if WORST not in self.kind.ends and len(qualities) == len(worths):
            worths = (np.array(qualities) + rng.gumbel(size=len(worths))).tolist()
        truth = {BEST: worths.index(max(worths)) + 1, WORST: worths.index(min(worths)) + 1}
        return {end: truth[end] for end in self.kind.ends}

    def draw_answer(
        self, unit: Any, truth: Mapping[str, int], *, right: bool | None, rng: np.random.Generator
    ) -> dict[str, int]:
        """Return the right answer, an answer with a wrong best or worst, or a random answer if ``right`` is None."""
        positions = shuffle(range(1, len(options_of(unit)) + 1), rng)
        answer = {} if right is None else dict(truth)
        if right is False:
            wrong_end = shuffle(sorted(answer), rng)[0]
            answer[wrong_end] = _first_unused(positions, answer)
        for end in self.kind.ends:  # the truth of a control item may name only one end
            if end not in answer:
                answer[end] = _first_unused(positions, answer)
        return answer

    def matches(self, consensus: Consensus, truth: Mapping[str, int]) -> bool:
        return matches_expected_ends(consensus.answer, truth)


def _first_unused(positions: Sequence[int], answer: Mapping[str, int]) -> int:
    return next(position for position in positions if position not in answer.values())
