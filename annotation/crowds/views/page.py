"""The crowd page of a study."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db.models import Count, QuerySet, TextChoices
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from annotation.crowds import Ability, UnavailableBackend, backend_of
from annotation.crowds.base import ABILITY_PHRASES
from annotation.crowds.people import uses_public_link
from annotation.crowds.sync.schedule import SYNC
from annotation.crowds.views.figures import FIGURES, MAX_LINES_SHOWN
from annotation.crowds.views.forms import FORMS, CrowdForm
from annotation.crowds.views.log import log_lines, parked_calls
from annotation.models import Budget, CrowdCall, CrowdSession, Publication, Qualification, Worker, at_crowd
from annotation.money.wages import Wages
from common.amounts import spell_cents, spell_seconds
from judgments.cached_figures import cached_figures, required_figures
from judgments.design.requirements import Workers
from judgments.models import Job, Study, StudyEvent
from judgments.studies.designs import design_of
from judgments.studies.pages import Context, StudyPlace
from judgments.studies.step_form import Refusal, take_refusal
from judgments.studies.study_page import STEPS, study_page

MAX_SUGGESTIONS = 200  # number of workers' names suggested in a field
# abilities whose lack the page mentions
ABILITIES = (
    Ability.PUBLISH, Ability.EXTEND, Ability.EXPIRE, Ability.LIST, Ability.APPROVE, Ability.REJECT, Ability.BONUS,
    Ability.BLOCK, Ability.MESSAGE, Ability.COST,
)  # fmt: skip


def _concerns_a_crowd(study: Study) -> bool:
    """Return whether the study uses a crowd, pays money, or uses qualifications."""
    design = design_of(study)
    workers = design.workers
    names_qualification = workers.requires or workers.forbids or workers.grants
    return bool(backend_of(study).sends_people or design.crowd.reward_cents or names_qualification)


@study_page(
    "crowd",
    "Crowd",
    order=41,
    has_tab=_concerns_a_crowd,
    group=StudyPlace.LIVE,
    place_before_opening=StudyPlace.LAUNCH,
    help="crowds/README.md",
)
def show_crowd(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    backend, design = backend_of(study), design_of(study)
    if isinstance(backend, UnavailableBackend):
        raise backend.error()
    calls = CrowdCall.objects.filter(study=study)
    spending = at_crowd(Budget, study).first()
    can_be_asked = bool(study.platform) and backend.sends_people and context["may_review"]
    refusal = take_refusal(request, study)
    crowd_figures = cached_figures(study, FIGURES)
    figures = required_figures(crowd_figures)
    budget_cents = spending.budget_cents if spending else 0
    can = backend.can if study.state == Study.State.OPEN else backend.can - {Ability.EXTEND}
    forms = [
        form
        for form in FORMS
        if (can_be_asked or form.step == "qualify-worker")
        and (form.ability is None or form.ability in can)
        and (not form.key or getattr(design.crowd, form.key))
        and STEPS[form.step].permission in context["rights"]
    ]
    states = dict(calls.values_list("state").annotate(n=Count("pk")).order_by())
    context |= {
        "backend": backend,
        "design": design,
        "can": {ability.value for ability in backend.can},
        "cannot": [_(ABILITY_PHRASES[ability]) for ability in ABILITIES if ability not in backend.can],
        "where": backend.describe_entrance(study) if study.platform else "",
        "counted": crowd_figures,
        "forecast": figures.forecast,
        "spending": spending,
        "wages": figures.wages,
        "pays": figures.pays,
        "top_ups": figures.top_ups,
        "top_up_confirm": figures.confirm,
        "spending_requests": study.spending_requests.filter(state="waiting").select_related("asked_by")[
            :MAX_LINES_SHOWN
        ],
        "publications": _count_by(at_crowd(Publication, study), "state", Publication.State),
        "sessions": _count_by(at_crowd(CrowdSession, study), "status", CrowdSession.Status),
        "unopposed": figures.unopposed,
        "overclaims": figures.overclaims,
        "overclaimed": figures.overclaimed,
        "parked": parked_calls(calls) if states.get("parked") else [],
        "parked_count": states.get("parked", 0),
        "waiting": states.get("waiting", 0) + states.get("started", 0),
        "held_up": calls.filter(state="waiting").exclude(problem="").order_by("-next_at").first()
        if states.get("waiting")
        else None,
        "latest": log_lines(calls)[:MAX_LINES_SHOWN] if states else [],
        "events": list(StudyEvent.objects.filter(study=study).select_related("by")[:MAX_LINES_SHOWN]),
        "compared": _last_comparison(study),
        "qualifications": _qualifications(study, design.workers),
        "pause": spell_seconds(settings.CROWD_SYNC_SECONDS),
        "forms": forms,
        "names": _suggested_names(study) if can_be_asked else [],
        "begin": {
            "set-budget": {"amount": spell_cents(budget_cents)},
            "extend-crowd": {"hours": design.crowd.lifetime_hours},
            # the form is refused if a bonus was ordered after the page loaded
            "bonus": {"seen": calls.latest("pk").pk if states else 0},
        },
        "refusal": refusal,
        "refusal_alone": refusal is not None and not _is_shown_in_form(refusal, forms, figures.wages),
    }
    return TemplateResponse(request, "admin/annotation/study_crowd.html", context)


def _is_shown_in_form(refusal: Refusal, forms: list[CrowdForm], wages: Wages) -> bool:
    return any(form.step == refusal.step for form in forms) or (
        refusal.step == "top-up" and wages.top_up_count > 0
    )


def _suggested_names(study: Study) -> list[str]:
    workers = Worker.objects.filter(participations__study=study)
    return list(workers.order_by("-participations__pk").values_list("name", flat=True)[:MAX_SUGGESTIONS])


def _count_by(rows: QuerySet[Any], field: str, choices: type[TextChoices]) -> list[tuple[str, int]]:
    counts = dict(rows.values_list(field).annotate(n=Count("pk")).order_by())
    return [(str(label), counts[value]) for value, label in choices.choices if value in counts]


def _qualifications(study: Study, workers: Workers) -> list[tuple[str, int]]:
    names = {*workers.requires, *workers.forbids, *filter(None, [workers.grants])}
    if not names:
        return []
    platform = "" if uses_public_link(study.platform) else study.platform
    rows = Qualification.objects.filter(name__in=names, worker__platform=platform)
    return list(rows.values_list("name").annotate(n=Count("pk")).order_by("name"))


def _last_comparison(study: Study) -> dict[str, object] | None:
    """Return the findings of the last sync, without failed calls, which the page shows separately."""
    job = Job.objects.filter(kind=SYNC, args__study=study.slug, state=Job.State.DONE).first()
    if job is None or not job.result:
        return None
    discrepancies = [
        discrepancy for discrepancy in job.result.get("discrepancies", []) if discrepancy["kind"] != "parked"
    ]
    return {"at": job.finished_at, "found": discrepancies[:MAX_LINES_SHOWN], "count": len(discrepancies)}
