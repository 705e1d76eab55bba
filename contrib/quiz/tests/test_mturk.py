"""A quiz of questions as a qualification test of Mechanical Turk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from defusedxml.ElementTree import fromstring
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.crowds.mturk.questions import QuestionProblem
from annotation.crowds.mturk.requirements import score_at_least
from contrib.quiz.mturk import percent_needed, qualification_test
from contrib.quiz.questions import reaches_pass_mark
from judgments.design.quiz import Quiz
from tests.fakes.mturk import Clock, MTurkEmulator, Refused
from tests.fakes.turking import NOON, mturk_client, put_up
from tests.refusals import refuses

if TYPE_CHECKING:
    from mypy_boto3_mturk import MTurkClient

QUIZ = Quiz.model_validate(
    {
        "questions": [{"text": f"Which is {n}?", "options": ["a", "b", "c"], "answer": 2} for n in range(5)],
        "pass_mark": 0.8,
    }
)
SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
FORM = f"{{{SCHEMAS}/2017-11-06/QuestionForm.xsd}}"
KEY = f"{{{SCHEMAS}/2005-10-01/AnswerKey.xsd}}"
QUESTIONS = [
    {
        "text": f"Is {number} < {number + 1} & {number + 1} > {number}?",
        "options": ["yes", "no", f"only {number}"],
        "answer": 1 + number % 3,
    }
    for number in range(5)
]


@pytest.fixture
def emulator() -> Iterator[MTurkEmulator]:
    """$100.00 prepaid, a clock that stands still."""
    with MTurkEmulator(seed=5, clock=Clock(at=NOON), balance_cents=10_000) as running:
        yield running


@pytest.fixture
def client(emulator: MTurkEmulator) -> Iterator[MTurkClient]:
    """The requester's boto3 client."""
    made = mturk_client(emulator)
    yield made
    made.close()


def right_answers(test: str, key: str) -> dict[str, str]:
    """What the key says, by the question's identifier."""
    pattern = r"<QuestionIdentifier>(\w+)</QuestionIdentifier><AnswerOption><SelectionIdentifier>(\w+)<"
    found = dict(re.findall(pattern, key))
    assert len(found) == test.count("<Question>")
    return found


@pytest.mark.parametrize(("right", "admitted"), [(5, True), (4, True), (3, False)])
def test_a_quiz_is_graded_by_the_service_as_it_would_be_here(
    emulator: MTurkEmulator, client: MTurkClient, right: int, admitted: bool
) -> None:
    made = qualification_test(QUIZ, seed=3, title="Words")
    kind = client.create_qualification_type(
        Name="Words",
        Description="Five questions",
        QualificationTypeStatus="Active",
        Test=made.test,
        AnswerKey=made.answer_key,
        TestDurationInSeconds=600,
    )["QualificationType"]["QualificationTypeId"]
    hit_id = put_up(client, QualificationRequirements=[score_at_least(kind, made.required_score)])["HITId"]
    ann = emulator.turker("AANN")
    answers = right_answers(made.test, made.answer_key)
    wrong = list(answers)[right:]
    request, _ = ann.request_qualification(kind)
    ann.take_test(request, answers | dict.fromkeys(wrong, "o1"))
    assert (
        client.get_qualification_score(QualificationTypeId=kind, WorkerId="AANN")["Qualification"][
            "IntegerValue"
        ]
        == 20 * right
    )
    if admitted:
        assert ann.accept(hit_id).assignment_id
    else:
        with pytest.raises(Refused):
            ann.accept(hit_id)


def quiz(**values: Any) -> Quiz:
    return Quiz.model_validate({"questions": QUESTIONS} | values)


def test_a_test_asks_the_questions_and_its_key_knows_the_answers() -> None:
    made = qualification_test(quiz(pass_mark=0.8), seed=7, title="Words & signs")
    form, key = fromstring(made.test), fromstring(made.answer_key)
    assert (form.tag, key.tag) == (f"{FORM}QuestionForm", f"{KEY}AnswerKey")
    assert form.findtext(f"{FORM}Overview/{FORM}Title") == "Words & signs"
    right = {
        part.findtext(f"{KEY}QuestionIdentifier"): part.findtext(
            f"{KEY}AnswerOption/{KEY}SelectionIdentifier"
        )
        for part in key.findall(f"{KEY}Question")
    }
    answered = {}
    for part in form.findall(f"{FORM}Question"):
        assert [child.tag.removeprefix(FORM) for child in part] == [
            "QuestionIdentifier", "DisplayName", "IsRequired", "QuestionContent", "AnswerSpecification",
        ]  # fmt: skip
        assert part.findtext(f"{FORM}IsRequired") == "true"
        said = {
            one.findtext(f"{FORM}SelectionIdentifier"): one.findtext(f"{FORM}Text")
            for one in part.iter(f"{FORM}Selection")
        }
        text = part.findtext(f"{FORM}QuestionContent/{FORM}Text")
        answered[text] = said[right[part.findtext(f"{FORM}QuestionIdentifier")]]
    assert answered == {one["text"]: one["options"][one["answer"] - 1] for one in QUESTIONS}  # type: ignore[index,operator]
    assert {part.text for part in key.iter(f"{KEY}AnswerScore")} == {"1"}
    most = f"{KEY}QualificationValueMapping/{KEY}PercentageMapping/{KEY}MaximumSummedScore"
    assert key.findtext(most) == "5"
    assert (made.questions, made.required_score) == (5, 80)


def test_the_same_seed_makes_the_same_test_and_asks_as_many_as_the_quiz_does() -> None:
    ready = Quiz(preset="hodosh-2013-english", ask=6)
    one, same, other = (qualification_test(ready, seed=seed, title="x") for seed in (1, 1, 2))
    assert one == same
    assert one.test != other.test
    assert one.questions == 6
    assert one.test.count("<Question>") == 6


def test_the_order_of_options_tells_nothing_of_the_right_one() -> None:
    form = fromstring(qualification_test(Quiz(preset="hodosh-2013-english", ask=20), seed=3, title="x").test)
    first = {
        part.findtext(f".//{FORM}Selection/{FORM}SelectionIdentifier")
        for part in form.findall(f"{FORM}Question")
    }
    assert len(first) > 1


@settings(deadline=None)
@given(st.integers(1, 100), st.integers(0, 100))
def test_whoever_passes_here_passes_there_whichever_way_a_half_is_rounded(asked: int, percent: int) -> None:
    needed = percent_needed(asked, percent / 100)
    for right in range(asked + 1):
        below, rest = divmod(100 * right, asked)
        up, down = below + (2 * rest >= asked), below + (2 * rest > asked)
        assert reaches_pass_mark(right, asked, percent / 100) == (up >= needed) == (down >= needed)


def test_a_quiz_that_asks_nothing_or_known_items_makes_no_test() -> None:
    with pytest.raises(QuestionProblem, match="asks nothing"):
        qualification_test(Quiz(), seed=1, title="x")
    with pytest.raises(QuestionProblem, match=r"quiz\.items is 3"):
        qualification_test(quiz(items=3), seed=1, title="x")


def test_a_test_that_is_too_long_says_how_long_it_is() -> None:
    long = [{"text": "ü" * 1000, "options": ["ü" * 900, f"{number}"], "answer": 1} for number in range(30)]
    with refuses(QuestionProblem, "test"):
        qualification_test(quiz(questions=long, ask=30), seed=1, title="x")
