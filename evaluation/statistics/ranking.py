"""How well systems rank captions for an image, or images for a caption (H13 section 4.3).

A ranking is a query's list of items from best to worst; `relevant` says per query which items are
relevant: a collection of them, or a mapping from items to grades, where above zero is relevant and an
item that is not in it was never judged. Unjudged items count as not relevant, and are counted.
"""

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.statistics.errors import BadShape, BadValue
from evaluation.statistics.tables import Floats, positive

Ranking = Sequence[Hashable]
Relevant = Collection[Hashable] | Mapping[Hashable, float]


@dataclass(frozen=True, slots=True)
class RankingResult:
    """One measure over Q queries.

    measure: its text form, such as "R@5". value: the mean over queries (of "median rank": the median).
    per_query: (Q,); nan where a query has no relevant item at all, which `undefined` counts and the
    value leaves out; a rank is inf where no relevant item was returned. unjudged: looked-at items that
    nobody judged, over all queries; None where `relevant` does not tell judged from unjudged.
    """

    measure: str
    value: float
    per_query: Floats
    queries: int
    undefined: int
    unjudged: int | None


def recall_at_k(rankings: Sequence[Ranking], relevant: Sequence[Relevant], k: int) -> RankingResult:
    """R@k: the part of a query's relevant items among its first k (H13: of the one original item)."""
    queries = _queries(rankings, relevant)
    cut = positive(k, "k")
    hits = [_ratio(len(query.hits(cut)), query.total) for query in queries]
    return _mean(f"R@{cut}", hits, queries, [cut] * len(queries))


def success_at_k(rankings: Sequence[Ranking], relevant: Sequence[Relevant], k: int) -> RankingResult:
    """S@k: whether a relevant item is among the first k."""
    queries = _queries(rankings, relevant)
    cut = positive(k, "k")
    hits = [_ratio(bool(query.hits(cut)), bool(query.total)) for query in queries]
    return _mean(f"S@{cut}", hits, queries, [cut] * len(queries))


def r_precision(rankings: Sequence[Ranking], relevant: Sequence[Relevant]) -> RankingResult:
    """Precision at rank r for a query with r relevant items; a list shorter than r is not forgiven."""
    queries = _queries(rankings, relevant)
    hits = [_ratio(len(query.hits(query.total)), query.total) for query in queries]
    return _mean("R-precision", hits, queries, [query.total for query in queries])


def median_rank(rankings: Sequence[Ranking], relevant: Sequence[Relevant]) -> RankingResult:
    """Median over queries of the rank, from 1, of the first relevant item; inf where none was returned."""
    queries = _queries(rankings, relevant)
    ranks = []
    for query in queries:
        hits = query.hits(len(query.ranking))
        ranks.append(math.nan if not query.total else hits[0] + 1.0 if hits else math.inf)
    per_query = np.array(ranks, dtype=np.float64)
    defined = per_query[~np.isnan(per_query)]
    # A reader looks down to the first relevant item, or to the end.
    depths = [
        0 if math.isnan(rank) else len(query.ranking) if math.isinf(rank) else int(rank)
        for query, rank in zip(queries, ranks, strict=True)
    ]
    return RankingResult(
        "median rank",
        float(np.median(defined)) if len(defined) else math.nan,
        per_query,
        len(queries),
        len(per_query) - len(defined),
        _unjudged(queries, depths),
    )


@dataclass(frozen=True, slots=True)
class _Query:
    ranking: Ranking
    relevant: frozenset[Hashable]
    judged: frozenset[Hashable] | None

    @property
    def total(self) -> int:
        return len(self.relevant)

    def hits(self, depth: int) -> list[int]:
        """Positions from 0 of the relevant items among the first `depth`."""
        return [place for place, item in enumerate(self.ranking[:depth]) if item in self.relevant]


def _queries(rankings: Sequence[Ranking], relevant: Sequence[Relevant]) -> list[_Query]:
    if len(rankings) != len(relevant):
        raise BadShape(f"there are {len(rankings)} rankings and {len(relevant)} sets of relevant items")
    queries = []
    for place, (ranking, wanted) in enumerate(zip(rankings, relevant, strict=True)):
        if len(set(ranking)) != len(ranking):
            raise BadValue(f"ranking {place} has an item twice, expected every item at most once")
        if isinstance(wanted, Mapping):
            positives = frozenset(item for item, grade in wanted.items() if grade > 0)
            queries.append(_Query(ranking, positives, frozenset(wanted)))
        else:
            queries.append(_Query(ranking, frozenset(wanted), None))
    return queries


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else math.nan


def _mean(measure: str, values: list[float], queries: list[_Query], depths: list[int]) -> RankingResult:
    per_query = np.array(values, dtype=np.float64)
    defined = per_query[~np.isnan(per_query)]
    return RankingResult(
        measure,
        float(defined.mean()) if len(defined) else math.nan,
        per_query,
        len(queries),
        len(per_query) - len(defined),
        _unjudged(queries, depths),
    )


def _unjudged(queries: list[_Query], depths: list[int]) -> int | None:
    count = 0
    for query, depth in zip(queries, depths, strict=True):
        if query.judged is None:
            return None
        count += sum(item not in query.judged for item in query.ranking[:depth])
    return count
