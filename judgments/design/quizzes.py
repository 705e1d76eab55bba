"""The quiz of a study: ready tests, its own questions, and those that an attempt draws. Pure."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from judgments.design.parts import Listed, Part
from judgments.drawing.draws import content_key, shuffled


@dataclass(frozen=True, slots=True)
class Question:
    """A question with several answers, one of them right.

    Attributes:
        key: its id in attempts and results, derived from its words.
        options: the answers, in the order they were written.
        right: index of the right one, from 0.
        why: shown once the worker answered; may be empty.
    """

    key: str
    text: str
    options: tuple[str, ...]
    right: int
    why: str


@dataclass(frozen=True, slots=True)
class QuizPreset:
    """A ready test.

    Attributes:
        questions: all there are; an attempt draws some.
        ours: what the paper does not give.
    """

    title: str
    source: str
    questions: tuple[Question, ...]
    ours: str


def _english() -> QuizPreset:
    """Read the test of english.toml; the first option of each question is the right one."""
    test = tomllib.loads(Path(__file__).with_name("english.toml").read_text(encoding="utf-8"))
    questions = tuple(
        Question(
            key=f"english-{one['id']}",
            text=one["text"],
            options=tuple(one["options"]),
            right=0,
            why=one["why"],
        )
        for one in test["questions"]
    )
    return QuizPreset(title=test["title"], source=test["source"], questions=questions, ours=test["ours"])


QUIZ_PRESETS: dict[str, QuizPreset] = {"hodosh-2013-english": _english()}


class OwnQuestion(Part):
    """A question of the study's own, with one right answer."""

    text: Annotated[str, Field(min_length=1, max_length=1000)]
    options: Listed[str] = Field(min_length=2, max_length=9)
    answer: Annotated[int, Field(ge=1, le=9)] = Field(description="Which of the options is right, from 1.")
    why: str = Field("", max_length=1000, description="Said when the answer is explained.")

    @model_validator(mode="after")
    def _the_answer_is_an_option(self) -> OwnQuestion:
        if self.answer > len(self.options):
            raise ValueError(f"answer is {self.answer}, but there are {len(self.options)} options")
        return self


class Quiz(Part):
    """What a worker passes before the work; off where it asks nothing."""

    preset: str = Field(
        "",
        title="Ready set of questions",
        json_schema_extra={"words": {"": "None", **{name: one.title for name, one in QUIZ_PRESETS.items()}}},
    )
    questions: Listed[OwnQuestion] = Field(
        (),
        title="Questions of your own",
        description="As [[questions]] tables: text, options, answer, why.",
        json_schema_extra={"rows": 8},
    )
    ask: Annotated[int, Field(ge=0, le=100)] = Field(
        10, title="Questions in an attempt", description="Drawn from all there are."
    )
    items: Annotated[int, Field(ge=0, le=100)] = Field(
        0,
        title="Known items in an attempt",
        description="Of the study's own kind, about images set aside for them.",
    )
    pass_mark: Annotated[float, Field(ge=0, le=1)] = Field(
        0.8, title="Share that must be right", description="Between 0 and 1."
    )
    attempts: Annotated[int, Field(ge=1, le=100)] = Field(2, title="Attempts")
    explain: Literal["after-each", "at-the-end", "never"] = Field(
        "after-each",
        title="Answers are explained",
        json_schema_extra={
            "words": {
                "after-each": "After each question",
                "at-the-end": "After the last question",
                "never": "Not at all",
            }
        },
    )
    qualification: str = Field(
        "",
        pattern=r"^[-a-zA-Z0-9_.]*$",
        max_length=80,
        title="Shared qualification",
        description="Studies that name the same one ask for the quiz once.",
    )

    @field_validator("preset")
    @classmethod
    def _there_is_such_a_quiz(cls, name: str) -> str:
        if name and name not in QUIZ_PRESETS:
            raise ValueError(f"there is no quiz {name!r}; there are {', '.join(QUIZ_PRESETS)}")
        return name

    @model_validator(mode="after")
    def _it_asks_something(self) -> Quiz:
        if (self.preset or self.questions) and not self.ask:
            raise ValueError("ask is 0, so that none of the questions would be asked")
        return self


def question_of(text: str, options: Sequence[str], answer: int, why: str) -> Question:
    """Return a designer's question; ``answer`` counts the options from 1."""
    key = content_key("question", text, list(options), answer)
    return Question(key=key, text=text, options=tuple(options), right=answer - 1, why=why)


def questions_of(quiz: Quiz) -> dict[str, Question]:
    """Return the questions of a quiz by key: its preset's, then its own."""
    ready = QUIZ_PRESETS[quiz.preset].questions if quiz.preset else ()
    own = [question_of(one.text, one.options, one.answer, one.why) for one in quiz.questions]
    return {question.key: question for question in (*ready, *own)}


def drawn(keys: Sequence[str], count: int, *, asked: Collection[str], rng: np.random.Generator) -> list[str]:
    """Draw ``count`` of ``keys``; those asked before come only when the others are used up."""
    mixed = shuffled(keys, rng)
    fresh = [key for key in mixed if key not in asked]
    again = [key for key in mixed if key in asked]
    return shuffled([*fresh, *again][:count], rng)


def asks_anything(quiz: Quiz) -> bool:
    return bool(quiz.preset or quiz.questions or quiz.items)


def questions_asked(quiz: Quiz) -> int:
    """Return how many questions an attempt asks, without known items."""
    return min(quiz.ask, len(questions_of(quiz)))


def passes(right: int, asked: int, pass_mark: float) -> bool:
    """Return whether the share of right answers reaches the mark.

    The quotient is the double nearest to the true share, so that 8 of 10 reaches a mark written 0.8.
    """
    return asked > 0 and right / asked >= pass_mark
