"""The form for a study file that is pasted or uploaded."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy
from unfold.widgets import UnfoldAdminTextareaWidget

from common.incoming import MAX_REQUEST_BYTES
from common.incoming.bounded_files import TextRefused, uploaded_text


class StudyFileForm(forms.Form):
    text = forms.CharField(
        label=gettext_lazy("Study file"),
        required=False,
        max_length=MAX_REQUEST_BYTES,
        help_text=gettext_lazy(
            "The file is in TOML. It needs the keys “name”, “dataset”, and “protocol” or “preset”."
        ),
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 18, "spellcheck": "false"}),
    )
    file = forms.FileField(label=gettext_lazy("or choose a study file"), required=False)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        upload, text = values.get("file"), values.get("text", "")
        if bool(upload) == bool(text.strip()):
            raise forms.ValidationError(gettext("Paste a study file or choose one."))
        if upload:
            try:
                values["text"] = uploaded_text(upload)
            except TextRefused as error:
                raise forms.ValidationError(str(error)) from None
        return values
