"""What became of a registered plan: its hypotheses tested on the pairs, and the report's section. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from evaluation.provenance import plain
from evaluation.records import Flags
from evaluation.reports.content import Section, p_said, plain_table
from evaluation.reports.gathered import Gathered
from evaluation.statistics.meta import metric_winners
from evaluation.statistics.significance import McNemarResult, holm, mcnemar_test, wilson_interval
from judgments.design.plans import Plan, read_claim


@dataclass(frozen=True, slots=True)
class Deviation:
    """Something that was not done as registered: in a word, and in a sentence."""

    what: str
    words: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a hypothesis.

    Attributes:
        verdict: supported, not supported (the opposite was found), undecided, or for people to judge.
        first_only, second_only: pairs on which only the one, or only the other metric is right.
        p: McNemar's exact p, two-sided; nan where nothing was tested.
        adjusted: after Holm over the tested hypotheses of the plan.
    """

    text: str
    claim: str
    verdict: str
    first_only: int = 0
    second_only: int = 0
    p: float = math.nan
    adjusted: float = math.nan

    def as_json(self) -> dict[str, Any]:
        """Every number, with the share of the differing pairs on which the first metric is right and its Wilson
        interval; null where nothing was tested."""
        differing = self.first_only + self.second_only
        share = self.first_only / differing if differing else None
        low, high = wilson_interval(self.first_only, differing) if differing else (None, None)
        return {
            **asdict(self),
            "p": plain(self.p),
            "adjusted": plain(self.adjusted),
            "share": share,
            "low": low,
            "high": high,
            "words": outcome_words(self),
        }


@dataclass(frozen=True, slots=True)
class Registered:
    """A registered plan and what is known of it besides the judgments.

    Attributes:
        sha256: of plan and design; ``on``: the day it was fixed, as ISO 8601 has it.
        deviations: what was done otherwise.
    """

    plan: Plan
    sha256: str
    on: str
    deviations: tuple[Deviation, ...]

    def outcomes(self, gathered: Gathered) -> list[Outcome]:
        """Each hypothesis by these judgments."""
        return tested_hypotheses(self.plan, *metrics_right(gathered))

    def as_json(self, gathered: Gathered) -> dict[str, Any]:
        """For a release: hypotheses with their figures, and deviations."""
        return {
            "sha256": self.sha256,
            "registered_on": self.on,
            "hypotheses": [one.as_json() for one in self.outcomes(gathered)],
            "deviations": [asdict(one) for one in self.deviations],
        }

    def section(self, gathered: Gathered) -> Section:
        """The report's section."""
        hypotheses = plain_table(
            "hypotheses",
            "What became of the registered hypotheses",
            [("hypothesis", "text"), ("claim", "text"), ("verdict", "text"), ("in words", "text")],
            [(one.text, one.claim, one.verdict, outcome_words(one)) for one in self.outcomes(gathered)],
            "McNemar's exact test, two-sided, adjusted after Holm over the tested hypotheses; Wilson's 95 % intervals.",
        )
        others = plain_table(
            "deviations",
            "What was done otherwise than registered",
            [("what", "text"), ("in words", "text")],
            [(one.what, one.words) for one in self.deviations],
        )
        found = len(self.deviations)
        count = "no deviation" if not found else "1 deviation" if found == 1 else f"{found} deviations"
        return Section(
            "registration",
            "Registered and done otherwise",
            (
                f"The plan was registered on {self.on} with SHA-256 {self.sha256}; the platform found {count} from it.",
            ),
            (),
            (hypotheses, others) if found else (hypotheses,),
        )


def metrics_right(gathered: Gathered) -> tuple[dict[str, Flags], list[str]]:
    """Whether each metric names people's winner, and the kinds of those pairs: of the pairs with a consensus. A
    metric's tie is wrong; nothing where no metric was held against pairs."""
    if not gathered.kind.compares_pairs or not gathered.scores:
        return {}, []
    decided = gathered.winners != 0
    right = {
        name: (metric_winners(scores[:, 0], scores[:, 1]) == gathered.winners)[decided]
        for name, scores in gathered.scores.items()
    }
    return right, gathered.kinds[decided].tolist()


def tested_hypotheses(plan: Plan, right: Mapping[str, Flags], kinds: Sequence[str]) -> list[Outcome]:
    """Each hypothesis of a plan: claims by McNemar's exact test, two-sided, adjusted after Holm over those tested.

    Args:
        right: metric -> (N,) whether it names people's winner.
        kinds: (N,) the pairs' kinds.
    """
    tested: list[tuple[int, McNemarResult]] = []
    found = []
    for place, one in enumerate(plan.hypotheses):
        found.append(Outcome(one.text, one.claim, "undecided" if one.claim else "for people to judge"))
        if not one.claim:
            continue
        claim = read_claim(one.claim)
        if claim.better not in right or claim.worse not in right:
            continue
        keep = np.array([claim.kind in ("all", kind) for kind in kinds], dtype=bool)
        if keep.any():
            tested.append((place, mcnemar_test(right[claim.better][keep], right[claim.worse][keep])))
    adjusted = holm([result.exact_p for _, result in tested]).tolist() if tested else []
    for (place, result), p in zip(tested, adjusted, strict=True):
        verdict = "undecided"
        if p <= plan.level:
            verdict = "supported" if result.first_only > result.second_only else "not supported"
        one = plan.hypotheses[place]
        found[place] = Outcome(
            one.text, one.claim, verdict, result.first_only, result.second_only, result.exact_p, p
        )
    return found


def outcome_words(outcome: Outcome) -> str:
    """What was found of a hypothesis, with its interval."""
    if not outcome.claim:
        return "Nothing here tests it; people judge it."
    claim = read_claim(outcome.claim)
    if math.isnan(outcome.p):
        return (
            f"Not tested: {claim.better} and {claim.worse} were not both held against people on such pairs."
        )
    differing = outcome.first_only + outcome.second_only
    if not differing:
        return f"{claim.better} and {claim.worse} are right on the very same pairs."
    low, high = wilson_interval(outcome.first_only, differing)
    return (
        f"Of {differing:,} pairs on which only one is right, {claim.better} is right on {outcome.first_only:,}: "
        f"{100 * outcome.first_only / differing:.1f} % (95 % interval {100 * low:.1f} to {100 * high:.1f}); "
        f"{p_said(outcome.p)}, after Holm {p_said(outcome.adjusted)}."
    )
