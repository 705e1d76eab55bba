"""Plans and rehearsals over HTTP and on their pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import BigIntegerField, OuterRef, QuerySet, Subquery
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field, extend_schema_view
from rest_framework import serializers, status
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from annotation.crowds.publishing import add_doubt
from annotation.launch.views import Launch, Point, Readiness, add_check
from annotation.rehearsal import OF, RehearsalRequest, delete, rehearsals_of, rehearse_copy, study_rehearsed
from common.amounts import AmountField, thousands
from common.errors import QuorumError, WrongState
from evaluation.models import Analysis
from evaluation.planning.planning import (
    ENOUGH,
    JOB_KIND,
    Assumptions,
    PowerPlanRequest,
    assumptions_for,
    plan_args,
    plan_power,
    read_assumptions,
    use_plan,
)
from evaluation.presentation.content import join_names
from evaluation.results.agreement import components_sentence
from evaluation.results.views import as_markup
from judgments import jobs
from judgments.access.permissions import require, staff_of, studies_of, study_for, token_of
from judgments.access.roles import Right
from judgments.admin.base import signed_in
from judgments.api.resources import (
    SLUG,
    JobSerializer,
    Resource,
    RowSerializer,
    filters_of,
    jobs_about,
    named_study,
    study_filter,
    with_study,
)
from judgments.design.study_design import USUAL_CURRENCY
from judgments.jobs import enqueue
from judgments.kinds import KINDS
from judgments.models import Job, Study
from judgments.operations import Outcome
from judgments.studies.studies import design_of, kind_of
from judgments.studies.study_page import (
    Context,
    Group,
    StartPage,
    StudyStep,
    add_operation,
    add_start_page,
    add_step,
    page_address,
    study_page,
    take_refusal,
    was_opened,
)
from judgments.templatetags.judgments_tags import cents, coefficient, percent
from quorum.statistics.power import MOST_TASTE


def may_create(request: Request) -> None:
    """Raise PermissionDenied without the permission to add studies, or for a limited token."""
    token = token_of(request)
    if not staff_of(request).has_perm("judgments.add_study"):
        raise PermissionDenied("This takes the permission to add studies.")
    if token is not None and token.limited:
        raise PermissionDenied("A token of some studies creates none.")


class PowerPlanHeadSerializer(RowSerializer[Job]):
    """A plan, and how far its simulation is."""

    study = serializers.SerializerMethodField(help_text="Slug; null for a plan of no study yet.")
    pilot = serializers.SerializerMethodField(help_text="Slug of the study whose people were taken, or null.")

    class Meta:
        model = Job
        fields = ["id", "study", "pilot", "state", "progress", "error", "created_at", "finished_at"]

    @extend_schema_field({"type": "string", "nullable": True})
    def get_study(self, job: Job) -> str | None:
        return job.args.get("study") or None

    @extend_schema_field({"type": "string", "nullable": True})
    def get_pilot(self, job: Job) -> str | None:
        return job.args.get("pilot") or None


class PowerPlanSerializer(PowerPlanHeadSerializer):
    """With what was assumed and what came of it, once it is done."""

    assumptions = serializers.SerializerMethodField()
    result = serializers.SerializerMethodField(
        help_text="tried, best, fewer_votes, half_the_pairs; null before it is done."
    )

    class Meta(PowerPlanHeadSerializer.Meta):
        fields = [*PowerPlanHeadSerializer.Meta.fields, "assumptions", "result"]

    @extend_schema_field(serializers.DictField())
    def get_assumptions(self, job: Job) -> dict[str, Any]:
        return self._settings_and_result(job)[0]

    @extend_schema_field(serializers.DictField(allow_null=True))
    def get_result(self, job: Job) -> dict[str, Any] | None:
        return self._settings_and_result(job)[1]

    def _settings_and_result(self, job: Job) -> tuple[dict[str, Any], dict[str, Any] | None]:
        result = job.result or {}
        if "plan" in result:
            return result["settings"], result["plan"]
        stored = result.get("analysis", 0)  # 0 is no row's
        analysis = Analysis.objects.filter(pk=stored, what=Analysis.What.PLAN).first()
        return (analysis.settings, analysis.result) if analysis else (job.args["assumptions"], None)


NamedPlanRequest = with_study(
    PowerPlanRequest, required=False, help_text="Slug; without one, a plan of no study yet."
)


@extend_schema_view(
    create=extend_schema(
        request=NamedPlanRequest,
        responses={
            202: PowerPlanHeadSerializer,
            404: OpenApiResponse(description="No such study."),
            409: OpenApiResponse(description="The study compares no pairs, or is being planned already."),
        },
        description=plan_power.description,
    )
)
class PlanResource(Resource):
    """How many pairs, references and votes tell two systems or metrics apart."""

    scope = "reports"
    queryset = Job.objects.filter(kind=JOB_KIND)
    filterset_class = filters_of(Job, "state", study="args__study")
    orderings: ClassVar[dict[str, str]] = {"id": "pk", "created_at": "created_at"}

    def get_serializer_class(self) -> type[serializers.BaseSerializer[Any]]:
        return PowerPlanHeadSerializer if self.action == "list" else PowerPlanSerializer

    def rows_for(self, rows: QuerySet[Job], studies: QuerySet[Study], request: Request) -> QuerySet[Job]:
        return jobs_about(rows, studies, request)

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """A job of kind plan_power."""
        values = NamedPlanRequest.read(request.data)
        if "pilot" in values:
            values["pilot"] = study_for(request, values["pilot"]).slug
        slug = values.pop("study", "")
        if slug:
            job = plan_power.start(study_for(request, slug, Right.CHANGE), values, by=staff_of(request))
        else:
            may_create(request)
            planned = plan_args(**{"assumptions": {}, **values})
            job = jobs.enqueue(kind=JOB_KIND, args=planned, user=staff_of(request), once=True)
        address = reverse("api:plans-detail", args=[job.pk], request=request)
        return Response(
            PowerPlanHeadSerializer(job).data, status=status.HTTP_202_ACCEPTED, headers={"Location": address}
        )


class RehearsalHeadSerializer(RowSerializer[Study]):
    """A copy of a study that simulated workers answer."""

    of = serializers.CharField(read_only=True, allow_null=True, help_text="The study's slug.")

    class Meta:
        model = Study
        fields = ["slug", "name", "of", "state", "created_at"]


class RehearsalSerializer(RehearsalHeadSerializer):
    """With what came of it."""

    crowd = serializers.SerializerMethodField(help_text="Who answered; null before it is done.")
    result = serializers.SerializerMethodField(
        help_text="report, recovered, agreement, metrics, systems, power, cost; null before it is done."
    )

    class Meta(RehearsalHeadSerializer.Meta):
        fields = [*RehearsalHeadSerializer.Meta.fields, "crowd", "result"]

    @extend_schema_field(serializers.DictField(allow_null=True))
    def get_crowd(self, copy: Study) -> dict[str, Any] | None:
        analysis = Analysis.objects.newest(copy, Analysis.What.REHEARSAL)
        return analysis.settings if analysis else None

    @extend_schema_field(serializers.DictField(allow_null=True))
    def get_result(self, copy: Study) -> dict[str, Any] | None:
        analysis = Analysis.objects.newest(copy, Analysis.What.REHEARSAL)
        return analysis.result if analysis else None


def _of_study(rows: QuerySet[Study], name: str, value: Study) -> QuerySet[Study]:
    return rows.filter(**{f"notes__{OF}": value.pk})


@extend_schema_view(
    create=extend_schema(
        request=with_study(RehearsalRequest),
        responses={
            202: JobSerializer,
            404: OpenApiResponse(description="No such study."),
            409: OpenApiResponse(description="There is nothing to rehearse, or the crowd is none."),
        },
        description=rehearse_copy.description,
    ),
    destroy=extend_schema(
        responses={204: None, 409: OpenApiResponse(description="It is under way, or something rests on it.")},
        description=delete.description,
    ),
)
class RehearsalResource(Resource):
    """Copies of studies that simulated workers answered, and what came of it."""

    study_path, scope = "pk", "studies"
    filterset_class = filters_of(Study, "state", of=study_filter(method=_of_study, label="The study's slug."))
    orderings: ClassVar[dict[str, str]] = {"created_at": "created_at"}
    lookup_field, lookup_value_regex = "slug", SLUG

    def get_queryset(self) -> QuerySet[Study]:
        copies = Study.objects.filter(simulated=True, notes__has_key=OF)
        if getattr(self, "swagger_fake_view", False):
            return copies
        number = Cast(KeyTextTransform(OF, "notes"), BigIntegerField())
        seen = studies_of(self.request).order_by().filter(pk=OuterRef("of_pk"))
        return copies.annotate(of_pk=number).annotate(of=Subquery(seen.values("slug")[:1]))

    def get_serializer_class(self) -> type[serializers.BaseSerializer[Any]]:
        return RehearsalHeadSerializer if self.action == "list" else RehearsalSerializer

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """A copy, and a job that answers it."""
        study = named_study(request, rehearse_copy.right)
        may_create(request)
        copy = rehearse_copy.run(study, rehearse_copy.read(request.data), by=staff_of(request)).value
        job = Job.objects.filter(kind="rehearse", args__study=copy.slug).latest("pk")
        url = reverse("api:rehearsals-detail", args=[copy.slug], request=request)
        return Response(JobSerializer(job).data, status=status.HTTP_202_ACCEPTED, headers={"Location": url})

    def destroy(self, request: Request, slug: str) -> Response:
        copy: Study = self.get_object()
        require(request, delete.right, copy)
        delete.run(copy, {}, by=staff_of(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


WORDS = {
    "win_rate": (
        gettext_noop("Pairs on which system A is truly better"),
        gettext_noop("a share; .5 would be no difference"),
    ),
    "ties": (gettext_noop("Pairs on which neither is better"), ""),
    "first": (gettext_noop("Accuracy of the first metric"), ""),
    "second": (gettext_noop("Accuracy of the second metric"), ""),
    "agreement": (gettext_noop("Pairs on which both metrics name the same winner"), ""),
    "right": (gettext_noop("Votes that are right, of people who look"), ""),
    "pair_spread": (
        gettext_noop("How much pairs differ in difficulty"),
        gettext_noop("0 not at all; .3 many clear and many hopeless pairs"),
    ),
    "careless": (gettext_noop("Votes given without looking"), gettext_noop("right by half")),
    "worker_spread": (
        gettext_noop("How unevenly those lie on participants"),
        gettext_noop("0 everybody alike, 1 some people never look"),
    ),
    "taste": (
        gettext_noop("How much people differ in which of the two they prefer"),
        gettext_noop("standard deviation of their log odds; 0 not at all, 1 much"),
    ),
    "wanted": (gettext_noop("Wanted power"), gettext_noop("share of such studies that find the difference")),
    "alpha": (gettext_noop("Significance level"), ""),
    "replaced": (gettext_noop("Work paid for again"), gettext_noop("share of pages of work")),
}
LISTS = {
    "pairs": gettext_noop("Numbers of pairs to try"),
    "references": gettext_noop("References for each pair"),
    "votes": gettext_noop("Votes on each item"),
}
REWARD = "reward_cents"
COUNTS = {
    "units_per_hit": gettext_noop("Items on a page of work"),
    "controls_per_hit": gettext_noop("Check questions among them"),
    "raters": gettext_noop("People who share the work (0: new ones for every page)"),
    "simulations": gettext_noop("Simulated studies"),
    "seed": gettext_noop("Seed"),
}
NAMES = {
    "pilot_first": gettext_noop("First of two in the pilot"),
    "pilot_second": gettext_noop("Second of two in the pilot"),
}
SOURCE = {"pilot", *NAMES}

# title, the question to which the fields belong alone ('' for both), the fields
GROUPS = (
    (gettext_noop("The question"), "", ("question",)),
    (gettext_noop("The two systems"), "systems", ("win_rate", "ties")),
    (gettext_noop("The two metrics"), "metrics", ("first", "second", "agreement")),
    (gettext_noop("People"), "", ("right", "pair_spread", "taste", "raters", "careless", "worker_spread")),
    (gettext_noop("As in a pilot"), "", ("pilot", *NAMES)),
    (gettext_noop("Designs to try"), "", tuple(LISTS)),
    (gettext_noop("How sure"), "", ("wanted", "alpha", "simulations", "seed")),
    (gettext_noop("Cost"), "", (REWARD, "units_per_hit", "controls_per_hit", "replaced")),
)

MOST_PILOTS = 50
MOST_EARLIER = 20
MOST_SHOWN = 20
HOPELESS = 0.5  # power below which a study is more likely to miss even the largest difference than to find it


class PlanningForm(forms.Form):
    question = forms.ChoiceField(
        label=gettext_lazy("What is to be told apart"),
        choices=[("systems", gettext_lazy("two systems")), ("metrics", gettext_lazy("two metrics"))],
        widget=UnfoldAdminSelectWidget,
    )

    def __init__(
        self, *args: Any, pilots: list[tuple[str, str]], currency: str = USUAL_CURRENCY, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        for name, (label, help_text) in WORDS.items():
            self.fields[name] = forms.FloatField(
                label=_(label),
                help_text=_(help_text),
                min_value=0,
                max_value=MOST_TASTE if name == "taste" else 1,
                widget=UnfoldAdminIntegerFieldWidget(attrs={"step": "any"}),
            )
        for name, label in LISTS.items():
            self.fields[name] = forms.RegexField(
                regex=r"^\s*\d{1,7}(\s*,\s*\d{1,7})*\s*$",
                label=_(label),
                max_length=200,
                help_text=_("with commas between"),
                error_messages={"invalid": _("expected whole numbers with commas between them")},
                widget=UnfoldAdminTextInputWidget,
            )
        for name, label in COUNTS.items():
            self.fields[name] = forms.IntegerField(
                label=_(label), min_value=0, widget=UnfoldAdminIntegerFieldWidget
            )
        self.fields[REWARD] = AmountField(_("Pay for a page of work"), required=True, unit=currency)
        self.fields["pilot"] = forms.ChoiceField(
            label=_("People as in the pilot"),
            required=False,
            choices=[("", _("as assumed here")), *pilots],
            widget=UnfoldAdminSelectWidget,
            help_text=_("replaces what is assumed of votes"),
        )
        for name, label in NAMES.items():
            self.fields[name] = forms.CharField(
                label=_(label),
                required=False,
                max_length=200,
                widget=UnfoldAdminTextInputWidget,
                help_text=_(
                    "a system or metric of the pilot; both named replace what is assumed of the difference"
                ),
            )

    def groups(self) -> list[tuple[str, str, list[forms.BoundField]]]:
        return [(_(title), question, [self[name] for name in names]) for title, question, names in GROUPS]

    def source(self) -> dict[str, str]:
        data = self.cleaned_data
        return {"pilot": data["pilot"], "first": data["pilot_first"], "second": data["pilot_second"]}

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        first, second = data.get("pilot_first", ""), data.get("pilot_second", "")
        if bool(first) != bool(second):
            self.add_error("pilot_second" if first else "pilot_first", _("name both, or neither"))
        elif first and not data.get("pilot"):
            self.add_error("pilot", _("choose the pilot in which the two were compared"))
        return data

    def assumptions(self) -> dict[str, Any]:
        values = {name: value for name, value in self.cleaned_data.items() if name not in SOURCE}
        for name in LISTS:
            values[name] = [int(part) for part in values[name].split(",")]
        return values


def as_initial(assumptions: Mapping[str, Any]) -> dict[str, Any]:
    typed = {
        name: ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
        for name, value in assumptions.items()
    }
    return typed | {REWARD: f"{assumptions[REWARD] / 100:.2f}"}


@study_page(
    "planning",
    "Plan",
    order=15,
    shown=lambda study: not was_opened(study) and KINDS[study.protocol].compares_pairs,
    group=Group.DESIGN,
)
def show_planning(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    plan, refusal = Analysis.objects.newest(study, Analysis.What.PLAN), take_refusal(request, study)
    begin = assumptions_for(study) | (plan.settings if plan else {})
    form = PlanningForm(
        initial=as_initial(begin) | (refusal.sent if refusal else {}),
        pilots=_pilots(request),
        currency=context["currency"],
    )
    context |= {"form": form, "refusal": refusal, "plan": plan, "is_draft": study.state == Study.State.DRAFT}
    if plan is not None:
        context |= _plan_context(plan.result, plan.settings)
    return TemplateResponse(request, "evaluation/study_planning.html", context)


def _plan_context(result: dict[str, Any], settings: dict[str, Any]) -> Context:
    # Imported lazily: matplotlib costs every process 60 MB and 0.3 s.
    from evaluation.presentation.plots.figures import describe_design, power_figure, power_sentence

    return {
        "figure": as_markup(power_figure(result)),
        "sentence": power_sentence(result),
        "components": components_sentence(settings.get("components", {})),
        "best_words": describe_design(result["best"]) if result["best"] else "",
    }


def show_planning_first(request: HttpRequest, context: Context) -> HttpResponse:
    """Plan without a study; the job keeps the plan."""
    user = signed_in(request)
    plans = Job.objects.filter(kind="plan_power", created_by=user, args__study__isnull=True)
    refusal, sent = "", {}
    if request.method == "POST":
        form = PlanningForm(request.POST, pilots=_pilots(request))
        try:
            assumptions = _read_assumptions(form)
            if plans.under_way().exists():
                raise WrongState(_("Nothing was simulated: your last plan is still under way."))
            args = {"assumptions": assumptions, **form.source()}
            enqueue(kind="plan_power", args=args, user=user, once=True)
        except QuorumError as error:
            refusal, sent = str(error), request.POST.dict()
        else:
            return redirect("admin:judgments_study_start_plan")
    done = plans.filter(state=Job.State.DONE)
    pk = request.GET.get("plan", "")
    chosen = done.filter(pk=pk).first() if pk.isdecimal() and len(pk) < 19 else None
    job = chosen or done.first()
    plan: dict[str, Any] | None = job.result if job else None
    begin = Assumptions().model_dump(mode="json") | (plan["settings"] if plan else {})
    last = plans.first()
    context |= {
        "form": PlanningForm(initial=as_initial(begin) | sent, pilots=_pilots(request)),
        "refusal": refusal,
        "currency": USUAL_CURRENCY,
        "jobs": [last] if last is not None and (last.is_under_way or last.error) else [],
        "earlier": list(done[:MOST_EARLIER]) if done.count() > 1 else [],
    }
    if plan is not None:
        context |= {
            "plan": {"result": plan["plan"], "settings": plan["settings"]},
            **_plan_context(plan["plan"], plan["settings"]),
        }
    return TemplateResponse(request, "evaluation/planning.html", context, status=400 if refusal else 200)


def _pilots(request: HttpRequest) -> list[tuple[str, str]]:
    protocols = [name for name, kind in KINDS.items() if kind.compares_pairs]
    seen = Study.objects.visible_to(signed_in(request)).filter(
        protocol__in=protocols, state=Study.State.CLOSED
    )
    return list(seen.order_by("-created_at").values_list("slug", "name")[:MOST_PILOTS])


def _start_plan(request: HttpRequest, study: Study) -> HttpResponse:
    form = PlanningForm(request.POST, pilots=_pilots(request))
    values = {"assumptions": _read_assumptions(form), **form.source()}
    plan_power.start(study, values, by=signed_in(request), page=True)
    return redirect(page_address(study, "planning"))


def _read_assumptions(form: PlanningForm) -> dict[str, Any]:
    """Return posted assumptions. Raise WrongState or EvaluationError with the first problem."""
    if not form.is_valid():
        name, errors = next(iter(form.errors.items()))
        raise WrongState(
            _("Nothing was simulated. %(field)s: %(problem)s")
            % {"field": form.fields[name].label, "problem": errors[0]}
        )
    return read_assumptions(form.assumptions()).model_dump(mode="json")


add_step(StudyStep(name="plan-power", label="Simulate", run=_start_plan, job="plan_power", beside=True))

add_operation(use_plan, label="Use this in the design", leads_to=lambda study: "change")

add_start_page(
    StartPage(
        name="plan",
        label="Plan without a study",
        text="Not sure how large it has to be?",
        view=show_planning_first,
    )
)


def _has_rehearsals(study: Study) -> bool:
    """Return True also for a rehearsed copy, whose result the page shows."""
    return study.simulated if was_opened(study) else study.source == Study.Source.DESIGNED


@study_page(
    "rehearsal", "Rehearsal", order=56, shown=_has_rehearsals, group=Group.FINDINGS, before=Group.LAUNCH
)
def show_rehearsal(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """Show copies and the newest result; for a copy, its own result."""
    user, refusal = signed_in(request), take_refusal(request, study)
    of_whom = study_rehearsed(study)
    if of_whom is not None and not Study.objects.visible_to(user).filter(pk=of_whom.pk).exists():
        of_whom = None
    copies: list[dict[str, Any]] = []
    if study.simulated:
        shown = Analysis.objects.newest(study, Analysis.What.REHEARSAL)
    else:
        seen = list(rehearsals_of(study).filter(pk__in=Study.objects.visible_to(user))[:MOST_SHOWN])
        analyses = Analysis.objects.filter(study__in=seen, what=Analysis.What.REHEARSAL).order_by(
            "created_at"
        )
        newest = {analysis.study_id: analysis for analysis in analyses}
        copies = [{"study": copy, "analysis": newest.get(copy.pk)} for copy in seen]
        shown = next((row["analysis"] for row in copies if row["analysis"]), None)
    context |= {
        "refusal": refusal,
        "copies": copies,
        "of_whom": of_whom,
        "is_copy": OF in study.notes,
        "rehearsal": shown,
        "power": _power_told(shown) if shown else [],
        "rehearsing": any(job.kind == "rehearse" for job in context["jobs"]),
        "rehearsed_study": next((row["study"] for row in copies if row["analysis"] is shown), study),
    }
    return TemplateResponse(request, "evaluation/study_rehearsal.html", context)


def _redirect_from_deleted(request: HttpRequest, study: Study, outcome: Outcome) -> HttpResponse:
    messages.success(request, outcome.message)
    rehearsed: Study | None = outcome.value
    seen = Study.objects.visible_to(signed_in(request))
    if rehearsed is not None and seen.filter(pk=rehearsed.pk).exists():
        return redirect(page_address(rehearsed, "rehearsal"))
    return redirect("admin:judgments_study_changelist")


def _rehearsal_points(launch: Launch) -> Iterable[Point]:
    """Yield the newest rehearsal's finding for the launch checklist."""
    if kind_of(launch.study).rehearsal is None or launch.study.simulated:
        return
    newest = _newest_seen(launch.study, launch.user)
    if newest is None:
        yield launch.point(
            _("Rehearsal"),
            Readiness.MISSING,
            _("Nobody has tried the design: simulated participants can answer a copy of the study first."),
            page="rehearsal",
            link_words=_("Rehearse it"),
        )
        if launch.design.judgments_per_unit > 1:
            yield launch.point(_("Agreement expected"), Readiness.UNKNOWN, _("A rehearsal shows it."))
        return
    recovered, alpha = newest.result["recovered"], newest.result["agreement"]
    yield launch.point(
        _("Rehearsal"),
        Readiness.READY,
        _("Simulated participants found %(share)s of the answers that were drawn as true.")
        % {"share": percent(recovered["value"])},
        page="rehearsal",
        link_words=_("Look at it"),
    )
    if alpha["value"] is not None:
        sentence = _("Krippendorff's alpha of %(alpha)s among participants like those of the rehearsal.")
        alpha_words = {"alpha": coefficient(alpha["value"])}
        yield launch.point(_("Agreement expected"), Readiness.READY, sentence % alpha_words)
    elif launch.design.judgments_per_unit > 1:
        sentence = _("The rehearsal was too small to show it.")
        yield launch.point(_("Agreement expected"), Readiness.UNKNOWN, sentence)
    if rows := _power_rows(newest, launch.design.purpose):
        yield _power_point(launch, rows)


def _power_told(rehearsal: Analysis) -> list[Mapping[str, Any]]:
    """Return the rows of power at named differences; earlier versions told that at one that they drew."""
    return [row for row in rehearsal.result["power"] if "difference" in row]


def _power_rows(rehearsal: Analysis, purpose: str) -> list[Mapping[str, Any]]:
    """Return the rows on systems or on metrics, as the study's purpose is, else those of less power."""
    about, rows = purpose.replace("ranking", "systems"), _power_told(rehearsal)
    groups = [
        [row for row in rows if row["what"] == what] for what in ("systems", "metrics") if about in ("", what)
    ]
    return min(filter(None, groups), key=lambda group: _main(group)["power"] or 0.0, default=[])


def _main(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the row by which a study is called ready."""
    return next(row for row in rows if row["main"])


def _power_sentence(rows: Sequence[Mapping[str, Any]]) -> str:
    sentences = {
        (True, "systems"): _(
            "Of 100 such studies, %(powers)s would name the better of two systems, where it wins %(differences)s of "
            "the pairs."
        ),
        (True, "metrics"): _(
            "Of 100 such studies, %(powers)s would name the better of two metrics, where it is right on "
            "%(differences)s more of the pairs."
        ),
        (False, "systems"): _(
            "Of 100 such studies, %(powers)s would name the better of two systems, where their means differ by "
            "%(differences)s."
        ),
    }
    of_pairs = "pairs" in rows[0]
    return sentences[of_pairs, rows[0]["what"]] % {
        "powers": join_names([str(round(100 * (row["power"] or 0.0))) for row in rows]),
        "differences": join_names(
            [percent(row["difference"]) if of_pairs else coefficient(row["difference"]) for row in rows]
        ),
    }


def _newest_seen(study: Study, user: User | None) -> Analysis | None:
    """Return the newest rehearsal of a study that an account, or anybody, may see."""
    copies = rehearsals_of(study)
    seen = copies.filter(pk__in=Study.objects.visible_to(user)) if user else copies
    return (
        Analysis.objects.filter(study__in=seen, what=Analysis.What.REHEARSAL).order_by("-created_at").first()
    )


def _power_doubt(study: Study, by: User | None) -> str:
    newest = _newest_seen(study, by)
    rows = _power_rows(newest, design_of(study).purpose) if newest else []
    return _power_sentence(rows) if rows and _most_power(rows) < HOPELESS else ""


def _most_power(rows: Sequence[Mapping[str, Any]]) -> float:
    """Return the power at the largest difference."""
    return max(row["power"] or 0.0 for row in rows)


def _power_point(launch: Launch, rows: Sequence[Mapping[str, Any]]) -> Point:
    """Say how often the study decides between two sides, and what it takes where that is too rarely."""
    title, sentence, row = _("Power"), _power_sentence(rows), _main(rows)
    power = row["power"] or 0.0
    if power >= ENOUGH:
        if row.get("alike"):
            doubt = _("In the rehearsal itself no system was better.")
            return launch.point(title, Readiness.UNKNOWN, f"{sentence} {doubt}")
        return launch.point(title, Readiness.READY, sentence)
    needed = row["needed"]
    if needed is None:
        remedy = _("More items, or more people, tell more apart.")
    else:
        remedy = _("%(enough)s would with some %(needed)s pairs instead of %(pairs)s.") % {
            "enough": round(100 * ENOUGH),
            "needed": thousands(needed),
            "pairs": thousands(row["pairs"]),
        }
        if launch.forecast and launch.forecast.cents:
            cost = cents(launch.forecast.cents * needed // row["pairs"], launch.design.currency)
            remedy += " " + _("They cost about %(cost)s.") % {"cost": cost}
            if budget := launch.design.crowd.budget_cents:
                remedy += " " + _("The budget is %(budget)s.") % {
                    "budget": cents(budget, launch.design.currency)
                }
    link_words = _("Plan the study")
    readiness = Readiness.MISSING if _most_power(rows) >= HOPELESS else Readiness.DOUBTFUL
    return launch.point(title, readiness, f"{sentence} {remedy}", page="planning", link_words=link_words)


add_check(30, _rehearsal_points)

add_doubt(_power_doubt)

add_operation(
    rehearse_copy,
    name="rehearse",
    label="Rehearse a copy",
    also="judgments.add_study",
    leads_away="rehearsal",
)

add_operation(delete, label="Delete this rehearsal", shows=_redirect_from_deleted, beside=True)
