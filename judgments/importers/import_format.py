"""A file format that a feature adds to the formats of imports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from judgments.importers.records.sources import CandidateSource, DatasetSource, JudgmentSource


@dataclass(frozen=True, slots=True)
class ImportFormat:
    """A format of datasets, of a system's captions, of judgments, or of several of them.

    Attributes:
        title: the format's label in forms.
        words: the format's label on the page of an upload; if empty, its name.
        dataset, candidates: functions that open a file or folder; their arguments are its path and encoding.
        judgments: functions that open judgments, by protocol; the first protocol is the default.
    """

    name: str
    title: str
    words: str = ""
    dataset: Callable[[Path, str | None], DatasetSource] | None = None
    candidates: Callable[[Path, str | None], CandidateSource] | None = None
    judgments: Mapping[str, Callable[[Path, str | None], JudgmentSource]] = field(default_factory=dict)
