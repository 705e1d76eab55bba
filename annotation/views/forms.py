"""Forms of the workers' pages."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import ProblemReport
from annotation.models.people import NAME_LENGTH


class JoinForm(forms.Form):
    name = forms.CharField(max_length=NAME_LENGTH, error_messages={"required": _("Please give a name.")})
    code = forms.CharField(max_length=100, required=False)
    consent = forms.BooleanField(required=False)
    country = forms.CharField(max_length=2, required=False)


class ResumeForm(forms.Form):
    name = forms.CharField(max_length=NAME_LENGTH)
    resume = forms.CharField(max_length=100)


class ReportForm(forms.Form):
    what = forms.ChoiceField(choices=ProblemReport.Kind.choices)
    comment = forms.CharField(max_length=2000, required=False, strip=True)
