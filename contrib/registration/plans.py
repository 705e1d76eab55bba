"""Register plans, and compare a study with its registered plan (README.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from pydantic import ValidationError
from rest_framework import serializers

from annotation.models import Exclusion
from common.amounts import thousands
from common.parameters import Parameters
from contrib.registration.errors import RegistrationError
from contrib.registration.models import Registration
from contrib.registration.winners import read_winners
from evaluation.data.releases.designs import shareable_design
from evaluation.models import Analysis
from evaluation.reports.sections.registration import (
    Deviation,
    HypothesisOutcome,
    RegisteredPlan,
    hypothesis_outcomes,
    plan_hash,
)
from judgments.access.study_log import note_event
from judgments.design.reading.checking import stored_design
from judgments.design.tables.plan import RegistrationPlan
from judgments.models import Study, StudyEvent, Unit
from judgments.operations import Outcome, operation
from judgments.studies.designs import REGISTRATION_CODE, design_of, is_registered, store_plan


def make_plan(values: Any) -> RegistrationPlan:
    """Create a plan from a table ``[registration]``. Raise RegistrationError if the table is invalid."""
    try:
        return RegistrationPlan.model_validate(values)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        location = ".".join(map(str, ("registration", *problem["loc"])))
        sentence = problem["msg"].removeprefix("Value error, ")
        raise RegistrationError(
            _("%(where)s: %(sentence)s.") % {"where": location, "sentence": sentence}
        ) from None


# Events that are no deviation: routine events, and events that change neither questions nor answers (webhooks,
# confirmed spending, rehearsals on copies). Exclusions and withdrawn controls are found from their rows.
PLANNED_EVENTS = (
    "registered", "created", "generated", "planned", "opened", "publish", "invited", "closed", "computed", "evaluated",
    "reported", "exported", "released", "looked", "role-given", "role-taken", "approve", "bonus", "bonus-list",
    "partial-pay", "top-up", "written-to", "call-retried", "reconciled", "batch-imported", "forget-ids", "excluded",
    "struck", "generate", "duplicated", "save-preset", "sync-crowd", "demographics", "rehearsed", "rehearsal-done",
    "rehearsal-deleted", "spending-asked", "spending-confirmed", "spending-refused", "webhook-added", "webhook-gone",
    "webhook-removed", "webhook-rotated", "webhook-switched", "deposited-release", "published-release", "discarded",
)  # fmt: skip


def find_registration(study: Study, *, with_sentences: bool = True) -> RegisteredPlan | None:
    """Return the registered plan with the study's deviations from it; None if no plan is registered.

    Args:
        with_sentences: whether to quote the log, which may name people.
    """
    registration = Registration.objects.filter(study=study).first()
    if registration is None:
        return None
    return RegisteredPlan(
        plan=registration.plan,
        content=registration.content,
        sha256=registration.sha256,
        registered_on=registration.registered_at.date().isoformat(),
        deviations=tuple(find_deviations(study, with_sentences=with_sentences)),
    )


def find_deviations(study: Study, *, with_sentences: bool = True) -> list[Deviation]:
    """Return what differs from the registered plan; [] if no plan is registered.

    Args:
        with_sentences: whether to quote the log, which may name people.
    """
    registration = Registration.objects.filter(study=study).first()
    if registration is None:
        return []
    plan = registration.plan
    deviations = []
    if plan_hash(registration.content) != registration.sha256:
        deviations.append(Deviation("hash", _("The stored plan does not match its hash.")))
    deviations += _design_deviations(study, registration, plan)
    deviations += _vote_deviations(study)
    deviations += _exclusion_deviations(study, plan)
    deviations += _analysis_deviations(study, plan)
    events = StudyEvent.objects.filter(study=study, at__gt=registration.registered_at).exclude(
        what__in=PLANNED_EVENTS
    )
    for event in events.order_by("at", "pk"):
        entry = event.words if with_sentences else f"{event.what.replace('-', ' ')}."
        deviations.append(Deviation(event.what, f"{event.at.date()}: {entry}", quoted=True))
    return deviations


def _design_deviations(
    study: Study, registration: Registration, plan: RegistrationPlan
) -> Iterator[Deviation]:
    design = design_of(study)
    # The hash covers the content as stored, but the content is read with the current keys of designs.
    registered_values = stored_design(registration.content["design"]).model_dump(mode="json")
    current_values = design.model_dump(mode="json")
    if design.registration not in (None, plan):
        yield Deviation("plan", _("The plan in the study file differs from the registered plan."))
    for key in dict.fromkeys((*registered_values, *current_values)):
        # The tables panel and access have codes, which a registration omits. The plan is registered separately.
        if key in ("panel", "access", "registration"):
            continue
        registered_value, current_value = registered_values.get(key), current_values.get(key)
        if registered_value != current_value:
            sentence = _("%(key)s was registered as %(then)r and is now %(now)r.")
            yield Deviation("design", sentence % {"key": key, "then": registered_value, "now": current_value})


def _vote_deviations(study: Study) -> Iterator[Deviation]:
    votes_wanted = design_of(study).judgments_per_unit
    extended_hits = study.hits.filter(required__gt=votes_wanted)
    if count := extended_hits.count():
        most_required = extended_hits.aggregate(most=Max("required"))["most"]
        sentence = ngettext(
            "One page of work went to %(most)s participants instead of %(wanted)s.",
            "%(n)s pages of work went to up to %(most)s participants instead of %(wanted)s.",
            count,
        )
        yield Deviation(
            "extended", sentence % {"n": thousands(count), "most": most_required, "wanted": votes_wanted}
        )
    # slots that early stopping saved are not open
    open_hits = study.hits.filter(open_slots__gt=0)
    if study.state == Study.State.CLOSED and (short_count := open_hits.count()):
        sentence = ngettext(
            "One page of work was submitted fewer than %(wanted)s times.",
            "%(n)s pages of work were submitted fewer than %(wanted)s times.",
            short_count,
        )
        yield Deviation("short", sentence % {"n": thousands(short_count), "wanted": votes_wanted})
    if withdrawn_count := Unit.objects.filter(study=study, withdrawn=True).count():
        sentence = ngettext(
            "One check question was withdrawn.", "%(n)s check questions were withdrawn.", withdrawn_count
        ) % {"n": thousands(withdrawn_count)}
        yield Deviation("struck", sentence)


def _exclusion_deviations(study: Study, plan: RegistrationPlan) -> Iterator[Deviation]:
    exclusions = Exclusion.objects.filter(study=study, lifted_at__isnull=True)
    count_by_rule = Counter(exclusions.exclude(rule__in=plan.exclude_by).values_list("rule", flat=True))
    for rule, count in sorted(count_by_rule.items()):
        sentence = ngettext(
            "%(n)s participant was excluded by %(rule)s, which was not registered.",
            "%(n)s participants were excluded by %(rule)s, which was not registered.",
            count,
        )
        yield Deviation("exclusion", sentence % {"n": thousands(count), "rule": rule or _("a person")})


def _analysis_deviations(study: Study, plan: RegistrationPlan) -> Iterator[Deviation]:
    rows = Analysis.objects.filter(study=study, what=Analysis.Kind.META_EVALUATION)
    compared_metrics = {
        name for settings in rows.values_list("settings", flat=True) for name in settings.get("metrics", [])
    }
    other_names = ", ".join(sorted(compared_metrics - set(plan.metrics)))
    if plan.metrics and other_names:
        yield Deviation(
            "analysis", _("These metrics were not registered: %(names)s.") % {"names": other_names}
        )


def compute_outcomes(study: Study) -> list[HypothesisOutcome]:
    """Test the registered hypotheses with the newest evaluation; [] if no plan is registered."""
    registration = Registration.objects.filter(study=study).first()
    if registration is None:
        return []
    winners = read_winners(study)
    return hypothesis_outcomes(registration.plan, winners.by_metric, winners.people, winners.pair_kinds)


def registration_content(study: Study, plan: RegistrationPlan) -> dict[str, Any]:
    """Return what a registration stores and hashes: the plan, and the design without the plan and without codes."""
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


def describe_missing_registration(study: Study, **_signal: Any) -> str:
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
    study.design = locked_study.design
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
        help_text="What the table [registration] of a plan file holds. Left out: the plan of the study file.",
    )


@operation("register", "Register the plan", parameters=RegistrationRequest)
def register_plan(*, study: Study, by: User | None, plan: dict[str, Any] | None = None) -> Outcome:
    """Register a plan before the study opens. This is possible once, and is permanent."""
    registration = register_study(
        study=study, plan=plan_of_study_file(study) if plan is None else make_plan(plan), by=by
    )
    return Outcome(
        _("Study %(slug)s is registered: SHA-256 %(sha256)s.")
        % {"slug": study.slug, "sha256": registration.sha256},
        registration,
    )
