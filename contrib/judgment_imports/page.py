"""The form that imports judgments about a dataset, on the dataset's page."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy, gettext_noop
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from contrib.judgment_imports.columns import (
    DESIGN_HELP,
    IMPORT_JOB,
    SCALE_HELP,
    clean_scale,
    text_of_study_file,
)
from judgments.datasets.views.forms import UploadForm, add_upload, validate_short_name
from judgments.importers import JUDGMENT_FORMATS, TABLE_FORMATS, read_layouts
from judgments.kinds import KINDS


class JudgmentsForm(UploadForm):
    formats = (*JUDGMENT_FORMATS, *TABLE_FORMATS, *read_layouts())
    job = IMPORT_JOB
    permission = "judgments.add_study"
    title = gettext_noop("Import judgments")
    lead = gettext_noop("Import judgments about {dataset} that were collected elsewhere.")
    field_order = ("study", "format", "files", "protocol", "scale", "design")

    study = forms.CharField(
        label=gettext_lazy("Short name of the study"),
        max_length=80,
        validators=[validate_short_name],
        help_text=gettext_lazy("The import creates a closed study with this short name."),
        widget=UnfoldAdminTextInputWidget,
    )
    protocol = forms.ChoiceField(
        label=gettext_lazy("Protocol"),
        required=False,
        choices=[
            ("", gettext_lazy("As the file states")),
            *((kind.name, gettext_lazy(kind.title)) for kind in KINDS.values()),
        ],
        help_text=gettext_lazy(
            "The protocol of rows that name no protocol. For a published dataset with judgments of several "
            "protocols, choose the protocol to import."
        ),
        widget=UnfoldAdminSelectWidget,
    )

    scale = forms.CharField(
        label=gettext_lazy("Scale of the answers"),
        required=False,
        max_length=40,
        help_text=SCALE_HELP,
        widget=UnfoldAdminTextInputWidget,
    )

    design = forms.FileField(label=gettext_lazy("Study file"), required=False, help_text=DESIGN_HELP)

    def clean_scale(self) -> str:
        try:
            return clean_scale(self.cleaned_data["scale"])
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None

    def arguments(self) -> dict[str, str]:
        values = {name: self.cleaned_data[name] for name in ("study", "protocol", "scale")}
        return values | {"design": text_of_study_file(self.cleaned_data["design"])}


add_upload("judgments", JudgmentsForm)
