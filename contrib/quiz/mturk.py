"""Convert a quiz that has only questions to a qualification test of Mechanical Turk."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from xml.etree.ElementTree import Element

from annotation.crowds.mturk.questions import (
    MAX_BYTES,
    SCHEMAS,
    QuestionProblem,
    add_element,
    document_text,
    root_element,
)
from annotation.work.quiz import QualificationTest
from contrib.quiz.questions import Question, questions_of, questions_per_attempt, reaches_pass_mark
from judgments.design.quiz import Quiz, asks_anything
from judgments.drawing.draws import rng_for, shuffle

QUESTION_FORM = f"{SCHEMAS}/2017-11-06/QuestionForm.xsd"
ANSWER_KEY = f"{SCHEMAS}/2005-10-01/AnswerKey.xsd"


def qualification_test(quiz: Quiz, *, seed: int, title: str) -> QualificationTest:
    """Return the test for a study's quiz.

    Args:
        seed: determines which questions are drawn, and the order of their options.
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
    questions_by_key = questions_of(quiz)
    rng = rng_for(seed, "mturk test")
    drawn_keys = shuffle(list(questions_by_key), rng)[: questions_per_attempt(quiz)]
    questions = [questions_by_key[key] for key in drawn_keys]
    orders = [shuffle(range(len(question.options)), rng) for question in questions]
    return QualificationTest(
        test=_check_document_size("test", document_text(_make_form(title, questions, orders))),
        answer_key=_check_document_size("answer key", document_text(_make_key(questions))),
        questions=len(questions),
        required_score=percent_needed(len(questions), quiz.pass_mark),
    )


def percent_needed(question_count: int, pass_mark: float) -> int:
    """Return the percentage to require on Mechanical Turk, so that everybody who reaches the pass mark passes there.

    The service rounds percentages, and its documentation does not say how it rounds halves. So halves are
    rounded down here. The result is still above the percentage of one right answer fewer.
    """
    counts = range(question_count + 1)
    needed_count = next(count for count in counts if reaches_pass_mark(count, question_count, pass_mark))
    return math.ceil(Fraction(100 * needed_count, question_count) - Fraction(1, 2))


def _make_form(title: str, questions: Sequence[Question], orders: Sequence[Sequence[int]]) -> Element:
    document = root_element("QuestionForm", QUESTION_FORM)
    add_element(add_element(document, "Overview"), "Title", title)
    for number, (question, order) in enumerate(zip(questions, orders, strict=True), start=1):
        element = add_element(document, "Question")
        add_element(element, "QuestionIdentifier", _question_id(number))
        add_element(element, "DisplayName", f"{number} / {len(questions)}")
        add_element(element, "IsRequired", "true")
        add_element(add_element(element, "QuestionContent"), "Text", question.text)
        answer = add_element(add_element(element, "AnswerSpecification"), "SelectionAnswer")
        add_element(answer, "StyleSuggestion", "radiobutton")
        selections = add_element(answer, "Selections")
        for option in order:
            selection = add_element(selections, "Selection")
            add_element(selection, "SelectionIdentifier", _option_id(option))
            add_element(selection, "Text", question.options[option])
    return document


def _make_key(questions: Sequence[Question]) -> Element:
    """Return the AnswerKey of the test: a point for each right answer, and their percentage as the score."""
    document = root_element("AnswerKey", ANSWER_KEY)
    for number, question in enumerate(questions, start=1):
        element = add_element(document, "Question")
        add_element(element, "QuestionIdentifier", _question_id(number))
        option = add_element(element, "AnswerOption")
        add_element(option, "SelectionIdentifier", _option_id(question.right_option))
        add_element(option, "AnswerScore", 1)
    mapping = add_element(add_element(document, "QualificationValueMapping"), "PercentageMapping")
    add_element(mapping, "MaximumSummedScore", len(questions))
    return document


def _question_id(number: int) -> str:
    return f"q{number}"


def _option_id(option: int) -> str:
    """Return an option's id. It is derived from the option's index in the study, not from the order shown.

    So the answer key stays the same if a test is shuffled again. Since options are shown in random order, the index
    does not reveal the right answer.
    """
    return f"o{option + 1}"


def _check_document_size(name: str, document: str) -> str:
    size = len(document.encode())
    if size > MAX_BYTES:
        raise QuestionProblem(
            f"The {name} of the quiz is {size:,} bytes long, and Mechanical Turk takes {MAX_BYTES:,}; expected fewer "
            "or shorter questions."
        )
    return document
