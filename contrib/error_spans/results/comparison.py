"""Compare the scores of two systems by marked errors."""

from __future__ import annotations

from dataclasses import dataclass

from common.amounts import json_float
from contrib.error_spans.results.segments import Segment, Segments, outputs_of_segments
from evaluation.errors import EvaluationError
from quorum.statistics.crossed import CONFIDENCE


@dataclass(frozen=True, slots=True)
class SystemsComparison:
    """The mean difference of two systems' scores, first minus second, over the items for which both have a segment.

    Attributes:
        difference: the mean difference, with its interval ``low``, ``high``; None if no item has a segment of both.
        p: p-value of the difference; None if it cannot be tested.
        better, worse: numbers of items on which the first system has the higher, and the lower score.
        segments: number of items.
        reason: why there is no difference, or "".
    """

    first: str
    second: str
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    better: int
    worse: int
    segments: int
    reason: str


def compare_systems(segments: Segments, first: str, second: str) -> SystemsComparison:
    """Compare two systems on the segments of both. Raise EvaluationError if they are one, or one has no judged text."""
    for name in (first, second):
        if name not in segments:
            raise EvaluationError(
                f"System {name!r} has no judged text in the study; there are {', '.join(segments) or 'none'}."
            )
    if first == second:
        raise EvaluationError(f"Both systems are {first!r}; expected two different systems.")
    shared_pairs = shared_segments(segments, first, second)
    differences = [segment.score - other_segment.score for segment, other_segment in shared_pairs]
    outputs = outputs_of_segments({first: segments[first], second: segments[second]})
    assert outputs is not None  # each system in `segments` has a segment
    # The first system minus the second; all nan if no item has a segment of both.
    mean, spread, _ = outputs.contrast({0: 1.0, 1: -1.0})
    p = outputs.compare(0, 1).p
    half_width = spread.half_width(CONFIDENCE)
    return SystemsComparison(
        first=first,
        second=second,
        difference=json_float(mean),
        low=json_float(mean - half_width),
        high=json_float(mean + half_width),
        p=json_float(p),
        better=sum(difference > 0 for difference in differences),
        worse=sum(difference < 0 for difference in differences),
        segments=len(shared_pairs),
        reason="" if shared_pairs else "no item has a judged text of both",
    )


def shared_segments(segments: Segments, first: str, second: str) -> list[tuple[Segment, Segment]]:
    """Return the two systems' segments of each item for which both have one, largest difference of scores first."""
    second_segments = {segment.item: segment for segment in segments[second]}
    pairs = [
        (segment, second_segments[segment.item])
        for segment in segments[first]
        if segment.item in second_segments
    ]
    return sorted(pairs, key=lambda pair: -abs(pair[0].score - pair[1].score))
