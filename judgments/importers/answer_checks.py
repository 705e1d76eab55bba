"""Check the answers in a file of judgments, as the page of work checks the answers of workers."""

from __future__ import annotations

from typing import Any

from common.incoming import quote_value
from judgments.design.numbers import number_text
from judgments.design.scale import InferredScale, Scale, ScaleBounds, bounds_from_text, scale_from_text
from judgments.kinds import Kind


class AnswerChecker:
    """Checks the answers of a file, and finds the design options that these answers need.

    The scale is inferred from the answers, unless ``require_scale`` sets it.

    Attributes:
        plain_kind: the kind with default options.
        setting: the design options that the answers need (`Kind.extend_setting`), such as the scale "1:5"; None before
            the first answer.
        scale_text: the scale that ``require_scale`` has set; "" if it was not called.
    """

    def __init__(self, kind: Kind) -> None:
        self.plain_kind = kind
        self.setting: str | None = None
        self.scale_text = ""
        self._limits: ScaleBounds | None = None
        self._inferred_scale: InferredScale | None = None
        self._checked_numbers: set[tuple[object, bool]] = set()

    @property
    def kind(self) -> Kind:
        """The kind with the options that the answers so far need."""
        return self.plain_kind.with_setting(self.setting or "")

    @property
    def states_scale(self) -> bool:
        """Whether ``require_scale`` has set the scale with its step."""
        return self._limits is not None and self._limits.step is not None

    def require_scale(self, text: str) -> None:
        """Set the scale LOW:HIGH[:STEP], outside of which answers are refused. Without a step, infer the step.

        Raises:
            ValueError: the text is not a scale, the scale differs from an earlier one, or the kind has no scale.
        """
        if text == self.scale_text:
            return
        if self.plain_kind.scale is None:
            raise ValueError(f"expected no scale, which {self.plain_kind.name} has not")
        if self.scale_text:
            raise ValueError(f"expected {self.scale_text}, as before")
        self.scale_text, self._limits = text, bounds_from_text(text)
        self._inferred_scale = InferredScale.from_bounds(self._limits)
        if self._limits.step:
            self._set_scale(scale_from_text(text))

    def clean(self, answer: Any, *, unit: Any = None) -> Any:
        """Return an answer in its stored form, and extend the setting if the answer needs it.

        Raise ValueError, with the expected form, for an invalid answer.
        """
        if self.setting is not None:
            try:
                return self.kind.clean_answer(answer, unit=unit, design=None)
            except ValueError:
                pass  # other design options may allow the answer
        setting = self.plain_kind.extend_setting(self.setting, answer)
        stored_answer = self.plain_kind.with_setting(setting).clean_answer(answer, unit=unit, design=None)
        self.setting = setting
        return stored_answer

    def check_number(self, value: object, *, has_answers_column: bool) -> None:
        """Check an answer of a kind that is answered by numbers. Check equal numbers only once.

        Args:
            has_answers_column: whether the row has the column `answers`, which exports of pairs have if their design
                allows more answers than 1 and 2. Files without this column may have 0 (no difference), too.

        Raises:
            ValueError: the answer is invalid.
        """
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and (value, has_answers_column) in self._checked_numbers:
            return
        # isinstance() again, for the type checker
        if self.plain_kind.scale is not None and isinstance(value, int | float) and is_number:
            self._check_on_scale(value)
        elif has_answers_column or value == 0 or not self.kind.two_sided:
            self.clean(value)
        else:  # only 1 and 2, even if earlier answers need more options
            self.plain_kind.clean_answer(value, unit=None, design=None)
        self._checked_numbers.add((value, has_answers_column))

    def _check_on_scale(self, value: float) -> None:
        """Check a number on the scale that ``require_scale`` has set. Extend an inferred scale by the number."""
        limits, default_scale = self._limits, self.plain_kind.scale
        assert default_scale is not None
        if limits is not None and limits.step:
            stated_scale = scale_from_text(self.scale_text)
            if value not in stated_scale:
                raise ValueError(f"expected {stated_scale.in_words}")
            return
        if limits is not None and not limits.low <= value <= limits.high:
            raise ValueError(f"expected {number_text(limits.low)} to {number_text(limits.high)}")
        inferred_scale = (
            InferredScale.from_number(value)
            if self._inferred_scale is None
            else self._inferred_scale.with_number(value)
        )
        if limits is not None:  # the ends are stated, so only the step is inferred
            scale = inferred_scale.scale()
            if len(scale) == 2 and self.plain_kind.scale_problem(scale):
                # A scale of the two numbers so far is refused, but points between them may follow.
                scale = Scale(low=scale.low, high=scale.high, step=(scale.high - scale.low) / 2)
            self._set_scale(scale)
        else:
            self._set_scale(inferred_scale.scale_like(default_scale))
        self._inferred_scale = inferred_scale

    def _set_scale(self, scale: Scale) -> None:
        """Make the scale the setting. Raise ValueError if the kind does not allow it."""
        default_scale = self.plain_kind.scale
        assert default_scale is not None
        if problem := self.plain_kind.scale_problem(scale):
            raise ValueError(f"as one of {len(scale):,} answers from {scale.in_words}; {problem}")
        self.setting = "" if scale.has_same_points(default_scale) else str(scale)


def answer_problem(answer: object, error: ValueError, kind: Kind) -> tuple[str, str]:
    """Return the actual and the expected value for an ImportProblem about an answer.

    ``error`` is what the kind raised; its message ends with "expected" and the expected value.
    """
    reason, _, expected = str(error).rpartition("expected ")
    reason = reason.strip(" ;")
    return quote_value(answer) + (f" ({reason})" if reason else ""), f"{expected} ({kind.name})"
