"""The form for the assumptions of a plan, which is for a study, or is made before there is a study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from common.amounts import AmountField
from judgments.design.study_design import USUAL_CURRENCY
from quorum.statistics.power import MAX_TASTE

# The labels and the help texts of fields for shares and similar numbers, by name.
SHARE_FIELDS = {
    "win_rate": (
        gettext_noop("Share of pairs on which system A is better"),
        gettext_noop(".5 means no difference"),
    ),
    "ties": (gettext_noop("Share of pairs on which neither is better"), ""),
    "first": (gettext_noop("Accuracy of the first metric"), ""),
    "second": (gettext_noop("Accuracy of the second metric"), ""),
    "agreement": (gettext_noop("Share of pairs on which both metrics name the same winner"), ""),
    "right": (gettext_noop("Share of right votes by attentive participants"), ""),
    "pair_spread": (
        gettext_noop("Variation of difficulty between pairs"),
        gettext_noop("0: no variation; .3: many easy pairs and many very difficult pairs"),
    ),
    "careless": (
        gettext_noop("Share of careless votes"),
        gettext_noop("by chance, half of the careless votes are right"),
    ),
    "worker_spread": (
        gettext_noop("Concentration of careless votes on few participants"),
        gettext_noop(
            "0: equally distributed over all participants; 1: some participants are always careless"
        ),
    ),
    "taste": (
        gettext_noop("Variation of preference between participants"),
        gettext_noop("standard deviation of log odds; 0 means none, 1 means large"),
    ),
    "wanted": (
        gettext_noop("Target power"),
        gettext_noop("share of studies that should find the difference"),
    ),
    "alpha": (gettext_noop("Significance level"), ""),
    "replaced": (
        gettext_noop("Share of pages of work that must be replaced"),
        gettext_noop("these pages are paid, but their answers are not used"),
    ),
}
LIST_FIELDS = {
    "pairs": gettext_noop("Numbers of pairs to try"),
    "references": gettext_noop("References for each pair"),
    "votes": gettext_noop("Votes on each item"),
}
REWARD = "reward_cents"
COUNT_FIELDS = {
    "units_per_hit": gettext_noop("Items on a page of work"),
    "controls_per_hit": gettext_noop("Check questions among these items"),
    "raters": gettext_noop("Number of participants (0: different participants for every page of work)"),
    "simulations": gettext_noop("Simulated studies"),
    "seed": gettext_noop("Seed"),
}
PILOT_NAME_FIELDS = {
    "pilot_first": gettext_noop("First system or metric in the pilot"),
    "pilot_second": gettext_noop("Second system or metric in the pilot"),
}
PILOT_FIELDS = {"pilot", *PILOT_NAME_FIELDS}


class FieldGroup(NamedTuple):
    """A titled group of fields.

    Attributes:
        question: the value of the field "question" for which the group is shown; "" if it is always shown.
    """

    title: str
    question: str
    names: tuple[str, ...]


GROUPS = (
    FieldGroup(gettext_noop("The question"), "", ("question",)),
    FieldGroup(gettext_noop("The two systems"), "systems", ("win_rate", "ties")),
    FieldGroup(gettext_noop("The two metrics"), "metrics", ("first", "second")),
    FieldGroup(gettext_noop("Agreement of the two metrics"), "metrics", ("agreement",)),
    FieldGroup(
        gettext_noop("Participants"),
        "",
        ("right", "pair_spread", "taste", "raters", "careless", "worker_spread"),
    ),
    FieldGroup(gettext_noop("From a pilot"), "", ("pilot", *PILOT_NAME_FIELDS)),
    FieldGroup(gettext_noop("Designs to try"), "", tuple(LIST_FIELDS)),
    FieldGroup(gettext_noop("Settings of the simulation"), "", ("wanted", "alpha", "simulations", "seed")),
    FieldGroup(gettext_noop("Cost"), "", (REWARD, "units_per_hit", "controls_per_hit", "replaced")),
)


class PlanningForm(forms.Form):
    """The form for the assumptions of a plan.

    Args:
        pilots: the slugs and the names of the studies that can be chosen as the pilot.
    """

    question = forms.ChoiceField(
        label=gettext_lazy("Compare"),
        choices=[("systems", gettext_lazy("two systems")), ("metrics", gettext_lazy("two metrics"))],
        widget=UnfoldAdminSelectWidget,
    )

    def __init__(
        self, *args: Any, pilots: list[tuple[str, str]], currency: str = USUAL_CURRENCY, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        for name, (label, help_text) in SHARE_FIELDS.items():
            self.fields[name] = forms.FloatField(
                label=_(label),
                help_text=_(help_text),
                min_value=0,
                max_value=MAX_TASTE if name == "taste" else 1,
                widget=UnfoldAdminIntegerFieldWidget(attrs={"step": "any"}),
            )
        for name, label in LIST_FIELDS.items():
            self.fields[name] = forms.RegexField(
                regex=r"^\s*\d{1,7}(\s*,\s*\d{1,7})*\s*$",
                label=_(label),
                max_length=200,
                help_text=_("separated by commas"),
                error_messages={"invalid": _("expected whole numbers separated by commas")},
                widget=UnfoldAdminTextInputWidget,
            )
        for name, label in COUNT_FIELDS.items():
            self.fields[name] = forms.IntegerField(
                label=_(label), min_value=0, widget=UnfoldAdminIntegerFieldWidget
            )
        self.fields[REWARD] = AmountField(_("Pay for a page of work"), required=True, unit=currency)
        self.fields["pilot"] = forms.ChoiceField(
            label=_("Participants as in the pilot"),
            required=False,
            choices=[("", _("as assumed in this form")), *pilots],
            widget=UnfoldAdminSelectWidget,
            help_text=_("the pilot replaces the assumptions about votes"),
        )
        for name, label in PILOT_NAME_FIELDS.items():
            self.fields[name] = forms.CharField(
                label=_(label),
                required=False,
                max_length=200,
                widget=UnfoldAdminTextInputWidget,
                help_text=_(
                    "if you name two systems or metrics, the pilot replaces the assumptions about their difference"
                ),
            )

    def groups(self) -> list[tuple[str, str, list[forms.BoundField]]]:
        """Return the title, the question and the fields of each ``FieldGroup``."""
        return [(_(group.title), group.question, [self[name] for name in group.names]) for group in GROUPS]

    def pilot_source(self) -> dict[str, str]:
        """Return the slug of the pilot, and the two systems or metrics in it; "" for what was not entered."""
        data = self.cleaned_data
        return {"pilot": data["pilot"], "first": data["pilot_first"], "second": data["pilot_second"]}

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        first, second = data.get("pilot_first", ""), data.get("pilot_second", "")
        if bool(first) != bool(second):
            self.add_error(
                "pilot_second" if first else "pilot_first", _("enter two names, or leave both fields empty")
            )
        elif first and not data.get("pilot"):
            self.add_error("pilot", _("choose the pilot that compared these two systems or metrics"))
        return data

    def assumptions(self) -> dict[str, Any]:
        """Return the values for ``Assumptions``, without the pilot."""
        values = {name: value for name, value in self.cleaned_data.items() if name not in PILOT_FIELDS}
        for name in LIST_FIELDS:
            values[name] = [int(part) for part in values[name].split(",")]
        return values


def initial_values(assumptions: Mapping[str, Any]) -> dict[str, Any]:
    """Return assumptions as the form shows them: lists separated by commas, and the pay as an amount."""
    form_values = {
        name: ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
        for name, value in assumptions.items()
    }
    return form_values | {REWARD: f"{assumptions[REWARD] / 100:.2f}"}
