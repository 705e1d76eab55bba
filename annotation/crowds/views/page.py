"""The page of a study at its crowd: what it costs and pays, what is published, and the requests to the crowd.

A function collects each part of the page's context. Figures that are computed from all work are cached (``figures``).
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db.models import Count, QuerySet, TextChoices
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from annotation.crowds import Ability, CrowdBackend, UnavailableBackend, backend_of
from annotation.crowds.base import ABILITY_PHRASES
from annotation.crowds.people import uses_public_link
from annotation.crowds.sync.schedule import SYNC
from annotation.crowds.views.figures import FIGURES, MAX_LINES_SHOWN, CrowdFigures
from annotation.crowds.views.forms import FORMS, CrowdForm
from annotation.crowds.views.log import failed_calls, log_lines
from annotation.models import Budget, CrowdCall, CrowdSession, Publication, Qualification, Worker, at_crowd
from annotation.money.wages import Wages
from common.amounts import spell_cents, spell_seconds
from judgments.cached_figures import cached_figures, required_figures
from judgments.design.requirements import Workers
from judgments.models import Job, Study, StudyEvent
from judgments.studies.designs import design_of
from judgments.studies.pages import Context, StudySection
from judgments.studies.step_form import Refusal, take_refusal
from judgments.studies.study_page import STEPS, study_page

MAX_SUGGESTIONS = 200  # number of workers' names that a field suggests
# abilities that the page does not mention if the crowd lacks them
UNMENTIONED_ABILITIES = {Ability.DELETE, Ability.UNBLOCK, Ability.QUALIFY}


def _needs_crowd_page(study: Study) -> bool:
    """Return whether the study uses a crowd, pays money, or uses qualifications."""
    design = design_of(study)
    workers = design.workers
    uses_qualifications = workers.requires or workers.forbids or workers.grants
    return bool(backend_of(study).sends_people or design.crowd.reward_cents or uses_qualifications)


@study_page(
    "crowd",
    "Crowd",
    order=41,
    has_tab=_needs_crowd_page,
    section=StudySection.LIVE,
    section_before_opening=StudySection.LAUNCH,
    help="crowds/README.md",
)
def show_crowd(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    backend = backend_of(study)
    if isinstance(backend, UnavailableBackend):
        raise backend.error()
    shown_figures = cached_figures(study, FIGURES)
    figures = required_figures(shown_figures)  # raises FiguresPending while a job computes the first ones
    budget = at_crowd(Budget, study).first()
    calls = CrowdCall.objects.filter(study=study)
    newest_call = calls.order_by("pk").last()
    takes_requests = bool(study.platform) and backend.sends_people and context["may_review"]
    forms = _offered_forms(study, backend, context["rights"], takes_requests)
    refusal = take_refusal(request, study)
    context |= {
        "counted": shown_figures,  # the base template says if these are being recomputed
        "backend": backend,
        "design": design_of(study),
        "events": list(StudyEvent.objects.filter(study=study).select_related("by")[:MAX_LINES_SHOWN]),
        **_money_context(study, budget, figures),
        **_offer_context(study, backend),
        **_calls_context(calls),
        "forms": forms,
        "initial_values": {  # of the forms' fields, which the tag step_form reads
            "set-budget": {"amount": spell_cents(budget.budget_cents if budget else 0)},
            "extend-crowd": {"hours": design_of(study).crowd.lifetime_hours},
            # the form is refused if a bonus was ordered after the page loaded
            "bonus": {"seen": newest_call.pk if newest_call else 0},
        },
        "suggested_names": _suggested_names(study) if takes_requests else [],
        "refusal": refusal,
        "shows_refusal_on_top": refusal is not None and not _is_shown_in_form(refusal, forms, figures.wages),
    }
    return TemplateResponse(request, "admin/annotation/study_crowd.html", context)


def _money_context(study: Study, budget: Budget | None, figures: CrowdFigures) -> Context:
    """Return the budget, the wages and top-ups, and the work and orders that wait for a person's decision."""
    orders = study.spending_requests.filter(state="waiting").select_related("asked_by")
    return {
        "budget": budget,
        "forecast": figures.forecast,
        "wages": figures.wages,
        "underpaid_sessions": figures.underpaid_sessions,
        "top_ups": figures.top_ups,
        "top_ups_confirmation": figures.top_ups_confirmation,  # posted, so that only what was shown is paid
        "overclaims": figures.largest_overclaims,  # sessions with more time than the server observed
        "overclaim_count": figures.overclaim_count,
        "unopposed_count": figures.unopposed_count,  # assignments that nothing speaks against approving
        "unconfirmed_orders": orders[:MAX_LINES_SHOWN],
    }


def _offer_context(study: Study, backend: CrowdBackend) -> Context:
    """Return what the crowd supports, and how many publications, sessions and qualifications the study has there."""
    missing_abilities = set(Ability) - backend.can - UNMENTIONED_ABILITIES
    return {
        "abilities": {ability.value for ability in backend.can},
        "unsupported_abilities": [
            _(ABILITY_PHRASES[ability]) for ability in Ability if ability in missing_abilities
        ],
        "entrance": backend.describe_entrance(study) if study.platform else "",
        "publication_counts": _count_by(at_crowd(Publication, study), "state", Publication.State),
        "session_counts": _count_by(at_crowd(CrowdSession, study), "status", CrowdSession.Status),
        "qualification_counts": _count_qualifications(study, design_of(study).workers),
        "last_sync": _last_sync(study),
        "sync_interval": spell_seconds(settings.CROWD_SYNC_SECONDS),
    }


def _calls_context(calls: QuerySet[CrowdCall]) -> Context:
    """Return the calls to the crowd: the failed ones, the unsent ones, and the log of all."""
    states = CrowdCall.State
    counts = dict(calls.values_list("state").annotate(n=Count("pk")).order_by())
    delayed_calls = calls.filter(state=states.WAITING).exclude(problem="").order_by("-next_at")
    return {
        "failed_calls": failed_calls(calls) if counts.get(states.FAILED) else [],
        "failed_call_count": counts.get(states.FAILED, 0),
        "unsent_call_count": counts.get(states.WAITING, 0) + counts.get(states.STARTED, 0),
        "delayed_call": delayed_calls.first() if counts.get(states.WAITING) else None,
        "log_lines": log_lines(calls)[:MAX_LINES_SHOWN] if counts else [],
    }


def _offered_forms(study: Study, backend: CrowdBackend, rights: Any, takes_requests: bool) -> list[CrowdForm]:
    """Return the forms that fit the crowd, the study's design and state, and the account's rights.

    Args:
        takes_requests: whether the crowd can be sent requests about the study, and the account may send them.
    """
    # publications are extended only while the study is open
    abilities = backend.can if study.state == Study.State.OPEN else backend.can - {Ability.EXTEND}
    return [
        form
        for form in FORMS
        if (takes_requests or form.step == "qualify-worker")  # Quorum stores the qualifications itself
        and (form.ability is None or form.ability in abilities)
        and (not form.setting or getattr(design_of(study).crowd, form.setting))
        and STEPS[form.step].permission in rights
    ]


def _is_shown_in_form(refusal: Refusal, forms: list[CrowdForm], wages: Wages) -> bool:
    steps = {form.step for form in forms}
    # the button that pays top-ups is not in FORMS; the page shows it beside the wages if there are top-ups
    return refusal.step in steps or (refusal.step == "top-up" and wages.top_up_count > 0)


def _suggested_names(study: Study) -> list[str]:
    workers = Worker.objects.filter(participations__study=study)
    return list(workers.order_by("-participations__pk").values_list("name", flat=True)[:MAX_SUGGESTIONS])


def _count_by(rows: QuerySet[Any], field: str, choices: type[TextChoices]) -> list[tuple[str, int]]:
    """Return the label and the number of rows of each value of a field with choices that occurs."""
    counts = dict(rows.values_list(field).annotate(n=Count("pk")).order_by())
    return [(str(label), counts[value]) for value, label in choices.choices if value in counts]


def _count_qualifications(study: Study, workers: Workers) -> list[tuple[str, int]]:
    names = {*workers.requires, *workers.forbids, *filter(None, [workers.grants])}
    if not names:
        return []
    # people who joined by a link have no platform
    platform = "" if uses_public_link(study.platform) else study.platform
    rows = Qualification.objects.filter(name__in=names, worker__platform=platform)
    return list(rows.values_list("name").annotate(n=Count("pk")).order_by("name"))


def _last_sync(study: Study) -> dict[str, object] | None:
    """Return when the last sync ended, and its discrepancies. The page shows failed calls ("parked") elsewhere."""
    job = Job.objects.filter(kind=SYNC, args__study=study.slug, state=Job.State.DONE).first()
    if job is None or not job.result:
        return None
    discrepancies = [
        discrepancy for discrepancy in job.result.get("discrepancies", []) if discrepancy["kind"] != "parked"
    ]
    lines = discrepancies[:MAX_LINES_SHOWN]
    return {"finished_at": job.finished_at, "discrepancies": lines, "discrepancy_count": len(discrepancies)}
