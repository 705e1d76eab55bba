"""People whom Mechanical Turk sends into its frame, the HITs they come for, and signed notifications."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from urllib.parse import urlencode

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA1, SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from django.test import Client

from annotation.crowds.mturk.notifications.messages import string_to_sign
from annotation.crowds.sessions import open_session, worker_for_crowd_id
from annotation.models import Assignment, CrowdSession, Publication
from annotation.money import ledger
from annotation.work.joining import join_from_crowd
from judgments.design.reading.checking import make_design
from judgments.design.study_design import StudyDesign
from judgments.models import HIT, Caption, Dataset, Item, Study, Unit
from tests.annotation.casting import make_dataset, make_study
from tests.crowd import first_answers

SITE = "https://workersandbox.mturk.com"
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"


def study_at_mturk(
    dataset: Dataset | None = None,
    *,
    platform: str = "mturk-sandbox",
    protocol: str = "triplet",
    **values: Any,
) -> Study:
    """An open study whose HITs are all up there."""
    crowd = {"backend": "mturk", "reward_cents": 30, "budget_cents": 100_000, **values.pop("crowd", {})}
    study = make_study(dataset or make_dataset(), protocol, crowd=crowd, **values)
    study.platform = platform
    study.save(update_fields=["platform"])
    for hit in study.hits.all():
        publish(study, hit)
    return study


def funded_study() -> Study:
    """Open at the sandbox, with a budget of 100.00."""
    made = study_at_mturk(make_dataset(pictures=False), crowd={"floor_cents_per_hour": 900})
    ledger.set_budget(study=made, platform=made.platform, cents=10_000)
    return made


def publish(study: Study, hit: HIT, **values: Any) -> Publication:
    """The HIT as Mechanical Turk has it."""
    number = Publication.objects.filter(study=study, hit=hit).count() + 1
    facts: dict[str, Any] = {
        "platform": study.platform,
        "state": Publication.State.PUBLISHED,
        "external_id": f"3HIT{hit.pk:08}N{number}",
        "token": f"publish-{study.platform}-{hit.pk}-{number}",
        "number": number,
        "places": 2,
        "reward_cents": 30,
        "fee_cents": 6,
    }
    return Publication.objects.create(study=study, hit=hit, **facts | values)


def first_publication(study: Study) -> Publication:
    return Publication.objects.filter(study=study).order_by("pk")[0]


@dataclass
class Turker:
    """Somebody at Mechanical Turk. The client keeps cookies as a browser would that allows them; none may be set."""

    study: Study
    worker_id: str = "A1ADA"
    assignment_id: str = "3ASSIGNMENT1"
    site: str = SITE

    def __post_init__(self) -> None:
        self.client = Client(enforce_csrf_checks=True)
        self.publication = first_publication(self.study)

    def entry(self, **changes: str) -> str:
        """The address that the frame shows."""
        asked = {
            "assignmentId": self.assignment_id,
            "hitId": self.publication.external_id,
            "workerId": self.worker_id,
            "turkSubmitTo": self.site,
        } | changes
        return f"/s/{self.study.slug}/mturk/?{urlencode(asked)}"

    def arrive(self, **changes: str) -> Any:
        """The frame loads; where it ends up."""
        return self.client.get(self.entry(**changes), follow=True)

    def begin(self) -> Work:
        """Accept the HIT, down to its page of work."""
        response = self.arrive()
        assert response.status_code == 200, response.content.decode()
        address = response.redirect_chain[-1][0]
        work = Work(self, address.partition(f"s/{self.study.slug}/")[0], response.content.decode())
        if address == work.at("start/"):  # what there is to read for who is new
            work.html = work.get().content.decode()
        else:
            assert address == work.at("work/")
        return work

    @property
    def hit(self) -> HIT:
        """As it is now."""
        assert self.publication.hit is not None
        return HIT.objects.get(pk=self.publication.hit.pk)

    @property
    def session(self) -> CrowdSession:
        return CrowdSession.objects.get(
            external_id=self.assignment_id, worker__raw_ids__value=self.worker_id, study=self.study
        )

    @property
    def assignment(self) -> Assignment:
        return Assignment.objects.filter(session=self.session).latest("accepted_at")


@dataclass
class Work:
    """The page of work in the frame.

    Attributes:
        prefix: what every address in the frame begins with, /f/<ticket>/.
    """

    turker: Turker
    prefix: str
    html: str

    def at(self, what: str = "work/") -> str:
        return f"{self.prefix}s/{self.turker.study.slug}/{what}"

    def get(self, what: str = "work/", **extra: Any) -> Any:
        return self.turker.client.get(self.at(what), **extra)

    @property
    def form(self) -> str:
        """Where the page's form goes to."""
        found = re.search(r'<form method="post" [^>]*action="([^"]+)" data-assignment', self.html)
        assert found is not None
        return found[1]

    def answers(self) -> dict[str, str]:
        return first_answers(self.html)

    def submit(self, fields: dict[str, str] | None = None, **extra: Any) -> Any:
        return self.turker.client.post(self.form, self.answers() if fields is None else fields, **extra)

    def call(self, what: str, body: Any) -> Any:
        """What the page's script sends."""
        address = re.sub(r"submit/$", f"{what}/", self.form)
        return self.turker.client.post(address, body, content_type="application/json")


def hidden_fields(html: str) -> dict[str, str]:
    """Of the form that hands the HIT in."""
    return dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', html))


def approved_ada(study: Study) -> CrowdSession:
    """The session of somebody whose work was approved."""
    worker = worker_for_crowd_id(study=study, crowd_id="A1ADA", id_name="WorkerId")
    join_from_crowd(study=study, worker=worker, consent=True)
    up = Publication.objects.filter(study=study).order_by("pk")[0]
    session = open_session(publication=up, worker=worker, external_id="3ADA")
    CrowdSession.objects.filter(pk=session.pk).update(status="approved", confirmed=True)
    return CrowdSession.objects.select_related("study", "worker").get(pk=session.pk)


ADDRESS = "https://pictures.example.org/photo-{number}.jpg?size=640&of=1"

# thirteen words each: as long as captions of COCO and PASCAL-50S are, and a little longer
SAID = (
    "A small brown dog is jumping over a wooden log in the garden {number}",
    "Two children in yellow coats are playing with a red ball beside water {number}",
    "A woman with an umbrella walks along the rainy street past a shop {number}",
)
TEXT = "The farm show opened on Monday. A red barn is what people come for, said Ms. O’Neil."


def make_hit(
    protocol: str, *, units: int = 4, images: int = 2, captions: int = 3, **values: Any
) -> tuple[StudyDesign, HIT, list[Unit]]:
    """A design, a HIT and its units; relevance has ``images`` with ``captions`` each, other kinds ``units``."""
    base = {"name": f"Photos by {protocol}", "dataset": "photos", "protocol": protocol, "seed": 7}
    design = make_design(base | values)
    places = (
        [image for image in range(images) for _ in range(captions)]
        if protocol == "relevance"
        else list(range(units))
    )
    made = [_unit(number, image, protocol) for number, image in enumerate(places, start=1)]
    return design, HIT(key="hit-0007"), made


def _unit(number: int, image: int, protocol: str) -> Unit:
    url = "" if protocol == "template" else ADDRESS.format(number=image)
    item = Item(pk=image + 1, name=f"photo-{image}.jpg", url=url, text=TEXT)
    first, second, reference = (
        Caption(pk=10 * number + place, key=f"c{number}-{place}", text=text.format(number=number))
        for place, text in enumerate(SAID)
    )
    content: dict[str, Any] = {}
    if protocol == "best-worst":
        content = {"options": [{"key": one.key, "text": one.text} for one in (first, second, reference)]}
    if protocol == "keywords":
        content = {"text": TEXT, "collocations": ["farm show", "red barn"]}
    if protocol == "template":
        content = {"fields": {"text": SAID[0].format(number=number)}}
    if protocol == "grounding":
        box = {"id": "0", "label": "dog.n.01", "x": 0.1, "y": 0.2, "width": 0.4, "height": 0.5}
        content = {"boxes": [box]}
    return Unit(
        pk=number,
        key=f"unit-{number}",
        item=item,
        first=first,
        second=second,
        reference=reference,
        content=content,
    )


NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
ARN = "arn:aws:sns:us-east-1:123456789012:quorum"
CERTIFICATE_URL = "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem"
EVENTS = {
    "EventDocVersion": "2014-08-15",
    "EventDocId": "doc-1",
    "CustomerId": "A1CUSTOMER",
    "Events": [
        {
            "EventType": "AssignmentSubmitted",
            "EventTimestamp": "2026-11-20T11:59:00Z",
            "HITTypeId": "3TYPE",
            "HITId": "3HIT",
            "AssignmentId": "3ASSIGNMENT",
        },
        {
            "EventType": "HITReviewable",
            "EventTimestamp": "2026-11-20T11:58:00Z",
            "HITTypeId": "3TYPE",
            "HITId": "3HIT",
        },
    ],
}


@cache
def key_of(name: str) -> RSAPrivateKey:
    """A key of its own for each name."""
    return generate_private_key(public_exponent=65537, key_size=2048)


@cache
def certificate(name: str = "amazon", *, ends: datetime = NOW + timedelta(days=30)) -> bytes:
    """The certificate of ``name``'s key, valid from a month ago."""
    called = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sns.amazonaws.com")])
    key = key_of(name)
    made = (
        x509.CertificateBuilder()
        .subject_name(called)
        .issuer_name(called)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(NOW - timedelta(days=30))
        .not_valid_after(ends)
        .sign(key, SHA256())
    )
    return made.public_bytes(Encoding.PEM)


def message(
    kind: str = "Notification", *, version: str = "2", signer: str = "amazon", **changed: Any
) -> dict[str, Any]:
    """A message as SNS posts it, signed after ``changed``."""
    found: dict[str, Any] = {
        "Type": kind,
        "MessageId": "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
        "TopicArn": ARN,
        "Message": json.dumps(EVENTS),
        "Timestamp": "2026-11-20T11:59:30.123Z",
        "SignatureVersion": version,
        "SigningCertURL": CERTIFICATE_URL,
    }
    if kind != "Notification":
        found |= {
            "Message": "You have chosen to subscribe to the topic.",
            "Token": "2336412f37fb687f5d51e6e241d09c805a5a57b30d712f794cc5f6a988666d92768dd60a747ba6f3beb71854e285d6ad",
            "SubscribeURL": f"https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn={ARN}&Token=2336",
        }
    found = {name: value for name, value in (found | changed).items() if value is not None}
    return found | {"Signature": signature(found, signer=signer)}


def signature(found: dict[str, Any], *, signer: str = "amazon") -> str:
    """What fits the message as it is."""
    method = SHA256() if found["SignatureVersion"] == "2" else SHA1()  # noqa: S303
    return base64.b64encode(key_of(signer).sign(string_to_sign(found), PKCS1v15(), method)).decode()


@dataclass
class Shelf:
    """Hands out certificates by address, and remembers which were asked for."""

    held: bytes = field(default_factory=certificate)
    asked: list[str] = field(default_factory=list)

    def __call__(self, address: str) -> bytes:
        self.asked.append(address)
        return self.held
