"""The part of a report that says whether its conclusions hold under other choices of the analysis."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy

from contrib.multiverse.conclusions import compute_multiverse
from contrib.multiverse.section import multiverse_section
from contrib.multiverse.storing import multiverse_signature, store_multiverse, stored_multiverse
from evaluation.presentation.content import Section
from evaluation.reports.inputs import ReportInputs
from evaluation.reports.parts import ReportPart, Result
from judgments.models import Study
from judgments.studies.generation.progress import Progress


class Multiverse(ReportPart):
    """The robustness analysis of a report. ``judgments`` is the signature of the judgments behind it."""

    name = "multiverse"
    label = "Robustness analysis"
    help_text = (
        "Repeats the analysis with all other defensible methods and settings, and plots how much "
        "the conclusions change."
    )
    button = gettext_lazy("Add a robustness analysis")
    hint = gettext_lazy(
        "This repeats the analysis with all other defensible choices and plots how much each "
        "conclusion changes. It takes longer."
    )
    methods = (
        "Conclusions were held under all other defensible choices, in a multiverse of analyses "
        '{{ cite("steegen2016") }} drawn as specification curves {{ cite("simonsohn2020") }}.'
    )

    def compute(self, study: Study, inputs: ReportInputs, progress: Progress) -> dict[str, Any]:
        key: dict[str, Any] = {
            "metrics": inputs.metrics,
            "tokenizer": inputs.tokenizer,
            "data_hash": inputs.consensus.data_hash,
        }
        return stored_multiverse(study, **key) or compute_multiverse(study, **key, progress=progress)

    def section(self, result: Result) -> Section:
        return multiverse_section(result)

    def signature(self, study: Study, result: Result) -> str:
        return multiverse_signature(study, result)

    def store(self, study: Study, result: Result, *, judgments: str) -> None:
        store_multiverse(study, result, judgments=judgments)
