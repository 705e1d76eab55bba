"""What a quiz asks: ready tests, a study's own questions, and which of them one attempt draws. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from judgments import english
from judgments.drawing.draws import content_key, shuffled

if TYPE_CHECKING:
    from judgments.design.study_design import Quiz


@dataclass(frozen=True, slots=True)
class Question:
    """A question with a few answers, one of them right.

    Attributes:
        key: names it in attempts and results; the same for the same words.
        text: what is asked.
        options: the answers, in the order they were written.
        right: the place of the right one, from 0.
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
        title: what the admin's list shows.
        source: paper and section.
        questions: all there are; an attempt draws some.
        ours: what the paper does not give.
    """

    title: str
    source: str
    questions: tuple[Question, ...]
    ours: str


QUIZ_PRESETS: dict[str, QuizPreset] = {
    "hodosh-2013-english": QuizPreset(
        title="English spelling and grammar",
        source="Hodosh, Young, Hockenmaier 2013, section 2.3.2",
        questions=tuple(
            Question(key=f"english-{name}", text=text, options=(right, *wrong), right=0, why=why)
            for name, text, right, *wrong, why in english.QUESTIONS
        ),
        ours="the questions, how many are asked, the pass mark, the attempts",
    ),
}


def question_of(text: str, options: Sequence[str], answer: int, why: str) -> Question:
    """A designer's question; ``answer`` counts the options from 1."""
    key = content_key("question", text, list(options), answer)
    return Question(key=key, text=text, options=tuple(options), right=answer - 1, why=why)


def questions_of(quiz: Quiz) -> dict[str, Question]:
    """All questions a study's quiz can ask, by key: its preset's, then its own."""
    ready = QUIZ_PRESETS[quiz.preset].questions if quiz.preset else ()
    own = [question_of(one.text, one.options, one.answer, one.why) for one in quiz.questions]
    return {question.key: question for question in (*ready, *own)}


def drawn(keys: Sequence[str], count: int, *, asked: Collection[str], rng: np.random.Generator) -> list[str]:
    """``count`` of ``keys`` in random order; those asked before come only when the others are used up."""
    mixed = shuffled(keys, rng)
    fresh = [key for key in mixed if key not in asked]
    again = [key for key in mixed if key in asked]
    return shuffled([*fresh, *again][:count], rng)


def asks_anything(quiz: Quiz) -> bool:
    """Whether there is a quiz at all."""
    return bool(quiz.preset or quiz.questions or quiz.items)


def questions_asked(quiz: Quiz) -> int:
    """How many questions an attempt asks, its known items not counted: no more than there are."""
    return min(quiz.ask, len(questions_of(quiz)))


def passes(right: int, asked: int, pass_mark: float) -> bool:
    """Whether so many right answers pass; equality does.

    The quotient is the double nearest to the true share, so that 8 of 10 reaches a mark written 0.8.
    """
    return asked > 0 and right / asked >= pass_mark
