"""Read and write numbers and ranges of a scale in exact decimals."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from django.utils.formats import number_format

_NUMBER = r"-?(?:\d{1,7}(?:\.\d{1,6})?|\.\d{1,6})"
NUMBER = re.compile(_NUMBER)
RANGE = re.compile(rf"({_NUMBER})(?:-({_NUMBER}))?")


def plain_number(number: float) -> float:
    """Return a number as int if it is whole."""
    return int(number) if float(number).is_integer() else float(number)


def number_text(number: float) -> str:
    """Return a number as files write it, such as 3 or -0.5, and never with an exponent."""
    return f"{Decimal(repr(plain_number(number))):f}"


def display_number(number: float) -> str:
    """Return a number as people read it: with the decimal sign of the language, and a minus sign."""
    return number_format(Decimal(number_text(number))).replace("-", "−")


def exact_fraction(number: float) -> Fraction:
    return Fraction(number_text(number))


@lru_cache(maxsize=4096)
def ends_of(text: str) -> tuple[float, float]:
    """Return the ends of a range such as "3-4" or "-1--0.5"; a single number is both ends.

    Raises:
        ValueError: the text is neither a number nor a range.
    """
    match = RANGE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no number and no range")
    low = plain_number(float(match[1]))
    return low, low if match[2] is None else plain_number(float(match[2]))


def range_text(low: float, high: float) -> str:
    return f"{number_text(low)}-{number_text(high)}"
