"""Registered plans in reports and releases: outcomes of their hypotheses, and deviations from the plan.

Plans are registered only in installations with the feature (``Feature.registered_plans``). This module works without
it, because releases with a plan can be verified in any installation.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from django.utils.translation import gettext_noop

from common.amounts import as_json
from common.features import of_features
from evaluation.presentation.content import Section
from evaluation.presentation.rendering import WORDING_VERSION, render_sentence, section, table
from evaluation.reports.inputs import ReportInputs
from evaluation.results.verdict import winners_of_metrics
from judgments.design.tables.plan import RegistrationPlan, read_claim
from judgments.models import Study
from quorum.numeric.arrays import Ints
from quorum.statistics.meta import PeoplesWinners
from quorum.statistics.significance import holm, wilson_interval

UNDECIDED, FOR_PEOPLE = gettext_noop("undecided"), gettext_noop("for people to judge")
SUPPORTED, NOT_SUPPORTED = gettext_noop("supported"), gettext_noop("not supported")


def plan_hash(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a registered plan and design as canonical JSON: sorted keys, no blanks, UTF-8."""
    text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Deviation:
    """A deviation from the plan: its kind, and a description.

    ``quoted`` says whether the description is quoted from the study's log, which may name people.
    """

    what: str
    words: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class HypothesisOutcome:
    """The outcome of a hypothesis, whose ``claim`` is in a form such as ``cider-d > rouge-l on HC``, or "".

    Attributes:
        verdict: supported, not supported (the opposite was found), undecided, or to be judged by people.
        first_only, second_only: number of pairs on which only the first metric is right, and only the second.
        p: two-sided, by t over items, and over people if known; without clusters McNemar's exact p; nan if not tested.
        adjusted: p with Holm's correction for the plan's tested hypotheses.
    """

    text: str
    claim: str
    verdict: str
    first_only: int = 0
    second_only: int = 0
    p: float = math.nan
    adjusted: float = math.nan

    @property
    def differing_pairs(self) -> int:
        return self.first_only + self.second_only

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of first_only / (first_only + second_only)."""
        return wilson_interval(self.first_only, self.differing_pairs)

    def as_json(self) -> dict[str, Any]:
        low, high = self.interval if self.differing_pairs else (None, None)
        return {
            **asdict(self),
            "share": self.first_only / self.differing_pairs if self.differing_pairs else None,
            "low": low,
            "high": high,
            "words": outcome_sentence(self),
        }


@dataclass(frozen=True, slots=True)
class RegisteredPlan:
    """A registered plan and its deviations.

    ``content`` has the plan and the design, as registered, and ``sha256`` is its hash (``plan_hash``).
    """

    plan: RegistrationPlan
    content: Mapping[str, Any]
    sha256: str
    registered_on: str
    deviations: tuple[Deviation, ...]


def find_registered_plan(study: Study, *, with_sentences: bool = True) -> RegisteredPlan | None:
    """Return the study's plan, if it was registered with a feature (``Feature.registered_plans``), or None.

    If ``with_sentences`` is false, deviations quote nothing from the log, which may name people.
    """
    for find_plan in of_features("registered_plans"):
        plan: RegisteredPlan | None = find_plan(study, with_sentences=with_sentences)
        if plan is not None:
            return plan
    return None


class _TestedHypothesis(NamedTuple):
    """A test of a hypothesis.

    Attributes:
        hypothesis: position of the hypothesis in the plan.
        only_better: number of pairs on which only the metric is right that is claimed to be better.
        only_worse: number of pairs on which only the other metric is right.
    """

    hypothesis: int
    only_better: int
    only_worse: int
    p: float


def hypothesis_outcomes(
    plan: RegistrationPlan, winners: Mapping[str, Ints], people: PeoplesWinners | None, kinds: Sequence[str]
) -> list[HypothesisOutcome]:
    """Test a plan's hypotheses by two-sided tests of differences in accuracy, with Holm's correction.

    Args:
        winners: the (N,) winners that each metric names: 1, 2, or 0 for a tie.
        people: people's (N,) winners, 0 for undecided pairs; None if there are none yet.
        kinds: (N,) kinds of the pairs.
    """
    tests: list[_TestedHypothesis] = []
    outcomes = []
    for index, hypothesis in enumerate(plan.hypotheses):
        verdict = UNDECIDED if hypothesis.claim else FOR_PEOPLE
        outcomes.append(HypothesisOutcome(hypothesis.text, hypothesis.claim, verdict))
        if not hypothesis.claim:
            continue
        claim = read_claim(hypothesis.claim)
        if people is None or claim.better not in winners or claim.worse not in winners:
            continue
        is_of_kind = np.array([claim.kind in ("all", kind) for kind in kinds], dtype=bool)
        is_decided = is_of_kind & (people.winners != 0)
        if is_decided.any():
            better, worse = winners[claim.better], winners[claim.worse]
            only_better = int(((better == people.winners) & (worse != people.winners))[is_decided].sum())
            only_worse = int(((worse == people.winners) & (better != people.winners))[is_decided].sum())
            p = people.difference(better, worse, is_of_kind).p
            tests.append(_TestedHypothesis(index, only_better, only_worse, p))
    adjusted_ps = holm([test.p for test in tests]).tolist() if tests else []
    for test, adjusted_p in zip(tests, adjusted_ps, strict=True):
        verdict = UNDECIDED
        if adjusted_p <= plan.level:
            verdict = SUPPORTED if test.only_better > test.only_worse else NOT_SUPPORTED
        outcomes[test.hypothesis] = replace(
            outcomes[test.hypothesis],
            verdict=verdict,
            first_only=test.only_better,
            second_only=test.only_worse,
            p=test.p,
            adjusted=adjusted_p,
        )
    return outcomes


def outcome_sentence(outcome: HypothesisOutcome, wording: int = WORDING_VERSION) -> str:
    if not outcome.claim:
        return "Nothing here tests it; people judge it."
    claim = read_claim(outcome.claim)
    if math.isnan(outcome.p):
        return render_sentence("outcome-not-tested", claim=claim)
    low, high = outcome.interval if outcome.differing_pairs else (math.nan, math.nan)
    return render_sentence("outcome", wording=wording, claim=claim, outcome=outcome, low=low, high=high)


def registration_section(registered_plan: RegisteredPlan, inputs: ReportInputs) -> Section:
    rows = [
        (outcome.text, outcome.claim, outcome.verdict, outcome_sentence(outcome, inputs.method.wording))
        for outcome in registered_outcomes(registered_plan, inputs)
    ]
    tables = [
        table("hypotheses", rows, clustered=inputs.method.is_clustered, raters=inputs.covers_new_raters)
    ]
    deviations = registered_plan.deviations
    if deviations:
        tables.append(table("deviations", [(deviation.what, deviation.words) for deviation in deviations]))
    sentence = render_sentence(
        "registration", on=registered_plan.registered_on, sha256=registered_plan.sha256, n=len(deviations)
    )
    return section("registration", [sentence], tables=tables)


def registration_as_json(registered_plan: RegisteredPlan, inputs: ReportInputs) -> dict[str, Any]:
    return {
        "sha256": registered_plan.sha256,
        "registered_on": registered_plan.registered_on,
        "hypotheses": [as_json(outcome) for outcome in registered_outcomes(registered_plan, inputs)],
        "deviations": [as_json(deviation) for deviation in registered_plan.deviations],
    }


def registered_outcomes(registered_plan: RegisteredPlan, inputs: ReportInputs) -> list[HypothesisOutcome]:
    """Return the outcomes of the plan's hypotheses for the report's metrics and pairs."""
    if not inputs.kind.compares_pairs or not inputs.scores:
        return hypothesis_outcomes(registered_plan.plan, {}, None, [])
    winners_by_metric = winners_of_metrics(inputs.scores)
    return hypothesis_outcomes(
        registered_plan.plan, winners_by_metric, inputs.people_winners, inputs.kinds.tolist()
    )
