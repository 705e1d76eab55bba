"""A detector of people who do not look at the items: they use only the ends of a slider where others do not."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from annotation.quality.detectors.base import Finding, Rule
from annotation.quality.detectors.history import AnswerFormat, History

SLIDER = 11  # answers from which a scale has a middle worth using


class Extremes(Rule):
    name = "extremes"
    title = "Ends of the scale alone"
    description = "Answers with the lowest and the highest number alone, where others use those between."
    needs_others = True
    only_flags = True
    false_alarms = "False alarms: those who judge texts that are all excellent or useless."

    @classmethod
    def applies_to(cls, answers: AnswerFormat) -> bool:
        return answers.values >= SLIDER

    def examine(self, history: History) -> Finding | None:
        if len(history) < self.least or not len(history.labels):
            return None
        ends = [min(history.labels.min(), history.seen.min()), max(history.labels.max(), history.seen.max())]
        between = ~np.isin(history.labels, ends)
        others = int(history.others[:, between].sum())
        if not np.isin(history.seen, ends).all() or 2 * others < history.others.sum():
            return None
        return self.make_finding(history, n=len(history), others=others / int(history.others.sum()))

    def describe(self, numbers: Mapping[str, Any]) -> str:
        return (
            f"All {numbers['n']} answers are at an end of the scale; of others' answers on the same items "
            f"{numbers['others']:.0%} lie between."
        )
