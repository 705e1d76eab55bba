"""Notifications: believed only when Amazon signed them for our topic, just now, for the first time."""

import json
from collections.abc import Set
from datetime import timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from annotation.crowds.mturk.notifications import (
    NotificationForged,
    NotificationProblem,
    NotificationTooOld,
    NotificationUnreadable,
    Subscription,
    read_sns,
    read_sqs,
    string_to_sign,
)
from tests.annotation.crowds.signing import (
    ARN,
    CERTIFICATE_URL,
    EVENTS,
    NOW,
    Shelf,
    certificate,
    message,
)


def read(found: dict[str, Any] | str, **options: Any) -> Set[str] | Subscription:
    body = found if isinstance(found, str) else json.dumps(found)
    wanted: dict[str, Any] = {"topic": ARN, "now": NOW, "certificate": Shelf()}
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
    assert read(message(version=version, Subject=subject), certificate=shelf) == {"3HIT"}
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
        read(message(), certificate=Shelf(certificate(ends=NOW - timedelta(days=1))))
    with pytest.raises(NotificationForged, match="cannot be read"):
        read(message(), certificate=Shelf(b"<html>not found</html>"))
    with pytest.raises(NotificationForged, match="none of RSA"):
        read(message(), certificate=Shelf(elliptic()))


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
        read(message() | {"SigningCertURL": address}, certificate=shelf)
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
        read_sns(body, topic=ARN, now=NOW, certificate=Shelf())
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
