"""The calls to Prolific, against the emulator: what is sent and what is read."""

import pytest

from annotation.crowds.base import OutOfFunds, Refused
from annotation.crowds.prolific.client import ProlificClient
from annotation.crowds.prolific.shapes import (
    PanelStudy,
    StudyAction,
    StudyState,
    SubmissionState,
    decimal_text,
)
from tests.annotation.prolific.drafts import DRAFT, REASON, published, worked
from tests.fakes.prolific import ProlificEmulator, Refusal, World


def test_a_draft_is_unpublished_and_holds_no_money(
    client: ProlificClient, prolific: ProlificEmulator
) -> None:
    study = client.create_study(DRAFT)
    assert study == PanelStudy(study.id, "quorum-1f0c", StudyState.UNPUBLISHED, 3, 150)
    assert client.get_study(study.id) == study
    assert client.balance_cents("w1") == 100_000


def test_publishing_holds_the_reward_and_the_fee_of_every_place(client: ProlificClient) -> None:
    study = published(client)
    assert client.get_study(study).state is StudyState.ACTIVE
    # 33.3 % of 150 are 49.95: 50 a place, so 600 for three.
    assert client.balance_cents("w1") == 100_000 - 600
    assert client.cost_cents(reward_cents=150, places=3) == 600


def test_a_study_that_the_balance_does_not_carry_is_refused_in_prolifics_words() -> None:
    with (
        ProlificEmulator(World(deposit_cents=599)) as poor,
        ProlificClient(url=poor.url, token=poor.token) as client,
    ):
        with pytest.raises(OutOfFunds, match=r"\(400\): .*balance is too low: 600 needed, 599 available"):
            published(client)
        assert client.balance_cents("w1") == 599


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


def test_places_only_grow(client: ProlificClient, prolific: ProlificEmulator) -> None:
    study = published(client)
    client.increase_places(study, 5)
    assert client.get_study(study).places == 5
    with pytest.raises(Refused, match="total_available_places: You can only increase"):
        client.increase_places(study, 4)
    assert client.get_study(study).places == 5


def test_a_step_that_the_state_does_not_allow_is_refused(client: ProlificClient) -> None:
    study = published(client)
    with pytest.raises(Refused, match="can't PUBLISH a study that is ACTIVE"):
        client.transition_study(study, StudyAction.PUBLISH)
    for action, state in (
        (StudyAction.PAUSE, StudyState.PAUSED),
        (StudyAction.START, StudyState.ACTIVE),
        (StudyAction.STOP, StudyState.COMPLETED),
    ):
        client.transition_study(study, action)
        assert client.get_study(study).state is state


def test_stopping_gives_back_what_was_held_for_empty_places(
    client: ProlificClient, prolific: ProlificEmulator
) -> None:
    study = published(client)
    worked(prolific, study, "aa1")
    client.transition_study(study, StudyAction.STOP)
    assert client.balance_cents("w1") == 100_000 - 200


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


def test_an_approval_is_paid_once_however_often_it_is_asked(
    client: ProlificClient, prolific: ProlificEmulator
) -> None:
    submission = worked(prolific, published(client), "aa1")
    client.approve(submission)
    client.approve(submission)
    assert client.submission(submission).state is SubmissionState.APPROVED
    assert prolific.world.spent_cents == 200


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


def test_who_takes_too_long_is_timed_out_and_their_place_is_free(
    client: ProlificClient, prolific: ProlificEmulator
) -> None:
    study = published(client, {**DRAFT, "total_available_places": 1, "maximum_allowed_time": 30})
    submission, _address = prolific.enter(study, "aa1")
    prolific.world.advance(minutes=31)
    assert client.submission(submission).state is SubmissionState.TIMED_OUT
    prolific.enter(study, "aa2")


def test_a_bonus_is_announced_paid_and_seen_later() -> None:
    slow = ProlificEmulator(World(bonus_delay=120, vat_permille=200))
    with slow as prolific, ProlificClient(url=prolific.url, token=prolific.token) as client:
        study = published(client)
        submission = worked(prolific, study, "aa1")
        set_up = client.set_up_bonus(study, submission, 105)
        # 33.3 % of 105 are 34.965: 35, and 20 % tax on that are 7.
        assert set_up.total_cents == 147
        assert prolific.world.spent_cents == 0
        client.pay_bonus(set_up.id)
        assert prolific.world.spent_cents == 147
        assert client.submission(submission).bonus_cents == ()
        prolific.world.advance(seconds=121)
        assert client.submission(submission).bonus_cents == (105,)


def test_paying_a_bonus_twice_pays_twice_which_is_why_nobody_must_ask_twice(
    client: ProlificClient, prolific: ProlificEmulator
) -> None:
    study = published(client)
    submission = worked(prolific, study, "aa1")
    set_up = client.set_up_bonus(study, submission, 5)
    client.pay_bonus(set_up.id)
    client.pay_bonus(set_up.id)
    assert client.submission(submission).bonus_cents == (5, 5)


def test_a_bonus_for_a_stranger_is_refused_and_names_them(
    client: ProlificClient, prolific: ProlificEmulator
) -> None:
    study, other = published(client), published(client)
    stranger = worked(prolific, other, "aa1")
    with pytest.raises(Refused, match=f"{stranger},1.00"):
        client.set_up_bonus(study, stranger, 100)


@pytest.mark.parametrize(
    ("cents", "text"), [(1, "0.01"), (9, "0.09"), (10, "0.10"), (150, "1.50"), (123456, "1234.56")]
)
def test_cents_become_decimal_text(cents: int, text: str) -> None:
    assert decimal_text(cents) == text


@pytest.mark.parametrize("cents", [0, -5])
def test_no_bonus_is_no_bonus(cents: int) -> None:
    with pytest.raises(Refused, match="one cent or more"):
        decimal_text(cents)


def test_who_is_in_a_blocked_group_does_not_see_the_study(
    client: ProlificClient, prolific: ProlificEmulator
) -> None:
    group = client.create_group("w1", name="quorum-blocked")
    blocked = {"filter_id": "participant_group_blocklist", "selected_values": [group.id]}
    study = published(client, {**DRAFT, "filters": [blocked]})
    client.add_to_group(group.id, ["aa1", "aa2"])
    client.add_to_group(group.id, ["aa1"])
    client.remove_from_group(group.id, ["aa2", "aa9"])
    assert list(prolific.world.groups[group.id].members) == ["aa1"]
    assert [one.name for one in client.groups("w1")] == ["quorum-blocked"]
    assert client.groups("w2") == []
    prolific.enter(study, "aa2")
    with pytest.raises(Refusal, match="does not see"):
        prolific.enter(study, "aa1")


def test_a_message_reaches_one_person_and_has_no_answer(
    client: ProlificClient, prolific: ProlificEmulator
) -> None:
    client.send_message(participant="aa1", study="5d0c", text="Ünïcode, <b>not</b> HTML.")
    assert prolific.world.messages == [
        {"recipient_id": "aa1", "study_id": "5d0c", "body": "Ünïcode, <b>not</b> HTML."}
    ]
