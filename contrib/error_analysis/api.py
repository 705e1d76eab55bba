"""The calls that list where a metric and people disagree, and return a single pair or text."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.amounts import as_json
from common.errors import ObjectNotFound
from contrib.error_analysis.disagreements import MetricDisagreement, ScoresByMetric, disagreements_at
from contrib.error_analysis.inspection import Inspection, all_metric_scores, read_inspection
from contrib.error_analysis.stored_rankings import find_disagreements, newest_evaluation
from evaluation.models import Analysis
from judgments.access.permissions import study_for
from judgments.admin.addresses import picture_address
from judgments.api.paging import MAX_PAGE_SIZE, link_with_cursor, page_size_of, read_cursor
from judgments.models import Study

NOT_EVALUATED = OpenApiResponse(description="No such study, metric or pair, or nothing was evaluated yet.")


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
    picture = serializers.CharField(allow_blank=True, help_text="Address of the image's picture.")


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


class InspectionSerializer(serializers.Serializer[Any]):
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


def _require_evaluation(study: Study) -> Analysis:
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
            OpenApiParameter(
                "metric", str, description="One that was evaluated; the last of them unless told."
            ),
            OpenApiParameter("kind", str, description="HC, HI, HM or MM alone."),
            OpenApiParameter("cursor", str, description="From `next` or `previous` of another page."),
            OpenApiParameter(
                "page_size",
                {"type": "integer", "minimum": 1, "maximum": MAX_PAGE_SIZE},
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
        analysis = _require_evaluation(study)
        metrics = list(analysis.result["metrics"])
        metric = query.get("metric", metrics[-1])
        ranked = find_disagreements(study, analysis, metric)
        positions = ranked.of_kind(query.get("kind", ""))
        size = page_size_of(request)
        list_id = f"{analysis.pk} {metric} {query.get('kind', '')} {len(positions)}"
        start = _page_start(query.get("cursor"), list_id)
        end = start + size
        next_link = link_with_cursor(request, [end, list_id]) if end < len(positions) else None
        previous_link = link_with_cursor(request, [max(0, start - size), list_id]) if start else None
        disagreements = disagreements_at(study, analysis, ranked, positions[start:end])
        return Response(
            {
                "next": next_link,
                "previous": previous_link,
                "metric": metric,
                "metrics": metrics,
                "compared": ranked.ranking.compared,
                "results": [_disagreement_as_json(disagreement) for disagreement in disagreements],
            }
        )


def _disagreement_as_json(disagreement: MetricDisagreement) -> dict[str, Any]:
    """Return a disagreement as ``DisagreementSerializer`` describes it."""
    judged_row, consensus = disagreement.row, disagreement.consensus
    second = getattr(judged_row, "second", None)
    disagreement_json: dict[str, Any] = as_json(
        {
            "id": judged_row.key,
            "kind": judged_row.kind,
            "image": judged_row.item.name,
            "picture": picture_address(judged_row.item),
            "captions": [judged_row.first.text] + ([second.text] if second is not None else []),
            "value": consensus.value if consensus else None,
            "n": consensus.n if consensus else 0,
            "votes": consensus.votes if consensus else {},
            "people": disagreement.people,
            "metric": disagreement.metric,
            "size": disagreement.size,
            "scores": _scores_by_metric(disagreement.scores),
        }
    )
    return disagreement_json


def _scores_by_metric(scores: ScoresByMetric) -> dict[str, list[float]]:
    """Return one score for a caption, or two for a pair, by metric."""
    return {name: [score for score in pair if score is not None] for name, pair in scores.items()}


def _page_start(cursor: str | None, list_id: str) -> int:
    """Return the index of the first row of a page, which a cursor states: ``[START, LIST_ID]``.

    Raise ValidationError if the cursor was made for another list.
    """
    if cursor is None:
        return 0
    try:
        start, cursor_list_id = read_cursor(cursor)
        if cursor_list_id == list_id and type(start) is int and start >= 0:
            return start
    except (ValueError, TypeError):
        pass
    raise ValidationError({"cursor": ["is none of this list as it is now; start without one."]})


class InspectionView(APIView):
    """GET /api/studies/{slug}/disagreements/{key}/"""

    scope: ClassVar[str] = "reports"

    @extend_schema(
        responses={200: InspectionSerializer, 404: NOT_EVALUATED},
        operation_id="studies_closer",
        summary="One pair from all sides",
    )
    def get(self, request: Request, slug: str, key: str) -> Response:
        """Return any candidate pair or judged caption of the study, with people's votes and each metric's scores.

        The metric and people need not disagree about it.
        """
        study = study_for(request, slug)
        inspection = read_inspection(study, key)
        analysis = newest_evaluation(study)
        body = {
            "id": inspection.key,
            "kind": inspection.kind,
            "image": inspection.item.name,
            "captions": [caption.text for caption in inspection.captions],
            "references": list(inspection.references),
            "value": inspection.consensus.value if inspection.consensus else None,
            "n": inspection.consensus.n if inspection.consensus else 0,
            "votes": _votes_as_json(inspection),
            "scores": _scores_by_metric(all_metric_scores(analysis, inspection)) if analysis else {},
        }
        return Response(as_json(body))


def _votes_as_json(inspection: Inspection) -> list[dict[str, Any]]:
    answers = []
    for unit, votes in inspection.votes:
        reference = unit.reference.text if unit.reference else None
        for vote in votes:
            answers.append(
                {
                    "unit": unit.key,
                    "reference": reference,
                    "worker": vote.worker,
                    "value": vote.value,
                    "used": vote.used,
                }
            )
    return answers
