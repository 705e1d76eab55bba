"""Registered plans over HTTP and on their page."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from math import isnan
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from annotation.launch.views import Launch, Point, Readiness, add_check
from annotation.quality.detectors import RULES
from common.amounts import as_json, thousands
from contrib.registration.errors import RegistrationError
from contrib.registration.models import Registration
from contrib.registration.plans import (
    compute_outcomes,
    describe_missing_registration,
    find_deviations,
    may_be_registered,
    register,
)
from evaluation.presentation.content import p_in_text, percent_number
from evaluation.reports.sections.registration import HypothesisOutcome, outcome_words
from judgments.admin.base import signed_in
from judgments.api.resources import Related, Resource, RowSerializer, create_action, filters_of, study_filter
from judgments.design.tables import Plan, read_claim
from judgments.models import Study
from judgments.studies.studies import design_of
from judgments.studies.study_page import (
    Context,
    Group,
    StudyStep,
    add_step,
    page_address,
    study_page,
    take_refusal,
    was_opened,
)
from judgments.templatetags.judgments_tags import percent


class RegistrationSerializer(RowSerializer[Registration]):
    """A plan and a design as they were before the study opened."""

    study = Related("study.slug")
    content = serializers.DictField(read_only=True, help_text="Its canonical JSON has the SHA-256.")

    class Meta:
        model = Registration
        fields = ["id", "study", "sha256", "content", "registered_at"]


class OutcomeSerializer(serializers.Serializer[Any]):
    """A registered hypothesis, and what became of it."""

    text = serializers.CharField()
    claim = serializers.CharField(allow_blank=True)
    verdict = serializers.CharField()
    first_only = serializers.IntegerField(help_text="Pairs on which only the first metric is right.")
    second_only = serializers.IntegerField()
    p = serializers.FloatField(
        allow_null=True, help_text="Of t over items and people; null where nothing was tested."
    )
    adjusted = serializers.FloatField(allow_null=True, help_text="After Holm.")
    words = serializers.CharField()


class DeviationSerializer(serializers.Serializer[Any]):
    """Something that was not done as registered."""

    what = serializers.CharField()
    words = serializers.CharField()


class OutcomesSerializer(serializers.Serializer[Any]):
    """What became of a registered plan."""

    outcomes = OutcomeSerializer(many=True)
    deviations = DeviationSerializer(many=True)


class RegistrationResource(Resource):
    """Plans that were fixed before their study opened."""

    queryset = Registration.objects.select_related("study")
    serializer_class = RegistrationSerializer
    filterset_class = filters_of(Registration, study=study_filter())
    orderings: ClassVar[dict[str, str]] = {"id": "pk", "registered_at": "registered_at"}
    create = create_action(
        register,
        reply=RegistrationSerializer,
        route="api:registrations-detail",
        responses={404: OpenApiResponse(description="No such study.")},
    )

    @extend_schema(
        responses=OutcomesSerializer,
        description="What became of the hypotheses, and what was done otherwise.",
    )
    @action(detail=True, methods=["get"])
    def outcomes(self, request: Request, pk: str) -> Response:
        study = self.get_object().study
        return Response(
            {
                "outcomes": [
                    as_json(asdict(row)) | {"words": outcome_words(row)} for row in compute_outcomes(study)
                ],
                "deviations": [asdict(deviation) for deviation in find_deviations(study)],
            }
        )


ROWS, SEEN = 20, 3  # hypotheses; the template folds those after the third
LONGEST = 2000


def _text_area(label: Any, help_text: Any, longest: int = LONGEST) -> forms.CharField:
    return forms.CharField(
        label=label,
        required=False,
        max_length=longest,
        help_text=help_text,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
    )


class RegisteringForm(forms.Form):
    exclusions = _text_area(
        gettext_lazy("Who will be excluded"),
        gettext_lazy("in words, with the numbers: “people below 70 % of check questions”"),
    )
    stopping = _text_area(
        gettext_lazy("When collection stops"),
        gettext_lazy("“three judgments an item, then the study closes”"),
    )
    analyses = _text_area(gettext_lazy("Planned analyses"), gettext_lazy("one a line"), 20_000)
    metrics = forms.CharField(
        label=gettext_lazy("Metrics that will be held against people"),
        required=False,
        max_length=LONGEST,
        help_text=gettext_lazy(
            "with commas between, as cider-d, rouge-l; any other is listed as a deviation. Empty: any may be."
        ),
        widget=UnfoldAdminTextInputWidget,
    )
    level = forms.FloatField(
        label=gettext_lazy("Level"),
        initial=0.05,
        help_text=gettext_lazy("of all checked hypotheses together, after Holm"),
        widget=UnfoldAdminIntegerFieldWidget(attrs={"step": "any"}),
    )
    sure = forms.BooleanField(
        label=gettext_lazy("I have read it through: a registration is never changed or taken back"),
        error_messages={"required": gettext_lazy("read it through and tick this first.")},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for row in range(ROWS):
            self.fields[f"text-{row}"] = forms.CharField(
                label=_("Hypothesis %(n)s") % {"n": row + 1}, required=False, max_length=LONGEST,
                widget=UnfoldAdminTextInputWidget,
            )  # fmt: skip
            self.fields[f"claim-{row}"] = forms.CharField(
                label=_("Hypothesis %(n)s, to be checked") % {"n": row + 1}, required=False, max_length=LONGEST,
                widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "cider-d > rouge-l on HC"}),
            )  # fmt: skip
        for name, rule in RULES.items():
            self.fields[f"rule-{name}"] = forms.BooleanField(label=_(rule.title), required=False)

    @property
    def rows(self) -> list[tuple[forms.BoundField, forms.BoundField]]:
        return [(self[f"text-{row}"], self[f"claim-{row}"]) for row in range(ROWS)]

    @property
    def further_used(self) -> bool:
        return any(field.value() for row in self.rows[SEEN:] for field in row)

    @property
    def rules(self) -> list[forms.BoundField]:
        return [self[f"rule-{name}"] for name in RULES]

    def plan(self) -> dict[str, Any]:
        values = self.cleaned_data
        rows = [(values[f"text-{row}"], values[f"claim-{row}"]) for row in range(ROWS)]
        return {
            "hypotheses": [{"text": text, "claim": claim} for text, claim in rows if text or claim],
            "exclusions": values["exclusions"],
            "exclude_by": [name for name in RULES if values[f"rule-{name}"]],
            "stopping": values["stopping"],
            "analyses": _parts(values["analyses"].splitlines()),
            "metrics": _parts(values["metrics"].split(",")),
            "level": values["level"],
        }


def _parts(texts: list[str]) -> list[str]:
    return [text.strip() for text in texts if text.strip()]


def _has_registration_page(study: Study) -> bool:
    if was_opened(study):
        return design_of(study).registration is not None
    return study.source == Study.Source.DESIGNED


@study_page(
    "register",
    "Registration",
    order=57,
    shown=_has_registration_page,
    group=Group.FINDINGS,
    before=Group.LAUNCH,
)
def show_registration(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    registration = Registration.objects.filter(study=study).select_related("registered_by").first()
    refusal = take_refusal(request, study)
    context |= {
        "registration": registration,
        "can_register": may_be_registered(study),
        "refusal": refusal,
    }
    if registration is None:
        context["form"] = RegisteringForm(initial=refusal.sent if refusal else None)
        context |= _describe_plan(design_of(study).registration)
    else:
        context |= _describe_plan(registration.plan) | {
            "outcomes": [(row, _(row.verdict), _outcome_words(row)) for row in compute_outcomes(study)],
            "deviations": find_deviations(study),
        }
    return TemplateResponse(request, "evaluation/study_register.html", context)


def _outcome_words(outcome: HypothesisOutcome) -> str:
    """Translate ``outcome_words``, which is English for reports."""
    if not outcome.claim:
        return _("Nothing here tests it; people judge it.")
    claim = read_claim(outcome.claim)
    names: dict[str, Any] = {"better": claim.better, "worse": claim.worse}
    if isnan(outcome.p):
        return (
            _("Not tested: %(better)s and %(worse)s were not both held against people on such pairs.") % names
        )
    if not outcome.differing:
        return _("%(better)s and %(worse)s are right on the very same pairs.") % names
    low, high = outcome.interval
    return _(
        "Of %(n)s pairs on which only one is right, %(better)s is right on %(right)s: %(share)s (95 %% interval "
        "%(low)s to %(high)s); %(p)s, after Holm %(adjusted)s."
    ) % {
        **names,
        "n": thousands(outcome.differing),
        "right": thousands(outcome.first_only),
        "share": percent(outcome.first_only / outcome.differing),
        "low": percent_number(low),
        "high": percent(high),
        "p": p_in_text(outcome.p),
        "adjusted": p_in_text(outcome.adjusted),
    }


def _describe_plan(plan: Plan | None) -> Context:
    names = plan.exclude_by if plan is not None else ()
    return {"plan": plan, "rules": [_(RULES[name].title) if name in RULES else name for name in names]}


@study_page("registration-file", order=58)
def download_registration(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    registration = Registration.objects.filter(study=study).first()
    if registration is None:
        raise Http404
    text = json.dumps({"sha256": registration.sha256, **registration.content}, ensure_ascii=False, indent=1)
    headers = {"Content-Disposition": f'attachment; filename="{study.slug}-registration.json"'}
    return HttpResponse(f"{text}\n", content_type="application/json", headers=headers)


def _register(request: HttpRequest, study: Study) -> HttpResponse:
    plan = design_of(study).registration
    form = RegisteringForm(request.POST)
    wrong = {name: errors for name, errors in form.errors.items() if plan is None or name == "sure"}
    if wrong:
        name, errors = next(iter(wrong.items()))
        raise RegistrationError(
            _("Nothing was registered. %(field)s: %(problem)s")
            % {"field": form.fields[name].label, "problem": errors[0]}
        )
    values = register.read({} if plan else {"plan": form.plan()})
    messages.success(request, register.run(study, values, by=signed_in(request), wait=False).message)
    return redirect(page_address(study, "register"))


add_step(StudyStep(name="register", label="Register", run=_register, beside=True))


def _registration_point(launch: Launch) -> Iterable[Point]:
    study = launch.study
    if study.state in (Study.State.DRAFT, Study.State.OPEN):
        return
    if sentence := describe_missing_registration(study):
        words = _("Register the plan")
        yield launch.point(_("Registration"), Readiness.BLOCKS, sentence, page="register", link_words=words)


add_check(-1, _registration_point)
