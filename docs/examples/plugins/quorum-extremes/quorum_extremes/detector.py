"""A detector of people who do not look at the items: they use only the ends of a scale where others do not."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from annotation.quality.detectors.base import Finding, Rule
from annotation.quality.detectors.history import AnswerFormat, History

MIN_SCALE_POINTS = 11  # points from which a scale has enough others between its ends


class Extremes(Rule):
    name = "extremes"
    title = "Ends of the scale alone"
    description = "Answers with the lowest and the highest number alone, where others use those between."
    needs_others = True
    only_flags = True
    false_alarms = "False alarms: those who judge texts that are all excellent or useless."

    @classmethod
    def applies_to(cls, answer_format: AnswerFormat) -> bool:
        return answer_format.value_count >= MIN_SCALE_POINTS

    def examine(self, history: History) -> Finding | None:
        if len(history) < self.least or not len(history.others_values):
            return None
        lowest = min(history.others_values.min(), history.shown_value.min())
        highest = max(history.others_values.max(), history.shown_value.max())
        uses_only_ends = np.isin(history.shown_value, [lowest, highest]).all()
        is_between = ~np.isin(history.others_values, [lowest, highest])
        # counts of others' answers on the same items
        count_between, count = (
            int(history.others_value_counts[:, is_between].sum()),
            int(history.others_value_counts.sum()),
        )
        if not uses_only_ends or 2 * count_between < count:
            return None
        return self.make_finding(history, n=len(history), others=count_between / count)

    def describe(self, numbers: Mapping[str, Any]) -> str:
        return (
            f"All {numbers['n']} answers are at an end of the scale; of others' answers on the same items "
            f"{numbers['others']:.0%} lie between."
        )
