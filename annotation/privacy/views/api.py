"""The HTTP interface of consent texts and erasures, for participants and for staff."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.api.bodies import Problem, Schema
from annotation.api.work import WorkView, calling_worker, private_response, worker_call
from annotation.models import ConsentVersion, Erasure, ErasureRequest, Worker
from annotation.privacy.consent import consent_version, record_agreement
from annotation.privacy.erasure_requests import request_erasure
from annotation.privacy.operations import WORKER_HELP
from annotation.privacy.people import find_person
from annotation.privacy.preview import preview_erasure
from annotation.work.joining import require_participation
from common.errors import ObjectNotFound, WrongState
from common.parameters import Parameters
from judgments.access.permissions import study_for
from judgments.access.rights import Right
from judgments.api.filters import filters_of, study_filter
from judgments.api.operations import OperationView
from judgments.api.resources import Related, Resource, RowSerializer
from judgments.studies.designs import design_of
from judgments.studies.studies import find_study


class ConsentReply(Schema):
    """The consent text in force, and whether this worker agreed to it."""

    text = serializers.CharField(help_text="Text in Markdown, in the language of the study.")
    translations = serializers.DictField(child=serializers.CharField(), help_text="Text by language.")
    version = serializers.CharField(help_text="Hash of the text; empty if consent is not asked for.")
    agreed = serializers.BooleanField(help_text="Whether the participant agreed to this version.")


class AgreeRequest(Parameters):
    """The version of the consent text that the worker read."""

    version = serializers.CharField(max_length=16)


class ConsentView(WorkView):
    """The consent text in force, for a participant."""

    worker_methods = ("GET", "POST")

    @worker_call("studies_consent", "Read the consent text", {200: ConsentReply, 403: Problem, 404: Problem})
    def get(self, request: Request, slug: str) -> Response:
        """Return the consent text in force."""
        return private_response(self._consent_json(slug, calling_worker(request)))

    @worker_call(
        "studies_agree",
        "Agree to the consent text",
        {
            200: ConsentReply,
            404: Problem,
            409: OpenApiResponse(Problem, description="The consent text was changed since it was read."),
        },
        request=AgreeRequest,
    )
    def post(self, request: Request, slug: str) -> Response:
        """Agree to the consent text that was read. Repeating changes nothing."""
        worker = calling_worker(request)
        study = find_study(slug)
        version = AgreeRequest.read(request.data)["version"]
        require_participation(study=study, worker=worker)
        if version != consent_version(design_of(study)):
            raise WrongState("Nothing was changed: the text has another version now; read it again.")
        record_agreement(study=study, worker=worker)
        return private_response(self._consent_json(slug, worker))

    def _consent_json(self, slug: str, worker: Worker) -> dict[str, Any]:
        study = find_study(slug)
        participation = require_participation(study=study, worker=worker)
        design = design_of(study)
        version = consent_version(design)
        return {
            "text": design.consent,
            "translations": {
                code: texts.consent for code, texts in design.translations.items() if texts.consent
            },
            "version": version,
            "agreed": participation.consent_version == version,
        }


class LeaveReply(Schema):
    """The result of leaving a study."""

    state = serializers.ChoiceField(
        choices=["erased", "waiting"],
        help_text="“erased”: it is done; “waiting”: the researchers must decide on the request.",
    )
    receipt = serializers.CharField(
        required=False,
        help_text="Only if the state is “erased”: a code, shown only once, which proves which rows of published "
        "releases came from the participant.",
    )


class LeaveView(WorkView):
    """The call by which a participant leaves a study."""

    @worker_call(
        "studies_leave",
        "Leave a study and be erased",
        {
            200: LeaveReply,
            404: Problem,
            409: OpenApiResponse(Problem, description="The study does not offer this."),
        },
    )
    def post(self, request: Request, slug: str) -> Response:
        """Erase the worker at once or store their request, as the study's design says."""
        result = request_erasure(study=find_study(slug), worker=calling_worker(request))
        if isinstance(result, ErasureRequest):
            return private_response({"state": "waiting"})
        return private_response({"state": "erased", "receipt": result.receipt})


class ErasedReply(serializers.Serializer[Any]):
    """The result of erasing a person."""

    already = serializers.BooleanField(
        source="was_erased_before", help_text="Whether the person was erased before, so that nothing changed."
    )
    receipt = serializers.CharField(
        help_text="Code, shown only once, which proves which rows of published releases came from the person. Empty if "
        "nothing changed."
    )
    digest = serializers.CharField(source="erasure.digest", help_text="Hash of the record of the erasure.")
    at = serializers.DateTimeField(source="erasure.at", help_text="Time of the erasure.")


class EraseView(OperationView):
    """The operation that erases a person, with a documented reply."""

    reply = ErasedReply
    responses: ClassVar[dict[Any, Any]] = {
        200: ErasedReply,
        404: OpenApiResponse(description="The study has no participant of this name."),
        409: OpenApiResponse(description="The person cannot be erased yet, for example before payment."),
    }


class Count(serializers.Serializer[Any]):
    """The number of rows of one sort."""

    what = serializers.CharField(help_text="Sort of rows, in words.")
    count = serializers.IntegerField()


class ErasurePreviewReply(serializers.Serializer[Any]):
    """A preview of an erasure: the rows that it would remove and keep."""

    removed = Count(many=True)
    kept = Count(many=True)
    elsewhere = serializers.BooleanField(help_text="Whether the person takes part in other studies, too.")
    waits = serializers.CharField(help_text="Why the person cannot be erased now; empty if they can.")


class ErasurePreviewView(APIView):
    """The preview of an erasure, for owners of the study."""

    scope = "workers"

    @extend_schema(
        parameters=[
            OpenApiParameter("worker", str, required=True, description=WORKER_HELP),
            OpenApiParameter(
                "way",
                str,
                enum=Erasure.Extent.values,
                description="identity (the default): identity and written texts are erased; all: all answers, too.",
            ),
        ],
        responses=ErasurePreviewReply,
        operation_id="studies_erase_person_preview",
        summary="What an erasure would do",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Count the rows that would be deleted and kept if a person were erased."""
        study = study_for(request, slug, Right.OWN)
        way = request.query_params.get("way", Erasure.Extent.IDENTITY)
        if way not in Erasure.Extent.values:
            raise WrongState(f"way is {way[:40]!r}; expected one of {', '.join(Erasure.Extent.values)}.")
        worker = find_person(study, request.query_params.get("worker", ""))
        if worker is None:
            raise ObjectNotFound("The person was erased already.")
        preview = preview_erasure(study=study, worker=worker, way=way)
        return Response(
            {
                "removed": [{"what": label, "count": count} for label, count in preview.removed],
                "kept": [{"what": label, "count": count} for label, count in preview.kept],
                "elsewhere": preview.is_in_another_study,
                "waits": preview.refusal,
            }
        )


class ErasureSerializer(RowSerializer[Erasure]):
    """The record of an erasure. It names nobody. ``digest`` is its hash, ``previous`` that of the record before it."""

    study = Related("study.slug")
    content = serializers.DictField(
        read_only=True,
        help_text="Counts of removed rows, keyed hashes of the judgments (commitments), and earlier releases.",
    )

    class Meta:
        model = Erasure
        fields = ["id", "study", "way", "content", "previous", "digest", "at"]


class ErasureResource(Resource):
    """The records of erasures, which form a chain of hashes."""

    scope = "workers"
    queryset = Erasure.objects.select_related("study")
    serializer_class = ErasureSerializer
    filterset_class = filters_of(Erasure, "way", study=study_filter())


class ErasureRequestSerializer(RowSerializer[ErasureRequest]):
    """A participant's request to be erased."""

    study = Related("study.slug")
    worker = Related("worker.name")

    class Meta:
        model = ErasureRequest
        fields = ["id", "study", "worker", "state", "asked_at", "answer", "decided_at"]


class ErasureRequestResource(Resource):
    """Requests to be erased that are waiting or were declined."""

    read_permission, scope = "annotation.view_erasurerequest", "workers"
    queryset = ErasureRequest.objects.select_related("study", "worker")
    serializer_class = ErasureRequestSerializer
    filterset_class = filters_of(ErasureRequest, "state", study=study_filter())


class ConsentVersionSerializer(RowSerializer[ConsentVersion]):
    """A version of a consent text. Participations and assignments name its ``version``."""

    study = Related("study.slug")
    translations = serializers.DictField(read_only=True, help_text="Text by language.")

    class Meta:
        model = ConsentVersion
        fields = ["id", "study", "number", "version", "text", "translations", "why", "since"]


class ConsentVersionResource(Resource):
    """The versions of studies' consent texts."""

    queryset = ConsentVersion.objects.select_related("study")
    serializer_class = ConsentVersionSerializer
    filterset_class = filters_of(ConsentVersion, "number", "version", study=study_filter())
