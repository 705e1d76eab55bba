"""Slider from 0 to 100, as WMT's direct assessment (Graham et al. 2013; Bojar et al. 2016)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from django.utils.translation import gettext_lazy as _

from evaluation.statistics.aggregation import standardised_mean
from judgments.design.wordings import CAPTION, WORDINGS
from judgments.kinds.base import (
    ChoiceRehearsal,
    Comparison,
    IncludedJudgment,
    KindResults,
    Page,
    RelevanceScale,
    Results,
    or_none,
)
from judgments.kinds.graded import Graded, MeanGrade, nearest_grade

SAME = 15  # maximal difference in points of equal answers to a repeated caption
NEAR = 10  # points within which a rehearsal's answer is right
SPREAD = 12.0  # spread in points of a rehearsal's truths for equally good captions
POSITIONS = tuple(range(101))


class StandardisedMeans(Results):
    def figures(self, judged: Sequence[IncludedJudgment], *, seed: int) -> KindResults:
        """Return ``z`` of each unit: the mean of answers standardised per worker."""
        result = standardised_mean(
            [one.unit.pk for one in judged], [one.worker for one in judged], [one.given for one in judged]
        )
        rows = zip(result.units.tolist(), result.z.tolist(), result.z_n.tolist(), strict=True)
        return KindResults(
            units={unit: {"z": or_none(z), "z_n": n} for unit, z, n in rows},
            study={
                "standardised": {
                    "workers": len(result.raters),
                    "workers_without_z": result.left_out,
                    "signature": result.signature,
                }
            },
        )


def is_right(given: int, expected: Any) -> bool:
    """Compare with a control item's range, or with a rehearsal's truth."""
    low, _, high = str(expected).partition("-")
    return int(low) <= given <= int(high) if high else abs(given - int(low)) <= NEAR


def leaning(qualities: Sequence[float]) -> list[float]:
    """Weight values by nearness to the quality."""
    centre = (qualities[0] - 1) / 3 * 100
    weights = [math.exp(-abs(value - centre) / SPREAD) for value in POSITIONS]
    return [weight / sum(weights) for weight in weights]


class SliderRehearsal(ChoiceRehearsal):
    def draw_answer(self, unit: Any, truth: Any, *, right: bool | None, rng: np.random.Generator) -> int:
        """Place mistakes up to thirty points beyond the right range."""
        if right is not False:
            return super().draw_answer(unit, truth, right=right, rng=rng)
        good = [value for value in self.values if self.is_right(value, truth)]
        far = int(rng.integers(1, 31))
        below, above = min(good) - far, max(good) + far
        fitting = [value for value in (below, above) if value in self.values]
        return int(rng.choice(fitting)) if fitting else super().draw_answer(unit, truth, right=right, rng=rng)


class Slider(Graded):
    name = "slider"
    wordings = WORDINGS[name]
    wording = wordings[CAPTION]
    title = wording.title
    values = POSITIONS
    choices = ()
    labelled = (0, 100)
    good, bad = "70-100", "0-30"
    defaults = {"question": wording.question, "seconds_per_unit": 10.0}
    page = Page(
        "annotation/kinds/slider.html",
        script="js/kinds/slider.js",
        keys=(
            (("0", "…", "9"), _("0, 10, 20 … 90")),
            (("7", "5"), "75"),
            (("←", "→"), _("one less, one more")),
            ((_("Page ↓"), _("Page ↑")), _("ten less, ten more")),
            ((_("Home"), _("End")), _("0 and 100")),
        ),
    )
    aggregation = MeanGrade()
    results = StandardisedMeans()
    comparison = Comparison(cuts=tuple(float(cut) for cut in range(90, 0, -10)), per_image=True)
    relevance = RelevanceScale(describes=lambda mean: mean > 50, grade=nearest_grade, averaged=True)
    rehearsal = SliderRehearsal(POSITIONS, leaning, is_right)

    def expected_on_repeat(self, given: int) -> str:
        return f"{max(given - SAME, 0)}-{min(given + SAME, 100)}"

    def is_right(self, given: int, expected: Any) -> bool:
        return is_right(given, expected)
