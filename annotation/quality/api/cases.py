"""Flags, exclusions, and decisions on work, over HTTP.

The views of this module serve several operations each; ``config.api.urls`` gives each address its operation.
"""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers

from annotation.api import bodies
from annotation.models import Case, Exclusion
from annotation.quality import operations
from judgments.api.filters import TrueOrFalse, filters_of, study_filter
from judgments.api.operations import OperationView, row_action
from judgments.api.resources import Related, Resource, RowSerializer

DECIDED_RESPONSE = {
    409: OpenApiResponse(bodies.Problem, description="The flag was already decided; nothing was changed.")
}

PROBLEMS = {400: bodies.Problem, 404: bodies.Problem, 409: bodies.CONFLICT_RESPONSE}


class ExclusionSerializer(RowSerializer[Exclusion]):
    """An exclusion: a worker whose answers in a study are not used."""

    study = Related("study.slug")
    worker = Related("worker.name")
    evidence = serializers.DictField(read_only=True, help_text="Numbers and settings of the finding, if any.")
    made_by = Related("made_by.username", optional=True)
    lifted_by = Related("lifted_by.username", optional=True)

    class Meta:
        model = Exclusion
        fields = [
            "id", "study", "worker", "rule", "why", "evidence", "made_by", "made_at", "lifted_by",
            "lifted_at", "lifted_why",
        ]  # fmt: skip


class ExclusionResource(Resource):
    """Exclusions, including lifted ones."""

    read_permission, scope = "annotation.view_exclusion", "workers"
    queryset = Exclusion.objects.select_related("study", "worker", "made_by", "lifted_by")
    serializer_class = ExclusionSerializer
    filterset_class = filters_of(
        Exclusion,
        "rule",
        study=study_filter(),
        worker="worker__name",
        lifted=TrueOrFalse(field_name="lifted_at", lookup_expr="isnull", exclude=True),
    )


class CaseSerializer(RowSerializer[Case]):
    """A flag: what a detector found about a worker."""

    study = Related("study.slug")
    worker = Related("worker.name")
    evidence = serializers.DictField(read_only=True, help_text="Numbers and settings behind the finding.")
    decided_by = Related("decided_by.username", optional=True)

    class Meta:
        model = Case
        fields = [
            "id", "study", "worker", "rule", "action", "evidence", "answers", "state", "opened_at",
            "decided_by", "decided_at", "decision",
        ]  # fmt: skip


class CaseResource(Resource):
    """The flags of detectors, and the decisions on them."""

    read_permission, scope = "annotation.view_case", "workers"
    queryset = Case.objects.select_related("study", "worker", "decided_by")
    serializer_class = CaseSerializer
    filterset_class = filters_of(Case, "rule", "state", study=study_filter(), worker="worker__name")

    # POST /api/cases/{id}/confirm/ and /api/cases/{id}/dismiss/
    confirm = row_action(operations.confirm_case, "confirm", reply=CaseSerializer, responses=DECIDED_RESPONSE)
    dismiss = row_action(operations.dismiss_case, "dismiss", reply=CaseSerializer, responses=DECIDED_RESPONSE)


class ChangedReply(bodies.Schema):
    """The number of assignments that changed. Others had the requested state before."""

    changed = serializers.IntegerField()


class ChangedView(OperationView):
    """A view of an operation that responds with the number of changes."""

    reply = ChangedReply
    responses: ClassVar[dict[Any, Any]] = {200: ChangedReply, **PROBLEMS}


class ExclusionView(OperationView):
    """A view of an operation that responds with the exclusion."""

    reply = ExclusionSerializer
    responses: ClassVar[dict[Any, Any]] = {200: ExclusionSerializer, **PROBLEMS}
