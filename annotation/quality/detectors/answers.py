"""Detectors of wrong answers, of patterns in answers, and of haste.

Wrong answers are found by control items, by the answers of others, or by the worker's own answers to repeated items.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import comb
from typing import Annotated, Any

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from pydantic import Field

from annotation.quality.detectors.base import Alpha, Finding, Rule, SequentialRule, Share
from annotation.quality.detectors.chances import binomial_at_least, binomial_at_most, describe_chance
from annotation.quality.detectors.history import AnswerFormat, History
from annotation.quality.detectors.schedule import alpha_share
from common.amounts import percent
from quorum.numeric.arrays import Flags, Floats

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
    def applies_to(cls, answers: AnswerFormat) -> bool:
        return answers.values > 0

    def examine(self, history: History) -> Finding | None:
        """Find a worker who agrees with the others significantly less often than expected.

        A one-sided binomial test uses the units on which the others have a majority (for quantities: a median). The
        expected agreement is ``chance + of_crowd * kappa * (1 - chance)``: chance comes from the answer shares of
        the worker and of the others, and kappa is the others' agreement on the same units. With ``of_crowd`` 0,
        only a worker who answers against the others is found; with 0.5, also one who answers at random.
        """
        level = self.alpha_now(history)
        if not level:
            return None
        central_answers = _central_answers(history)
        has_both = ~np.isnan(central_answers) & ~np.isnan(history.value)
        n = int(has_both.sum())
        if n < self.least:
            return None
        distance = history.answers.agreement_distance
        answers, others_answers = history.value[has_both], central_answers[has_both]
        agreeing_count = int((np.abs(answers - others_answers) <= distance).sum())
        chance = _chance_agreement(answers, others_answers, distance)
        kappa = _crowd_kappa(history, distance) if self.of_crowd else 0.0
        expected = chance + self.of_crowd * kappa * (1 - chance)
        p = binomial_at_most(agreeing_count, n, expected)
        if p > level:
            return None
        numbers = {"n": n, "agreeing": agreeing_count, "chance": chance, "expected": expected}
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

    The value is nan where there is no majority or no other answer.
    """
    value_counts = history.others
    central_answers = np.full(len(history), np.nan)
    if not value_counts.size:
        return central_answers
    if history.answers.agreement_distance == 0:
        largest_counts = value_counts.max(axis=1)
        has_majority = (largest_counts > 0) & ((value_counts == largest_counts[:, None]).sum(axis=1) == 1)
        central_answers[has_majority] = history.labels[value_counts[has_majority].argmax(axis=1)]
        return central_answers
    answer_counts = value_counts.sum(axis=1)
    answered_rows = np.flatnonzero(answer_counts)
    # the median is the mean of the lower and the upper middle answer, which differ only for an even number of answers
    doubled_sums = 2 * value_counts[answered_rows].cumsum(axis=1)
    low = history.labels[(doubled_sums >= answer_counts[answered_rows, None]).argmax(axis=1)]
    high = history.labels[(doubled_sums > answer_counts[answered_rows, None]).argmax(axis=1)]
    central_answers[answered_rows] = (low + high) / 2
    return central_answers


def _chance_agreement(answers: Floats, others: Floats, distance: float) -> float:
    """Return the probability that random ones of ``answers`` and of ``others`` differ by at most ``distance``."""
    values, value_counts = np.unique(answers, return_counts=True)
    other_values, other_counts = np.unique(others, return_counts=True)
    agrees = np.abs(values[:, None] - other_values[None, :]) <= distance
    return float(value_counts @ agrees @ other_counts / (len(answers) * len(others)))


def _crowd_kappa(history: History, distance: float) -> float:
    """Return the kappa of the others on these units, at least 0; 0 if there are too few pairs of answers."""
    value_counts = history.others.astype(np.float64)
    answer_counts = value_counts.sum(axis=1)
    # Each pair of people counts twice.
    ordered_pairs = float((answer_counts * (answer_counts - 1)).sum())
    if ordered_pairs < 2 * MIN_PAIRS:
        return 0.0
    agrees = (np.abs(history.labels[:, None] - history.labels[None, :]) <= distance).astype(np.float64)
    # the sum includes the pairs of each person with themselves
    agreeing_pairs = float(((value_counts @ agrees) * value_counts).sum() - answer_counts.sum())
    shares = value_counts.sum(axis=0) / answer_counts.sum()
    chance = float(shares @ agrees @ shares)
    return max(0.0, (agreeing_pairs / ordered_pairs - chance) / (1 - chance)) if chance < 1 else 0.0


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

    def is_due(self, *, total: int, fresh: int) -> bool:
        return fresh > 0 if not self.alpha else super().is_due(total=total, fresh=fresh)

    def examine(self, history: History) -> Finding | None:
        """Find an accuracy that is significantly below ``threshold``, from ``least`` control items on.

        With ``alpha`` 0, any accuracy below the threshold counts. A careful worker can easily have one on the first
        items.
        """
        right_flags = history.right[~np.isnan(history.right)]
        n, right_count = len(right_flags), int(right_flags.sum())
        if n < self.least or right_count >= self.threshold * n:
            return None
        numbers = {"n": n, "right": right_count, "threshold": self.threshold}
        if not self.alpha:
            return self.make_finding(history, **numbers)
        p = binomial_at_most(right_count, n, self.threshold)
        level = self.alpha * alpha_share(self.least, total=history.total, fresh=history.fresh)
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
        equal_flags = history.agrees[~np.isnan(history.agrees)]
        n, equal_count = len(equal_flags), int(equal_flags.sum())
        if n < self.least or equal_count >= self.threshold * n:
            return None
        return self.make_finding(history, n=n, same=equal_count, threshold=self.threshold)

    def describe(self, numbers: Mapping[str, Any]) -> str:
        return _("Repeated items that got the same answer both times: %(same)s of %(n)s.") % {
            "same": numbers["same"],
            "n": numbers["n"],
        }


def longest_run(flags: Flags) -> int:
    """Return the length of the longest run of true values."""
    if not flags.any():
        return 0
    # the first position of each run, and the position after it, in turn
    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False])).astype(np.int8)))
    return int((edges[1::2] - edges[::2]).max())


def run_chance(chances: Floats, length: int) -> float:
    """Return the probability that independent trials have ``length`` (1 or more) or more successes in a row.

    The first such run ends at trial i if the ``length`` trials up to i succeed, the one before them fails, and no
    run ended earlier. This gives a recursion over i, which is exact for unequal probabilities.

    Args:
        chances: (N,) the probability of success in each trial.
    """
    n = len(chances)
    if length > n:
        return 0.0
    with np.errstate(divide="ignore"):  # a probability of 0 is replaced, because its logarithm is not finite
        log_sums = np.concatenate(([0.0], np.cumsum(np.log(np.maximum(chances, 1e-300)))))
    # the probability that the trials i..i+length-1 all succeed
    streak_chances = np.exp(log_sums[length:] - log_sums[:-length]).tolist()
    failure_chances = (1.0 - chances).tolist()
    # the probability that a run ended within the first i trials, at index i
    ended_chances = [0.0] * (n + 1)
    for end in range(length, n + 1):
        start = end - length
        # that the trial before the run fails, and that no run ended before it
        start_chance = 1.0 if start == 0 else failure_chances[start - 1] * (1.0 - ended_chances[start - 1])
        ended_chances[end] = ended_chances[end - 1] + streak_chances[start] * start_chance
    return min(1.0, ended_chances[n])


@lru_cache(maxsize=4096)
def alternation_distribution(first: int, second: int) -> tuple[float, ...]:
    """Return the probabilities of 0, 1, 2, ... changes in a random order of two types of things.

    The number of changes is the number of runs, less one (Wald & Wolfowitz 1940).

    Args:
        first, second: the number of things of each type.
    """
    if not first or not second:
        return (1.0,)
    orders = comb(first + second, first)
    chances = [0.0]
    for changes in range(1, first + second):
        half = (changes + 1) // 2
        if changes % 2:  # both types have ``half`` runs, and either begins
            ways = 2 * comb(first - 1, half - 1) * comb(second - 1, half - 1)
        else:  # the type that begins has one run more than the other
            ways = comb(first - 1, half) * comb(second - 1, half - 1)
            ways += comb(first - 1, half - 1) * comb(second - 1, half)
        chances.append(ways / orders)
    return tuple(chances)


def alternation_chance(groups: Iterable[tuple[int, int]], changes: int) -> float:
    """Return the probability of ``changes`` or more changes over all groups, if each group is in random order.

    Changes are counted within groups.

    Args:
        groups: the number of things of each type in each group.
    """
    joint = np.array([1.0])
    for first, second in groups:
        joint = np.convolve(joint, alternation_distribution(min(first, second), max(first, second)))
    return float(min(1.0, joint[changes:].sum()))


MIN_ANSWERS_OF_OTHERS = 20  # others' answers that are needed to estimate the usual shares


class SideBias(SequentialRule):
    """A binomial test on left and right. Sides are drawn, so a careful worker chooses left about half the time.

    Attributes:
        tolerance: the harmless bias: how far from 0.5 the probability of left may be.
    """

    name = "side-bias"
    title = gettext_noop("Side bias")
    description = gettext_noop(
        "Chooses the option on one side much more often than the option on the other side."
    )

    tolerance: Annotated[float, Field(ge=0, lt=0.5)] = 0.1

    @classmethod
    def applies_to(cls, answers: AnswerFormat) -> bool:
        return answers.has_sides

    def examine(self, history: History) -> Finding | None:
        """Find a worker who chooses one side too often.

        The two-sided null hypothesis is that left is chosen with probability 0.5 ± ``tolerance``.
        """
        level = self.alpha_now(history)
        left_flags = history.left[~np.isnan(history.left)]
        n, left_count = len(left_flags), int(left_flags.sum())
        if not level or n < self.least:
            return None
        larger_count = max(left_count, n - left_count)
        p = min(1.0, 2 * binomial_at_least(larger_count, n, 0.5 + self.tolerance))
        if p > level:
            return None
        return self.make_finding(history, n=n, left=left_count, p=p, level=level)

    def describe(self, numbers: Mapping[str, Any]) -> str:
        n, left = numbers["n"], numbers["left"]
        sentence = (
            _(
                "Answers that chose the left option: %(most)s of %(n)s. Sides are random, so the probability of this "
                "by chance is %(chance)s."
            )
            if left > n - left
            else _(
                "Answers that chose the right option: %(most)s of %(n)s. Sides are random, so the probability of this "
                "by chance is %(chance)s."
            )
        )
        return sentence % {"most": max(left, n - left), "n": n, "chance": describe_chance(numbers["p"])}


class StraightLining(SequentialRule):
    """A test of the longest run of equal answers as shown, based on the others' answers to the same units.

    Attributes:
        tolerance: the share by which the probability of other answers is reduced; see ``examine``.
    """

    name = "straight-lining"
    title = gettext_noop("Repeated answer")
    description = gettext_noop(
        "Gives the same answer many times in a row, more often than the items can explain."
    )
    needs_others = True

    tolerance: Annotated[float, Field(ge=0, lt=1)] = 0.5

    @classmethod
    def applies_to(cls, answers: AnswerFormat) -> bool:
        return answers.values > 0

    def examine(self, history: History) -> Finding | None:
        """Find a run whose exact probability, times the number of possible answers, is too low.

        At each position, the probability of the answer is the share of others who gave it on this unit, mixed with
        the answer's overall share, which weighs as much as one answer. Since two or three votes are noisy, a unit
        looks more open than it is. So the probability of other answers is reduced by the factor 1 - ``tolerance``,
        which makes runs look less unusual.
        """
        level = self.alpha_now(history)
        has_answer = ~np.isnan(history.seen)
        n = int(has_answer.sum())
        if not level or n < self.least:
            return None
        if not history.answers.has_sides and history.others[has_answer].sum() < MIN_ANSWERS_OF_OTHERS:
            return None
        shown_answers = history.seen[has_answer]
        runs: list[tuple[float, int, float]] = []  # probability, length, answer as shown
        for value in np.unique(shown_answers).tolist():
            length = longest_run(shown_answers == value)
            chances = self._answer_probability(history, has_answer, value)
            runs.append((run_chance(chances, length), length, value))
        # the least probable run; of equally probable ones, the longest
        p, length, value = min(runs, key=lambda run: (run[0], -run[1]))
        p = min(1.0, p * max(history.answers.values, 1))
        if p > level:
            return None
        return self.make_finding(history, n=n, run=length, answer=value, p=p, level=level)

    def describe(self, numbers: Mapping[str, Any]) -> str:
        return _(
            "Longest run of equal answers: %(run)s of %(n)s. Probability of such a run by chance, given the answers "
            "of other participants to these items: %(chance)s."
        ) % {"run": numbers["run"], "n": numbers["n"], "chance": describe_chance(numbers["p"])}

    def _answer_probability(self, history: History, has_answer: np.ndarray, value: float) -> Floats:
        """Return the probability that a careful worker answers ``value``, as shown, at each position: (N,).

        Args:
            has_answer: marks the judgments with an answer as shown, of which there are N.
        """
        other_counts = history.others_count[has_answer]
        if history.answers.has_sides:
            # the answer as shown depends on the side, so count who agrees with the worker's own
            agreeing = history.agreeing_others[has_answer]
            value_counts = np.where(history.seen[has_answer] == value, agreeing, other_counts - agreeing)
            usual_share = 0.5
        else:
            value_counts = (history.others[has_answer] * (history.labels == value)).sum(axis=1)
            usual_share = float((value_counts.sum() + 1) / (other_counts.sum() + history.answers.values))
        chances: Floats = 1 - (1 - self.tolerance) * (1 - (value_counts + usual_share) / (other_counts + 1))
        return chances


class Alternation(SequentialRule):
    """A runs test for too many changes, such as left, right, left, right."""

    name = "alternation"
    title = gettext_noop("Alternating answers")
    description = gettext_noop("Alternates between two answers more regularly than the items can explain.")

    @classmethod
    def applies_to(cls, answers: AnswerFormat) -> bool:
        return answers.values > 0

    def examine(self, history: History) -> Finding | None:
        """Find too many changes between answers as shown, in assignments with exactly two different answers.

        The answers are compared with all orders of the same answers (the exact conditional runs test of Wald &
        Wolfowitz 1940). Items and sides are in random order, so a careful worker's answers are effectively
        shuffled.
        """
        level = self.alpha_now(history)
        if not level:
            return None
        counts_by_page: list[tuple[int, int]] = []  # the numbers of the two answers on a page
        change_count = 0
        for assignment in np.unique(history.assignment):
            shown_answers = history.seen[(history.assignment == assignment) & ~np.isnan(history.seen)]
            distinct_answers = np.unique(shown_answers)
            if len(distinct_answers) == 2:
                first_count = int((shown_answers == distinct_answers[0]).sum())
                counts_by_page.append((first_count, len(shown_answers) - first_count))
                change_count += int((shown_answers[1:] != shown_answers[:-1]).sum())
        n = sum(first + second for first, second in counts_by_page)
        if n < self.least:
            return None
        p = alternation_chance(counts_by_page, change_count)
        if p > level:
            return None
        max_changes = n - len(counts_by_page)
        return self.make_finding(history, n=n, changes=change_count, of=max_changes, p=p, level=level)

    def describe(self, numbers: Mapping[str, Any]) -> str:
        return _(
            "Answers that differ from the previous answer: %(changes)s of %(of)s. Probability of so many changes if "
            "the same answers were in random order: %(chance)s."
        ) % {"changes": numbers["changes"], "of": numbers["of"], "chance": describe_chance(numbers["p"])}


class TooFast(Rule):
    """A test for too little time, in seconds or relative to other workers on the same units.

    Attributes:
        seconds: the time below which an answer is fast.
        share: the share of fast answers that is flagged.
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

        Either at least ``share`` of the answers took less than ``seconds`` of active time, or the worker's median
        page took less than the fraction ``of_crowd`` (0: off) of the time of others on the same units. The answers
        on one screen share its time, so both comparisons use the mean over an assignment.
        """
        if not self.is_due(total=history.total, fresh=history.fresh):
            return None
        is_timed = ~np.isnan(history.seconds)
        n = int(is_timed.sum())
        if n < self.least:
            return None
        times = _page_means(history, is_timed)
        fast_count = int((times < self.seconds).sum())
        median = float(np.median(times))
        if fast_count and fast_count >= self.share * n:
            return self.make_finding(history, n=n, fast=fast_count, median=median)
        usual_seconds = (
            _trimmed_mean(history.others_seconds) if len(history.others_seconds) >= self.least else 0.0
        )
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
    """Return the mean without the slowest tenth, which may include breaks."""
    return float(np.sort(seconds)[: max(1, len(seconds) - len(seconds) // 10)].mean())


def _page_means(history: History, is_timed: np.ndarray) -> np.ndarray:
    """Return, for each answer that ``is_timed`` marks, the mean time of its assignment: (M,) for M such answers."""
    _, page_numbers = np.unique(history.assignment[is_timed], return_inverse=True)
    seconds = history.seconds[is_timed]
    time_sums, answer_counts = np.bincount(page_numbers, seconds), np.bincount(page_numbers)
    means: np.ndarray = (time_sums / answer_counts)[page_numbers]
    return means
