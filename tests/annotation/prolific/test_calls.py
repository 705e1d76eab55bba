"""The calls to Prolific, against the emulator: what is sent and what is read."""

import pytest

from annotation.crowds.base import Refused
from annotation.crowds.prolific.client import (
    PanelStudy,
    ProlificClient,
    StudyState,
    SubmissionState,
    decimal_text,
)
from tests.annotation.prolific.drafts import DRAFT, REASON, published, worked
from tests.fakes.prolific import ProlificEmulator


def test_a_draft_is_unpublished_and_holds_no_money(
    client: ProlificClient, prolific: ProlificEmulator
) -> None:
    study = client.create_study(DRAFT)
    assert study == PanelStudy(study.id, "quorum-1f0c", StudyState.UNPUBLISHED, 3, 150)
    assert client.get_study(study.id) == study
    assert client.balance_cents("w1") == 100_000


def test_a_study_is_found_by_the_name_that_only_researchers_see(client: ProlificClient) -> None:
    first = client.create_study(DRAFT)
    client.create_study({**DRAFT, "internal_name": "quorum-2"})
    second = client.create_study(DRAFT)
    assert [study.id for study in client.find_studies("quorum-1f0c")] == [first.id, second.id]
    assert client.find_studies("quorum-1f0") == []


def test_a_project_of_many_studies_is_searched_to_its_end(
    client: ProlificClient, prolific: ProlificEmulator
) -> None:
    for number in range(203):
        client.create_study({**DRAFT, "internal_name": f"quorum-{number}", "project": "p1"})
    client.create_study({**DRAFT, "internal_name": "quorum-202"})
    assert [study.internal_name for study in client.find_studies("quorum-202", project="p1")] == [
        "quorum-202"
    ]
    assert prolific.calls["list studies"] == 3


def test_an_endpoint_that_knows_no_pages_is_read_once(
    client: ProlificClient, prolific: ProlificEmulator
) -> None:
    for number in range(130):
        client.create_study({**DRAFT, "internal_name": f"quorum-{number % 2}"})
    assert len(client.find_studies("quorum-1")) == 65


def test_a_participant_arrives_with_the_ids_in_the_address(
    client: ProlificClient, prolific: ProlificEmulator
) -> None:
    study = published(client)
    submission, address = prolific.enter(study, "5d0c0e")
    assert address == f"https://quorum.example/p/s/?pid=5d0c0e&study={study}&work={submission}"
    [listed] = client.submissions(study)
    assert (listed.id, listed.participant, listed.state) == (submission, "5d0c0e", SubmissionState.ACTIVE)
    assert listed.started_at is not None
    assert listed.started_at.tzinfo is not None


def test_all_pages_of_submissions_are_read_from_our_own_address_alone(
    client: ProlificClient, prolific: ProlificEmulator
) -> None:
    study = published(client, {**DRAFT, "total_available_places": 250, "reward": 100})
    expected = [worked(prolific, study, f"participant{number}") for number in range(250)]
    assert [one.id for one in client.submissions(study)] == expected
    assert prolific.calls["list submissions"] == 3  # the links name another host, which never got the token


def test_a_rejection_needs_a_reason_of_a_hundred_characters(
    client: ProlificClient, prolific: ProlificEmulator
) -> None:
    submission = worked(prolific, published(client), "aa1")
    with pytest.raises(Refused, match="has 99 characters; expected 100 or more"):
        client.reject(submission, message="x" * 99)
    assert prolific.calls["transition submission"] == 0
    client.reject(submission, message=REASON)
    client.reject(submission, message=REASON)
    assert prolific.world.submissions[submission].rejection == ("OTHER", REASON)
    assert prolific.world.spent_cents == 0
    with pytest.raises(Refused, match="it is REJECTED"):
        client.approve(submission)


def test_paying_a_bonus_twice_pays_twice_which_is_why_nobody_must_ask_twice(
    client: ProlificClient, prolific: ProlificEmulator
) -> None:
    study = published(client)
    submission = worked(prolific, study, "aa1")
    set_up = client.set_up_bonus(study, submission, 5)
    client.pay_bonus(set_up.id)
    client.pay_bonus(set_up.id)
    assert client.submission(submission).bonus_cents == (5, 5)


@pytest.mark.parametrize(
    ("cents", "text"), [(1, "0.01"), (9, "0.09"), (10, "0.10"), (150, "1.50"), (123456, "1234.56")]
)
def test_cents_become_decimal_text(cents: int, text: str) -> None:
    assert decimal_text(cents) == text


@pytest.mark.parametrize("cents", [0, -5])
def test_no_bonus_is_no_bonus(cents: int) -> None:
    with pytest.raises(Refused, match="one cent or more"):
        decimal_text(cents)


def test_a_message_reaches_one_person_and_has_no_answer(
    client: ProlificClient, prolific: ProlificEmulator
) -> None:
    client.send_message(participant="aa1", study="5d0c", text="Ünïcode, <b>not</b> HTML.")
    assert prolific.world.messages == [
        {"recipient_id": "aa1", "study_id": "5d0c", "body": "Ünïcode, <b>not</b> HTML."}
    ]
