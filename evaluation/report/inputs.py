"""Report inputs as plain data. Pure.

``loading`` reads them from a study, ``evaluation.releases.inputs`` from a release.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from evaluation.judgment_sets.records import Floats, JudgmentTable
from evaluation.results.consensus import StudyConsensus
from evaluation.results.meta_evaluation import DEFAULT_TOKENIZER, PairTexts, References
from evaluation.results.rankings import Proposals
from judgments.kinds import Kind

Texts = tuple[list[PairTexts], list[References]]


def no_texts() -> Texts | None:
    return None


@dataclass(frozen=True, slots=True)
class Computed:
    result: Mapping[str, Any]
    settings: Mapping[str, Any]
    signature: str


@dataclass(frozen=True)
class ReportInputs:
    """The inputs of a report's sections.

    Attributes:
        evaluation: metrics against the consensus, or None with ``why_not``.
        scores: metric -> (N, 2) of pairs or (N, 1) of captions; ``pks``: their (N,) row ids, None where a
            scored caption is no unit.
        people: (N,) consensus of each scored caption, nan without judgments; None for pairs.
        captions: image and id of each scored caption; empty for pairs.
        full_depth: units for agreement; None: all.
        names: worker row id -> name.
        systems: pair key -> systems of its two captions; ``images``: pair row id -> its image.
        proposals: systems' outputs; None where units are no single captions.
        texts: pairs with references, and the documents of document frequency; None without texts.
    """

    kind: Kind
    seed: int
    table: JudgmentTable
    consensus: StudyConsensus
    aggregation: Computed
    evaluation: Computed | None
    why_not: str
    scores: Mapping[str, Floats] = field(default_factory=dict)
    pks: Sequence[int] | None = None
    people: Floats | None = None
    captions: Sequence[tuple[Hashable, str]] = ()
    full_depth: Collection[int] | None = None
    names: Mapping[int, str] = field(default_factory=dict)
    systems: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    images: Mapping[int, Hashable] = field(default_factory=dict)
    proposals: Proposals | None = None
    texts: Callable[[], Texts | None] = no_texts

    @cached_property
    def winners(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return (N,) people's winner of each scored pair: 1, 2, or 0 for none."""
        found = self.consensus.of_pair
        return np.array([found[pk].value or 0 for pk in self.pks or ()], dtype=np.int64)

    @cached_property
    def kinds(self) -> np.ndarray[Any, np.dtype[np.str_]]:
        """Return (N,) pair kinds; "" where unknown."""
        of = {pair.pk: pair.kind for pair in self.consensus.pairs}
        return np.array([of[pk] for pk in self.pks or ()], dtype=np.str_)

    @property
    def tokenizer(self) -> str:
        return str(self.evaluation.settings["tok"]) if self.evaluation else DEFAULT_TOKENIZER

    @property
    def metrics(self) -> list[str]:
        return list(self.evaluation.result["metrics"]) if self.evaluation else []


def people_of_units(consensus: StudyConsensus, pks: Sequence[int]) -> Floats:
    """Return (N,) values of units: adjudicated, else the answer's share, else the mean; nan without."""

    def value_of(pk: int) -> float:
        found = consensus.of_unit.get(pk)
        if found is None or found.value is None:
            return np.nan
        return float(found.value if found.share is None or pk in consensus.decisions else found.share)

    return np.array([value_of(pk) for pk in pks], dtype=np.float64)
