"""The pages of a dataset: its contents, and uploads of files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.core.validators import RegexValidator
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy, gettext_noop
from django.views.decorators.http import require_POST
from unfold.decorators import display
from unfold.widgets import (
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from common.errors import QuorumError
from common.incoming import RequestBytesExceeded
from common.rate_limits import TooManyAttempts
from judgments.access.dataset_roles import DATASET_ROLES, has_role
from judgments.access.rights import Person
from judgments.access.views import offered_accounts
from judgments.access.visible_rows import visible_rows
from judgments.admin.base import CountColumn, QuorumAdmin, count_of, picture_address, row_or_404, signed_in
from judgments.admin.documentation import page_of_feature, with_help
from judgments.datasets import pending_imports, uploads
from judgments.datasets.importing import last_mapping
from judgments.datasets.operations import OPERATIONS
from judgments.datasets.table_columns import NO_COLUMNS, TABLE_USES, UploadTable
from judgments.datasets.upload_parts import (
    ENCODINGS,
    IMAGES,
    LEFT_OUT,
    PEOPLE,
    SYSTEM,
    InspectedUpload,
    UploadPart,
    load_inspected_upload,
)
from judgments.importers import (
    CANDIDATE_FORMATS,
    DATASET_FORMATS,
    IMPORT_FORMATS,
    TABLE_FORMATS,
    ImportProblem,
    read_layouts,
)
from judgments.jobs.queues import enqueue
from judgments.models import (
    Caption,
    Dataset,
    DatasetRole,
    Item,
    Job,
    Output,
    PublishedPair,
    Study,
    System,
    SystemContent,
)
from judgments.studies.step_form import read_posted_parameters

SAMPLE = 8  # images on a dataset's page
FORMAT_TITLES = {
    **{how.name: how.title for how in IMPORT_FORMATS},
    "jsonl": gettext_noop("JSON lines, one object per line"),
    "csv": gettext_noop("CSV with a header line"),
    "tsv": gettext_noop("TSV: tabs between the columns"),
    "json": gettext_noop("JSON: a list of objects"),
    "xlsx": gettext_noop("Excel (.xlsx): the first sheet"),
    "parquet": gettext_noop("Parquet"),
    **{name: how.title for name, how in read_layouts().items()},
    "annotation": gettext_noop("Texts ranked for an item: qid is the item, docid is the id of a text"),
    "search": gettext_noop("Items ranked for a text: qid is the id of the text, docid is an item"),
    "inputs": gettext_noop("CSV with a header line: rows of inputs for a HIT template"),
}
N_IMAGES = count_of(Item.objects.all(), "dataset")
N_CAPTIONS = count_of(Caption.objects.filter(role=Caption.Role.REFERENCE), "dataset")
INSPECTION_JOB = "understand_upload"
# Fields, or beginnings of fields, whose values stay when an upload is inspected again.
PRESERVED_FIELDS = ("name", "attribution", "role-", "system-")
# The key of the session that stores, by upload, the choices and what was detected, until the import.
SESSION_KEY = "quorum-upload"
ROLE_WORDS = {
    PEOPLE: gettext_lazy("captions by people"),
    SYSTEM: gettext_lazy("captions of a system"),
    LEFT_OUT: gettext_lazy("left out"),
}
ROLES_BESIDE_TEXTS = ROLE_WORDS | {
    PEOPLE: gettext_lazy("references by people"),
    SYSTEM: gettext_lazy("outputs of a system"),
}
ROLES_OF_TEXTS = {PEOPLE: gettext_lazy("source texts"), LEFT_OUT: ROLE_WORDS[LEFT_OUT]}


def role_words(part: UploadPart) -> dict[str, Any]:
    return ROLES_OF_TEXTS if part.sources else ROLES_BESIDE_TEXTS if part.texts else ROLE_WORDS


short_name = RegexValidator(
    r"^[-a-zA-Z0-9_]+\Z",
    gettext_lazy("Use only letters from a to z, digits, hyphens and underscores, such as my-photos."),
)


@dataclass(frozen=True, slots=True)
class DatasetPage:
    """A page of a dataset that an app adds. Everybody who may read the dataset may open it."""

    name: str
    view: Callable[[HttpRequest, Dataset, dict[str, Any]], HttpResponse]
    title: str = ""  # title of the link on the dataset's own page


PAGES: dict[str, DatasetPage] = {}


def add_dataset_page(page: DatasetPage) -> None:
    PAGES[page.name] = page


class FilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class FilesField(forms.FileField):
    widget = FilesInput

    def clean(self, data: Any, initial: Any = None) -> list[UploadedFile]:
        files = data if isinstance(data, list | tuple) else [data]
        return [super(FilesField, self).clean(file, initial) for file in files]


class FilesForm(forms.Form):
    """A form to upload files and choose their encoding; ``automatic_encoding`` is the label of the empty choice."""

    folded: ClassVar[tuple[str, ...]] = ()  # fields below Advanced
    files_help: ClassVar[str]
    automatic_encoding: ClassVar[str] = gettext_noop("Detect automatically")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["files"] = FilesField(label=gettext_lazy("Files"), help_text=gettext(self.files_help))
        self.fields["encoding"] = encoding_field(self.automatic_encoding)
        self.order_fields(self.field_order)

    def keep(self) -> str | None:
        """Store the files and return the upload's name. If they are refused, add an error to the form; return None."""
        try:
            return uploads.keep(self.cleaned_data["files"])
        except QuorumError as error:
            self.add_error("files", str(error))
            return None


def encoding_field(default_label: str) -> forms.ChoiceField:
    return forms.ChoiceField(
        label=gettext_lazy("Encoding"),
        required=False,
        choices=[
            ("", gettext(default_label)),
            *((name, gettext(title)) for name, title in ENCODINGS.items()),
        ],
        help_text=gettext_lazy(
            "Character encoding. A byte order mark at the beginning of a file takes precedence."
        ),
        widget=UnfoldAdminSelectWidget,
    )


class UploadForm(FilesForm):
    """A form to upload files that a job imports into a dataset.

    Attributes:
        formats: the names of the formats.
        titles: the label of each format on the page.
        lead: the sentence above the form; it may hold ``{dataset}``.
        permission: the permission that the account needs besides its role in the dataset.
        help: the documentation page; if empty, that of the form's feature.
    """

    formats: ClassVar[tuple[str, ...]]
    titles: ClassVar[Mapping[str, str]] = FORMAT_TITLES
    help: ClassVar[str] = ""
    format_label: ClassVar[str] = gettext_noop("Format")
    files_help = gettext_noop("One file, several files that belong together, or a zip file of a folder.")
    automatic_encoding = gettext_noop("UTF-8, unless the file has a byte order mark")
    job: ClassVar[str]
    title: ClassVar[str]
    lead: ClassVar[str]
    permission: ClassVar[str] = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["format"] = forms.ChoiceField(
            label=gettext(self.format_label),
            choices=[(name, gettext_lazy(self.titles.get(name, name))) for name in self.formats],
            widget=UnfoldAdminRadioSelectWidget,
        )
        self.order_fields(self.field_order)

    def arguments(self) -> dict[str, str]:
        return {}


class DatasetForm(FilesForm):
    pictures_at = forms.URLField(
        label=gettext_lazy("Address of the pictures"),
        required=False,
        assume_scheme="https",
        help_text=gettext_lazy(
            "Enter the address (https://…) if the pictures are on a server already. The file name "
            "of each image is appended to the address."
        ),
        widget=UnfoldAdminTextInputWidget,
    )
    format = forms.ChoiceField(
        label=gettext_lazy("Format"),
        required=False,
        choices=[
            ("", gettext_lazy("Detect automatically")),
            *((name, gettext_lazy(FORMAT_TITLES.get(name, name))) for name in DATASET_FORMATS),
        ],
        help_text=gettext_lazy(
            "Needed only if the format of a file or folder is not detected automatically."
        ),
        widget=UnfoldAdminSelectWidget,
    )
    folded = ("pictures_at", "format", "encoding")
    field_order = ("files",)
    files_help = gettext_noop(
        "Tables (Excel, CSV, JSON, Parquet) and pictures, if any, as single files or as a zip archive."
    )


class InspectedUploadForm(forms.Form):
    """A form to correct what was detected in an upload: the dataset's name, and the author of each part's captions."""

    def __init__(self, *args: Any, understood: InspectedUpload, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.understood = understood
        self.fields["name"] = forms.CharField(
            label=gettext_lazy("Name of the dataset"),
            max_length=80,
            initial=understood.name,
            validators=[short_name],
            help_text=gettext_lazy("Letters, digits, hyphens and underscores."),
            widget=UnfoldAdminTextInputWidget,
        )
        self.fields["attribution"] = forms.CharField(
            label=gettext_lazy("Source and licence"),
            required=False,
            max_length=5_000,
            help_text=gettext_lazy(
                "Name the people who made the data and the terms under which the data can be used."
            ),
            widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        )
        for number, part in enumerate(understood.parts):
            self.fields[f"role-{number}"] = forms.ChoiceField(
                label=gettext_lazy("Content"),
                choices=list(role_words(part).items()),
                initial=part.role,
                widget=UnfoldAdminSelectWidget,
            )
            self.fields[f"system-{number}"] = forms.CharField(
                label=gettext_lazy("Name of the system"),
                required=False,
                max_length=80,
                initial=part.system,
                widget=UnfoldAdminTextInputWidget,
            )
        self.fields["encoding"] = encoding_field(gettext("Detect automatically"))
        self.fields["encoding"].initial = understood.encoding
        self.fields["encoding"].help_text = gettext(
            "If letters look wrong, choose another encoding and update the preview."
        )
        if understood.lacking:
            self.fields["without_pictures"] = forms.BooleanField(
                label=gettext_lazy("Import the dataset without the pictures"),
                required=False,
                widget=UnfoldBooleanWidget,
            )

    def parts(self) -> list[dict[str, Any]]:
        """Return the parts to import, people's captions first."""
        cleaned = self.cleaned_data
        chosen = [
            replace(
                part,
                role=cleaned[f"role-{number}"],
                system=cleaned[f"system-{number}"].strip(),
                rows=(),
            )
            for number, part in enumerate(self.understood.parts)
        ]
        systems = [part for part in chosen if part.role == SYSTEM]
        people = [part for part in chosen if part.role == PEOPLE]
        if not people:
            tables = [part for part in systems if part.format in TABLE_FORMATS]
            people = [replace(max(tables, key=lambda part: part.images), role=IMAGES)]
        columns = tuple(column for part in people for column in part.columns)
        return [asdict(part) for part in (replace(people[0], columns=columns), *systems)]

    def shown(self) -> list[dict[str, Any]]:
        return [
            {"part": part, "role": self[f"role-{number}"], "system": self[f"system-{number}"]}
            for number, part in enumerate(self.understood.parts)
        ]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        parts = self.understood.parts
        roles = [cleaned.get(f"role-{number}") for number in range(len(parts))]
        names = [
            cleaned.get(f"system-{number}", "").strip() for number, role in enumerate(roles) if role == SYSTEM
        ]
        people = [part for part, role in zip(parts, roles, strict=True) if role == PEOPLE]
        if not people and not any(
            role == SYSTEM and part.format in TABLE_FORMATS for part, role in zip(parts, roles, strict=True)
        ):
            raise forms.ValidationError(
                gettext(
                    "No file contains texts by people. For the file that contains such texts, choose captions "
                    "or references by people in the field “Content”. Only a table (CSV or JSON lines) of "
                    "systems’ "
                    "texts can be imported without texts by people."
                )
            )
        if len(people) > 1 and (
            len({part.file for part in people}) > 1 or not all(p.columns for p in people)
        ):
            raise forms.ValidationError(
                gettext(
                    "Several parts of the upload contain texts by people (%(n)s); expected one part, or several "
                    "columns of one file."
                )
                % {"n": len(people)}
            )
        if not all(names):
            raise forms.ValidationError(gettext("A system has no name; expected a name for each system."))
        if len(set(names)) < len(names):
            raise forms.ValidationError(
                gettext("Two systems have the same name; expected a different name for each.")
            )
        if self.understood.lacking and not cleaned.get("without_pictures"):
            raise forms.ValidationError(
                gettext(
                    "Some images have no picture. Upload all pictures, or choose to import the "
                    "dataset without pictures."
                )
            )
        return cleaned


class CandidatesForm(UploadForm):
    formats = tuple(CANDIDATE_FORMATS)
    job = "import_candidates"
    title = gettext_noop("Import candidates")
    help = "formats.md#candidates-what-one-system-says"
    lead = gettext_noop("Import a system's texts for the items of {dataset}.")
    field_order = ("system", "format", "files")

    system = forms.CharField(
        label=gettext_lazy("System"),
        max_length=80,
        help_text=gettext_lazy("The system that wrote these texts. Participants never see its name."),
        widget=UnfoldAdminTextInputWidget,
    )

    def arguments(self) -> dict[str, str]:
        return {"system": self.cleaned_data["system"]}


class RankingsForm(UploadForm):
    formats = tuple(Output.Task.values)
    job = "import_rankings"
    title = gettext_noop("Import rankings")
    help = "formats.md#rankings"
    lead = gettext_noop(
        "Import ranked lists of systems: texts ranked for the items of {dataset}, or items ranked for texts."
    )
    field_order = ("format", "files")
    format_label = gettext_noop("Type of ranking")
    files_help = gettext_noop("TREC run lines: qid, Q0, docid, rank, score and system, separated by blanks.")


UPLOADS: dict[str, type[UploadForm]] = {"candidates": CandidatesForm, "rankings": RankingsForm}


def add_upload(name: str, form: type[UploadForm]) -> None:
    """Add an upload form, with a button on the page of each dataset."""
    UPLOADS[name] = form


def _apply_format(understood: InspectedUpload, format: str) -> None:
    """Treat the whole upload as one part in the chosen format, if one was chosen."""
    if format:
        part = UploadPart(format=format, encoding=understood.encoding or "utf-8")
        understood.parts, understood.problems, understood.lacking = [part], [], 0


@admin.register(Dataset)
class DatasetAdmin(QuorumAdmin):
    help = "formats.md#one-upload"
    empty_words = "A dataset contains pictures or texts, and what people and systems wrote about them."
    list_display = (
        "dataset",
        "source_format",
        CountColumn("images", "n_images", lambda person: N_IMAGES),
        CountColumn("captions", "n_captions", lambda person: N_CAPTIONS),
        CountColumn(
            "systems", "n_systems", lambda person: count_of(System.objects.visible_to(person), "dataset")
        ),
        CountColumn(
            "studies", "n_studies", lambda person: count_of(Study.objects.visible_to(person), "dataset")
        ),
        "sharing",
        "created_at",
    )
    list_display_links = None
    add_label = "Import a dataset"
    search_fields = ("name",)
    actions = None

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @display(description="dataset", ordering="name")
    def dataset(self, dataset: Dataset) -> SafeString:
        address = reverse("admin:judgments_dataset_change", args=[dataset.pk])
        return format_html('<a class="q-name" href="{}">{}</a>', address, dataset.name)

    def get_urls(self) -> list[URLPattern]:
        return [
            path(
                "columns/<slug:upload>/",
                with_help(self.admin_site.admin_view(self.columns_view), "imports.md"),
                name="judgments_dataset_columns",
            ),
            path(
                "<int:pk>/do/<slug:name>/",
                self.admin_site.admin_view(require_POST(self.do_view)),
                name="judgments_dataset_do",
            ),
            *(
                path(
                    f"<int:pk>/{name}/",
                    with_help(
                        self.admin_site.admin_view(partial(self.import_view, form_class=form_class)),
                        form_class.help or page_of_feature(form_class),
                    ),
                    name=f"judgments_dataset_{name}",
                )
                for name, form_class in UPLOADS.items()
            ),
            *(
                path(
                    f"<int:pk>/{page.name}/",
                    with_help(
                        self.admin_site.admin_view(partial(self.page_view, page=page)),
                        page_of_feature(page.view),
                    ),
                    name=f"judgments_dataset_{page.name}",
                )
                for page in PAGES.values()
            ),
            *super().get_urls(),
        ]

    def add_view(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        if "job" in request.GET and "upload" not in request.POST:
            return self._show_job(request, request.GET["job"])
        if upload := request.POST.get("upload") or request.GET.get("upload"):
            return self._show_or_import(request, upload)
        form = DatasetForm(request.POST or None, request.FILES or None)
        if request.method == "POST" and form.is_valid():
            upload = form.keep()
            if upload is not None:
                cleaned = form.cleaned_data
                choices = {name: cleaned[name] for name in ("pictures_at", "format", "encoding")}
                choices["uploaded"] = [file.name or "" for file in cleaned["files"]]
                try:
                    return self._look(request, upload, choices)
                except QuorumError as error:
                    uploads.discard_upload(upload)
                    form.add_error("files", str(error))
        lead = gettext(
            "Upload pictures or source texts, with the texts that systems and people wrote about them."
        )
        return self._page(request, "judgments/upload.html", gettext("Upload your data"), form=form, lead=lead)

    def _look(self, request: HttpRequest, upload: str, choices: dict[str, Any]) -> HttpResponse:
        """Show what was detected in an upload; for a large upload, start a job and redirect to its page."""
        args = {"upload": upload, "uploaded": choices["uploaded"], "encoding": choices["encoding"]}
        args["maps"] = choices.get("maps") or {
            "": {"columns": last_mapping("dataset", user=signed_in(request))}
        }
        try:
            understood = uploads.look_at(**args)
        except RequestBytesExceeded:
            job = enqueue(kind=INSPECTION_JOB, args=args, user=signed_in(request))
            self._remember(request, upload, choices)
            return redirect(reverse("admin:judgments_job_change", args=[job.pk]))
        return self._show_understood(request, upload, choices, understood)

    def _remember(self, request: HttpRequest, upload: str, choices: dict[str, Any]) -> None:
        for earlier in request.session.get(SESSION_KEY, {}).keys() - {upload}:
            uploads.discard_upload(earlier)
        request.session[SESSION_KEY] = {upload: choices}

    def _show_job(self, request: HttpRequest, pk: str) -> HttpResponse:
        """Show what a job detected in an upload."""
        job = row_or_404(
            Job.objects.filter(kind=INSPECTION_JOB, state=Job.State.DONE, created_by=signed_in(request)), pk
        )
        choices = request.session.get(SESSION_KEY, {}).get(job.args["upload"])
        if choices is None:
            return self._ask_for_files_again(request, "add")
        return self._show_understood(
            request, job.args["upload"], choices, load_inspected_upload((job.result or {})["understood"])
        )

    def _show_or_import(self, request: HttpRequest, upload: str) -> HttpResponse:
        """Show what was detected in an upload, or import it; ask for the files if they are no longer stored."""
        choices = request.session.get(SESSION_KEY, {}).get(upload)
        if choices is None or "understood" not in choices:
            return self._ask_for_files_again(request, "add")
        form = InspectedUploadForm(
            request.POST or None, understood=load_inspected_upload(choices["understood"])
        )
        if form.is_bound:
            return self._import_understood(request, upload, choices, form)
        return self._understood_page(request, form, upload)

    def _show_understood(
        self, request: HttpRequest, upload: str, choices: dict[str, Any], understood: InspectedUpload
    ) -> HttpResponse:
        posted = choices.get("posted", {})
        understood.name = posted.get("name") or _free_name(understood.name)
        _apply_format(understood, choices["format"])
        self._remember(request, upload, choices | {"understood": asdict(understood)})
        if (
            request.headers.get("X-Requested-With") == "XMLHttpRequest"
        ):  # the page's script follows the redirect
            return redirect(f"{reverse('admin:judgments_dataset_add')}?upload={upload}")
        form = InspectedUploadForm(understood=understood)
        chosen = ("role-", "system-") if len(understood.parts) == choices.get("parts") else ()
        form.initial = {
            name: value
            for name, value in posted.items()
            if name in form.fields and name.startswith(("attribution", *chosen))
        }
        return self._understood_page(request, form, upload)

    def _import_understood(
        self, request: HttpRequest, upload: str, choices: dict[str, Any], form: InspectedUploadForm
    ) -> HttpResponse:
        understood = form.understood
        tables = {name: UploadTable(**table) for name, table in understood.tables.items()}
        try:
            maps = pending_imports.posted_maps(tables, request.POST.dict())
        except ImportProblem as problem:
            messages.error(request, str(problem))
            return self._understood_page(request, form, upload)
        if "_again" in request.POST:
            return self._look_again(request, upload, choices, maps)
        if not form.is_valid():
            return self._understood_page(request, form, upload)
        cleaned, unseen = form.cleaned_data, ""
        if cleaned["encoding"] != understood.encoding:
            unseen = gettext("Nothing is imported yet. This preview shows the rows in the chosen encoding.")
        elif maps != {name: table.as_mapping() for name, table in tables.items()}:
            unseen = gettext("Nothing is imported yet. This preview shows the rows with the chosen columns.")
        if unseen:
            messages.info(request, unseen)
            return self._look_again(request, upload, choices, maps)
        with_pictures = understood.pictures and not cleaned.get("without_pictures")
        args = {
            "upload": upload,
            "name": cleaned["name"],
            "attribution": cleaned["attribution"],
            "images": choices["pictures_at"],
            "parts": form.parts(),
            "pictures": understood.folder if with_pictures else None,
        }
        try:
            job = enqueue(kind="import_dataset", args=args, user=signed_in(request))
        except TooManyAttempts as error:
            messages.error(request, str(error))
            return self._understood_page(request, form, upload)
        del request.session[SESSION_KEY]
        then = "?then=design" if "_design" in request.POST else ""
        return redirect(reverse("admin:judgments_job_change", args=[job.pk]) + then)

    def _look_again(
        self, request: HttpRequest, upload: str, earlier: dict[str, Any], maps: dict[str, dict[str, Any]]
    ) -> HttpResponse:
        encoding, before = request.POST.get("encoding", ""), earlier.pop("understood")
        choices = earlier | {
            "encoding": encoding if encoding in ENCODINGS else "",
            "maps": maps,
            "parts": len(before["parts"]),
            "posted": {"name": before["name"]}
            | {
                name: value
                for name, value in request.POST.items()
                if value and name.startswith(PRESERVED_FIELDS)
            },
        }
        try:
            return self._look(request, upload, choices)
        except QuorumError as error:
            messages.error(request, str(error))
            return redirect("admin:judgments_dataset_add")

    def _understood_page(self, request: HttpRequest, form: InspectedUploadForm, upload: str) -> HttpResponse:
        tables = [
            (f"{number}-", name, pending_imports.offered("dataset", {}, UploadTable(**table)))
            for number, (name, table) in enumerate(form.understood.tables.items())
        ]
        return self._page(
            request,
            "judgments/understood.html",
            gettext("Check the upload"),
            form=form,
            upload=upload,
            understood=form.understood,
            tables=tables,
            may_add_study=request.user.has_perm("judgments.add_study"),
            problems=list(map(pending_imports.name_controls, form.understood.problems)),
        )

    def import_view(self, request: HttpRequest, pk: int, form_class: type[UploadForm]) -> HttpResponse:
        dataset = self._dataset(request, pk)
        if not has_role(request.user, dataset, "editor"):
            raise PermissionDenied
        if form_class.permission and not request.user.has_perm(form_class.permission):
            raise PermissionDenied
        args = {"dataset": dataset.name}
        form = form_class(request.POST or None, request.FILES or None)
        if request.method == "POST" and form.is_valid():
            upload = form.keep()
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
        waiting = pending_imports.find_pending_import(upload) if uploads.is_of(upload, user) else None
        if waiting is None:
            return self._ask_for_files_again(request, "changelist")
        if request.method == "POST":
            try:
                args = pending_imports.posted(waiting, request.POST.dict(), request.FILES.dict())
                if "_again" in request.POST and pending_imports.store_if_mapping_needed(
                    waiting["kind"], args
                ):
                    return redirect("admin:judgments_dataset_columns", upload)
                job = enqueue(kind=waiting["kind"], args=args, user=user)
            except QuorumError as error:
                messages.error(request, str(error))
            else:
                return redirect(reverse("admin:judgments_job_change", args=[job.pk]))
        table = UploadTable(**waiting["table"])
        use = TABLE_USES.get(waiting["kind"], NO_COLUMNS)
        return self._page(
            request,
            use.template,
            gettext("Correct the columns") if table.problems else gettext("Meaning of the columns"),
            table=pending_imports.offered(waiting["kind"], waiting["args"], table),
            problems=[
                problem | {"said": pending_imports.name_controls(problem["said"])}
                for problem in table.problems
            ],
        )

    def _page(self, request: HttpRequest, template: str, title: str, **shown: Any) -> HttpResponse:
        context = {**self.admin_site.each_context(request), "title": title, **shown}
        return TemplateResponse(request, template, context)

    def _ask_for_files_again(self, request: HttpRequest, page: str) -> HttpResponse:
        messages.error(request, gettext("Nothing was imported. Please upload the files again."))
        return redirect(f"admin:judgments_dataset_{page}")

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **options: Any) -> HttpResponse:
        dataset = self._dataset(request, object_id)
        members = DatasetRole.objects.visible_to(request.user).filter(dataset=dataset)
        return self._page(
            request,
            "judgments/dataset.html",
            dataset.name,
            dataset=dataset,
            may_change=has_role(request.user, dataset, "editor"),
            may_own=(may_own := has_role(request.user, dataset, "owner")),
            members=members.select_related("user", "given_by").order_by("given_at", "pk"),
            roles=DATASET_ROLES,
            sharings=Dataset.Sharing.choices,
            me=signed_in(request),
            **(offered_accounts() if may_own else {}),
            links=[
                (reverse(f"admin:judgments_dataset_{name}", args=[dataset.pk]), gettext(page.title))
                for name, page in PAGES.items()
                if page.title
            ],
            imports=[
                (reverse(f"admin:judgments_dataset_{name}", args=[dataset.pk]), gettext(form.title))
                for name, form in UPLOADS.items()
                if not form.permission or request.user.has_perm(form.permission)
            ],
            may_add_study=request.user.has_perm("judgments.add_study"),
            **_contents(dataset, request.user),
        )

    def _dataset(self, request: HttpRequest, pk: int | str) -> Dataset:
        return row_or_404(visible_rows(Dataset.objects.all(), request.user), pk)

    def page_view(self, request: HttpRequest, pk: int, page: DatasetPage) -> HttpResponse:
        dataset = self._dataset(request, pk)
        context = {**self.admin_site.each_context(request), "title": dataset.name, "dataset": dataset}
        return page.view(request, dataset, context)

    def do_view(self, request: HttpRequest, pk: int, name: str) -> HttpResponse:
        dataset = self._dataset(request, pk)
        operation = OPERATIONS.get(name)
        if operation is None:
            raise Http404
        if operation.role and not has_role(request.user, dataset, operation.role):
            raise PermissionDenied
        try:
            values = read_posted_parameters(request, operation.parameters)
            sentence = operation.carry_out(dataset=dataset, by=signed_in(request), **values)
        except QuorumError as error:
            messages.error(request, str(error))
        else:
            messages.success(request, sentence)
        if not Dataset.objects.visible_to(request.user).filter(pk=dataset.pk).exists():
            # the person has just given up their own role
            return redirect("admin:judgments_dataset_changelist")
        return redirect("admin:judgments_dataset_change", dataset.pk)


def import_or_queue(
    request: HttpRequest, file: UploadedFile, read: Callable[[Path], str], *, kind: str, args: dict[str, Any]
) -> None:
    """Import an uploaded file with ``read``, and show the message that it returns. Queue a job for a large file."""
    upload = uploads.keep([file])
    try:
        with uploads.open_upload(upload) as files:
            sentence = read(files.path)
    except RequestBytesExceeded:
        enqueue(kind=kind, args={"upload": upload, **args}, user=signed_in(request))
        sentence = gettext("The file is being imported; the list of jobs shows the result.")
    else:
        uploads.discard_upload(upload)
    messages.success(request, sentence)


def _free_name(name: str) -> str:
    tried = (name if number == 1 else f"{name[:70]}-{number}" for number in count(1))
    return next(candidate for candidate in tried if not Dataset.objects.filter(name=candidate).exists())


def _contents(dataset: Dataset, person: Person) -> dict[str, Any]:
    """Return the context of a dataset's page, in six queries for any size."""
    items = Item.objects.filter(dataset=dataset)
    sample = list(items.select_related("dataset").prefetch_related("references")[:SAMPLE])
    kinds = ["import_dataset", "scale_pictures", *(form.job for form in UPLOADS.values())]
    jobs = visible_rows(Job.objects.filter(kind__in=kinds), person).filter(
        Q(args__dataset=dataset.name) | Q(args__name=dataset.name)
    )
    return {
        "splits": list(items.order_by().values("split").annotate(n=Count("pk")).order_by("split")),
        "counts": Dataset.objects.filter(pk=dataset.pk).values(
            n_images=N_IMAGES,
            n_captions=N_CAPTIONS,
            n_pairs=count_of(PublishedPair.objects.all(), "dataset"),
            n_unscaled=count_of(Item.objects.filter(scaled={}).exclude(picture=""), "dataset"),
        )[0],
        "systems": list(
            System.objects.visible_to(person)
            .filter(dataset=dataset)
            .select_related("owner")
            .annotate(
                n=count_of(Output.objects.annotations(), "system"),
                search_results=count_of(Output.objects.searches(), "system"),
                contents_count=count_of(SystemContent.objects.all(), "system"),
            )
        ),
        "studies": list(Study.objects.visible_to(person).filter(dataset=dataset)[:20]),
        "sample": [
            {"item": item, "picture": picture_address(item), "captions": list(item.references.all())[:3]}
            for item in sample
        ],
        "of_texts": bool(sample) and all(item.text and not picture_address(item) for item in sample),
        "jobs": [job for job in jobs[:5] if job.is_under_way or job.error],
    }
