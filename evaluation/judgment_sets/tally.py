"""The judgment signature: how a set of judgments came about, in one line. Pure.

sacrebleu's signature says how a score was made (Post 2018, "A Call for Clarity in Reporting BLEU Scores"); this one
says how people's judgments were: how many pairs, references and votes, how evenly sides were shown, which control rule,
how votes become a consensus, what becomes of ties, the seed, a hash of the data, the version (docs/signatures.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evaluation.provenance import DataHash
from evaluation.signatures import Signature, Value
from judgments.kinds import Kind

FIRST_LEFT = "first-left"
DIGITS_OF_HASH = 16  # 64 bits: enough to tell data apart, short enough for a caption


@dataclass(slots=True)
class JudgmentTally:
    """Takes in judgments by unit, and within a unit by worker's name; keeps nothing of them but counts and a hash."""

    counted: int = 0
    sided: int = 0
    first_left: int = 0
    units: int = 0
    least: int = 0
    most: int = 0
    _unit: str | None = None
    _votes: int = 0
    _hash: DataHash = field(default_factory=DataHash)

    def add(self, unit: str, worker: str, answer: Any, *, used: bool, control: bool, presented: str) -> None:
        """Take in one judgment; ``answer`` is the canonical one, ``presented`` '' where there are no sides."""
        self._hash.add(unit, worker, answer, used)
        if control or not used:
            return
        if unit != self._unit:
            self._close()
            self._unit = unit
        self._votes += 1
        self.counted += 1
        if presented:
            self.sided += 1
            self.first_left += presented == FIRST_LEFT

    def _close(self) -> None:
        """A unit has all its votes."""
        if self._votes:
            self.least = min(self.least, self._votes) if self.units else self._votes
            self.most = max(self.most, self._votes)
            self.units += 1
        self._votes = 0

    def facts(self) -> Votes:
        """What was taken in so far."""
        self._close()
        self._unit = None
        return Votes(
            self.units,
            self.least,
            self.most,
            self.sided,
            self.first_left,
            self._hash.hexdigest(),
            self.counted,
        )


@dataclass(frozen=True, slots=True)
class Votes:
    """What people gave.

    Attributes:
        units: judged units with a counted vote.
        least, most: counted votes of a unit that has any.
        sided, first_left: counted votes on units with two sides, and those whose first option stood on the left.
        data_hash: of all judgments, used or not.
        counted: how many counted votes there are.
    """

    units: int
    least: int
    most: int
    sided: int
    first_left: int
    data_hash: str
    counted: int


@dataclass(frozen=True, slots=True)
class Material:
    """What was judged: no control items.

    Attributes:
        pairs: candidate pairs; None where units stand alone.
        references: the fewest and most references that a pair was judged against; (0, 0) where none was shown.
    """

    units: int
    pairs: int | None
    images: int
    references: tuple[int, int]


def span(low: int, high: int) -> Value:
    """``3``, or ``2-5`` where uneven."""
    return low if low == high else f"{low}-{high}"


def judgment_signature(
    kind: Kind,
    material: Material,
    votes: Votes,
    *,
    controls: Value,
    seed: int,
    version: str,
    others: Mapping[str, Value] | None = None,
) -> Signature:
    """The signature of judgments of ``kind``.

    Args:
        controls: the share of control items a worker must get right; 'none', or 'as-imported'.
        others: what stands there only where it is so: a stopping rule, adjudicated units, simulated answers.
    """
    least = votes.least if votes.units == material.units else 0
    fields: dict[str, Value] = {}
    if material.pairs is not None:
        fields["pairs"] = material.pairs
    fields |= {
        "units": material.units,
        "imgs": material.images,
        "refs": span(*material.references),
        "votes": span(least, votes.most),
        "sides": round(votes.first_left / votes.sided, 3) if votes.sided else "none",
        "ctrl": controls,
        "agg": f"{kind.aggregation}-then-pairs" if material.pairs is not None else kind.aggregation,
        "ties": kind.tie_rule,
        **(others or {}),
        "seed": seed,
        "data": votes.data_hash[:DIGITS_OF_HASH],
    }
    return Signature(kind.name, fields, version)


@dataclass(frozen=True, slots=True)
class Difference:
    """A field of two signatures that is not the same; None where one has no such field."""

    field: str
    stated: Value
    found: Value

    def __str__(self) -> str:
        return f"{self.field}: stated {_said(self.stated)}, found {_said(self.found)}"


def differences(stated: Signature, found: Signature) -> list[Difference]:
    """Field by field, in the order of ``stated``; the protocol and the version are fields too."""
    one = {"protocol": stated.name, **stated.fields, "v": stated.version}
    two = {"protocol": found.name, **found.fields, "v": found.version}
    return [
        Difference(name, one.get(name), two.get(name))
        for name in dict.fromkeys((*one, *two))
        if one.get(name) != two.get(name) or (name in one) != (name in two)
    ]


def _said(value: Value) -> str:
    return "nothing" if value is None else str(value)
