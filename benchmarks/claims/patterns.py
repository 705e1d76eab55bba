# ruff: noqa: E501 (a sentence is one line)
"""Patterns of sentences, each registered with the function that checks what it claims."""

import math
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from benchmarks.claims.rows import Rows

Claim = Callable[..., bool]


class Checker(NamedTuple):
    """A pattern, the function that checks sentences with this pattern, and the subject of the sentences."""

    pattern: re.Pattern[str]
    claim: Claim
    subject: str


CHECKERS: list[Checker] = []
PATTERN_PARTS = {
    "N": r"[\d,]+", "PC": r"\d+(?: %)?", "CO": r"-?\d*\.?\d+", "P": r"(?:p = |p < |p > )?\.\d+", "NAMES": r"[\w.-]+(?:(?:, | and )[\w.-]+)*",
    "ENDS": r"(?:undefined|-?[\d.]+ to -?[\d.]+(?: %)?)", "RANGE": r"-?[\d.]+(?: to -?[\d.]+)?(?: %)?", "CUT": r"[\d.]*\d",
    "TESTS": r"[^)]*", "WHY": r"[^.]*",
}  # fmt: skip


def sentences_about(subject: str) -> Callable[[str], Callable[[Claim], Claim]]:
    """Return the decorator that registers checkers of sentences about a subject.

    In a pattern, ``<name:PART>`` is an argument of the checker, ``{a|b}`` are alternatives, and ``[a]`` is optional.
    Everything else is literal.
    """

    def states(pattern: str) -> Callable[[Claim], Claim]:
        def add(claim: Claim) -> Claim:
            CHECKERS.append(Checker(compile_pattern(pattern), claim, subject))
            return claim

        return add

    return states


def compile_pattern(pattern: str) -> re.Pattern[str]:
    pieces = re.split(r"<(\w+):(\w+)>", pattern)
    expression = ""
    for literal, name, part in zip(pieces[::3], [*pieces[1::3], ""], [*pieces[2::3], ""], strict=True):
        text = re.escape(literal).replace(r"\{", "(?:").replace(r"\}", ")").replace(r"\|", "|")
        expression += text.replace(r"\[", "(?:").replace(r"\]", ")?")
        if name:
            expression += f"(?P<{name}>{PATTERN_PARTS[part]})"
    return re.compile(expression)


def check_sentences(text: str, rows: Rows) -> Iterator[tuple[str, str, bool]]:
    """Yield each sentence of a text, its subject, and whether it is true.

    Raise AssertionError if no pattern matches a part of the text.
    """
    rest = text.replace("\N{NO-BREAK SPACE}", " ").strip()
    while rest:
        matches = [(match, checker) for checker in CHECKERS if (match := checker.pattern.match(rest))]
        if not matches:
            raise AssertionError(f"no checker knows what this says: {rest!r} (of {text!r})")
        match, checker = max(matches, key=lambda one: one[0].end())
        assert match.end()
        yield match[0], checker.subject, bool(checker.claim(rows, **match.groupdict()))
        rest = rest[match.end() :].lstrip()


def number(text: str) -> float:
    return float(text.replace(",", "").removesuffix(" %"))


def is_near(text: str, value: float, unit: float = 0.01) -> bool:
    """Return whether the number in a text is the value, up to rounding."""
    return abs(number(text) * (0.01 if "%" in text or unit == 1 else 1) - value) <= 0.0051


def two_digits(text: str, value: float) -> bool:
    """Return whether the number in a text is the value, rounded to two significant digits."""
    last = 10.0 ** (math.floor(math.log10(value)) - 1) if value > 1e-6 else 1e-6
    return abs(number(text) - value) <= 0.51 * last


def says_p(text: str, p: float) -> bool:
    """Return whether a text such as "p = .013" or "p < .001" is true of p."""
    digits = text[text.index(".") + 1 :]
    if "<" in text or ">" in text:
        return p < float(f".{digits}") if "<" in text else p > float(f".{digits}")
    return abs(float(f".{digits}") - p) <= 0.51 * 10 ** -len(digits)


def is_inside(ends: str, value: float) -> bool:
    if ends == "undefined":
        return True
    low, high = (number(end) for end in ends.split(" to "))
    scale = 0.01 if "%" in ends else 1
    return scale * low - 0.0051 <= value <= scale * high + 0.0051


def says_ends(ends: str, value: tuple[float, float] | None) -> bool:
    """Return whether a text states the interval `value`, or "undefined" if `value` is None."""
    if value is None or ends == "undefined":
        return value is None and ends == "undefined"
    return all(
        is_near(f"{end} %" if "%" in ends else end, one)
        for end, one in zip(ends.removesuffix(" %").split(" to "), value, strict=True)
    )


def names_in(text: str) -> list[str]:
    return re.split(r", | and ", text)


def spread(text: str, values: list[float]) -> bool:
    """Return whether a range, such as "50 to 100 %", is that of the values."""
    ends = text.removesuffix(" %").split(" to ")
    scale = 0.01 if "%" in text else 1
    return all(
        abs(scale * number(end) - value) <= 0.0051
        for end, value in zip((ends[0], ends[-1]), (min(values), max(values)), strict=True)
    )
