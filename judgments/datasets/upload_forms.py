"""Uploads of datasets, candidates and judgments."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.core.validators import RegexValidator
from unfold.widgets import (
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from common.errors import QuorumError
from judgments.datasets import uploads
from judgments.importers import CANDIDATE_FORMATS, DATASET_FORMATS, JUDGMENT_FORMATS, TABLE_FORMATS
from judgments.kinds import KINDS
from judgments.models import Output

WORDS = {
    "flickr8k": "Flickr8k: Flickr8k.token.txt, with the lists of its splits if you have them",
    "coco": "MS COCO: one JSON document",
    "pascal-50s": "PASCAL-50S: references.jsonl and pairs.jsonl",
    "abstract-50s": "ABSTRACT-50S: references.jsonl and pairs.jsonl",
    "flickr8k-expert": "Flickr8k's expert grades: ExpertAnnotations.txt",
    "flickr8k-crowd": "Flickr8k's crowd counts: CrowdFlowerAnnotations.txt",
    "jsonl": "JSON lines, one object a line",
    "csv": "CSV with a header line",
    "annotation": "Captions ranked for an image: qid is an image, docid the id of a caption",
    "search": "Images ranked for a caption: qid is the id of a caption, docid an image",
    "inputs": "Rows of inputs for a HIT template: CSV with a header line",
}


short_name = RegexValidator(
    r"^[-a-zA-Z0-9_]+\Z",
    "Only letters from a to z, digits, hyphens and underscores can be used, such as my-photos.",
)


class FilesInput(forms.ClearableFileInput):
    """A file input that takes several."""

    allow_multiple_selected = True


class FilesField(forms.FileField):
    """One or more uploaded files."""

    widget = FilesInput

    def clean(self, data: Any, initial: Any = None) -> list[UploadedFile]:
        files = data if isinstance(data, list | tuple) else [data]
        return [super(FilesField, self).clean(file, initial) for file in files]


class UploadForm(forms.Form):
    """Files in one of some formats. ``keep`` stores them once the form is valid."""

    formats: tuple[str, ...] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["format"] = forms.ChoiceField(
            label="Format",
            choices=[(name, WORDS.get(name, name)) for name in self.formats],
            widget=UnfoldAdminRadioSelectWidget,
        )
        self.fields["files"] = FilesField(
            label="Files", help_text="One file, several that belong together, or a zip of a folder."
        )
        self.order_fields(self.field_order)

    def pictures(self) -> UploadedFile | None:
        """Return the archive of pictures, if the form takes one."""
        return None

    def keep(self) -> str | None:
        """Store the files and return the upload's name; None, with an error, if they are unusable."""
        try:
            return uploads.keep(self.cleaned_data["files"], self.pictures())
        except QuorumError as error:
            self.add_error("files", str(error))
            return None


class DatasetForm(UploadForm):
    """A dataset with its references."""

    formats = tuple(DATASET_FORMATS)
    field_order = ("name", "format", "files", "pictures_zip", "pictures_at", "attribution")

    name = forms.CharField(
        label="Name",
        max_length=80,
        validators=[short_name],
        help_text="Letters, digits, hyphens and underscores. The same files under the same name change nothing.",
        widget=UnfoldAdminTextInputWidget,
    )
    pictures_zip = forms.FileField(
        label="Pictures",
        required=False,
        help_text="A zip with a file for each image. Only workers of a study that shows them, and staff, see them.",
    )
    pictures_at = forms.URLField(
        label="or the address they are served from",
        required=False,
        assume_scheme="https",
        help_text="https://…; the image's file name is put behind it. Triplets need no pictures.",
        widget=UnfoldAdminTextInputWidget,
    )
    attribution = forms.CharField(
        label="Source and licence",
        required=False,
        max_length=5_000,
        help_text="Who made the pictures and captions, and under which terms they are used.",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
    )

    def pictures(self) -> UploadedFile | None:
        return self.cleaned_data.get("pictures_zip")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("pictures_zip") and cleaned.get("pictures_at"):
            self.add_error("pictures_at", "Give a zip of pictures or an address, not both.")
        return cleaned


class CandidatesForm(UploadForm):
    """One system's captions."""

    formats = tuple(CANDIDATE_FORMATS)
    field_order = ("system", "format", "files")

    system = forms.CharField(
        label="System",
        max_length=80,
        help_text="What produced these captions. Workers never see it.",
        widget=UnfoldAdminTextInputWidget,
    )


class RankingsForm(UploadForm):
    """Systems' ranked lists, as a TREC run."""

    formats = tuple(Output.Task.values)
    field_order = ("format", "files")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["format"].label = "What is ranked"
        self.fields[
            "files"
        ].help_text = "Lines of qid, Q0, docid, rank, score and system, with blanks between."


class JudgmentsForm(UploadForm):
    """Judgments that were collected elsewhere, as a study of their own."""

    formats = (*JUDGMENT_FORMATS, *TABLE_FORMATS)
    field_order = ("study", "format", "files", "protocol")

    study = forms.CharField(
        label="Short name of the study",
        max_length=80,
        validators=[short_name],
        help_text="The judgments become a study under this name; it asks nobody anything.",
        widget=UnfoldAdminTextInputWidget,
    )
    protocol = forms.ChoiceField(
        label="Protocol",
        required=False,
        choices=[("", "As the file says"), *((kind.name, kind.title) for kind in KINDS.values())],
        help_text="For rows that do not name one, and for published sets that hold judgments of several.",
        widget=UnfoldAdminSelectWidget,
    )
