"""Optional parts of a report, which features add, such as the robustness analysis of contrib/multiverse."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from django.utils.functional import Promise

from common.features import of_features
from evaluation.presentation.content import Section
from evaluation.reports.inputs import ReportInputs
from judgments.models import Study
from judgments.studies.generation.progress import Progress

Result = Mapping[str, Any]  # a part's results, as JSON


class ReportPart(ABC):
    """An optional part of a report: a section, a signature, and a file of results.

    Attributes:
        name: name of the request's parameter that asks for the part, of its section, its signature, and its file
            ``<name>.json``.
        label, help_text: texts of the parameter.
        button, hint: texts of the button on the page of the report.
        methods: template of the part's sentence in the section on methods, with the values of ``methods.toml``.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    help_text: ClassVar[str]
    button: ClassVar[str | Promise]
    hint: ClassVar[str | Promise]
    methods: ClassVar[str]

    @abstractmethod
    def compute(self, study: Study, inputs: ReportInputs, progress: Progress) -> dict[str, Any]:
        """Return the results as JSON. If results of the same judgments are stored, return these."""

    @abstractmethod
    def section(self, result: Result) -> Section: ...

    @abstractmethod
    def signature(self, study: Study, result: Result) -> str: ...

    @abstractmethod
    def store(self, study: Study, result: Result, *, judgments: str) -> None:
        """Store the part's results when a report is stored. ``judgments`` is the judgment signature."""


def optional_parts() -> dict[str, ReportPart]:
    """Return the optional parts of the active features (``Feature.report_parts``) by name."""
    return {part.name: part() for part in of_features("report_parts")}
