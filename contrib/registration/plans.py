"""Register the plan of a study before it opens, and test the registered hypotheses (README.md)."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from pydantic import ValidationError
from rest_framework import serializers

from common.parameters import Parameters
from contrib.registration.errors import RegistrationError
from contrib.registration.models import Registration
from contrib.registration.winners import read_winners
from evaluation.data.releases.designs import shareable_design
from evaluation.reports.sections.registration import HypothesisOutcome, hypothesis_outcomes, plan_hash
from judgments.access.study_log import note_event
from judgments.design.tables.plan import RegistrationPlan
from judgments.models import Study
from judgments.operations import Outcome, operation
from judgments.studies.designs import REGISTRATION_CODE, design_of, is_registered, store_plan


def parse_plan(plan_table: Any) -> RegistrationPlan:
    """Return the plan in the table ``[registration]`` of a study file. Raise RegistrationError if it is invalid.

    The table is such as ``{"hypotheses": [{"text": "...", "claim": "cider-d > rouge-l on HC"}]}``.
    """
    try:
        return RegistrationPlan.model_validate(plan_table)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        location = ".".join(map(str, ("registration", *problem["loc"])))
        # pydantic begins the message of a validator's ValueError like this
        sentence = problem["msg"].removeprefix("Value error, ")
        raise RegistrationError(
            _("%(where)s: %(sentence)s.") % {"where": location, "sentence": sentence}
        ) from None


def compute_outcomes(study: Study) -> list[HypothesisOutcome]:
    """Test the registered hypotheses with the newest evaluation; [] if no plan is registered."""
    registration = Registration.objects.filter(study=study).first()
    if registration is None:
        return []
    winners = read_winners(study)
    return hypothesis_outcomes(registration.plan, winners.by_metric, winners.people, winners.pair_kinds)


def registration_content(study: Study, plan: RegistrationPlan) -> dict[str, Any]:
    """Return what a registration stores and hashes: the plan, and the design without plan and access codes."""
    design = shareable_design(study)
    design.pop("registration", None)
    return {"study": study.slug, "plan": plan.model_dump(mode="json"), "design": design}


def plan_of_study_file(study: Study) -> RegistrationPlan:
    """Return the plan in the study file. Raise RegistrationError if there is none."""
    plan = design_of(study).registration
    if plan is None:
        raise RegistrationError(
            _(
                "Study %(slug)r has no plan: its study file has no table [registration]; expected "
                "a PLAN to register."
            )
            % {"slug": study.slug}
        )
    return plan


def describe_missing_registration(study: Study, **_signal: Any) -> str:  # receives reasons_against_opening
    """Return why the study cannot open: its study file has a plan that is not registered. Otherwise, return ""."""
    if study.simulated or not study.design.get("registration") or is_registered(study):
        return ""
    return _(
        "The study file of %(slug)r contains a plan that is not registered yet. Register the plan "
        "before you open the study."
    ) % {"slug": study.slug}


def may_be_registered(study: Study) -> bool:
    is_unopened = study.state in (Study.State.DRAFT, Study.State.GENERATED)
    return is_unopened and study.opened_at is None and study.source == Study.Source.DESIGNED


@transaction.atomic
def register_study(*, study: Study, plan: RegistrationPlan, by: User | None = None) -> Registration:
    """Register the plan, once and before opening, and store it in the design.

    Raises:
        RegistrationError: the study was opened, has imported judgments, or is registered.
    """
    locked_study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if not may_be_registered(locked_study):
        raise RegistrationError(
            _(
                "Study %(slug)r was opened, so participants may already have answered. A plan must be "
                "registered before the study opens."
            )
            % {"slug": study.slug}
        )
    content = registration_content(locked_study, plan)
    try:
        with transaction.atomic():
            registration = Registration.objects.create(
                study=locked_study, content=content, sha256=plan_hash(content), registered_by=by
            )
    except IntegrityError:
        raise RegistrationError(
            _("Study %(slug)r is registered already. A registration cannot be changed.")
            % {"slug": study.slug}
        ) from None
    store_plan(study=locked_study, plan=plan)
    study.design = locked_study.design  # the caller's object gets the plan, too
    note_event(
        study=locked_study,
        what=REGISTRATION_CODE,
        sentence=f"Registered {len(plan.hypotheses)} hypotheses with SHA-256 {registration.sha256}.",
        by=by,
        sha256=registration.sha256,
    )
    return registration


class RegistrationRequest(Parameters):
    """The plan of a study that was not opened yet."""

    plan = serializers.DictField(
        required=False,
        help_text="The plan, with the keys of the table [registration] of a study file (default: the plan in the "
        "study's own study file).",
    )


@operation("register", "Register the plan", parameters=RegistrationRequest)
def register_plan(*, study: Study, by: User | None, plan: dict[str, Any] | None = None) -> Outcome:
    """Register a plan before the study opens. This is possible once, and is permanent."""
    registration = register_study(
        study=study, plan=plan_of_study_file(study) if plan is None else parse_plan(plan), by=by
    )
    return Outcome(
        _("Study %(slug)s is registered: SHA-256 %(sha256)s.")
        % {"slug": study.slug, "sha256": registration.sha256},
        registration,
    )
