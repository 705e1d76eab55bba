"""Compare a study with its registered plan: deviations and outcomes."""

from __future__ import annotations

from django.db.models import Max
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import Exclusion
from common.amounts import thousands
from evaluation.judgment_sets.loaders import metric_outcomes
from evaluation.models import Analysis, Registration
from evaluation.registration.plans import Deviation, Outcome, Registered, plan_hash, tested_hypotheses
from judgments.design.reading import stored_design
from judgments.design.tables import Plan
from judgments.models import Study, StudyEvent, Unit
from judgments.studies.studies import design_of

# Routine log entries, and those that change neither questions nor answers (webhooks, confirmed spending, rehearsals on
# copies); exclusions and withdrawn controls are found from their rows.
AS_PLANNED = (
    "registered", "created", "generated", "planned", "opened", "publish", "invited", "closed", "computed", "evaluated",
    "reported", "exported", "released", "looked", "role-given", "role-taken", "approve", "bonus", "bonus-list",
    "partial-pay", "top-up", "written-to", "call-retried", "reconciled", "batch-imported", "forget-ids", "excluded",
    "struck", "generate", "duplicated", "save-preset", "sync-crowd", "demographics", "rehearsed", "rehearsal-done",
    "rehearsal-deleted", "spending-asked", "spending-confirmed", "spending-refused", "webhook-added", "webhook-gone",
    "webhook-removed", "webhook-rotated", "webhook-switched", "deposited-release", "published-release",
)  # fmt: skip


def registered(study: Study, *, log_in_words: bool = True) -> Registered | None:
    """Return the plan with its deviations; log quotes may name people, so they are optional."""
    registration = Registration.objects.filter(study=study).first()
    if registration is None:
        return None
    return Registered(
        plan=registration.plan,
        sha256=registration.sha256,
        on=registration.registered_at.date().isoformat(),
        deviations=tuple(deviations(study, log_in_words=log_in_words)),
    )


def deviations(study: Study, *, log_in_words: bool = True) -> list[Deviation]:
    registration = Registration.objects.filter(study=study).first()
    if registration is None:
        return []
    plan = registration.plan
    found = []
    if plan_hash(registration.content) != registration.sha256:
        found.append(Deviation("hash", _("The stored plan is not the one that was hashed.")))
    found += _of_design(study, registration, plan)
    found += _of_votes(study)
    found += _of_exclusions(study, plan)
    found += _of_analyses(study, plan)
    events = StudyEvent.objects.filter(study=study, at__gt=registration.registered_at).exclude(
        what__in=AS_PLANNED
    )
    found += [
        Deviation(
            event.what,
            f"{event.at.date()}: {event.words}"
            if log_in_words
            else f"{event.at.date()}: {event.what.replace('-', ' ')}.",
            quoted=True,
        )
        for event in events.order_by("at", "pk")
    ]
    return found


def _of_design(study: Study, registration: Registration, plan: Plan) -> list[Deviation]:
    design = design_of(study)
    # The hash covers the stored content; its meaning is read with today's keys.
    then = stored_design(registration.content["design"]).model_dump(mode="json")
    now = design.model_dump(mode="json")
    changed = []
    if design.registration not in (None, plan):
        changed.append(Deviation("plan", _("The study file holds another plan than the registered one.")))
    for key in dict.fromkeys((*then, *now)):
        # Panel and access hold codes, which a registration omits; the plan is registered separately.
        if key in ("panel", "access", "registration"):
            continue
        if then.get(key) != now.get(key):
            changed.append(
                Deviation(
                    "design",
                    _("%(key)s was registered as %(then)r and is %(now)r.")
                    % {"key": key, "then": then.get(key), "now": now.get(key)},
                )
            )
    return changed


def _of_votes(study: Study) -> list[Deviation]:
    wanted = design_of(study).judgments_per_unit
    hits = study.hits.filter(required__gt=wanted)
    found = []
    if extended := hits.count():
        most = hits.aggregate(most=Max("required"))["most"]
        found.append(
            Deviation(
                "extended",
                ngettext(
                    "One HIT went to %(most)s people instead of %(wanted)s.",
                    "%(n)s HITs went to up to %(most)s people instead of %(wanted)s.",
                    extended,
                )
                % {"n": thousands(extended), "most": most, "wanted": wanted},
            )
        )
    if study.state == Study.State.CLOSED:
        short = study.hits.filter(open_slots__gt=0)  # slots saved by a decided outcome are not open
        if count := short.count():
            words = ngettext(
                "One HIT has fewer than %(wanted)s finished assignments.",
                "%(n)s HITs have fewer than %(wanted)s finished assignments.",
                count,
            )
            found.append(Deviation("short", words % {"n": thousands(count), "wanted": wanted}))
    if withdrawn := Unit.objects.filter(study=study, withdrawn=True).count():
        words = ngettext(
            "One control item was taken out.", "%(n)s control items were taken out.", withdrawn
        ) % {"n": thousands(withdrawn)}
        found.append(Deviation("struck", words))
    return found


def _of_exclusions(study: Study, plan: Plan) -> list[Deviation]:
    others = Exclusion.objects.filter(study=study, lifted_at__isnull=True).exclude(rule__in=plan.exclude_by)
    rules: dict[str, int] = {}
    for rule in others.values_list("rule", flat=True):
        rules[rule] = rules.get(rule, 0) + 1
    return [
        Deviation(
            "exclusion",
            ngettext(
                "%(n)s people were excluded by %(rule)s, which was not registered.",
                "%(n)s people were excluded by %(rule)s, which was not registered.",
                count,
            )
            % {"n": thousands(count), "rule": rule or _("a person")},
        )
        for rule, count in sorted(rules.items())
    ]


def _of_analyses(study: Study, plan: Plan) -> list[Deviation]:
    if not plan.metrics:
        return []
    done = Analysis.objects.filter(study=study, what=Analysis.What.META_EVALUATION)
    names = {
        name for settings in done.values_list("settings", flat=True) for name in settings.get("metrics", [])
    }
    others = sorted(names - set(plan.metrics))
    return (
        [Deviation("analysis", _("Not registered: %(names)s.") % {"names": ", ".join(others)})]
        if others
        else []
    )


def outcomes(study: Study) -> list[Outcome]:
    registration = Registration.objects.filter(study=study).first()
    if registration is None:
        return []
    return tested_hypotheses(registration.plan, *metric_outcomes(study))
