"""A format of files that a feature adds to those that imports read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from judgments.importers.records.sources import CandidateSource, DatasetSource, JudgmentSource


@dataclass(frozen=True, slots=True)
class ImportFormat:
    """What a format holds: a dataset, a system's captions, judgments, or several of them.

    Attributes:
        title: what forms call it.
        words: what the page of an upload calls it; without them, its name.
        dataset, candidates: open a file or folder in an encoding.
        judgments: open those of a protocol, the default first.
    """

    name: str
    title: str
    words: str = ""
    dataset: Callable[[Path, str | None], DatasetSource] | None = None
    candidates: Callable[[Path, str | None], CandidateSource] | None = None
    judgments: Mapping[str, Callable[[Path, str | None], JudgmentSource]] = field(default_factory=dict)
