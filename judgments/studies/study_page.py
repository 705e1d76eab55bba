"""The registry of a study's pages and steps in the admin, and operations offered as steps with a form."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from django.contrib import messages
from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext
from rest_framework.exceptions import ValidationError

from common.errors import DesignError, QuorumError, sentence_of
from common.parameters import Parameters
from judgments.access.roles import Right, has_right, rights_of
from judgments.admin.base import preview_address, signed_in
from judgments.cached_figures import newest_figures_job
from judgments.design.study_design import StudyDesign
from judgments.kinds import KINDS
from judgments.models import Job, Study
from judgments.models.studies import QUIET_JOBS, of_studies
from judgments.operations import Operation, Outcome
from judgments.studies.studies import design_of, kind_of

if TYPE_CHECKING:
    from judgments.studies.generation import Plan

REFUSAL = "quorum-refusal"
LONGEST_KEPT = 5000  # characters of a field
EVERY_SECONDS = 2  # between polls for figures that are being counted
Context = dict[str, Any]
View = TypeVar("View", bound=Callable[[HttpRequest, Study, Context], HttpResponseBase])


def always(study: Study) -> bool:
    return True


def never(study: Study) -> bool:
    return False


def was_opened(study: Study) -> bool:
    """Return whether people, or a rehearsal, could answer; imported judgments count."""
    return study.state in (Study.State.OPEN, Study.State.CLOSED)


def can_be_evaluated(study: Study) -> bool:
    """Return whether metrics are held against its answers."""
    return not KINDS[study.protocol].comparison.refusal


class Group(StrEnum):
    """The places of a study, in the order of work; each holds pages."""

    DESIGN = "Design"
    LAUNCH = "Launch"
    LIVE = "Live"
    FINDINGS = "Findings"
    SHARE = "Share"

    def has_content(self, study: Study) -> bool:
        match self:
            case Group.LAUNCH:
                return not (study.simulated or study.state == Study.State.CLOSED)
            case Group.LIVE | Group.FINDINGS:
                return was_opened(study)
        return True

    def label_for(self, study: Study) -> str:
        """Return its name; Live becomes Answers once nobody works any more."""
        if self is Group.LIVE and study.state != Study.State.OPEN:
            return gettext("Answers")
        return gettext(self.value)


@dataclass(frozen=True, slots=True)
class StudyPage:
    """A page about a study.

    Attributes:
        name: last part of its address, and of its URL name ``admin:judgments_study_<name>``.
        label: the tab; '' for a page without one.
        order: of the tabs in a place; the place leads to its first.
        shown: whether it has a tab; its address works in any case.
        group: its place.
        before: its place until the study is opened, if another.
        under: for a page without a tab, the page whose tab is marked.
    """

    name: str
    label: str
    order: int
    view: Callable[[HttpRequest, Study, Context], HttpResponseBase]
    permission: str = Right.VIEW
    shown: Callable[[Study], bool] = always
    group: Group = Group.SHARE
    before: Group | None = None
    under: str = ""

    def place_in(self, study: Study) -> Group:
        return self.group if self.before is None or was_opened(study) else self.before


@dataclass(frozen=True, slots=True)
class StepForm:
    parameters: type[Parameters]
    fields: tuple[str, ...]
    needed: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StudyStep:
    """An action on a study, by a post to ``do/<name>/``.

    Attributes:
        label: the button.
        run: does it; None leads back to the page that the post came from.
        done: message afterwards; '' for none.
        offered: whether the button is at the top of the study's pages.
        primary_in, primary_on: the states, and pages, in which it is a filled button; else it is in the menu.
        also: another Django permission that it needs, such as ``judgments.add_study``.
        job: the kind of job that it starts; while one is under way, the button is hidden.
        beside: whether a refusal is shown beside the step's form (``take_refusal``).
        form: for ``{% step_form %}``; None for a form written by hand.
        refused_at: the address of a design's key where a refusal is said; None says it above the page.
    """

    name: str
    label: str
    run: Callable[[HttpRequest, Study], HttpResponse | None]
    done: str = ""
    offered: Callable[[Study], bool] = never
    primary_in: frozenset[str] = frozenset()
    primary_on: frozenset[str] = frozenset()
    permission: str = Right.CHANGE
    also: str = ""
    job: str = ""
    beside: bool = False
    form: StepForm | None = None
    refused_at: Callable[[Study, str], str] | None = None


@dataclass(frozen=True, slots=True)
class StartPage:
    """A page that the page "New study" links to.

    Attributes:
        name: last part of its address.
        label: the link.
        text: the words before the link.
        with_data: whether a study begins there with data of its own, so that no dataset is needed before.
    """

    name: str
    label: str
    text: str
    view: Callable[[HttpRequest, Context], HttpResponseBase]
    with_data: bool = False

    @property
    def address(self) -> str:
        return reverse(f"admin:judgments_study_start_{self.name}")


@dataclass(frozen=True, slots=True)
class Refusal:
    step: str
    sentence: str
    sent: dict[str, str]


@dataclass(frozen=True, slots=True)
class PlanPart:
    """A higher app's addition to the plan of a draft; its template gets the facts as ``part``.

    Facts and problems get the design, the number of HITs, and the number of items with control items.
    """

    template: str
    facts: Callable[[StudyDesign, int, int], Any]
    problems: Callable[[StudyDesign, int, int], list[DesignError]] | None = None


@dataclass(frozen=True, slots=True)
class PagePart:
    """A feature's addition to a page of the platform that shows ``parts``; its template gets the facts as ``part``."""

    page: str
    template: str
    facts: Callable[[HttpRequest, Study], Any]


PAGES: dict[str, StudyPage] = {}
STEPS: dict[str, StudyStep] = {}
START_PAGES: dict[str, StartPage] = {}
PLAN_PARTS: list[PlanPart] = []
PAGE_PARTS: list[PagePart] = []


def study_page(name: str, label: str = "", **options: Any) -> Callable[[View], View]:
    """Decorate the view of a page, with the attributes of ``StudyPage``."""

    def register(view: View) -> View:
        PAGES[name] = StudyPage(name=name, label=label, view=view, **options)
        return view

    return register


def add_start_page(page: StartPage) -> None:
    START_PAGES[page.name] = page


def add_step(step: StudyStep) -> None:
    STEPS[step.name] = step


def add_plan_part(part: PlanPart) -> None:
    PLAN_PARTS.append(part)


def add_page_part(part: PagePart) -> None:
    PAGE_PARTS.append(part)


def parts_of_plan(design: StudyDesign, plan: Plan) -> list[dict[str, Any]]:
    items = plan.judgments // design.judgments_per_unit  # on all pages
    return [{"template": part.template, "facts": part.facts(design, plan.hits, items)} for part in PLAN_PARTS]


def store_refusal(request: HttpRequest, study: Study, step: str, sentence: str) -> None:
    sent = {name: value[:LONGEST_KEPT] for name, value in request.POST.items() if isinstance(value, str)}
    for name in ("csrfmiddlewaretoken", "page"):
        sent.pop(name, None)
    request.session[REFUSAL] = {"study": study.pk, "step": step, "words": sentence, "sent": sent}


def take_refusal(request: HttpRequest, study: Study) -> Refusal | None:
    """Return the last refusal once."""
    stored = request.session.get(REFUSAL)
    if stored is None or stored["study"] != study.pk:
        return None
    del request.session[REFUSAL]
    return Refusal(step=stored["step"], sentence=stored["words"], sent=stored["sent"])


def page_address(study: Study, name: str) -> str:
    return reverse(f"admin:judgments_study_{name}", args=[study.pk])


def page_of_running() -> str:
    """Return the name of the page on which an open study is run: the dashboard, if that feature is on."""
    return "board" if "board" in PAGES else "workers"


def first_page(study: Study) -> str:
    if study.simulated and not was_opened(study) and "rehearsal" in PAGES:
        return page_address(study, "rehearsal")
    names = {
        Study.State.DRAFT.value: "change",
        Study.State.GENERATED.value: "launch",
        Study.State.OPEN.value: page_of_running(),
    }
    return page_address(study, names.get(study.state, "results"))


def study_context(site: AdminSite, request: HttpRequest, study: Study, *, active: str) -> Context:
    rights = rights_of(request.user, study)
    jobs = jobs_to_show(study)
    busy = {job.kind for job in jobs if job.is_under_way}
    steps = [
        step
        for step in STEPS.values()
        if step.offered(study)
        and step.permission in rights
        and step.job not in busy
        and (not step.also or signed_in(request).has_perm(step.also))
    ]
    next_step = next_step_of(steps, study, active)
    others = [step for step in steps if step is not next_step]
    may_preview = study.source == Study.Source.DESIGNED
    never_opened = study.state in (Study.State.DRAFT, Study.State.GENERATED)
    may_delete = never_opened and Right.OWN in rights
    return {
        **site.each_context(request),
        "title": study.name,
        "study": study,
        "kind": kind_of(study),
        "of_criteria": _studies_of_criteria(study, request),
        "currency": design_of(study).currency,
        "steps": STEPS,
        "parts": [
            {"template": part.template, "facts": part.facts(request, study)}
            for part in PAGE_PARTS
            if part.page == active
        ],
        "study_groups": tab_groups(study, rights, active),
        "next_step": next_step,
        "next_link": page_address(study, "launch") if _waits_for_its_launch(study, next_step, active) else "",
        "other_steps": others,
        "may_preview": may_preview,
        "may_delete": may_delete,
        "in_menu": len(others) + may_preview + may_delete > 1,  # one alone is a button
        "active_page": active,
        "preview_link": preview_address(study),
        "rights": rights,
        "may_review": Right.REVIEW in rights,
        "may_change": Right.CHANGE in rights,
        "may_own": Right.OWN in rights,
        "may_add": signed_in(request).has_perm("judgments.add_study"),
        "jobs": jobs,
    }


def _studies_of_criteria(study: Study, request: HttpRequest) -> list[tuple[str, Study, str]]:
    """Return the studies of the other criteria of an imported file: criterion, study and address."""
    slugs = study.notes.get("criteria", {})
    visible = Study.objects.visible_to(request.user).filter(slug__in=slugs.values()).exclude(pk=study.pk)
    rows = {row.slug: row for row in visible}
    return [(name, rows[slug], first_page(rows[slug])) for name, slug in slugs.items() if slug in rows]


def _waits_for_its_launch(study: Study, next_step: StudyStep | None, active: str) -> bool:
    waits = study.state == Study.State.GENERATED and not study.simulated
    return waits and next_step is None and active != "launch"


def tab_groups(study: Study, rights: Collection[str], active: str) -> list[Context]:
    """Return the places that have content, with the tabs that the person may open.

    The current page has a tab even without content.
    """
    page = PAGES.get(active)
    marked = page.under if page and page.under else active
    groups = []
    for group in Group:
        tabs = [
            {
                "label": gettext(page.label),
                "link": page_address(study, page.name),
                # a page without a tab is below the one that is marked, which is then not the page itself
                "current": ("page" if page.name == active else "true") if page.name == marked else "",
            }
            for page in sorted(PAGES.values(), key=lambda page: page.order)
            if page.label
            and page.place_in(study) == group
            and page.permission in rights
            and (page.name == marked or (group.has_content(study) and page.shown(study)))
        ]
        if tabs:
            here = any(tab["current"] for tab in tabs)
            label = group.label_for(study)
            groups.append({"label": label, "link": tabs[0]["link"], "tabs": tabs, "active": here})
    return groups


def next_step_of(steps: Sequence[StudyStep], study: Study, active: str) -> StudyStep | None:
    of_page = [step for step in steps if active in step.primary_on]
    of_state = [step for step in steps if study.state in step.primary_in]
    return next(iter([*of_page, *of_state]), None)


def jobs_to_show(study: Study) -> list[Job]:
    """Return jobs under way, and the last failed one of each kind until one succeeds or is cancelled."""
    shown: dict[str, Job] = {}
    for job in Job.objects.filter(of_studies(study.slug)).exclude(kind__in=QUIET_JOBS)[:20]:
        shown.setdefault(job.kind, job)
    return [job for job in shown.values() if job.is_under_way or job.error]


def show_counting(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """Show that figures are being counted. Its script polls, and gets status 204 while nothing is new."""
    job = newest_figures_job(study)
    failed = job is not None and job.has_failed
    if request.headers.get("HX-Request") and not failed:
        return HttpResponse(status=204)
    context |= {"counting": job, "failed": failed, "address": request.get_full_path(), "every": EVERY_SECONDS}
    answer = TemplateResponse(request, "judgments/study/counting.html", context)
    answer["Cache-Control"] = "no-store"
    return answer


def add_operation(
    operation: Operation,
    *,
    label: str,
    name: str = "",
    fields: tuple[str, ...] | None = None,
    needed: tuple[str, ...] = (),
    hidden: tuple[str, ...] = (),
    offered: Callable[[Study], bool] = never,
    primary_in: Collection[str] = (),
    primary_on: Collection[str] = (),
    leads_to: Callable[[Study], str] | None = None,
    leads_away: str = "",
    also: str = "",
    beside: bool | None = None,
    done: str = "",
    refused_at: Callable[[Study, str], str] | None = None,
    shows: Callable[[HttpRequest, Study, Outcome], HttpResponse] | None = None,
) -> None:
    """Offer an operation on a study's pages as a step (``StudyStep``).

    Args:
        name: of the step, if one operation has several.
        fields: the parameters in the step's form; None for all, () for a form written by hand.
        needed: optional parameters that this form requires.
        hidden: arguments of the operation that are no parameters, in hidden fields.
        leads_to: the name of the page to show afterwards; None for the one that the post came from.
        leads_away: the page to show of the study that the operation made.
        beside: whether a refusal is shown beside the form; None if there is one.
        shows: answers with a page of its own, for what is shown once.
    """
    field_names = tuple(operation.parameters().fields) if fields is None else fields
    form = StepForm(operation.parameters, field_names, needed, hidden)

    def run(request: HttpRequest, study: Study) -> HttpResponse | None:
        values = read_posted_parameters(request, operation, needed=needed)
        if operation.job:
            operation.start(study, values, by=signed_in(request), page=True)
        else:
            more = {name: request.POST.get(name, "") for name in hidden}
            outcome = operation.run(study, values, by=signed_in(request), wait=False, **more)
            if shows is not None:
                return shows(request, study, outcome)
            messages.success(request, outcome.message)
            if leads_away:
                return redirect(page_address(outcome.value, leads_away))
        if not has_right(request.user, Right.VIEW, study):  # who just gave up their own right
            return redirect("admin:judgments_study_changelist")
        return None if leads_to is None else redirect(page_address(study, leads_to(study)))

    add_step(
        StudyStep(
            name=name or operation.name,
            label=label,
            done=done,
            also=also,
            run=run,
            offered=offered,
            primary_in=frozenset(primary_in),
            primary_on=frozenset(primary_on),
            permission=operation.right,
            job=operation.job,
            beside=bool(field_names) if beside is None else beside,
            refused_at=refused_at,
            form=form,
        )
    )


def read_posted_parameters(
    request: HttpRequest,
    parameters: type[Parameters] | Operation,
    *,
    needed: Collection[str] = (),
    empty: bool = True,
) -> dict[str, Any]:
    """Return the checked parameters of a form. Raise QuorumError if one is missing or wrong.

    With ``empty=False``, fields that were left empty keep their defaults.
    """
    sent = request.POST.copy()
    if not empty:
        for name in [name for name in sent if not any(sent.getlist(name))]:
            del sent[name]
    try:
        return parameters.read(sent, needed=needed)
    except ValidationError as error:
        raise QuorumError(sentence_of(error.detail)) from error
