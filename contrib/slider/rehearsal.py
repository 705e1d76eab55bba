"""Simulated workers who move a slider."""

from __future__ import annotations

from typing import Any

import numpy as np

from contrib.rehearsals.answers.ratings import ScaleRehearsal
from contrib.slider.kind import Slider
from judgments.design.numbers import plain_number

MAX_MISTAKE = 0.3  # largest distance of a mistake from the right range, as a share of the scale


class SliderRehearsal(ScaleRehearsal):
    """The simulated answers to a slider, on which mistakes are of limited size."""

    kind_class = Slider
    spread = 0.12

    def draw_answer(self, unit: Any, truth: Any, *, right: bool | None, rng: np.random.Generator) -> float:
        """Draw wrong answers outside the right range, at a distance of at most ``MAX_MISTAKE`` of the scale."""
        if right is not False:  # True, or None: the worker is careless
            return super().draw_answer(unit, truth, right=right, rng=rng)
        values = self.kind.values
        right_indices = [index for index, value in enumerate(values) if self.kind.is_right(value, truth)]
        distance = int(rng.integers(1, max(1, round(MAX_MISTAKE * (len(values) - 1))) + 1))
        indices = (min(right_indices) - distance, max(right_indices) + distance)
        wrong_values = [values[index] for index in indices if 0 <= index < len(values)]
        if not wrong_values:  # the right range reaches too near to both ends
            return super().draw_answer(unit, truth, right=right, rng=rng)
        return plain_number(rng.choice(wrong_values))
