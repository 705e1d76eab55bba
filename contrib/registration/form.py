"""The form of a plan to register."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from annotation.quality.detectors import RULES

MAX_HYPOTHESES = 20
UNFOLDED_HYPOTHESES = 3  # shown at once; the page folds the fields of the others
MAX_TEXT_LENGTH = 2000


def _text_area(label: Any, help_text: Any, max_length: int = MAX_TEXT_LENGTH) -> forms.CharField:
    return forms.CharField(
        label=label,
        required=False,
        max_length=max_length,
        help_text=help_text,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
    )


class PlanForm(forms.Form):
    """The form of a plan. Hypothesis 1 has the fields ``text-0`` and ``claim-0``, hypothesis 2 ``text-1``, and so on.

    Each detector NAME has the field ``rule-NAME``: whether the plan is that it excludes people.
    """

    exclusions = _text_area(
        gettext_lazy("Participants who will be excluded"),
        gettext_lazy(
            "describe them in words and numbers, such as “participants with less than 70 % of "
            "check questions right”"
        ),
    )
    stopping = _text_area(
        gettext_lazy("Rule for ending the data collection"),
        gettext_lazy("such as “three judgments per item”"),
    )
    analyses = _text_area(gettext_lazy("Planned analyses"), gettext_lazy("one per line"), 20_000)
    metrics = forms.CharField(
        label=gettext_lazy("Metrics to be compared with people"),
        required=False,
        max_length=MAX_TEXT_LENGTH,
        help_text=gettext_lazy(
            "Separate the names by commas. Example: cider-d, rouge-l. Any other metric is reported as a "
            "deviation. If this field is empty, no metric is reported as a deviation."
        ),
        widget=UnfoldAdminTextInputWidget,
    )
    level = forms.FloatField(
        label=gettext_lazy("Level"),
        initial=0.05,
        help_text=gettext_lazy(
            "significance level of all tested hypotheses together, with Holm’s correction"
        ),
        widget=UnfoldAdminIntegerFieldWidget(attrs={"step": "any"}),
    )
    sure = forms.BooleanField(
        label=gettext_lazy(
            "I have reviewed the plan. I know that a registration cannot be changed or withdrawn"
        ),
        error_messages={"required": gettext_lazy("review the plan and tick this box first.")},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for row in range(MAX_HYPOTHESES):
            self.fields[f"text-{row}"] = forms.CharField(
                label=_("Hypothesis %(n)s") % {"n": row + 1}, required=False, max_length=MAX_TEXT_LENGTH,
                widget=UnfoldAdminTextInputWidget,
            )  # fmt: skip
            self.fields[f"claim-{row}"] = forms.CharField(
                label=_("Hypothesis %(n)s as a comparison of metrics") % {"n": row + 1}, required=False,
                max_length=MAX_TEXT_LENGTH,
                widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "cider-d > rouge-l on HC"}),
            )  # fmt: skip
        for name, rule in RULES.items():
            self.fields[f"rule-{name}"] = forms.BooleanField(label=_(rule.title), required=False)

    @property
    def hypothesis_rows(self) -> list[tuple[forms.BoundField, forms.BoundField]]:
        return [(self[f"text-{row}"], self[f"claim-{row}"]) for row in range(MAX_HYPOTHESES)]

    @property
    def unfolded_rows(self) -> list[tuple[forms.BoundField, forms.BoundField]]:
        return self.hypothesis_rows[:UNFOLDED_HYPOTHESES]

    @property
    def folded_rows(self) -> list[tuple[forms.BoundField, forms.BoundField]]:
        return self.hypothesis_rows[UNFOLDED_HYPOTHESES:]

    @property
    def uses_folded_rows(self) -> bool:
        return any(field.value() for row in self.folded_rows for field in row)

    @property
    def rules(self) -> list[forms.BoundField]:
        return [self[f"rule-{name}"] for name in RULES]

    def plan(self) -> dict[str, Any]:
        """Return the plan as a table ``[registration]`` of a study file."""
        values = self.cleaned_data
        hypotheses = [(values[f"text-{row}"], values[f"claim-{row}"]) for row in range(MAX_HYPOTHESES)]
        return {
            "hypotheses": [{"text": text, "claim": claim} for text, claim in hypotheses if text or claim],
            "exclusions": values["exclusions"],
            "exclude_by": [name for name in RULES if values[f"rule-{name}"]],
            "stopping": values["stopping"],
            "analyses": _strip_texts(values["analyses"].splitlines()),
            "metrics": _strip_texts(values["metrics"].split(",")),
            "level": values["level"],
        }


def _strip_texts(texts: list[str]) -> list[str]:
    return [text.strip() for text in texts if text.strip()]
