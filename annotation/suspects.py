"""Control items that may be wrong themselves: those that workers miss who are right on the others. Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

LEAST_ELSEWHERE = 2  # answers on other items before a worker can vouch for one
LEAST_VOUCHING = 3  # workers who vouch before an item can be suspected
MOST_RIGHT = 0.5  # an item that more than half of them get right is merely hard
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Suspicion:
    """How one control item fared.

    Attributes:
        seen, right: answers of all workers, and how many of them were right.
        vouching: answers of workers who are right elsewhere: at or above the threshold on the other control items,
            of which they answered ``LEAST_ELSEWHERE`` or more.
        vouching_right: how many of those were right here.
        elsewhere: share right of the same workers on the other items, pooled; nan where nobody vouches.
        p: exact binomial chance of ``vouching_right`` or fewer, if this item were like the others, whose share is
            taken as (right + 1) / (answers + 2); Holm's adjustment over the items that have ``LEAST_VOUCHING``. 1
            where there are fewer.
        suspect: p is at most ``ALPHA`` and at most half of those who vouch were right.
    """

    seen: int
    right: int
    vouching: int
    vouching_right: int
    elsewhere: float
    p: float
    suspect: bool


def suspicions(
    answers: Iterable[tuple[Hashable, Hashable, bool]], *, threshold: float
) -> dict[Hashable, Suspicion]:
    """What the workers' answers say of each control item.

    Args:
        answers: (item, worker, right) of each answer on a control item. Equal items of several HITs have one name.
        threshold: ``controls.threshold``: who reaches it on the other items is right elsewhere.
    """
    by_item: dict[Hashable, list[tuple[Hashable, bool]]] = defaultdict(list)
    seen: dict[Hashable, int] = defaultdict(int)
    right: dict[Hashable, int] = defaultdict(int)
    for item, worker, is_right in answers:
        by_item[item].append((worker, is_right))
        seen[worker] += 1
        right[worker] += is_right
    drafts = {item: _draft(given, seen, right, threshold) for item, given in by_item.items()}
    tested = [item for item in drafts if drafts[item].vouching >= LEAST_VOUCHING]
    tested.sort(key=lambda item: drafts[item].p)
    adjusted = dict.fromkeys(drafts, 1.0)
    so_far = 0.0
    for rank, item in enumerate(tested):
        so_far = max(so_far, min(1.0, drafts[item].p * (len(tested) - rank)))
        adjusted[item] = so_far
    return {item: _judged(draft, adjusted[item]) for item, draft in drafts.items()}


def _draft(
    given: Sequence[tuple[Hashable, bool]],
    seen: dict[Hashable, int],
    right: dict[Hashable, int],
    threshold: float,
) -> Suspicion:
    """The counts of one item, with the unadjusted p."""
    here: dict[Hashable, list[int]] = defaultdict(lambda: [0, 0])
    for worker, is_right in given:
        here[worker][0] += 1
        here[worker][1] += is_right
    vouching = vouching_right = others = others_right = 0
    for worker, (n, k) in here.items():
        n_else, k_else = seen[worker] - n, right[worker] - k
        if n_else >= LEAST_ELSEWHERE and k_else / n_else >= threshold:
            vouching, vouching_right = vouching + n, vouching_right + k
            others, others_right = others + n_else, others_right + k_else
    return Suspicion(
        seen=len(given),
        right=sum(is_right for _, is_right in given),
        vouching=vouching,
        vouching_right=vouching_right,
        elsewhere=others_right / others if others else float("nan"),
        # one right and one wrong answer more: six of six is no certainty
        p=at_most(vouching_right, vouching, (others_right + 1) / (others + 2)) if others else 1.0,
        suspect=False,
    )


def _judged(draft: Suspicion, p: float) -> Suspicion:
    missed = draft.vouching_right <= MOST_RIGHT * draft.vouching
    return replace(draft, p=p, suspect=missed and p <= ALPHA)


def at_most(k: int, n: int, share: float) -> float:
    """The chance of ``k`` or fewer successes in ``n`` trials of chance ``share`` (0 < share < 1)."""
    terms = (
        math.lgamma(n + 1)
        - math.lgamma(i + 1)
        - math.lgamma(n - i + 1)
        + i * math.log(share)
        + (n - i) * math.log1p(-share)
        for i in range(k + 1)
    )
    return min(1.0, math.fsum(math.exp(term) for term in terms))
