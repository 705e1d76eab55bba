"""Admin lists of workers, participations and invitations, assignments, judgments, and problem reports."""

from __future__ import annotations

from django.contrib import admin
from django.db.models.functions import Coalesce
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from unfold.decorators import display

from annotation.models import Assignment, Invitation, Judgment, Participation, ProblemReport, Worker
from judgments.access.rights import Person
from judgments.access.visible_rows import visible_rows
from judgments.admin.base import ReadOnlyAdmin
from judgments.admin.columns import (
    CountColumn,
    count_reverse_relation,
    count_rows_by_key,
    format_short,
    study_column,
    study_label,
    thumbnail,
)
from judgments.admin.filters import KnownValuesFilter
from judgments.studies.designs import installed_kind_of


class ValueFilter(KnownValuesFilter):
    title, parameter_name = "value", "value"
    known_values = ("0", "1", "2", "3", "4")  # answers of relevance, pairs and grades


def count_visible_assignments(person: Person) -> Coalesce:
    """Return an expression for the number of a worker's assignments that ``person`` may see."""
    return count_rows_by_key(visible_rows(Assignment.objects.all(), person), "worker")


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin):
    help = "workers.md"
    empty_list_text = "This lists participants who joined a study."
    list_display = (
        "name",
        "source_label",
        study_column,
        CountColumn("pages of work taken", "n", count_visible_assignments),
        "created_at",
    )
    list_filter = ("source", "anonymous", "study")
    list_select_related = ("study",)
    search_fields = ("name",)
    fields = ("name", "source", "study", "anonymous", "created_at")  # not the hashes of the worker's secrets

    @display(
        description="source",
        label={"local": "", "rehearsal": "warning", "imported": "info"},
        ordering="source",
    )
    def source_label(self, worker: Worker) -> tuple[str, str]:
        return worker.source, worker.get_source_display()


@admin.register(Assignment)
class AssignmentAdmin(ReadOnlyAdmin):
    help = "work-page.md#seats"
    empty_list_text = "A row is added whenever somebody takes a page of work."
    list_display = (
        "id",
        study_column,
        "worker",
        "state_label",
        "accepted_at",
        "submitted_at",
        CountColumn(
            "judgments", "n", lambda person: count_reverse_relation(Assignment, "judgments"), sortable=False
        ),
    )
    list_filter = ("state", "simulated", "study")
    list_select_related = ("study", "worker", "hit")
    search_fields = ("=id", "worker__name", "=hit__key")
    fields = (
        "id", "study", "hit", "worker", "state", "simulated", "accepted_at", "expires_at", "submitted_at",
        "consent_version", "instructions_version", "external_id",
    )  # fmt: skip

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
    help = "evaluation.md#which-judgments-are-used"
    empty_list_text = "This lists the answers of submitted pages of work."
    list_display = ("id", "study", "unit", "worker", "value", "presented", "rounded_seconds", "marks")
    list_filter = (ValueFilter, "set_aside", "unit__control", "assignment__simulated", "assignment__study")
    list_select_related = ("unit__study", "assignment__worker")
    search_fields = ("=unit__key", "assignment__worker__name")
    fields = ("unit", "worker", "answer_text", "presented", "rounded_seconds", "set_aside", "assignment")
    readonly_fields = ("worker", "answer_text", "rounded_seconds")

    @display(description="study")
    def study(self, judgment: Judgment) -> SafeString | str:
        return study_label(judgment.unit.study)

    @display(description="participant", ordering="assignment__worker__name")
    def worker(self, judgment: Judgment) -> str:
        return judgment.assignment.worker.name

    @display(description="answer")
    def answer_text(self, judgment: Judgment) -> str:
        kind = installed_kind_of(judgment.unit.study)
        return kind.describe_answer(judgment.value if judgment.answer is None else judgment.answer)

    @display(description="seconds", ordering="seconds")
    def rounded_seconds(self, judgment: Judgment) -> str:
        return format_short(judgment.seconds)

    @display(description="remark", label={"control": "info", "not-used": "danger"})
    def marks(self, judgment: Judgment) -> tuple[str, str] | str:
        if judgment.set_aside:
            return "not-used", gettext("not used")
        return ("control", gettext("check question")) if judgment.unit.control else ""


@admin.register(ProblemReport)
class ProblemReportAdmin(ReadOnlyAdmin):
    help = "quality.md#review"
    empty_list_text = "Participants can report a problem beside every item."
    list_display = ("created_at", "what", "comment", "picture", "study", "worker")
    list_filter = ("what", "assignment__study")
    list_select_related = ("unit__item__dataset", "assignment__worker", "assignment__study")
    search_fields = ("comment", "=unit__key", "assignment__worker__name")
    fields = ("what", "comment", "picture", "unit", "worker", "created_at")
    readonly_fields = ("picture", "worker")

    @display(description="picture")
    def picture(self, report: ProblemReport) -> SafeString | str:
        return thumbnail(report.unit.item)

    @display(description="study")
    def study(self, report: ProblemReport) -> SafeString | str:
        return study_label(report.assignment.study)

    @display(description="participant")
    def worker(self, report: ProblemReport) -> str:
        return report.assignment.worker.name


@admin.register(Participation)
class ParticipationAdmin(ReadOnlyAdmin):
    help = "workers.md"
    empty_list_text = "This lists participants who joined a study."
    list_display = ("worker", study_column, "joined_at", "consented_at", "consent_version")
    list_filter = ("study",)
    list_select_related = ("worker", "study")
    search_fields = ("worker__name", "=completion_code")


@admin.register(Invitation)
class InvitationAdmin(ReadOnlyAdmin):
    help = "crowds/panels.md#links-of-your-own"
    empty_list_text = (
        "Choose a study that only invited people can join. You can create invitations on its page "
        "“Participants”."
    )
    list_display = ("code", study_column, "note", "worker", "used_at")
    list_filter = ("study",)
    list_select_related = ("study", "worker")
    search_fields = ("note", "=code", "worker__name")
