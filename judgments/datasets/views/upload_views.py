"""The pages on which files are uploaded to datasets.

For a new dataset, ``add_view`` stores the files, ``_inspect`` shows what was detected in them, and
``_import_inspected`` starts the job that imports the corrected upload. Until then, the session has the choices of the
person, a dict with these keys:

- ``uploaded``, ``format``, ``encoding``, ``pictures_at``: the names of the files, and the fields of `DatasetForm`
- ``maps``: the mapping of each file's table, once a person has changed it
- ``understood``: what was detected, the fields of an `InspectedUpload`
- ``posted``, ``parts``: what the person has entered before the upload was inspected again, and the number of parts then

For an existing dataset, ``import_view`` starts the job at once or, if the meaning of columns is unknown, after
``columns_view``.
"""

from __future__ import annotations

from dataclasses import asdict
from itertools import count
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext

from common.errors import QuorumError
from common.incoming import RequestBytesExceeded
from common.rate_limits import TooManyAttempts
from judgments.access.dataset_roles import has_role
from judgments.admin.base import QuorumAdmin, row_or_404, signed_in
from judgments.datasets import pending_imports, uploads
from judgments.datasets.importing.column_mappings import last_mapping
from judgments.datasets.table_columns import NO_COLUMNS, TABLE_USES, UploadTable
from judgments.datasets.upload_parts import ENCODINGS, InspectedUpload, UploadPart, load_inspected_upload
from judgments.datasets.views import column_form
from judgments.datasets.views.forms import DatasetForm, InspectedUploadForm, UploadForm
from judgments.importers import ImportProblem
from judgments.jobs.queues import enqueue
from judgments.models import Dataset, Job

INSPECTION_JOB = "understand_upload"
# fields, or beginnings of their names, whose values are kept when an upload is inspected again
PRESERVED_FIELDS = ("name", "attribution", "role-", "system-")
# the key of the session that stores the choices, by upload
SESSION_KEY = "quorum-upload"


class UploadViews(QuorumAdmin):
    """The base class of the admin of datasets."""

    def add_view(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        # the form on the page of a job's result posts the upload to the same address
        if "job" in request.GET and "upload" not in request.POST:
            return self._show_job(request, request.GET["job"])
        if upload := request.POST.get("upload") or request.GET.get("upload"):
            return self._show_or_import(request, upload)
        form = DatasetForm(request.POST or None, request.FILES or None)
        if request.method == "POST" and form.is_valid():
            upload = form.store_files()
            if upload is not None:
                form_values = form.cleaned_data
                choices = {name: form_values[name] for name in ("pictures_at", "format", "encoding")}
                choices["uploaded"] = [file.name or "" for file in form_values["files"]]
                try:
                    return self._inspect(request, upload, choices)
                except QuorumError as error:
                    uploads.discard_upload(upload)
                    form.add_error("files", str(error))
        lead = gettext(
            "Upload pictures or source texts, with the texts that systems and people wrote about them."
        )
        return self._page(request, "judgments/upload.html", gettext("Upload your data"), form=form, lead=lead)

    def import_view(self, request: HttpRequest, pk: int, form_class: type[UploadForm]) -> HttpResponse:
        dataset = self._dataset(request, pk)
        if not has_role(request.user, dataset, "editor"):
            raise PermissionDenied
        if form_class.permission and not request.user.has_perm(form_class.permission):
            raise PermissionDenied
        args = {"dataset": dataset.name}
        form = form_class(request.POST or None, request.FILES or None)
        if request.method == "POST" and form.is_valid():
            upload = form.store_files()
            if upload is not None:
                args |= {name: form.cleaned_data[name] for name in ("format", "encoding")}
                try:
                    args |= {"upload": upload, **form.arguments()}
                    if pending_imports.store_if_mapping_needed(form.job, args):
                        return redirect("admin:judgments_dataset_columns", upload)
                    job = enqueue(kind=form.job, args=args, user=signed_in(request))
                except QuorumError as error:
                    uploads.discard_upload(upload)
                    form.add_error(None, str(error))
                else:
                    return redirect(reverse("admin:judgments_job_change", args=[job.pk]))
        title = f"{dataset.name}: {gettext(form.title)}"
        lead = gettext(form.lead).format(dataset=dataset.name)
        return self._page(request, "judgments/upload.html", title, form=form, lead=lead)

    def columns_view(self, request: HttpRequest, upload: str) -> HttpResponse:
        """Ask for the meaning of a table's columns and for corrections of invalid cells; then import the table."""
        user = signed_in(request)
        pending_import = None
        if uploads.is_upload_of(upload, user):
            # "kind" and "args" of the job, and "table", the fields of an `UploadTable`
            pending_import = pending_imports.find_pending_import(upload)
        if pending_import is None:
            return self._ask_for_files_again(request, "changelist")
        if request.method == "POST":
            try:
                args = column_form.posted_arguments(pending_import, request.POST.dict(), request.FILES.dict())
                # the button "Update" reads the table again, with another header
                if "_again" in request.POST and pending_imports.store_if_mapping_needed(
                    pending_import["kind"], args
                ):
                    return redirect("admin:judgments_dataset_columns", upload)
                job = enqueue(kind=pending_import["kind"], args=args, user=user)
            except QuorumError as error:
                messages.error(request, str(error))
            else:
                return redirect(reverse("admin:judgments_job_change", args=[job.pk]))
        table = UploadTable(**pending_import["table"])
        table_use = TABLE_USES.get(pending_import["kind"], NO_COLUMNS)
        return self._page(
            request,
            table_use.template,
            gettext("Correct the columns") if table.problems else gettext("Meaning of the columns"),
            table=column_form.mapping_context(pending_import["kind"], pending_import["args"], table),
            problems=[
                problem | {"said": column_form.replace_options_by_labels(problem["said"])}
                for problem in table.problems
            ],
        )

    def _inspect(self, request: HttpRequest, upload: str, choices: dict[str, Any]) -> HttpResponse:
        """Show what was detected in an upload; for a large upload, start a job and redirect to its page."""
        last_columns = last_mapping("dataset", user=signed_in(request)) if not choices.get("maps") else {}
        args = {
            "upload": upload,
            "uploaded": choices["uploaded"],
            "encoding": choices["encoding"],
            "maps": choices.get("maps") or {"": {"columns": last_columns}},  # "" stands for the last import
        }
        try:
            inspection = uploads.inspect_stored_upload(**args)
        except RequestBytesExceeded:
            job = enqueue(kind=INSPECTION_JOB, args=args, user=signed_in(request))
            self._store_choices(request, upload, choices)
            return redirect(reverse("admin:judgments_job_change", args=[job.pk]))
        return self._show_inspection(request, upload, choices, inspection)

    def _store_choices(self, request: HttpRequest, upload: str, choices: dict[str, Any]) -> None:
        """Store the choices for an upload in the session, and discard the session's earlier upload."""
        for earlier_upload in request.session.get(SESSION_KEY, {}).keys() - {upload}:
            uploads.discard_upload(earlier_upload)
        request.session[SESSION_KEY] = {upload: choices}

    def _show_job(self, request: HttpRequest, pk: str) -> HttpResponse:
        job = row_or_404(
            Job.objects.filter(kind=INSPECTION_JOB, state=Job.State.DONE, created_by=signed_in(request)), pk
        )
        choices = request.session.get(SESSION_KEY, {}).get(job.args["upload"])
        if choices is None:
            return self._ask_for_files_again(request, "add")
        inspection = load_inspected_upload((job.result or {})["understood"])
        return self._show_inspection(request, job.args["upload"], choices, inspection)

    def _show_or_import(self, request: HttpRequest, upload: str) -> HttpResponse:
        choices = request.session.get(SESSION_KEY, {}).get(upload)
        if choices is None or "understood" not in choices:
            return self._ask_for_files_again(request, "add")
        inspection = load_inspected_upload(choices["understood"])
        form = InspectedUploadForm(request.POST or None, inspection=inspection)
        if form.is_bound:
            return self._import_inspected(request, upload, choices, form)
        return self._inspection_page(request, form, upload)

    def _show_inspection(
        self, request: HttpRequest, upload: str, choices: dict[str, Any], inspection: InspectedUpload
    ) -> HttpResponse:
        """Store what was detected in an upload in the session, and show it with what the person has entered so far."""
        posted_values = choices.get("posted", {})
        inspection.name = posted_values.get("name") or _free_name(inspection.name)
        _apply_format(inspection, choices["format"])
        self._store_choices(request, upload, choices | {"understood": asdict(inspection)})
        # the page's script follows the redirect
        if request.headers.get("X-Requested-With") == "XMLHttpRequest":
            return redirect(f"{reverse('admin:judgments_dataset_add')}?upload={upload}")
        form = InspectedUploadForm(inspection=inspection)
        # fields of parts are numbered, so they are kept only if the number of parts is still the same
        kept_prefixes = ("role-", "system-") if len(inspection.parts) == choices.get("parts") else ()
        form.initial = {
            name: value
            for name, value in posted_values.items()
            if name in form.fields and name.startswith(("attribution", *kept_prefixes))
        }
        return self._inspection_page(request, form, upload)

    def _inspection_page(self, request: HttpRequest, form: InspectedUploadForm, upload: str) -> HttpResponse:
        tables = [
            (f"{number}-", name, column_form.mapping_context("dataset", {}, UploadTable(**table)))
            for number, (name, table) in enumerate(form.inspection.tables.items())
        ]
        return self._page(
            request,
            "judgments/understood.html",
            gettext("Check the upload"),
            form=form,
            upload=upload,
            understood=form.inspection,
            tables=tables,
            may_add_study=request.user.has_perm("judgments.add_study"),
            problems=list(map(column_form.replace_options_by_labels, form.inspection.problems)),
        )

    def _import_inspected(
        self, request: HttpRequest, upload: str, choices: dict[str, Any], form: InspectedUploadForm
    ) -> HttpResponse:
        inspection = form.inspection
        tables = {name: UploadTable(**table) for name, table in inspection.tables.items()}
        try:
            maps = column_form.posted_maps(tables, request.POST.dict())
        except ImportProblem as problem:
            messages.error(request, str(problem))
            return self._inspection_page(request, form, upload)
        if "_again" in request.POST:  # the button "Update"
            return self._inspect_again(request, upload, choices, maps)
        if not form.is_valid():
            return self._inspection_page(request, form, upload)
        form_values = form.cleaned_data
        notice = ""
        if form_values["encoding"] != inspection.encoding:
            notice = gettext("Nothing is imported yet. This preview shows the rows in the chosen encoding.")
        elif maps != {name: table.as_mapping() for name, table in tables.items()}:
            notice = gettext("Nothing is imported yet. This preview shows the rows with the chosen columns.")
        if notice:  # the person has not seen the preview yet
            messages.info(request, notice)
            return self._inspect_again(request, upload, choices, maps)
        with_pictures = inspection.pictures and not form_values.get("without_pictures")
        args = {
            "upload": upload,
            "name": form_values["name"],
            "attribution": form_values["attribution"],
            "images": choices["pictures_at"],
            "parts": form.parts(),
            "pictures": inspection.folder if with_pictures else None,
        }
        try:
            job = enqueue(kind="import_dataset", args=args, user=signed_in(request))
        except TooManyAttempts as error:
            messages.error(request, str(error))
            return self._inspection_page(request, form, upload)
        del request.session[SESSION_KEY]
        query = "?then=design" if "_design" in request.POST else ""  # the job leads on to a new study
        return redirect(reverse("admin:judgments_job_change", args=[job.pk]) + query)

    def _inspect_again(
        self, request: HttpRequest, upload: str, old_choices: dict[str, Any], maps: dict[str, dict[str, Any]]
    ) -> HttpResponse:
        """Inspect an upload with other choices, and keep what the person has entered."""
        encoding = request.POST.get("encoding", "")
        old_inspection = old_choices.pop("understood")
        posted_values = {
            name: value for name, value in request.POST.items() if value and name.startswith(PRESERVED_FIELDS)
        }
        choices = old_choices | {
            "encoding": encoding if encoding in ENCODINGS else "",
            "maps": maps,
            "parts": len(old_inspection["parts"]),
            "posted": {"name": old_inspection["name"], **posted_values},
        }
        try:
            return self._inspect(request, upload, choices)
        except QuorumError as error:
            messages.error(request, str(error))
            return redirect("admin:judgments_dataset_add")

    def _page(self, request: HttpRequest, template: str, title: str, **variables: Any) -> HttpResponse:
        context = {**self.admin_site.each_context(request), "title": title, **variables}
        return TemplateResponse(request, template, context)

    def _ask_for_files_again(self, request: HttpRequest, page: str) -> HttpResponse:
        messages.error(request, gettext("Nothing was imported. Please upload the files again."))
        return redirect(f"admin:judgments_dataset_{page}")


def _apply_format(inspection: InspectedUpload, format: str) -> None:
    """Treat the whole upload as one part in the chosen format, if one was chosen."""
    if format:
        part = UploadPart(format=format, encoding=inspection.encoding or "utf-8")
        # ``lacking`` is the number of images without a picture, which is unknown now.
        inspection.parts, inspection.problems, inspection.lacking = [part], [], 0


def _free_name(name: str) -> str:
    """Return the name or, if there is a dataset of this name already, the name with a number, such as "photos-2"."""
    free_name = name
    for number in count(2):
        if not Dataset.objects.filter(name=free_name).exists():
            break
        free_name = f"{name[:70]}-{number}"
    return free_name
