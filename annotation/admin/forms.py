"""What the workers' page of a study asks the designer."""

from __future__ import annotations

from django import forms
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminTextInputWidget


class RehearsalForm(forms.Form):
    """The simulated crowd."""

    workers = forms.IntegerField(
        label="Workers", min_value=1, max_value=2_000, initial=20, widget=UnfoldAdminIntegerFieldWidget
    )
    spammers = forms.FloatField(
        label="Share of spammers",
        min_value=0,
        max_value=1,
        initial=0.1,
        widget=UnfoldAdminIntegerFieldWidget(attrs={"step": "any"}),
    )
    accuracy = forms.FloatField(
        label="Chance of the others to be right",
        min_value=0,
        max_value=1,
        initial=0.85,
        widget=UnfoldAdminIntegerFieldWidget(attrs={"step": "any"}),
    )
    drop_outs = forms.FloatField(
        label="Chance that a HIT is returned",
        min_value=0,
        max_value=0.9,
        initial=0.05,
        widget=UnfoldAdminIntegerFieldWidget(attrs={"step": "any"}),
    )
    speed = forms.FloatField(
        label="Times the expected speed",
        min_value=0.01,
        max_value=100,
        initial=1.0,
        widget=UnfoldAdminIntegerFieldWidget(attrs={"step": "any"}),
    )
    seed = forms.IntegerField(
        label="Seed", min_value=0, max_value=2**53, initial=0, widget=UnfoldAdminIntegerFieldWidget
    )


class InvitationForm(forms.Form):
    """How many personal codes, and for whom."""

    count = forms.IntegerField(
        label="How many", min_value=1, max_value=500, initial=10, widget=UnfoldAdminIntegerFieldWidget
    )
    note = forms.CharField(
        label="For whom (workers never see it)",
        required=False,
        max_length=200,
        widget=UnfoldAdminTextInputWidget,
    )
