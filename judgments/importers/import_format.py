"""A file format that a feature adds to those that imports can read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from judgments.importers.records.sources import CandidateSource, DatasetSource, JudgmentSource


@dataclass(frozen=True, slots=True)
class ImportFormat:
    """A format of datasets, of a system's captions, of judgments, or of several of them.

    Attributes:
        title: its label in forms.
        words: its label on the page of an upload; if empty, its name.
        dataset, candidates: functions that open a file or folder in an encoding.
        judgments: protocol -> function that opens judgments; the first protocol is the default.
    """

    name: str
    title: str
    words: str = ""
    dataset: Callable[[Path, str | None], DatasetSource] | None = None
    candidates: Callable[[Path, str | None], CandidateSource] | None = None
    judgments: Mapping[str, Callable[[Path, str | None], JudgmentSource]] = field(default_factory=dict)
