"""The crowd page of a study, with budget, wages, outbox and forms, and the admin lists of rows about crowds.

The module also has the view to which Mechanical Turk sends notifications.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.db.models import Count, QuerySet, TextChoices
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from pydantic import TypeAdapter
from unfold.decorators import display

from annotation.crowds import Ability, UnavailableBackend, backend_of, operations, worker_operations
from annotation.crowds.base import ABILITY_PHRASES
from annotation.crowds.mturk import notifications
from annotation.crowds.mturk.frames import SITES
from annotation.crowds.mturk.notifications import Subscription, read_sns
from annotation.crowds.people import uses_public_link
from annotation.crowds.sync import SYNC, record_notification
from annotation.models import (
    Budget,
    CrowdCall,
    CrowdSession,
    LedgerEntry,
    Publication,
    Qualification,
    Worker,
    at_crowd,
)
from annotation.money import call_decisions
from annotation.money import operations as money_operations
from annotation.money.forecast import Forecast, forecast_of
from annotation.money.previews import top_ups_of
from annotation.money.wages import Overclaim, Pay, Wages, pay_and_claims, wages_of
from annotation.quality.reviews import assignments_without_objection
from annotation.snapshots import has_many_assignments
from annotation.work.operations import extend
from common.amounts import spell_cents
from common.errors import QuorumError
from judgments.admin.base import ReadOnlyAdmin, short_time, study_column
from judgments.cached_figures import cached_figures, required_figures
from judgments.design.requirements import Workers
from judgments.figures import Figures, add_figures
from judgments.models import Job, Study, StudyEvent
from judgments.studies.designs import design_of
from judgments.studies.pages import Context, StudyPlace
from judgments.studies.step_form import Refusal, add_operation, take_refusal
from judgments.studies.study_page import STEPS, study_page
from judgments.templatetags.judgments_tags import cents

MAX_LINES_SHOWN = 20
UNITS_PER_PAGE = 20  # approximate number of units in a HIT
LATEST_CALLS = 200  # number of latest calls that are read; similar ones are shown in one line
MAX_SUGGESTIONS = 200  # number of workers' names suggested in a field
LIMITS_SHOWN = (
    Ability.PUBLISH, Ability.EXTEND, Ability.EXPIRE, Ability.LIST, Ability.APPROVE, Ability.REJECT, Ability.BONUS,
    Ability.BLOCK, Ability.MESSAGE, Ability.COST,
)  # fmt: skip
ORDER_PHRASES = {
    Ability.PUBLISH: gettext_noop("publish"),
    Ability.EXTEND: gettext_noop("extend the offer, or add places"),
    Ability.EXPIRE: gettext_noop("take down published work"),
    Ability.DELETE: gettext_noop("delete ended publications"),
    Ability.APPROVE: gettext_noop("approve"),
    Ability.REJECT: gettext_noop("reject"),
    Ability.BONUS: gettext_noop("pay a bonus"),
    Ability.BLOCK: gettext_noop("block"),
    Ability.UNBLOCK: gettext_noop("lift a block"),
    Ability.QUALIFY: gettext_noop("give a qualification"),
    Ability.MESSAGE: gettext_noop("message participants"),
}


@dataclass(frozen=True, slots=True)
class CrowdForm:
    """The form of a step on the crowd page.

    Attributes:
        needs: the ability that the crowd must have; None if any crowd will do.
        key: the setting of the design that must be on; "" if there is no such condition.
    """

    step: str
    title: str
    help: str = ""
    needs: Ability | None = None
    button: str = ""
    key: str = ""


FORMS = [
    CrowdForm(
        "set-budget",
        gettext_noop("Budget"),
        gettext_noop("An amount such as 12.30, fees and bonuses included."),
    ),
    CrowdForm(
        "extend-crowd",
        gettext_noop("Additional time"),
        gettext_noop("From now on, new participants can start during this time."),
        Ability.EXTEND,
    ),
    CrowdForm(
        "write-workers",
        gettext_noop("Message participants"),
        gettext_noop(
            "Leave the name empty to write to all participants of this study whose work was approved or rejected."
        ),
        Ability.MESSAGE,
    ),
    CrowdForm(
        "bonus",
        gettext_noop("Pay a bonus"),
        gettext_noop(
            "An amount such as 0.50, for a participant whose work was approved. The crowd's fee is added."
        ),
        Ability.BONUS,
    ),
    CrowdForm(
        "more-screen-outs",
        gettext_noop("Pay more screened-out participants"),
        gettext_noop(
            "The design sets how many screened-out participants are paid. When this number is reached, Prolific "
            "pauses the study."
        ),
        Ability.EXTEND,
        key="screen_outs",
    ),
    CrowdForm(
        "qualify-worker",
        gettext_noop("Give a qualification"),
        gettext_noop(
            "The design of a study can require this qualification, or exclude participants who "
            "have it. The value 0 removes the qualification from the participant."
        ),
    ),
    CrowdForm(
        "block-worker",
        gettext_noop("Block a participant"),
        gettext_noop(
            "A blocked participant can no longer take any of your work at this crowd. The crowd might ask you for "
            "the reason."
        ),
        Ability.BLOCK,
        "q-danger",
    ),
    CrowdForm("unblock-worker", gettext_noop("Lift a block"), needs=Ability.BLOCK),
]


def add_crowd_form(form: CrowdForm, *, before: str) -> None:
    """Add a form to the crowd page, before the form of the step ``before``."""
    steps = [other.step for other in FORMS]
    FORMS.insert(steps.index(before), form)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the log. It stands for one call, or for several similar calls.

    Attributes:
        about: the worker or the HIT.
        cents: the sum of bonuses, without fees.
    """

    first: CrowdCall
    count: int
    what: str
    about: str
    cents: int


@dataclass(frozen=True, slots=True)
class TopUp:
    """The cost of a person's top-ups with fees, and the word that confirms the payment."""

    worker: str
    cents: int
    confirm: str


@dataclass(frozen=True, slots=True)
class CrowdFigures:
    """Figures about all work of a study.

    Attributes:
        pays: the sessions with the lowest wages below the floor.
        top_ups: the top-ups of the people in ``pays``.
        confirm: the word that confirms the top-ups of all people.
        overclaims: the largest overclaims.
        overclaimed: the number of all overclaims.
    """

    forecast: Forecast
    wages: Wages
    pays: list[Pay]
    unopposed: int
    # figures that an older version cached lack these fields
    overclaims: list[Overclaim] = field(default_factory=list)
    overclaimed: int = 0
    top_ups: list[TopUp] = field(default_factory=list)
    confirm: str = ""

    @property
    def rows(self) -> int:
        """The estimated number of rows that were counted."""
        return UNITS_PER_PAGE * (self.forecast.places + self.wages.counted + self.unopposed)


def crowd_figures(study: Study) -> CrowdFigures:
    pays, overclaims = pay_and_claims(study)
    lowest = [pay for pay in pays if pay.top_up_cents][:MAX_LINES_SHOWN]
    previews = [
        top_ups_of(study, pays, overclaims, worker)
        for worker in dict.fromkeys(pay.worker for pay in lowest if pay.approved)
    ]
    return CrowdFigures(
        forecast=forecast_of(study),
        wages=wages_of(study, pays),
        pays=lowest,
        top_ups=[
            TopUp(preview.facts["worker"], preview.total_cents, preview.confirm) for preview in previews
        ],
        confirm=top_ups_of(study, pays, overclaims).confirm if previews else "",
        unopposed=len(assignments_without_objection(study)) if study.opened_at else 0,
        overclaims=overclaims[:MAX_LINES_SHOWN],
        overclaimed=len(overclaims),
    )


FIGURES = add_figures(
    Figures(
        "crowd",
        crowd_figures,
        rows=lambda figures: figures.rows,
        as_json=asdict,
        from_json=TypeAdapter(CrowdFigures).validate_python,
        is_large=has_many_assignments,
    )
)


def _concerns_a_crowd(study: Study) -> bool:
    """Return whether the study uses a crowd, pays money, or uses qualifications."""
    design = design_of(study)
    workers = design.workers
    named = workers.requires or workers.forbids or workers.grants
    return bool(backend_of(study).sends_people or design.crowd.reward_cents or named)


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
    asks = bool(study.platform) and backend.sends_people and context["may_review"]
    refusal = take_refusal(request, study)
    counted = cached_figures(study, FIGURES)
    figures = required_figures(counted)
    budget = spending.budget_cents if spending else 0
    can = backend.can if study.state == Study.State.OPEN else backend.can - {Ability.EXTEND}
    forms = [
        form
        for form in FORMS
        if (asks or form.step == "qualify-worker")
        and (form.needs is None or form.needs in can)
        and (not form.key or getattr(design.crowd, form.key))
        and STEPS[form.step].permission in context["rights"]
    ]
    states = dict(calls.values_list("state").annotate(n=Count("pk")).order_by())
    context |= {
        "backend": backend,
        "design": design,
        "can": {ability.value for ability in backend.can},
        "cannot": [_(ABILITY_PHRASES[ability]) for ability in LIMITS_SHOWN if ability not in backend.can],
        "where": backend.describe_entrance(study) if study.platform else "",
        "counted": counted,
        "forecast": figures.forecast,
        "spending": spending,
        "wages": figures.wages,
        "pays": figures.pays,
        "top_ups": figures.top_ups,
        "top_up_confirm": figures.confirm,
        "spending_requests": study.spending_requests.filter(state="waiting").select_related("asked_by")[
            :MAX_LINES_SHOWN
        ],
        "publications": _counted(at_crowd(Publication, study), "state", Publication.State),
        "sessions": _counted(at_crowd(CrowdSession, study), "status", CrowdSession.Status),
        "unopposed": figures.unopposed,
        "overclaims": figures.overclaims,
        "overclaimed": figures.overclaimed,
        "parked": _parked(calls) if states.get("parked") else [],
        "parked_count": states.get("parked", 0),
        "waiting": states.get("waiting", 0) + states.get("started", 0),
        "held_up": calls.filter(state="waiting").exclude(problem="").order_by("-next_at").first()
        if states.get("waiting")
        else None,
        "latest": _lines(calls)[:MAX_LINES_SHOWN] if states else [],
        "events": list(StudyEvent.objects.filter(study=study).select_related("by")[:MAX_LINES_SHOWN]),
        "compared": _compared(study),
        "qualifications": _qualifications(study, design.workers),
        "pause": _pause(settings.CROWD_SYNC_SECONDS),
        "forms": forms,
        "names": _names(study) if asks else [],
        "begin": {
            "set-budget": {"amount": spell_cents(budget)},
            "extend-crowd": {"hours": design.crowd.lifetime_hours},
            # the form is refused if a bonus was ordered after the page loaded
            "bonus": {"seen": calls.latest("pk").pk if states else 0},
        },
        "refusal": refusal,
        "refusal_alone": refusal is not None and not _has_a_place(refusal, forms, figures.wages),
    }
    return TemplateResponse(request, "admin/annotation/study_crowd.html", context)


def _has_a_place(refusal: Refusal, forms: list[CrowdForm], wages: Wages) -> bool:
    return any(form.step == refusal.step for form in forms) or (
        refusal.step == "top-up" and wages.top_up_count > 0
    )


def _pause(seconds: int) -> str:
    return f"{seconds / 60:g} min" if seconds >= 60 else f"{seconds} s"


def _parked(calls: QuerySet[CrowdCall]) -> list[dict[str, object]]:
    """Return failed and indeterminate calls for the page. A person decides on the indeterminate ones."""
    rows = calls.filter(state=CrowdCall.State.FAILED).select_related("worker", "publication__hit")[
        :MAX_LINES_SHOWN
    ]
    return [
        {
            "call": call,
            "what": _describe_order(call),
            "about": _describe_subject(call),
            "unsure": call.unsure and call.kind != Ability.PUBLISH,
        }
        for call in rows
    ]


def _lines(calls: QuerySet[CrowdCall]) -> list[_Line]:
    rows = calls.select_related("worker", "made_by", "publication__hit").order_by("-pk")[:LATEST_CALLS]
    lines = []
    for _key, group in groupby(rows, key=_group_key):
        same = list(group)
        lines.append(
            _Line(
                first=same[0],
                count=len(same),
                what=_describe_order(same[0]),
                about=_describe_subject(same[0]) if len(same) == 1 else "",
                cents=sum(int(call.payload.get("bonus_cents", 0)) for call in same),
            )
        )
    return lines


def _group_key(call: CrowdCall) -> tuple[object, ...]:
    return call.kind, call.state, call.why, call.made_by_id, call.made_at.replace(second=0, microsecond=0)


def _describe_order(call: CrowdCall) -> str:
    return _(ORDER_PHRASES.get(Ability(call.kind), call.kind))


def _describe_subject(call: CrowdCall) -> str:
    if call.worker is not None:
        return call.worker.name
    hit = call.publication.hit if call.publication else None
    return _("Page of work %(n)s") % {"n": hit.position + 1} if hit else ""


def _names(study: Study) -> list[str]:
    taking_part = Worker.objects.filter(participations__study=study)
    return list(taking_part.order_by("-participations__pk").values_list("name", flat=True)[:MAX_SUGGESTIONS])


def _counted(rows: QuerySet[Any], field: str, choices: type[TextChoices]) -> list[tuple[str, int]]:
    counts = dict(rows.values_list(field).annotate(n=Count("pk")).order_by())
    return [(str(label), counts[value]) for value, label in choices.choices if value in counts]


def _qualifications(study: Study, workers: Workers) -> list[tuple[str, int]]:
    names = {*workers.requires, *workers.forbids, *filter(None, [workers.grants])}
    if not names:
        return []
    platform = "" if uses_public_link(study.platform) else study.platform
    rows = Qualification.objects.filter(name__in=names, worker__platform=platform)
    return list(rows.values_list("name").annotate(n=Count("pk")).order_by("name"))


def _compared(study: Study) -> dict[str, object] | None:
    """Return the findings of the last sync, without failed calls, which the page shows separately."""
    last = Job.objects.filter(kind=SYNC, args__study=study.slug, state=Job.State.DONE).first()
    if last is None or not last.result:
        return None
    discrepancies = [
        discrepancy for discrepancy in last.result.get("discrepancies", []) if discrepancy["kind"] != "parked"
    ]
    return {"at": last.finished_at, "found": discrepancies[:MAX_LINES_SHOWN], "count": len(discrepancies)}


def _syncs(study: Study) -> bool:
    return bool(study.platform) and Ability.LIST in backend_of(study).can


add_operation(operations.sync, label="Compare with the crowd", has_button=_syncs, primary_on={"crowd"})
add_operation(money_operations.budget, name="set-budget", label="Change the budget", fields=("cents", "why"))
add_operation(
    extend, name="extend-crowd", label="Extend the offer", fields=("hours", "why"), needed=("hours",)
)
add_operation(money_operations.top_up, label="Pay top-ups", fields=(), hidden=("confirm",), inline=True)
add_operation(
    money_operations.bonus, label="Pay the bonus", fields=("worker", "cents", "why"), hidden=("seen",)
)
add_operation(worker_operations.block, label="Block")
add_operation(worker_operations.unblock, label="Lift the block")
add_operation(worker_operations.qualify, label="Give the qualification")
add_operation(operations.more_screen_outs, label="Pay for more screen-outs")
add_operation(worker_operations.write_to_workers, label="Send")
add_operation(call_decisions.retry, name="retry-call", label="Try again", fields=())
add_operation(
    call_decisions.confirm_call, name="call-was-done", label="The request was carried out", fields=()
)
add_operation(
    call_decisions.repeat_call, name="call-was-not-done", label="The request was not carried out", fields=()
)


@admin.register(Publication)
class PublicationAdmin(ReadOnlyAdmin):
    help = "crowds/README.md#what-is-the-same-everywhere"
    empty_words = "When a study is opened at a crowd, the crowd offers the pages of work of the study."
    list_display = (
        "__str__",
        study_column,
        "platform",
        "hit",
        "state",
        "places",
        "held_slots",
        "price",
        "until",
    )
    list_filter = ("platform", "state", "study")
    list_select_related = ("study", "hit")
    search_fields = ("=external_id", "=token", "=hit__key")

    @display(description=gettext_lazy("available until"), ordering="expires_at")
    def until(self, publication: Publication) -> str:
        return short_time(publication.expires_at) if publication.expires_at else "–"

    @display(description=gettext_lazy("price per place"))
    def price(self, publication: Publication) -> str:
        return cents(publication.price_cents, design_of(publication.study).currency)


@admin.register(CrowdSession)
class CrowdSessionAdmin(ReadOnlyAdmin):
    help = "crowds/README.md#what-is-the-same-everywhere"
    empty_words = "A row is added whenever a crowd sends a person to a study."
    list_display = ("external_id", study_column, "worker", "status", "confirmed", "booked", "handed_in")
    ordering = ("-pk",)
    list_filter = ("platform", "status", "confirmed", "study")
    list_select_related = ("study", "worker")
    search_fields = ("=external_id", "=worker__name")
    exclude = ("receipt",)  # the worker controls its content

    @display(description=gettext_lazy("submitted"), ordering="submitted_at")
    def handed_in(self, session: CrowdSession) -> str:
        return short_time(session.submitted_at) if session.submitted_at else "–"


@admin.register(CrowdCall)
class CrowdCallAdmin(ReadOnlyAdmin):
    help = "crowds/README.md#what-is-the-same-everywhere"
    empty_words = "Requests to a crowd are stored here before they are sent."
    list_display = ("when", study_column, "kind", "worker", "state", "problem", "why", "made_by")
    ordering = ("-pk",)
    list_filter = ("platform", "kind", "state", "study")
    list_select_related = ("study", "worker", "made_by")
    search_fields = ("=key", "=worker__name", "=session__external_id")

    @display(description=gettext_lazy("created at"), ordering="pk")
    def when(self, call: CrowdCall) -> str:
        return short_time(call.made_at)


@admin.register(LedgerEntry)
class LedgerEntryAdmin(ReadOnlyAdmin):
    help = "crowds/README.md#what-is-the-same-everywhere"
    empty_words = "This lists each amount that is reserved or paid at a crowd."
    list_display = ("when", "study", "what", "reserved", "spent", "who", "key")
    ordering = ("-pk",)
    list_filter = ("what", "budget__platform", "budget__study")
    list_select_related = ("budget__study", "by")
    search_fields = ("=key",)

    @display(description=gettext_lazy("time"), ordering="pk")
    def when(self, entry: LedgerEntry) -> str:
        return short_time(entry.at)

    @display(description=gettext_lazy("study"))
    def study(self, entry: LedgerEntry) -> str:
        return _("%(study)s on %(place)s") % {
            "study": entry.budget.study.slug,
            "place": entry.budget.platform,
        }

    @display(description=gettext_lazy("caused by"))
    def who(self, entry: LedgerEntry) -> str:
        return (
            f"{entry.by or _('the platform')}, {entry.door} {entry.request}"
            if entry.door
            else str(entry.by or "–")
        )

    @display(description=gettext_lazy("reserved"))
    def reserved(self, entry: LedgerEntry) -> str:
        return cents(entry.reserved_cents, entry.budget.currency)

    @display(description=gettext_lazy("spent"))
    def spent(self, entry: LedgerEntry) -> str:
        return cents(entry.spent_cents, entry.budget.currency)


@csrf_exempt  # the message is signed by its sender
@never_cache
@require_POST
def mturk(request: HttpRequest) -> HttpResponse:
    topic = notifications.topic()
    if not topic:
        raise Http404("No topic is set.")
    try:
        message = read_sns(
            request.body, topic=topic, now=timezone.now(), certificate=notifications.certificate
        )
        if isinstance(message, Subscription):
            notifications.confirm(message.url)
            return HttpResponse(status=204)
    except QuorumError as problem:
        return HttpResponse(str(problem), status=problem.status, content_type="text/plain; charset=utf-8")
    except notifications.NotFetched as problem:
        return HttpResponse(str(problem), status=503, content_type="text/plain; charset=utf-8")
    for hit in message:
        for platform in SITES:
            record_notification(platform=platform, external_id=hit)
    return HttpResponse(status=204)
