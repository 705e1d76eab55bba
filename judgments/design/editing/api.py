"""The API views of designs and presets."""

from __future__ import annotations

import json
from dataclasses import asdict
from hashlib import sha256
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from common.errors import EditConflict
from judgments.access.permissions import IsStaff, staff_of, study_for
from judgments.access.rights import Right
from judgments.api.bodies import TOMLParser, body_of, toml_of
from judgments.api.operations import named_study, with_study
from judgments.api.resources import SLUG, Resource
from judgments.api.studies import DesignSerializer
from judgments.design.reading.checking import make_design
from judgments.design.reading.presets import PRESETS
from judgments.design.reading.study_files import read_toml
from judgments.design.saved_presets import delete_preset, rename_preset
from judgments.design.study_design import StudyDesign
from judgments.models import SavedPreset, Study
from judgments.studies.designs import design_of
from judgments.studies.generation.plans import plan_study
from judgments.studies.operations import RenamePresetRequest, SavePresetRequest, save_preset
from judgments.studies.studies import change_design

IF_MATCH = OpenApiParameter(
    "If-Match", str, OpenApiParameter.HEADER, description="ETag of the design as it was read."
)


class PlanSerializer(serializers.Serializer[Any]):
    """The amounts of a design, counted on a sample that is drawn as when pages of work are generated."""

    units = serializers.IntegerField(help_text="Number of items, without check questions.")
    controls = serializers.IntegerField(help_text="Number of check questions on all pages of work.")
    hits = serializers.IntegerField(help_text="Number of pages of work.")
    judgments = serializers.IntegerField(help_text="Number of answers, those to check questions included.")
    hours = serializers.FloatField(help_text="Expected hours of work of all participants together.")


class PresetSerializer(serializers.Serializer[Any]):
    """A preset that ships with Quorum: a protocol as its paper describes it."""

    name = serializers.CharField()
    title = serializers.CharField()
    source = serializers.CharField(help_text="Paper and section.")  # type: ignore[assignment]  # a member of the reply
    values = serializers.DictField(help_text="Settings of the design, as in a study file.")
    ours = serializers.ListField(
        child=serializers.CharField(), help_text="Keys of `values` that Quorum chose, not the paper."
    )
    suits = serializers.DictField(
        child=serializers.IntegerField(), help_text="Rank by purpose; the lowest is the simplest protocol."
    )
    choose = serializers.CharField(help_text="End of a sentence that begins with “Choose this if”.")


FORBIDDEN_RESPONSE = OpenApiResponse(description="The account did not save it and may not delete studies.")
CHANGED_DESIGN = {
    (200, "application/json"): OpenApiTypes.OBJECT,
    400: OpenApiResponse(description="The design is not valid."),
    409: OpenApiResponse(description="The design is frozen, or the slug is taken."),
    412: OpenApiResponse(description="The design was changed since it was read."),
}


class DesignView(APIView):
    """/api/studies/{slug}/design/"""

    parser_classes = [*APIView.parser_classes, TOMLParser]

    @extend_schema(
        responses={(200, "application/json"): OpenApiTypes.OBJECT},
        operation_id="studies_design",
        summary="A study's design",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the complete study file. To change it, send the ETag of the response in `If-Match`."""
        return _design_response(study_for(request, slug))

    @extend_schema(
        request=DesignSerializer,
        responses=CHANGED_DESIGN,
        parameters=[IF_MATCH],
        operation_id="studies_change_design",
        summary="Replace the design of a draft",
    )
    def put(self, request: Request, slug: str) -> Response:
        """Replace the study file by another one, as JSON or TOML. A new slug changes the study's address."""
        study = study_for(request, slug, Right.CHANGE)
        body = body_of(request)
        toml = toml_of(body)
        design = make_design(body) if toml is None else read_toml(toml)
        return _design_response(_change_study(request, study, design))

    @extend_schema(
        request={"application/json": OpenApiTypes.OBJECT},
        responses=CHANGED_DESIGN,
        parameters=[IF_MATCH],
        operation_id="studies_patch_design",
        summary="Change some keys of a draft's design",
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Change some keys of the study file (RFC 7396). Tables are changed key by key; null restores the default."""
        study = study_for(request, slug, Right.CHANGE)
        design = make_design(_apply_patch(study.design, body_of(request)))
        return _design_response(_change_study(request, study, design))


class PlanView(APIView):
    """/api/studies/{slug}/numbers/"""

    @extend_schema(responses=PlanSerializer, operation_id="studies_numbers", summary="A design's amounts")
    def get(self, request: Request, slug: str) -> Response:
        """Return the numbers of items, check questions, pages of work, judgments and hours that the design gives."""
        study = study_for(request, slug)
        plan = plan_study(design_of(study), study.dataset, maker=study.created_by_id)
        return Response(PlanSerializer(plan).data)


class PresetsView(APIView):
    """/api/presets/"""

    permission_classes = [IsStaff]

    @extend_schema(responses=PresetSerializer(many=True), operation_id="presets_list", summary="All presets")
    def get(self, request: Request) -> Response:
        """Return all presets, each as a complete design. The list has no pages, since presets are few."""
        return Response([{"name": name, **asdict(preset)} for name, preset in PRESETS.items()])


def _etag(design: dict[str, Any]) -> str:
    text = json.dumps(design, sort_keys=True)
    return f'"{sha256(text.encode()).hexdigest()[:32]}"'


def _design_response(study: Study) -> Response:
    return Response(study.design, headers={"ETag": _etag(study.design)})


@transaction.atomic
def _change_study(request: Request, study: Study, design: StudyDesign) -> Study:
    locked_study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    # a client that sends no If-Match replaces the design in any case
    accepted_tags = [tag.strip() for tag in request.headers.get("If-Match", "*").split(",")]
    if "*" not in accepted_tags and _etag(locked_study.design) not in accepted_tags:
        raise EditConflict(
            f"The design of study {study.slug!r} was changed since it was read; read it again."
        )
    return change_design(study=locked_study, design=design, user=staff_of(request))


def _apply_patch(design: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """Return the design with a JSON Merge Patch applied to it (RFC 7396)."""
    result = dict(design)
    for key, value in change.items():
        current_value = result.get(key)
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = _apply_patch(current_value if isinstance(current_value, dict) else {}, value)
        else:
            result[key] = value
    return result


class SavedPresetSerializer(serializers.ModelSerializer[SavedPreset]):
    """A saved preset: a design from which other designs begin."""

    values = serializers.DictField(read_only=True, help_text="Settings of the design, as in a study file.")
    made_by = serializers.CharField(source="made_by.username", default=None, allow_null=True, read_only=True)

    class Meta:
        model = SavedPreset
        fields = ["slug", "title", "description", "values", "made_by", "made_at"]
        read_only_fields = fields


@extend_schema_view(
    create=extend_schema(
        request=with_study(SavePresetRequest),
        responses={
            201: SavedPresetSerializer,
            404: OpenApiResponse(description="No such study."),
            409: OpenApiResponse(description="A preset with this slug exists."),
        },
        description="Save a study's design as a preset, without the study's name, dataset, seed and codes.",
    ),
    partial_update=extend_schema(
        request=RenamePresetRequest,
        responses={200: SavedPresetSerializer, 409: FORBIDDEN_RESPONSE},
        description="Change a preset's title and description. The slug stays, since study files refer to it.",
    ),
    destroy=extend_schema(
        responses={204: None, 409: FORBIDDEN_RESPONSE},
        description="Delete a preset. Studies made from it keep their designs.",
    ),
)
class SavedPresetResource(Resource):
    """Presets that were saved on this installation. The presets that ship with Quorum are at `presets/`."""

    queryset = SavedPreset.objects.select_related("made_by")
    serializer_class = SavedPresetSerializer
    orderings = {"slug": "slug", "made_at": "made_at"}
    lookup_field, lookup_value_regex = "slug", SLUG

    def rows_for(
        self, queryset: QuerySet[SavedPreset], studies: QuerySet[Study], request: Request
    ) -> QuerySet[SavedPreset]:
        """Return all saved presets, which belong to no study, to those who may create studies."""
        return queryset if staff_of(request).has_perm("judgments.add_study") else queryset.none()

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Save a study's design as a preset."""
        study = named_study(request, Right.CHANGE)
        preset = save_preset.run(study, save_preset.read(request.data), by=staff_of(request)).value
        address = reverse("api:saved-presets-detail", args=[preset.slug], request=request)
        return Response(
            self.get_serializer(preset).data, status=status.HTTP_201_CREATED, headers={"Location": address}
        )

    def partial_update(self, request: Request, slug: str) -> Response:
        """Change a preset's title and description."""
        preset = self.get_object()
        changes = {"title": preset.title, "description": preset.description}
        changes |= RenamePresetRequest.read(request.data)
        renamed_preset = rename_preset(slug=preset.slug, by=staff_of(request), **changes)
        return Response(self.get_serializer(renamed_preset).data)

    def destroy(self, request: Request, slug: str) -> Response:
        """Delete a preset."""
        delete_preset(slug=self.get_object().slug, by=staff_of(request))
        return Response(status=status.HTTP_204_NO_CONTENT)
