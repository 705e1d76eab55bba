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
NEAR: VerdictKind = "near"  # within the interval of Quorum's value, which is drawn again
DIFFERS: VerdictKind = "differs"
NOT_REPRODUCIBLE: VerdictKind = "not reproducible"
EQUAL_DIGITS = "equal at the printed digits"
NO_CONVENTION_KNOWN = "no convention that meets it is known"
ROUNDING_TOLERANCE = Decimal("1e-9")  # a float halfway between two printed numbers counts as either


@dataclass(frozen=True, slots=True)
class NumberVerdict:
    """A published number beside Quorum's value, which is in the published unit, with the verdict and its reason."""

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
    def interval(self) -> str:
        if self.ours.low is None or self.ours.high is None:
            return DASH
        return interval_in_table(self.ours.low, self.ours.high, lambda end: f"{end:.{self.digits}f}")

    @property
    def explanations(self) -> list[str]:
        """The convention, what was drawn again and, unless the number is matched, what explains the verdict."""
        drawn_text = self.number.drawn and f"drawn again: {self.number.drawn}"
        if self.kind == NOT_REPRODUCIBLE:
            return [_capitalise(self.why)]
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
    computed = None if ours is None else json_float(ours.value)
    if ours is None or computed is None:
        return NumberVerdict(pack.name, number, Estimate(None), NOT_REPRODUCIBLE, missing or number.missing)
    value = computed * number.scale
    # A number that was not drawn again has no sampling error: it is equal or it is not.
    limits = map(json_float, (ours.low, ours.high) if number.drawn else (None, None))
    low, high = (None if limit is None else limit * number.scale for limit in limits)
    estimate = Estimate(value, low, high, ours.n)
    if is_equal(number, value):
        return NumberVerdict(pack.name, number, estimate, MATCHED, EQUAL_DIGITS)
    is_near = low is not None and high is not None and low <= float(number.value) <= high
    why = _describe_conventions(number, others or {}) or ("" if is_near else NO_CONVENTION_KNOWN)
    return NumberVerdict(pack.name, number, estimate, NEAR if is_near else DIFFERS, why)


def _describe_conventions(number: PublishedNumber, others: Mapping[str, float | None]) -> str:
    """Describe the values by other conventions: those equal to the published number or, if there are none, all."""
    values = {what: value * number.scale for what, value in others.items() if value is not None}
    equal_values = {what: value for what, value in values.items() if is_equal(number, value)}
    digits = _digits(number) + bool(number.unit or _digits(number))
    texts = [f"{value:.{digits}f} ({what})" for what, value in (equal_values or values).items()]
    return f"{'met by' if equal_values else 'not met either by'} {', '.join(texts)}" if texts else ""


def is_equal(number: PublishedNumber, value: float) -> bool:
    """Return whether a value in the number's unit equals the number when printed with as many digits."""
    half = Decimal(1).scaleb(-_digits(number)) / 2
    return abs(Decimal(value) - Decimal(number.value)) <= half + ROUNDING_TOLERANCE


def _digits(number: PublishedNumber) -> int:
    """Return the number of printed decimals."""
    exponent = Decimal(number.value).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _capitalise(text: str) -> str:
    """Return a text with a capital, and without the full stop, which is added where texts are joined."""
    return f"{text[:1].upper()}{text[1:]}".removesuffix(".")
