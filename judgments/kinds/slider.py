"""A slider from 0 to 100, as WMT's direct assessment has it (Graham et al. 2013; Bojar et al. 2016)."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from django.utils.translation import gettext_lazy as _

from evaluation.statistics.aggregation import mean_grade, standardised_mean
from judgments.design.wordings import CAPTION, LABELS, POLES, QUESTIONS, Wording
from judgments.kinds.base import Consensus, Figures, Judged
from judgments.kinds.graded import Graded

SAME = 15  # points within which a caption that is shown again is answered the same
NEAR = 10  # points within which a rehearsal's answer is right
SPREAD = 12.0  # points by which a rehearsal's truths of equally good captions differ
SLIDER_WORDS = {
    judged: Wording(
        f"Slider: from 0 to 100, {question[0].lower()}{question[1:]}",
        question,
        poles=POLES[judged],
        label=LABELS[judged],
    )
    for judged, question in QUESTIONS.items()
}


class Slider(Graded):
    """Graded on a finer scale: the same units and control items, a consensus that is a mean, and z-scores besides."""

    name = "slider"
    title = "Slider: from 0 to 100, how well does the caption describe the image?"
    wordings = SLIDER_WORDS
    wording = SLIDER_WORDS[CAPTION]
    values = tuple(range(101))
    choices = ()
    labelled = (0, 100)
    good, bad = "70-100", "0-30"
    people_cuts = tuple(float(cut) for cut in range(90, 0, -10))
    guessed_right = 31 / 101
    defaults = {
        "question": "How well does the caption describe the image?",
        "seconds_per_unit": 10.0,
    }
    template = "annotation/kinds/slider.html"
    script = "js/kinds/slider.js"
    keys = (
        (("0", "…", "9"), _("0, 10, 20 … 90")),
        (("←", "→"), _("one less, one more")),
        ((_("Page ↓"), _("Page ↑")), _("ten less, ten more")),
        ((_("Home"), _("End")), _("0 and 100")),
    )
    has_figures = True
    per_image = True

    def again(self, given: int) -> str:
        """Within some points of the other answer."""
        return f"{max(given - SAME, 0)}-{min(given + SAME, 100)}"

    def is_right(self, given: int, expected: Any) -> bool:
        """A control item expects a range; a rehearsal's truth is one number, and near it is right."""
        low, _, high = str(expected).partition("-")
        return int(low) <= given <= int(high) if high else abs(given - int(low)) <= NEAR

    def consensus(self, units: Sequence[int], values: Sequence[int]) -> dict[int, Consensus]:
        """The mean; votes list what was given, not all hundred and one values."""
        votes: defaultdict[int, Counter[int]] = defaultdict(Counter)
        for unit, value in zip(units, values, strict=True):
            votes[unit][value] += 1
        means = mean_grade(units, values)
        return {
            unit: Consensus(
                n=votes[unit].total(),
                value=mean,
                share=None,
                margin=None,
                tie=False,
                votes={str(value): count for value, count in sorted(votes[unit].items())},
            )
            for unit, mean in zip(means.units.tolist(), means.mean.tolist(), strict=True)
        }

    def figures(self, judged: Sequence[Judged], *, seed: int) -> Figures:
        """``z`` of each unit: the mean after each worker's answers were brought to mean 0 and deviation 1."""
        result = standardised_mean(
            [one.unit.pk for one in judged], [one.worker for one in judged], [one.given for one in judged]
        )
        return Figures(
            units={
                unit: {"z": None if math.isnan(z) else z, "z_n": n}
                for unit, z, n in zip(
                    result.units.tolist(), result.z.tolist(), result.z_n.tolist(), strict=True
                )
            },
            study={
                "standardised": {
                    "workers": len(result.raters),
                    "workers_without_z": result.left_out,
                    "signature": result.signature,
                }
            },
        )

    def describes(self, value: float) -> bool:
        """The mean lies in the upper half."""
        return value > 50

    def relevance(self, value: float) -> int:
        """The whole number nearest to the mean, a half going down."""
        return math.ceil(value - 0.5)

    def leaning(self, qualities: Sequence[float]) -> list[float]:
        """The nearer a value to the quality, carried over from grades 1 to 4, the likelier."""
        centre = (qualities[0] - 1) / 3 * 100
        weights = [math.exp(-abs(value - centre) / SPREAD) for value in self.values]
        return [weight / sum(weights) for weight in weights]

    def draw_answer(self, unit: Any, truth: Any, *, right: bool | None, rng: np.random.Generator) -> int:
        """A mistake lies up to thirty points beyond what would have been right."""
        if right is not False:
            return super().draw_answer(unit, truth, right=right, rng=rng)
        good = [value for value in self.values if self.is_right(value, truth)]
        far = int(rng.integers(1, 31))
        below, above = min(good) - far, max(good) + far
        fitting = [value for value in (below, above) if value in self.values]
        return int(rng.choice(fitting)) if fitting else super().draw_answer(unit, truth, right=right, rng=rng)
