"""Compare metrics with people on the same halves of the votes, with one rule for ties, and their ceiling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evaluation.arrays import places_in
from evaluation.judgment_sets.records import NO_PAIR, Floats, Ints, JudgmentTable, UnitRow, Units
from evaluation.provenance import plain
from evaluation.statistics.clustering import ITEM, share_of_rows
from evaluation.statistics.meta import Halves, halves_of_votes, metric_winners
from evaluation.statistics.resampling import CONFIDENCE


def halves_of_pairs(table: JudgmentTable, units: Sequence[UnitRow], pairs: Ints) -> Halves:
    """Return the probabilities of (P,) pairs, by row id.

    Votes are split; for pairs of several units (triplets), units are, each won by most of its votes.
    """
    units = Units.of(units)
    place = places_in(units.pk, table.unit[table.counted])
    side = table.value[table.counted]
    vote = ((side == 1) * 1 - (side == 2))[place >= 0]
    place = place[place >= 0]
    known = units.pair != NO_PAIR
    if np.bincount(places_in(pairs, units.pair[known]) + 1, minlength=1)[1:].max(initial=0) > 1:
        balance = np.bincount(place, weights=vote, minlength=len(units))
        judged = np.flatnonzero(np.bincount(place, minlength=len(units)))
        vote, place = np.sign(balance[judged]).astype(np.int64), judged
    pair = places_in(pairs, units.pair[place])
    vote, pair = vote[pair >= 0], pair[pair >= 0]
    counts = [np.bincount(pair[vote == side], minlength=len(pairs)) for side in (1, -1, 0)]
    return halves_of_votes(*counts)


def on_the_same_halves(
    halves: Halves,
    scores: Mapping[str, Floats],
    kinds: Mapping[str, Any],
    images: Sequence[Any] | None,
) -> dict[str, Any]:
    """Return pair kind -> ``people``, ``ceiling``, and ``metrics`` by name; {} without a pair of two votes.

    Args:
        scores: metric -> (P, 2).
        kinds: pair kind -> (P,) bool.
        images: (P,); None takes pairs as independent.
    """
    known = halves.decided > 0
    columns = {ITEM: np.arange(len(known)) if images is None else np.array(images, dtype=object)}
    reached = {name: halves.reached(metric_winners(both[:, 0], both[:, 1])) for name, both in scores.items()}

    def cell(values: Floats, here: Any) -> dict[str, Any]:
        shares = np.divide(values, halves.decided, out=np.zeros(len(values)), where=known)
        found = share_of_rows(shares, columns, CONFIDENCE, keep=here, weights=halves.decided)
        share = float(values[here].sum() / halves.decided[here].sum())
        return {"value": share, "low": plain(found.low), "high": plain(found.high), "n": int(here.sum())}

    return {
        kind: {
            "people": cell(halves.agree, known & there),
            "ceiling": cell(halves.ceiling, known & there),
            "metrics": {name: cell(values, known & there) for name, values in reached.items()},
        }
        for kind, there in kinds.items()
        if (known & there).any()
    }
