"""The scale of graded and slider answers: points from the lowest to the highest, in equal steps.

Each point is the double that is nearest to its decimal number: 0.1 plus 2 steps of 0.1 is the point 0.3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Annotated, Any

from django.utils.translation import gettext, pgettext
from pydantic import AfterValidator, Field, PlainSerializer, ValidationError, model_validator

from judgments.design.numbers import NUMBER, display_number, exact_fraction, number_text, plain_number
from judgments.design.tables.base import DesignTable

MAX_POINTS = 100_001  # from 0 to 1 in steps of 0.00001
MAX_NUMBER = 1_000_000

# Whole numbers are written without a point: 5 instead of 5.0.
_PlainNumber = Annotated[float, AfterValidator(plain_number), PlainSerializer(plain_number, return_type=Any)]
Number = Annotated[_PlainNumber, Field(ge=-MAX_NUMBER, le=MAX_NUMBER)]
Label = Annotated[str, Field(min_length=1, max_length=200)]


class Scale(DesignTable):
    """The points of the answers of a graded or slider study, and their labels."""

    omitted = frozenset({"labels"})  # not written to a study file without labels (``DesignTable``)

    low: Number = Field(title="Lowest answer", description="Value of the worst answer, such as 1, 0 or -3.")
    high: Number = Field(title="Highest answer", description="Value of the best answer, such as 5, 100 or 3.")
    step: Annotated[_PlainNumber, Field(ge=0.000001, le=MAX_NUMBER)] = Field(
        1, title="Step", description="Distance from one answer to the next, such as 1 or 0.5."
    )
    labels: dict[str, Label] = Field(
        default_factory=dict,
        title="Labels of the scale",
        description="One label per line, such as 1 = bad. Label the two ends of the scale, or each answer.",
        json_schema_extra={"rows": 4},
    )

    @model_validator(mode="before")
    @classmethod
    def _name_labels_by_number(cls, values: Any) -> Any:
        """Replace the keys of the labels by the usual form of their number: "1.0" becomes "1"."""
        labels = values.get("labels") if isinstance(values, Mapping) else None
        if not isinstance(labels, Mapping):
            return values
        by_number: dict[str, Any] = {}
        for name, label in labels.items():
            if isinstance(label, Mapping):
                raise ValueError(
                    pgettext(
                        "staff",
                        "labels.%(name)s is a table; expected a text. Put a number with a point in "
                        'quotation marks, such as "1.5"',
                    )
                    % {"name": name}
                )
            if not NUMBER.fullmatch(str(name)):
                raise ValueError(
                    pgettext("staff", "“labels” contains %(name)r; expected a number on the scale")
                    % {"name": name}
                )
            by_number[number_text(float(name))] = label
        return {**values, "labels": {name: by_number[name] for name in sorted(by_number, key=float)}}

    @model_validator(mode="after")
    def _check_points(self) -> Scale:
        if self.high <= self.low:
            raise ValueError(
                pgettext(
                    "staff", "it goes from %(low)s to %(high)s; expected a second number above the first"
                )
                % {"low": number_text(self.low), "high": number_text(self.high)}
            )
        steps = (exact_fraction(self.high) - exact_fraction(self.low)) / exact_fraction(self.step)
        if steps.denominator != 1:
            raise ValueError(
                pgettext(
                    "staff", "step is %(step)s, but steps of this size do not lead from %(low)s to %(high)s"
                )
                % {
                    "step": number_text(self.step),
                    "high": number_text(self.high),
                    "low": number_text(self.low),
                }
            )
        if steps >= MAX_POINTS:
            raise ValueError(
                pgettext("staff", "it has too many points (%(n)s); expected at most %(most)s")
                % {"n": int(steps) + 1, "most": MAX_POINTS}
            )
        for name in self.labels:
            if float(name) not in self:
                raise ValueError(
                    pgettext(
                        "staff",
                        "“labels” contains %(name)s; expected a number on the scale, which is %(scale)s",
                    )
                    % {"name": name, "scale": self.in_words}
                )
        return self

    def __contains__(self, number: float) -> bool:
        return number in self._point_set

    def __len__(self) -> int:
        return len(self.points)

    def __str__(self) -> str:
        """Return the scale as commands accept it: 1:5:0.5, or -3:3."""
        ends = f"{number_text(self.low)}:{number_text(self.high)}"
        return ends if self.step == 1 else f"{ends}:{number_text(self.step)}"

    @cached_property
    def points(self) -> tuple[float, ...]:
        """The possible answers, from the lowest."""
        low, step = Decimal(number_text(self.low)), Decimal(number_text(self.step))
        count = int((exact_fraction(self.high) - exact_fraction(self.low)) / exact_fraction(self.step)) + 1
        return tuple(plain_number(float(low + number * step)) for number in range(count))

    @cached_property
    def _point_set(self) -> frozenset[float]:
        return frozenset(self.points)

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2

    @property
    def length(self) -> float:
        return self.high - self.low

    @property
    def lower_half(self) -> tuple[float, float]:
        """The first and last point below the middle; the middle point belongs to neither half."""
        return self.low, self.points[(len(self) // 2) - 1]

    @property
    def upper_half(self) -> tuple[float, float]:
        """The first and last point above the middle."""
        return self.points[(len(self) + 1) // 2], self.high

    @property
    def in_words(self) -> str:
        """The scale in a sentence, such as "1 to 5 by 0.5"."""
        ends = {"low": display_number(self.low), "high": display_number(self.high)}
        if self.step == 1:
            return gettext("%(low)s to %(high)s") % ends
        return gettext("%(low)s to %(high)s by %(step)s") % {**ends, "step": display_number(self.step)}

    @property
    def input_mode(self) -> str:
        """The HTML attribute ``inputmode`` for the answers. "" asks for a keyboard that has a minus sign."""
        if self.low < 0:
            return ""
        return "numeric" if self.step == 1 and self.low == int(self.low) else "decimal"

    def is_upper(self, mean: float) -> bool:
        """Return whether a mean is above the middle. A text with such a mean counts as describing its item."""
        return mean > self.middle

    def steps_to(self, mean: float) -> int:
        """Return the number of steps from the lowest point to the point nearest to a mean; halves round down."""
        return math.ceil((mean - self.low) / self.step - 0.5)

    def points_near(self, point: float, share: float) -> tuple[float, float]:
        """Return the lowest and the highest point whose distance from ``point`` is small.

        The distance is at most ``share`` of the scale's length, but at least one step.
        """
        length = exact_fraction(self.high) - exact_fraction(self.low)
        steps = max(1, math.floor(exact_fraction(share) * length / exact_fraction(self.step)))
        position = self.points.index(point)
        return self.points[max(0, position - steps)], self.points[min(len(self) - 1, position + steps)]

    def has_same_points(self, other_scale: Scale) -> bool:
        return str(self) == str(other_scale)


@lru_cache(maxsize=64)
def scale_from_text(text: str) -> Scale:
    """Parse LOW:HIGH or LOW:HIGH:STEP as a scale, with step 1 by default. Raise ValueError for other texts."""
    bounds = bounds_from_text(text)
    try:
        return Scale(low=bounds.low, high=bounds.high, step=bounds.step or 1)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        raise ValueError(
            pgettext("staff", "%(text)r is not a scale: %(problem)s; expected LOW:HIGH:STEP, such as 1:5:0.5")
            % {"text": text[:80], "problem": problem}
        ) from None


@dataclass(frozen=True, slots=True)
class ScaleBounds:
    """The ends of a scale, and its step if one is stated."""

    low: float
    high: float
    step: float | None = None


def bounds_from_text(text: str) -> ScaleBounds:
    """Parse LOW:HIGH or LOW:HIGH:STEP. Raise ValueError for other texts."""
    parts = text.strip().split(":")
    if len(parts) not in (2, 3) or not all(NUMBER.fullmatch(part.strip()) for part in parts):
        raise ValueError(
            pgettext("staff", "%(text)r is not a scale; expected LOW:HIGH or LOW:HIGH:STEP, such as 1:5:0.5")
            % {"text": text[:80]}
        )
    bounds = ScaleBounds(*(plain_number(float(part)) for part in parts))
    if bounds.high <= bounds.low or (bounds.step is not None and bounds.step <= 0):
        raise ValueError(
            pgettext(
                "staff", "%(text)r is not a scale; expected a lower end, a higher end, and a step above 0"
            )
            % {"text": text[:80]}
        )
    return bounds


@dataclass(frozen=True, slots=True)
class InferredScale:
    """The lowest and highest number of a file, and the largest step that reaches all of its numbers.

    Steps are counted from ``origin``. A step is at most 1.
    """

    low: Fraction
    high: Fraction
    origin: Fraction = Fraction(0)
    step: Fraction = Fraction(1)

    @classmethod
    def from_number(cls, number: float) -> InferredScale:
        """Return the scale of the first number of a file."""
        return cls(exact_fraction(number), exact_fraction(number)).with_number(number)

    @classmethod
    def from_bounds(cls, bounds: ScaleBounds) -> InferredScale:
        """Return a scale with these ends, whose step is inferred from the numbers that follow."""
        low, high = exact_fraction(bounds.low), exact_fraction(bounds.high)
        return cls(low, high, origin=low).with_number(bounds.high)

    def with_number(self, number: float) -> InferredScale:
        """Return the scale extended to ``number``. Its step becomes smaller if the present step misses the number."""
        value = exact_fraction(number)
        distance = abs(value - self.origin)
        # The new step is the greatest common divisor of the two fractions: gcd(a/b, c/d) = gcd(ad, cb) / bd.
        common_numerator = math.gcd(
            self.step.numerator * distance.denominator, distance.numerator * self.step.denominator
        )
        step = Fraction(common_numerator, self.step.denominator * distance.denominator)
        return replace(self, low=min(self.low, value), high=max(self.high, value), step=step)

    def scale_like(self, usual: Scale) -> Scale:
        """Return a scale that has all numbers as points and is as similar to ``usual``, of step 1, as possible.

        It is ``usual`` itself if all numbers are points of it, or else a scale with the same ends and a smaller step.
        The ends differ in two cases: if a number is outside ``usual``, or if some numbers are between its points and
        all are in its first tenth, such as answers from 0 to 1 on a slider from 0 to 100. The scale then ends at the
        smallest whole number that is not below any number and begins at 1 or 0. With negative numbers it ends at the
        smallest whole number that is not below any absolute value, and begins at the negative of its end.

        Raises:
            ValueError: the scale has too many points, or the numbers are too large.
        """
        usual_low, usual_high = exact_fraction(usual.low), exact_fraction(usual.high)
        if usual_low <= self.low and self.high <= usual_high:
            if self.step == usual.step:
                return usual
            if self.high > usual_high / 10:
                return _scale_between(usual_low, usual_high, self.step)
        high = math.ceil(self.high)
        low = 1 if self.low >= 1 else 0
        if self.low < 0:
            high = max(high, -math.floor(self.low))
            low = -high
        return _scale_between(Fraction(low), Fraction(max(high, low + 1)), self.step)

    def scale(self) -> Scale:
        """Return the scale from the lowest to the highest number. Raise the errors of `scale_like`."""
        return _scale_between(self.low, self.high, self.step)


def _scale_between(low: Fraction, high: Fraction, step: Fraction) -> Scale:
    """Return a scale with these ends. Raise ValueError if it has too many points, or if a number is too large."""
    if max(abs(low), abs(high)) > MAX_NUMBER:
        raise ValueError(
            pgettext("staff", "expected numbers from %(low)s to %(high)s")
            % {"low": f"{-MAX_NUMBER:,}", "high": f"{MAX_NUMBER:,}"}
        )
    if (high - low) / step >= MAX_POINTS:
        raise ValueError(
            pgettext(
                "staff",
                "expected a scale with fewer points (at most %(most)s), but these answers need %(n)s; round the "
                "answers first, for instance answers from 0 to 1 to five decimal places",
            )
            % {"most": MAX_POINTS, "n": int((high - low) / step) + 1}
        )
    return Scale(low=float(low), high=float(high), step=float(step))
