"""The list of jobs, and a job's page: its progress, its result, and the rows that an import left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from unfold.decorators import display

from common.errors import QuorumError
from judgments.access.permissions import may_cancel, may_retry
from judgments.access.rights import Person
from judgments.access.visible_rows import visible_rows
from judgments.admin.base import ReadOnlyAdmin, row_or_404, signed_in
from judgments.admin.filters import KnownValuesFilter
from judgments.datasets import uploads
from judgments.jobs.queues import cancel_job, queue_positions, retry_job
from judgments.jobs.registry import is_essential_kind, upload_page_of
from judgments.jobs.words import (
    QUEUE_TITLES,
    describe_job_queue,
    describe_note,
    describe_queue_position,
    describe_result,
    describe_work,
)
from judgments.models import Dataset, Job, Study
from judgments.models.jobs import DELETED_STUDY_KEY
from judgments.studies.study_page import study_page_address

STATE_COLOURS = {
    Job.State.QUEUED: "",
    Job.State.RUNNING: "info",
    Job.State.DONE: "success",
    Job.State.FAILED: "danger",
    Job.State.CANCELLED: "warning",
}

# the address of the page that shows a job's result, by the job's kind
RESULT_PAGES: dict[str, Callable[[Job], str]] = {
    # The form for a new dataset shows what was found in an upload.
    "understand_upload": lambda job: reverse("admin:judgments_dataset_add")
}


class JobSubject(NamedTuple):
    """The study or dataset that a job is about, and the address of its page."""

    name: str
    address: str


def job_subject(job: Job, person: Person) -> JobSubject | None:
    """Return the study or dataset that a job is about; None if there is none that the person may see."""
    # An import that creates a study or a dataset has "slug" or "name" for it, such as that of a template of HITs.
    slug = job.args.get("study") or job.args.get("slug", "")
    study = Study.objects.visible_to(person).filter(slug=slug).first()
    if study is not None:
        page = "change" if study.state == Study.State.DRAFT else "results"
        return JobSubject(study.name, study_page_address(study, page))
    name = job.args.get("dataset") or job.args.get("name", "")
    dataset = visible_rows(Dataset.objects.filter(name=name), person).first()
    if dataset is not None:
        return JobSubject(dataset.name, reverse("admin:judgments_dataset_change", args=[dataset.pk]))
    return None


def _upload_of(job: Job, user: User) -> str:
    """Return the name of a job's upload; "" if there is nothing to show about it.

    There is something to show if the user made the upload, and it is still stored with the errors of a failed import or
    with the rows that the import left out.
    """
    upload = str(job.args.get("upload", ""))
    if not uploads.is_upload_of(upload, user):
        return ""
    file = uploads.job_file(upload) if job.has_failed else uploads.bad_rows_file(upload)
    return upload if file.exists() else ""


def _add_result_messages(request: HttpRequest, job: Job) -> None:
    """Show the counts and the notes of an import on the next page."""
    counts = ", ".join(f"{label}: {value}" for label, value in describe_result(job) if value != "0")
    messages.success(request, gettext("Imported: %(counts)s.") % {"counts": counts})
    for note in (job.result or {}).get("notes", ()):
        messages.info(request, describe_note(note))


def _queue_position(job: Job) -> int | None:
    return queue_positions([job]).get(job.pk)


class QueueFilter(KnownValuesFilter):
    title, parameter_name = "queue", "queue"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, gettext(label)) for name, label in QUEUE_TITLES.items()]


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    help = "scale.md#several-processes"
    empty_list_text = "This lists running and finished jobs, such as imports, computations and exports."
    list_display = (
        *("work", "state_label", "describe_queue", "subject", "progress_bar"),
        *("created_by", "created_at", "finished_at"),
    )
    list_display_links = None
    list_filter = ("state", QueueFilter, "kind")
    list_select_related = ("created_by",)
    search_fields = ("kind", "error", "words")

    @display(description="work", ordering="kind")
    def work(self, job: Job) -> SafeString:
        address = reverse("admin:judgments_job_change", args=[job.pk])
        return format_html('<a class="q-name" href="{}">{}</a>', address, describe_work(job))

    @display(description="state", label=STATE_COLOURS, ordering="state")
    def state_label(self, job: Job) -> tuple[str, str]:
        return job.state, job.get_state_display()

    @display(description="queue", ordering="queue")
    def describe_queue(self, job: Job) -> str:
        return describe_job_queue(job)

    @display(description="subject")
    def subject(self, job: Job) -> str:
        return str(job.args.get("study") or job.args.get("dataset") or job.args.get("name") or "–")

    @display(description="progress")
    def progress_bar(self, job: Job) -> SafeString:
        text = job.error or job.words
        if position := getattr(job, "queue_position", None):
            text = describe_queue_position(position)
        return format_html(
            '<span class="q-bar"><progress max="1" value="{}"></progress> {}</span>', job.progress, text
        )

    def get_urls(self) -> list[URLPattern]:
        views = {
            "progress": self.progress_view,
            "cancel": self.cancel_view,
            "retry": self.retry_view,
            "bad_rows": self.bad_rows_view,
        }
        job_urls = [
            path(f"<int:pk>/{name}/", self.admin_site.admin_view(view), name=f"judgments_job_{name}")
            for name, view in views.items()
        ]
        return [*job_urls, *super().get_urls()]

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Set ``queue_position`` of all shown jobs, with one query."""
        changelist = super().get_changelist_instance(request)
        positions = queue_positions(changelist.result_list)
        for job in changelist.result_list:
            job.queue_position = positions.get(job.pk)
        return changelist

    def cancel_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        return self._change_state(request, pk, may_cancel, cancel_job)

    def retry_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        return self._change_state(request, pk, may_retry, retry_job)

    def _change_state(
        self,
        request: HttpRequest,
        pk: int,
        is_permitted: Callable[[User, Job], bool],
        change: Callable[[Job], None],
    ) -> HttpResponse:
        job = self._job(request, pk)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not is_permitted(signed_in(request), job):
            raise PermissionDenied
        try:
            change(job)
        except QuorumError as error:
            messages.error(request, str(error))
        return redirect("admin:judgments_job_change", job.pk)

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **options: Any) -> HttpResponse:
        job, user = self._job(request, object_id), signed_in(request)
        if job.kind in RESULT_PAGES and job.state == Job.State.DONE and job.created_by == user:
            return redirect(f"{RESULT_PAGES[job.kind](job)}?job={job.pk}")
        subject = job_subject(job, request.user)
        is_imported = job.kind == "import_dataset" and job.state == Job.State.DONE
        may_design = is_imported and user.has_perm("judgments.add_study")
        # The form of an import leads here with ?then=design if the person wants to design a study with the data.
        if may_design and subject and request.GET.get("then") == "design" and job.created_by == user:
            _add_result_messages(request, job)
            return redirect(f"{reverse('admin:judgments_study_add')}?{urlencode({'dataset': subject.name})}")
        context = {
            **self.admin_site.each_context(request),
            "opts": Job._meta,
            "title": describe_work(job),
            "job": job,
            "queue_description": describe_job_queue(job, _queue_position(job)),
            "may_cancel": job.is_under_way and not is_essential_kind(job.kind) and may_cancel(user, job),
            "may_retry": job.has_failed and DELETED_STUDY_KEY not in job.args and may_retry(user, job),
            "subject": subject,
            "may_design": may_design,
            "result": describe_result(job),
            "upload": _upload_of(job, user),
            "upload_page": upload_page_of(job.kind),
        }
        return TemplateResponse(request, "judgments/job.html", context)

    def progress_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Return the part of the page with the job's progress. Once the job has ended, tell htmx to reload the page."""
        job = self._job(request, pk)
        context = {"job": job, "queue_description": describe_job_queue(job, _queue_position(job))}
        response = TemplateResponse(request, "judgments/parts/job.html", context)
        if not job.is_under_way:
            response.headers["HX-Refresh"] = "true"
        return response

    def bad_rows_view(self, request: HttpRequest, pk: int) -> FileResponse:
        """Send the rows that an import left out, while they are still stored."""
        upload = _upload_of(self._job(request, pk), signed_in(request))
        if not upload:
            raise Http404
        file = uploads.bad_rows_file(upload).open("rb")
        return FileResponse(file, as_attachment=True, filename="bad-rows.csv", content_type="text/csv")

    def _job(self, request: HttpRequest, pk: int | str) -> Job:
        return row_or_404(visible_rows(Job.objects.select_related("created_by"), request.user), pk)
