"""Rows as JSON, with the names of the judgments file (docs/exports.md)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotation.models import Assignment, Judgment, Worker
from judgments.kinds import KINDS


def by_uuid(rows: QuerySet[Assignment], id: str) -> Assignment | None:
    """The row of this id; None too where the text is no id."""
    try:
        return rows.filter(pk=UUID(id)).first()
    except ValueError:
        return None


class WorkerSerializer(serializers.ModelSerializer[Worker]):
    """A worker; ``study`` only for those that a rehearsal or an import made."""

    study = serializers.CharField(source="study.slug", default=None, allow_null=True, read_only=True)

    class Meta:
        model = Worker
        fields = ["id", "name", "source", "study", "anonymous", "created_at"]
        read_only_fields = fields


class AssignmentSerializer(serializers.ModelSerializer[Assignment]):
    """An assignment; its answers are judgments once it is submitted."""

    study = serializers.CharField(source="study.slug", read_only=True)
    hit = serializers.CharField(source="hit.key", default=None, allow_null=True, read_only=True)
    worker = serializers.CharField(source="worker.name", read_only=True)

    class Meta:
        model = Assignment
        fields = [
            *("id", "study", "hit", "worker", "state", "seat", "simulated"),
            *("accepted_at", "expires_at", "submitted_at", "consent_version", "instructions_version"),
        ]
        read_only_fields = fields


class JudgmentSerializer(serializers.ModelSerializer[Judgment]):
    """A judgment as in the judgments file, without ``used``."""

    study = serializers.CharField(source="assignment.study.slug", read_only=True)
    unit = serializers.CharField(source="unit.key", read_only=True)
    protocol = serializers.CharField(source="assignment.study.protocol", read_only=True)
    image = serializers.CharField(source="unit.item.name", read_only=True)
    reference = serializers.CharField(
        source="unit.reference.key", default=None, allow_null=True, read_only=True
    )
    first = serializers.CharField(source="unit.first.key", default=None, allow_null=True, read_only=True)
    second = serializers.CharField(source="unit.second.key", default=None, allow_null=True, read_only=True)
    reference_text = serializers.CharField(
        source="unit.reference.text", default=None, allow_null=True, read_only=True
    )
    first_text = serializers.CharField(
        source="unit.first.text", default=None, allow_null=True, read_only=True
    )
    second_text = serializers.CharField(
        source="unit.second.text", default=None, allow_null=True, read_only=True
    )
    kind = serializers.CharField(source="unit.kind", read_only=True)
    pair = serializers.CharField(source="unit.pair.key", default=None, allow_null=True, read_only=True)
    worker = serializers.CharField(source="assignment.worker.name", read_only=True)
    assignment = serializers.UUIDField(source="assignment_id", read_only=True)
    hit = serializers.CharField(source="assignment.hit.key", default=None, allow_null=True, read_only=True)
    answer = serializers.SerializerMethodField()
    control = serializers.BooleanField(source="unit.control", read_only=True)
    expected = serializers.SerializerMethodField()
    presented = serializers.SerializerMethodField()
    simulated = serializers.BooleanField(source="assignment.simulated", read_only=True)
    accepted_at = serializers.DateTimeField(source="assignment.accepted_at", read_only=True)
    submitted_at = serializers.DateTimeField(source="assignment.submitted_at", read_only=True)

    class Meta:
        model = Judgment
        fields = [
            *("id", "study", "unit", "protocol", "image", "reference", "first", "second", "reference_text"),
            *("first_text", "second_text", "kind", "pair", "worker", "assignment", "hit", "value", "answer"),
            *("control", "expected", "set_aside", "presented", "simulated", "accepted_at", "submitted_at"),
            *("seconds", "wall_seconds", "comment", "signals", "replaces", "made_at"),
        ]
        read_only_fields = fields

    @extend_schema_field(serializers.ChoiceField(choices=Judgment.Presented.choices, allow_null=True))
    def get_presented(self, row: Judgment) -> str | None:
        """Which option stood on the left; null for protocols without sides."""
        return row.presented or None

    @extend_schema_field(OpenApiTypes.ANY)
    def get_answer(self, row: Judgment) -> Any:
        """An open answer as files have it; null where there is a value."""
        return self._told(row, row.answer)

    @extend_schema_field(OpenApiTypes.ANY)
    def get_expected(self, row: Judgment) -> Any:
        """The right answer of a control item."""
        return self._told(row, row.unit.expected)

    def _told(self, row: Judgment, given: Any) -> Any:
        kind = KINDS[row.assignment.study.protocol]
        return None if given is None else kind.exported(given, content=row.unit.content)
