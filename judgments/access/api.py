"""The log of studies, and who has which role in them."""

from __future__ import annotations

from rest_framework import serializers

from judgments.api.resources import Related, Resource, RowSerializer, filters_of, study_filter
from judgments.models import StudyEvent, StudyRole


class EventSerializer(RowSerializer[StudyEvent]):
    """An entry of a study's log."""

    study = Related("slug")
    details = serializers.DictField(read_only=True)
    by = Related("by.username", optional=True)

    class Meta:
        model = StudyEvent
        fields = ["id", "study", "what", "words", "why", "details", "by", "at"]


class EventResource(Resource):
    """Who did what to a study, when and why; nothing in it is ever changed."""

    queryset = StudyEvent.objects.select_related("by")
    serializer_class = EventSerializer
    filterset_class = filters_of(StudyEvent, "what", study="slug", by="by__username")
    orderings = {"id": "pk", "at": "at"}


class RoleSerializer(RowSerializer[StudyRole]):
    """A person's part in a study."""

    study = Related("study.slug")
    user = Related("user.username")
    given_by = Related("given_by.username", optional=True)

    class Meta:
        model = StudyRole
        fields = ["id", "study", "user", "role", "given_by", "given_at"]


class RoleResource(Resource):
    """Who may do what with a study."""

    queryset = StudyRole.objects.select_related("study", "user", "given_by")
    serializer_class = RoleSerializer
    filterset_class = filters_of(StudyRole, "role", study=study_filter(), user="user__username")
