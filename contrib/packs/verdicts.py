"""Compare a published number with Quorum's value: matched, near, different, or not reproducible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from common.amounts import DASH, NO_BREAK, interval_in_table, json_float
from contrib.packs.reading import PER_CENT, Pack, PublishedNumber
from evaluation.presentation.content import Estimate

VerdictKind = Literal["matched", "near", "differs", "not reproducible"]
MATCHED: VerdictKind = "matched"  # equal at the printed digits
NEAR: VerdictKind = "near"  # within the interval, which a value has if something is drawn again
DIFFERS: VerdictKind = "differs"
NOT_REPRODUCIBLE: VerdictKind = "not reproducible"
EQUAL_DIGITS = "equal at the printed digits"
NO_CONVENTION_KNOWN = "no convention that meets it is known"
ROUNDING_TOLERANCE = Decimal("1e-9")  # a float halfway between two printed numbers counts as either


@dataclass(frozen=True, slots=True)
class NumberVerdict:
    """The verdict on a published number.

    Attributes:
        pack: the name of the pack.
        ours: Quorum's value, in the unit of the published number.
        why: the reason of the verdict, or "".
    """

    pack: str
    number: PublishedNumber
    ours: Estimate
    kind: VerdictKind
    why: str

    def as_json(self) -> dict[str, Any]:
        return {
            "pack": self.pack,
            "number": self.number.id,
            "published": float(self.number.value),
            "ours": self.ours.value,
            "low": self.ours.low,
            "high": self.ours.high,
            "verdict": self.kind,
            "why": self.why,
        }

    @property
    def digits(self) -> int:
        return _digits(self.number)

    @property
    def published_text(self) -> str:
        return f"{self.number.value:.{self.digits}f}{self._unit}"

    @property
    def computed_text(self) -> str:
        return DASH if self.ours.value is None else f"{self.ours.value:.{self.digits}f}{self._unit}"

    @property
    def interval_text(self) -> str:
        if self.ours.low is None or self.ours.high is None:
            return DASH
        return interval_in_table(self.ours.low, self.ours.high, lambda end: f"{end:.{self.digits}f}")

    @property
    def explanations(self) -> list[str]:
        """The convention, what was drawn again and, unless the number is matched, the reason of the verdict.

        For a number that is not reproducible, only the reason.
        """
        if self.kind == NOT_REPRODUCIBLE:
            return [_capitalise(self.why)]
        drawn_text = f"drawn again: {self.number.drawn}" if self.number.drawn else ""
        texts = (self.number.convention, drawn_text, "" if self.kind == MATCHED else self.why)
        return [_capitalise(text) for text in texts if text]

    @property
    def reasons(self) -> str:
        return ". ".join(self.explanations)

    @property
    def _unit(self) -> str:
        return f"{NO_BREAK}%" if self.number.unit == PER_CENT else ""


def verdict_of(
    pack: Pack,
    number: PublishedNumber,
    ours: Estimate | None,
    others: Mapping[str, float | None] | None = None,
    missing: str = "",
) -> NumberVerdict:
    """Compare Quorum's value with a published number.

    Args:
        ours: Quorum's value; None if there is none.
        others: the values by other conventions, by name of the convention.
        missing: why there is no value.
    """
    computed_value = None if ours is None else json_float(ours.value)
    if ours is None or computed_value is None:
        return NumberVerdict(pack.name, number, Estimate(None), NOT_REPRODUCIBLE, missing or number.missing)
    value = computed_value * number.scale
    # If nothing was drawn again, such as random pairs, there is no sampling error: the number is equal or it is not.
    low = high = None
    if number.drawn:
        low, high = _scaled(ours.low, number), _scaled(ours.high, number)
    estimate = Estimate(value, low, high, ours.n)
    if is_equal(number, value):
        return NumberVerdict(pack.name, number, estimate, MATCHED, EQUAL_DIGITS)
    is_near = low is not None and high is not None and low <= float(number.value) <= high
    why = _describe_conventions(number, others or {}) or ("" if is_near else NO_CONVENTION_KNOWN)
    return NumberVerdict(pack.name, number, estimate, NEAR if is_near else DIFFERS, why)


def _scaled(limit: float | None, number: PublishedNumber) -> float | None:
    """Return an end of an interval in the unit of the number; None if it is missing or not finite."""
    finite_limit = json_float(limit)
    return None if finite_limit is None else finite_limit * number.scale


def _describe_conventions(number: PublishedNumber, other_values: Mapping[str, float | None]) -> str:
    """Describe the values by other conventions: those equal to the published number or, if there are none, all."""
    values = {name: value * number.scale for name, value in other_values.items() if value is not None}
    equal_values = {name: value for name, value in values.items() if is_equal(number, value)}
    # One digit more than printed shows how far a value is from rounding to the number. Whole counts need none.
    is_count = not number.unit and not _digits(number)
    digits = _digits(number) + (0 if is_count else 1)
    texts = [f"{value:.{digits}f} ({name})" for name, value in (equal_values or values).items()]
    return f"{'met by' if equal_values else 'not met either by'} {', '.join(texts)}" if texts else ""


def is_equal(number: PublishedNumber, value: float) -> bool:
    """Return whether a value, in the unit of the number, is equal to it at the digits that are printed."""
    half = Decimal(1).scaleb(-_digits(number)) / 2
    return abs(Decimal(value) - Decimal(number.value)) <= half + ROUNDING_TOLERANCE


def _digits(number: PublishedNumber) -> int:
    """Return the number of printed decimals."""
    exponent = Decimal(number.value).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _capitalise(text: str) -> str:
    """Return a text with a capital, and without the full stop, which is added where texts are joined."""
    return f"{text[:1].upper()}{text[1:]}".removesuffix(".")
