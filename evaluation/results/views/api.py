"""Results over HTTP: the consensus, and the newest agreement and evaluation of a study."""

from __future__ import annotations

from typing import Any, ClassVar

import django_filters as filters
from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.errors import ObjectNotFound
from evaluation.models import Analysis, Consensus
from judgments.access.permissions import study_for
from judgments.api.filters import filters_of, study_filter
from judgments.api.resources import Related, Resource, RowSerializer
from judgments.kinds import KINDS


class ConsensusSerializer(RowSerializer[Consensus]):
    """The consensus on a unit or on a candidate pair. The other of the two fields `unit` and `pair` is null.

    `share` is the winner's share of the votes or, for relevance, the share of yes. `margin` is the winner's lead over
    the second, as a share of the votes. Both are null without used judgments, and for protocols without winners.
    """

    study = Related("study.slug")
    unit = Related("unit.key", optional=True)
    pair = Related("pair.key", optional=True)
    kind = serializers.SerializerMethodField()
    answer = serializers.SerializerMethodField()
    votes = serializers.DictField(
        child=serializers.IntegerField(),
        read_only=True,
        help_text="Number of judgments with each answer. For a pair: wins, losses and ties.",
    )

    class Meta:
        model = Consensus
        fields = [
            *("id", "study", "unit", "pair", "kind", "source", "n", "value", "answer"),
            *("share", "margin", "tie", "votes"),
        ]

    @extend_schema_field(OpenApiTypes.ANY)
    def get_answer(self, row: Any) -> Any:
        """The consensus on open answers, in the form of export files.

        For other kinds, further data on the consensus.
        """
        kind = KINDS[row.study.protocol]
        if row.answer is None or not kind.is_open:
            return row.answer
        return kind.exchange.to_file(row.answer, content=row.unit.content)

    def get_kind(self, row: Any) -> str | None:
        """The kind of the pair: HC, HI, HM or MM. Null if there are no pairs."""
        return (row.pair or row.unit).kind or None


def _filter_by_subject(rows: QuerySet[Consensus], name: str, value: str) -> QuerySet[Consensus]:
    return rows.filter(pair=None) if value == "units" else rows.filter(unit=None)


class ConsensusResource(Resource):
    """The consensus on each unit or pair, as of the last aggregation."""

    scope = "reports"
    queryset = Consensus.objects.select_related("study", "unit", "pair")
    serializer_class = ConsensusSerializer
    filterset_class = filters_of(
        Consensus,
        "source",
        "tie",
        study=study_filter(),
        unit="unit__key",
        pair="pair__key",
        of=filters.ChoiceFilter(
            choices=[("units", "units"), ("pairs", "pairs")],
            method=_filter_by_subject,
            label="Consensus on units or on pairs",
        ),
    )


class NewestAnalysisView(APIView):
    """Base class of views of a study's newest analysis of one kind."""

    scope: ClassVar[str] = "reports"
    analysis_kind: ClassVar[Analysis.Kind]

    def newest_analysis(self, request: Request, slug: str) -> Response:
        study = study_for(request, slug)
        analysis = Analysis.objects.newest(study, self.analysis_kind)
        if analysis is None:
            raise ObjectNotFound(f"Nothing of this sort was computed for study {study.slug!r} yet.")
        names = ("settings", "signature", "data_hash", "created_at", "result")
        return Response({name: getattr(analysis, name) for name in names})


def describe_newest_analysis(name: str, summary: str) -> Any:
    """Return a decorator that describes a call in the OpenAPI schema. ``name`` is its operation id."""
    responses = {
        (200, "application/json"): OpenApiTypes.OBJECT,
        404: OpenApiResponse(description="Not computed yet."),
    }
    return extend_schema(responses=responses, operation_id=name, summary=summary)


class AgreementView(NewestAnalysisView):
    """The newest agreement of a study: GET /api/studies/{slug}/agreement/."""

    analysis_kind = Analysis.Kind.AGGREGATION

    @describe_newest_analysis("studies_agreement", "The newest agreement and quality of participants")
    def get(self, request: Request, slug: str) -> Response:
        """Return the result of the last ``aggregate``, with its settings and the hash of its judgments."""
        return self.newest_analysis(request, slug)


class EvaluationView(NewestAnalysisView):
    """The newest evaluation of a study: GET /api/studies/{slug}/evaluation/."""

    analysis_kind = Analysis.Kind.META_EVALUATION

    @describe_newest_analysis("studies_evaluation", "The newest comparison of metrics with people")
    def get(self, request: Request, slug: str) -> Response:
        """Return the result of the last ``evaluate``, with its settings and the hash of its judgments."""
        return self.newest_analysis(request, slug)
