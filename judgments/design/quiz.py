"""The study-file table ``quiz``: the settings of the quiz before the work.

The feature `quiz` draws the questions, asks them and scores the answers.
"""

from __future__ import annotations

from typing import Annotated, Literal

from django.utils.translation import gettext, pgettext
from pydantic import Field, field_validator, model_validator

from common.features import of_features
from judgments.design.tables.base import DesignTable, Listed

QUIZ_PRESETS = {preset.name: preset for preset in of_features("quiz_presets")}


class StudyQuestion(DesignTable):
    """A question written for this study, with one right answer."""

    text: Annotated[str, Field(min_length=1, max_length=1000)]
    options: Listed[str] = Field(min_length=2, max_length=9)
    answer: Annotated[int, Field(ge=1, le=9)] = Field(
        description="Number of the right option, starting at 1."
    )
    why: str = Field(
        "", max_length=1000, description="This text is shown with the explanation of the answer."
    )

    @model_validator(mode="after")
    def _check_answer_is_an_option(self) -> StudyQuestion:
        if self.answer > len(self.options):
            raise ValueError(
                gettext("“answer” is %(answer)s; expected at most %(n)s, the number of options")
                % {"answer": self.answer, "n": len(self.options)}
            )
        return self


class Quiz(DesignTable):
    """The quiz that a worker must pass before the work. A quiz without questions is off."""

    preset: str = Field(
        "",
        title="Predefined set of questions",
        json_schema_extra={
            "words": {"": "None", **{name: preset.title for name, preset in QUIZ_PRESETS.items()}}
        },
    )
    questions: Listed[StudyQuestion] = Field(
        (), title="Your own questions", description="Each question has one right answer."
    )
    ask: Annotated[int, Field(ge=0, le=100)] = Field(
        10,
        title="Questions per attempt",
        description="These questions are sampled from all questions of the quiz.",
    )
    items: Annotated[int, Field(ge=0, le=100)] = Field(
        0,
        title="Known items per attempt",
        description="Number of questions that are items of the study with a right answer. These items "
        "are used only in the quiz, not on pages of work.",
    )
    pass_mark: Annotated[float, Field(ge=0, le=1)] = Field(
        0.8, title="Pass mark of the quiz", description="Between 0 and 1."
    )
    attempts: Annotated[int, Field(ge=1, le=100)] = Field(2, title="Attempts")
    explain: Literal["after-each", "at-the-end", "never"] = Field(
        "after-each",
        title="When to explain answers",
        json_schema_extra={
            "words": {
                "after-each": "After each question",
                "at-the-end": "After the last question",
                "never": "Never",
            }
        },
    )
    qualification: str = Field(
        "",
        pattern=r"^[-a-zA-Z0-9_.]*$",
        max_length=80,
        title="Shared qualification",
        description="In studies with the same qualification, participants take the quiz only once.",
    )

    @field_validator("preset")
    @classmethod
    def _check_quiz_exists(cls, name: str) -> str:
        if name and QUIZ_PRESETS and name not in QUIZ_PRESETS:  # if the feature is off, there are no presets
            raise ValueError(
                gettext("there is no quiz %(name)r; expected one of %(listed)s")
                % {"name": name, "listed": ", ".join(QUIZ_PRESETS)}
            )
        return name

    @model_validator(mode="after")
    def _check_not_empty(self) -> Quiz:
        if (self.preset or self.questions) and not self.ask:
            raise ValueError(gettext("“ask” is 0, so the quiz would have no questions"))
        return self


def asks_anything(quiz: Quiz) -> bool:
    return bool(quiz.preset or quiz.questions or quiz.items)


def is_quiz_on() -> bool:
    """Return whether a feature offers quizzes."""
    return bool(of_features("quiz_items"))


def why_quiz_is_off(quiz: Quiz) -> str:
    """Return a warning if the design has a quiz but the feature for quizzes is off; "" otherwise."""
    if is_quiz_on() or not asks_anything(quiz):
        return ""
    return pgettext(
        "staff", "The study has a quiz, but quizzes are off. Turn on “quiz” in the setting CONTRIB_APPS."
    )
