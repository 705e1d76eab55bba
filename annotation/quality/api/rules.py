"""Read and change the detectors of studies over HTTP."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api import bodies
from annotation.models import QualityRule
from judgments.api.filters import filters_of, study_filter
from judgments.api.operations import OperationView
from judgments.api.resources import Related, Resource, RowSerializer


class RuleSerializer(RowSerializer[QualityRule]):
    """A detector of a study."""

    study = Related("study.slug")
    settings = serializers.DictField(read_only=True, help_text="Settings that differ from the defaults.")
    changed_by = Related("changed_by.username", optional=True)

    class Meta:
        model = QualityRule
        fields = ["id", "study", "rule", "action", "enabled", "settings", "changed_by", "changed_at"]


class RuleResource(Resource):
    """The detectors that watch studies; their findings are in ``cases``."""

    read_permission, scope = "annotation.view_qualityrule", "workers"
    queryset = QualityRule.objects.select_related("study", "changed_by")
    serializer_class = RuleSerializer
    filterset_class = filters_of(QualityRule, "rule", "action", "enabled", study=study_filter())


class RuleView(OperationView):
    """Change a detector: PUT /api/studies/{slug}/rules/{rule}/."""

    method = "put"
    http_method_names = ["put", "options"]
    reply = RuleSerializer
    responses: ClassVar[dict[Any, Any]] = {200: RuleSerializer, 404: bodies.Problem, 409: bodies.Problem}

    def put(self, request: Request, slug: str, rule: str) -> Response:
        return self.do(request, slug, rule=rule)
