"""The operations that simulate a plan for a study, and use the plan in the design."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _
from rest_framework import serializers

from common.errors import WrongState
from common.parameters import Parameters
from contrib.planning.assumptions import assumptions_for, compares_with_references, read_assumptions
from evaluation.models import Analysis
from judgments.access.rights import Right
from judgments.design.reading.checking import make_design
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.operations import Outcome, background_operation, operation
from judgments.studies.studies import change_design

JOB_KIND = "plan_power"
MAX_NAME_LENGTH = 200


class PowerPlanRequest(Parameters):
    """The assumptions of a plan (contrib/planning/README.md), and the pilot from which some of them are taken."""

    assumptions = serializers.DictField(
        required=False,
        help_text="Values of assumptions by name (contrib/planning/README.md). Others are those of the study's "
        "design, or defaults.",
    )
    pilot = serializers.CharField(
        required=False,
        help_text="Slug of an earlier study; assumptions about participants are estimated from its votes.",
    )
    first = serializers.CharField(
        required=False,
        max_length=MAX_NAME_LENGTH,
        help_text="First of two systems or metrics of the pilot whose difference is assumed; only with `second` and "
        "`pilot`.",
    )
    second = serializers.CharField(
        required=False,
        max_length=MAX_NAME_LENGTH,
        help_text="Second of these two systems or metrics; only with `first` and `pilot`.",
    )

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
    once="always",  # one plan of a study at a time, from pages and from calls
)
def start_power_plan(
    *, study: Study, assumptions: Mapping[str, Any] | None = None, **source: str
) -> dict[str, Any]:
    """Start a job that simulates how many pairs, references and votes are needed to find a difference.

    Poll its ``state``.
    """
    if not KINDS[study.protocol].compares_pairs:
        raise WrongState(
            _("Study %(slug)r does not compare pairs; the planner works only for pairs.")
            % {"slug": study.slug}
        )
    # The job's arguments. ``source`` has the parameters pilot, first and second, if they are given.
    return plan_job_arguments({**assumptions_for(study), **(assumptions or {})}, **source)


def plan_job_arguments(
    assumptions: Mapping[str, Any], pilot: str = "", first: str = "", second: str = ""
) -> dict[str, Any]:
    """Return the arguments of the job that simulates a plan. Raise EvaluationError for invalid assumptions."""
    checked_assumptions = read_assumptions(assumptions).model_dump(mode="json")
    return {"assumptions": checked_assumptions, "pilot": pilot, "first": first, "second": second}


@operation("use-plan", "Put a plan into the design")
@transaction.atomic
def use_plan(*, study: Study, by: User | None) -> Outcome:
    """Use the newest plan's cheapest design in the study: its number of pairs, references and votes."""
    plan = Analysis.objects.newest(study, Analysis.Kind.PLAN)
    numbers = plan.result["best"] if plan else None
    if plan is None or numbers is None:
        raise WrongState(
            _("Study %(slug)r has no plan in which a design reaches the target power.") % {"slug": study.slug}
        )
    design = study.design
    sampling = design["sampling"] | {"pairs": _divide_pairs(design["sampling"]["pairs"], numbers["pairs"])}
    if compares_with_references(study.protocol):
        sampling["references"] = numbers["references"]
    settings = plan.settings
    changed_design = design | {
        "judgments_per_unit": numbers["votes"],
        "units_per_hit": settings["units_per_hit"],
        "controls": design["controls"] | {"per_hit": settings["controls_per_hit"]},
        "crowd": design["crowd"] | {"reward_cents": settings["reward_cents"]},
        "sampling": sampling,
    }
    change_design(study=study, design=make_design(changed_design))
    return Outcome(_("The design now uses the plan's numbers of pairs, references and votes."))


def _divide_pairs(pairs_by_kind: Mapping[str, int], pair_count: int) -> dict[str, int]:
    """Divide a number of pairs among the kinds of pairs, whose shares stay the same. The first kinds get the remainder.

    Without pairs of any kind so far, all kinds get equal shares: two people's captions (HC), one of them of another
    image (HI), a person's and a machine's (HM), two machines' (MM).
    """
    counts = {kind: count for kind, count in pairs_by_kind.items() if count}
    counts = counts or dict.fromkeys(("HC", "HI", "HM", "MM"), 1)
    total = sum(counts.values())
    new_counts = {kind: pair_count * count // total for kind, count in counts.items()}
    remainder = pair_count - sum(new_counts.values())
    for kind in list(new_counts)[:remainder]:
        new_counts[kind] += 1
    return new_counts
