"""The list of jobs, and their pages."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import display

from judgments.access.roles import Person, visible_rows
from judgments.admin.base import ReadOnlyAdmin, row_or_404, signed_in
from judgments.jobs_in_words import result_in_words, work_in_words
from judgments.models import Dataset, Job, Study
from judgments.studies.study_page import page_address

STATE_COLOURS = {
    Job.State.QUEUED: "",
    Job.State.RUNNING: "info",
    Job.State.DONE: "success",
    Job.State.FAILED: "danger",
}


def about(job: Job, person: Person) -> tuple[str, str] | None:
    study = Study.objects.visible_to(person).filter(slug=job.args.get("study", "")).first()
    if study is not None:
        return study.name, page_address(study, "change" if study.state == Study.State.DRAFT else "results")
    name = job.args.get("dataset") or job.args.get("name", "")
    dataset = visible_rows(Dataset.objects.filter(name=name), person).first()
    if dataset is not None:
        return dataset.name, reverse("admin:judgments_dataset_change", args=[dataset.pk])
    return None


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    empty_words = "This lists imports, generating, computing and exports, running and finished."
    list_display = (
        "work",
        "state_label",
        "subject",
        "progress_bar",
        "created_by",
        "created_at",
        "finished_at",
    )
    list_display_links = None
    list_filter = ("state", "kind")
    list_select_related = ("created_by",)
    search_fields = ("kind", "error", "words")

    @display(description="work", ordering="kind")
    def work(self, job: Job) -> SafeString:
        address = reverse("admin:judgments_job_change", args=[job.pk])
        return format_html('<a class="q-name" href="{}">{}</a>', address, work_in_words(job))

    @display(description="state", label=STATE_COLOURS, ordering="state")
    def state_label(self, job: Job) -> tuple[str, str]:
        return job.state, job.get_state_display()

    @display(description="about")
    def subject(self, job: Job) -> str:
        return str(job.args.get("study") or job.args.get("dataset") or job.args.get("name") or "–")

    @display(description="progress")
    def progress_bar(self, job: Job) -> SafeString:
        words = job.error or job.words
        return format_html(
            '<span class="q-bar"><progress max="1" value="{}"></progress> {}</span>', job.progress, words
        )

    def get_urls(self) -> list[URLPattern]:
        follow = path(
            "<int:pk>/progress/",
            self.admin_site.admin_view(self.progress_view),
            name="judgments_job_progress",
        )
        return [follow, *super().get_urls()]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        job = self._job(request, object_id)
        context = {
            **self.admin_site.each_context(request),
            "opts": Job._meta,
            "title": work_in_words(job),
            "job": job,
            "about": about(job, request.user),
            "may_design": job.kind == "import_dataset"
            and job.state == Job.State.DONE
            and signed_in(request).has_perm("judgments.add_study"),
            "result": result_in_words(job),
        }
        return TemplateResponse(request, "judgments/job.html", context)

    def progress_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Reload the page once the job has ended."""
        job = self._job(request, pk)
        response = TemplateResponse(request, "judgments/parts/job.html", {"job": job})
        if job.state in (Job.State.DONE, Job.State.FAILED):
            response.headers["HX-Refresh"] = "true"
        return response

    def _job(self, request: HttpRequest, pk: int | str) -> Job:
        return row_or_404(visible_rows(Job.objects.select_related("created_by"), request.user), pk)
