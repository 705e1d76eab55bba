"""The pages "Error analysis" of a study, and error analysis over HTTP."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any, ClassVar
from urllib.parse import urlencode

from django import forms
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from unfold.widgets import UnfoldAdminSelectWidget

from common.amounts import as_json, coefficient, percent, percent_number
from common.errors import ObjectNotFound
from common.incoming.json_documents import load_json
from contrib.error_analysis.disagreements import MetricDisagreement, disagreements_at
from contrib.error_analysis.inspection import Inspection, find_inspection, other_scores
from contrib.error_analysis.stored_rankings import find_disagreements, newest_evaluation
from evaluation.models import Analysis
from evaluation.results.consensus.study import SIDE_LABELS
from judgments.access.permissions import study_for
from judgments.admin.base import picture_address
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.designs import design_of, kind_of
from judgments.studies.pages import Context, StudyPlace, can_be_evaluated
from judgments.studies.study_page import study_page, study_page_address

PAGE_SIZE = 25
DEFAULT_SIZE, MAX_SIZE = 100, 1000
NOT_EVALUATED = OpenApiResponse(description="No such study, metric or pair, or nothing was evaluated yet.")
METRIC_PARAMETER = OpenApiParameter(
    "metric", str, description="One that was evaluated; the last of them unless told."
)
Scores = dict[str, tuple[float, float | None]]


class ErrorAnalysisForm(forms.Form):
    def __init__(self, data: Any, *, metrics: list[str], kinds: list[str]) -> None:
        super().__init__(data)
        self.fields["metric"] = forms.ChoiceField(
            label=_("Metric"), choices=[(name, name) for name in metrics], widget=UnfoldAdminSelectWidget
        )
        if kinds:
            self.fields["kind"] = forms.ChoiceField(
                label=_("Pairs"), required=False, widget=UnfoldAdminSelectWidget,
                choices=[("", _("All kinds")), *((name, name) for name in kinds)],
            )  # fmt: skip


@study_page("closer", "Error analysis", order=52, has_tab=can_be_evaluated, group=StudyPlace.FINDINGS)
def show_disagreements(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    pairs = KINDS[study.protocol].compares_pairs
    analysis = newest_evaluation(study)
    context |= {"analysis": analysis, "compares_pairs": pairs, "on_a_page": PAGE_SIZE}
    if analysis is None:
        return TemplateResponse(request, "evaluation/study_closer.html", context)
    metrics = list(analysis.result["metrics"])
    chosen = request.GET.get("metric", metrics[-1])
    metric = chosen if chosen in metrics else metrics[-1]
    ranked = find_disagreements(study, analysis, metric, wait=False)
    kinds = sorted({kind for kind in ranked.kinds if kind})
    kind = request.GET.get("kind", "") if request.GET.get("kind", "") in kinds else ""
    page = Paginator(ranked.of_kind(kind), PAGE_SIZE).get_page(request.GET.get("page"))
    disagreements = disagreements_at(study, analysis, ranked, list(page.object_list))
    context |= {
        "form": ErrorAnalysisForm(
            {"metric": metric, "kind": kind}, metrics=metrics, kinds=kinds if len(kinds) > 1 else []
        ),
        "metric": metric,
        "page": page,
        "query": "&" + urlencode({"metric": metric, "kind": kind}),
        "compared": ranked.ranking.compared,
        "rows": [_row(study, metric, disagreement) for disagreement in disagreements],
        "can_choose": "next-batch" in context["steps"]
        and KINDS[study.protocol].supports_unit_ids
        and (pairs or study.source == Study.Source.DESIGNED),
    }
    return TemplateResponse(request, "evaluation/study_closer.html", context)


def _row(study: Study, metric: str, disagreement: MetricDisagreement) -> dict[str, Any]:
    pairs = KINDS[study.protocol].compares_pairs
    judged, consensus = disagreement.judged, disagreement.consensus
    texts = [judged.first.text, judged.second.text] if pairs else [judged.first.text]
    value = consensus.value if consensus else None
    scores = sorted(disagreement.scores.items(), key=lambda pair: pair[0] != metric)
    return {
        "key": judged.key,
        "link": f"{study_page_address(study, 'closer-look')}?{urlencode({'id': judged.key, 'metric': metric})}",
        "kind": judged.kind,
        "image": judged.item.name,
        "picture": picture_address(judged.item),
        "texts": [
            (str(number), text, pairs and value == number) for number, text in enumerate(texts, start=1)
        ],
        "people": _describe_people(consensus, pairs),
        "sure": percent(disagreement.people),
        "metric": percent(disagreement.metric),
        "scores": [(name, *side_by_side(first, second)) for name, (first, second) in scores],
    }


def _describe_people(row: Any, pairs: bool) -> str:
    if row is None:
        return _("no consensus")
    if not pairs:
        shown = f"{row.value:.2f}".rstrip("0").rstrip(".") if row.value is not None else "–"
        if row.share is not None:
            return _("%(share)s %% “yes” of %(n)s answers") % {"share": percent_number(row.share), "n": row.n}
        return _("mean %(value)s of %(n)s answers") % {"value": shown, "n": row.n}
    if not row.votes:
        return _("text %(value)s (the winner was published without the votes)") % {
            "value": f"{row.value:.0f}"
        }
    wins, losses = row.votes.get("wins", 0), row.votes.get("losses", 0)
    by = ngettext(
        "text %(value)s, chosen for %(votes)s of %(n)s item",
        "text %(value)s, chosen for %(votes)s of %(n)s references",
        row.n,
    )
    return by % {"value": f"{row.value:.0f}", "votes": max(wins, losses), "n": row.n}


def side_by_side(first: float, second: float | None) -> tuple[str, str]:
    """Format two scores with two digits, or with up to four digits if they would look equal."""
    if second is None:
        return coefficient(first), ""
    shown = [(coefficient(first, digits), coefficient(second, digits)) for digits in (2, 3, 4)]
    return next((both for both in shown if both[0] != both[1]), shown[0])


def _format_score(value: float) -> str:
    return coefficient(value, 3) if not 0 < abs(value) < 0.0005 else "< .001"


@study_page("closer-look", order=53, parent_page="closer")
def show_inspection(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    try:
        inspection = find_inspection(study, request.GET.get("id", "")[:80])
    except ObjectNotFound:
        raise Http404 from None
    analysis = newest_evaluation(study)
    metric = request.GET.get("metric", "")
    context |= {
        "inspection": inspection,
        "picture": picture_address(inspection.item),
        "source": design_of(study).source,
        "captions": [
            (number, caption, inspection.consensus is not None and inspection.consensus.value == number)
            for number, caption in enumerate(inspection.captions, start=1)
        ],
        "compares_pairs": len(inspection.captions) == 2,
        "people": _describe_people(inspection.consensus, len(inspection.captions) == 2),
        "votes": _vote_rows(study, inspection),
        "metrics": _metric_rows(analysis, inspection) if analysis else [],
        "back": f"{study_page_address(study, 'closer')}?{urlencode({'metric': metric})}"
        if metric
        else study_page_address(study, "closer"),
    }
    return TemplateResponse(request, "evaluation/study_closer_one.html", context)


def _vote_rows(study: Study, inspection: Inspection) -> list[dict[str, Any]]:
    kind = kind_of(study)
    labels, two_sided = {choice.value: choice.text for choice in kind.choices}, kind.two_sided

    def word(value: float | None) -> str:
        if value is None:
            return "–"
        if two_sided and kind.outcome_of(int(value)) in (1, 2):
            return _("text %(number)s") % {"number": f"{kind.outcome_of(int(value))}"}
        if two_sided:
            return str(SIDE_LABELS[kind.outcome_of(int(value))])
        return labels.get(int(value), f"{value:g}")

    return [
        {
            "unit": unit.key,
            "reference": unit.reference.text if unit.reference else "",
            "votes": [(vote.worker, word(vote.value), vote.used) for vote in votes],
        }
        for unit, votes in inspection.votes
    ]


def _metric_rows(analysis: Analysis, inspection: Inspection) -> list[dict[str, Any]]:
    rows = []
    value = inspection.consensus.value if inspection.consensus else None
    for name, (first, second) in other_scores(analysis, inspection).items():
        row = {"name": name, "first": _format_score(first), "second": "", "names": ""}
        agrees = None
        if second is not None:
            winner = "1" if first > second else "2"
            row |= {"second": _format_score(second), "names": _("tie") if first == second else winner}
            agrees = row["names"] == f"{value:.0f}" if value is not None else None
        rows.append({**row, "agrees": agrees})
    return rows


class DisagreementSerializer(serializers.Serializer[Any]):
    """A candidate pair, or a caption of an image, on which a metric and people disagree."""

    id = serializers.CharField(help_text="Of the pair, or the unit.")
    kind = serializers.CharField(allow_blank=True)
    image = serializers.CharField()
    captions = serializers.ListField(child=serializers.CharField(), help_text="One or two.")
    value = serializers.FloatField(allow_null=True, help_text="People's consensus.")
    n = serializers.IntegerField(help_text="Behind it.")
    votes = serializers.DictField(child=serializers.IntegerField())
    people = serializers.FloatField(help_text="How sure people are, or where they rank the caption; 0 to 1.")
    metric = serializers.FloatField(
        help_text="How sure the metric is, or where it ranks the caption; 0 to 1."
    )
    size = serializers.FloatField(help_text="How far they are apart, 0 to 1; the list falls by it.")
    scores = serializers.DictField(
        child=serializers.ListField(child=serializers.FloatField(allow_null=True)),
        help_text="Metric -> its score of each caption.",
    )


class DisagreementsSerializer(serializers.Serializer[Any]):
    """A page of the list of disagreements."""

    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    metric = serializers.CharField()
    metrics = serializers.ListField(child=serializers.CharField(), help_text="Those that were evaluated.")
    compared = serializers.IntegerField(help_text="Rows that both say something about.")
    results = DisagreementSerializer(many=True)


class VoteSerializer(serializers.Serializer[Any]):
    """A worker's answer to a unit."""

    unit = serializers.CharField()
    reference = serializers.CharField(allow_null=True)
    worker = serializers.CharField()
    value = serializers.FloatField(allow_null=True)
    used = serializers.BooleanField()


class CloserSerializer(serializers.Serializer[Any]):
    """A candidate pair, or a caption of an image, with people's answers and the metrics' scores."""

    id = serializers.CharField()
    kind = serializers.CharField(allow_blank=True)
    image = serializers.CharField()
    captions = serializers.ListField(child=serializers.CharField())
    references = serializers.ListField(child=serializers.CharField())
    value = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField()
    votes = VoteSerializer(many=True)
    scores = serializers.DictField(child=serializers.ListField(child=serializers.FloatField(allow_null=True)))


def _scores(scores: Scores) -> dict[str, list[float]]:
    return {name: [score for score in pair if score is not None] for name, pair in scores.items()}


def _evaluation(study: Study) -> Analysis:
    analysis = newest_evaluation(study)
    if analysis is None:
        raise ObjectNotFound(
            f"No metric has been compared with people in study {study.slug!r} yet; evaluate it first."
        )
    return analysis


class DisagreementsView(APIView):
    """GET /api/studies/{slug}/disagreements/"""

    scope: ClassVar[str] = "reports"

    @extend_schema(
        parameters=[
            METRIC_PARAMETER,
            OpenApiParameter("kind", str, description="HC, HI, HM or MM alone."),
            OpenApiParameter("cursor", str, description="From `next` or `previous` of another page."),
            OpenApiParameter(
                "page_size",
                {"type": "integer", "minimum": 1, "maximum": MAX_SIZE},
                description="Rows a page.",
            ),
        ],
        responses={200: DisagreementsSerializer, 404: NOT_EVALUATED},
        operation_id="studies_disagreements",
        summary="Where a metric and people disagree",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the disagreements in order of size.

        Those on which both the metric and people are certain come first.
        """
        study = study_for(request, slug)
        query = request.query_params
        for name in query:
            if name not in ("metric", "kind", "cursor", "page_size"):
                raise ValidationError({name: ["is no parameter of this list."]})
        analysis = _evaluation(study)
        metrics = list(analysis.result["metrics"])
        metric = query.get("metric", metrics[-1])
        ranked = find_disagreements(study, analysis, metric)
        positions = ranked.of_kind(query.get("kind", ""))
        size = _page_size(query.get("page_size", str(DEFAULT_SIZE)))
        stamp = f"{analysis.pk} {metric} {query.get('kind', '')} {len(positions)}"
        start = _page_start(query.get("cursor"), stamp)
        rows = disagreements_at(study, analysis, ranked, positions[start : start + size])
        return Response(
            {
                "next": _next_link(request, start + size, stamp) if start + size < len(positions) else None,
                "previous": _next_link(request, max(0, start - size), stamp) if start else None,
                "metric": metric,
                "metrics": metrics,
                "compared": ranked.ranking.compared,
                "results": [_disagreement_json(disagreement) for disagreement in rows],
            }
        )


def _disagreement_json(disagreement: MetricDisagreement) -> dict[str, Any]:
    judged, consensus = disagreement.judged, disagreement.consensus
    second = getattr(judged, "second", None)
    row: dict[str, Any] = as_json(
        {
            "id": judged.key,
            "kind": judged.kind,
            "image": judged.item.name,
            "picture": picture_address(judged.item),
            "captions": [judged.first.text] + ([second.text] if second is not None else []),
            "value": consensus.value if consensus else None,
            "n": consensus.n if consensus else 0,
            "votes": consensus.votes if consensus else {},
            "people": disagreement.people,
            "metric": disagreement.metric,
            "size": disagreement.size,
            "scores": _scores(disagreement.scores),
        }
    )
    return row


def _page_size(text: str) -> int:
    if not text.isdecimal() or len(text) > 6 or not 1 <= int(text) <= MAX_SIZE:
        raise ValidationError({"page_size": [f"must be a whole number from 1 to {MAX_SIZE}."]})
    return int(text)


def _page_start(cursor: str | None, stamp: str) -> int:
    """Return the index of the first row of a page. A cursor is valid only for the results for which it was made."""
    if cursor is None:
        return 0
    try:
        start, of = load_json(urlsafe_b64decode(cursor.encode()))
        if of == stamp and type(start) is int and start >= 0:
            return start
    except (ValueError, TypeError):
        pass
    raise ValidationError({"cursor": ["is none of this list as it is now; start without one."]})


def _next_link(request: Request, start: int, stamp: str) -> str:
    cursor = urlsafe_b64encode(json.dumps([start, stamp]).encode()).decode()
    return request.build_absolute_uri(
        f"{request.path}?{urlencode({**request.query_params.dict(), 'cursor': cursor})}"
    )


class CloserView(APIView):
    """GET /api/studies/{slug}/disagreements/{key}/"""

    scope: ClassVar[str] = "reports"

    @extend_schema(
        responses={200: CloserSerializer, 404: NOT_EVALUATED},
        operation_id="studies_closer",
        summary="One pair from all sides",
    )
    def get(self, request: Request, slug: str, key: str) -> Response:
        """Return any candidate pair or judged caption of the study, with people's votes and what each metric counted.

        The metric and people need not disagree about it.
        """
        study = study_for(request, slug)
        inspection = find_inspection(study, key)
        analysis = newest_evaluation(study)
        body = {
            "id": inspection.key,
            "kind": inspection.kind,
            "image": inspection.item.name,
            "captions": [caption.text for caption in inspection.captions],
            "references": list(inspection.references),
            "value": inspection.consensus.value if inspection.consensus else None,
            "n": inspection.consensus.n if inspection.consensus else 0,
            "votes": _votes(inspection),
            "scores": _scores(other_scores(analysis, inspection)) if analysis else {},
        }
        return Response(as_json(body))


def _votes(inspection: Inspection) -> list[dict[str, Any]]:
    return [
        {
            "unit": unit.key,
            "reference": unit.reference.text if unit.reference else None,
            "worker": vote.worker,
            "value": vote.value,
            "used": vote.used,
        }
        for unit, votes in inspection.votes
        for vote in votes
    ]
