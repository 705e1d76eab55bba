"""Detectors of patterns in the order of answers: one side, one answer, or two answers in turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from pydantic import Field

from annotation.quality.detectors.base import Finding, SequentialRule
from annotation.quality.detectors.chances import binomial_at_least, describe_chance
from annotation.quality.detectors.history import AnswerFormat, History
from annotation.quality.detectors.runs import alternation_chance, longest_run, run_chance
from quorum.numeric.arrays import Floats

MIN_ANSWERS_OF_OTHERS = 20  # others' answers that are needed to estimate the usual shares


class SideBias(SequentialRule):
    """A binomial test for choosing one side too often. Sides are drawn, so a careful worker's left share is about half.

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
    def applies_to(cls, answer_format: AnswerFormat) -> bool:
        return answer_format.has_sides

    def examine(self, history: History) -> Finding | None:
        """Find a worker who chooses one side too often.

        The two-sided null hypothesis is that left is chosen with probability 0.5 ± ``tolerance``.
        """
        level = self.alpha_now(history)  # 0 if no test is due yet
        left_flags = history.chose_left[~np.isnan(history.chose_left)]
        n, left_count = len(left_flags), int(left_flags.sum())
        if not level or n < self.least:
            return None
        larger_count = max(left_count, n - left_count)
        p = min(1.0, 2 * binomial_at_least(larger_count, n, 0.5 + self.tolerance))
        if p > level:
            return None
        return self.make_finding(history, n=n, left=left_count, p=p, level=level)

    def describe(self, numbers: Mapping[str, Any]) -> str:
        left_count = numbers["left"]
        right_count = numbers["n"] - left_count
        if left_count > right_count:
            sentence = _(
                "Answers that chose the left option: %(most)s of %(n)s. Sides are random, so the probability of this "
                "by chance is %(chance)s."
            )
        else:
            sentence = _(
                "Answers that chose the right option: %(most)s of %(n)s. Sides are random, so the probability of this "
                "by chance is %(chance)s."
            )
        return sentence % {
            "most": max(left_count, right_count),
            "n": numbers["n"],
            "chance": describe_chance(numbers["p"]),
        }


class StraightLining(SequentialRule):
    """A test for a run of equal answers that is too long, given the others' answers to the same units.

    Answers are compared as shown: "left" twice is a run, whichever candidates were on the left.

    Attributes:
        tolerance: the share by which the probability of ending a run is reduced; see ``examine``.
    """

    name = "straight-lining"
    title = gettext_noop("Repeated answer")
    description = gettext_noop(
        "Gives the same answer many times in a row, more often than the items can explain."
    )
    needs_others = True

    tolerance: Annotated[float, Field(ge=0, lt=1)] = 0.5

    @classmethod
    def applies_to(cls, answer_format: AnswerFormat) -> bool:
        return answer_format.value_count > 0

    def examine(self, history: History) -> Finding | None:
        """Find a run whose exact probability, times the number of possible answers, is too low.

        At each position, the probability of the run's answer is the share of others who gave it to this unit. One vote
        is added to theirs, which is divided by the answers' shares over all units (.5 for a side). Two or three votes
        are noisy, so they often differ where nearly everybody would agree. So the probability of any other answer is
        multiplied by 1 - ``tolerance``, which makes runs look less unusual.
        """
        level = self.alpha_now(history)
        has_answer = ~np.isnan(history.shown_value)
        n = int(has_answer.sum())
        if not level or n < self.least:
            return None
        others_count = history.others_value_counts[has_answer].sum()
        if not history.answer_format.has_sides and others_count < MIN_ANSWERS_OF_OTHERS:
            return None
        shown_answers = history.shown_value[has_answer]
        runs: list[tuple[float, int, float]] = []  # probability, length, answer as shown
        for value in np.unique(shown_answers).tolist():
            length = longest_run(shown_answers == value)
            chances = self._answer_probability(history, has_answer, value)
            runs.append((run_chance(chances, length), length, value))
        # the least probable run; of equally probable ones, the longest
        p, length, value = min(runs, key=lambda run: (run[0], -run[1]))
        p = min(1.0, p * max(history.answer_format.value_count, 1))
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
        other_counts = history.others_answer_counts[has_answer]
        if history.answer_format.has_sides:
            # Others may have seen the options on other sides. Count who agrees with the worker on this unit or, where
            # the worker gave another answer than ``value``, who disagrees.
            agreeing_counts = history.others_agreeing_counts[has_answer]
            is_workers_answer = history.shown_value[has_answer] == value
            value_counts = np.where(is_workers_answer, agreeing_counts, other_counts - agreeing_counts)
            usual_share = 0.5
        else:
            is_value = history.others_values == value
            value_counts = (history.others_value_counts[has_answer] * is_value).sum(axis=1)
            value_count = history.answer_format.value_count
            # add-one smoothing, so that the share is never 0
            usual_share = float((value_counts.sum() + 1) / (other_counts.sum() + value_count))
        shares = (value_counts + usual_share) / (other_counts + 1)
        chances: Floats = 1 - (1 - self.tolerance) * (1 - shares)
        return chances


class Alternation(SequentialRule):
    """A runs test for too many changes, such as left, right, left, right."""

    name = "alternation"
    title = gettext_noop("Alternating answers")
    description = gettext_noop("Alternates between two answers more regularly than the items can explain.")

    @classmethod
    def applies_to(cls, answer_format: AnswerFormat) -> bool:
        return answer_format.value_count > 0

    def examine(self, history: History) -> Finding | None:
        """Find too many changes between answers as shown, in assignments with exactly two different answers.

        The answers are compared with all orders of the same answers (the exact conditional runs test of Wald &
        Wolfowitz 1940). Items and sides are in random order, so a careful worker's answers are effectively
        shuffled.
        """
        level = self.alpha_now(history)
        if not level:
            return None
        counts_by_page: list[tuple[int, int]] = []  # how often each of the two answers occurs on a page
        change_count = 0
        has_answer = ~np.isnan(history.shown_value)
        for assignment in np.unique(history.assignment):
            shown_answers = history.shown_value[(history.assignment == assignment) & has_answer]
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
