"""When detectors examine a worker, and the part of alpha that each examination spends.

An examination is called a look, as in sequential testing. Statistical detectors look at a worker repeatedly. Each
look spends a part of ``alpha``, so that the probability of *ever* flagging a worker who follows the null hypothesis
is at most ``alpha`` (a union bound, valid under any dependence). Looks are due at ``least`` judgments, then at steps
that grow by a quarter, up to 125. The k-th due look spends alpha / (k (k + 1)), which sums to alpha over all k. But a
worker is only examined after pages 1, 2, 3, 4, 6, 9, 13 and so on, up to eight pages apart. If several looks became
due since the last of these pages, one look spends all of their parts.
"""

from __future__ import annotations

from collections.abc import Iterator

GROWTH_DIVISOR = 4  # the next look is due after a quarter more judgments
MAX_STEP = 125  # judgments
# the same for pages: the next look is due after half as many more pages, at most eight
PAGE_GROWTH_DIVISOR = 2
MAX_PAGE_STEP = 8


def look_schedule(least: int, *, divisor: int = GROWTH_DIVISOR, max_step: int = MAX_STEP) -> Iterator[int]:
    """Yield the numbers of judgments (or of pages) after which looks are due, without end. ``least`` is the first."""
    due_count = least
    while True:
        yield due_count
        due_count += min(max(due_count // divisor, 1), max_step)


def pages_since_look(pages: int) -> int:
    """Return the number of new pages for a look after page number ``pages`` (from 1); 0 if no look is due."""
    previous_count = 0
    for due_count in look_schedule(1, divisor=PAGE_GROWTH_DIVISOR, max_step=MAX_PAGE_STEP):
        if due_count >= pages:
            return pages - previous_count if due_count == pages else 0
        previous_count = due_count
    return 0  # never reached: the schedule has no end


def alpha_share(least: int, *, total: int, new_count: int) -> float:
    """Return the share of alpha that a look after ``total`` judgments spends, from 0 to 1; 0 if no look is due.

    The first look is due at ``least`` judgments; ``new_count`` of the judgments are new since the last look.
    """
    share = 0.0
    for number, due_count in enumerate(look_schedule(least), start=1):
        if due_count > total:
            return share
        if due_count > total - new_count:
            share += 1 / (number * (number + 1))
    return share
