"""What the results page of a study asks the designer."""

from __future__ import annotations

from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminSelectWidget

from evaluation.meta_evaluation import DEFAULT_METRICS, DEFAULT_TOKENIZER


class MetricsForm(forms.Form):
    """Which metrics are held against the consensus, and how texts are cut into words."""

    metrics = forms.MultipleChoiceField(
        label="Metrics", initial=DEFAULT_METRICS, widget=UnfoldAdminCheckboxSelectMultipleWidget
    )
    tokenizer = forms.ChoiceField(
        label="Words are cut as in", initial=DEFAULT_TOKENIZER, widget=UnfoldAdminSelectWidget
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Here and not above: the metrics bring a compiler along, which pages of workers never need.
        from evaluation.metrics.registry import METRICS
        from evaluation.metrics.text import TOKENIZERS

        super().__init__(*args, **kwargs)
        self.fields["metrics"].choices = [(name, name) for name in METRICS]  # type: ignore[attr-defined]
        self.fields["tokenizer"].choices = [(name, name) for name in TOKENIZERS]  # type: ignore[attr-defined]
