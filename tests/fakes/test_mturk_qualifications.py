"""Who may see, preview and accept: system qualifications, own ones, tests with answer keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.fakes.mturk import MTurkEmulator, Refused
from tests.fakes.turking import LOCALE, NUMBER_APPROVED, SCHEMAS, put_up, refused, requiring

if TYPE_CHECKING:
    from mypy_boto3_mturk import MTurkClient

PERCENT_APPROVED = "000000000000000000L0"
ADULT = "00000000000000000060"


def question(name: str, options: str, several: int = 1) -> str:
    """One question of a test."""
    selections = "".join(
        f"<Selection><SelectionIdentifier>{option}</SelectionIdentifier><Text>{option}</Text></Selection>"
        for option in options
    )
    return (
        f"<Question><QuestionIdentifier>{name}</QuestionIdentifier><IsRequired>true</IsRequired>"
        f"<QuestionContent><Text>Question {name}?</Text></QuestionContent><AnswerSpecification>"
        f"<SelectionAnswer><MaxSelectionCount>{several}</MaxSelectionCount>"
        f"<Selections>{selections}</Selections></SelectionAnswer></AnswerSpecification></Question>"
    )


TEST = (
    f'<QuestionForm xmlns="{SCHEMAS}2017-11-06/QuestionForm.xsd">'
    f"{question('q1', 'ab')}{question('q2', 'abc', several=3)}</QuestionForm>"
)


def answer_key(mapping: str = "") -> str:
    """q1: a is worth 10, b costs 2; q2: a and c together are worth 10, anything else 1."""

    def option(score: int, *chosen: str) -> str:
        inner = "".join(f"<SelectionIdentifier>{one}</SelectionIdentifier>" for one in chosen)
        return f"<AnswerOption>{inner}<AnswerScore>{score}</AnswerScore></AnswerOption>"

    mapped = f"<QualificationValueMapping>{mapping}</QualificationValueMapping>" if mapping else ""
    return (
        f'<AnswerKey xmlns="{SCHEMAS}2005-10-01/AnswerKey.xsd">'
        f"<Question><QuestionIdentifier>q1</QuestionIdentifier>{option(10, 'a')}{option(-2, 'b')}</Question>"
        f"<Question><QuestionIdentifier>q2</QuestionIdentifier>{option(10, 'a', 'c')}"
        f"<DefaultScore>1</DefaultScore></Question>{mapped}</AnswerKey>"
    )


PERCENTAGE = "<PercentageMapping><MaximumSummedScore>20</MaximumSummedScore></PercentageMapping>"


def quiz(client: MTurkClient, name: str = "Captions", **changes: Any) -> str:
    """A qualification type with a test."""
    asked: dict[str, Any] = {
        "Name": name,
        "Description": "Two questions about captions",
        "Keywords": "captions, quiz",
        "QualificationTypeStatus": "Active",
        "Test": TEST,
        "AnswerKey": answer_key(),
        "TestDurationInSeconds": 300,
    }
    given = {key: value for key, value in (asked | changes).items() if value is not None}
    return client.create_qualification_type(**given)["QualificationType"]["QualificationTypeId"]


def simple(client: MTurkClient, name: str = "Took part", **changes: Any) -> str:
    """A qualification type without a test."""
    return quiz(client, name, **{"Test": None, "AnswerKey": None, "TestDurationInSeconds": None} | changes)


@pytest.mark.parametrize(
    ("kind", "comparator", "values", "those_who_may"),
    [
        (LOCALE, "EqualTo", [{"Country": "US"}], "NC"),
        (LOCALE, "NotEqualTo", [{"Country": "US"}], "D"),
        (LOCALE, "In", [{"Country": "DE"}, {"Country": "US", "Subdivision": "CA"}], "DC"),
        (LOCALE, "NotIn", [{"Country": "DE"}], "NC"),
        (NUMBER_APPROVED, "GreaterThanOrEqualTo", [500], "DC"),
        (NUMBER_APPROVED, "LessThan", [501], "ND"),
        (PERCENT_APPROVED, "GreaterThan", [95], "ND"),
        (ADULT, "EqualTo", [1], "C"),
    ],
)
def test_system_qualifications(
    emulator: MTurkEmulator, client: MTurkClient, kind: str, comparator: str, values: Any, those_who_may: str
) -> None:
    """A newcomer from the US; a German with 500 approved; a Californian with 900 approved of 1,000."""
    people = {
        "N": emulator.turker("ANEWCOMER", country="US"),
        "D": emulator.turker("AGERMAN", country="DE", approved=500),
        "C": emulator.turker(
            "ACALIFORNIAN", country="US", subdivision="CA", approved=900, rejected=100, adult=True
        ),
    }
    hit_id = put_up(client, MaxAssignments=3, **requiring(kind, comparator, values))["HITId"]
    for letter, person in people.items():
        if letter in those_who_may:
            assert person.accept(hit_id).hit_id == hit_id
        else:
            with pytest.raises(Refused, match="qualifications"):
                person.accept(hit_id)


def test_judged_work_counts_for_the_next_hit(emulator: MTurkEmulator, client: MTurkClient) -> None:
    first = put_up(client)["HITId"]
    second = put_up(client, **requiring(NUMBER_APPROVED, "GreaterThan", [0]))["HITId"]
    ann = emulator.turker("AANN")
    assignment_id = ann.work(first, {"a": "1"})
    with pytest.raises(Refused, match="qualifications"):
        ann.accept(second)
    client.approve_assignment(AssignmentId=assignment_id)
    ann.accept(second)


@pytest.mark.parametrize(
    ("guarded", "seen", "previewed"),
    [
        ({}, True, True),
        ({"ActionsGuarded": "Accept"}, True, True),
        ({"ActionsGuarded": "PreviewAndAccept"}, True, False),
        ({"RequiredToPreview": True}, True, False),
        ({"ActionsGuarded": "DiscoverPreviewAndAccept"}, False, False),
    ],
)
def test_what_a_requirement_guards(
    emulator: MTurkEmulator, client: MTurkClient, guarded: dict[str, Any], seen: bool, previewed: bool
) -> None:
    requirement = {"QualificationTypeId": simple(client), "Comparator": "Exists"} | guarded
    hit_id = put_up(client, QualificationRequirements=[requirement])["HITId"]
    ann = emulator.turker("AANN")
    assert (ann.hits() == [hit_id]) is seen
    if previewed:
        assert ann.preview(hit_id).assignment_id == "ASSIGNMENT_ID_NOT_AVAILABLE"
    else:
        with pytest.raises(Refused, match="preview"):
            ann.preview(hit_id)
    with pytest.raises(Refused, match="accept"):
        ann.accept(hit_id)


@pytest.mark.parametrize(
    ("mapping", "answers", "value"),
    [
        ("", [("q1", "a"), ("q2", "a"), ("q2", "c")], 20),
        ("", [("q1", "b"), ("q2", "a")], -1),
        ("", [], 1),
        (PERCENTAGE, [("q1", "a"), ("q2", "c")], 55),
        (PERCENTAGE, [("q1", "a"), ("q2", "a"), ("q2", "c")], 100),
    ],
)
def test_a_test_is_scored_by_its_answer_key(
    emulator: MTurkEmulator, client: MTurkClient, mapping: str, answers: list[tuple[str, str]], value: int
) -> None:
    kind = quiz(client, AnswerKey=answer_key(mapping))
    ann = emulator.turker("AANN")
    request_id, state = ann.request_qualification(kind)
    assert state == "Started"
    assert ann.take_test(request_id, answers) == "Granted"
    found = client.get_qualification_score(QualificationTypeId=kind, WorkerId="AANN")["Qualification"]
    assert found["IntegerValue"] == value
    with pytest.raises(Refused, match="yours"):
        ann.take_test(request_id, answers)


def test_a_test_has_its_time_and_its_number_of_tries(emulator: MTurkEmulator, client: MTurkClient) -> None:
    once, again = quiz(client), quiz(client, "Again", RetryDelayInSeconds=3600)
    ann = emulator.turker("AANN")
    late, _ = ann.request_qualification(again)
    emulator.clock.advance(301)
    with pytest.raises(Refused, match="over"):
        ann.take_test(late, {"q1": "a"})
    with pytest.raises(Refused, match="again yet"):
        ann.request_qualification(again)
    emulator.clock.advance(3300)
    ann.take_test(ann.request_qualification(again)[0], {"q1": "a"})
    ann.take_test(ann.request_qualification(once)[0], {"q1": "b"})
    emulator.clock.advance(days=300)
    with pytest.raises(Refused, match="only once"):
        ann.request_qualification(once)


@pytest.mark.parametrize(
    "changes",
    [
        {"TestDurationInSeconds": None},
        {"Test": None, "TestDurationInSeconds": None},
        {"Test": "<Quiz/>"},
        {"AnswerKey": "<Key/>"},
        {"AnswerKey": answer_key("<PercentageMapping/>")},
        {"AnswerKey": answer_key("<Other/>")},
        {"RetryDelayInSeconds": -1},
        {"Description": "x" * 2001},
    ],
)
def test_impossible_types_are_refused(client: MTurkClient, changes: dict[str, Any]) -> None:
    with refused("ParameterValidationError"):
        quiz(client, **changes)
    own = client.list_qualification_types(MustBeRequestable=True, MustBeOwnedByCaller=True)
    assert own["QualificationTypes"] == []
