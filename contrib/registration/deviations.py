"""Compare a study with its registered plan: what was changed or done otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from django.db.models import Max
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import Exclusion
from common.amounts import thousands
from contrib.registration.models import Registration
from evaluation.models import Analysis
from evaluation.reports.sections.registration import Deviation, RegisteredPlan, plan_hash
from judgments.design.reading.checking import stored_design
from judgments.design.tables.plan import RegistrationPlan
from judgments.models import Study, StudyEvent, Unit
from judgments.studies.designs import design_of

# Names of events in a study's log that are no deviation: routine events, and events that change neither questions nor
# answers (webhooks, confirmed spending, rehearsals on copies). Exclusions and withdrawn control items are among them,
# since these deviations are counted from the rows of the database.
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
    """Return the deviations from the registered plan; [] if no plan is registered."""
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
    # A plan that an earlier release registered has that release's keys of a design, so the design is converted first.
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
    """Yield a deviation for more or fewer judgments than planned, and for withdrawn check questions."""
    planned_votes = design_of(study).judgments_per_unit
    extended_hits = study.hits.filter(required__gt=planned_votes)
    if count := extended_hits.count():
        most_required = extended_hits.aggregate(most=Max("required"))["most"]
        sentence = ngettext(
            "One page of work went to %(most)s participants instead of %(wanted)s.",
            "%(n)s pages of work went to up to %(most)s participants instead of %(wanted)s.",
            count,
        )
        yield Deviation(
            "extended", sentence % {"n": thousands(count), "most": most_required, "wanted": planned_votes}
        )
    # slots that early stopping saved are not open
    open_hits = study.hits.filter(open_slots__gt=0)
    if study.state == Study.State.CLOSED and (short_count := open_hits.count()):
        sentence = ngettext(
            "One page of work was submitted fewer than %(wanted)s times.",
            "%(n)s pages of work were submitted fewer than %(wanted)s times.",
            short_count,
        )
        yield Deviation("short", sentence % {"n": thousands(short_count), "wanted": planned_votes})
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
    compared_metrics: set[str] = set()
    for settings in rows.values_list("settings", flat=True):
        compared_metrics.update(settings.get("metrics", []))
    other_names = ", ".join(sorted(compared_metrics - set(plan.metrics)))
    if plan.metrics and other_names:
        yield Deviation(
            "analysis", _("These metrics were not registered: %(names)s.") % {"names": other_names}
        )
