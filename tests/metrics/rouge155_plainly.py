"""ROUGE-1.5.5 written down plainly, one candidate at a time and on lists of words, for comparison."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby, pairwise
from statistics import fmean
from typing import NamedTuple

WEIGHT = 1.2


class Shared(NamedTuple):
    """Hits and totals of a candidate and one reference; `rank` chooses the best reference."""

    hits: float
    of_reference: float
    of_candidate: float
    rank: float


def grams(words: Sequence[str], metric: str) -> Counter[tuple[str, ...]]:
    if metric == "rouge-1":
        return Counter((word,) for word in words)
    if metric == "rouge-2":
        return Counter[tuple[str, ...]](pairwise(words))
    pairs = Counter[tuple[str, ...]](
        (words[i], other) for i in range(len(words)) for other in words[i + 1 : i + 6]
    )
    return pairs + Counter((word,) for word in words[:-1]) if metric == "rouge-su4" else pairs


def weighted_runs(reference: Sequence[str], candidate: Sequence[str], weight: float) -> float:
    """The weighted table in full, walked back from its last cell; runs of marked reference words are weighed."""
    best = [[0.0] * (len(candidate) + 1) for _ in range(len(reference) + 1)]
    runs = [[0] * (len(candidate) + 1) for _ in range(len(reference) + 1)]
    for i, theirs in enumerate(reference, 1):
        for j, ours in enumerate(candidate, 1):
            if theirs == ours:
                run = runs[i - 1][j - 1]
                best[i][j] = best[i - 1][j - 1] + (run + 1) ** weight - run**weight
                runs[i][j] = run + 1
            else:
                best[i][j] = max(best[i - 1][j], best[i][j - 1])
    marked = [False] * len(reference)
    i, j = len(reference), len(candidate)
    while i and j:
        if reference[i - 1] == candidate[j - 1]:
            i, j = i - 1, j - 1
            marked[i] = True
        elif best[i - 1][j] >= best[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return sum(len(list(run)) ** weight for is_hit, run in groupby(marked) if is_hit)


def shared(candidate: Sequence[str], reference: Sequence[str], metric: str) -> Shared:
    if metric in ("rouge-w", "rouge-l-155"):
        # With weight 1 the table is that of the longest common subsequence.
        weight = WEIGHT if metric == "rouge-w" else 1.0
        hits = weighted_runs(reference, candidate, weight)
        base = len(reference) ** weight
        rank = (hits / base) ** (1 / weight) if base else 0.0
        return Shared(hits, base**weight, len(candidate) ** weight, rank)
    ours, theirs = grams(candidate, metric), grams(reference, metric)
    hits = (ours & theirs).total()
    return Shared(hits, theirs.total(), ours.total(), round(hits / max(theirs.total(), 1), 5))


def scores_of(parts: Sequence[Shared], metric: str, alpha: float) -> tuple[float, float, float]:
    hits, expected, given, _ = (sum(part) for part in zip(*parts, strict=True))
    power = 1 / WEIGHT if metric == "rouge-w" else 1.0
    recall = (hits / expected) ** power if expected else 0.0
    precision = (hits / given) ** power if given else 0.0
    below = (1 - alpha) * precision + alpha * recall
    return recall, precision, precision * recall / below if below else 0.0


def rouge155(
    candidate: Sequence[str],
    references: Sequence[Sequence[str]],
    metric: str,
    *,
    best: bool = False,
    jackknife: bool = False,
    alpha: float = 0.5,
) -> tuple[float, float, float]:
    """Recall, precision and F."""
    parts = [shared(candidate, reference, metric) for reference in references]
    samples = [parts]
    if jackknife and len(parts) > 1:
        samples = [parts[:i] + parts[i + 1 :] for i in range(len(parts))]
    if best:
        # max() takes the first of equals, as the script does.
        samples = [[max(sample, key=lambda part: part.rank)] for sample in samples]
    scores = [scores_of(sample, metric, alpha) for sample in samples]
    recall, precision, f = map(fmean, zip(*scores, strict=True))
    return recall, precision, f
