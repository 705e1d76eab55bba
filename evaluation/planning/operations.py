"""Operations: plan a study by simulation, and use a plan's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from rest_framework import serializers

from common.errors import WrongState
from common.parameters import Parameters
from evaluation.planning.planning import assumptions_for, read_assumptions
from evaluation.planning.planning import use_plan as put_plan_into_design
from judgments.access.roles import Right
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.study_operations import Outcome, background_operation, operation

JOB_KIND = "plan_power"
LONGEST_NAME = 200


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
def use_plan(*, study: Study, by: User | None) -> Outcome:
    """Put the newest plan's cheapest design into the study: its pairs, references and votes."""
    put_plan_into_design(study=study)
    return Outcome(_("The design now has the plan's pairs, references and votes."))
