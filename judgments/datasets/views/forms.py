"""The forms of uploads to datasets. ``UPLOAD_FORMS`` has those with a button on the page of each dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from itertools import chain
from typing import Any, ClassVar

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.core.validators import RegexValidator
from django.utils.translation import gettext, gettext_lazy, gettext_noop
from unfold.widgets import (
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from common.errors import QuorumError
from judgments.datasets import uploads
from judgments.datasets.upload_parts import (
    ENCODINGS,
    IMAGES,
    LEFT_OUT,
    PEOPLE,
    SYSTEM,
    InspectedUpload,
    UploadPart,
)
from judgments.importers import (
    CANDIDATE_FORMATS,
    DATASET_FORMATS,
    IMPORT_FORMATS,
    TABLE_FORMATS,
    read_layouts,
)
from judgments.models import Output

FORMAT_TITLES = {
    **{import_format.name: import_format.title for import_format in IMPORT_FORMATS},
    "jsonl": gettext_noop("JSON lines, one object per line"),
    "csv": gettext_noop("CSV with a header line"),
    "tsv": gettext_noop("TSV: tabs between the columns"),
    "json": gettext_noop("JSON: a list of objects"),
    "xlsx": gettext_noop("Excel (.xlsx): the first sheet"),
    "parquet": gettext_noop("Parquet"),
    **{name: layout.title for name, layout in read_layouts().items()},
    "annotation": gettext_noop("Texts ranked for an item: qid is the item, docid is the id of a text"),
    "search": gettext_noop("Items ranked for a text: qid is the id of the text, docid is an item"),
    "inputs": gettext_noop("CSV with a header line: rows of inputs for a HIT template"),
}
ROLE_LABELS = {
    PEOPLE: gettext_lazy("captions by people"),
    SYSTEM: gettext_lazy("captions of a system"),
    LEFT_OUT: gettext_lazy("left out"),
}
ROLE_LABELS_BESIDE_SOURCE_TEXTS = ROLE_LABELS | {
    PEOPLE: gettext_lazy("references by people"),
    SYSTEM: gettext_lazy("outputs of a system"),
}
ROLE_LABELS_OF_SOURCE_TEXTS = {PEOPLE: gettext_lazy("source texts"), LEFT_OUT: ROLE_LABELS[LEFT_OUT]}


def role_labels(part: UploadPart) -> dict[str, Any]:
    """Return the labels by role of a part: of source texts, of captions beside source texts, or of captions alone."""
    if part.sources:
        return ROLE_LABELS_OF_SOURCE_TEXTS
    return ROLE_LABELS_BESIDE_SOURCE_TEXTS if part.texts else ROLE_LABELS


validate_short_name = RegexValidator(
    r"^[-a-zA-Z0-9_]+\Z",
    gettext_lazy("Use only letters from a to z, digits, hyphens and underscores, such as my-photos."),
)


class FilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class FilesField(forms.FileField):
    widget = FilesInput

    def clean(self, data: Any, initial: Any = None) -> list[UploadedFile]:
        files = data if isinstance(data, list | tuple) else [data]
        return [super(FilesField, self).clean(file, initial) for file in files]


class FilesForm(forms.Form):
    """A form to upload files and choose their encoding; ``automatic_encoding`` is the label of the empty choice."""

    advanced_fields: ClassVar[tuple[str, ...]] = ()  # fields below Advanced
    files_help: ClassVar[str]
    automatic_encoding: ClassVar[str] = gettext_noop("Detect automatically")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["files"] = FilesField(label=gettext_lazy("Files"), help_text=gettext(self.files_help))
        self.fields["encoding"] = encoding_field(self.automatic_encoding)
        self.order_fields(self.field_order)

    def store_files(self) -> str | None:
        """Store the files and return the upload's name. If they are refused, add an error to the form; return None."""
        try:
            return uploads.store_upload(self.cleaned_data["files"])
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
        job: the kind of the import's job.
        title: the title of the page and of the button that leads to it.
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
        """Return the job's arguments besides dataset, upload, format and encoding."""
        return {}


class DatasetForm(FilesForm):
    """A form to upload the files of a new dataset."""

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
    advanced_fields = ("pictures_at", "format", "encoding")
    field_order = ("files",)
    files_help = gettext_noop(
        "Tables (Excel, CSV, JSON, Parquet) and pictures, if any, as single files or as a zip archive."
    )


class InspectedUploadForm(forms.Form):
    """A form to correct what was detected in an upload: the dataset's name, and the author of each part's captions."""

    def __init__(self, *args: Any, inspection: InspectedUpload, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.inspection = inspection
        self.fields["name"] = forms.CharField(
            label=gettext_lazy("Name of the dataset"),
            max_length=80,
            initial=inspection.name,
            validators=[validate_short_name],
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
        for number, part in enumerate(inspection.parts):
            self.fields[f"role-{number}"] = forms.ChoiceField(
                label=gettext_lazy("Content"),
                choices=list(role_labels(part).items()),
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
        self.fields["encoding"].initial = inspection.encoding
        self.fields["encoding"].help_text = gettext(
            "If letters look wrong, choose another encoding and update the preview."
        )
        if inspection.lacking:  # some images have no picture
            self.fields["without_pictures"] = forms.BooleanField(
                label=gettext_lazy("Import the dataset without the pictures"),
                required=False,
                widget=UnfoldBooleanWidget,
            )

    def parts(self) -> list[dict[str, Any]]:
        """Return the parts to import as arguments of the job, without preview rows; people's captions first."""
        values = self.cleaned_data
        corrected_parts = [
            replace(part, role=values[f"role-{number}"], system=values[f"system-{number}"].strip(), rows=())
            for number, part in enumerate(self.inspection.parts)
        ]
        system_parts = [part for part in corrected_parts if part.role == SYSTEM]
        people_parts = [part for part in corrected_parts if part.role == PEOPLE]
        if not people_parts:  # the largest table of a system names the images
            tables = [part for part in system_parts if part.format in TABLE_FORMATS]
            people_parts = [replace(max(tables, key=lambda part: part.images), role=IMAGES)]
        # `clean` accepts several parts of people only if they are columns of one file
        columns = tuple(chain.from_iterable(part.columns for part in people_parts))
        return [asdict(part) for part in (replace(people_parts[0], columns=columns), *system_parts)]

    def shown_parts(self) -> list[dict[str, Any]]:
        return [
            {"part": part, "role": self[f"role-{number}"], "system": self[f"system-{number}"]}
            for number, part in enumerate(self.inspection.parts)
        ]

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        parts = self.inspection.parts
        roles = [values.get(f"role-{number}") for number in range(len(parts))]
        system_names = [
            values.get(f"system-{number}", "").strip() for number, role in enumerate(roles) if role == SYSTEM
        ]
        people_parts = [part for part, role in zip(parts, roles, strict=True) if role == PEOPLE]
        if not people_parts and not any(
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
        is_one_file = len({part.file for part in people_parts}) <= 1
        if len(people_parts) > 1 and not (is_one_file and all(part.columns for part in people_parts)):
            raise forms.ValidationError(
                gettext(
                    "Several parts of the upload contain texts by people (%(n)s); expected one part, or several "
                    "columns of one file."
                )
                % {"n": len(people_parts)}
            )
        if not all(system_names):
            raise forms.ValidationError(gettext("A system has no name; expected a name for each system."))
        if len(set(system_names)) < len(system_names):
            raise forms.ValidationError(
                gettext("Two systems have the same name; expected a different name for each.")
            )
        if self.inspection.lacking and not values.get("without_pictures"):
            raise forms.ValidationError(
                gettext(
                    "Some images have no picture. Upload all pictures, or choose to import the "
                    "dataset without pictures."
                )
            )
        return values


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


UPLOAD_FORMS: dict[str, type[UploadForm]] = {"candidates": CandidatesForm, "rankings": RankingsForm}


def add_upload(name: str, form: type[UploadForm]) -> None:
    """Add an upload form, with a button on the page of each dataset."""
    UPLOAD_FORMS[name] = form
