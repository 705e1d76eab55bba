"""The pages of studies: the list, the views of pages and steps, pages of work with their plan, and the first page.

The admin's first page shows an account's studies, what waits for a person in them, and the next action for each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count, Exists, F, IntegerField, Max, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localtime
from django.utils.translation import gettext
from django.views.decorators.http import require_POST
from unfold.decorators import display

from common.amounts import thousands
from common.audit import log_about
from common.errors import DesignError, FeatureIsOff, QuorumError
from common.files import can_be_stored
from judgments.access.roles import (
    Person,
    Right,
    has_right,
    may_view,
    note_event,
    rights_in,
    takes_part,
    visible_rows,
)
from judgments.admin.base import (
    BoundedPaginator,
    QuorumAdmin,
    count_of,
    row_or_404,
    signed_in,
    simulated_mark,
)
from judgments.cached_figures import (
    MANY_ROWS,
    Figures,
    FiguresPending,
    add_figures,
    are_many,
    cached_figures,
    required_figures,
)
from judgments.design.editing import views
from judgments.design.editing import views as design_page
from judgments.design.editing.fitting import PAIR_WORDS
from judgments.design.editing.form import field_of_key, in_labels
from judgments.drawing.controls import ControlPool
from judgments.kinds import KINDS, AbsentKind
from judgments.models import HIT, Dataset, Job, Study, StudyEvent, System, Unit
from judgments.models.studies import QUIET_JOBS
from judgments.operations import discard, generate
from judgments.studies.generation import Plan, expected_share, plan_study
from judgments.studies.studies import (
    can_be_discarded,
    delete_study,
    design_of,
    what_would_go,
    why_not_discarded,
)
from judgments.studies.study_page import (
    PAGES,
    START_PAGES,
    STEPS,
    Context,
    Group,
    StartPage,
    StudyPage,
    StudyStep,
    add_operation,
    first_page,
    page_address,
    parts_of_plan,
    show_counting,
    store_refusal,
    study_context,
    study_page,
    was_opened,
)

ON_A_PAGE = 20
FINISHED = ("submitted", "approved", "rejected")


@dataclass(frozen=True, slots=True)
class Need:
    """Rows of a study that wait for a person.

    Attributes:
        page: the study's page that shows them.
        labels: for one row, and for several.
        rows: those that wait, of all studies.
        button: the label of the study's button.
        right: needed to handle them.
    """

    name: str
    page: str
    labels: tuple[str, str]
    rows: Callable[[], QuerySet[Any]]
    button: str
    right: Right


@dataclass(frozen=True, slots=True)
class Waiting:
    text: str
    link: str
    button: str


@dataclass(frozen=True, slots=True)
class NextAction:
    label: str
    link: str
    urgent: bool = False


NEEDS: dict[str, Need] = {}  # in the order of urgency, as the apps declare them


def add_needs(*needs: Need) -> None:
    NEEDS.update({need.name: need for need in needs})


def with_progress(studies: QuerySet[Study]) -> QuerySet[Study]:
    """Annotate the numbers of assignments ``wanted`` and ``finished``."""
    hits = HIT.objects.filter(study=OuterRef("pk")).order_by().values("study")
    wanted = hits.annotate(n=Sum(F("required") - F("spared"))).values("n")
    finished = hits.filter(assignments__state__in=FINISHED).annotate(n=Count("assignments")).values("n")
    return studies.annotate(
        wanted=Coalesce(Subquery(wanted, output_field=IntegerField()), 0),
        finished=Coalesce(Subquery(finished, output_field=IntegerField()), 0),
    )


def with_needs(studies: QuerySet[Study]) -> QuerySet[Study]:
    return studies.annotate(**{_column(name): count_of(need.rows(), "study") for name, need in NEEDS.items()})


def waiting_for_a_person(study: Study, rights: Collection[str]) -> list[Waiting]:
    """Return what waits for a person of these rights, most urgent first; ``study`` comes from ``with_needs``.

    A rehearsal leaves nothing waiting.
    """
    waiting = []
    for name, need in NEEDS.items():
        count = getattr(study, _column(name))
        if count and need.right in rights and not study.simulated:
            singular, plural = need.labels
            text = gettext(singular) if count == 1 else f"{thousands(count)} {gettext(plural)}"
            waiting.append(Waiting(text, page_address(study, need.page), gettext(need.button)))
    return waiting


def next_action(study: Study, waiting: Sequence[Waiting], rights: Collection[str]) -> NextAction:
    if waiting:
        return NextAction(waiting[0].button, waiting[0].link, urgent=True)
    if study.simulated and not was_opened(study) and "rehearsal" in PAGES:
        return NextAction(gettext("See the rehearsal"), first_page(study))
    may_change = Right.CHANGE in rights
    labels = {
        Study.State.DRAFT.value: gettext("Go on designing") if may_change else gettext("See the design"),
        Study.State.GENERATED.value: gettext("Launch it") if may_change else gettext("See the checklist"),
        Study.State.OPEN.value: gettext("Watch it"),
    }
    return NextAction(labels.get(study.state, gettext("See the findings")), first_page(study))


def _column(name: str) -> str:
    return f"waits_{name}"


def own_studies(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Use a constant number of queries."""
    user = request.user
    context["title"] = gettext("Your studies")
    if takes_part(user) or user.has_perm("judgments.view_study") or user.has_perm("judgments.add_study"):
        studies = Study.objects.visible_to(user)
        shown = with_needs(with_progress(studies.select_related("dataset")))
        page = BoundedPaginator(shown.order_by("-created_at", "slug"), ON_A_PAGE).get_page(
            request.GET.get("page")
        )
        by_state = dict(studies.order_by().values_list("state").annotate(n=Count("pk")))
        context |= {
            "states": [
                (label, by_state[value]) for value, label in Study.State.choices if by_state.get(value)
            ],
            "page": page,
            "studies": _entries(user, list(page.object_list)),
            "may_add_study": user.has_perm("judgments.add_study"),
        }
    if may_view(user, Dataset):
        context |= {
            "datasets": visible_rows(Dataset.objects.all(), user).count(),
            "may_add_dataset": user.has_perm("judgments.add_dataset"),
        }
    if user.is_active and user.is_staff:
        under_way = Job.objects.under_way().exclude(kind__in=QUIET_JOBS)
        context["jobs"] = list(visible_rows(under_way, user)[:ON_A_PAGE])
    return context


def _entries(user: Person, studies: list[Study]) -> list[dict[str, Any]]:
    rights, entries = rights_in(user, studies), []
    for study in studies:
        waiting = waiting_for_a_person(study, rights[study.pk])
        entries.append(
            {
                "study": study,
                "link": first_page(study),
                "waiting": waiting,
                "next": next_action(study, waiting, rights[study.pk]),
            }
        )
    return entries


STATE_COLOURS = {
    Study.State.DRAFT: "",
    Study.State.GENERATED: "warning",
    Study.State.OPEN: "success",
    Study.State.CLOSED: "info",
}


@admin.register(Study)
class StudyAdmin(QuorumAdmin):
    list_display = ("study", "state_label", "protocol_title", "dataset", "progress", "created_by", "created")
    list_display_links = None
    add_label = "New study"
    list_filter = ("state", "protocol", "source", "simulated", "dataset")
    list_filter_submit = True
    list_select_related = ("dataset", "created_by")
    search_fields = ("name", "slug")
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Study]:
        return with_progress(super().get_queryset(request))

    @display(description="study", ordering="name")
    def study(self, study: Study) -> SafeString:
        address = first_page(study)
        shown = '<a class="q-name" href="{}">{}</a>{}'
        return format_html(shown, address, study.name, simulated_mark(study))

    @display(description="state", label=STATE_COLOURS, ordering="state")
    def state_label(self, study: Study) -> tuple[str, str]:
        return study.state, study.get_state_display()

    @display(description="protocol", ordering="protocol")
    def protocol_title(self, study: Study) -> str:
        return gettext(KINDS[study.protocol].title).partition(":")[0]

    @display(description="pages of work submitted")
    def progress(self, study: Study) -> SafeString | str:
        wanted, finished = study.wanted, study.finished  # type: ignore[attr-defined]
        if study.source == Study.Source.IMPORTED:
            return gettext("imported")
        if not wanted:
            return "–"
        return format_html(
            '<span class="q-bar"><progress max="{}" value="{}"></progress> {} / {}</span>',
            wanted, finished, thousands(finished), thousands(wanted),
        )  # fmt: skip

    @display(description="created", ordering="created_at")
    def created(self, study: Study) -> str:
        return date_format(localtime(study.created_at))

    def get_urls(self) -> list[URLPattern]:
        def url(route: str, name: str, view: Callable[..., HttpResponseBase]) -> URLPattern:
            return path(route, self.admin_site.admin_view(view), name=f"judgments_study_{name}")

        return [
            url("numbers/<slug:key>/", "numbers", views.show_numbers),
            url("compare/", "compare", partial(design_page.show_comparison, self)),
            url("from-file/", "from_file", self._for_adding(design_page.add_study_from_file)),
            url("<int:pk>/do/<slug:name>/", "do", require_POST(self.step_view)),
            *(
                url(f"<int:pk>/{page.name}/", page.name, partial(self.page_view, page=page))
                for page in PAGES.values()
                if page.name != "change"  # the admin's own address
            ),
            *(
                url(f"{page.name}/", f"start_{page.name}", partial(self.start_view, page=page))
                for page in START_PAGES.values()
            ),
            *super().get_urls(),
        ]

    def page_view(self, request: HttpRequest, pk: int, page: StudyPage) -> HttpResponseBase:
        study = self._study(request, pk, page.permission)
        context = self.context(request, study, page.name)
        try:
            answer = page.view(request, study, context)
            if isinstance(answer, TemplateResponse) and isinstance(context["kind"], AbsentKind):
                answer.render()
        except FiguresPending:
            return show_counting(request, study, context)
        except FeatureIsOff as error:
            return _show_what_is_off(request, context, error)
        return answer

    def start_view(self, request: HttpRequest, page: StartPage) -> HttpResponseBase:
        if not self.has_add_permission(request):
            raise PermissionDenied
        context = {
            **self.admin_site.each_context(request),
            "title": gettext(page.label),
            "subtitle": gettext(page.label),
        }
        return page.view(request, context)

    def step_view(self, request: HttpRequest, pk: int, name: str) -> HttpResponse:
        step = STEPS.get(name)
        if step is None:
            raise Http404
        study = self._study(request, pk, step.permission)
        if step.also and not signed_in(request).has_perm(step.also):
            raise PermissionDenied
        last = StudyEvent.objects.filter(study=study).aggregate(pk=Max("pk"))["pk"] or 0
        try:
            if not can_be_stored(dict(request.POST.lists())):
                raise QuorumError(
                    gettext("Nothing was changed: a text holds U+0000, which cannot be stored.")
                )
            answer = step.run(request, study)
        except QuorumError as error:
            refusal = in_labels(str(error), study.design)
            if step.beside:
                store_refusal(request, study, step.name, refusal)
                return self._back(request, study, f"#{step.name}")
            if step.refused_at is not None and isinstance(error, DesignError) and error.field:
                return HttpResponseRedirect(step.refused_at(study, error.field))
            messages.error(request, refusal)
            return self._back(request, study)
        if step.permission != Right.VIEW:
            self.log_change(request, study, step.label)
            self._keep_in_log(request, study, step, last)
        if step.done:
            messages.success(request, gettext(step.done))
        return answer or self._back(request, study)

    @staticmethod
    def _keep_in_log(request: HttpRequest, study: Study, step: StudyStep, last: int) -> None:
        """Log the step, if its service logged nothing after entry ``last``."""
        person = signed_in(request)
        if not Study.objects.filter(pk=study.pk).exists():
            return  # the step deleted it, and said so while it stood
        if not StudyEvent.objects.filter(study=study, pk__gt=last, by=person).exists():
            sentence = f"Asked for: {step.label}."
            note_event(
                study=study, what=step.name, sentence=sentence, why=request.POST.get("why", ""), by=person
            )

    def _back(self, request: HttpRequest, study: Study, at: str = "") -> HttpResponseRedirect:
        page = PAGES.get(request.POST.get("page", ""))
        address = page_address(study, page.name) if page and (page.label or page.group) else first_page(study)
        number = request.POST.get("number", "")  # of the page of work that the form stood on
        return HttpResponseRedirect(f"{address}?number={number}" if number.isdecimal() else address + at)

    def context(self, request: HttpRequest, study: Study, active: str) -> Context:
        return study_context(self.admin_site, request, study, active=active)

    def _study(self, request: HttpRequest, pk: int | str, permission: str) -> Study:
        studies = Study.objects.visible_to(request.user).select_related("dataset")
        study = row_or_404(studies.annotate(warned=Count("alarms")), pk)
        if not has_right(request.user, Right(permission), study):
            raise PermissionDenied
        log_about(study=study.slug)
        return study

    def has_view_permission(self, request: HttpRequest, obj: Study | None = None) -> bool:
        if obj is None and self.has_add_permission(request):
            return True
        return super().has_view_permission(request, obj)

    def has_change_permission(self, request: HttpRequest, obj: Study | None = None) -> bool:
        if obj is None:
            return super().has_change_permission(request)
        return has_right(request.user, Right.CHANGE, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Study | None = None) -> bool:
        if obj is None:
            return super().has_delete_permission(request)
        return has_right(request.user, Right.OWN, obj)

    def add_view(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        return design_page.add_study(self, request)

    def _for_adding(
        self, view: Callable[[StudyAdmin, HttpRequest], HttpResponse]
    ) -> Callable[[HttpRequest], HttpResponse]:
        def checked(request: HttpRequest) -> HttpResponse:
            if not self.has_add_permission(request):
                raise PermissionDenied
            return view(self, request)

        return checked

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **options: Any) -> HttpResponse:
        study = self._study(request, object_id, Right.VIEW)
        kind = KINDS[study.protocol]
        if isinstance(kind, AbsentKind):
            return _show_what_is_off(request, self.context(request, study, "change"), kind.error())
        return design_page.show_design(self, request, study)

    def delete_view(self, request: HttpRequest, object_id: str, *args: Any, **options: Any) -> HttpResponse:
        study = self._study(request, object_id, Right.OWN)
        if request.method == "POST":
            try:
                with transaction.atomic():  # a refused deletion leaves no entry behind
                    self.log_deletions(request, Study.objects.filter(pk=study.pk))
                    delete_study(study=study)
            except QuorumError as error:
                messages.error(request, str(error))
                return redirect(page_address(study, "change"))
            messages.success(request, gettext("Study “%(name)s” was deleted.") % {"name": study.name})
            return redirect(reverse("admin:judgments_study_changelist"))
        return TemplateResponse(
            request,
            "judgments/study/delete.html",
            self.context(request, study, "change") | {"subtitle": gettext("Delete")},
        )


def _show_what_is_off(request: HttpRequest, context: Context, error: FeatureIsOff) -> HttpResponse:
    context |= {"subtitle": "", "sentence": str(error)}
    return TemplateResponse(request, "judgments/study/feature_off.html", context, status=error.status)


@study_page("hits", "Pages of work", order=20, group=Group.DESIGN)
def show_hits(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    context["design"] = design_of(study)
    if study.state == Study.State.DRAFT:
        return TemplateResponse(request, "judgments/study/hits_draft.html", context)
    counted = cached_figures(study, COUNTS)
    context |= required_figures(counted) | {"counted": counted, "can_go_back": can_be_discarded(study)}
    kinds = context["pair_kinds"]
    context["pair_kinds"] = [row | {"about": PAIR_WORDS.get(row["kind"], "")} for row in kinds]
    return TemplateResponse(request, "judgments/study/hits.html", context)


@study_page("discard", order=22, permission=Right.CHANGE, group=Group.DESIGN, under="hits")
def ask_before_discarding(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    context |= {"obstacle": why_not_discarded(study), "gone": what_would_go(study)}
    context["by_hand"] = len(study.design.get("by_hand", ()))
    return TemplateResponse(request, "judgments/study/discard.html", context)


@study_page("plan", order=21)
def show_plan(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    return TemplateResponse(request, "judgments/study/plan.html", context | plan_of(study))


def plan_of(study: Study) -> Context:
    """Return the design with its plan, a problem, or a mark that it is being counted, for a template."""
    design = design_of(study)
    plan = cached_figures(study, PLAN).value
    if plan is None:
        return {"design": design, "waits": True}
    if isinstance(plan, Plan):
        try:
            return {"design": design, "plan": plan, "plan_parts": parts_of_plan(design, plan)}
        except QuorumError as error:
            plan = DesignError(str(error))
    return {
        "design": design,
        "problem": in_labels(str(plan), design),
        "problem_link": place_of_problem(study, plan.field),
        "step_waits": generate.name,
    }


def place_of_problem(study: Study, key: str) -> str:
    """Return the design's page, at the field where it says what is wrong with this key."""
    name = field_of_key(key, design_of(study))
    return f"{page_address(study, 'change')}?look#{f'id_{name}' if name else 'panes'}"


def counts_of(study: Study) -> dict[str, Any]:
    """Count in four queries."""
    units = Unit.objects.filter(study=study).aggregate(
        judged=Count("pk", filter=Q(control=False)),
        controls=Count("pk", filter=Q(control=True, withdrawn=False) & ~Q(control_kind="quiz")),
        withdrawn=Count("pk", filter=Q(withdrawn=True)),
        filtered=Count("pk", filter=Q(filtered=True)),
    )
    hits = HIT.objects.filter(study=study).aggregate(
        n=Count("pk"), wanted=Sum("required"), free=Sum("open_slots")
    )
    kinds = Unit.objects.filter(study=study, control=False).exclude(kind="").order_by("kind")
    design = design_of(study)
    overlap = design.judgments_per_unit
    pairs = study.pairs.count()
    live = bool(design.arena.pages)
    slots = hits["n"] * design.units_per_hit if live else units["judged"] + units["controls"]
    return {
        "live": live,
        "asked": expected_share(design, references=round(units["judged"] / pairs) if pairs else 1),
        "units": units,
        "hits": hits,
        "wanted_judgments": slots * overlap,
        "hours": slots * overlap * design.seconds_per_unit / 3600,
        "pair_kinds": list(
            kinds.values("kind").annotate(units=Count("pk"), pairs=Count("pair", distinct=True))
        ),
    }


def _planned(study: Study) -> Plan | DesignError:
    """Return the plan, or why nothing can be drawn from the design."""
    try:
        return plan_study(design_of(study), study.dataset, maker=study.created_by_id)
    except QuorumError as error:
        return DesignError(str(error), field=error.field if isinstance(error, DesignError) else "")


def _plan_from_json(value: dict[str, Any]) -> Plan | DesignError:
    if "problem" in value:
        return DesignError(str(value["problem"]), field=str(value.get("field", "")))
    return Plan(**value | {"pool": ControlPool(**value["pool"])})


def _drawn_from(study: Study) -> object:
    """Return all that a draw depends on; captions are only added, systems also published."""
    systems = System.objects.of_study(study).order_by("pk").values_list("pk", flat=True)
    last = study.dataset.captions.aggregate(last=Max("pk"))["last"]
    return study.design, study.dataset_id, last, list(systems)


def _is_large(study: Study) -> bool:
    return are_many(study.dataset.captions.all())


def _has_many_units(study: Study) -> Exists:
    return Exists(study.units.order_by()[MANY_ROWS - 1 : MANY_ROWS])


COUNTS: Figures[dict[str, Any]] = add_figures(
    Figures("hits", counts_of, rows=lambda counts: int(counts["units"]["judged"]), many=_has_many_units)
)
PLAN: Figures[Plan | DesignError] = add_figures(
    Figures(
        "plan",
        _planned,
        rows=lambda plan: 0 if isinstance(plan, DesignError) else plan.units,
        as_json=lambda plan: (
            {"problem": str(plan), "field": plan.field} if isinstance(plan, DesignError) else asdict(plan)
        ),
        from_json=_plan_from_json,
        version=_drawn_from,
        exact=True,
        beyond_a_page=_is_large,
    )
)


add_operation(discard, label="Discard the pages of work", leads_to=lambda study: "change")
add_operation(
    generate,
    label="Generate pages of work",
    offered=lambda study: study.state == Study.State.DRAFT,
    primary_in={Study.State.DRAFT.value},
    leads_to=lambda study: "launch",
    refused_at=place_of_problem,
)
