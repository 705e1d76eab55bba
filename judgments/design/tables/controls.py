"""The study-file tables about the quality of answers: check questions, detectors, records, early stopping."""

from __future__ import annotations

from functools import cache
from math import comb
from typing import Annotated, Literal

from pydantic import Field

from judgments.design.scale import MAX_NUMBER
from judgments.design.tables.base import DesignTable, Listed

CAREFUL_ACCURACY = 0.95  # assumed accuracy of careful people
GUESSING_ACCURACY = 0.5  # accuracy of guesses between two answers
MAX_WRONG_EXCLUSION = 0.01  # probability with which the pass mark may exclude a careful person
MAX_CHECKS = 100  # number of check questions up to which MAX_WRONG_EXCLUSION holds


class KnownItem(DesignTable):
    """An item whose right answer the designer knows.

    Texts are as workers see them, and an image is its name in the dataset. The used keys depend on the protocol.
    """

    image: str = ""
    reference: str = Field("", description="Sentence A of a triplet.")
    first: str = ""
    second: str = ""
    expected: (
        Annotated[int, Field(ge=-(2**53), le=2**53)]
        | Annotated[float, Field(ge=-MAX_NUMBER, le=MAX_NUMBER)]
        | str
    ) = Field(description="The right answer if the texts are shown in the order above.")
    why: str = Field("", max_length=500, description="This text is shown with the explanation of the answer.")


class Controls(DesignTable):
    """The settings of control items, whose right answer is known."""

    omitted = frozenset({"least"})  # left out if it is 1, so that designs of earlier releases stay the same

    per_hit: Annotated[int, Field(ge=0, le=100)] = Field(
        0,
        title="Check questions on each page",
        description="Check questions count as items of the page. 0: no check questions.",
    )
    threshold: Annotated[float, Field(ge=0, le=1)] = Field(
        0.7,
        title="Pass mark",
        description="Between 0 and 1. If participants are below the pass mark, their answers are "
        "kept but not used.",
    )
    least: Annotated[int, Field(ge=1, le=1000)] = Field(
        1,
        title="Number of check questions before exclusion",
        description="Participants are excluded only after they have answered this number of check questions. "
        "With a small number, careful participants can also be excluded, because they sometimes "
        "make a mistake.",
    )
    split: str = Field(
        "dev",
        max_length=20,
        title="Split for check questions",
        description="If the dataset has no splits, a tenth of the items is reserved for check questions.",
    )
    kinds: Listed[Literal["degraded", "repeated", "known-good", "reference"]] = Field(
        ("reference",),
        min_length=1,
        title="Kinds",
        description="All chosen kinds are used equally often.",
        json_schema_extra={
            "words": {
                "reference": "A person's text for the item (reference)",
                "degraded": "A text and a damaged copy of it (degraded)",
                "repeated": "An item of the same page, shown again (repeated)",
                "known-good": "Items whose answer you know (known-good)",
            }
        },
    )
    known: Listed[KnownItem] = Field(
        (),
        title="Items whose answer you know",
        description="Used for check questions of the kind “known-good”.",
    )
    after: Annotated[int, Field(ge=1, le=1000)] = Field(
        4,
        title="Number of check questions before accuracy is shown",
        description="The accuracy of a participant is shown after this number of check questions.",
    )

    def excludes(self, answers: int, right_answers: int) -> bool:
        """Return whether a worker with these numbers of answers to check questions is excluded."""
        # the quotient is the double nearest to the true share, so 7 of 10 reaches a threshold of 0.7
        return answers >= self.least and right_answers / answers < self.threshold

    def exclusion_probability(self, answers: int, accuracy: float) -> float:
        """Return the probability that a worker is excluded after ``answers`` check questions.

        Args:
            accuracy: the probability that the worker answers a check question right.
        """
        return sum(
            comb(answers, right_answers)
            * accuracy**right_answers
            * (1 - accuracy) ** (answers - right_answers)
            for right_answers in range(answers + 1)
            if self.excludes(answers, right_answers)
        )


@cache
def usual_least(threshold: float) -> int:
    """Return the smallest number of check questions after which careful workers are hardly ever excluded.

    For every number from this one to ``MAX_CHECKS``, the probability of an exclusion is at most
    ``MAX_WRONG_EXCLUSION``. If there is no such number, return 1, which protects nobody.
    """
    controls = Controls(threshold=threshold)
    least = MAX_CHECKS + 1
    while least > 1 and controls.exclusion_probability(least - 1, CAREFUL_ACCURACY) <= MAX_WRONG_EXCLUSION:
        least -= 1
    return least if least <= MAX_CHECKS else 1


class RuleSetting(DesignTable):
    """A detector that watches participants from the opening of the study (docs/quality.md)."""

    rule: Annotated[str, Field(min_length=1, max_length=40)]
    action: Literal["flag", "pause", "exclude"] = "flag"
    settings: dict[str, int | float | str] = Field(default_factory=dict)


class Writing(DesignTable):
    """The settings of what the page records while participants write (contrib/honest_answers/README.md)."""

    record: bool = Field(
        False,
        title="Record how answers are written",
        description="The page counts key presses, pauses, corrections, pasted characters, and how often "
        "participants leave the tab. It does not record which keys are pressed. Participants "
        "are told about this before they join.",
    )
    hidden_line: bool = Field(
        False,
        title="Hidden line for AI programs",
        description="The page contains a hidden line that asks AI programs to use a rare word. "
        "Participants do not see or hear the line, but they are told that the page can "
        "contain such a line.",
    )


class Stopping(DesignTable):
    """The settings of early stopping: no further judgments of a unit whose outcome is clear (docs/stopping.md)."""

    rule: Literal["none", "settled", "margin"] = Field(
        "none",
        title="Stopping rule",
        json_schema_extra={
            "words": {
                "none": "Never: every item gets all its judgments",
                "settled": "Stop when the remaining votes cannot change the outcome",
                "margin": "Stop when one answer has the required lead",
            }
        },
    )
    full_depth: Annotated[float, Field(ge=0, le=1)] = Field(
        0.1,
        title="Share of pages of work without early stopping",
        description="These pages are sampled with the seed. Agreement is measured only on these pages, "
        "because early stopping would bias the agreement.",
    )
    minimum: Annotated[int, Field(ge=1, le=1000)] = Field(
        2,
        title="Minimum number of votes",
        description="Used only with the rule “Stop when one answer has the required lead”.",
    )
    margin: Annotated[int, Field(ge=1, le=1000)] = Field(
        2,
        title="Required lead in votes",
        description="Used only with the rule “Stop when one answer has the required lead”.",
    )
