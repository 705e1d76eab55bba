"""The protocol that asks how well a caption describes an image, from 0 to 100.

This is WMT's direct assessment (Graham et al. 2013; Bojar et al. 2016).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext

from judgments.design.numbers import ends_of
from judgments.design.scale import Scale
from judgments.design.wordings import CAPTION, WORDINGS
from judgments.kinds.base import (
    IncludedJudgment,
    KindResults,
    MetricComparison,
    Page,
    RelevanceScale,
    Results,
)
from judgments.kinds.consensus import nan_as_none
from judgments.kinds.graded import Graded, MeanGrade, inner_point_names
from quorum.statistics.aggregation import standardised_mean

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


RECOVERY_TOLERANCE = 0.1  # largest distance of a right answer from the expected one, as a share of the scale
ROUNDING = 1e-9  # more than the rounding error of the difference of two answers


class StandardisedMeans(Results):
    def figures(self, judgments: Sequence[IncludedJudgment], *, seed: int) -> KindResults:
        """Return, for each unit, the mean ``z`` of its answers after standardisation per worker, and their number.

        Answers of a worker are left out if all of them are equal, or if there is only one. The figures of the study
        have the number of these workers.
        """
        means = standardised_mean(
            [judgment.unit.pk for judgment in judgments],
            [judgment.worker for judgment in judgments],
            [judgment.answer for judgment in judgments],
        )
        rows = zip(means.units.tolist(), means.z.tolist(), means.z_n.tolist(), strict=True)
        return KindResults(
            units={unit: {"z": nan_as_none(z), "z_n": n} for unit, z, n in rows},
            study={
                "standardised": {
                    "workers": len(means.raters),
                    "workers_without_z": means.left_out,
                    "signature": means.signature,
                }
            },
        )


@dataclass(frozen=True, slots=True)
class WithinTolerance:
    """A function that compares an answer with the expected one.

    The answer is right if it is in the expected range or, if a single number is expected, at most ``tolerance`` away.
    """

    tolerance: float

    def __call__(self, answer: float, expected: Any) -> bool:
        low, high = ends_of(str(expected))  # "70-100" gives 70 and 100, and "50" gives 50 twice
        if low < high:
            return low <= answer <= high
        return abs(answer - low) <= self.tolerance + ROUNDING


class Slider(Graded):
    name = "slider"
    wordings = WORDINGS[name]
    wording = wordings[CAPTION]
    title = wording.title
    scale = Scale(low=0, high=100)
    values = scale.points
    choices = ()
    labelled_values = (0, 100)
    right_caption_answer, wrong_caption_answer = "70-100", "0-30"
    defaults = {"question": wording.question, "seconds_per_unit": 10.0}
    page = Page(
        "annotation/kinds/slider.html",
        script="js/kinds/slider.js",
        keys=(
            (("0", "…", "9"), _("0, 10, 20 … 90")),
            (("7", "5"), "75"),
            (("←", "→"), _("decrease or increase by one")),
            ((_("Page ↓"), _("Page ↑")), _("decrease or increase by ten")),
            ((_("Home"), _("End")), _("0 or 100")),
        ),
    )
    aggregation = MeanGrade()
    results = StandardisedMeans()
    comparison = MetricComparison(cuts=tuple(float(cut) for cut in range(90, 0, -10)), per_image=True)
    relevance = RelevanceScale.of_means(scale)
    is_within_tolerance = WithinTolerance(RECOVERY_TOLERANCE * 100)

    def scale_problem(self, scale: Scale) -> str:
        if len(scale) > 2:
            return ""
        return pgettext("staff", "expected at least 3 points; choose a smaller step")

    def contradictions(self, design: StudyDesign) -> Iterator[str]:
        inner_labels = inner_point_names(design.scale, design.scale.labels) if design.scale else []
        if inner_labels:
            yield pgettext(
                "staff", "scale.labels contains %(name)s, but a slider has labels only at both ends"
            ) % {"name": inner_labels[0]}

    @property
    def default_poles(self) -> list[str]:
        assert self.wording is not None
        return self.wording.translated_poles

    def adapt_to_scale(self, scale: Scale) -> None:
        self.page = replace(
            self.page,
            keys=(
                (("0", "…", "9"), _("go to 0, 10 … 90 percent of the scale")),
                (("7", "5"), _("go to 75 percent of the scale")),
                (("←", "→"), _("decrease or increase by one step")),
                ((_("Page ↓"), _("Page ↑")), _("decrease or increase by a tenth of the scale")),
                ((_("Home"), _("End")), _("lowest or highest value")),
            ),
        )
        cuts = (scale.low + scale.length * tenths / 10 for tenths in range(9, 0, -1))  # for kappa
        self.comparison = replace(self.comparison, cuts=tuple(cuts))
        self.is_within_tolerance = WithinTolerance(RECOVERY_TOLERANCE * scale.length)

    def is_right(self, answer: float, expected: Any) -> bool:
        return self.is_within_tolerance(answer, expected)
