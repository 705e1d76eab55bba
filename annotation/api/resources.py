"""Resources of the API, for staff: workers, their work and captions, and publications, sessions and money at crowds.

Each resource has a serializer for its rows. In a resource, ``read_permission`` is the permission to read all rows,
``scope`` the scope that an API token needs, and ``study_path`` the lookup from a row to its study, by which people with
a role in the study may read the row. ``orderings`` has the fields to order by, by public name.

Most fields have the names of the models. Some have other names, which clients rely on: ``place`` is the platform of a
crowd, and ``seat`` the number of a slot. ``places`` are slots of HITs or sessions; ``over_cents`` is what a crowd took
beyond a budget. The ``door`` of a ledger entry is what it was requested by: a page, the API, a job or a command.
"""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID

from django.db.models import OuterRef, QuerySet, Subquery
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import mixins, serializers
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from annotation.api import bodies
from annotation.api.work import IsWorker, save_draft, worker_call
from annotation.models import (
    Assignment,
    Budget,
    CrowdCall,
    CrowdSession,
    Invitation,
    Judgment,
    LedgerEntry,
    Participation,
    ProblemReport,
    Publication,
    Worker,
    WrittenCaption,
)
from annotation.work.operations import invite
from common.errors import ObjectNotFound
from judgments.access.permissions import IsStaff, VisibleRows
from judgments.api.filters import TrueOrFalse, filters_of, study_filter
from judgments.api.operations import create_action
from judgments.api.resources import Related, Resource, RowSerializer
from judgments.kinds import KINDS


def _find_by_uuid(assignments: QuerySet[Assignment], id: str) -> Assignment | None:
    try:
        return assignments.filter(pk=UUID(id)).first()
    except ValueError:
        return None


class WorkerSerializer(RowSerializer[Worker]):
    """A worker. ``study`` is set only for workers whom a rehearsal or an import created."""

    study = Related("study.slug", optional=True)

    class Meta:
        model = Worker
        fields = ["id", "name", "source", "study", "anonymous", "created_at"]


class AssignmentSerializer(RowSerializer[Assignment]):
    """An assignment. Its answers become judgments when it is submitted."""

    study = Related("study.slug")
    hit = Related("hit.key", optional=True)
    worker = Related("worker.name")
    seat = serializers.IntegerField(source="slot", read_only=True, help_text="Number of the place it takes.")

    class Meta:
        model = Assignment
        fields = [
            "id", "study", "hit", "worker", "state", "seat", "simulated", "accepted_at", "expires_at",
            "submitted_at", "consent_version", "instructions_version",
        ]  # fmt: skip


class JudgmentSerializer(RowSerializer[Judgment]):
    """A judgment with the columns of the judgments file, except ``used``."""

    study = Related("assignment.study.slug")
    unit = Related("unit.key")
    protocol = Related("assignment.study.protocol")
    image = Related("unit.item.name")
    reference = Related("unit.reference.key", optional=True)
    first = Related("unit.first.key", optional=True)
    second = Related("unit.second.key", optional=True)
    reference_text = Related("unit.reference.text", optional=True)
    first_text = Related("unit.first.text", optional=True)
    second_text = Related("unit.second.text", optional=True)
    kind = Related("unit.kind")
    pair = Related("unit.pair.key", optional=True)
    worker = Related("assignment.worker.name")
    assignment = serializers.UUIDField(source="assignment_id", read_only=True)
    hit = Related("assignment.hit.key", optional=True)
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
            "id", "study", "unit", "protocol", "image", "reference", "first", "second", "reference_text",
            "first_text", "second_text", "kind", "pair", "worker", "assignment", "hit", "value", "answer",
            "control", "expected", "set_aside", "presented", "simulated", "accepted_at", "submitted_at",
            "seconds", "wall_seconds", "comment", "signals", "replaces", "made_at",
        ]  # fmt: skip

    @extend_schema_field(serializers.ChoiceField(choices=Judgment.Presented.choices, allow_null=True))
    def get_presented(self, row: Judgment) -> str | None:
        """The option that was shown on the left; null for protocols without sides."""
        return row.presented or None

    @extend_schema_field(OpenApiTypes.ANY)
    def get_answer(self, row: Judgment) -> Any:
        """The answer in the form used in files, if it is not a number; null if the judgment has a value."""
        return self._exported_answer(row, row.answer)

    @extend_schema_field(OpenApiTypes.ANY)
    def get_expected(self, row: Judgment) -> Any:
        """The right answer of a check question; null for other units."""
        return self._exported_answer(row, row.unit.expected)

    def _exported_answer(self, row: Judgment, answer: Any) -> Any:
        kind = KINDS[row.assignment.study.protocol]
        return None if answer is None else kind.exchange.to_file(answer, content=row.unit.content)


ASSIGNMENTS = Assignment.objects.select_related("study", "hit", "worker")


class WorkerResource(Resource):
    """Workers, including those of rehearsals and the raters of imported judgments, without their tokens."""

    read_permission, scope = "annotation.view_worker", "workers"
    study_path = "participations__study"
    has_several_studies = True  # a worker can take part in several
    queryset = Worker.objects.select_related("study")
    serializer_class = WorkerSerializer
    filterset_class = filters_of(
        Worker, "name", "source", "anonymous", study=study_filter(field_name="participations__study")
    )
    orderings = {"id": "pk", "name": "name", "created_at": "created_at"}


class AssignmentResource(mixins.ListModelMixin, GenericViewSet[Assignment]):
    """Workers' assignments of HITs, including returned and expired ones."""

    # This resource only lists; `AssignmentView` reads and saves single assignments, at addresses with a UUID.

    read_permission, scope = "annotation.view_assignment", "judgments"
    study_path = "study"
    queryset = ASSIGNMENTS
    serializer_class = AssignmentSerializer
    filterset_class = filters_of(
        Assignment, "state", "simulated", study=study_filter(), hit="hit__key", worker="worker__name"
    )
    orderings: ClassVar[dict[str, str]] = {"accepted_at": "accepted_at"}


class AssignmentView(APIView):
    """A single assignment: staff read it, and its worker saves answers in it."""

    read_permission, scope = "annotation.view_assignment", "judgments"
    study_path = "study"
    worker_methods = ("PATCH",)  # the methods that a worker's token may use (``IsWorker``)

    def get_permissions(self) -> list[BasePermission]:
        return [IsWorker() if self.request.method == "PATCH" else IsStaff()]

    @extend_schema(
        responses=AssignmentSerializer, operation_id="assignments_retrieve", summary="One assignment"
    )
    def get(self, request: Request, id: str) -> Response:
        """Return the assignment. This call is for staff."""
        assignment = _find_by_uuid(VisibleRows().filter_queryset(request, ASSIGNMENTS, self), id)
        if assignment is None:
            raise ObjectNotFound("There is no such assignment.")
        return Response(AssignmentSerializer(assignment).data)

    @worker_call(
        "assignments_save",
        "Save a partial answer",
        {200: bodies.SavedReply, 400: bodies.Problem, 404: bodies.Problem, 409: bodies.Problem},
        request=bodies.SaveRequest,
    )
    def patch(self, request: Request, id: str) -> Response:
        """Merge answers into the draft. This call is for the worker; repeating it changes nothing."""
        return save_draft(request, id)


class JudgmentResource(Resource):
    """Judgments. Values name the options in the unit's order, whatever side they were shown on.

    Only exports say which judgments the study's rules include.
    """

    read_permission, scope = "annotation.view_judgment", "judgments"
    study_path = "assignment__study"
    queryset = Judgment.objects.select_related(
        "assignment__worker", "assignment__hit", "assignment__study", "unit__item", "unit__reference",
        "unit__first", "unit__second", "unit__pair",
    )  # fmt: skip
    serializer_class = JudgmentSerializer
    filterset_class = filters_of(
        Judgment,
        "assignment",
        "value",
        study=study_filter(field_name="assignment__study"),
        unit="unit__key",
        hit="assignment__hit__key",
        worker="assignment__worker__name",
        control=TrueOrFalse(field_name="unit__control"),
        simulated=TrueOrFalse(field_name="assignment__simulated"),
    )


class ParticipationSerializer(RowSerializer[Participation]):
    """A worker's participation in a study, without the completion code."""

    study = Related("study.slug")
    worker = Related("worker.name")

    class Meta:
        model = Participation
        fields = ["id", "study", "worker", "standing", "joined_at", "consent_version", "consented_at"]


class ParticipationResource(Resource):
    """Workers' participation in studies, and their status."""

    read_permission, scope = "annotation.view_participation", "workers"
    queryset = Participation.objects.select_related("study", "worker")
    serializer_class = ParticipationSerializer
    filterset_class = filters_of(
        Participation,
        "standing",
        study=study_filter(),
        worker="worker__name",
        consented=TrueOrFalse(field_name="consented_at", lookup_expr="isnull", exclude=True),
    )
    orderings = {"id": "pk", "joined_at": "joined_at"}


class InvitationSerializer(RowSerializer[Invitation]):
    """An invitation: a personal code that one person can use once."""

    study = Related("study.slug")
    worker = Related("worker.name", optional=True)

    class Meta:
        model = Invitation
        fields = ["id", "study", "code", "note", "worker", "used_at"]


class InvitationResource(Resource):
    """Invitations, each with a personal code."""

    read_permission, scope = "annotation.view_invitation", "workers"
    queryset = Invitation.objects.select_related("study", "worker")
    serializer_class = InvitationSerializer
    filterset_class = filters_of(
        Invitation,
        "note",
        study=study_filter(),
        used=TrueOrFalse(field_name="used_at", lookup_expr="isnull", exclude=True),
    )

    create = create_action(
        invite,
        reply=InvitationSerializer,
        many=True,
        responses={404: bodies.Problem, 409: bodies.CONFLICT_RESPONSE},
    )


class ProblemReportSerializer(RowSerializer[ProblemReport]):
    """A worker's report of a problem with a unit."""

    study = Related("assignment.study.slug")
    worker = Related("assignment.worker.name")
    unit = Related("unit.key")

    class Meta:
        model = ProblemReport
        fields = ["id", "study", "assignment", "worker", "unit", "what", "comment"]


class ProblemReportResource(Resource):
    """Problems that workers reported, such as a picture that cannot be seen or a broken sentence."""

    read_permission, scope = "annotation.view_problemreport", "judgments"
    study_path = "assignment__study"
    queryset = ProblemReport.objects.select_related("assignment__study", "assignment__worker", "unit")
    serializer_class = ProblemReportSerializer
    filterset_class = filters_of(ProblemReport, "what", study=study_filter(field_name="assignment__study"))


class WrittenCaptionSerializer(RowSerializer[WrittenCaption]):
    """A caption of a dataset that a worker wrote."""

    study = serializers.SerializerMethodField(help_text="Study that it was written in; null if deleted.")
    dataset = Related("caption.dataset.name")
    caption = Related("caption.key")
    text = Related("caption.text")
    role = Related("caption.role")
    worker = Related("worker.name")

    class Meta:
        model = WrittenCaption
        fields = ["id", "study", "dataset", "caption", "text", "role", "worker", "judgment"]

    @extend_schema_field({"type": "string", "nullable": True})
    def get_study(self, row: WrittenCaption) -> str | None:
        """Return the slug of the study."""
        return row.judgment.assignment.study.slug if row.judgment else None


class WrittenCaptionResource(Resource):
    """Captions that workers wrote and that are part of a dataset."""

    read_permission, scope = "annotation.view_writtencaption", "judgments"
    study_path: ClassVar[str] = "judgment__assignment__study"
    queryset = WrittenCaption.objects.select_related(
        "caption__dataset", "worker", "judgment__assignment__study"
    )
    serializer_class = WrittenCaptionSerializer
    filterset_class = filters_of(
        WrittenCaption,
        study=study_filter(field_name="judgment__assignment__study"),
        dataset="caption__dataset__name",
        worker="worker__name",
    )


class BudgetSerializer(RowSerializer[Budget]):
    """A study's budget at one crowd (``place``); amounts are in whole cents."""

    study = Related("study.slug")
    place = Related("platform")
    left_cents = serializers.IntegerField(read_only=True, help_text="Not reserved or spent; can be negative.")

    class Meta:
        model = Budget
        fields = [
            "id", "study", "place", "currency", "budget_cents", "reserved_cents", "spent_cents", "over_cents",
            "left_cents",
        ]  # fmt: skip


class BudgetResource(Resource):
    """The budgets of studies at each platform, with reserved and spent money."""

    read_permission, scope = "annotation.view_budget", "money"
    queryset = Budget.objects.select_related("study")
    serializer_class = BudgetSerializer
    filterset_class = filters_of(Budget, study=study_filter(), place="platform")


class LedgerSerializer(RowSerializer[LedgerEntry]):
    """An entry of the ledger: one change of a budget at a crowd (``place``). Amounts are changes, in whole cents."""

    study = Related("budget.study.slug")
    place = Related("budget.platform")
    currency = Related("budget.currency")
    by = Related("by.username", optional=True)

    class Meta:
        model = LedgerEntry
        fields = [
            "id", "study", "place", "currency", "key", "what", "reserved_cents", "spent_cents", "publication",
            "session", "by", "door", "request", "at",
        ]  # fmt: skip


class LedgerResource(Resource):
    """Ledger entries, one for each change of a budget. The counters of a budget are the sums of its entries."""

    read_permission, scope = "annotation.view_ledgerentry", "money"
    study_path = "budget__study"
    queryset = LedgerEntry.objects.select_related("budget__study", "by")
    serializer_class = LedgerSerializer
    filterset_class = filters_of(
        LedgerEntry,
        "what",
        "door",
        study=study_filter(field_name="budget__study"),
        place="budget__platform",
        by="by__username",
    )


def currency_of_budget() -> Subquery:
    """Return the currency of a row's budget, for querysets of rows with a ``study`` and a ``platform``."""
    budgets = Budget.objects.filter(study=OuterRef("study"), platform=OuterRef("platform"))
    return Subquery(budgets.values("currency")[:1])


class PublicationSerializer(RowSerializer[Publication]):
    """A publication: work that is offered at a crowd (``place``). ``hit`` is null if it is the whole study."""

    study = Related("study.slug")
    place = Related("platform")
    hit = Related("hit.key", optional=True)
    currency = serializers.CharField(read_only=True, allow_null=True)
    held = serializers.IntegerField(
        source="held_slots", read_only=True, help_text="Number of places for which money is still reserved."
    )

    class Meta:
        model = Publication
        fields = [
            "id", "study", "place", "currency", "hit", "number", "external_id", "group_id", "state", "places",
            "held", "reward_cents", "fee_cents", "expires_at", "looked_at", "created_at",
        ]  # fmt: skip


class PublicationResource(Resource):
    """Publications at crowds: of a HIT at Mechanical Turk, or of a whole study at a panel."""

    read_permission, scope = "annotation.view_publication", "money"
    queryset = Publication.objects.select_related("study", "hit").annotate(currency=currency_of_budget())
    serializer_class = PublicationSerializer
    filterset_class = filters_of(Publication, "state", study=study_filter(), hit="hit__key", place="platform")


class SessionSerializer(RowSerializer[CrowdSession]):
    """A person's session at a crowd (``place``), without the crowd's own id of the person."""

    study = Related("study.slug")
    place = Related("platform")
    worker = Related("worker.name")

    class Meta:
        model = CrowdSession
        fields = [
            "id", "study", "place", "publication", "worker", "status", "confirmed", "booked", "arrived_at",
            "submitted_at", "auto_approval_at", "decided_at", "seen_at",
        ]  # fmt: skip


class SessionResource(Resource):
    """Sessions of people sent by a crowd, with their outcome."""

    read_permission, scope = "annotation.view_crowdsession", "money"
    queryset = CrowdSession.objects.select_related("study", "worker")
    serializer_class = SessionSerializer
    filterset_class = filters_of(
        CrowdSession, "status", study=study_filter(), worker="worker__name", place="platform"
    )


class CrowdCallSerializer(RowSerializer[CrowdCall]):
    """A request to a crowd (``place``), without its id of the person. ``unsure``: nobody can tell if it was done."""

    study = Related("study.slug")
    place = Related("platform")
    worker = Related("worker.name", optional=True)
    made_by = Related("made_by.username", optional=True)
    currency = serializers.CharField(read_only=True, allow_null=True)
    unsure = serializers.BooleanField(source="has_unknown_outcome", read_only=True)

    class Meta:
        model = CrowdCall
        fields = [
            "id", "study", "place", "kind", "publication", "session", "worker", "state", "unsure", "attempts",
            "currency", "reserved_cents", "why", "problem", "made_by", "made_at", "next_at", "done_at",
        ]  # fmt: skip


class CrowdCallResource(Resource):
    """Outbox messages to crowds. Each is delivered once."""

    read_permission, scope = "annotation.view_crowdcall", "money"
    queryset = CrowdCall.objects.select_related("study", "worker", "made_by").annotate(
        currency=currency_of_budget()
    )
    serializer_class = CrowdCallSerializer
    filterset_class = filters_of(
        CrowdCall, "kind", "state", study=study_filter(), worker="worker__name", place="platform"
    )
