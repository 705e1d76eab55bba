"""Imported scores over HTTP: GET and POST /api/datasets/{name}/scores/."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from contrib.score_imports.parameters import ImportScoresRequest, pop_mapping
from contrib.score_imports.reading import read_score_rows, score_records
from contrib.score_imports.rows import check_names
from contrib.score_imports.storing import store_metric_scores
from evaluation.data.imported_scores import signature_of
from evaluation.models import ImportedMetric
from judgments.access.dataset_roles import require_editor
from judgments.access.permissions import staff_of
from judgments.api.resources import Related, RowSerializer, dataset_for
from judgments.importers.records.record import Record
from judgments.models import Dataset

BODY_PATH = Path("rows")  # stands in error messages in place of a file's name


class SentScores(ImportScoresRequest):
    """Scores as JSON objects, whose members are named like the columns of a file."""

    rows = serializers.ListField(
        child=serializers.DictField(),
        min_length=1,
        help_text="Objects, each about a caption (`image` with `caption`, `caption_id` or `system`), a pair (`image`, "
        "`first`, `second`) or a system (`system`). The score is in `score` or, with several metrics, in a member of "
        "the metric's name.",
    )


class ImportedMetricSerializer(RowSerializer[ImportedMetric]):
    """A metric whose scores were imported."""

    dataset = Related("dataset.name")
    signature = serializers.SerializerMethodField(
        help_text="Signature that reports show with values of this metric: its name, what is scored, which scores are "
        "better, the hash and the file."
    )

    class Meta:
        model = ImportedMetric
        fields = ["name", "dataset", "per", "better", "known", "source", "sha256", "signature", "imported_at"]

    def get_signature(self, metric: Any) -> str:
        """Return the name, what is scored, which scores are better, the hash, and the file."""
        return signature_of(metric)


class DatasetScoresView(APIView):
    """GET and POST /api/datasets/{name}/scores/"""

    scope: ClassVar[str] = "reports"

    @extend_schema(
        responses={
            200: ImportedMetricSerializer(many=True),
            404: OpenApiResponse(description="No such dataset that you may read."),
        },
        operation_id="datasets_scores",
        summary="Metrics whose scores were imported",
    )
    def get(self, request: Request, name: str) -> Response:
        """List the imported metrics of a dataset, sorted by name. Scores themselves are in exports of evaluations."""
        return Response(_serialize_metrics(dataset_for(request, name)))

    @extend_schema(
        request=SentScores,
        responses={
            201: ImportedMetricSerializer(many=True),
            404: OpenApiResponse(description="No such dataset that you may read."),
            409: OpenApiResponse(
                description="The metric has other scores, or you are no editor of the dataset."
            ),
        },
        operation_id="datasets_import_scores",
        summary="Import scores of metrics",
    )
    def post(self, request: Request, name: str) -> Response:
        """Store scores of captions, systems or pairs, all or none.

        The body can have 2.5 MB; the command imports larger files.
        """
        dataset = dataset_for(request, name)
        user = require_editor(staff_of(request), dataset)
        values = SentScores.read(request.data)
        metrics, rows = values.pop("metric", []), values.pop("rows")
        if not metrics:
            raise serializers.ValidationError({"metric": ["Expected the name of a metric."]})
        check_names(metrics)

        def read_body(*_: Any) -> Iterator[Record]:  # called like a reader of files
            return (Record(BODY_PATH, None, row, path=f"[{index}]") for index, row in enumerate(rows))

        records = score_records(read_body, BODY_PATH, metrics, pop_mapping(values, BODY_PATH))
        scores = read_score_rows(records, BODY_PATH, metrics)
        store_metric_scores(dataset=dataset, files=[scores], by=user, **values)
        return Response(_serialize_metrics(dataset), status=201)


def _serialize_metrics(dataset: Dataset) -> Any:
    metrics = ImportedMetric.objects.filter(dataset=dataset).defer("scores").select_related("dataset")
    return ImportedMetricSerializer(metrics, many=True).data
