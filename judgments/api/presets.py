"""Presets that people of this installation saved."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from judgments.api.bodies import body_of, member
from judgments.api.permissions import staff_of, study_for
from judgments.api.resources import SLUG, Resource
from judgments.models import SavedPreset, Study
from judgments.roles import Right
from judgments.services.presets import delete_preset, rename_preset, save_preset
from judgments.services.studies import design_of


class SavedPresetSerializer(serializers.ModelSerializer[SavedPreset]):
    """A design to begin others with."""

    values = serializers.DictField(read_only=True, help_text="Keys of the study file.")
    made_by = serializers.CharField(source="made_by.username", default=None, allow_null=True, read_only=True)

    class Meta:
        model = SavedPreset
        fields = ["slug", "title", "description", "values", "made_by", "made_at"]
        read_only_fields = fields


class SavePresetRequest(serializers.Serializer[Any]):
    """Whose design to keep, and under which name."""

    study = serializers.CharField()
    slug = serializers.CharField(max_length=80, help_text='Study files name it as preset = "…".')
    title = serializers.CharField(max_length=200)
    description = serializers.CharField(max_length=1000, required=False, allow_blank=True)


class RenamePresetRequest(serializers.Serializer[Any]):
    """Another title and description."""

    title = serializers.CharField(max_length=200, required=False)
    description = serializers.CharField(max_length=1000, required=False, allow_blank=True)


NOT_YOURS = OpenApiResponse(description="Somebody else made it.")


@extend_schema_view(
    create=extend_schema(
        request=SavePresetRequest,
        responses={
            201: SavedPresetSerializer,
            404: OpenApiResponse(description="No such study."),
            409: OpenApiResponse(description="There is one of this name."),
        },
        description="Keeps a study's design without its name, dataset, seed and codes.",
    ),
    partial_update=extend_schema(
        request=RenamePresetRequest,
        responses={200: SavedPresetSerializer, 409: NOT_YOURS},
        description="By its maker. The slug stays: study files name it.",
    ),
    destroy=extend_schema(
        responses={204: None, 409: NOT_YOURS},
        description="By its maker. Studies made from it keep their designs.",
    ),
)
class SavedPresetResource(Resource):
    """Presets of this installation; those that ship are at `presets/`."""

    queryset = SavedPreset.objects.select_related("made_by")
    serializer_class = SavedPresetSerializer
    orderings = {"slug": "slug", "made_at": "made_at"}
    lookup_field, lookup_value_regex = "slug", SLUG

    def rows_for(
        self, queryset: QuerySet[SavedPreset], studies: QuerySet[Study], request: Request
    ) -> QuerySet[SavedPreset]:
        """They belong to no study: whoever may begin studies sees all of them."""
        return queryset if staff_of(request).has_perm("judgments.add_study") else queryset.none()

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Save one."""
        body = body_of(request)
        study = study_for(request, member(body, "study", str), Right.CHANGE)
        made = save_preset(
            design=design_of(study),
            slug=member(body, "slug", str).strip(),
            title=member(body, "title", str),
            description=member(body, "description", str, ""),
            by=staff_of(request),
        )
        place = reverse("api:saved-presets-detail", args=[made.slug], request=request)
        return Response(
            self.get_serializer(made).data, status=status.HTTP_201_CREATED, headers={"Location": place}
        )

    def partial_update(self, request: Request, slug: str) -> Response:
        """Rename."""
        found, body = self.get_object(), body_of(request)
        changed = rename_preset(
            slug=found.slug,
            title=member(body, "title", str, found.title),
            description=member(body, "description", str, found.description),
            by=staff_of(request),
        )
        return Response(self.get_serializer(changed).data)

    def destroy(self, request: Request, slug: str) -> Response:
        """Delete."""
        delete_preset(slug=self.get_object().slug, by=staff_of(request))
        return Response(status=status.HTTP_204_NO_CONTENT)
