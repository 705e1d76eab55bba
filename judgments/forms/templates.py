"""The form that takes a HIT template and its inputs."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.text import slugify
from unfold.widgets import UnfoldAdminTextInputWidget

from judgments.forms.uploads import short_name
from judgments.hit_templates import MOST_CHARACTERS

MOST_INPUTS = 50 * 2**20  # bytes that a request may read while somebody waits; the command takes more


class HITTemplateForm(forms.Form):
    """What is uploaded, and what the study is called."""

    name = forms.CharField(
        label="Name",
        max_length=200,
        help_text="Workers see it on the study's page.",
        widget=UnfoldAdminTextInputWidget,
    )
    slug = forms.CharField(
        label="Short name",
        max_length=80,
        required=False,
        validators=[short_name],
        help_text="In the study's link, and of its dataset; left empty, it is made from the name.",
        widget=UnfoldAdminTextInputWidget,
    )
    template = forms.FileField(
        label="Template",
        help_text="The HTML of the requester page or of Turkle, with ${field} for what differs.",
    )
    inputs = forms.FileField(
        label="Inputs", help_text="CSV: a column for each field, a row for each task. UTF-8."
    )
    pictures = forms.FileField(
        label="Pictures",
        required=False,
        help_text="A zip with the pictures that a column “picture” names. Addresses in cells need none.",
    )

    def clean_template(self) -> str:
        """The text of the file."""
        file = self.cleaned_data["template"]
        if file.size > 4 * MOST_CHARACTERS:
            raise forms.ValidationError(
                f"The template has {file.size:,} bytes; expected at most {MOST_CHARACTERS:,} characters."
            )
        try:
            text = str(file.read().decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise forms.ValidationError(
                f"The template is not UTF-8 (byte {error.start + 1}); please save it as UTF-8."
            ) from None
        if "\x00" in text:
            raise forms.ValidationError("The template holds the character U+0000, which cannot be stored.")
        return text

    def clean_inputs(self) -> Any:
        """A file that can be read while somebody waits."""
        file = self.cleaned_data["inputs"]
        if file.size > MOST_INPUTS:
            raise forms.ValidationError(
                f"The inputs have {file.size / 2**20:,.0f} MB; expected at most {MOST_INPUTS // 2**20} "
                "(the command import_template takes more)."
            )
        return file

    def clean(self) -> dict[str, Any]:
        """A short name in any case."""
        cleaned = super().clean() or {}
        if not cleaned.get("slug"):
            cleaned["slug"] = slugify(cleaned.get("name", ""))[:80] or "study"
        return cleaned
