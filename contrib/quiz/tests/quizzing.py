"""Studies with a quiz, and people who take it."""

from typing import Any

from annotation.models import QuizAttempt
from contrib.quiz.attempts.content import AttemptContent, content_of
from contrib.quiz.attempts.taking import answer_attempt, start_attempt
from judgments.kinds import KINDS
from judgments.models import Study
from tests.annotation.casting import Person, make_dataset, make_study

PROTOCOLS = ("triplet", "pairwise", "relevance", "graded")
QUESTIONS = [
    {
        "text": f"Question {number}?",
        "options": [f"right {number}", f"wrong {number}", f"worse {number}"],
        "answer": 1,
        "why": f"Because of {number}.",
    }
    for number in range(1, 5)
]


def quizzed(protocol: str = "triplet", **quiz: Any) -> Study:
    """A study with a quiz of its own four questions, unless told otherwise."""
    return make_study(make_dataset(), protocol, quiz={"questions": QUESTIONS} | quiz)


def right_answers(content: AttemptContent, *, wrong: int = 0) -> list[dict[str, Any]]:
    """Right answers to everything an attempt asks, but for the first ``wrong`` ones."""
    kind = KINDS[content.design.protocol]
    answers = []
    value: float
    others: list[float]
    for position in range(1, content.size + 1):
        if position in content.questions:
            value = content.questions[position].right_value
            others = [one for one in range(1, len(content.questions[position].order) + 1) if one != value]
        else:
            place = content.page_units[position]
            good = [
                one
                for one in kind.values
                if kind.is_right(kind.sides.to_canonical(one, side=place.side), place.unit.expected)
            ]
            value, others = good[0], [one for one in kind.values if one not in good]
        answers.append({"position": position, "value": others[0] if position <= wrong else value})
    return answers


def take(study: Study, person: Person, *, wrong: int = 0) -> QuizAttempt:
    """A whole attempt."""
    attempt = start_attempt(study=study, worker=person.worker)
    return answer_attempt(attempt=attempt, answers=right_answers(content_of(attempt), wrong=wrong))
