"""A study's quiz as a qualification test of Mechanical Turk: its questions, and the key that grades them there.

Rules: "QuestionForm" and "AnswerKey" of the Mechanical Turk API Reference; the limits are those of
CreateQualificationType. The service asks everybody the same questions and tells nobody what was right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from xml.etree.ElementTree import Element

from annotation.mturk.errors import QuestionProblem, QuestionTooLong
from annotation.mturk.questions import MOST_BYTES
from annotation.mturk.xml import ANSWER_KEY, QUESTION_FORM, add, root, written
from judgments.design_tables import Quiz
from judgments.draws import rng_for, shuffled
from judgments.quizzes import Question, asks_anything, passes, questions_asked, questions_of


@dataclass(frozen=True, slots=True)
class QualificationTest:
    """A test as CreateQualificationType takes it.

    Attributes:
        test: the QuestionForm.
        answer_key: the AnswerKey, which makes the share answered right the qualification's value, in percent.
        questions: how many it asks.
        needed: the value to require.
    """

    test: str
    answer_key: str
    questions: int
    needed: int


def qualification_test(quiz: Quiz, *, seed: int, title: str) -> QualificationTest:
    """The test for a study's quiz; which of its questions are asked, and the order of options, is drawn with ``seed``.

    Raises:
        QuestionProblem: the quiz asks nothing, or known items, which only our own pages can show.
        QuestionTooLong: a document has more bytes than the service takes.
    """
    if not asks_anything(quiz):
        raise QuestionProblem(
            "quiz asks nothing, so there is no test to make; expected quiz.preset or quiz.questions."
        )
    if quiz.items:
        raise QuestionProblem(
            f"quiz.items is {quiz.items}, but a test of Mechanical Turk has questions alone; expected 0, or "
            'crowd.question = "external".'
        )
    known = questions_of(quiz)
    rng = rng_for(seed, "mturk test")
    asked = [known[key] for key in shuffled(list(known), rng)[: questions_asked(quiz)]]
    orders = [shuffled(range(len(question.options)), rng) for question in asked]
    return QualificationTest(
        test=_short_enough("test", written(_form(title, asked, orders))),
        answer_key=_short_enough("answer key", written(_key(asked))),
        questions=len(asked),
        needed=percent_needed(len(asked), quiz.pass_mark),
    )


def percent_needed(asked: int, pass_mark: float) -> int:
    """The least percentage that passes, rounded as the service rounds: whoever passes here passes there.

    Which way a half is rounded is not documented, so the lower neighbour is required; it is still above the
    percentage of one right answer fewer.
    """
    right = next(right for right in range(asked + 1) if passes(right, asked, pass_mark))
    return math.ceil(Fraction(100 * right, asked) - Fraction(1, 2))


def _form(title: str, asked: Sequence[Question], orders: Sequence[Sequence[int]]) -> Element:
    document = root("QuestionForm", QUESTION_FORM)
    add(add(document, "Overview"), "Title", title)
    for number, (question, order) in enumerate(zip(asked, orders, strict=True), start=1):
        part = add(document, "Question")
        add(part, "QuestionIdentifier", _identifier(number))
        add(part, "DisplayName", f"{number} / {len(asked)}")
        add(part, "IsRequired", "true")
        add(add(part, "QuestionContent"), "Text", question.text)
        answer = add(add(part, "AnswerSpecification"), "SelectionAnswer")
        add(answer, "StyleSuggestion", "radiobutton")
        selections = add(answer, "Selections")
        for place in order:
            selection = add(selections, "Selection")
            add(selection, "SelectionIdentifier", _selection(place))
            add(selection, "Text", question.options[place])
    return document


def _key(asked: Sequence[Question]) -> Element:
    document = root("AnswerKey", ANSWER_KEY)
    for number, question in enumerate(asked, start=1):
        part = add(document, "Question")
        add(part, "QuestionIdentifier", _identifier(number))
        option = add(part, "AnswerOption")
        add(option, "SelectionIdentifier", _selection(question.right))
        add(option, "AnswerScore", 1)
    mapping = add(add(document, "QualificationValueMapping"), "PercentageMapping")
    add(mapping, "MaximumSummedScore", len(asked))
    return document


def _identifier(number: int) -> str:
    return f"q{number}"


def _selection(place: int) -> str:
    """The place as written in the study, not as shown: a test whose options are mixed anew has the same key.

    Of letters and digits alone, as the service wants it, and telling nothing: the order shown is mixed.
    """
    return f"o{place + 1}"


def _short_enough(what: str, document: str) -> str:
    size = len(document.encode())
    if size > MOST_BYTES:
        raise QuestionTooLong(
            f"The {what} of the quiz is {size:,} bytes long, and Mechanical Turk takes {MOST_BYTES:,}; expected fewer "
            "or shorter questions."
        )
    return document
