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

NOT_EVALUATED = OpenApiResponse(
    description="There is no such study, metric, pair or caption, or no metric has been evaluated."
)


class _JudgedSerializer(serializers.Serializer[Any]):
    """A candidate pair, or a caption of an image, with people's consensus."""

    id = serializers.CharField(help_text="Key of the candidate pair or, for a caption, of its unit.")
    kind = serializers.CharField(
        allow_blank=True, help_text="Kind of the pair: HC, HI, HM or MM; empty if there is none."
    )
    image = serializers.CharField(help_text="Name of the image.")
    captions = serializers.ListField(
        child=serializers.CharField(),
        help_text="The two captions of the pair, or the caption that was judged.",
    )
    value = serializers.FloatField(
        allow_null=True,
        help_text="People's consensus: for a pair, the winner (1 or 2, the position in `captions`); for a caption, the "
        "answer. null if there is none.",
    )
    n = serializers.IntegerField(
        help_text="Number of judgments that the consensus uses; for a pair, number of its units with a winner or a tie."
    )


class DisagreementSerializer(_JudgedSerializer):
    """A candidate pair, or a caption of an image, on which a metric and people disagree."""

    votes = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="Number of judgments with each answer; for a pair, its `wins`, `losses` and `ties`, as counted for "
        "its first caption.",
    )
    people = serializers.FloatField(
        help_text="From 0 to 1. For a pair: confidence that a majority of all people would choose the same winner. For "
        "a caption: share of the compared captions that people rank lower, with half of those that they rank equally."
    )
    metric = serializers.FloatField(
        help_text="From 0 to 1. For a pair: share of the compared pairs whose scores differ less, with half of those "
        "whose scores differ as much. For a caption: share of the compared captions that the metric ranks lower, with "
        "half of those that it ranks equally."
    )
    size = serializers.FloatField(
        help_text="Size of the disagreement, from 0 to 1: for a pair, `people` times `metric`; for a caption, the "
        "distance between `people` and `metric`. The list is sorted by it, largest first."
    )
    scores = serializers.DictField(
        child=serializers.ListField(child=serializers.FloatField(allow_null=True)),
        help_text="By metric: the score of each caption, in the order of `captions`.",
    )
    picture = serializers.CharField(
        allow_blank=True, help_text="Address of the image's picture; empty if there is none."
    )


class DisagreementsSerializer(serializers.Serializer[Any]):
    """A page of the list of disagreements."""

    next = serializers.CharField(
        allow_null=True, help_text="Address of the next page; null on the last page."
    )
    previous = serializers.CharField(
        allow_null=True, help_text="Address of the previous page; null on the first page."
    )
    metric = serializers.CharField(help_text="Name of the metric that is compared with people.")
    metrics = serializers.ListField(
        child=serializers.CharField(), help_text="Names of all metrics that were evaluated."
    )
    compared = serializers.IntegerField(
        help_text="Number of pairs or captions with both a score of the metric and a consensus of people."
    )
    results = DisagreementSerializer(many=True)


class VoteSerializer(serializers.Serializer[Any]):
    """A worker's answer to a unit."""

    unit = serializers.CharField(help_text="Key of the unit.")
    reference = serializers.CharField(
        allow_null=True,
        help_text="Text of the reference with which the unit is shown; null if there is none.",
    )
    worker = serializers.CharField(help_text="Name of the worker.")
    value = serializers.FloatField(
        allow_null=True, help_text="The answer, in the unit's order; null if the answer is not a number."
    )
    used = serializers.BooleanField(help_text="Whether results use the answer.")


class InspectionSerializer(_JudgedSerializer):
    """A candidate pair, or a caption of an image, with people's answers and the metrics' scores."""

    references = serializers.ListField(
        child=serializers.CharField(), help_text="Texts of the references that the metrics use."
    )
    votes = VoteSerializer(
        many=True, help_text="The answers to the units of the pair or the caption, used or not."
    )
    scores = serializers.DictField(
        child=serializers.ListField(child=serializers.FloatField(allow_null=True)),
        help_text="By metric: the score of each caption, in the order of `captions`; empty before an evaluation.",
    )


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
                "metric",
                str,
                description="Name of a metric that was evaluated (default: the last of `metrics`).",
            ),
            OpenApiParameter("kind", str, description="Only pairs of this kind: HC, HI, HM or MM."),
            OpenApiParameter(
                "cursor", str, description="The cursor in the address `next` or `previous` of another page."
            ),
            OpenApiParameter(
                "page_size",
                {"type": "integer", "minimum": 1, "maximum": MAX_PAGE_SIZE},
                description="Number of rows of a page (default: 100).",
            ),
        ],
        responses={200: DisagreementsSerializer, 404: NOT_EVALUATED},
        operation_id="studies_disagreements",
        summary="Where a metric and people disagree",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the disagreements in order of size.

        Pairs on which both the metric and people are certain come first, and captions whose two ranks differ most.
        """
        study = study_for(request, slug)
        query = request.query_params
        for name in query:
            if name not in ("metric", "kind", "cursor", "page_size"):
                raise ValidationError({name: ["is no parameter of this list."]})
        analysis = _require_evaluation(study)
        metrics = list(analysis.result["metrics"])
        metric = query.get("metric", metrics[-1])
        ranked_rows = find_disagreements(study, analysis, metric)
        positions = ranked_rows.of_kind(query.get("kind", ""))
        page_size = page_size_of(request)
        list_id = f"{analysis.pk} {metric} {query.get('kind', '')} {len(positions)}"
        start = _page_start(query.get("cursor"), list_id)
        end = start + page_size
        next_link = link_with_cursor(request, [end, list_id]) if end < len(positions) else None
        previous_link = link_with_cursor(request, [max(0, start - page_size), list_id]) if start else None
        disagreements = disagreements_at(study, analysis, ranked_rows, positions[start:end])
        return Response(
            {
                "next": next_link,
                "previous": previous_link,
                "metric": metric,
                "metrics": metrics,
                "compared": ranked_rows.ranking.compared,
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
    """Return one score for a caption (whose second score is None), or two for a pair, by metric."""
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
    raise ValidationError(
        {"cursor": ["belongs to another list, or the list has changed; start without a cursor."]}
    )


class InspectionView(APIView):
    """GET /api/studies/{slug}/disagreements/{key}/"""

    scope: ClassVar[str] = "reports"

    @extend_schema(
        responses={200: InspectionSerializer, 404: NOT_EVALUATED},
        operation_id="studies_closer",
        summary="One pair or caption with its answers and scores",
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
