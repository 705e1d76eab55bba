"""Detectors of wrong answers: on control items, against others, against own answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from pydantic import Field

from annotation.quality.detectors.base import (
    Alpha,
    AnswerFormat,
    Finding,
    History,
    Rule,
    SequentialRule,
    Share,
    alpha_share,
    binomial_at_most,
    describe_chance,
)
from common.amounts import percent
from evaluation.numeric.arrays import Floats

ENOUGH_PAIRS = 30  # pairs of others' answers needed to estimate their agreement


class Disagreement(SequentialRule):
    """Agreement with the majority of the others, corrected for chance as in Cohen's kappa."""

    name = "disagreement"
    title = gettext_noop("Disagrees with everybody")
    description = gettext_noop(
        "Agrees with the others less than chance, or a share of their own agreement, explains."
    )
    needs_others = True

    alpha: Alpha = 0.01
    of_crowd: Share = 0.0

    @classmethod
    def applies_to(cls, answers: AnswerFormat) -> bool:
        return answers.values > 0

    def examine(self, history: History) -> Finding | None:
        """Run a one-sided binomial test on units with a majority (quantities: a median) of the others.

        The expected agreement is ``chance + of_crowd * kappa * (1 - chance)``: chance from the answer shares of the
        worker and the others, kappa the others' agreement on the same units. With ``of_crowd`` 0 only a worker who
        answers against the others is found; with 0.5 also one who answers at random.
        """
        level = self.alpha_now(history)
        if not level:
            return None
        centre = _central_answers(history)
        decided = ~np.isnan(centre) & ~np.isnan(history.value)
        n = int(decided.sum())
        if n < self.least:
            return None
        distance = history.answers.agreement_distance
        answers, others = history.value[decided], centre[decided]
        agreeing = int((np.abs(answers - others) <= distance).sum())
        chance = _chance_agreement(answers, others, distance)
        kappa = _crowd_kappa(history, distance) if self.of_crowd else 0.0
        expected = chance + self.of_crowd * kappa * (1 - chance)
        p = binomial_at_most(agreeing, n, expected)
        if p > level:
            return None
        numbers = {"n": n, "agreeing": agreeing, "chance": chance, "expected": expected}
        own_kappa = (agreeing / n - chance) / (1 - chance) if chance < 1 else 0.0
        return self.make_finding(history, **numbers, kappa=own_kappa, others_kappa=kappa, p=p, level=level)

    def describe(self, numbers: Mapping[str, Any]) -> str:
        return _(
            "Agrees with the others' majority on %(agreeing)s of %(n)s items (%(share)s), where at least %(expected)s "
            "are expected; so few come by chance in %(chance)s cases."
        ) % {
            "agreeing": numbers["agreeing"],
            "n": numbers["n"],
            "share": percent(numbers["agreeing"] / numbers["n"]),
            "expected": percent(numbers["expected"]),
            "chance": describe_chance(numbers["p"]),
        }


def _central_answers(history: History) -> Floats:
    """Return (N,) the others' majority for nominal answers, else their median; nan if there is none."""
    counts = history.others
    centre = np.full(len(history), np.nan)
    if not counts.size:
        return centre
    if history.answers.agreement_distance == 0:
        most = counts.max(axis=1)
        alone = (most > 0) & ((counts == most[:, None]).sum(axis=1) == 1)
        centre[alone] = history.labels[counts[alone].argmax(axis=1)]
        return centre
    n = counts.sum(axis=1)
    heard = np.flatnonzero(n)
    upto = counts[heard].cumsum(axis=1)
    low = history.labels[(upto * 2 >= n[heard, None]).argmax(axis=1)]
    high = history.labels[(upto * 2 > n[heard, None]).argmax(axis=1)]
    centre[heard] = (low + high) / 2
    return centre


def _chance_agreement(answers: Floats, others: Floats, distance: float) -> float:
    first, first_counts = np.unique(answers, return_counts=True)
    second, second_counts = np.unique(others, return_counts=True)
    close = np.abs(first[:, None] - second[None, :]) <= distance
    return float(first_counts @ close @ second_counts / (len(answers) * len(others)))


def _crowd_kappa(history: History, distance: float) -> float:
    """Return the others' kappa on these units; 0 from too few pairs."""
    counts = history.others.astype(np.float64)
    n = counts.sum(axis=1)
    pairs = float((n * (n - 1)).sum())
    if pairs < 2 * ENOUGH_PAIRS:
        return 0.0
    close = (np.abs(history.labels[:, None] - history.labels[None, :]) <= distance).astype(np.float64)
    same = float(((counts @ close) * counts).sum() - n.sum())
    shares = counts.sum(axis=0) / n.sum()
    chance = float(shares @ close @ shares)
    return max(0.0, (same / pairs - chance) / (1 - chance)) if chance < 1 else 0.0


class ControlAccuracy(Rule):
    """Running accuracy on control items (H13 §4.3.2 asks for 70 % at the end)."""

    name = "control-accuracy"
    title = gettext_noop("Check questions missed")
    description = gettext_noop("Gets too few check questions right.")
    controls_only = True

    least: Annotated[int, Field(ge=1, le=10_000)] = 10
    threshold: Share = 0.7
    alpha: Annotated[float, Field(ge=0, le=0.2)] = 0.05

    def is_due(self, *, total: int, fresh: int) -> bool:
        return fresh > 0 if not self.alpha else super().is_due(total=total, fresh=fresh)

    def examine(self, history: History) -> Finding | None:
        """Find accuracy significantly below ``threshold`` after ``least`` control items.

        With ``alpha`` 0, any accuracy below the threshold counts, which a careful worker's first items easily give.
        """
        known = history.right[~np.isnan(history.right)]
        n, right = len(known), int(known.sum())
        if n < self.least or right >= self.threshold * n:
            return None
        p = binomial_at_most(right, n, self.threshold)
        if self.alpha:
            level = self.alpha * alpha_share(self.least, total=history.total, fresh=history.fresh)
            if p > level:
                return None
            return self.make_finding(history, n=n, right=right, threshold=self.threshold, p=p, level=level)
        return self.make_finding(history, n=n, right=right, threshold=self.threshold)

    def describe(self, numbers: Mapping[str, Any]) -> str:
        threshold = percent(numbers["threshold"])
        sentence = _("%(right)s of %(n)s check questions right (%(share)s); %(threshold)s are asked for.") % {
            "right": numbers["right"],
            "n": numbers["n"],
            "share": percent(numbers["right"] / numbers["n"]),
            "threshold": threshold,
        }
        if "p" not in numbers:
            return sentence
        chance = _("Somebody who gets %(threshold)s right does so badly in %(chance)s cases.") % {
            "threshold": threshold,
            "chance": describe_chance(numbers["p"]),
        }
        return f"{sentence} {chance}"


class RepeatConsistency(Rule):
    name = "repeat-consistency"
    title = gettext_noop("Contradicts themselves")
    description = gettext_noop("Answers a repeated item otherwise than before.")
    controls_only = True

    least: Annotated[int, Field(ge=1, le=10_000)] = 5
    threshold: Share = 0.5

    def examine(self, history: History) -> Finding | None:
        known = history.same[~np.isnan(history.same)]
        n, same = len(known), int(known.sum())
        if n < self.least or same >= self.threshold * n:
            return None
        return self.make_finding(history, n=n, same=same, threshold=self.threshold)

    def describe(self, numbers: Mapping[str, Any]) -> str:
        return _("%(same)s of %(n)s items shown twice were answered the same way both times.") % {
            "same": numbers["same"],
            "n": numbers["n"],
        }
