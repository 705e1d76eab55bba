"""Detectors of wrong answers.

Answers are checked by control items, by the answers of others, or by the worker's own answers to repeated items.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from pydantic import Field

from annotation.quality.detectors.base import Alpha, Finding, Rule, SequentialRule, Share
from annotation.quality.detectors.chances import binomial_at_most, describe_chance
from annotation.quality.detectors.history import AnswerFormat, History
from annotation.quality.detectors.schedule import alpha_share
from common.amounts import percent
from quorum.numeric.arrays import Floats, Ints

MIN_PAIRS = 30  # pairs of others' answers that are needed to estimate the agreement of others


class Disagreement(SequentialRule):
    """A test of the agreement with the majority of other workers, corrected for chance as in Cohen's kappa.

    Attributes:
        of_crowd: the expected agreement beyond chance, as a fraction of the others' agreement with each other.
    """

    name = "disagreement"
    title = gettext_noop("Disagrees with the others")
    description = gettext_noop(
        "Agrees with other participants only by chance, or much less often than these agree with each other."
    )
    needs_others = True

    alpha: Alpha = 0.01
    of_crowd: Share = 0.0

    @classmethod
    def applies_to(cls, answer_format: AnswerFormat) -> bool:
        return answer_format.value_count > 0

    def examine(self, history: History) -> Finding | None:
        """Find a worker who agrees with the others significantly less often than expected.

        A one-sided binomial test uses the units on which the others have a majority (for quantities: a median). The
        expected agreement is ``chance + of_crowd * kappa * (1 - chance)``: chance comes from the answer shares of
        the worker and of the others, and kappa is the others' agreement on the same units. With ``of_crowd`` 0,
        only a worker who answers against the others is found; with 0.5, also one who answers at random.
        """
        level = self.alpha_now(history)
        if not level:  # no test is due yet
            return None
        central_answers = _central_answers(history)
        has_both = ~np.isnan(central_answers) & ~np.isnan(history.value)
        n = int(has_both.sum())
        if n < self.least:
            return None
        distance = history.answer_format.agreement_distance
        answers, others_answers = history.value[has_both], central_answers[has_both]
        agreeing_count = int((np.abs(answers - others_answers) <= distance).sum())
        chance = _chance_agreement(answers, others_answers, distance)
        kappa = _crowd_kappa(history, distance) if self.of_crowd else 0.0
        expected_agreement = chance + self.of_crowd * kappa * (1 - chance)
        p = binomial_at_most(agreeing_count, n, expected_agreement)
        if p > level:
            return None
        numbers = {"n": n, "agreeing": agreeing_count, "chance": chance, "expected": expected_agreement}
        own_kappa = (agreeing_count / n - chance) / (1 - chance) if chance < 1 else 0.0
        return self.make_finding(history, **numbers, kappa=own_kappa, others_kappa=kappa, p=p, level=level)

    def describe(self, numbers: Mapping[str, Any]) -> str:
        return _(
            "Items on which the participant agrees with the majority of the others: %(agreeing)s of %(n)s "
            "(%(share)s). At least %(expected)s are expected. Probability that chance alone gives so few: %(chance)s."
        ) % {
            "agreeing": numbers["agreeing"],
            "n": numbers["n"],
            "share": percent(numbers["agreeing"] / numbers["n"]),
            "expected": percent(numbers["expected"]),
            "chance": describe_chance(numbers["p"]),
        }


def _central_answers(history: History) -> Floats:
    """Return the others' majority (nominal answers) or median (quantities) on the unit of each judgment: (N,).

    The value is nan where others gave no answer, or where two nominal answers are equally frequent.
    """
    if not history.others_value_counts.size:
        return np.full(len(history), np.nan)
    if history.answer_format.agreement_distance == 0:
        return _majorities(history.others_values, history.others_value_counts)
    return _medians(history.others_values, history.others_value_counts)


def _majorities(values: Floats, value_counts: Ints) -> Floats:
    """Return the most frequent value of each row: (N,). It is nan if there is none, or if two are equally frequent.

    Args:
        values: (V,) the values.
        value_counts: (N, V) how often each row has each value.
    """
    majorities = np.full(len(value_counts), np.nan)
    largest_counts = value_counts.max(axis=1)
    winner_counts = (value_counts == largest_counts[:, None]).sum(axis=1)
    has_majority = (largest_counts > 0) & (winner_counts == 1)
    majorities[has_majority] = values[value_counts[has_majority].argmax(axis=1)]
    return majorities


def _medians(values: Floats, value_counts: Ints) -> Floats:
    """Return the median of the values of each row: (N,); nan for a row without values. See ``_majorities``.

    The median is the mean of the lower and the upper middle value, which differ only if their number is even.
    """
    medians = np.full(len(value_counts), np.nan)
    row_totals = value_counts.sum(axis=1)
    filled_rows = np.flatnonzero(row_totals)
    totals = row_totals[filled_rows, None]
    # up to the lower middle value lie at least half of the row's values; up to the upper one, more than half
    doubled_sums = 2 * value_counts[filled_rows].cumsum(axis=1)
    lower_middles = values[(doubled_sums >= totals).argmax(axis=1)]
    upper_middles = values[(doubled_sums > totals).argmax(axis=1)]
    medians[filled_rows] = (lower_middles + upper_middles) / 2
    return medians


def _chance_agreement(answers: Floats, others_answers: Floats, distance: float) -> float:
    """Return the probability that a random one of ``answers`` agrees with a random one of ``others_answers``.

    Two answers agree if they differ by at most ``distance``.
    """
    values, value_counts = np.unique(answers, return_counts=True)
    other_values, other_counts = np.unique(others_answers, return_counts=True)
    agrees = np.abs(values[:, None] - other_values[None, :]) <= distance
    return float(value_counts @ agrees @ other_counts / (len(answers) * len(others_answers)))


def _crowd_kappa(history: History, distance: float) -> float:
    """Return the others' kappa among themselves on these units, at least 0; 0 if there are too few pairs of answers."""
    value_counts = history.others_value_counts.astype(np.float64)
    answer_counts = value_counts.sum(axis=1)
    ordered_pairs = float((answer_counts * (answer_counts - 1)).sum())
    if ordered_pairs < 2 * MIN_PAIRS:  # each pair of people counts twice
        return 0.0
    distances = np.abs(history.others_values[:, None] - history.others_values[None, :])
    agrees = (distances <= distance).astype(np.float64)
    # the sum includes the pairs of each person with themselves
    agreeing_pairs = float(((value_counts @ agrees) * value_counts).sum() - answer_counts.sum())
    shares = value_counts.sum(axis=0) / answer_counts.sum()
    chance = float(shares @ agrees @ shares)
    if chance >= 1:
        return 0.0
    return max(0.0, (agreeing_pairs / ordered_pairs - chance) / (1 - chance))


class ControlAccuracy(Rule):
    """A test of the accuracy on control items so far (Hodosh et al. 2013, §4.3.2, ask for 70 % at the end).

    Attributes:
        least: the number of answered control items from which a worker is examined.
        threshold: the accuracy that is required.
        alpha: the probability that a worker with exactly this accuracy is ever flagged; 0 for no test.
    """

    name = "control-accuracy"
    title = gettext_noop("Fails check questions")
    description = gettext_noop("Gets too few check questions right.")
    controls_only = True

    least: Annotated[int, Field(ge=1, le=10_000)] = 10
    threshold: Share = 0.7
    alpha: Annotated[float, Field(ge=0, le=0.2)] = 0.05

    def is_due(self, *, total: int, new_count: int) -> bool:
        if not self.alpha:  # without a test, every new answer may be examined
            return new_count > 0
        return super().is_due(total=total, new_count=new_count)

    def examine(self, history: History) -> Finding | None:
        """Find an accuracy that is significantly below ``threshold``, from ``least`` control items on.

        With ``alpha`` 0, any accuracy below the threshold counts. A careful worker can easily have one on the first
        items.
        """
        right_flags = history.is_right[~np.isnan(history.is_right)]
        n, right_count = len(right_flags), int(right_flags.sum())
        if n < self.least or right_count >= self.threshold * n:
            return None
        numbers = {"n": n, "right": right_count, "threshold": self.threshold}
        if not self.alpha:
            return self.make_finding(history, **numbers)
        p = binomial_at_most(right_count, n, self.threshold)
        level = self.alpha * alpha_share(self.least, total=history.total, new_count=history.new_count)
        return None if p > level else self.make_finding(history, **numbers, p=p, level=level)

    def describe(self, numbers: Mapping[str, Any]) -> str:
        threshold = percent(numbers["threshold"])
        sentence = _(
            "Check questions right: %(right)s of %(n)s (%(share)s); the pass mark is %(threshold)s."
        ) % {
            "right": numbers["right"],
            "n": numbers["n"],
            "share": percent(numbers["right"] / numbers["n"]),
            "threshold": threshold,
        }
        if "p" not in numbers:
            return sentence
        chance = _(
            "For a participant who usually gets %(threshold)s right, the probability of so few right answers is "
            "%(chance)s."
        ) % {"threshold": threshold, "chance": describe_chance(numbers["p"])}
        return f"{sentence} {chance}"


class RepeatConsistency(Rule):
    """A test for different answers to repeated items.

    Attributes:
        least: the number of repeated items from which a worker is examined.
        threshold: the share of equal answers that is required.
    """

    name = "repeat-consistency"
    title = gettext_noop("Inconsistent answers")
    description = gettext_noop("The participant gives different answers when an item is repeated.")
    controls_only = True

    least: Annotated[int, Field(ge=1, le=10_000)] = 5
    threshold: Share = 0.5

    def examine(self, history: History) -> Finding | None:
        equal_flags = history.is_consistent[~np.isnan(history.is_consistent)]
        n, equal_count = len(equal_flags), int(equal_flags.sum())
        if n < self.least or equal_count >= self.threshold * n:
            return None
        return self.make_finding(history, n=n, same=equal_count, threshold=self.threshold)

    def describe(self, numbers: Mapping[str, Any]) -> str:
        return _("Repeated items that got the same answer both times: %(same)s of %(n)s.") % {
            "same": numbers["same"],
            "n": numbers["n"],
        }
