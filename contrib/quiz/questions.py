"""The questions that a quiz can ask, including the questions of built-in tests."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from common.features import of_features
from judgments.drawing.draws import shuffle
from judgments.drawing.keys import content_key

if TYPE_CHECKING:
    import numpy as np

    from judgments.design.quiz import Quiz


@dataclass(frozen=True, slots=True)
class Question:
    """A question with several options. ``right_option`` is the index of the right one."""

    key: str
    text: str
    options: tuple[str, ...]
    right_option: int
    explanation: str


@dataclass(frozen=True, slots=True)
class QuizPreset:
    """A built-in test.

    Attributes:
        source: the paper whose test it is.
        unstated_settings: which settings the paper does not state, so that they are Quorum's choice.
    """

    name: str
    title: str
    source: str
    questions: tuple[Question, ...]
    unstated_settings: str


def _read_english() -> QuizPreset:
    """Read english.toml, in which the first option of each question is the right one."""
    test = tomllib.loads(Path(__file__).with_name("english.toml").read_text(encoding="utf-8"))
    questions = tuple(
        Question(
            key=f"english-{question['id']}",
            text=question["text"],
            options=tuple(question["options"]),
            right_option=0,
            explanation=question["why"],
        )
        for question in test["questions"]
    )
    return QuizPreset(
        name="hodosh-2013-english",
        title=test["title"],
        source=test["source"],
        questions=questions,
        unstated_settings=test["ours"],
    )


ENGLISH = _read_english()


def preset_of(quiz: Quiz) -> QuizPreset | None:
    """Return the built-in test that the quiz names; None if it names none."""
    return next((preset for preset in of_features("quiz_presets") if preset.name == quiz.preset), None)


def questions_of_design(quiz: Quiz) -> list[Question]:
    """Return the questions that the study's design states, besides those of a built-in test."""
    return [
        Question(
            key=content_key("question", question.text, list(question.options), question.answer),
            text=question.text,
            options=question.options,
            right_option=question.answer - 1,
            explanation=question.why,
        )
        for question in quiz.questions
    ]


def questions_of(quiz: Quiz) -> dict[str, Question]:
    """Return all questions from which attempts are drawn, by key."""
    preset = preset_of(quiz)
    preset_questions = preset.questions if preset is not None else ()
    return {question.key: question for question in (*preset_questions, *questions_of_design(quiz))}


def questions_per_attempt(quiz: Quiz) -> int:
    """Return the number of questions of an attempt, without the study's own items that it may also have."""
    return min(quiz.ask, len(questions_of(quiz)))


def draw_keys(
    keys: Sequence[str], count: int, *, seen: Collection[str], rng: np.random.Generator
) -> list[str]:
    """Draw ``count`` keys of questions or items.

    Keys in ``seen``, which earlier attempts had, are drawn only if the other keys do not suffice.
    """
    shuffled_keys = shuffle(keys, rng)
    new_keys = [key for key in shuffled_keys if key not in seen]
    repeated_keys = [key for key in shuffled_keys if key in seen]
    return shuffle([*new_keys, *repeated_keys][:count], rng)


def reaches_pass_mark(right_count: int, answer_count: int, pass_mark: float) -> bool:
    """Return whether the share of right answers reaches the pass mark.

    The quotient is the float that is nearest to the true share. So 8 of 10 reaches a mark that is written as 0.8.
    """
    return answer_count > 0 and right_count / answer_count >= pass_mark
