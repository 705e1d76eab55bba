"""The study-file table of the plan that is registered before the study opens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from django.utils.translation import gettext
from pydantic import Field, field_validator

from judgments.design.tables.base import DesignTable, Listed, Paragraph

# The second name cannot begin with "=", so that "a >= b" is refused.
CLAIM_PATTERN = re.compile(
    r"\s*(?P<better>[^\s<>]+)\s*>\s*(?P<worse>[^\s<>=][^\s<>]*)(?:\s+on\s+(?P<kind>HC|HI|HM|MM|all))?\s*"
)


@dataclass(frozen=True, slots=True)
class HypothesisClaim:
    """The claim that one metric agrees with people more often than another, on pairs of one kind or on all pairs."""

    better: str
    worse: str
    kind: str


def read_claim(text: str) -> HypothesisClaim:
    """Parse a claim such as ``cider-d > rouge-l on HC``. Raise ValueError for other texts."""
    match = CLAIM_PATTERN.fullmatch(text)
    if match is None or match["better"] == match["worse"]:
        raise ValueError(
            gettext("the claim %(text)r cannot be read; expected a form such as 'cider-d > rouge-l on HC'")
            % {"text": text}
        )
    return HypothesisClaim(match["better"], match["worse"], match["kind"] or "all")


class Hypothesis(DesignTable):
    """An expected result in words. A claim such as ``cider-d > rouge-l on HC`` makes it testable automatically."""

    text: Annotated[str, Field(min_length=1, max_length=2000)]
    claim: Paragraph = Field("", description="Checked by McNemar's test; empty: people judge it.")

    @field_validator("claim")
    @classmethod
    def _check_claim(cls, claim: str) -> str:
        if claim:
            read_claim(claim)
        return claim


class RegistrationPlan(DesignTable):
    """The plan of a study. The operation `register` fixes it by a hash before the study opens."""

    hypotheses: Listed[Hypothesis] = Field(min_length=1, max_length=100, description="What is expected.")
    exclusions: Paragraph = Field("", description="Whose answers will not count, in words.")
    exclude_by: Listed[Paragraph] = Field(
        (), max_length=50, description="Detectors that may exclude people; others are deviations."
    )
    stopping: Paragraph = Field("", description="When collection stops, in words.")
    analyses: Listed[Paragraph] = Field((), max_length=100, description="What will be computed, in words.")
    metrics: Listed[Paragraph] = Field(
        (), max_length=100, description="Compared with people; others are deviations. Empty: any may be."
    )
    level: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.05, description="Of all checked hypotheses together, after Holm."
    )
