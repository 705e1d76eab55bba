"""Which workers' judgments are used: the share of control items they got right (H13 §4.3.2). Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ControlRecord:
    """How a worker did on control items.

    Attributes:
        seen: control items judged; items that the designer struck are not among them.
        right: how many of them were answered as expected.
        share: right / seen; None where none was seen.
        used: whether the worker's judgments are used.
    """

    seen: int
    right: int
    share: float | None
    used: bool


def control_record(seen: int, right: int, threshold: float) -> ControlRecord:
    """The rule: used from ``threshold`` on (equality is kept), and where no control item was seen."""
    if not seen:
        return ControlRecord(seen=0, right=0, share=None, used=True)
    # the quotient is the double nearest to the true share, so that 7 of 10 reaches a threshold written 0.7
    share = right / seen
    return ControlRecord(seen=seen, right=right, share=share, used=share >= threshold)


def control_records(
    answers: Iterable[tuple[int, int | None, Any]],
    *,
    threshold: float,
    is_right: Callable[[int, Any], bool],
) -> dict[int, ControlRecord]:
    """The record of each worker who saw a control item.

    Args:
        answers: (worker, value, expected) of each judgment on a control item that was not struck.
        threshold: the design's ``controls.threshold``.
        is_right: the kind's comparison of a value with what was expected.
    """
    seen: dict[int, int] = {}
    right: dict[int, int] = {}
    for worker, value, expected in answers:
        seen[worker] = seen.get(worker, 0) + 1
        right[worker] = right.get(worker, 0) + (value is not None and is_right(value, expected))
    return {worker: control_record(count, right[worker], threshold) for worker, count in seen.items()}
