"""Both sides of Mechanical Turk, brought together after what people do, clocks bring and notifications hint."""

import json
from collections.abc import Iterator, Set
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from django.core.management import call_command
from django.test import override_settings
from django.utils import timezone
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from annotation.crowds import backend_of
from annotation.crowds.mturk.client import client_of as turk_client
from annotation.crowds.mturk.listings import annotation_of
from annotation.crowds.mturk.notifications.messages import (
    NotificationForged,
    NotificationProblem,
    NotificationTooOld,
    NotificationUnreadable,
    Subscription,
    read_sns,
    read_sqs,
    string_to_sign,
)
from annotation.crowds.opening import close_study, open_study
from annotation.crowds.sync.schedule import queue_due_syncs, record_notification
from annotation.errors import AlreadyEnded, SlotTaken
from annotation.models import Assignment, Case, CrowdCall, CrowdSession, Judgment, Publication
from annotation.money.ledger import set_budget
from annotation.quality.reviews import approve_assignments, reject_assignments
from annotation.work.submissions import save_answers
from evaluation.data.integrity import check_integrity
from judgments.models import HIT, Job
from tests.annotation.crowds.framing import ARN, CERTIFICATE_URL, EVENTS, NOW, Shelf, certificate, message
from tests.annotation.crowds.turking import (
    Crowd,
    books,
    emulated,
    kinds_of,
    make_turk_study,
    one_hit,
    same_money,
    settings_for,
    sync,
    up,
)
from tests.fakes.mturk import MTurkEmulator, Refused

PLACE = "mturk-sandbox"


@pytest.fixture
def turk(db: None) -> Iterator[MTurkEmulator]:
    with emulated() as emulator:
        yield emulator
    assert check_integrity().problems == []


def test_answers_that_never_reached_the_crowd_are_kept_apart_and_their_seat_is_free(
    turk: MTurkEmulator,
) -> None:
    study = one_hit(crowd={"lease_minutes": 30})
    open_study(study=study)
    crowd = Crowd(turk, study)
    late = crowd.accept(up(study)[0], "ada")
    turk.clock.advance(minutes=31)
    late.answer()  # our server still takes them
    with pytest.raises(Refused):
        late.post()
    assert kinds_of(sync(study)) == ["unnamed"]  # the HIT goes on; fresh work may not be known yet
    turk.clock.advance(days=8)
    assert kinds_of(sync(study)) == ["apart"]
    session, assignment = late.refreshed()
    assert (session.status, session.booked, assignment.state) == ("unknown", "", "apart")
    hit = HIT.objects.get()
    assert (hit.required, hit.open_slots) == (2, 2)
    assert not Judgment.objects.current().exists()
    assert Judgment.objects.count() == 2
    assert books(study) == (0, 0)
    same_money(study, turk)


def test_an_id_that_goes_from_one_worker_to_the_next_pays_the_next_alone(turk: MTurkEmulator) -> None:
    study = one_hit(people=1, crowd={"lease_minutes": 30})
    open_study(study=study)
    crowd = Crowd(turk, study)
    first = crowd.accept(up(study)[0], "ada")
    first.give_back()
    second = crowd.accept(up(study)[0], "ben")
    assert first.assignment_id == second.assignment_id
    with pytest.raises(AlreadyEnded, match="returned this page"):
        first.answer()
    second.answer()
    second.post()
    assert sync(study).discrepancies == []
    assert [one.refreshed()[0].status for one in (first, second)] == ["returned", "submitted"]
    assert HIT.objects.get().required == 1
    same_money(study, turk)


def test_late_answers_under_an_id_that_went_on_are_kept_apart_at_once(turk: MTurkEmulator) -> None:
    study = one_hit(people=1, crowd={"lease_minutes": 30})
    open_study(study=study)
    crowd = Crowd(turk, study)
    first = crowd.accept(up(study)[0], "ada")
    turk.clock.advance(minutes=31)
    first.answer()
    second = crowd.accept(up(study)[0], "ben")
    assert first.assignment_id == second.assignment_id
    second.answer()
    second.post()
    assert kinds_of(sync(study)) == ["apart"]
    assert [one.refreshed()[1].state for one in (first, second)] == ["apart", "submitted"]
    assert HIT.objects.get().required == 1
    assert second.refreshed()[1].slot == 0
    same_money(study, turk)


def test_answers_after_the_hit_expired_count_while_their_own_time_lasts(turk: MTurkEmulator) -> None:
    study = one_hit(crowd={"lifetime_hours": 1, "lease_minutes": 300})
    open_study(study=study)
    work = Crowd(turk, study).accept(up(study)[0], "ada")
    turk.clock.advance(hours=2)
    assert sync(study).discrepancies == []
    assert books(study) == (24, 0)
    work.answer()
    work.post()
    assert sync(study).discrepancies == []
    assert work.refreshed()[1].state == "submitted"
    assert books(study) == (12, 0)  # the other place is given back, this one not
    same_money(study, turk)


def test_answers_that_were_saved_in_full_are_submitted_for_who_handed_in_there(turk: MTurkEmulator) -> None:
    study = one_hit()
    open_study(study=study)
    crowd = Crowd(turk, study)
    saved, overdue = (crowd.accept(up(study)[0], name) for name in ("ada", "ben"))
    for work in (saved, overdue):
        work.save()
        work.post()
    Assignment.objects.filter(pk=overdue.assignment.pk).update(expires_at=timezone.now())
    assert sync(study).discrepancies == []
    assert [one.refreshed()[1].state for one in (saved, overdue)] == ["submitted", "submitted"]
    assert Judgment.objects.count() == 4
    assert sync(study, thorough=True).discrepancies == []


def test_work_without_answers_is_named_and_left_to_a_person(turk: MTurkEmulator) -> None:
    study = one_hit(crowd={"approve_after_hours": 1})
    open_study(study=study)
    crowd = Crowd(turk, study)
    half = crowd.accept(up(study)[0], "ada")
    save_answers(assignment=half.assignment, answers=half.answers()[:1])
    half.post()
    stranger = turk.turker("ASTRANGER")
    stranger.work(up(study)[0].external_id, {"answer": "made up"})
    turk.clock.advance(hours=2)
    CrowdSession.objects.update(submitted_at=timezone.now() - timedelta(hours=2))
    synced = sync(study)
    assert kinds_of(synced) == ["no-answers", "no-answers"]
    assert "never saved" in synced.discrepancies[0].words
    assert "ever answered" in synced.discrepancies[1].words
    assert not CrowdCall.objects.filter(kind="approve").exists()
    assert books(study) == (24, 0)


def test_the_crowds_clock_pays_whom_nobody_looked_at(turk: MTurkEmulator) -> None:
    study = one_hit()
    open_study(study=study)
    work = Crowd(turk, study).do(up(study)[0], "ada")
    sync(study)
    turk.clock.advance(days=31)
    assert sync(study).discrepancies == []
    session, assignment = work.refreshed()
    assert (session.status, session.booked, assignment.state) == ("approved", "spent", "approved")
    assert books(study) == (0, 12)
    same_money(study, turk)
    assert Publication.objects.get().state == "finished"


def test_what_nothing_speaks_against_is_approved_after_the_studys_delay(turk: MTurkEmulator) -> None:
    study = make_turk_study(crowd={"approve_after_hours": 48}, controls={"per_hit": 0})
    open_study(study=study)
    works = Crowd(turk, study).do_all("ada", "ben")
    sync(study)
    assert not CrowdCall.objects.filter(kind="approve").exists()
    long_ago = timezone.now() - timedelta(hours=49)
    CrowdSession.objects.update(submitted_at=long_ago)
    Case.objects.create(study=study, worker=works[1].session.worker, rule="fast", evidence={})
    sync(study)
    states = {one.name: one.refreshed()[1].state for one in works}
    assert states == {"ada": "approved", "ben": "submitted"}
    same_money(study, turk)
    sync(study)
    assert CrowdCall.objects.filter(kind="approve").count() == len(works) // 2


def test_the_crowd_pays_later_by_itself_than_we_would(turk: MTurkEmulator) -> None:
    study = one_hit(crowd={"approve_after_hours": 48})
    open_study(study=study)
    (hit_type,) = turk.world.hit_types.values()
    assert hit_type.auto_approval == (48 + 7 * 24) * 3600


def test_fresh_work_that_the_crowd_does_not_know_yet_is_waited_for(db: None) -> None:
    with emulated(lag_seconds=300) as turk:
        study = one_hit(people=1)
        open_study(study=study)
        work = Crowd(turk, study).do(up(study)[0], "ada")
        assert kinds_of(sync(study)) == ["unnamed"]
        turk.clock.advance(minutes=6)
        assert kinds_of(sync(study)) == []
        assert work.refreshed()[0].confirmed
        same_money(study, turk)


def test_what_was_set_apart_comes_back_when_the_crowd_names_it_after_all(turk: MTurkEmulator) -> None:
    study = one_hit()
    open_study(study=study)
    work = Crowd(turk, study).do(up(study)[0], "ada")
    Assignment.objects.filter(pk=work.assignment.pk).update(state="apart")
    HIT.objects.update(open_slots=2)
    CrowdSession.objects.update(status="unknown")
    assert sync(study).discrepancies == []
    assert work.refreshed()[1].state == "submitted"
    assert HIT.objects.get().open_slots == 1


def test_all_pages_of_assignments_are_read(turk: MTurkEmulator) -> None:
    study = one_hit(people=203)  # a page there has a hundred
    open_study(study=study)
    assert books(study) == (203 * 14, 0)  # 40 % from ten places on
    publication = up(study)[0]
    for number in range(203):
        turk.turker(f"A{number:03d}").work(publication.external_id, {"receipt": "x"})
    assert len({one.worker for one in backend_of(study).fetch_work(publication)}) == 203
    assert len(turk.calls("ListAssignmentsForHIT")) == 3


def test_who_hands_in_while_the_study_is_closed_is_paid(turk: MTurkEmulator) -> None:
    study = one_hit()
    open_study(study=study)
    crowd = Crowd(turk, study)
    saved, late = (crowd.accept(up(study)[0], name) for name in ("ada", "ben"))
    saved.save()
    saved.post()
    close_study(study=study)
    late.answer()
    late.post()
    assert sync(study).discrepancies == []
    assert {one.refreshed()[1].state for one in (saved, late)} == {"submitted"}
    turk.clock.advance(days=31)
    sync(study)
    assert books(study) == (0, 2 * 12)
    same_money(study, turk)


def test_a_hit_of_another_copy_of_the_database_and_one_that_is_gone_are_named(turk: MTurkEmulator) -> None:
    study = make_turk_study()
    open_study(study=study)
    publications = up(study)
    gone, foreign = publications[0], publications[1]
    with turk.world.lock:
        del turk.world.hits[gone.external_id]
        put_up = turk.world.hits.pop(foreign.external_id)
        put_up.hit_id, put_up.annotation = "3ANOTHER", annotation_of("publish-unknown", study)
        turk.world.hits["3ANOTHER"] = put_up
    assert kinds_of(sync(study)) == ["only-here", "only-here", "only-there"]


def test_a_different_reward_there_is_named(turk: MTurkEmulator) -> None:
    study = one_hit()
    open_study(study=study)
    Publication.objects.update(reward_cents=9, fee_cents=3)
    assert kinds_of(sync(study)) == ["money"]


def test_money_that_was_paid_there_beyond_the_budget_is_named_until_it_is_raised(turk: MTurkEmulator) -> None:
    study = one_hit(people=1, crowd={"budget_cents": 12})
    open_study(study=study)
    work = Crowd(turk, study).do(up(study)[0], "ada")
    client = turk_client(PLACE)
    client.reject(work.assignment_id, feedback="Empty.")
    sync(study)
    set_budget(study=study, platform=PLACE, cents=5)
    client.approve(work.assignment_id, override=True)
    assert kinds_of(sync(study, thorough=True)) == ["money"]
    set_budget(study=study, platform=PLACE, cents=12)
    assert kinds_of(sync(study, thorough=True)) == []
    same_money(study, turk)


def test_a_sync_that_finds_nothing_new_asks_for_the_list_alone(turk: MTurkEmulator) -> None:
    study = make_turk_study()
    open_study(study=study)
    sync(study)
    before = len(turk.calls())
    sync(study)
    assert len(turk.calls()) == before + 1
    Crowd(turk, study).do(up(study)[0], "ada")
    before = len(turk.calls())
    sync(study)
    assert len(turk.calls()) == before + 2


def test_notifications_are_a_hint_however_often_and_in_whatever_order_they_come(turk: MTurkEmulator) -> None:
    queue = turk.queues.create("events")
    with settings_for(turk, MTURK_SQS_QUEUE=queue):
        study = one_hit()
        open_study(study=study)
        sync(study)
        works = Crowd(turk, study).do_all("ada", "ben")
        assert sync(study).discrepancies == []
        assert {one.refreshed()[0].status for one in works} == {"submitted"}
        assert Publication.objects.get().hinted_at is not None
        assert sync(study).assignments_by_state == {"submitted": 2}


def test_a_hint_starts_one_job_and_no_more_for_a_minute(turk: MTurkEmulator) -> None:
    study = one_hit()
    open_study(study=study)
    external_id = up(study)[0].external_id
    assert record_notification(platform=PLACE, external_id=external_id)
    assert record_notification(platform=PLACE, external_id=external_id)
    assert not record_notification(platform="mturk-live", external_id=external_id)
    assert not record_notification(platform=PLACE, external_id="3MADEUP")
    assert Job.objects.filter(kind="sync_crowd").count() == 1


def test_open_studies_are_compared_in_their_turn(turk: MTurkEmulator) -> None:
    study = one_hit()
    assert queue_due_syncs() == []
    open_study(study=study)
    assert queue_due_syncs() == [study.slug]
    assert queue_due_syncs() == []
    Job.objects.update(
        state="done", finished_at=timezone.now(), created_at=timezone.now() - timedelta(hours=1)
    )
    assert queue_due_syncs() == [study.slug]


def test_the_command_writes_the_report(
    turk: MTurkEmulator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = one_hit()
    open_study(study=study)
    Crowd(turk, study).do(up(study)[0], "ada")
    call_command("sync_crowd", study.slug, "--output", str(tmp_path / "report.json"))
    assert json.loads((tmp_path / "report.json").read_text()) == {
        "hits": 1,
        "assignments": {"submitted": 1},
        "budget_cents": 100_000,
        "reserved_cents": 24,
        "spent_cents": 0,
        "discrepancies": [],
    }
    assert capsys.readouterr().out.strip() == "Pages of work at the crowd: 1. Assignments: 1 submitted."


def test_made_up_arrivals_take_few_seats_and_leave_no_trace_in_the_books(turk: MTurkEmulator) -> None:
    study = one_hit()
    open_study(study=study)
    crowd = Crowd(turk, study)
    for number in range(2):
        crowd.arrive(up(study)[0], f"MADEUP{number}", f"w{number}").answer()
    with pytest.raises(SlotTaken):
        crowd.arrive(up(study)[0], "MADEUP2", "w2")
    turk.clock.advance(days=8)
    assert set(kinds_of(sync(study))) == {"apart"}
    assert (HIT.objects.get().required, HIT.objects.get().open_slots) == (2, 2)
    assert books(study) == (0, 0)
    same_money(study, turk)


def read(found: dict[str, Any] | str, **options: Any) -> Set[str] | Subscription:
    body = found if isinstance(found, str) else json.dumps(found)
    wanted: dict[str, Any] = {"topic": ARN, "now": NOW, "fetch_certificate": Shelf()}
    return read_sns(body, **(wanted | options))


def test_the_string_to_sign_is_the_documented_one() -> None:
    # "Verifying the signature of an Amazon SNS message", SNS Developer Guide
    found = {
        "Type": "Notification",
        "TopicArn": "arn:aws:sns:us-east-2:123456789012:s4-MySNSTopic-1G1WEFCOXTC0P",
        "Subject": "My subject",
        "Timestamp": "2019-01-31T04:37:04.321Z",
        "Message": "My Test Message",
        "MessageId": "4d4dc071-ddbf-465d-bba8-08f81c89da64",
        "SignatureVersion": "1",
    }
    signed = (
        b"Message\nMy Test Message\nMessageId\n4d4dc071-ddbf-465d-bba8-08f81c89da64\nSubject\nMy subject\n"
        b"Timestamp\n2019-01-31T04:37:04.321Z\nTopicArn\n"
        b"arn:aws:sns:us-east-2:123456789012:s4-MySNSTopic-1G1WEFCOXTC0P\nType\nNotification\n"
    )
    assert string_to_sign(found) == signed
    del found["Subject"]
    assert string_to_sign(found) == signed.replace(b"Subject\nMy subject\n", b"")
    confirmation = {**found, "Type": "SubscriptionConfirmation", "SubscribeURL": "https://x", "Token": "t"}
    assert string_to_sign(confirmation).splitlines()[::2] == [
        b"Message", b"MessageId", b"SubscribeURL", b"Timestamp", b"Token", b"TopicArn", b"Type",
    ]  # fmt: skip


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("subject", [None, "About a HIT\nwith two lines"])
def test_a_signed_message_names_its_hits(version: str, subject: str | None) -> None:
    shelf = Shelf()
    assert read(message(version=version, Subject=subject), fetch_certificate=shelf) == {"3HIT"}
    assert shelf.asked == [CERTIFICATE_URL]


def test_the_order_of_names_in_the_json_does_not_matter() -> None:
    found = message()
    assert read(dict(reversed(found.items()))) == read(found)


@pytest.mark.parametrize("name", ["Message", "MessageId", "Timestamp", "TopicArn"])
def test_a_changed_part_does_not_fit_the_signature(name: str) -> None:
    found = message()
    changed = {
        "Message": found["Message"].replace("3HIT", "3HAT"),
        "MessageId": "another",
        "Timestamp": "2026-11-20T11:59:31.123Z",
        "TopicArn": f"{ARN}2",
    }
    with pytest.raises(NotificationForged):
        read(found | {name: changed[name]}, topic=changed["TopicArn"] if name == "TopicArn" else ARN)


@pytest.mark.parametrize(
    "change",
    [
        {"Subject": "one more"},
        {
            "Type": "UnsubscribeConfirmation",
            "Token": "t",
            "SubscribeURL": "https://sns.us-east-1.amazonaws.com/",
        },
        {"SignatureVersion": "1"},
        {"SignatureVersion": "3"},
        {"SignatureVersion": 2},
        {"Signature": "AAAA"},
        {"Signature": "no base64!"},
        {"Signature": None},
        {"Message": "\ud800"},
    ],
)
def test_what_is_not_signed_so_is_forged(change: dict[str, Any]) -> None:
    with pytest.raises(NotificationForged):
        read(message() | change)


def test_whoever_signs_with_another_key_is_nobody() -> None:
    with pytest.raises(NotificationForged, match="does not fit"):
        read(message(signer="mallory"))
    with pytest.raises(NotificationForged, match="not valid now"):
        read(message(), fetch_certificate=Shelf(certificate(ends=NOW - timedelta(days=1))))
    with pytest.raises(NotificationForged, match="cannot be read"):
        read(message(), fetch_certificate=Shelf(b"<html>not found</html>"))
    with pytest.raises(NotificationForged, match="none of RSA"):
        read(message(), fetch_certificate=Shelf(elliptic()))


def elliptic() -> bytes:
    key, name = generate_private_key(SECP256R1()), x509.Name([])
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, NOW - timedelta(1), NOW + timedelta(1))
    return made.sign(key, SHA256()).public_bytes(Encoding.PEM)


@pytest.mark.parametrize(
    "address",
    [
        "http://sns.us-east-1.amazonaws.com/a.pem",
        "http://127.0.0.1:8017/a.pem",
        "https://sns.us-east-1.amazonaws.com.evil.example/a.pem",
        "https://evil.example/sns.us-east-1.amazonaws.com/a.pem",
        "https://sns.us-east-1.amazonaws.com@evil.example/a.pem",
        "https://me@sns.us-east-1.amazonaws.com/a.pem",
        "https://sns.us-east-1.amazonaws.com:8443/a.pem",
        "https://SNS.us-east-1.amazonaws.com\\@evil.example/a.pem",
        "https://s3.us-east-1.amazonaws.com/a.pem",
        "https://sns.us-east-1.amazonaws.com/bucket/a.pem",
        "https://sns.us-east-1.amazonaws.com/?Action=GetTopicAttributes&a=/a.pem",
        "https://sns.us-east-1.amazonaws.com/a.pem?x=1",
        "https://sns.us-east-1.amazonaws.com/a.pem#x",
        "https://sns.us-east-1.amazonaws.com/a.txt",
        "https://[sns/a.pem",
        "",
        None,
        ["https://sns.us-east-1.amazonaws.com/a.pem"],
    ],
)
def test_a_certificate_from_elsewhere_is_not_even_fetched(address: Any) -> None:
    shelf = Shelf()
    with pytest.raises(NotificationForged, match="SigningCertURL"):
        read(message() | {"SigningCertURL": address}, fetch_certificate=shelf)
    assert shelf.asked == []


def test_another_topic_s_message_is_not_ours_however_well_it_is_signed() -> None:
    with pytest.raises(NotificationForged, match="topic"):
        read(message(TopicArn="arn:aws:sns:us-east-1:999999999999:quorum"))


@pytest.mark.parametrize(
    ("minutes", "fine"),
    [(0, True), (59, True), (60, True), (61, False), (-14, True), (-16, False), (100_000, False)],
)
def test_a_message_is_good_for_an_hour(minutes: int, fine: bool) -> None:
    found = message(Timestamp=(NOW - timedelta(minutes=minutes)).isoformat())
    if fine:
        assert read(found) is not None
    else:
        with pytest.raises(NotificationTooOld):
            read(found)


def test_a_subscription_is_confirmed_under_the_same_checks() -> None:
    found = message("SubscriptionConfirmation")
    assert read(found) == Subscription(found["SubscribeURL"])
    assert read(message("UnsubscribeConfirmation")) == set()
    with pytest.raises(NotificationForged, match="does not fit"):
        read(found | {"Token": "another"})
    for address in ("http://sns.us-east-1.amazonaws.com/?Token=1", "https://evil.example/?Token=1"):
        with pytest.raises(NotificationForged, match="SubscribeURL"):
            read(message("SubscriptionConfirmation", SubscribeURL=address))


@pytest.mark.parametrize("missing", ["Type", "MessageId", "TopicArn", "Message", "Timestamp"])
def test_a_message_without_one_of_its_parts_is_unreadable(missing: str) -> None:
    found = message()
    del found[missing]
    with pytest.raises(NotificationUnreadable, match=missing):
        read(found)


@pytest.mark.parametrize(
    "change",
    [
        {"Type": "Other"},
        {"Type": ["Notification"]},
        {"Timestamp": "yesterday"},
        {"Timestamp": "2026-11-20T12:00"},
        {"MessageId": 5},
    ],
)
def test_a_message_of_another_form_is_unreadable(change: dict[str, Any]) -> None:
    with pytest.raises(NotificationUnreadable):
        read(message() | change)


def test_a_name_that_stands_twice_is_refused_since_readers_disagree_about_it() -> None:
    doubled = json.dumps(message())[:-1] + f', "TopicArn": "{ARN}"}}'
    with pytest.raises(NotificationUnreadable, match="twice"):
        read(doubled)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "null",
        '"x"',
        "{",
        json.dumps(message())[:-20],
        "[" * 100_000,
        "9" * 5_000,
        b"\xff{}",
        "{" + " " * 1_000_000 + "}",
    ],
)
def test_what_is_cut_off_or_no_object_is_unreadable(body: str | bytes) -> None:
    with pytest.raises(NotificationUnreadable):
        read_sns(body, topic=ARN, now=NOW, fetch_certificate=Shelf())
    with pytest.raises(NotificationUnreadable):
        read_sqs(body)


def event(**changed: Any) -> dict[str, Any]:
    return EVENTS | {"Events": [EVENTS["Events"][0] | changed]}  # type: ignore[operator]


@pytest.mark.parametrize(
    "document",
    [
        {},
        EVENTS | {"Events": []},
        EVENTS | {"Events": "x"},
        EVENTS | {"Events": ["x"]},
        event(HITId=None),
        event(HITId=7),
        event(HITId="3\x00"),
        event(HITId="3" * 65),
    ],
)
def test_events_of_another_form_are_unreadable_wherever_they_come_from(document: dict[str, Any]) -> None:
    with pytest.raises(NotificationUnreadable):
        read_sqs(json.dumps(document))
    with pytest.raises(NotificationUnreadable):
        read(message(Message=json.dumps(document)))


def test_a_queue_holds_the_document_itself_or_a_message_of_its_topic() -> None:
    assert read_sqs(json.dumps(EVENTS)) == read_sqs(json.dumps(message())) == {"3HIT"}


@settings(deadline=None)
@given(
    st.sampled_from([*message(), "Subject"]),
    st.text("aZ09:/.-\x00é\ud800{}", max_size=40) | st.none() | st.integers() | st.just(["x"]),
)
def test_whatever_is_changed_is_refused_by_name(name: str, value: Any) -> None:
    assume(value != message().get(name))
    with pytest.raises(NotificationProblem):
        read(message() | {name: value})


def test_without_a_server_the_entrance_says_that_amazon_closed_it(turk: MTurkEmulator) -> None:
    study = make_turk_study()
    with override_settings(MTURK_ENDPOINT=""):
        sentence = backend_of(study).describe_entrance(study)
    assert sentence.startswith(
        "Amazon closed Mechanical Turk on 30 September 2026. To use this crowd, set AWS_ENDPOINT_URL_MTURK"
    )


def test_a_study_is_published_worked_through_and_paid(turk: MTurkEmulator) -> None:
    study = make_turk_study()
    hits = HIT.objects.filter(study=study).count()
    said = open_study(study=study)
    assert said == (
        "Participants find the study at https://workersandbox.mturk.com. This is the sandbox, where no money is "
        "paid."
    )
    assert study.platform == "mturk-sandbox"
    there = turk.dump()["hits"]
    assert len(there) == len(up(study)) == hits
    assert {one["max_assignments"] for one in there} == {2}
    assert books(study) == (hits * 2 * 12, 0)
    same_money(study, turk)

    Crowd(turk, study).do_all("ada", "ben")
    synced = sync(study)
    assert synced.discrepancies == []
    assert synced.assignments_by_state == {"submitted": hits * 2}
    assert set(CrowdSession.objects.values_list("status", "confirmed")) == {("submitted", True)}
    assert Judgment.objects.filter(assignment__study=study).count() == hits * 2 * 4

    pages = list(Assignment.objects.order_by("pk").values_list("pk", flat=True))
    approve_assignments(study=study, assignments=pages[1:])
    reject_assignments(study=study, assignments=pages[:1], reason="All first.")
    assert sync(study).discrepancies == []
    assert books(study) == (0, (hits * 2 - 1) * 12)
    same_money(study, turk)
    assert set(Publication.objects.values_list("state", flat=True)) == {"finished"}
    assert Assignment.objects.get(pk=pages[0]).reason == "All first."

    again = sync(study, thorough=True)
    assert kinds_of(again) == []
    assert again.assignments_by_state == {"approved": hits * 2 - 1, "rejected": 1}
    close_study(study=study)
    same_money(study, turk)
