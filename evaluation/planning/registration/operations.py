"""Register a study's plan before it opens."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from rest_framework import serializers

from common.parameters import Parameters
from evaluation.data.releases.documents import shareable_design
from evaluation.errors import RegistrationError
from evaluation.models import Registration
from evaluation.planning.registration.plans import make_plan, plan_hash
from judgments.design.tables import Plan
from judgments.models import Study
from judgments.studies.log import note_event
from judgments.studies.studies import REGISTERED, design_of, store_plan
from judgments.study_operations import Outcome, operation


def planned_content(study: Study, plan: Plan) -> dict[str, Any]:
    design = shareable_design(study)
    design.pop("registration", None)
    return {"study": study.slug, "plan": plan.model_dump(mode="json"), "design": design}


def plan_of(study: Study) -> Plan:
    plan = design_of(study).registration
    if plan is None:
        raise RegistrationError(
            _(
                "Study %(slug)r was not registered, and its study file has no table "
                "[registration]; expected a PLAN to register."
            )
            % {"slug": study.slug}
        )
    return plan


def may_be_registered(study: Study) -> bool:
    before = study.state in (Study.State.DRAFT, Study.State.GENERATED)
    return before and study.opened_at is None and study.source == Study.Source.DESIGNED


@transaction.atomic
def register_study(*, study: Study, plan: Plan, by: User | None = None) -> Registration:
    """Register the plan, once and before opening, and store it in the study file.

    Raises:
        RegistrationError: the study was opened, has imported judgments, or is registered.
    """
    fresh = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if not may_be_registered(fresh):
        raise RegistrationError(
            _("Study %(slug)r holds answers, or may; a plan is registered before it opens.")
            % {"slug": study.slug}
        )
    content = planned_content(fresh, plan)
    try:
        with transaction.atomic():
            registration = Registration.objects.create(
                study=fresh, content=content, sha256=plan_hash(content), registered_by=by
            )
    except IntegrityError:
        raise RegistrationError(
            _("Study %(slug)r was registered before; a registration is never changed.") % {"slug": study.slug}
        ) from None
    store_plan(study=fresh, plan=plan)
    study.design = fresh.design
    note_event(
        study=fresh,
        what=REGISTERED,
        sentence=f"Registered {len(plan.hypotheses)} hypotheses with SHA-256 {registration.sha256}.",
        by=by,
        sha256=registration.sha256,
    )
    return registration


class RegistrationRequest(Parameters):
    """The plan of a study that was not opened yet."""

    plan = serializers.DictField(
        required=False,
        help_text="What the table [registration] of a plan file holds. Left out: the plan of the study file.",
    )


@operation("register", "Register the plan", parameters=RegistrationRequest)
def register(*, study: Study, by: User | None, plan: dict[str, Any] | None = None) -> Outcome:
    """Fixes a plan before the study opens; once, and for good."""
    row = register_study(study=study, plan=plan_of(study) if plan is None else make_plan(plan), by=by)
    return Outcome(
        _("Study %(slug)s is registered: SHA-256 %(sha256)s.") % {"slug": study.slug, "sha256": row.sha256},
        row,
    )
