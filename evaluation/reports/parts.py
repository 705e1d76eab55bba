"""Parts of a report that are made only if they are asked for; features add them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from django.utils.functional import Promise

from common.features import of_features
from evaluation.presentation.content import Section
from evaluation.reports.loading import ReportInputs
from judgments.models import Study
from judgments.studies.generation.progress import Progress

Result = Mapping[str, Any]


class ReportPart(ABC):
    """A part of a report that is made if it is asked for: a section, a signature, and a file of results.

    Attributes:
        name: of its parameter, of its section and signature, and of its file, ``<name>.json``.
        label, help_text: of its parameter.
        button, hint: of its button on the page of the report.
        methods: the template of its sentence in the section on methods.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    help_text: ClassVar[str]
    button: ClassVar[str | Promise]
    hint: ClassVar[str | Promise]
    methods: ClassVar[str]

    @abstractmethod
    def compute(self, study: Study, inputs: ReportInputs, progress: Progress) -> dict[str, Any]:
        """Return the results as JSON, stored ones if they are of the same judgments."""

    @abstractmethod
    def section(self, result: Result) -> Section: ...

    @abstractmethod
    def signature(self, study: Study, result: Result) -> str: ...

    @abstractmethod
    def store(self, study: Study, result: Result, *, judgments: str) -> None:
        """Store the results of a report that is stored; ``judgments`` is its signature."""


def optional_parts() -> dict[str, ReportPart]:
    """Return the report parts of the active features (``Feature.report_parts``), by name."""
    return {part.name: part() for part in of_features("report_parts")}
