"""The operation of registering a plan."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from rest_framework import serializers

from common.parameters import Parameters
from evaluation.registration.plans import make_plan
from evaluation.registration.registering import plan_of, register_study
from judgments.models import Study
from judgments.study_operations import Outcome, operation


class RegistrationRequest(Parameters):
    """The plan of a study that was not opened yet."""

    plan = serializers.DictField(
        required=False,
        help_text="What the table [registration] of a plan file holds. Left out: the plan of the study file.",
    )


@operation("register", "Register the plan", parameters=RegistrationRequest)
def register(*, study: Study, by: User | None, plan: dict[str, Any] | None = None) -> Outcome:
    """Fixes a plan before the study opens; once, and for good."""
    made = register_study(study=study, plan=plan_of(study) if plan is None else make_plan(plan), by=by)
    return Outcome(
        _("Study %(slug)s is registered: SHA-256 %(sha256)s.") % {"slug": study.slug, "sha256": made.sha256},
        made,
    )
