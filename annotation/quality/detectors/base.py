"""The base of detectors: a rule with a name, settings, and a test of a worker's history.

A detector examines a worker several times, after more and more judgments. Each time is called a look, as in
sequential testing (``schedule``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from django.utils import translation
from pydantic import BaseModel, ConfigDict, Field

from annotation.quality.detectors.history import AnswerFormat, History, OwnJudgment
from annotation.quality.detectors.schedule import alpha_share

Share = Annotated[float, Field(ge=0, le=1)]
Alpha = Annotated[float, Field(gt=0, le=0.2)]
Least = Annotated[int, Field(ge=1, le=10_000)]


@dataclass(frozen=True, slots=True)
class Finding:
    """The evidence against a worker.

    Attributes:
        rule: the name of the detector.
        judgments: the number of the worker's judgments so far.
        sentence: the evidence in English.
        evidence: the numbers of the sentence, from which it can be made in another language.
    """

    rule: str
    judgments: int
    sentence: str
    evidence: dict[str, Any]


class Rule(BaseModel, ABC):
    """A detector. Its fields are its settings.

    Attributes:
        needs_others: whether it gets others' judgments on the same units.
        needs_texts: whether it gets the texts of others in the study.
        controls_only: whether it gets only judgments on control items. Their number then decides when a look is due.
        only_flags: whether it may only flag a worker, since it finds signs but no proof.
        is_recommended: for detectors of features: whether it flags workers in studies whose design names no detectors.
        setting_labels: labels of its settings, where ``rules_page.SETTING_LABELS`` has none or another one.
        false_alarms: a sentence that says how often it flags honest people; "" if docs/quality.md says so.
        least: a setting: the number of judgments (or control items) before its first look.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: ClassVar[str]
    title: ClassVar[str]
    description: ClassVar[str]
    needs_others: ClassVar[bool] = False
    needs_texts: ClassVar[bool] = False
    controls_only: ClassVar[bool] = False
    only_flags: ClassVar[bool] = False
    is_recommended: ClassVar[bool] = False
    setting_labels: ClassVar[Mapping[str, str]] = {}
    false_alarms: ClassVar[str] = ""

    least: Least = 20

    @abstractmethod
    def examine(self, history: History) -> Finding | None:
        """Return the evidence against the worker; None if there is none, or if no look is due."""

    @classmethod
    def applies_to(cls, answer_format: AnswerFormat) -> bool:
        """Return whether the detector can examine answers of this form."""
        return True

    @classmethod
    def can_examine(cls, judgment: OwnJudgment) -> bool:
        """Return whether an answer has the data that the detector needs."""
        return True

    def is_due(self, *, total: int, new_count: int) -> bool:
        """Return whether a look is due after ``total`` judgments (or control items), ``new_count`` since the last."""
        return alpha_share(self.least, total=total, new_count=new_count) > 0

    @abstractmethod
    def describe(self, numbers: Mapping[str, Any]) -> str:
        """Return the sentence for the numbers of a finding, in the reader's language."""

    def make_finding(self, history: History, **evidence: Any) -> Finding:
        """Return a finding with rounded numbers. Its sentence is in English, since it is stored."""
        with translation.override("en"):
            sentence = self.describe(evidence)
        rounded_evidence = {
            key: float(f"{value:.4g}") if isinstance(value, float) else value
            for key, value in evidence.items()
        }
        return Finding(rule=self.name, judgments=history.total, sentence=sentence, evidence=rounded_evidence)


class SequentialRule(Rule):
    """A statistical detector. ``alpha`` bounds the probability that an honest worker is ever flagged."""

    alpha: Alpha = 0.001

    def alpha_now(self, history: History) -> float:
        """Return the part of alpha for this look; 0 if no look is due."""
        return self.alpha * alpha_share(self.least, total=history.total, new_count=history.new_count)


def collect_findings(
    rules: Iterable[Rule], history: History, *, judgments: int
) -> list[tuple[Rule, Finding]]:
    """Let detectors examine a history, and return those that have a finding, with the finding.

    Args:
        judgments: the number of all judgments of the worker, for the findings. A history of control items has only
            the number of these.
    """
    results = ((rule, rule.examine(history)) for rule in rules)
    return [(rule, replace(finding, judgments=judgments)) for rule, finding in results if finding is not None]
