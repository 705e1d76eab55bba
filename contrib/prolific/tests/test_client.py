"""The client of Prolific's API against the emulator: what it sends and reads, and which error each failure raises."""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from annotation.crowds.base import CrowdRefusal, RetryLater
from contrib.prolific.client import ProlificClient
from contrib.prolific.records import (
    PanelStudy,
    PanelSubmission,
    StudyAction,
    StudyState,
    SubmissionState,
    decimal_text,
    read_cents_rounded_up,
    read_whole_number,
)
from contrib.prolific.tests.emulator import Fault, Faults, ProlificEmulator
from tests.refusals import refuses

REASON = "Four of the five control items in this page were answered against their pictures; the study's page says so."

DRAFT: dict[str, object] = {
    "name": "Which sentence is closer?",
    "internal_name": "quorum-1f0c",
    "description": "<p>Compare sentences.</p>",
    "external_study_url": "https://quorum.example/p/s/?pid={{%PROLIFIC_PID%}}&study={{%STUDY_ID%}}&work={{%SESSION_ID%}}",
    "prolific_id_option": "url_parameters",
    "completion_codes": [
        {"code": "DONE1", "code_type": "COMPLETED", "actions": [{"action": "MANUALLY_REVIEW"}]},
        {
            "code": "BACK1",
            "code_type": "OTHER",
            "actions": [{"action": "REQUEST_RETURN", "return_reason": "Returned on our page"}],
        },
    ],
    "total_available_places": 3,
    "estimated_completion_time": 10,
    "reward": 150,
    "device_compatibility": [],
    "peripheral_requirements": [],
    "submissions_config": {"max_submissions_per_participant": 1},
    "filters": [],
}


def publish_study(client: ProlificClient, draft: Mapping[str, object] = DRAFT) -> str:
    """Return the id of a published study."""
    study = client.create_study(draft).id
    client.transition_study(study, StudyAction.PUBLISH)
    return study


def finish_submission(
    prolific: ProlificEmulator, study: str, participant: str, code: str | None = "DONE1"
) -> str:
    """Return the id of a submission whose participant returned with the code."""
    submission, _address = prolific.enter(study, participant)
    prolific.come_back(submission, code)
    return submission


@pytest.fixture
def prolific() -> Iterator[ProlificEmulator]:
    """An emulator whose account holds 1,000.00."""
    with ProlificEmulator() as emulator:
        yield emulator


@pytest.fixture
def client(prolific: ProlificEmulator) -> Iterator[ProlificClient]:
    """A client of the emulator."""
    with ProlificClient(url=prolific.url, token=prolific.token) as opened:
        yield opened


def test_a_draft_is_unpublished_and_holds_no_money(
    client: ProlificClient, prolific: ProlificEmulator
) -> None:
    study = client.create_study(DRAFT)
    assert study == PanelStudy(study.id, "quorum-1f0c", StudyState.UNPUBLISHED, 3, 150)
    assert client.get_study(study.id) == study
    assert client.fetch_balance_cents("w1") == 100_000


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
    study = publish_study(client)
    submission, address = prolific.enter(study, "5d0c0e")
    assert address == f"https://quorum.example/p/s/?pid=5d0c0e&study={study}&work={submission}"
    [listed] = client.list_submissions(study)
    assert (listed.id, listed.participant, listed.state) == (submission, "5d0c0e", SubmissionState.ACTIVE)
    assert listed.started_at is not None
    assert listed.started_at.tzinfo is not None


def test_all_pages_of_submissions_are_read_from_our_own_address_alone(
    client: ProlificClient, prolific: ProlificEmulator
) -> None:
    study = publish_study(client, {**DRAFT, "total_available_places": 250, "reward": 100})
    expected = [finish_submission(prolific, study, f"participant{number}") for number in range(250)]
    assert [one.id for one in client.list_submissions(study)] == expected
    assert prolific.calls["list submissions"] == 3  # the links name another host, which never got the token


def test_a_rejection_needs_a_reason_of_a_hundred_characters(
    client: ProlificClient, prolific: ProlificEmulator
) -> None:
    submission = finish_submission(prolific, publish_study(client), "aa1")
    with refuses(CrowdRefusal, "characters", "99", "100"):
        client.reject(submission, message="x" * 99)
    assert prolific.calls["transition submission"] == 0
    client.reject(submission, message=REASON)
    client.reject(submission, message=REASON)
    assert prolific.world.submissions[submission].rejection == ("OTHER", REASON)
    assert prolific.world.spent_cents == 0
    with pytest.raises(CrowdRefusal, match="it is REJECTED"):
        client.approve(submission)


def test_paying_a_bonus_twice_pays_twice_which_is_why_nobody_must_ask_twice(
    client: ProlificClient, prolific: ProlificEmulator
) -> None:
    study = publish_study(client)
    submission = finish_submission(prolific, study, "aa1")
    set_up = client.set_up_bonus(study, submission, 5)
    client.pay_bonus(set_up.id)
    client.pay_bonus(set_up.id)
    assert client.get_submission(submission).bonus_cents == (5, 5)


@pytest.mark.parametrize(
    ("cents", "text"), [(1, "0.01"), (9, "0.09"), (10, "0.10"), (150, "1.50"), (123456, "1234.56")]
)
def test_cents_become_decimal_text(cents: int, text: str) -> None:
    assert decimal_text(cents) == text


@pytest.mark.parametrize("cents", [0, -5])
def test_no_bonus_is_no_bonus(cents: int) -> None:
    with pytest.raises(CrowdRefusal, match="cent"):
        decimal_text(cents)


def test_a_message_reaches_one_person_and_has_no_answer(
    client: ProlificClient, prolific: ProlificEmulator
) -> None:
    client.send_message(participant="aa1", study="5d0c", text="Ünïcode, <b>not</b> HTML.")
    assert prolific.world.messages == [
        {"recipient_id": "aa1", "study_id": "5d0c", "body": "Ünïcode, <b>not</b> HTML."}
    ]


@contextmanager
def answering(status: int, body: bytes) -> Iterator[str]:
    """A server that gives the same answer to every request."""

    class Parrot(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Parrot) as server:
        thread = Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    "fault", [Fault.DROP_BEFORE, Fault.DROP_AFTER, Fault.ERROR_BEFORE, Fault.ERROR_AFTER]
)
def test_an_answer_that_never_came_leaves_it_open_whether_the_call_was_carried_out(
    client: ProlificClient, prolific: ProlificEmulator, fault: Fault
) -> None:
    prolific.faults.plan("create study", fault)
    with pytest.raises(RetryLater, match="may have carried") as lost:
        client.create_study(DRAFT)
    assert not lost.value.had_no_effect
    created = fault in {Fault.DROP_AFTER, Fault.ERROR_AFTER}
    assert len(client.find_studies("quorum-1f0c")) == created
    # Asked once: nothing is repeated behind the caller's back.
    assert prolific.calls["create study"] == created


def test_an_answer_that_was_cut_short_is_unknown_too(
    client: ProlificClient, prolific: ProlificEmulator
) -> None:
    prolific.faults.plan("create study", Fault.CUT_SHORT)
    with pytest.raises(RetryLater, match="cut short") as lost:
        client.create_study(DRAFT)
    assert not lost.value.had_no_effect
    assert prolific.calls["create study"] == 1


def test_a_throttled_call_says_how_long_to_wait(client: ProlificClient, prolific: ProlificEmulator) -> None:
    prolific.faults.plan("get balance", Fault.THROTTLE)
    with pytest.raises(RetryLater) as throttled:
        client.fetch_balance_cents("w1")
    assert (throttled.value.after, throttled.value.had_no_effect) == (2, True)
    assert client.fetch_balance_cents("w1") == 100_000


def test_a_call_that_was_never_sent_is_told_apart() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with (
            ProlificClient(url=address, token="t") as client,
            pytest.raises(RetryLater, match="was not sent") as unsent,
        ):
            client.pay_bonus("5d0c")
        assert unsent.value.had_no_effect


def test_a_wrong_token_is_refused_and_never_repeated_in_the_message(prolific: ProlificEmulator) -> None:
    invalid = pytest.raises(RetryLater, match=r"\(401\): Invalid token")
    with ProlificClient(url=prolific.url, token="sekrit") as client, invalid as refused:
        client.fetch_balance_cents("w1")
    assert refused.value.final
    assert "sekrit" not in str(refused.value)


@pytest.mark.parametrize("url", ["http://api.prolific.com", "ftp://127.0.0.1x", "api.prolific.com"])
def test_the_token_is_sent_to_no_address_in_the_clear(url: str) -> None:
    with pytest.raises(RetryLater, match="address"):
        ProlificClient(url=url, token="t")
    with pytest.raises(RetryLater, match="PROLIFIC_TOKEN is empty"):
        ProlificClient(url="https://api.prolific.com", token="")


def test_an_id_that_could_mean_something_else_is_never_sent(
    client: ProlificClient, prolific: ProlificEmulator
) -> None:
    ids = ("", "../users/me", "a/b", "a b", "a?x=1", "a,1.00", "a\n1", "x" * 101, "é")
    for ask in (
        client.get_study,
        client.get_submission,
        client.approve,
        client.pay_bonus,
        client.list_submissions,
        client.fetch_balance_cents,
        client.list_groups,
        lambda one: client.set_up_bonus("5d0c", one, 1),
        lambda one: client.add_to_group("5d0c", [one]),
        lambda one: client.send_message(participant=one, study="5d0c", text="t"),
    ):
        for wrong in ids:
            with pytest.raises(CrowdRefusal, match="is no id"):
                ask(wrong)
    assert not prolific.calls


def test_errors_without_the_documented_shape_are_still_told(client: ProlificClient) -> None:
    with refuses(CrowdRefusal, "404", "5d0c"):
        client.get_study("5d0c")
    for body, said in (
        (b"<h1>Forbidden</h1>", "<h1>Forbidden</h1>"),
        (b"", "Conflict"),
        (b'["one", "two"]', "one two"),
        (b'{"message": "Not yours"}', "Not yours"),
    ):
        with (
            answering(409, body) as address,
            ProlificClient(url=address, token="secret") as other,
            pytest.raises(CrowdRefusal, match=said),
        ):
            other.fetch_balance_cents("w1")


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b'{"results": 3}',
        b'{"results": [1]}',
        b'{"results": [{"id": "a/b"}]}',
        b'{"results": [{"id": 7}]}',
    ],
)
def test_a_list_that_is_none_is_not_taken_for_an_empty_one(body: bytes) -> None:
    with (
        answering(200, body) as address,
        ProlificClient(url=address, token="t") as client,
        pytest.raises(RetryLater),
    ):
        client.list_groups("w1")


def test_the_same_seed_draws_the_same_faults() -> None:
    first, second = (Faults(5, {Fault.DROP_AFTER: 0.3, Fault.THROTTLE: 0.2}) for _ in range(2))
    drawn = [first.draw("approve") for _ in range(200)]
    assert drawn == [second.draw("approve") for _ in range(200)]
    assert set(drawn) == {None, Fault.DROP_AFTER, Fault.THROTTLE}


def test_amounts_and_times_are_read_exactly() -> None:
    row = {
        "id": "5d0c",
        "participant": "aa1",
        "status": "SOMETHING NEW",
        "started_at": "2026-11-20T10:00:00.250000",
        "completed_at": "2026-11-20T12:00:00+02:00",
        "bonus_payments": [5, 10],
    }
    submission = PanelSubmission.read(row, study="ee1")
    assert submission.state is SubmissionState.UNKNOWN
    assert submission.started_at == datetime(2026, 11, 20, 10, 0, 0, 250000, UTC)
    assert submission.completed_at == datetime(2026, 11, 20, 10, tzinfo=UTC)
    assert (submission.bonus_cents, submission.study) == ((5, 10), "ee1")


def test_numbers_that_are_none_are_not_guessed() -> None:
    assert read_whole_number(Decimal("150.0"), "reward") == 150
    assert read_cents_rounded_up(Decimal("1330.01"), "total_cost") == 1331
    for wrong in ("150", None, True, 1.5):
        with pytest.raises(RetryLater, match="expected a number"):
            read_whole_number(wrong, "reward")
    with pytest.raises(RetryLater, match="expected a whole number"):
        read_whole_number(Decimal("0.5"), "reward")
    with pytest.raises(RetryLater, match="expected ISO 8601"):
        PanelSubmission.read({"id": "a", "participant": "b", "started_at": "yesterday"})
