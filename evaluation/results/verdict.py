"""Which metric is ahead: one verdict, in the same words, for pages, dashboard, report, API and commands.

It goes with the report's letters: exact McNemar tests of every two metrics, with Holm's correction, part metrics
on pairs. Rank correlations are parted by their intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any, TypedDict

import numpy as np

from common.errors import counted
from evaluation.judgment_sets.records import Flags, Floats, Ints
from evaluation.provenance import plain
from evaluation.report.content import coefficient, p_in_text, percent, percent_number
from evaluation.statistics.meta import clusters_of_p_values, metric_winners
from evaluation.statistics.significance import mcnemar_test

LEVEL = 0.05
MOST_NAMED = 6
TESTS, INTERVALS = "mcnemar-holm", "intervals"
MCNEMAR = "exact McNemar tests, Holm’s correction"
NO_PAIRS = "No candidate pair has a consensus yet, so no metric can be held against one."
NO_METRIC = "No metric was held against people yet."
UNTESTED = (
    "“Compute now” tests which metric is ahead; these figures are of an earlier version, which did not."
)
Cells = Mapping[str, Mapping[str, Any]]


class Verdict(TypedDict):
    """The best metrics, as JSON.

    ``leaders`` are the metric with the highest value and all that cannot be told apart from it; ``p`` is the
    largest adjusted p of the ``rest`` against the highest.
    """

    settled: bool
    leaders: list[str]
    rest: list[str]
    p: float | None
    n: int
    by: str
    sentence: str


def paired_p(names: Sequence[str], test: Callable[[str, str], float]) -> Floats:
    """Return the (K, K) p of all pairs; nan on the diagonal and where undefined."""
    p = np.full((len(names), len(names)), np.nan)
    for one, two in combinations(range(len(names)), 2):
        p[one, two] = p[two, one] = test(names[two], names[one])
    return p


def right_pairs(scores: Mapping[str, Floats], winners: Ints) -> dict[str, Flags]:
    """Return whether each metric, by its (N, 2) scores, names people's winner of each pair."""
    return {name: metric_winners(both[:, 0], both[:, 1]) == winners for name, both in scores.items()}


def leaders_by_tests(
    names: Sequence[str], values: Sequence[float], p: Floats
) -> tuple[list[str], list[str], float | None]:
    """Return those that the highest does not beat, the rest, and the largest p of the rest."""
    found = clusters_of_p_values(values, p, names, correction="holm", level=LEVEL)
    behind = (found.adjusted_p[0] <= found.level) & (found.values[0] > found.values)
    leaders = [name for name, beaten in zip(found.names, behind, strict=True) if not beaten]
    rest = [name for name in found.names if name not in leaders]
    return leaders, rest, plain(found.adjusted_p[0][behind].max()) if rest else None


def leaders_by_intervals(cells: Cells) -> tuple[list[str], list[str]]:
    """Return those whose interval reaches that of the highest, best first, and the rest."""
    known = {name: cell for name, cell in cells.items() if cell["value"] is not None}
    order = sorted(known, key=lambda name: -known[name]["value"])
    if not order:
        return [], []
    low = known[order[0]]["low"]
    highs = {name: known[name]["high"] for name in order}
    leaders = [
        name for name in order if name == order[0] or low is None or highs[name] is None or highs[name] >= low
    ]
    return leaders, [name for name in order if name not in leaders]


def pair_verdict(right: Mapping[str, Flags], cells: Cells) -> Verdict:
    """Judge metrics on the pairs of one kind.

    Args:
        right: metric -> (N,) whether it names people's winner of each decided pair.
        cells: metric -> its share of right pairs with an interval.
    """
    n = len(next(iter(right.values()), ()))
    if not n:
        return _verdict([], [], None, 0, TESTS, NO_PAIRS if right else NO_METRIC)
    names = sorted(right, key=lambda name: -int(right[name].sum()))
    p = paired_p(names, lambda one, two: mcnemar_test(right[one], right[two]).exact_p)
    leaders, rest, largest = leaders_by_tests(names, [float(right[name].mean()) for name in names], p)
    shares = [cells[name]["value"] for name in leaders]
    said = f"people’s winner on {_range(shares, percent, percent_number)} of {counted(n, 'pair')}"
    tested = f"{p_in_text(largest)}, {MCNEMAR}" if largest is not None else MCNEMAR
    if len(leaders) == 1:
        interval = f"95 % interval {_interval(cells[leaders[0]], percent_number, percent)}"
        if rest:
            sentence = f"{leaders[0]} is ahead of {_others(rest)} ({tested}): it names {said} ({interval})."
        else:
            sentence = f"{leaders[0]} is the only metric: it names {said} ({interval})."
    elif rest:
        sentence = (
            f"No metric is ahead of all others: {listed(leaders)} share the top, naming {said}; "
            f"{_others(rest, beginning=True)} behind ({tested})."
        )
    else:
        sentence = f"No metric is ahead: {listed(leaders)} cannot be told apart ({tested}), naming {said}."
    return _verdict(leaders, rest, largest, n, TESTS, sentence)


def pair_verdicts(
    scores: Mapping[str, Floats], winners: Ints, kinds: Sequence[str], accuracy: Mapping[str, Cells]
) -> dict[str, Verdict]:
    """Judge metrics by pair kind, and over all as "all".

    Args:
        scores: metric -> (N, 2).
        winners: (N,) people's: 1, 2, or 0 for none.
        kinds: (N,) names.
        accuracy: metric -> pair kind -> share of right pairs.
    """
    right, named = right_pairs(scores, winners), np.array(kinds, dtype=np.str_)
    found = {}
    for kind in next(iter(accuracy.values()), {}):
        here = (winners > 0) & ((named == kind) if kind != "all" else True)
        cells = {name: accuracy[name][kind] for name in right}
        found[kind] = pair_verdict({name: one[here] for name, one in right.items()}, cells)
    return found


def correlation_verdict(cells: Cells) -> Verdict:
    """Judge metrics by Kendall's tau-b with people, with intervals, over captions."""
    leaders, rest = leaders_by_intervals(cells)
    if not leaders:
        why = next((cell.get("reason") for cell in cells.values() if cell.get("reason")), "")
        sentence = f"No metric can be ranked against people: {why}." if why else NO_METRIC
        return _verdict([], [], None, 0, INTERVALS, sentence)
    best = cells[leaders[0]]
    values = [cells[name]["value"] for name in leaders]
    said = f"tau-b {_range(values, coefficient, coefficient)}"
    interval = f"95 % interval {_interval(best, coefficient, coefficient)}"
    over = counted(best["n"], "caption")
    if len(leaders) == 1 and rest:
        sentence = (
            f"{leaders[0]} is ahead of {_others(rest)}: it orders {over} like people do with {said} ({interval}), and "
            "the other intervals lie below."
        )
    elif len(leaders) == 1:
        sentence = (
            f"{leaders[0]} is the only metric: it orders {over} like people do with {said} ({interval})."
        )
    elif rest:
        sentence = (
            f"No metric is ahead of all others: {listed(leaders)} share the top over {over} with {said}, where their "
            f"95 % intervals overlap; {_others(rest, beginning=True)} behind."
        )
    else:
        sentence = (
            f"No metric is ahead: the 95 % intervals of {listed(leaders)} overlap ({said} over {over})."
        )
    return _verdict(leaders, rest, None, best["n"], INTERVALS, sentence)


def levels_sentence(result: Mapping[str, Any]) -> str:
    """Return what an evaluation's verdict is to be compared with: chance, and one judge."""
    if not result["verdict"]["all"]["leaders"]:
        return ""
    if result["verdict"]["all"]["by"] == INTERVALS:
        return "Chance is 0; 1 is the same order."
    level = (result.get("people") or {}).get("all", {}).get("value")
    said = "" if level is None else f" One judge agrees with the majority of the others on {percent(level)}."
    return f"Chance is 50 %.{said}"


def listed(names: Sequence[str]) -> str:
    """Join names: a, b and c; the last of many are counted."""
    shown, left = list(names[:MOST_NAMED]), len(names) - MOST_NAMED
    if left > 0:
        shown.append(f"{left} more")
    return "".join(shown) if len(shown) < 2 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _verdict(leaders: list[str], rest: list[str], p: float | None, n: int, by: str, sentence: str) -> Verdict:
    settled = len(leaders) == 1 and bool(rest)
    return Verdict(settled=settled, leaders=leaders, rest=rest, p=p, n=n, by=by, sentence=sentence)


def _others(rest: Sequence[str], *, beginning: bool = False) -> str:
    if beginning:
        return f"{rest[0]} is" if len(rest) == 1 else f"the other {len(rest)} are"
    return rest[0] if len(rest) == 1 else f"the other {len(rest)}"


def _range(values: Sequence[float], last: Callable[[float], str], first: Callable[[float], str]) -> str:
    low, high = first(min(values)), last(max(values))
    return high if last(min(values)) == high else f"{low} to {high}"


def _interval(cell: Mapping[str, Any], first: Callable[[float], str], last: Callable[[float], str]) -> str:
    low, high = cell["low"], cell["high"]
    return "undefined" if low is None or high is None else f"{first(low)} to {last(high)}"
