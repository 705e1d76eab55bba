"""Read and check the assumptions of a plan: the question, the people, the designs to try, and the prices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from django.utils.translation import gettext as _
from pydantic import Field, ValidationError

from evaluation.errors import EvaluationError
from judgments.design.tables.base import DesignTable, Listed
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.designs import design_of
from quorum.statistics.inputs import StatisticsError
from quorum.statistics.power import (
    CONVENTIONAL_POWER,
    MAX_TASTE,
    Question,
    TwoMetrics,
    TwoSystems,
    VoterModel,
)

Share = Annotated[float, Field(ge=0, le=1)]
Amount = Annotated[int, Field(ge=1, le=1_000_000)]


class Assumptions(DesignTable):
    """The assumptions and the designs to try. contrib/planning/README.md describes how they are simulated.

    Attributes:
        question: whether two systems or two metrics are compared.
        win_rate: share of pairs on which the first system is better, among those without a true tie.
        ties: share of pairs with a true tie.
        first, second: accuracies of the two metrics.
        agreement: share of pairs on which both metrics name the same winner.
        right: share of right votes of attentive people.
        pair_spread, unit_spread: intraclass correlation of the chance of a right vote, between pairs and within them.
        careless: share of votes that are given at random.
        worker_spread: how unequally careless votes are distributed over people: 0 if equally, 1 if some people are
            always careless.
        pairs_each: number of successive pairs that the same people judge; 0 for the number of pairs of a HIT.
        raters: number of people; 0 for new people after every ``pairs_each`` pairs.
        taste: standard deviation, over people, of the log odds to vote for the first of the two.
        pairs, references, votes: the numbers to try: of pairs, of references for each pair, and of votes on each unit.
        wanted: the power to reach.
        alpha: the significance level.
        simulations: number of simulated studies of each design.
        reward_cents, fee_cents, units_per_hit, controls_per_hit: pay and length of a page of work.
        replaced: share of pages of work that are paid for again.
    """

    question: Literal["systems", "metrics"] = "systems"
    win_rate: Share = 0.6
    ties: Share = 0.0
    first: Share = 0.8
    second: Share = 0.75
    agreement: Share = 0.85
    right: Share = 0.85
    pair_spread: Share = 0.1
    unit_spread: Share = 0.0
    careless: Share = 0.05
    worker_spread: Share = 0.5
    pairs_each: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    raters: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    taste: Annotated[float, Field(ge=0, le=MAX_TASTE)] = 0.0
    pairs: Listed[Amount] = Field((50, 100, 150, 200, 300, 400, 600, 800), min_length=1, max_length=40)
    references: Listed[Amount] = Field((1,), min_length=1, max_length=20)
    votes: Listed[Amount] = Field((1, 3, 5), min_length=1, max_length=20)
    wanted: Annotated[float, Field(gt=0, lt=1)] = CONVENTIONAL_POWER
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    simulations: Annotated[int, Field(ge=1, le=100_000)] = 1000
    seed: Annotated[int, Field(ge=0, le=2**53)] = 0
    reward_cents: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    fee_cents: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    units_per_hit: Amount = 20
    controls_per_hit: Annotated[int, Field(ge=0, le=100)] = 0
    replaced: Share = Field(0.0, description="Pages of work paid for again, as part of all.")

    def as_question(self) -> Question:
        """Return the comparison that is planned. Raise StatisticsError if its numbers are invalid."""
        if self.question == "systems":
            return TwoSystems(self.win_rate, self.ties)
        return TwoMetrics(self.first, self.second, self.agreement)

    def voter_model(self) -> VoterModel:
        """Return the assumed people. Raise StatisticsError if their numbers are invalid."""
        return VoterModel(
            right=self.right,
            pair_spread=self.pair_spread,
            unit_spread=self.unit_spread,
            careless=self.careless,
            worker_spread=self.worker_spread,
            pairs_each=self.pairs_each or self.units_per_hit - self.controls_per_hit,
            raters=self.raters,
            taste=self.taste,
        )


def read_assumptions(values: Mapping[str, Any]) -> Assumptions:
    """Validate assumptions. Raise EvaluationError with the first error if they are invalid."""
    try:
        assumptions = Assumptions.model_validate(dict(values))
        # Both methods raise an error for invalid numbers. A HIT without units to judge is refused below.
        assumptions.as_question()
        if assumptions.controls_per_hit < assumptions.units_per_hit:
            assumptions.voter_model()
    except ValidationError as error:
        first_error = error.errors(include_url=False)[0]
        location = ".".join(str(part) for part in first_error["loc"])
        if first_error["type"] == "extra_forbidden":
            field_names = ", ".join(Assumptions.model_fields)
            raise EvaluationError(
                _("%(where)s is not an assumption of the planner; expected one of %(known)s.")
                % {"where": location, "known": field_names}
            ) from None
        raise EvaluationError(
            _("%(where)s is %(input)r; expected %(value)s.")
            % {
                "where": location,
                "input": first_error["input"],
                "value": first_error["msg"].removeprefix("Input should be "),
            }
        ) from None
    except StatisticsError as error:
        raise EvaluationError(_("%(error)s.") % {"error": error}) from None
    if assumptions.controls_per_hit >= assumptions.units_per_hit:
        raise EvaluationError(
            _(
                "controls_per_hit is %(controls_per_hit)s, but units_per_hit is only %(units_per_hit)s, so no item is "
                "left to be judged."
            )
            % {"controls_per_hit": assumptions.controls_per_hit, "units_per_hit": assumptions.units_per_hit}
        )
    return assumptions


def assumptions_for(study: Study) -> dict[str, Any]:
    """Return the default assumptions, with the pay, the page length and the votes of the study's design."""
    design = design_of(study)
    votes = design.judgments_per_unit
    has_references = compares_with_references(design.protocol)
    return Assumptions().model_dump(mode="json") | {
        "references": [1, 3, 5, 10] if has_references else [1],
        "votes": sorted({1, 3, 5, votes}),
        "seed": design.seed,
        "reward_cents": design.crowd.reward_cents,
        "units_per_hit": design.units_per_hit,
        "controls_per_hit": design.controls.per_hit,
    }


def compares_with_references(protocol: str) -> bool:
    """Return whether each pair of a protocol is judged once per reference, which is shown instead of the picture."""
    kind = KINDS[protocol]
    return kind.compares_pairs and not kind.page.shows_picture
