"""Which workers' judgments are used: the share of control items they got right (H13 §4.3.2). Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class ControlRecord:
    """How a worker did on control items.

    Attributes:
        seen: control items judged; items that the designer struck are not among them.
        right: how many of them were answered as expected.
        share: right / seen; None where none was seen.
        used: whether the worker's judgments are used.
        by_kind: kind of control item -> (seen, right).
    """

    seen: int
    right: int
    share: float | None
    used: bool
    by_kind: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def control_record(seen: int, right: int, threshold: float) -> ControlRecord:
    """The rule: used from ``threshold`` on (equality is kept), and where no control item was seen."""
    if not seen:
        return ControlRecord(seen=0, right=0, share=None, used=True)
    # the quotient is the double nearest to the true share, so that 7 of 10 reaches a threshold written 0.7
    share = right / seen
    return ControlRecord(seen=seen, right=right, share=share, used=share >= threshold)


def control_records(
    answers: Iterable[tuple[Any, ...]],
    *,
    threshold: float,
    is_right: Callable[[Any, Any], bool],
) -> dict[int, ControlRecord]:
    """The record of each worker who saw a control item.

    Args:
        answers: (worker, given, expected) or (worker, given, expected, kind of control item, ...) of each judgment on a
            control item that was not struck (``annotation.controls.control_answers``).
        threshold: the design's ``controls.threshold``.
        is_right: the kind's comparison of an answer with what was expected.
    """
    return tallied_records(
        ((worker, given, expected, rest[0] if rest else "", 1) for worker, given, expected, *rest in answers),
        threshold=threshold,
        is_right=is_right,
    )


def tallied_records(
    tallies: Iterable[tuple[int, Any, Any, str, int]],
    *,
    threshold: float,
    is_right: Callable[[Any, Any], bool],
) -> dict[int, ControlRecord]:
    """``control_records`` of answers that were counted together (``annotation.controls.control_tallies``)."""
    counts: dict[int, dict[str, list[int]]] = {}
    for worker, given, expected, control_kind, n in tallies:
        count = counts.setdefault(worker, {}).setdefault(control_kind, [0, 0])
        count[0] += n
        count[1] += n * (given is not None and is_right(given, expected))
    records = {}
    for worker, kinds in counts.items():
        record = control_record(
            sum(seen for seen, _ in kinds.values()), sum(right for _, right in kinds.values()), threshold
        )
        by_kind = {name: (seen, right) for name, (seen, right) in sorted(kinds.items())}
        records[worker] = replace(record, by_kind=by_kind)
    return records


@dataclass(frozen=True, slots=True)
class RunningAccuracy:
    """How a worker is doing on control items, answer by answer.

    Attributes:
        seen, right: so far.
        share: right / seen; nan before the first one.
        below: the share is below the threshold, and enough were seen to say so.
        first_below: after how many control items that was so for the first time; None where it never was. Looking after
            every answer finds a low share sooner or later in many an honest worker: see docs/controls.md.
    """

    seen: int
    right: int
    share: float
    below: bool
    first_below: int | None


def running_accuracy(rights: Sequence[bool], *, after: int, threshold: float) -> RunningAccuracy:
    """The accuracy over control items in the order in which a worker answered them.

    Args:
        rights: whether each was right.
        after: the design's ``controls.after``: fewer say nothing.
        threshold: the design's ``controls.threshold``; equality is not below it.
    """
    right = 0
    first_below = None
    below = False
    for seen, one in enumerate(rights, start=1):
        right += one
        below = seen >= after and right / seen < threshold
        if below and first_below is None:
            first_below = seen
    share = right / len(rights) if rights else float("nan")
    return RunningAccuracy(len(rights), right, share, below, first_below)
