"""What the workers' page of a study asks the designer."""

from __future__ import annotations

from django import forms
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminTextInputWidget

from annotation.services.rehearsed_people import Crowd
from annotation.spamming import SORTS

USUAL = Crowd()


def _number(label: str, initial: float, low: float, high: float) -> forms.FloatField:
    """A field for a number that need not be whole."""
    return forms.FloatField(
        label=label,
        min_value=low,
        max_value=high,
        initial=initial,
        widget=UnfoldAdminIntegerFieldWidget(attrs={"step": "any"}),
    )


class RehearsalForm(forms.Form):
    """The simulated crowd."""

    workers = forms.IntegerField(
        label="Workers",
        min_value=1,
        max_value=2_000,
        initial=USUAL.workers,
        widget=UnfoldAdminIntegerFieldWidget,
    )
    spammers = _number("Share of spammers", USUAL.spammers, 0, 1)
    accuracy = _number("Chance of the others to be right", USUAL.accuracy, 0, 1)
    drop_outs = _number("Chance that a HIT is returned", USUAL.drop_outs, 0, 0.9)
    speed = _number("Times the expected speed", USUAL.speed, 0.01, 100)
    seed = forms.IntegerField(
        label="Seed", min_value=0, max_value=2**53, initial=USUAL.seed, widget=UnfoldAdminIntegerFieldWidget
    )
    sorts = forms.MultipleChoiceField(
        label="Spammers",
        choices=[(sort.name, f"{sort.name}: {sort.about}") for sort in SORTS.values()],
        initial=USUAL.sort_names,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    rules = forms.BooleanField(
        label="Let the recommended rules watch, where the study has none", required=False, initial=USUAL.rules
    )

    def clean_sorts(self) -> str:
        """As the crowd names them; none chosen is the usual."""
        return ",".join(self.cleaned_data["sorts"]) or USUAL.sorts


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
