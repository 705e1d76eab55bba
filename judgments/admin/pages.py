"""All pages of the designer in the admin: those of features, read-only lists of rows, and jobs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from unfold.decorators import display

from common.errors import QuorumError
from common.texts import readable
from judgments.access import views as access_views
from judgments.access.permissions import may_cancel, may_retry
from judgments.access.roles import Person, visible_rows
from judgments.admin.base import (
    KnownValuesFilter,
    ReadOnlyAdmin,
    count_column,
    count_of,
    counted_beside,
    item_thumbnail,
    row_or_404,
    short_time,
    signed_in,
    study_column,
    thumbnail,
)
from judgments.datasets import page as datasets_page
from judgments.datasets import uploads
from judgments.design.editing import views as design_page
from judgments.jobs import cancel_job, is_relied_on, queue_positions, retry_job, upload_page_of
from judgments.models import HIT, Caption, Dataset, Item, Job, Output, Study, StudyEvent, System, Unit
from judgments.models.studies import DELETED_STUDY
from judgments.studies import page as studies_page
from judgments.studies.study_page import page_address
from judgments.templatetags.judgments_tags import (
    QUEUE_TITLES,
    describe_line,
    describe_queue_position,
    describe_result,
    describe_work,
)


@admin.register(Item)
class ItemAdmin(ReadOnlyAdmin):
    empty_words = "Importing a dataset brings its images."
    list_display = ("name", "picture_small", "dataset", "split", "position")
    list_select_related = ("dataset",)
    list_filter = ("split", "dataset")
    search_fields = ("name",)
    fields = ("name", "picture_small", "dataset", "split", "position", "url")
    readonly_fields = ("picture_small",)

    @display(description="picture")
    def picture_small(self, item: Item) -> SafeString | str:
        return thumbnail(item)


@admin.register(Caption)
class CaptionAdmin(ReadOnlyAdmin):
    empty_words = "Importing a dataset brings its captions."
    list_display = ("text", "role", "image_name", "dataset", "key")
    list_select_related = ("dataset", "item")
    list_filter = ("role", "dataset")
    search_fields = ("text", "=key")

    @display(description="image", ordering="item__name")
    def image_name(self, caption: Caption) -> str:
        return caption.item.name if caption.item else "–"


@admin.register(System)
class SystemAdmin(ReadOnlyAdmin):
    empty_words = "“Import candidates” on a dataset's page adds a system."
    list_display = (
        "name",
        "dataset",
        "human",
        count_column("captions", "n"),
        count_column("images found", "search_results"),
    )
    list_filter = ("human", "dataset")
    list_select_related = ("dataset",)
    search_fields = ("name",)
    exclude = ("fingerprint", "search_fingerprint")

    def get_queryset(self, request: HttpRequest) -> QuerySet[System]:
        return (
            super()
            .get_queryset(request)
            .annotate(
                n=count_of(Output.objects.annotations(), "system"),
                search_results=count_of(Output.objects.searches(), "system"),
            )
        )


class KindFilter(KnownValuesFilter):
    title, parameter_name, known_values = "kind", "kind", ("HC", "HI", "HM", "MM")


@admin.register(Unit)
class UnitAdmin(ReadOnlyAdmin):
    empty_words = "Generating a study's pages of work makes its units."
    list_display = (
        "key",
        "picture",
        study_column,
        "kind",
        "first_text",
        "second_text",
        "role",
        count_column("judgments", "n", ordered=False),
    )
    list_filter = ("control", "withdrawn", "filtered", KindFilter, "study")
    search_fields = ("=key", "first__text", "second__text", "item__name")
    fields = (
        "key",
        "study",
        "picture",
        "reference",
        "first",
        "second",
        "pair",
        "kind",
        "control",
        "expected",
        "filtered",
        "withdrawn",
    )
    readonly_fields = ("picture",)
    picture = staticmethod(item_thumbnail)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Unit]:
        related = ("study", "item__dataset", "reference", "first", "second", "pair")
        return (
            super()
            .get_queryset(request)
            .select_related(*related)
            .annotate(n=counted_beside(Unit, "judgments"))
        )

    @display(description="first")
    def first_text(self, unit: Unit) -> str:
        return readable(unit.first.text) if unit.first else "–"

    @display(description="second")
    def second_text(self, unit: Unit) -> str:
        return readable(unit.second.text) if unit.second else "–"

    @display(description="role", label={"control": "info", "withdrawn": "danger", "filtered": "warning"})
    def role(self, unit: Unit) -> tuple[str, str] | str:
        for name in ("withdrawn", "control", "filtered"):
            if getattr(unit, name):
                return name, name
        return ""


@admin.register(HIT)
class HITAdmin(ReadOnlyAdmin):
    empty_words = "“Generate pages of work” on a study's page makes them."
    list_display = ("key", study_column, "number", "size", "required", "open_slots")
    list_filter = ("study",)
    search_fields = ("=key", "=external_id")

    def get_queryset(self, request: HttpRequest) -> QuerySet[HIT]:
        rows = super().get_queryset(request).select_related("study")
        return rows.annotate(n=counted_beside(HIT, "places"))

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **options: Any) -> HttpResponse:
        hit = row_or_404(self.get_queryset(request), object_id)
        return redirect(f"{page_address(hit.study, 'hit')}?number={hit.position + 1}")

    @display(description="number", ordering="position")
    def number(self, hit: HIT) -> int:
        return hit.position + 1

    @display(description="units")
    def size(self, hit: HIT) -> int:
        return hit.n  # type: ignore[attr-defined]


@admin.register(StudyEvent)
class StudyEventAdmin(ReadOnlyAdmin):
    list_display = ("when", study_column, "what", "words", "why", "by")
    list_filter = ("what", "study")
    list_select_related = ("study", "by")
    search_fields = ("words", "why", "slug")

    @display(description="at", ordering="pk")
    def when(self, event: StudyEvent) -> str:
        return short_time(event.at)


STATE_COLOURS = {
    Job.State.QUEUED: "",
    Job.State.RUNNING: "info",
    Job.State.DONE: "success",
    Job.State.FAILED: "danger",
    Job.State.CANCELLED: "warning",
}

# kind -> the address of the page that shows what came of it
LEADS_TO: dict[str, Callable[[Job], str]] = {
    "understand_upload": lambda job: reverse("admin:judgments_dataset_add")
}


def about(job: Job, person: Person) -> tuple[str, str] | None:
    study = (
        Study.objects.visible_to(person)
        .filter(slug=job.args.get("study") or job.args.get("slug", ""))
        .first()
    )
    if study is not None:
        return study.name, page_address(study, "change" if study.state == Study.State.DRAFT else "results")
    name = job.args.get("dataset") or job.args.get("name", "")
    dataset = visible_rows(Dataset.objects.filter(name=name), person).first()
    if dataset is not None:
        return dataset.name, reverse("admin:judgments_dataset_change", args=[dataset.pk])
    return None


def _upload_of(job: Job, user: User) -> str:
    """Return the job's upload if it is the account's and has something to show: problems, or rows left out."""
    upload = str(job.args.get("upload", ""))
    if not uploads.is_of(upload, user):
        return ""
    file = uploads.job_file(upload) if job.has_failed else uploads.bad_rows_file(upload)
    return upload if file.exists() else ""


def _queue_position(job: Job) -> int | None:
    return queue_positions([job]).get(job.pk)


class QueueFilter(KnownValuesFilter):
    title, parameter_name = "queue", "queue"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, gettext(label)) for name, label in QUEUE_TITLES.items()]


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    empty_words = "This lists imports, generating, computing and exports, running and finished."
    list_display = (
        "work",
        "state_label",
        "describe_queue",
        "subject",
        "progress_bar",
        "created_by",
        "created_at",
        "finished_at",
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
        return describe_line(job)

    @display(description="about")
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
            "cancel": partial(self.change_state, may=may_cancel, change=cancel_job),
            "retry": partial(self.change_state, may=may_retry, change=retry_job),
            "bad_rows": self.bad_rows_view,
        }
        job_urls = [
            path(f"<int:pk>/{name}/", self.admin_site.admin_view(view), name=f"judgments_job_{name}")
            for name, view in views.items()
        ]
        return [*job_urls, *super().get_urls()]

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Look up the places in line of all shown jobs at once."""
        changes = super().get_changelist_instance(request)
        positions = queue_positions(changes.result_list)
        for job in changes.result_list:
            job.queue_position = positions.get(job.pk)
        return changes

    def change_state(
        self, request: HttpRequest, pk: int, may: Callable[[User, Job], bool], change: Callable[[Job], None]
    ) -> HttpResponse:
        job = self._job(request, pk)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not may(signed_in(request), job):
            raise PermissionDenied
        try:
            change(job)
        except QuorumError as error:
            messages.error(request, str(error))
        return redirect("admin:judgments_job_change", job.pk)

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **options: Any) -> HttpResponse:
        job, user = self._job(request, object_id), signed_in(request)
        if job.kind in LEADS_TO and job.state == Job.State.DONE and job.created_by == user:
            return redirect(f"{LEADS_TO[job.kind](job)}?job={job.pk}")
        context = {
            **self.admin_site.each_context(request),
            "opts": Job._meta,
            "title": describe_work(job),
            "job": job,
            "line": describe_line(job, _queue_position(job)),
            "may_cancel": job.is_under_way and not is_relied_on(job.kind) and may_cancel(user, job),
            "may_retry": job.has_failed and DELETED_STUDY not in job.args and may_retry(user, job),
            "about": about(job, request.user),
            "may_design": job.kind == "import_dataset"
            and job.state == Job.State.DONE
            and user.has_perm("judgments.add_study"),
            "result": describe_result(job),
            "upload": _upload_of(job, user),
            "upload_page": upload_page_of(job.kind),
        }
        return TemplateResponse(request, "judgments/job.html", context)

    def progress_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Reload the page once the job has ended."""
        job = self._job(request, pk)
        context = {"job": job, "line": describe_line(job, _queue_position(job))}
        response = TemplateResponse(request, "judgments/parts/job.html", context)
        if not job.is_under_way:
            response.headers["HX-Refresh"] = "true"
        return response

    def bad_rows_view(self, request: HttpRequest, pk: int) -> FileResponse:
        """Send the rows that an import left out, as long as they are there."""
        upload = _upload_of(self._job(request, pk), signed_in(request))
        if not upload:
            raise Http404
        file = uploads.bad_rows_file(upload).open("rb")
        return FileResponse(file, as_attachment=True, filename="bad-rows.csv", content_type="text/csv")

    def _job(self, request: HttpRequest, pk: int | str) -> Job:
        return row_or_404(visible_rows(Job.objects.select_related("created_by"), request.user), pk)


PAGES_OF_FEATURES = (access_views, datasets_page, design_page, studies_page)  # which register themselves
