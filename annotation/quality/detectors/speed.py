"""Detectors of how answers were made: too fast, or pasted."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from annotation.quality.detectors.base import Finding, Rule, Share
from annotation.quality.detectors.chances import median
from annotation.quality.detectors.history import Answers, History


class TooFast(Rule):
    """Too little time, in seconds or relative to the others on the same units."""

    name = "too-fast"
    title = "Too fast"
    about = "Answers faster than anybody can look."
    needs_others = True

    seconds: Annotated[float, Field(ge=0, le=3600)] = 0.4
    share: Share = 0.5
    of_crowd: Share = 0.25

    def examine(self, history: History) -> Finding | None:
        """Find too many fast answers, or a fast median page.

        At least ``share`` of the answers took less than ``seconds`` of active time; or the worker's median page
        took less than ``of_crowd`` of the others' time on the same units (0 is off). Answers of one step share
        its time, so both use the mean over an assignment.
        """
        if not self.is_due(total=history.total, fresh=history.fresh):
            return None
        known = ~np.isnan(history.seconds)
        n = int(known.sum())
        if n < self.least:
            return None
        times = _page_means(history, known)
        fast = int((times < self.seconds).sum())
        own = median(times)
        if fast >= self.share * n and fast:
            words = (
                f"{fast} of {n} answers took less than {self.seconds:g} s each; the median is {own:.1f} s."
            )
            return self.found(history, words, n=n, fast=fast, median=own)
        usual = _usual(history.others_seconds) if len(history.others_seconds) >= self.least else 0.0
        if own < self.of_crowd * usual:
            words = f"The median answer took {own:.1f} s of active time; others take {usual:.1f} s for the same items."
            return self.found(history, words, n=n, median=own, others=usual)
        return None


def _usual(seconds: np.ndarray) -> float:
    """Return the mean without the slowest tenth, which holds breaks."""
    return float(np.sort(seconds)[: max(1, len(seconds) - len(seconds) // 10)].mean())


def _page_means(history: History, known: np.ndarray) -> np.ndarray:
    """Return (M,) the mean time of the assignment of each answer with a known time."""
    _, places = np.unique(history.assignment[known], return_inverse=True)
    seconds = history.seconds[known]
    sums, counts = np.bincount(places, seconds), np.bincount(places)
    means: np.ndarray = (sums / counts)[places]
    return means


class PastedText(Rule):
    """Pasted text. It is no proof: honest workers also write elsewhere and paste."""

    name = "pasted-text"
    title = "Pasted text"
    about = "Pastes text where it should be written."

    least: Annotated[int, Field(ge=1, le=10_000)] = 3
    share: Share = 0.5

    @classmethod
    def applies(cls, answers: Answers) -> bool:
        return answers.values == 0

    def examine(self, history: History) -> Finding | None:
        """Find at least ``least`` written answers with at least ``share`` of them pasted."""
        written = history.pasted[~np.isnan(history.pasted)]
        n, pasted = len(written), int(written.sum())
        if n < self.least or not pasted or pasted < self.share * n:
            return None
        return self.found(history, f"{pasted} of {n} written answers were pasted.", n=n, pasted=pasted)
