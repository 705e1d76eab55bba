"""Follow-up batches over HTTP, and the pages "Disputes" and "Known items"."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field, extend_schema_view
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from annotation.models import Adjudication
from annotation.quality.operations import send_units, withdraw
from annotation.quality.page import describe_control_item
from annotation.quality.reviews import adjudicators, can_be_adjudicated
from evaluation.models import Consensus
from evaluation.planning.follow_up.units import (
    MARGIN,
    TakeRequest,
    candidate_of,
    more_items,
    next_batch,
    reopen,
    take_known_items,
    units_for_known_items,
)
from evaluation.results.consensus import SIDE_LABELS
from judgments.access.permissions import studies_of, study_for, token_of
from judgments.access.roles import Right
from judgments.admin.base import BoundedPaginator
from judgments.api.resources import OperationView, Related, Resource, RowSerializer, StudySerializer
from judgments.models import Study
from judgments.operations import Outcome
from judgments.studies.studies import find_study, kind_of
from judgments.studies.study_page import (
    Context,
    Group,
    StudyStep,
    add_operation,
    add_step,
    page_address,
    read_posted_parameters,
    study_page,
)


class KnownItemSerializer(RowSerializer[Consensus]):
    """A unit of another study that everybody answered alike, or that was decided."""

    study = Related("unit.study.slug")
    unit = Related("unit.key")
    image = Related("unit.item.name")
    expected = serializers.SerializerMethodField(
        help_text="The answer, in the study file's form; null where votes differ too much for a known item."
    )

    class Meta:
        model = Consensus
        fields = ["id", "study", "unit", "image", "source", "n", "expected"]

    @extend_schema_field(OpenApiTypes.ANY)
    def get_expected(self, row: Consensus) -> Any:
        """Return the unanimous or adjudicated answer."""
        assert row.unit is not None
        candidate = candidate_of(kind_of(row.unit.study), row)
        return candidate.expected if candidate else None


class TakenReply(serializers.Serializer[Any]):
    """How many were new to the design."""

    added = serializers.IntegerField()


@extend_schema_view(
    list=extend_schema(operation_id="studies_known_items", responses=KnownItemSerializer),
    create=extend_schema(
        operation_id="studies_take_known_items",
        request=TakeRequest,
        responses={200: TakenReply, 409: OpenApiResponse(description="The design is frozen, or none fits.")},
        filters=False,
    ),
)
class KnownItemResource(Resource):
    """Units of other studies of the same dataset and kind that could be known items of this one."""

    queryset = Consensus.objects.none()
    serializer_class = KnownItemSerializer
    study_path: ClassVar[str] = "unit__study"

    def get_queryset(self) -> QuerySet[Consensus]:
        if getattr(self, "swagger_fake_view", False):
            return Consensus.objects.none()
        study = study_for(self.request, self.kwargs["slug"])
        return units_for_known_items(study).filter(study__in=studies_of(self.request).order_by().values("pk"))

    def create(self, request: Request, slug: str) -> Response:
        """Add them to the draft's design."""
        study = study_for(request, slug, Right.CHANGE)
        chosen = TakeRequest.read(request.data)["chosen"]
        offered = list(self.get_queryset().filter(pk__in=chosen).values_list("pk", flat=True))
        return Response({"added": take_known_items(study=study, chosen=offered)})


class NextBatchView(OperationView):
    """Answers with the new draft."""

    responses: ClassVar[dict[Any, Any]] = {
        201: StudySerializer,
        404: OpenApiResponse(description="No such study, or nothing of one of the ids in it."),
        409: OpenApiResponse(description="The study's kind leaves nothing to draw again."),
    }

    def post(self, request: Request, slug: str, **path: str) -> Response:
        token = token_of(request)
        if token is not None and token.limited:
            raise PermissionDenied("A token of some studies creates none.")
        return super().post(request, slug)

    def answer(self, study: Study, outcome: Outcome) -> Response:
        batch = find_study(outcome.value.slug)
        address = reverse("api:studies-detail", args=[batch.slug], request=self.request)
        return Response(StudySerializer(batch).data, status=201, headers={"Location": address})


ON_A_PAGE = 50
SHOWN = [
    ("ties", gettext_lazy("Ties")),
    ("close", gettext_lazy("Ties, and votes as close as 2 to 1")),
    ("all", gettext_lazy("All items")),
]


class DisputesPaginator(BoundedPaginator):
    most = 5_000


class DisputeForm(forms.Form):
    show = forms.ChoiceField(
        label=gettext_lazy("Show"), choices=SHOWN, initial="close", widget=UnfoldAdminSelectWidget
    )
    unit = forms.CharField(
        label=gettext_lazy("Id of the item begins with"),
        required=False,
        max_length=80,
        widget=UnfoldAdminTextInputWidget,
    )


@study_page("disputes", "Disputes", order=55, shown=can_be_adjudicated, group=Group.FINDINGS)
def show_disputes(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    form = DisputeForm(request.GET if "show" in request.GET else {"show": "close"})
    wanted = form.cleaned_data if form.is_valid() else {"show": "close", "unit": ""}
    sent = Adjudication.objects.filter(study=study).select_related("study", "unit", "adjudicator", "sent_by")
    # row ids alone are sorted and leafed through: an open study has many units that are close
    pages = DisputesPaginator(_disputed_units(study, wanted["show"], wanted["unit"]).values("pk"), ON_A_PAGE)
    page = pages.get_page(request.GET.get("page"))
    context |= {
        "form": form,
        "query": f"&show={wanted['show']}&unit={wanted['unit']}",
        "page": page,
        "rows": [_dispute_row(row) for row in _rows_to_show(page.object_list)],
        "computed": Consensus.objects.filter(study=study).exists(),
        "possible": can_be_adjudicated(study),
        "people": list(adjudicators(study)),
        "sent": [_adjudication_row(row) for row in sent.order_by("-sent_at", "-pk")[:ON_A_PAGE]],
        "counts": {state: sent.filter(state=state).count() for state in Adjudication.State.values},
        "adjudicate_link": reverse("annotation:adjudicate"),
    }
    return TemplateResponse(request, "evaluation/study_disputes.html", context)


def _disputed_units(study: Study, show: str, begins: str) -> QuerySet[Consensus]:
    rows = Consensus.objects.filter(study=study, unit__isnull=False)
    if begins:
        rows = rows.filter(unit__key__startswith=begins)
    if show == "all":
        return rows.order_by(F("margin").asc(nulls_last=True), "pk")
    rows = rows.order_by("margin", "pk")  # as the index has it
    return rows.filter(tie=True) if show == "ties" else rows.filter(Q(tie=True) | Q(margin__lt=MARGIN))


def _rows_to_show(chosen: Any) -> QuerySet[Consensus]:
    active = Adjudication.objects.filter(unit=OuterRef("unit")).exclude(state=Adjudication.State.WITHDRAWN)
    return (
        Consensus.objects.filter(pk__in=chosen)
        .select_related("unit__reference", "unit__first", "unit__second", "unit__item")
        .annotate(sent=Subquery(active.values("state")[:1]))
        .order_by(F("margin").asc(nulls_last=True), "pk")
    )


def _dispute_row(row: Any) -> dict[str, Any]:
    state = Adjudication.State(row.sent).label if row.sent else ""
    return {"unit": row.unit, "votes": _describe_votes(row.votes), "n": row.n, "state": state}


def _describe_votes(votes: dict[str, int]) -> str:
    parts = [
        _("%(n)s for “%(answer)s”") % {"n": count, "answer": answer}
        for answer, count in sorted(votes.items())
        if count
    ]
    return ", ".join(parts) or _("none")


def _adjudication_row(adjudication: Adjudication) -> dict[str, Any]:
    return {
        "pk": adjudication.pk,
        "unit": adjudication.unit.key,
        "state": adjudication.get_state_display(),
        "withdrawn": adjudication.state == Adjudication.State.WITHDRAWN,
        "to": adjudication.adjudicator.get_username(),
        "by": adjudication.sent_by.get_username() if adjudication.sent_by else "–",
        "at": adjudication.decided_at or adjudication.sent_at,
        "votes": _describe_votes(adjudication.votes),
        "value": _describe_decision(adjudication),
        "reason": adjudication.reason,
    }


def _describe_decision(adjudication: Adjudication) -> str:
    kind, value = kind_of(adjudication.study), adjudication.value
    if value is None:
        return "–"
    if kind.two_sided:
        return f"{value} ({SIDE_LABELS[int(value)]})"
    labels = {choice.value: choice.text for choice in kind.choices}
    return f"{value} ({labels[value].lower()})" if value in labels else str(value)


add_operation(send_units, label="Send to an adjudicator", fields=(), leads_to=lambda study: "disputes")

add_operation(withdraw, label="Withdraw", fields=(), leads_to=lambda study: "disputes")


@study_page("known", order=31, under="controls")
def show_known(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    kind = context["kind"]
    page = Paginator(_offered_items(request, study), ON_A_PAGE).get_page(request.GET.get("page"))
    rows = []
    for consensus in page.object_list:
        candidate = candidate_of(kind, consensus)
        if candidate is not None and consensus.unit is not None:
            unit = consensus.unit
            unit.expected = candidate.expected
            rows.append({"consensus": consensus, "unit": unit, "shown": describe_control_item(kind, unit)})
    context |= {
        "page": page,
        "rows": rows,
        "known": study.design.get("controls", {}).get("known", []),
        "may_take": context["may_change"] and study.state == Study.State.DRAFT,
    }
    return TemplateResponse(request, "evaluation/study_known.html", context)


def _offered_items(request: HttpRequest, study: Study) -> QuerySet[Consensus]:
    return units_for_known_items(study).filter(
        study__in=Study.objects.visible_to(request.user).order_by().values("pk")
    )


def _take_items(request: HttpRequest, study: Study) -> HttpResponse:
    chosen = read_posted_parameters(request, TakeRequest)["chosen"]
    chosen = list(_offered_items(request, study).filter(pk__in=chosen).values_list("pk", flat=True))
    new = take_known_items(study=study, chosen=chosen)
    messages.success(
        request,
        ngettext("%(n)s known item added to the design.", "%(n)s known items added to the design.", new)
        % {"n": new},
    )
    return redirect(page_address(study, "known"))


add_step(StudyStep(name="take-known", label="Take known items", run=_take_items))

# On the dashboard, and on the page of an error analysis, which lie below this room.
add_operation(
    reopen, name="reopen-units", label="Re-open items", fields=("units", "votes", "why"), needed=("units",)
)

add_operation(next_batch, label="Make the next batch from these", leads_away="change", beside=False)

# On results and dashboard, which lie below this room.
add_operation(more_items, label="Order new items", leads_away="change", beside=False)
