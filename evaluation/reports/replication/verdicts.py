"""Verdicts on published numbers: matched, near, differs, or not reproducible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from evaluation.data.provenance import json_float
from evaluation.presentation.content import DASH, NARROW, Column, Estimate, Table
from evaluation.reports.replication.packs import PER_CENT, Number, Pack

Kind = Literal["matched", "near", "differs", "not reproducible"]
MATCHED: Kind = "matched"
NEAR: Kind = "near"
DIFFERS: Kind = "differs"
NOT_REPRODUCIBLE: Kind = "not reproducible"
EQUAL = "equal at the printed digits"
UNEXPLAINED = "no convention that meets it is known"
ROUNDING = Decimal("1e-9")  # a float halfway between two printed numbers may be either


@dataclass(frozen=True, slots=True)
class Verdict:
    """A published number beside ours, in the published unit."""

    pack: str
    number: Number
    ours: Estimate
    kind: Kind
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
    def published(self) -> str:
        return f"{self.number.value:.{self.digits}f}{self._unit}"

    @property
    def computed(self) -> str:
        return DASH if self.ours.value is None else f"{self.ours.value:.{self.digits}f}{self._unit}"

    @property
    def interval(self) -> str:
        if self.ours.low is None or self.ours.high is None:
            return DASH
        return f"{self.ours.low:.{self.digits}f} to {self.ours.high:.{self.digits}f}"

    @property
    def explanations(self) -> list[str]:
        """Return the convention, what was drawn again, and what explains the verdict; a match explains itself."""
        drawn = self.number.drawn and f"drawn again: {self.number.drawn}"
        if self.kind == NOT_REPRODUCIBLE:
            return [_sentence(self.why)]
        texts = (self.number.convention, drawn, "" if self.kind == MATCHED else self.why)
        return [_sentence(text) for text in texts if text]

    @property
    def reasons(self) -> str:
        return ". ".join(self.explanations)

    @property
    def _unit(self) -> str:
        return f"{NARROW}%" if self.number.unit == PER_CENT else ""


def verdict_of(
    pack: Pack,
    number: Number,
    ours: Estimate | None,
    others: Mapping[str, float | None] | None = None,
    missing: str = "",
) -> Verdict:
    """Compare; ``others`` are our values by other conventions, ``missing`` says why ours is None."""
    computed = None if ours is None else json_float(ours.value)
    if ours is None or computed is None:
        return Verdict(pack.name, number, Estimate(None), NOT_REPRODUCIBLE, missing or number.missing)
    value = computed * number.scale
    # What was not drawn again has no error of drawing: it is equal or it is not.
    ends = map(json_float, (ours.low, ours.high) if number.drawn else (None, None))
    low, high = (None if end is None else end * number.scale for end in ends)
    estimate = Estimate(value, low, high, ours.n)
    if is_equal(number, value):
        return Verdict(pack.name, number, estimate, MATCHED, EQUAL)
    near = low is not None and high is not None and low <= float(number.value) <= high
    why = _tried(number, others or {}) or ("" if near else UNEXPLAINED)
    return Verdict(pack.name, number, estimate, NEAR if near else DIFFERS, why)


def _tried(number: Number, others: Mapping[str, float | None]) -> str:
    """Return what other conventions give: those that meet the number, else all of them."""
    values = {what: value * number.scale for what, value in others.items() if value is not None}
    met = {what: value for what, value in values.items() if is_equal(number, value)}
    digits = _digits(number) + bool(number.unit or _digits(number))
    texts = [f"{value:.{digits}f} ({what})" for what, value in (met or values).items()]
    return f"{'met by' if met else 'not met either by'} {', '.join(texts)}" if texts else ""


def is_equal(number: Number, value: float) -> bool:
    """Return whether a value, in the number's unit, prints as the number."""
    half = Decimal(1).scaleb(-_digits(number)) / 2
    return abs(Decimal(value) - Decimal(number.value)) <= half + ROUNDING


def _digits(number: Number) -> int:
    exponent = Decimal(number.value).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


SHORT = 24  # characters of a convention that is repeated rather than looked up
COLUMNS = ("place", "number", "published", "ours", "interval", "verdict", "convention, and why")


def verdict_rows(verdicts: Sequence[Verdict]) -> list[tuple[str, ...]]:
    return [
        (
            verdict.number.place,
            verdict.number.what,
            verdict.published,
            verdict.computed,
            verdict.interval,
            verdict.kind,
            verdict.reasons,
        )
        for verdict in verdicts
    ]


def describe_estimate(ours: Estimate, digits: int, *, scale: float = 1, unit: str = "") -> str:
    """Format as ``0.55 (0.54 to 0.58)``, or the value alone without an interval."""
    figures = map(json_float, (ours.value, ours.low, ours.high))
    value, low, high = (None if figure is None else f"{scale * figure:.{digits}f}" for figure in figures)
    if value is None:
        return DASH
    ends = "" if low is None or high is None else f" ({low} to {high})"
    return f"{value}{unit}{ends}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}".removesuffix(".")


def verdict_table(pack: Pack, verdicts: Sequence[Verdict]) -> Table:
    columns = tuple(Column(name) for name in COLUMNS)
    return Table(
        f"{pack.name}-numbers", "Published numbers beside ours", columns, tuple(verdict_rows(verdicts))
    )


def verdict_markdown(pack: Pack, verdicts: Sequence[Verdict]) -> str:
    """Return the section of a pack in `verdicts.md`; what explains several numbers stands there once."""
    compared = [verdict for verdict in verdicts if verdict.kind != NOT_REPRODUCIBLE]
    counts = Counter(text for verdict in compared for text in verdict.explanations)
    notes = [text for text, count in counts.items() if count > 1 and len(text) > SHORT]
    lines = [f"### {pack.name}", "", f"{pack.contents.title}. {tally(verdicts)}", ""]
    if compared:
        lines += [_row(COLUMNS), _row(["---"] * len(COLUMNS))]
    for verdict, row in zip(compared, verdict_rows(compared), strict=True):
        lines.append(_row([cell.replace("|", "\\|") for cell in (*row[:-1], _with_notes(verdict, notes))]))
    if notes:
        lines += ["", *(f"{number}. {note}" for number, note in enumerate(notes, 1))]
    if len(compared) < len(verdicts):
        lines += ["", "Not reproducible:", "", *_not_reproducible(verdicts)]
    return "\n".join(lines) + "\n"


def _with_notes(verdict: Verdict, notes: Sequence[str]) -> str:
    others = ". ".join(text for text in verdict.explanations if text not in notes)
    marks = ", ".join(f"[{notes.index(text) + 1}]" for text in verdict.explanations if text in notes)
    return f"{marks} {others}".strip()


def _not_reproducible(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield for each reason the published numbers, by the place where they are printed."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for verdict in verdicts:
        if verdict.kind == NOT_REPRODUCIBLE:
            places = reasons.setdefault(verdict.reasons, {})
            places.setdefault(verdict.number.place, []).append(f"{verdict.number.what}: {verdict.published}")
    for reason, places in reasons.items():
        numbers = " ".join(f"*{location}*: {'; '.join(texts)}." for location, texts in places.items())
        yield f"- {reason}. {numbers}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def tally(verdicts: Sequence[Verdict]) -> str:
    kinds = [verdict.kind for verdict in verdicts]
    differ = kinds.count(DIFFERS)
    return (
        f"{len(kinds)} published number{'s' * (len(kinds) != 1)}: {kinds.count(MATCHED)} matched, "
        f"{kinds.count(NEAR)} near, {differ} differ{'s' * (differ == 1)}, "
        f"{kinds.count(NOT_REPRODUCIBLE)} not reproducible."
    )
