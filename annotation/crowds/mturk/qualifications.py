"""Mechanical Turk's qualification requirements and tests.

Source: "QualificationRequirement" of the Mechanical Turk API Reference.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from xml.etree.ElementTree import Element

from annotation.crowds.mturk.questions import (
    ANSWER_KEY,
    MOST_BYTES,
    QUESTION_FORM,
    QuestionProblem,
    add,
    root,
    serialized,
)
from judgments.design.requirements import (
    Question,
    Quiz,
    Workers,
    asks_anything,
    questions_asked,
    questions_of,
    reaches_pass_mark,
)
from judgments.drawing.material import rng_for, shuffled

LOCALE = "00000000000000000071"
PERCENT_APPROVED = "000000000000000000L0"
NUMBER_APPROVED = "00000000000000000040"
# the only built-in one with another id in the sandbox
MASTERS_SANDBOX = "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6"
MASTERS_LIVE = "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH"
MOST_REQUIREMENTS = 10
MOST_LOCALES = 30

Requirement = dict[str, Any]


def requirements_of(workers: Workers, *, more: Iterable[Requirement] = ()) -> list[Requirement]:
    """Return the design's worker requirements for boto3, followed by ``more``.

    The limit of HITs per person cannot be stated there and is checked here.
    """
    requirements: list[Requirement] = []
    if workers.countries:
        if len(workers.countries) > MOST_LOCALES:
            raise QuestionProblem(
                f"workers.countries names {len(workers.countries)} countries; Mechanical Turk takes {MOST_LOCALES}."
            )
        places = [{"Country": code} for code in workers.countries]
        requirements.append(_hidden(LOCALE, "In", LocaleValues=places))
    if workers.approval_above:
        requirements.append(
            _hidden(PERCENT_APPROVED, "GreaterThan", IntegerValues=[_percent(workers.approval_above)])
        )
    if workers.approved_at_least:
        requirements.append(
            _hidden(NUMBER_APPROVED, "GreaterThanOrEqualTo", IntegerValues=[workers.approved_at_least])
        )
    requirements += more
    if len(requirements) > MOST_REQUIREMENTS:
        raise QuestionProblem(
            f"The study has {len(requirements)} requirements of its workers; Mechanical Turk takes {MOST_REQUIREMENTS}."
        )
    return requirements


def score_at_least(qualification: str, value: int) -> Requirement:
    """Require a test; workers who have not taken it see the HIT and the test."""
    return {
        "QualificationTypeId": qualification,
        "Comparator": "GreaterThanOrEqualTo",
        "IntegerValues": [value],
        "ActionsGuarded": "Accept",
    }


def has(qualification: str, *, wanted: bool) -> Requirement:
    """Require one of our own qualifications, or that a worker lacks it."""
    return _hidden(qualification, "Exists" if wanted else "DoesNotExist")


def is_master(*, live: bool) -> Requirement:
    return _hidden(MASTERS_LIVE if live else MASTERS_SANDBOX, "Exists")


def _hidden(qualification: str, comparator: str, **values: Any) -> Requirement:
    return {
        "QualificationTypeId": qualification,
        "Comparator": comparator,
        **values,
        "ActionsGuarded": "DiscoverPreviewAndAccept",
    }


def _percent(above: float) -> int:
    """Return the whole percentage below the required one, since the comparison is strict."""
    percent = math.floor(Fraction(str(above)) * 100)  # as written in decimal: 0.29 is 29, not 28
    if percent >= 100:
        raise QuestionProblem(
            f"workers.approval_above is {above:g}, and nobody has more than 100 % approved; expected less than 1."
        )
    return percent


@dataclass(frozen=True, slots=True)
class QualificationTest:
    """A test for CreateQualificationType; its accuracy in percent becomes the qualification's value."""

    test: str
    answer_key: str
    questions: int
    needed: int


def qualification_test(quiz: Quiz, *, seed: int, title: str) -> QualificationTest:
    """Return the test for a study's quiz; ``seed`` draws its questions and the order of options."""
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
    questions = [known[key] for key in shuffled(list(known), rng)[: questions_asked(quiz)]]
    orders = [shuffled(range(len(question.options)), rng) for question in questions]
    return QualificationTest(
        test=_short_enough("test", serialized(_form(title, questions, orders))),
        answer_key=_short_enough("answer key", serialized(_key(questions))),
        questions=len(questions),
        needed=percent_needed(len(questions), quiz.pass_mark),
    )


def percent_needed(questions: int, pass_mark: float) -> int:
    """Return the least passing percentage, rounded so that whoever passes here passes there.

    The rounding of halves is undocumented, so require the lower neighbour; it is still above the percentage of one
    correct answer less.
    """
    right = next(right for right in range(questions + 1) if reaches_pass_mark(right, questions, pass_mark))
    return math.ceil(Fraction(100 * right, questions) - Fraction(1, 2))


def _form(title: str, questions: Sequence[Question], orders: Sequence[Sequence[int]]) -> Element:
    document = root("QuestionForm", QUESTION_FORM)
    add(add(document, "Overview"), "Title", title)
    for number, (question, order) in enumerate(zip(questions, orders, strict=True), start=1):
        part = add(document, "Question")
        add(part, "QuestionIdentifier", _identifier(number))
        add(part, "DisplayName", f"{number} / {len(questions)}")
        add(part, "IsRequired", "true")
        add(add(part, "QuestionContent"), "Text", question.text)
        answer = add(add(part, "AnswerSpecification"), "SelectionAnswer")
        add(answer, "StyleSuggestion", "radiobutton")
        selections = add(answer, "Selections")
        for option in order:
            selection = add(selections, "Selection")
            add(selection, "SelectionIdentifier", _selection(option))
            add(selection, "Text", question.options[option])
    return document


def _key(questions: Sequence[Question]) -> Element:
    document = root("AnswerKey", ANSWER_KEY)
    for number, question in enumerate(questions, start=1):
        part = add(document, "Question")
        add(part, "QuestionIdentifier", _identifier(number))
        option = add(part, "AnswerOption")
        add(option, "SelectionIdentifier", _selection(question.right))
        add(option, "AnswerScore", 1)
    mapping = add(add(document, "QualificationValueMapping"), "PercentageMapping")
    add(mapping, "MaximumSummedScore", len(questions))
    return document


def _identifier(number: int) -> str:
    return f"q{number}"


def _selection(option: int) -> str:
    """Return an option's id by its index in the study, so that reshuffled tests have equal keys.

    The service wants letters and digits; the random order shown hides the index.
    """
    return f"o{option + 1}"


def _short_enough(what: str, document: str) -> str:
    size = len(document.encode())
    if size > MOST_BYTES:
        raise QuestionProblem(
            f"The {what} of the quiz is {size:,} bytes long, and Mechanical Turk takes {MOST_BYTES:,}; expected fewer "
            "or shorter questions."
        )
    return document
