"""A plan's numbers, put into the design."""

from __future__ import annotations

from django.contrib.auth.models import User

from evaluation.planning.planning import use_plan as put_plan_into_design
from judgments.models import Study
from judgments.study_operations import Outcome, operation


@operation("use-plan", "Put a plan into the design")
def use_plan(*, study: Study, by: User | None) -> Outcome:
    """The newest plan's cheapest design: its pairs, references and votes."""
    put_plan_into_design(study=study)
    return Outcome("The design now has the plan's pairs, references and votes.")
