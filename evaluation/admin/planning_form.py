"""What the planner asks, in a researcher's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

WORDS = {
    "win_rate": ("Pairs on which system A is truly better", "a share; .5 would be no difference"),
    "ties": ("Pairs on which neither is better", ""),
    "first": ("Accuracy of the first metric", ""),
    "second": ("Accuracy of the second metric", ""),
    "agreement": ("Pairs on which both metrics name the same winner", ""),
    "right": ("Votes that are right, of people who look", ""),
    "pair_spread": ("How much pairs differ in difficulty", "0 not at all; .3 many clear and many hopeless pairs"),
    "careless": ("Votes given without looking", "right by half"),
    "worker_spread": ("How unevenly those lie on workers", "0 everybody alike, 1 some people never look"),
    "wanted": ("Wanted power", "share of such studies that find the difference"),
    "alpha": ("Significance level", ""),
    "replaced": ("Work paid for again", "share of pages of work"),
}  # fmt: skip
LISTS = {
    "pairs": "Numbers of pairs to try",
    "references": "References for each pair",
    "votes": "Votes on each unit",
}
COUNTS = {
    "reward_cents": "Reward of a HIT in cents",
    "units_per_hit": "Units in a HIT",
    "controls_per_hit": "Control items among them",
    "simulations": "Simulated studies",
    "seed": "Seed",
}
NAMES = {"pilot_first": "First of two in the pilot", "pilot_second": "Second of two in the pilot"}
SOURCE = {"pilot", *NAMES}
# title, the question to which the fields belong alone ('' for both), the fields
GROUPS = (
    ("The question", "", ("question",)),
    ("The two systems", "systems", ("win_rate", "ties")),
    ("The two metrics", "metrics", ("first", "second", "agreement")),
    ("People", "", ("right", "pair_spread", "careless", "worker_spread")),
    ("As in a pilot", "", ("pilot", *NAMES)),
    ("Designs to try", "", tuple(LISTS)),
    ("How sure", "", ("wanted", "alpha", "simulations", "seed")),
    ("Cost", "", ("reward_cents", "units_per_hit", "controls_per_hit", "replaced")),
)


class PlanningForm(forms.Form):
    """Assumptions; the service says what is wrong with them."""

    question = forms.ChoiceField(
        label="What is to be told apart",
        choices=[("systems", "two systems"), ("metrics", "two metrics")],
        widget=UnfoldAdminSelectWidget,
    )

    def __init__(self, *args: Any, pilots: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, (label, help_text) in WORDS.items():
            self.fields[name] = forms.FloatField(
                label=label, help_text=help_text, min_value=0, max_value=1,
                widget=UnfoldAdminIntegerFieldWidget(attrs={"step": "any"}),
            )  # fmt: skip
        for name, label in LISTS.items():
            self.fields[name] = forms.RegexField(
                regex=r"^\s*\d{1,7}(\s*,\s*\d{1,7})*\s*$", label=label, max_length=200, help_text="with commas between",
                error_messages={"invalid": "expected whole numbers with commas between them"},
                widget=UnfoldAdminTextInputWidget,
            )  # fmt: skip
        for name, label in COUNTS.items():
            self.fields[name] = forms.IntegerField(
                label=label, min_value=0, widget=UnfoldAdminIntegerFieldWidget
            )
        self.fields["pilot"] = forms.ChoiceField(
            label="People as in the pilot",
            required=False,
            choices=[("", "as assumed here"), *pilots],
            widget=UnfoldAdminSelectWidget,
            help_text="replaces what is assumed of votes",
        )
        for name, label in NAMES.items():
            self.fields[name] = forms.CharField(
                label=label, required=False, max_length=200, widget=UnfoldAdminTextInputWidget,
                help_text="a system or metric of the pilot; both named replace what is assumed of the difference",
            )  # fmt: skip

    def groups(self) -> list[tuple[str, str, list[forms.BoundField]]]:
        """The fields as they stand on the page: a title, the question to which they belong alone, the fields."""
        return [(title, question, [self[name] for name in names]) for title, question, names in GROUPS]

    def source(self) -> dict[str, str]:
        """The pilot and the two in it, as the job takes them."""
        data = self.cleaned_data
        return {"pilot": data["pilot"], "first": data["pilot_first"], "second": data["pilot_second"]}

    def clean(self) -> dict[str, Any]:
        """Two names are of a pilot, and belong together."""
        data: dict[str, Any] = super().clean() or {}
        one, two = data.get("pilot_first", ""), data.get("pilot_second", "")
        if bool(one) != bool(two):
            self.add_error("pilot_second" if one else "pilot_first", "name both, or neither")
        elif one and not data.get("pilot"):
            self.add_error("pilot", "choose the pilot in which the two were compared")
        return data

    def assumptions(self) -> dict[str, Any]:
        """As ``read_assumptions`` takes them."""
        values = {name: value for name, value in self.cleaned_data.items() if name not in SOURCE}
        for name in LISTS:
            values[name] = [int(part) for part in values[name].split(",")]
        return values


def shown(assumptions: Mapping[str, Any]) -> dict[str, Any]:
    """Lists as the form's fields hold them."""
    return {
        name: ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
        for name, value in assumptions.items()
    }
