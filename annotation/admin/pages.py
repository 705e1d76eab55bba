"""The pages of annotation in the admin: those of studies, lists of rows, and what waits for a person."""

from __future__ import annotations

from datetime import timedelta

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString
from unfold.decorators import display

from annotation.crowds import views as crowds_page
from annotation.crowds.panel import page as panel_page
from annotation.launch import views as launch_page
from annotation.models import (
    Adjudication,
    Assignment,
    Case,
    CrowdCall,
    ErasureRequest,
    Invitation,
    Judgment,
    Participation,
    ProblemReport,
    Publication,
    SpendingRequest,
    StudyAlarm,
    Worker,
)
from annotation.money import views as money_page
from annotation.privacy import views as privacy_page
from annotation.quality import page as quality_page
from annotation.quality import review_page
from annotation.work import page as work_page
from judgments.access.roles import Right, visible_rows
from judgments.admin.base import (
    KnownValuesFilter,
    ReadOnlyAdmin,
    count_column,
    count_of,
    counted_beside,
    in_short,
    study_column,
    study_words,
    thumbnail,
)
from judgments.models import Study
from judgments.studies.page import Need, add_needs


class ValueFilter(KnownValuesFilter):
    title, parameter_name, known_values = "value", "value", ("0", "1", "2", "3", "4")


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin):
    empty_words = "This lists people who joined a study."
    list_display = ("name", "source_label", study_column, count_column("HITs taken", "n"), "created_at")
    list_filter = ("source", "anonymous", "study")
    list_select_related = ("study",)
    search_fields = ("name",)
    fields = ("name", "source", "study", "anonymous", "created_at")  # never the hashes of secrets

    def get_queryset(self, request: HttpRequest) -> QuerySet[Worker]:
        rows = super().get_queryset(request).select_related("study")
        seen = visible_rows(Assignment.objects.all(), request.user)
        return rows.annotate(n=count_of(seen, "worker"))

    @display(
        description="source",
        label={"local": "", "rehearsal": "warning", "imported": "info"},
        ordering="source",
    )
    def source_label(self, worker: Worker) -> tuple[str, str]:
        return worker.source, worker.get_source_display()


@admin.register(Assignment)
class AssignmentAdmin(ReadOnlyAdmin):
    empty_words = "A row is added whenever somebody takes a HIT."
    list_display = (
        "id",
        study_column,
        "worker",
        "state_label",
        "accepted_at",
        "submitted_at",
        count_column("judgments", "n", ordered=False),
    )
    list_filter = ("state", "simulated", "study")
    list_select_related = ("study", "worker", "hit")
    search_fields = ("=id", "worker__name", "=hit__key")
    fields = (
        "id",
        "study",
        "hit",
        "worker",
        "state",
        "simulated",
        "accepted_at",
        "expires_at",
        "submitted_at",
        "consent_version",
        "instructions_version",
        "external_id",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Assignment]:
        related = super().get_queryset(request).select_related("study", "worker", "hit")
        return related.annotate(n=counted_beside(Assignment, "judgments"))

    @display(
        description="state",
        label={
            "accepted": "info", "submitted": "success", "approved": "success",
            "returned": "", "expired": "warning", "rejected": "danger",
        },
        ordering="state",
    )  # fmt: skip
    def state_label(self, assignment: Assignment) -> tuple[str, str]:
        return assignment.state, assignment.get_state_display()


@admin.register(Judgment)
class JudgmentAdmin(ReadOnlyAdmin):
    empty_words = "This lists the answers of submitted HITs."
    list_display = (
        "id",
        "study",
        "unit",
        "worker",
        "value",
        "presented",
        "seconds_short",
        "marks",
    )
    list_filter = (ValueFilter, "set_aside", "unit__control", "assignment__simulated", "assignment__study")
    list_select_related = ("unit__study", "assignment__worker")
    search_fields = ("=unit__key", "assignment__worker__name")
    fields = ("unit", "worker", "value", "answer", "presented", "seconds_short", "set_aside", "assignment")
    readonly_fields = ("worker", "seconds_short")

    def get_fields(self, request: HttpRequest, obj: Judgment | None = None) -> list[str]:
        empty = (
            "" if obj is None else "answer" if obj.answer is None else "value" if obj.value is None else ""
        )
        return [name for name in self.fields if name != empty]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Judgment]:
        return super().get_queryset(request).select_related("unit__study", "assignment__worker")

    @display(description="study")
    def study(self, judgment: Judgment) -> SafeString | str:
        return study_words(judgment.unit.study)

    @display(description="worker", ordering="assignment__worker__name")
    def worker(self, judgment: Judgment) -> str:
        return judgment.assignment.worker.name

    @display(description="seconds", ordering="seconds")
    def seconds_short(self, judgment: Judgment) -> str:
        return in_short(judgment.seconds)

    @display(description="marks", label={"control item": "info", "excluded": "danger"})
    def marks(self, judgment: Judgment) -> tuple[str, str] | str:
        mark = "excluded" if judgment.set_aside else "control item" if judgment.unit.control else ""
        return (mark, mark) if mark else ""


@admin.register(ProblemReport)
class ProblemReportAdmin(ReadOnlyAdmin):
    empty_words = "Workers can report a problem beside every item."
    list_display = ("created_at", "what", "comment", "picture", "study", "worker")
    list_filter = ("what", "assignment__study")
    search_fields = ("comment", "=unit__key", "assignment__worker__name")
    fields = ("what", "comment", "picture", "unit", "worker", "created_at")
    readonly_fields = ("picture", "worker")

    def get_queryset(self, request: HttpRequest) -> QuerySet[ProblemReport]:
        related = ("unit__item__dataset", "assignment__worker", "assignment__study")
        return super().get_queryset(request).select_related(*related)

    @display(description="picture")
    def picture(self, report: ProblemReport) -> SafeString | str:
        return thumbnail(report.unit.item)

    @display(description="study")
    def study(self, report: ProblemReport) -> SafeString | str:
        return study_words(report.assignment.study)

    @display(description="worker")
    def worker(self, report: ProblemReport) -> str:
        return report.assignment.worker.name


@admin.register(Participation)
class ParticipationAdmin(ReadOnlyAdmin):
    empty_words = "This lists people who joined a study."
    list_display = ("worker", study_column, "joined_at", "consented_at", "consent_version")
    list_filter = ("study",)
    list_select_related = ("worker", "study")
    search_fields = ("worker__name", "=completion_code")


@admin.register(Invitation)
class InvitationAdmin(ReadOnlyAdmin):
    empty_words = "Invitations are made on the page Workers of a study that lets in invited people alone."
    list_display = ("code", study_column, "note", "worker", "used_at")
    list_filter = ("study",)
    list_select_related = ("study", "worker")
    search_fields = ("note", "=code", "worker__name")


SOON = timedelta(days=1)

add_needs(
    Need(
        name="failed_messages",
        page="crowd",
        labels=("one message to the crowd failed", "messages to the crowd failed"),
        rows=lambda: CrowdCall.objects.filter(state=CrowdCall.State.FAILED),
        button="See what failed",
        right=Right.CHANGE,
    ),
    Need(
        name="spending_requests",
        page="crowd",
        labels=("one order waits for a second person", "orders wait for a second person"),
        rows=lambda: SpendingRequest.objects.filter(state=SpendingRequest.State.WAITING),
        button="See the order",
        right=Right.CHANGE,
    ),
    Need(
        name="erasure_requests",
        page="privacy",
        labels=("one participant asks to be erased", "participants ask to be erased"),
        rows=lambda: ErasureRequest.objects.filter(state=ErasureRequest.State.WAITING),
        button="See the request",
        right=Right.OWN,
    ),
    Need(
        name="flags",
        page="review",
        labels=("one flag to review", "flags to review"),
        rows=lambda: Case.objects.filter(state=Case.State.OPEN),
        button="Review flags",
        right=Right.REVIEW,
    ),
    Need(
        name="payments",
        page="work",
        labels=("one page of work to approve and pay", "pages of work to approve and pay"),
        rows=lambda: Assignment.objects.filter(
            state=Assignment.State.SUBMITTED, study__design__crowd__reward_cents__gt=0
        ),
        button="Approve work",
        right=Right.REVIEW,
    ),
    Need(
        name="disputes",
        page="disputes",
        labels=("one dispute waits for its adjudicator", "disputes wait for their adjudicators"),
        rows=lambda: Adjudication.objects.filter(state=Adjudication.State.WAITING),
        button="See disputes",
        right=Right.REVIEW,
    ),
    Need(
        name="controls_used_up",
        page="controls",
        labels=(
            "check questions used up by one participant",
            "participants have used up the check questions",
        ),
        rows=lambda: StudyAlarm.objects.filter(
            what=StudyAlarm.What.CONTROLS_USED_UP, study__state=Study.State.OPEN
        ),
        button="See check questions",
        right=Right.CHANGE,
    ),
    Need(
        name="expiring",
        page="crowd",
        labels=("the offer at the crowd ends within a day", "offers at the crowd end within a day"),
        rows=lambda: Publication.objects.filter(
            state=Publication.State.PUBLISHED,
            study__state=Study.State.OPEN,
            expires_at__lt=timezone.now() + SOON,
            held_slots__gt=0,
        ),
        button="Offer it longer",
        right=Right.CHANGE,
    ),
)

__all__ = [
    "crowds_page",
    "launch_page",
    "money_page",
    "panel_page",
    "privacy_page",
    "quality_page",
    "review_page",
    "work_page",
]
