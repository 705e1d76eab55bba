"""A quiz as a qualification test, and requirements: graded there as here, within the service's limits."""

from typing import Any

import boto3
import pytest
from botocore.stub import Stubber
from defusedxml.ElementTree import fromstring
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.crowds.mturk.pages import (
    QuestionProblem,
    is_master,
    percent_needed,
    qualification_test,
    requirements_of,
    score_at_least,
)
from judgments.design.requirements import COUNTRIES, Quiz, Workers, reaches_pass_mark

SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
FORM = f"{{{SCHEMAS}/2017-11-06/QuestionForm.xsd}}"
KEY = f"{{{SCHEMAS}/2005-10-01/AnswerKey.xsd}}"
QUESTIONS = [
    {"text": f"Is {n} < {n + 1} & {n + 1} > {n}?", "options": ["yes", "no", f"only {n}"], "answer": 1 + n % 3}
    for n in range(5)
]


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
    assert (made.questions, made.needed) == (5, 80)


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
    long = [{"text": "ü" * 1000, "options": ["ü" * 900, f"{n}"], "answer": 1} for n in range(30)]
    with pytest.raises(QuestionProblem, match=r"test of the quiz is 1\d\d,\d\d\d bytes"):
        qualification_test(quiz(questions=long, ask=30), seed=1, title="x")


def test_requirements_are_what_boto3_takes() -> None:
    workers = Workers(countries=("US", "GB"), approval_above=0.95, approved_at_least=500, hits_at_most=3)
    more = [score_at_least("3QUIZ", 80), is_master(live=False)]
    asked = requirements_of(workers, more=more)
    assert [(one["QualificationTypeId"], one["Comparator"]) for one in asked] == [
        ("00000000000000000071", "In"),
        ("000000000000000000L0", "GreaterThan"),
        ("00000000000000000040", "GreaterThanOrEqualTo"),
        ("3QUIZ", "GreaterThanOrEqualTo"),
        ("2ARFPLSP75KLA8M8DH1HTEQVJT3SY6", "Exists"),
    ]
    assert asked[0]["LocaleValues"] == [{"Country": "US"}, {"Country": "GB"}]
    assert [one.get("IntegerValues") for one in asked[1:4]] == [[95], [500], [80]]
    assert is_master(live=True)["QualificationTypeId"] == "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH"
    parameters: dict[str, Any] = {
        "AssignmentDurationInSeconds": 600,
        "Reward": "0.10",
        "Title": "x",
        "Description": "x",
        "QualificationRequirements": asked,
    }
    client = boto3.client("mturk", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
    with Stubber(client) as service:  # validates the request with botocore's own model
        service.add_response("create_hit_type", {"HITTypeId": "3TYPE"}, parameters)
        assert client.create_hit_type(**parameters)["HITTypeId"] == "3TYPE"


@pytest.mark.parametrize(("above", "percent"), [(0.95, 95), (0.29, 29), (0.955, 95), (0.999, 99), (0.005, 0)])
def test_an_approval_rate_is_asked_for_in_whole_percent(above: float, percent: int) -> None:
    (asked,) = requirements_of(Workers(approval_above=above))
    assert asked["IntegerValues"] == [percent]


def test_what_nobody_fulfils_or_the_service_does_not_take_is_refused() -> None:
    with pytest.raises(QuestionProblem, match="nobody has more than 100"):
        requirements_of(Workers(approval_above=1))
    assert len(requirements_of(Workers(countries=tuple(COUNTRIES)[:30]))[0]["LocaleValues"]) == 30
    with pytest.raises(QuestionProblem, match="names 31 countries; Mechanical Turk takes 30"):
        requirements_of(Workers(countries=tuple(COUNTRIES)[:31]))
    nine = [score_at_least(f"3QUIZ{n}", 1) for n in range(9)]
    assert len(requirements_of(Workers(countries=("US",)), more=nine)) == 10
    with pytest.raises(QuestionProblem, match="11 requirements"):
        requirements_of(Workers(countries=("US",), approved_at_least=1), more=nine)
    assert requirements_of(Workers(hits_at_most=4)) == []
