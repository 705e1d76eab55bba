"""Plan a study from assumptions or a pilot.

Metrics and systems are measured against a noisy consensus, which shrinks differences, so estimates are
corrected for the pilot's noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import numpy as np
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _
from pydantic import Field, ValidationError
from rest_framework import serializers

from annotation.money.payments import forecast_of_design
from common.amounts import json_float
from common.errors import WrongState
from common.parameters import Parameters
from evaluation.data.judgment_sets import loaders
from evaluation.data.judgment_sets.study_signatures import hash_of_judgments
from evaluation.errors import EvaluationError
from evaluation.models import Analysis, Consensus, MetricScore
from evaluation.results.agreement import components_of, counted_ratings
from evaluation.results.consensus import SIDES
from judgments.access.roles import Right, note_event
from judgments.design.reading import make_design
from judgments.design.requirements import Listed, Part
from judgments.design.study_design import StudyDesign
from judgments.kinds import KINDS
from judgments.models import Study, Unit
from judgments.operations import Outcome, background_operation, operation
from judgments.studies.generation import Progress, no_progress
from judgments.studies.studies import change_design, design_of
from quorum.numeric.signatures import signature
from quorum.statistics.crossed import ITEM, RATER, Clusters
from quorum.statistics.inputs import StatisticsError
from quorum.statistics.meta import metric_winners
from quorum.statistics.power import (
    MOST_TASTE,
    People,
    PilotPeople,
    Plan,
    PowerResult,
    Question,
    Size,
    TwoMetrics,
    TwoSystems,
    fit_people,
    plan_design,
    power_of,
    without_noise,
)

JOB_KIND = "plan_power"
ENOUGH = 0.8  # power, by Cohen's convention
LONGEST_NAME = 200
Share = Annotated[float, Field(ge=0, le=1)]
Amount = Annotated[int, Field(ge=1, le=1_000_000)]


class Assumptions(Part):
    """Assumptions and candidate designs (docs/planning.md defines each)."""

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
    pairs_each: Annotated[int, Field(ge=0, le=1_000_000)] = 0  # 0: those of a HIT
    raters: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    taste: Annotated[float, Field(ge=0, le=MOST_TASTE)] = 0.0
    pairs: Listed[Amount] = Field((50, 100, 150, 200, 300, 400, 600, 800), min_length=1, max_length=40)
    references: Listed[Amount] = Field((1,), min_length=1, max_length=20)
    votes: Listed[Amount] = Field((1, 3, 5), min_length=1, max_length=20)
    wanted: Annotated[float, Field(gt=0, lt=1)] = ENOUGH
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    simulations: Annotated[int, Field(ge=1, le=100_000)] = 1000
    seed: Annotated[int, Field(ge=0, le=2**53)] = 0
    reward_cents: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    fee_cents: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    units_per_hit: Amount = 20
    controls_per_hit: Annotated[int, Field(ge=0, le=100)] = 0
    replaced: Share = Field(0.0, description="Pages of work paid for again, as part of all.")

    def as_question(self) -> Question:
        """Raise StatisticsError."""
        if self.question == "systems":
            return TwoSystems(self.win_rate, self.ties)
        return TwoMetrics(self.first, self.second, self.agreement)

    def people(self) -> People:
        """Raise StatisticsError."""
        return People(
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
    """Validate assumptions. Raise EvaluationError with the first problem."""
    try:
        assumptions = Assumptions.model_validate(dict(values))
        assumptions.as_question()
        if assumptions.controls_per_hit < assumptions.units_per_hit:  # refused below
            assumptions.people()
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            known = ", ".join(Assumptions.model_fields)
            raise EvaluationError(
                _("%(where)s is not known to the planner; expected one of %(known)s.")
                % {"where": where, "known": known}
            ) from None
        raise EvaluationError(
            _("%(where)s is %(input)r; expected %(value)s.")
            % {
                "where": where,
                "input": first["input"],
                "value": first["msg"].removeprefix("Input should be "),
            }
        ) from None
    except StatisticsError as error:
        raise EvaluationError(_("%(error)s.") % {"error": error}) from None
    if assumptions.controls_per_hit >= assumptions.units_per_hit:
        raise EvaluationError(
            _(
                "controls_per_hit is %(controls_per_hit)s, which leaves no place in a HIT of %(units_per_hit)s."
            )
            % {"controls_per_hit": assumptions.controls_per_hit, "units_per_hit": assumptions.units_per_hit}
        )
    return assumptions


def assumptions_for(study: Study) -> dict[str, Any]:
    design = design_of(study)
    votes = design.judgments_per_unit
    several = _compares_with_references(design.protocol)
    return Assumptions().model_dump(mode="json") | {
        "references": [1, 3, 5, 10] if several else [1],
        "votes": sorted({1, 3, 5, votes}),
        "seed": design.seed,
        "reward_cents": design.crowd.reward_cents,
        "units_per_hit": design.units_per_hit,
        "controls_per_hit": design.controls.per_hit,
    }


def _compares_with_references(protocol: str) -> bool:
    """Return whether a pair is judged once per reference, shown in place of the picture."""
    kind = KINDS[protocol]
    return kind.compares_pairs and not kind.page.shows_picture


def compute_plan(
    *, assumptions: Assumptions, design: StudyDesign | None = None, progress: Progress = no_progress
) -> dict[str, Any]:
    """Simulate the designs, without storing the result.

    Costs are those of the crowd of ``design``, if given, for HITs of the assumed reward and length.

    Raises:
        EvaluationError: the designs are too many or too large.
    """
    try:
        plan = plan_design(
            assumptions.as_question(),
            assumptions.people(),
            pairs=assumptions.pairs,
            references=assumptions.references,
            votes=assumptions.votes,
            cost=lambda size: cost_of(size, assumptions, design),
            wanted=assumptions.wanted,
            alpha=assumptions.alpha,
            simulations=assumptions.simulations,
            seed=assumptions.seed,
            progress=lambda share: progress(share, "simulating studies"),
        )
    except StatisticsError as error:
        raise EvaluationError(_("%(error)s.") % {"error": error}) from None
    return _plan_as_json(plan, assumptions, design)


def cost_of(size: Size, assumptions: Assumptions, design: StudyDesign | None) -> int:
    """Return a design's cost in whole cents, with fees and replaced work."""
    units = size.pairs * size.references
    hits = math.ceil(units / (assumptions.units_per_hit - assumptions.controls_per_hit))
    places = hits * size.votes
    again = math.ceil(places * assumptions.replaced)
    if design is None:
        return (places + again) * (assumptions.reward_cents + assumptions.fee_cents)
    crowd = design.crowd.model_copy(update={"reward_cents": assumptions.reward_cents})
    priced = design.model_copy(update={"judgments_per_unit": size.votes, "crowd": crowd})
    forecast = forecast_of_design(priced, hits=hits, items=units + hits * assumptions.controls_per_hit)
    # Repeated work costs the average slot, rounded up.
    return forecast.cents + -(-forecast.cents * again // max(1, forecast.places))


def _plan_as_json(plan: Plan, assumptions: Assumptions, design: StudyDesign | None) -> dict[str, Any]:
    def row(result: PowerResult | None) -> dict[str, Any] | None:
        if result is None:
            return None
        figures = {key: json_float(value) for key, value in asdict(result).items() if key != "size"}
        return asdict(result.size) | figures | {"cost_cents": cost_of(result.size, assumptions, design)}

    return {
        "tried": [row(result) for result in plan.tried],
        "wanted": plan.wanted,
        "best": row(plan.best),
        "fewer_votes": row(plan.fewer_votes),
        "half_the_pairs": row(plan.half_the_pairs),
    }


@transaction.atomic
def store_plan(
    *, study: Study, assumptions: Assumptions, result: dict[str, Any], pilot: Mapping[str, str] | None = None
) -> Analysis:
    source = dict(pilot or {})
    data_hash = source.pop("data_hash", "")
    settings = assumptions.model_dump(mode="json") | source
    stored = Analysis.objects.create(
        study=study,
        what=Analysis.What.PLAN,
        settings=settings,
        signature=signature(
            "power",
            {
                "question": assumptions.question,
                "test": "items-and-raters",
                "alpha": assumptions.alpha,
                "simulations": assumptions.simulations,
                "seed": assumptions.seed,
            },
        ),
        data_hash=data_hash,
        result=result,
    )
    note_event(study=study, what="planned", sentence=f"{len(result['tried'])} designs were simulated.")
    return stored


class PowerPlanRequest(Parameters):
    """What is assumed (docs/planning.md), for which study, and from which pilot."""

    assumptions = serializers.DictField(required=False, help_text="Those that differ from the usual.")
    pilot = serializers.CharField(required=False, help_text="Slug of a study whose people are taken.")
    first = serializers.CharField(required=False, max_length=LONGEST_NAME, help_text="Of two in the pilot.")
    second = serializers.CharField(required=False, max_length=LONGEST_NAME)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        first, second = attrs.get("first"), attrs.get("second")
        if bool(first) != bool(second):
            raise serializers.ValidationError({"second" if first else "first": ["Name both, or neither."]})
        if first and not attrs.get("pilot"):
            raise serializers.ValidationError({"pilot": ["Name the study in which the two were compared."]})
        return super().validate(attrs)


@background_operation(
    "plan-power",
    "Simulate a study",
    parameters=PowerPlanRequest,
    job=JOB_KIND,
    right=Right.CHANGE,
    once="always",
)
def plan_power(
    *, study: Study, assumptions: Mapping[str, Any] | None = None, **source: str
) -> dict[str, Any]:
    """Starts a simulation of how many pairs, references and votes a difference takes; follow `state`."""
    if not KINDS[study.protocol].compares_pairs:
        raise WrongState(
            _("Study %(slug)r compares no pairs; there is nothing to plan so.") % {"slug": study.slug}
        )
    return plan_args({**assumptions_for(study), **(assumptions or {})}, **source)


def plan_args(
    assumptions: Mapping[str, Any], pilot: str = "", first: str = "", second: str = ""
) -> dict[str, Any]:
    checked = read_assumptions(assumptions).model_dump(mode="json")
    return {"assumptions": checked, "pilot": pilot, "first": first, "second": second}


@operation("use-plan", "Put a plan into the design")
@transaction.atomic
def use_plan(*, study: Study, by: User | None) -> Outcome:
    """Put the newest plan's cheapest design into the study: its pairs, references and votes."""
    plan = Analysis.objects.newest(study, Analysis.What.PLAN)
    best = plan.result["best"] if plan else None
    if plan is None or best is None:
        raise WrongState(
            _("Study %(slug)r has no plan with a design that reaches the power.") % {"slug": study.slug}
        )
    values = study.design
    kinds = {kind: count for kind, count in values["sampling"]["pairs"].items() if count} or dict.fromkeys(
        ("HC", "HI", "HM", "MM"), 1
    )
    # Pair kinds keep their shares, the first ones taking the remainder; without any, all get equal shares.
    total, wanted = sum(kinds.values()), best["pairs"]
    shares = {kind: wanted * count // total for kind, count in kinds.items()}
    for kind in list(shares)[: wanted - sum(shares.values())]:
        shares[kind] += 1
    sampling = values["sampling"] | {"pairs": shares}
    if _compares_with_references(study.protocol):
        sampling["references"] = best["references"]
    settings = plan.settings
    changed = values | {
        "judgments_per_unit": best["votes"],
        "units_per_hit": settings["units_per_hit"],
        "controls": values["controls"] | {"per_hit": settings["controls_per_hit"]},
        "crowd": values["crowd"] | {"reward_cents": settings["reward_cents"]},
        "sampling": sampling,
    }
    change_design(study=study, design=make_design(changed))
    return Outcome(_("The design now has the plan's pairs, references and votes."))


PAIRS, TIMES = 200, 200  # simulated pairs for the probability that a consensus is right


@dataclass(frozen=True, slots=True)
class PilotEstimates:
    assumptions: dict[str, Any]
    source: dict[str, Any]


def estimate_from_pilot(*, study: Study, question: str, first: str = "", second: str = "") -> PilotEstimates:
    """Estimate people's accuracy and, given two names, the difference of two systems or metrics.

    Raises:
        EvaluationError: an unsuitable study, or only one name.
    """
    people = pilot_people(study)
    assumptions: dict[str, Any] = {
        "right": round(people.right, 3),
        "pair_spread": round(people.spread, 3),
        "unit_spread": 0.0,
        "careless": 0.0,
        "worker_spread": 0.0,
    }
    source: dict[str, Any] = {"pilot": study.slug, "data_hash": hash_of_judgments(study)}
    components = pilot_components(study)
    if components and not components["reason"]:
        source["components"] = components
    if bool(first) != bool(second):
        raise EvaluationError(_("Only one of the pilot's two is named; expected both, or neither."))
    if first:
        right = consensus_accuracy(study, people)
        loader = pilot_systems if question == "systems" else pilot_metrics
        assumptions |= {
            name: round(value, 6) for name, value in loader(study, first, second, right=right).items()
        }
        if not loaders.is_anonymous(study):
            sides = _sides_of_systems if question == "systems" else _sides_of_metrics
            assumptions["taste"] = round(taste_of(study, people, sides(study, first, second)), 3)
        source |= {"pilot_first": first, "pilot_second": second}
    return PilotEstimates(assumptions, source)


def pilot_components(study: Study) -> dict[str, Any]:
    """Return variance components of the pilot's votes: images, people and residual; {} if voters are anonymous."""
    if loaders.is_anonymous(study):
        return {}
    table, units = loaders.load_judgments(study), loaders.unit_rows(study)
    rows = table.counted & ~np.isnan(table.value)
    images = loaders.clusters_of_units(study, units)
    ratings, grouped = counted_ratings(table, units, rows, images, anonymous=False)
    assert grouped is not None, "there are images"
    return components_of(KINDS[study.protocol], ratings.labels[ratings.code], grouped)


def taste_of(study: Study, people: PilotPeople, sides: Mapping[int, int]) -> float:
    """Return the standard deviation over people of their log odds to prefer the first of two.

    sides: pair row id -> the text, 1 or 2, that the first wrote or names. The variance of votes by people (Brennan
    2001) is that of the log odds times the squared mean slope of the chances, of which ``right`` is the mean.
    """
    table, units = loaders.load_judgments(study), loaders.unit_rows(study)
    side_of = {unit.pk: sides[unit.pair] for unit in units if unit.pair is not None and unit.pair in sides}
    rows = table.counted & np.isin(table.value, SIDES) & np.isin(table.unit, list(side_of))
    unit = table.unit[rows]
    columns = {ITEM: unit, RATER: table.worker[rows]}
    slope = people.right * (1 - people.right) * (1 - people.spread)
    if not rows.any() or not slope:
        return 0.0
    clusters = Clusters.of(columns, len(unit))
    if len(clusters.used) < len(columns):
        return 0.0
    votes = (table.value[rows] == np.array([side_of[pk] for pk in unit.tolist()])) * 1.0
    return min(MOST_TASTE, math.sqrt(float(clusters.components(votes)[1])) / slope)


def _sides_of_systems(study: Study, first: str, second: str) -> dict[int, int]:
    of_pair = loaders.systems_of_pairs(study)
    names = {pair.pk: of_pair[pair.key] for pair in loaders.pair_rows(study)}
    return {pk: both.index(first) + 1 for pk, both in names.items() if set(both) == {first, second}}


def _sides_of_metrics(study: Study, first: str, second: str) -> dict[int, int]:
    """Return what the first names where the second names the other."""
    named, other = (_winners_of_metric(study, metric) for metric in (first, second))
    return {pk: side for pk, side in named.items() if side and other.get(pk) == 3 - side}


def pilot_people(study: Study) -> PilotPeople:
    """Estimate people's accuracy from split votes. Raise EvaluationError."""
    if not KINDS[study.protocol].compares_pairs:
        raise EvaluationError(
            _("Study %(slug)r compares no pairs; it says nothing about this design.") % {"slug": study.slug}
        )
    table = loaders.load_judgments(study)
    counted = table.counted & np.isin(table.value, SIDES)  # people's accuracy is of those who chose
    _units, rows = np.unique(table.unit[counted], return_inverse=True)
    votes = np.bincount(rows)
    first = np.bincount(rows, weights=table.value[counted] == 1, minlength=votes.size)
    try:
        return fit_people(first, votes)
    except StatisticsError as error:
        raise EvaluationError(
            _("Study %(slug)r is no pilot: %(error)s.") % {"slug": study.slug, "error": error}
        ) from None


def consensus_accuracy(study: Study, people: PilotPeople) -> float:
    """Simulate how often a consensus of the pilot's depth is right. Raise EvaluationError if by chance."""
    units = Unit.objects.filter(study=study, control=False, pair__isnull=False)
    pairs = units.values("pair").distinct().count()
    size = Size(
        PAIRS, max(1, round(units.count() / max(1, pairs))), max(1, round(people.votes / people.units))
    )
    crowd = People(right=people.right, pair_spread=people.spread, careless=0.0, worker_spread=0.0)
    # The assumed difference has no effect on the consensus.
    (result,) = power_of(TwoSystems(1.0), crowd, [size], simulations=TIMES, seed=0)
    if not result.right_consensus > 0.5:
        raise EvaluationError(
            _("Study %(slug)r is no pilot: its votes are as good as a coin's.") % {"slug": study.slug}
        )
    return result.right_consensus


def _consensus(study: Study) -> dict[int, int]:
    rows = Consensus.objects.filter(study=study, pair__isnull=False, value__isnull=False)
    consensus = {pair: int(value) for pair, value in rows.values_list("pair", "value") if pair and value}
    if not consensus:
        raise EvaluationError(
            _("Study %(slug)r has no pair with a consensus; aggregate it first.") % {"slug": study.slug}
        )
    return consensus


def pilot_systems(study: Study, first: str, second: str, *, right: float = 1.0) -> dict[str, float]:
    """Estimate how often the first of two systems is truly better, among decided pairs.

    ``right`` is the share of right consensuses. Tied votes are excluded, as in the planner.

    Raises:
        EvaluationError: the two never met, or no such pair has a consensus.
    """
    consensus = _consensus(study)
    of_pair = loaders.systems_of_pairs(study)
    wins = losses = 0
    for pair in loaders.pair_rows(study):
        value, names = consensus.get(pair.pk), of_pair[pair.key]
        if value is None or set(names) != {first, second} or first == second:
            continue
        won = names[value - 1] == first
        wins, losses = wins + won, losses + (not won)
    if not wins + losses:
        known = sorted({name for names in of_pair.values() if len(set(names)) == 2 for name in names})
        raise EvaluationError(
            _(
                "Study %(slug)r decided no pair of %(first)r and %(second)r; systems that meet in it: %(value)s."
            )
            % {"slug": study.slug, "first": first, "second": second, "value": ", ".join(known) or "none"}
        )
    return {"win_rate": without_noise(wins / (wins + losses), right), "ties": 0.0}


def pilot_metrics(study: Study, first: str, second: str, *, right: float = 1.0) -> dict[str, float]:
    """Estimate two metrics' accuracies and agreement, clipped to the possible range.

    Raises:
        EvaluationError: a metric was not evaluated.
    """
    winners = {metric: _winners_of_metric(study, metric) for metric in (first, second)}
    consensus = _consensus(study)
    hits = {
        metric: {pair: winners[metric].get(pair) == value for pair, value in consensus.items()}
        for metric in winners
    }
    n = len(consensus)
    accuracy = {metric: without_noise(sum(hits[metric].values()) / n, right) for metric in hits}
    a, b = accuracy[first], accuracy[second]
    same = sum(hits[first][pair] == hits[second][pair] for pair in consensus) / n
    return {
        "first": a,
        "second": b,
        "agreement": min(max(same, abs(a + b - 1)), 1 - abs(a - b)),
    }


def _winners_of_metric(study: Study, metric: str) -> dict[int, int]:
    newest = Analysis.objects.newest(study, Analysis.What.META_EVALUATION)
    scores = MetricScore.objects.filter(analysis=newest, metric=metric, pair__isnull=False)
    rows = list(scores.order_by("pair").values_list("pair", "first", "second"))
    if newest is None or not rows:
        raise EvaluationError(
            _("Study %(slug)r was not evaluated with %(metric)r; compute it first.")
            % {"slug": study.slug, "metric": metric}
        )
    named = metric_winners(np.array([row[1] for row in rows]), np.array([row[2] for row in rows]))
    return dict(zip((row[0] for row in rows), named.tolist(), strict=True))
