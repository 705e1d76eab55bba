"""What participants fill in; the pages and the API check it by the same form."""

from __future__ import annotations

from django import forms
from django.core.validators import URLValidator
from django.utils.translation import gettext_lazy as _


class AboutForm(forms.Form):
    """What a submission says of its system."""

    system = forms.CharField(label=_("Name of the system"), max_length=80)
    team = forms.CharField(label=_("Authors"), max_length=80, help_text=_("As the leaderboard shows them."))
    description = forms.CharField(
        label=_("How it works"), max_length=2000, required=False, widget=forms.Textarea(attrs={"rows": 3})
    )
    link = forms.URLField(
        label=_("A paper or a page about it"),
        max_length=300,
        required=False,
        assume_scheme="https",
        validators=[URLValidator(schemes=["http", "https"])],
    )
    public = forms.BooleanField(label=_("Show it on the leaderboard"), required=False, initial=True)


class SubmissionForm(AboutForm):
    """The same with the file."""

    file = forms.FileField(label=_("Captions"), allow_empty_file=True)
