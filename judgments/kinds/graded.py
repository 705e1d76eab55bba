"""The protocol that asks how well a caption describes an image, from 4 to 1 (H13 §4.2.1).

A study can have another scale (``Graded.on_scale``). H13 is Hodosh et al. 2013.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from django.utils.translation import gettext, pgettext

from judgments.design.numbers import NUMBER, display_number, ends_of, number_text, plain_number, range_text
from judgments.design.scale import Scale, scale_from_text
from judgments.design.wordings import CAPTION, WORDINGS
from judgments.kinds.base import (
    Aggregation,
    Answers,
    Choice,
    Kind,
    MetricComparison,
    Page,
    RelevanceScale,
    Units,
    with_wording,
)
from judgments.kinds.consensus import Consensus, ConsensusColumns
from judgments.kinds.image_caption import ImageCaptionKind
from quorum.statistics.aggregation import GRADE_THRESHOLDS, majority_vote, mean_grade

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


# The answer to a repeated caption is right if it differs by at most this share of the scale, or by one point.
REPEAT_TOLERANCE = 0.15
MAX_GRADES = 11  # largest number of grades, which a page shows as choices
KEYS_BY_POSITION = "1234567890x"  # keyboard keys of the choices, by position


class MeanGrade(Aggregation):
    """The consensus is the mean grade (H13)."""

    rule = "mean"
    level = "interval"

    def __init__(self, listed_grades: Sequence[float] = ()) -> None:
        """Initialise the rule.

        The votes of each unit have an entry for each of ``listed_grades``, even with count 0. If there are none, as for
        the slider, the votes have entries only for the grades that workers gave.
        """
        self._listed_grades = listed_grades

    def consensus(self, units: Units, values: Answers) -> Mapping[int, Consensus]:
        means = mean_grade(units, values)
        if self._listed_grades:  # count the votes for few grades in one array
            grade_votes = majority_vote(units, values, labels=self._listed_grades)
            return ConsensusColumns(
                unit=means.units,
                n=means.n,
                value=means.mean,
                share=None,
                margin=None,
                tie=np.zeros(len(means.n), dtype=np.bool_),
                votes=grade_votes.counts,
                answers=tuple(map(number_text, self._listed_grades)),
                is_integer=False,
            )
        votes: defaultdict[int, Counter[float]] = defaultdict(Counter)
        for unit, value in zip(units, values, strict=True):
            votes[int(unit)][float(value)] += 1
        return {
            unit: Consensus(
                n=votes[unit].total(),
                value=mean,
                votes={number_text(grade): votes[unit][grade] for grade in sorted(votes[unit])},
            )
            for unit, mean in zip(means.units.tolist(), means.mean.tolist(), strict=True)
        }


def is_in_range(answer: float, expected: Any) -> bool:
    """Return whether an answer is in the expected range ("3-4"), or equals the expected grade."""
    low, high = ends_of(str(expected))
    return low <= answer <= high


def inner_point_names(scale: Scale, names: Mapping[str, str]) -> list[str]:
    """Return the points with a name that are not an end of the scale. ``names`` has the names by points as texts."""
    return [name for name in names if float(name) not in (scale.low, scale.high)]


def keyboard_keys_of(points: Sequence[float]) -> list[str]:
    """Return a keyboard key for each of up to ``MAX_GRADES`` points.

    If all points are digits, the key of a point is its digit. The scale from 0 to 10 has these keys, too, and "x" for
    10. On other scales, the first point has the key 1, the second the key 2, and so on.
    """
    if all(point in range(10) for point in points):
        return [str(point) for point in points]
    return list("0123456789x" if points == tuple(range(11)) else KEYS_BY_POSITION)[: len(points)]


class Graded(ImageCaptionKind):
    name = "graded"
    wordings = WORDINGS[name]
    wording = wordings[CAPTION]
    title = wording.title
    scale: Scale = Scale(low=1, high=4)
    values: tuple[float, ...] = scale.points
    labelled_values: tuple[float, ...] = values[::-1]
    choices: tuple[Choice, ...] = tuple(
        Choice(grade, label, str(grade))
        for grade, label in zip(labelled_values, wording.choices, strict=True)
    )
    defaults = {"question": wording.question, "seconds_per_unit": 12.0}
    page = Page("annotation/kinds/graded.html")
    right_caption_answer, wrong_caption_answer = "3-4", "1-2"
    aggregation = MeanGrade(values)
    comparison = MetricComparison(cuts=GRADE_THRESHOLDS)  # least means of good captions, for kappa
    relevance = RelevanceScale.of_means(scale)
    study_scale: Scale | None = None  # the scale of a study that does not use the kind's usual scale
    point_names: Mapping[str, str] = {}  # labels of the points of ``study_scale``, by the points as texts

    def setting(self, design: StudyDesign) -> str:  # the scale as text, if it is not the usual one
        usual_scale = type(self).scale
        return "" if design.scale is None or design.scale.has_same_points(usual_scale) else str(design.scale)

    def with_setting(self, setting: str) -> Kind:
        return self.on_scale(scale_from_text(setting)) if setting else self

    def tables_of_setting(self, setting: str) -> dict[str, dict[str, Any]]:
        return {"scale": scale_from_text(setting).model_dump(mode="json")} if setting else {}

    def for_design(self, design: StudyDesign) -> Kind:
        if design.scale is None:
            return super().for_design(design)
        worded_kind = with_wording(self, design.judged, ())  # without labels, which ``on_scale`` sets
        assert isinstance(worded_kind, Graded)
        # In a design with a scale, ``labels`` has translations of the scale's labels, in the same order.
        labels = dict(zip(design.scale.labels, design.labels, strict=True)) if design.labels else {}
        return worded_kind.on_scale(design.scale, labels or design.scale.labels)

    def scale_problem(self, scale: Scale) -> str:
        if len(scale) <= MAX_GRADES:
            return ""
        return pgettext(
            "staff", "expected fewer points (at most %(most)d); use the protocol “slider” for a finer scale"
        ) % {"most": MAX_GRADES}

    def on_scale(self, scale: Scale, labels: Mapping[str, str] | None = None) -> Graded:
        """Return this kind with another scale than the usual one.

        Args:
            labels: labels of some or all of the points, by the points as texts; None to use those of the scale.
        """
        kind = copy(self)
        kind.scale = kind.study_scale = scale
        kind.values = scale.points
        kind.right_caption_answer = range_text(*scale.upper_half)
        kind.wrong_caption_answer = range_text(*scale.lower_half)
        kind.relevance = RelevanceScale.of_means(scale)
        kind.point_names = dict(labels or scale.labels)
        kind.labelled_values = tuple(map(float, kind.point_names))
        kind.adapt_to_scale(scale)
        return kind

    def adapt_to_scale(self, scale: Scale) -> None:
        """Change this kind, in place, to the choices and votes of a scale."""
        self.choices = tuple(
            Choice(point, self.point_names.get(number_text(point), number_text(point)), key)
            for point, key in zip(scale.points, keyboard_keys_of(scale.points), strict=True)
        )
        self.page = replace(self.page, template="annotation/kinds/scale.html")
        self.aggregation = MeanGrade(scale.points)
        self.comparison = replace(self.comparison, cuts=scale.points[:0:-1])  # all but the lowest, descending

    @property
    def poles(self) -> tuple[str, str]:
        """The labels of the scale's two ends: those of the study or, if it labels no point, ``default_poles``."""
        if self.point_names:
            low, high = number_text(self.scale.low), number_text(self.scale.high)
            return self.point_names.get(low, ""), self.point_names.get(high, "")
        low_label, high_label = self.default_poles
        return low_label, high_label

    @property
    def default_poles(self) -> list[str]:
        """The labels of the ends if a study labels no point: those of the slider, for the type of judged text."""
        # the kind does not keep the type, but each type has another title
        text_type = next(
            text_type for text_type, wording in self.wordings.items() if wording.title == self.title
        )
        return WORDINGS["slider"][text_type].translated_poles

    @property
    def names_inner_points(self) -> bool:
        """Whether a point that is not an end of the scale has a label."""
        return bool(inner_point_names(self.scale, self.point_names))

    @property
    def shows_key_hints(self) -> bool:
        """Whether some keys differ from their points' numbers, so that the page shows keys next to the points."""
        return any(choice.key != choice.code for choice in self.choices)

    def read_form(self, form: Mapping[str, Any], position: int, unit: Any) -> Any:
        text = form.get(f"u{position}")
        if self.study_scale is not None and isinstance(text, str) and NUMBER.fullmatch(text.strip()):
            return plain_number(float(text))
        return super().read_form(form, position, unit)

    def clean_answer(self, answer: Any, *, unit: Any, design: StudyDesign | None) -> float:
        if self.study_scale is None:
            return super().clean_answer(answer, unit=unit, design=design)
        if type(answer) not in (int, float) or answer not in self.study_scale:
            raise ValueError(gettext("expected %(values)s") % {"values": self.study_scale.in_words})
        return plain_number(answer)

    def describe_answer(self, answer: Any) -> str:
        if self.study_scale is None or not isinstance(answer, int | float):
            return super().describe_answer(answer)
        label = self.point_names.get(number_text(answer))
        return f"{display_number(answer)}: {label}" if label else display_number(answer)

    def describe_expected(self, expected: Any) -> str:
        if self.study_scale is None:
            return super().describe_expected(expected)
        low, high = ends_of(str(expected))
        if low == high:
            return self.describe_answer(low)
        return gettext("%(low)s to %(high)s") % {"low": display_number(low), "high": display_number(high)}

    def present_unit(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        content = super().present_unit(unit, side=side, picture_url=picture_url)
        return content if self.study_scale is None else {**content, "scale": self.scale_for_clients()}

    def scale_for_clients(self) -> dict[str, Any]:
        """Return the scale as JSON for API clients, with labels in the language of the page."""
        assert self.study_scale is not None
        ends = {"low": self.scale.low, "high": self.scale.high, "step": self.scale.step}
        return {**ends, "labels": dict(self.point_names)}

    def expected_on_repeat(self, answer: float) -> str:
        """Return a range of grades near the answer: one grade more or less, or a small share of a long scale.

        One grade is the difference between the mean grades of H13's judges.
        """
        return range_text(*self.scale.points_near(answer, REPEAT_TOLERANCE))

    def is_right(self, answer: float, expected: Any) -> bool:
        return is_in_range(answer, expected)
