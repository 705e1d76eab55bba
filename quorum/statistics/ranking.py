"""Measures of how well systems rank captions for an image, or images for a caption.

They are those of Hodosh et al. 2013 (H13), section 4.3. A query is an image for which captions are ranked, or a caption
for which images are ranked; both are items here. All measures have these arguments:

rankings: for each query, its items from best to worst, such as ["caption-7", "caption-2"].
relevant: for each query, a collection of the relevant items, or a mapping from judged items to grades, which are
relevant if above zero. `JudgedRankings`, passed as `rankings`, replace both arguments.
unjudged: how items without a judgment are treated. "count" regards them as not relevant and counts them, "leave-out"
removes them from the list (Sakai 2007), and "refuse" raises BadValue if the measure uses one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorum.numeric.arrays import Flags, Floats, Ints, starts_of
from quorum.statistics.correlation import group_coefficients
from quorum.statistics.inference import Result, signed
from quorum.statistics.inputs import (
    BadOption,
    BadShape,
    BadValue,
    check_positive_int,
    finite_vector,
    list_of_values,
    one_of,
    same_length,
)

Ranking = Sequence[Hashable]
Relevant = Collection[Hashable] | Mapping[Hashable, float]
UNJUDGED_CHOICES = ("count", "leave-out", "refuse")
NOTHING_RELEVANT = "no query has a relevant item"
MEDIAN_RANK = "median rank"
ORDER_COEFFICIENTS = ("spearman", "kendall-tau-b")
NO_ORDER = "no two systems differ in both measures"

# Codes of the items of a ranking.
_UNJUDGED, _IRRELEVANT, _RELEVANT = -1, 0, 1


@dataclass(frozen=True, slots=True)
class RankingResult(Result):
    """The value of one measure, such as "R@5", for Q queries.

    value: mean (for the median rank, median) over the queries with a relevant item. per_query: (Q,) values, nan for the
    `undefined` queries without a relevant item; a rank is inf if no relevant item was returned. unjudged: number of
    unjudged items that the measure used or left out, or None if `relevant` does not say which items are judged.
    best_case, best_per_query: what `value` and `per_query` would be if the unjudged items used were relevant.
    """

    measure: str
    value: float
    per_query: Floats
    queries: int
    undefined: int
    unjudged: int | None
    best_case: float
    best_per_query: Floats


@dataclass(frozen=True, slots=True)
class JudgedRankings:
    """The judgments of the items of Q rankings, one ranking after another.

    codes: (N,) int8 judgment of each item: 1 relevant, 0 not relevant, -1 unjudged. starts: (Q + 1,) position of each
    ranking's first item, and N. relevant_counts: (Q,) number of the query's relevant items, in the ranking or not.
    knows_unjudged: whether it is known which items are unjudged. left_out: (Q,) number of unjudged items that were
    removed, or None if "leave-out" was not chosen.
    """

    starts: Ints
    codes: NDArray[np.int8]
    relevant_counts: Ints
    knows_unjudged: bool
    left_out: Ints | None = None


@signed("recall-at", data=("relevant",))
def recall_at_k(
    rankings: Sequence[Ranking] | JudgedRankings,
    relevant: Sequence[Relevant] | None = None,
    k: int = 10,
    *,
    unjudged: str = "count",
) -> RankingResult:
    """Return R@k: the share of a query's relevant items that are among the first k of its ranking.

    In H13, the original item is the only relevant one.
    """
    k = check_positive_int(k, "k")
    lists = _read_rankings(rankings, relevant, unjudged)
    hits, unjudged_counts = _count_among_first(lists, k)
    share = _share(hits, lists.relevant_counts)
    best = _share(hits + unjudged_counts, lists.relevant_counts + unjudged_counts)
    return _result(f"R@{k}", lists, unjudged_counts, unjudged, share, best)


@signed("success-at", data=("relevant",))
def success_at_k(
    rankings: Sequence[Ranking] | JudgedRankings,
    relevant: Sequence[Relevant] | None = None,
    k: int = 10,
    *,
    unjudged: str = "count",
) -> RankingResult:
    """Return S@k: the share of queries with a relevant item among the first k of their ranking."""
    k = check_positive_int(k, "k")
    lists = _read_rankings(rankings, relevant, unjudged)
    hits, unjudged_counts = _count_among_first(lists, k)
    success, best = (hits > 0).astype(np.float64), (hits + unjudged_counts > 0).astype(np.float64)
    return _result(f"S@{k}", lists, unjudged_counts, unjudged, success, best)


@signed("r-precision", data=("relevant",))
def r_precision(
    rankings: Sequence[Ranking] | JudgedRankings,
    relevant: Sequence[Relevant] | None = None,
    *,
    unjudged: str = "count",
) -> RankingResult:
    """Return the precision at rank r for a query with r relevant items, even if its list is shorter than r.

    The best case keeps this r, although it would be larger if unjudged items were relevant.
    """
    lists = _read_rankings(rankings, relevant, unjudged)
    hits, unjudged_counts = _count_within(lists, lists.relevant_counts)
    share, best = _share(hits, lists.relevant_counts), _share(hits + unjudged_counts, lists.relevant_counts)
    return _result("R-precision", lists, unjudged_counts, unjudged, share, best)


@signed("median-rank", data=("relevant",))
def median_rank(
    rankings: Sequence[Ranking] | JudgedRankings,
    relevant: Sequence[Relevant] | None = None,
    *,
    unjudged: str = "count",
) -> RankingResult:
    """Return the median over queries of the rank, from 1, of the first relevant item; inf if none was returned."""
    lists = _read_rankings(rankings, relevant, unjudged)
    rank = _first_rank(lists, _RELEVANT)
    best = np.minimum(rank, _first_rank(lists, _UNJUDGED))
    # The measure uses the items down to the first relevant one, or all items if there is none.
    depth = np.where(lists.relevant_counts > 0, np.minimum(rank, np.diff(lists.starts)), 0).astype(np.int64)
    _, unjudged_counts = _count_within(lists, depth)
    return _result(MEDIAN_RANK, lists, unjudged_counts, unjudged, rank, best)


@dataclass(frozen=True, slots=True)
class OrderCorrelation(Result):
    """Rank correlation of the orders of systems by two measures, such as "S@5" and "R@5".

    systems: number of systems that have a value of both measures.
    """

    value: float
    systems: int


@signed("order-correlation")
def order_correlation(
    first: Sequence[RankingResult], second: Sequence[RankingResult], coefficient: str = "spearman"
) -> OrderCorrelation:
    """Return rho or tau-b between the orders of systems by a first and by a second measure (H13 4.3.5, Table 7).

    `first` and `second` have one result for each system, in the same order. A lower median rank is better. Systems
    without a value of one of the measures are left out.
    """
    one_of(coefficient, ORDER_COEFFICIENTS, "coefficient")
    same_length(first=first, second=second)
    # Round, so that shares that differ only by rounding errors are tied.
    values = np.round([_goodness_of_systems(first), _goodness_of_systems(second)], 12)
    x, y = values[:, ~np.isnan(values).any(axis=0)]
    value = float(group_coefficients(x, y, np.array([0, len(x)]), coefficient)[0]) if len(x) else math.nan
    return OrderCorrelation(value, len(x), reason=NO_ORDER if math.isnan(value) else "")


def _goodness_of_systems(results: Sequence[RankingResult]) -> list[float]:
    """Return the values of the systems, with the sign that makes larger values better."""
    return [-result.value if result.measure == MEDIAN_RANK else result.value for result in results]


def judge_rankings(rankings: Sequence[Ranking], relevant: Sequence[Relevant]) -> JudgedRankings:
    """Return the rankings with the judgments of their items, from which several measures can be computed.

    Raise BadShape if the numbers of rankings and of sets of relevant items differ, or if one is not a collection.
    """
    for name, lists in (("rankings", rankings), ("relevant", relevant)):
        # Refuse a text as a collection of items, because its letters would be read as the items.
        wrong_positions = [
            position
            for position, entry in enumerate(list_of_values(lists, name))
            if not isinstance(entry, Collection) or isinstance(entry, str | bytes)
        ]
        if wrong_positions:
            raise BadShape(f"{name}[{wrong_positions[0]}] is no collection, expected the items of a query")
    if len(rankings) != len(relevant):
        raise BadShape(f"there are {len(rankings)} rankings and {len(relevant)} sets of relevant items")
    has_grades = np.array([isinstance(items, Mapping) for items in relevant], dtype=bool)
    grades = [items.values() if isinstance(items, Mapping) else [1] * len(items) for items in relevant]
    lengths = np.array([len(ranking) for ranking in rankings], dtype=np.int64)
    queries = np.arange(len(rankings))
    ranked_items = list(chain.from_iterable(rankings))
    relevant_items = list(chain.from_iterable(relevant))
    ranked_codes, relevant_codes = _number_items(ranked_items, relevant_items)
    return _judge_rankings(
        np.repeat(queries, lengths),
        ranked_codes,
        np.repeat(queries, [len(items) for items in relevant]),
        relevant_codes,
        finite_vector(list(chain.from_iterable(grades)), "the grades of relevant"),
        has_grades,
    )


def _number_items(ranked: list[Any], relevant: list[Any]) -> tuple[Ints, Ints]:
    """Return codes of the items of both lists, equal for equal items.

    Raise BadValue if an item is missing or no single value.
    """
    # A new item gets the next code.
    code_by_item: defaultdict[Hashable, int] = defaultdict(count().__next__)
    try:
        codes = (
            np.fromiter(map(code_by_item.__getitem__, ranked), dtype=np.int64, count=len(ranked)),
            np.fromiter(map(code_by_item.__getitem__, relevant), dtype=np.int64, count=len(relevant)),
        )
    except TypeError as error:
        raise BadValue("an item is no single value, expected text, numbers or tuples of them") from error
    if any(item is None or item != item for item in code_by_item):
        raise BadValue("an item is missing, expected text, numbers or tuples of them")
    return codes


def _judge_rankings(
    query: Ints,
    item: Ints,
    judged_query: Ints,
    judged_item: Ints,
    grades: Floats,
    has_grades: Flags,
) -> JudgedRankings:
    """Return the judged rankings from columns of codes.

    query, item: (N,) the items of all rankings; queries ascend. judged_query, judged_item, grades: (J,) the judgments.
    has_grades: (Q,) whether the query's judgments are grades. If not, all its judged items are relevant, and all others
    are not. Raise BadValue if a ranking has an item twice.
    """
    # A cell is a query with an item, so cell // item_count is the query.
    item_count = max(int(item.max(initial=0)), int(judged_item.max(initial=0))) + 1
    cells, judged_cells = query * item_count + item, judged_query * item_count + judged_item
    starts = np.searchsorted(query, np.arange(len(has_grades) + 1))
    sorted_cells = np.sort(cells)
    repeated_cells = sorted_cells[:-1][sorted_cells[1:] == sorted_cells[:-1]]
    if repeated_cells.size:
        wrong_query = int(repeated_cells[0]) // item_count
        raise BadValue(f"ranking {wrong_query} has an item twice, expected every item at most once")
    # An item may be listed twice: keep its highest grade.
    order = np.lexsort((-grades, judged_cells))
    judged_cells, grades = judged_cells[order], grades[order]
    is_first = np.ones(len(judged_cells), dtype=bool)
    is_first[1:] = judged_cells[1:] != judged_cells[:-1]
    judged_cells, grades = judged_cells[is_first], grades[is_first]
    codes = np.where(has_grades[query], _UNJUDGED, _IRRELEVANT).astype(np.int8)
    if len(judged_cells):
        position = np.minimum(np.searchsorted(judged_cells, cells), len(judged_cells) - 1)
        is_judged = judged_cells[position] == cells
        codes[is_judged] = np.where(grades[position[is_judged]] > 0, _RELEVANT, _IRRELEVANT)
    relevant_counts = np.bincount(judged_cells[grades > 0] // item_count, minlength=len(has_grades))
    return JudgedRankings(starts, codes, relevant_counts, bool(has_grades.all()))


def _read_rankings(
    rankings: Sequence[Ranking] | JudgedRankings, relevant: Sequence[Relevant] | None, unjudged: str
) -> JudgedRankings:
    """Return the judged rankings, without unjudged items if `unjudged` is "leave-out"."""
    one_of(unjudged, UNJUDGED_CHOICES, "unjudged")
    if isinstance(rankings, JudgedRankings):
        if relevant is not None:
            raise BadOption("relevant is given beside judged rankings, expected one of the two")
        lists = rankings
    elif relevant is None:
        raise BadOption("relevant is missing, expected the relevant items of each query")
    else:
        lists = judge_rankings(rankings, relevant)
    if unjudged != "leave-out":
        return lists
    is_kept = lists.codes != _UNJUDGED
    new_starts = starts_of(is_kept)[lists.starts]
    removed_counts = np.diff(lists.starts) - np.diff(new_starts)
    return replace(lists, starts=new_starts, codes=lists.codes[is_kept], left_out=removed_counts)


def _count_among_first(lists: JudgedRankings, k: int) -> tuple[Ints, Ints]:
    """Return the (Q,) numbers of relevant and of unjudged items among the first k of each ranking."""
    depth = min(k, len(lists.codes))  # a very large k would overflow
    return _count_within(lists, np.full(len(lists.relevant_counts), depth))


def _count_within(lists: JudgedRankings, depth: Ints) -> tuple[Ints, Ints]:
    """Return the (Q,) numbers of relevant and of unjudged items among the first `depth` (Q,) items."""
    starts = lists.starts[:-1]
    ends = np.minimum(starts + depth, lists.starts[1:])
    # Differences of running counts are the counts between two positions.
    relevant_before = starts_of(lists.codes == _RELEVANT)
    unjudged_before = starts_of(lists.codes == _UNJUDGED)
    return relevant_before[ends] - relevant_before[starts], unjudged_before[ends] - unjudged_before[starts]


def _first_rank(lists: JudgedRankings, code: int) -> Floats:
    """Return the (Q,) ranks, from 1, of the first items with this code; inf if a list has none."""
    # The next position with this code from each start on; the end of all lists stands for none.
    positions = np.append(np.flatnonzero(lists.codes == code), len(lists.codes))
    position = positions[np.searchsorted(positions, lists.starts[:-1])]
    return np.where(position < lists.starts[1:], position - lists.starts[:-1] + 1.0, math.inf)


def _share(counts: Ints, totals: Ints) -> Floats:
    """Return (Q,) quotients; 0 instead of 0 / 0."""
    return counts / np.maximum(totals, 1)


def _result(
    measure: str,
    lists: JudgedRankings,
    unjudged_counts: Ints,
    unjudged: str,
    per_query: Floats,
    best: Floats,
) -> RankingResult:
    """Return the result of a measure.

    unjudged_counts: (Q,) numbers of unjudged items that the measure used. per_query: (Q,) values. best: (Q,) values if
    these items were relevant.
    """
    if unjudged == "refuse" and unjudged_counts.any():
        where = int(np.flatnonzero(unjudged_counts)[0])
        raise BadValue(
            f"query {where} has {unjudged_counts[where]} unjudged items where {measure} looks, expected judged ones"
        )
    has_relevant = lists.relevant_counts > 0
    per_query, best = np.where(has_relevant, per_query, math.nan), np.where(has_relevant, best, math.nan)
    average = np.median if measure == MEDIAN_RANK else np.mean
    unjudged_items = unjudged_counts if lists.left_out is None else lists.left_out
    return RankingResult(
        measure=measure,
        value=float(average(per_query[has_relevant])) if has_relevant.any() else math.nan,
        per_query=per_query,
        queries=len(has_relevant),
        undefined=int((~has_relevant).sum()),
        unjudged=int(unjudged_items.sum()) if lists.knows_unjudged else None,
        best_case=float(average(best[has_relevant])) if has_relevant.any() else math.nan,
        best_per_query=best,
        reason="" if has_relevant.any() else NOTHING_RELEVANT,
    )
