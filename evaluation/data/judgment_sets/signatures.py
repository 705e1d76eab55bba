"""Judgment signatures, which state how judgments were made (docs/signatures.md).

The form is that of sacrebleu's signatures of scores (Post 2018, "A Call for Clarity in Reporting BLEU Scores").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evaluation.data.judgment_sets.tallies import VoteCounts
from judgments.kinds import Kind
from quorum.numeric.signatures import Signature, Value

AS_IMPORTED = "as-imported"  # in place of the required share of right control items, for imported judgments

DIGITS_OF_HASH = 16  # 64 bits, enough to distinguish data, and short enough for a plot


@dataclass(frozen=True, slots=True)
class MaterialCounts:
    """Counts of the judged material, without control items, for the signature.

    Attributes:
        pairs: number of candidate pairs; None if units are single.
        references: fewest and most references of a pair or image; (0, 0) if none was shown.
    """

    units: int
    pairs: int | None
    images: int
    references: tuple[int, int]


def range_value(low: int, high: int) -> Value:
    """Return a range as the value of a field, such as ``2-5``, or one number if both ends are equal."""
    return low if low == high else f"{low}-{high}"


def judgment_signature(
    kind: Kind,
    material: MaterialCounts,
    votes: VoteCounts,
    *,
    controls: Value,
    seed: int,
    version: str,
    others: Mapping[str, Value] | None = None,
) -> Signature:
    """Return the signature of judgments of ``kind``.

    Args:
        controls: the required share of right answers to control items, 'none', or 'as-imported'.
        version: the version of Quorum.
        others: optional fields, such as a stopping rule, adjudicated units, simulated answers.
    """
    # Units without a vote are not among ``votes.units``.
    fewest_votes = votes.least if votes.units == material.units else 0
    fields: dict[str, Value] = {}
    if material.pairs is not None:
        fields["pairs"] = material.pairs
    fields |= {
        "units": material.units,
        "imgs": material.images,
        "refs": range_value(*material.references),
        "votes": range_value(fewest_votes, votes.most),
        "sides": round(votes.first_left / votes.sided, 3) if votes.sided else "none",  # first on the left
        "ctrl": controls,
        "agg": f"{kind.aggregation.rule}-then-pairs" if material.pairs is not None else kind.aggregation.rule,
        "ties": kind.aggregation.tie_rule,
        **(others or {}),
        "seed": seed,
        "data": votes.data_hash[:DIGITS_OF_HASH],
    }
    return Signature(kind.name, fields, version)


@dataclass(frozen=True, slots=True)
class Difference:
    """A field with different values in two signatures; a value is None if the field is missing."""

    field: str
    stated_value: Value
    current_value: Value

    def __str__(self) -> str:
        return (
            f"{self.field}: stated {_value_text(self.stated_value)}, found {_value_text(self.current_value)}"
        )


def differences(stated: Signature, current: Signature) -> list[Difference]:
    """Return the fields in which two signatures differ, including protocol and version, in the order of ``stated``."""
    stated_fields = {"protocol": stated.name, **stated.fields, "v": stated.version}
    current_fields = {"protocol": current.name, **current.fields, "v": current.version}
    return [
        Difference(name, stated_fields.get(name), current_fields.get(name))
        for name in dict.fromkeys((*stated_fields, *current_fields))
        if stated_fields.get(name) != current_fields.get(name)
        or (name in stated_fields) != (name in current_fields)  # a field with the value None is not missing
    ]


def _value_text(value: Value) -> str:
    return "nothing" if value is None else str(value)
