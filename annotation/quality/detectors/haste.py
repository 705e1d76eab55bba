"""A detector of workers who answer too fast."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from pydantic import Field

from annotation.quality.detectors.base import Finding, Rule, Share
from annotation.quality.detectors.history import History


class TooFast(Rule):
    """A test for too little time, in seconds or relative to other workers on the same units.

    Attributes:
        seconds: the time below which an answer is fast.
        share: the share of fast answers from which on a worker is flagged.
        of_crowd: the fraction of the others' time below which the worker's median page is flagged; 0 for no such
            test.
    """

    name = "too-fast"
    title = gettext_noop("Too fast")
    description = gettext_noop("Answers faster than anyone can read the item.")
    needs_others = True

    seconds: Annotated[float, Field(ge=0, le=3600)] = 0.4
    share: Share = 0.5
    of_crowd: Share = 0.25

    def examine(self, history: History) -> Finding | None:
        """Find too many fast answers, or a fast median page.

        Times are active times. The answers on one screen share its time, so both tests use the mean over an
        assignment.
        """
        if not self.is_due(total=history.total, new_count=history.new_count):
            return None
        is_timed = ~np.isnan(history.seconds)
        n = int(is_timed.sum())
        if n < self.least:  # too few answers with a known time
            return None
        times = _page_means(history, is_timed)
        fast_count = int((times < self.seconds).sum())
        median = float(np.median(times))
        # with ``share`` 0, one fast answer is needed
        if fast_count and fast_count >= self.share * n:
            return self.make_finding(history, n=n, fast=fast_count, median=median)
        if len(history.others_seconds) < self.least:
            return None
        usual_seconds = _trimmed_mean(history.others_seconds)
        if median < self.of_crowd * usual_seconds:
            return self.make_finding(history, n=n, median=median, others=usual_seconds)
        return None

    def describe(self, numbers: Mapping[str, Any]) -> str:
        median = f"{numbers['median']:.1f}"
        if "fast" in numbers:
            return _(
                "Answers that took less than %(seconds)s s: %(fast)s of %(n)s. The median time is %(median)s s."
            ) % {"fast": numbers["fast"], "n": numbers["n"], "seconds": f"{self.seconds:g}", "median": median}
        return _(
            "The participant's median time per answer is %(median)s s (active time). Other participants take "
            "%(others)s s for the same items."
        ) % {"median": median, "others": f"{numbers['others']:.1f}"}


def _trimmed_mean(seconds: np.ndarray) -> float:
    """Return the mean of the times without the longest tenth, which may include breaks."""
    return float(np.sort(seconds)[: max(1, len(seconds) - len(seconds) // 10)].mean())


def _page_means(history: History, is_timed: np.ndarray) -> np.ndarray:
    """Return the mean time per answer of the assignment of each timed answer: (M,) for M such answers.

    Args:
        is_timed: (N,) marks the judgments with a known time.
    """
    _, page_numbers = np.unique(history.assignment[is_timed], return_inverse=True)
    seconds = history.seconds[is_timed]
    time_sums, answer_counts = np.bincount(page_numbers, seconds), np.bincount(page_numbers)
    means: np.ndarray = (time_sums / answer_counts)[page_numbers]
    return means
