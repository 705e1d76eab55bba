"""What is registered before a study opens, as a form: no script is needed for any number of hypotheses up to twenty."""

from __future__ import annotations

from typing import Any

from django import forms
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from annotation.quality.detectors import RULES

ROWS, SEEN = 20, 3  # hypotheses; the others are folded until they are wanted
LONGEST = 2000


class RegisteringForm(forms.Form):
    """Hypotheses, rules and planned analyses; the service says what is wrong with them."""

    exclusions = forms.CharField(
        label="Who will be excluded",
        required=False,
        max_length=LONGEST,
        help_text="in words, with the numbers: “people below 70 % of control items”",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
    )
    stopping = forms.CharField(
        label="When collection stops",
        required=False,
        max_length=LONGEST,
        help_text="“three judgments a unit, then the study closes”",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
    )
    analyses = forms.CharField(
        label="Planned analyses",
        required=False,
        max_length=20_000,
        help_text="one a line",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
    )
    metrics = forms.CharField(
        label="Metrics that will be held against people",
        required=False,
        max_length=LONGEST,
        help_text="with commas between, as cider-d, rouge-l; any other is told as a deviation. Empty: any may be.",
        widget=UnfoldAdminTextInputWidget,
    )
    level = forms.FloatField(
        label="Level",
        initial=0.05,
        help_text="of all checked hypotheses together, after Holm",
        widget=UnfoldAdminIntegerFieldWidget(attrs={"step": "any"}),
    )
    sure = forms.BooleanField(
        label="I have read it through: a registration is never changed or taken back",
        error_messages={"required": "read it through and tick this first."},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for row in range(ROWS):
            self.fields[f"text-{row}"] = forms.CharField(
                label=f"Hypothesis {row + 1}", required=False, max_length=LONGEST,
                widget=UnfoldAdminTextInputWidget,
            )  # fmt: skip
            self.fields[f"claim-{row}"] = forms.CharField(
                label=f"Hypothesis {row + 1}, to be checked", required=False, max_length=LONGEST,
                widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "cider-d > rouge-l on HC"}),
            )  # fmt: skip
        for name, rule in RULES.items():
            self.fields[f"rule-{name}"] = forms.BooleanField(label=rule.title, required=False)

    @property
    def rows(self) -> list[tuple[forms.BoundField, forms.BoundField]]:
        """Each hypothesis with its claim."""
        return [(self[f"text-{row}"], self[f"claim-{row}"]) for row in range(ROWS)]

    @property
    def first_rows(self) -> list[tuple[forms.BoundField, forms.BoundField]]:
        """Those that are open from the beginning."""
        return self.rows[:SEEN]

    @property
    def further_rows(self) -> list[tuple[forms.BoundField, forms.BoundField]]:
        """Those that are folded."""
        return self.rows[SEEN:]

    @property
    def further_used(self) -> bool:
        """Whether a folded one was filled in."""
        return any(field.value() for row in self.further_rows for field in row)

    @property
    def rules(self) -> list[forms.BoundField]:
        """A tick for each rule of behaviour."""
        return [self[f"rule-{name}"] for name in RULES]

    def plan(self) -> dict[str, Any]:
        """As the table ``[registration]`` of a plan file has it."""
        given = self.cleaned_data
        rows = [(given[f"text-{row}"], given[f"claim-{row}"]) for row in range(ROWS)]
        return {
            "hypotheses": [{"text": text, "claim": claim} for text, claim in rows if text or claim],
            "exclusions": given["exclusions"],
            "exclude_by": [name for name in RULES if given[f"rule-{name}"]],
            "stopping": given["stopping"],
            "analyses": _parts(given["analyses"].splitlines()),
            "metrics": _parts(given["metrics"].split(",")),
            "level": given["level"],
        }


def _parts(texts: list[str]) -> list[str]:
    return [text.strip() for text in texts if text.strip()]
