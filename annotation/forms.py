"""What workers type on their pages. The rules are the services'; a form only reads."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import ProblemReport
from annotation.services.joining import NAME_LENGTH


class JoinForm(forms.Form):
    """A name, the study's code where it asks for one, and the consent where there is a text."""

    name = forms.CharField(max_length=NAME_LENGTH, error_messages={"required": _("Please give a name.")})
    code = forms.CharField(max_length=100, required=False)
    consent = forms.BooleanField(required=False)
    country = forms.CharField(max_length=2, required=False)


class ResumeForm(forms.Form):
    """The name and the code that was shown when joining."""

    name = forms.CharField(max_length=NAME_LENGTH)
    resume = forms.CharField(max_length=100)


class ReportForm(forms.Form):
    """What is wrong with an item."""

    what = forms.ChoiceField(choices=ProblemReport.What.choices)
    comment = forms.CharField(max_length=2000, required=False, strip=True)
