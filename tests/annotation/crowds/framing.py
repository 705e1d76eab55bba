"""People whom Mechanical Turk sends: a study that is up there, and browsers that get no cookie of ours in its frame."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.test import Client

from annotation.crowds.sessions import open_session, person_sent
from annotation.models import Assignment, CrowdSession, Publication
from annotation.money import ledger
from annotation.work.joining import join_from_crowd
from judgments.models import HIT, Dataset, Study
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
    worker = person_sent(study=study, raw="A1ADA", name="WorkerId")
    join_from_crowd(study=study, worker=worker, consent=True)
    up = Publication.objects.filter(study=study).order_by("pk")[0]
    session = open_session(publication=up, worker=worker, external_id="3ADA")
    CrowdSession.objects.filter(pk=session.pk).update(status="approved", confirmed=True)
    return CrowdSession.objects.select_related("study", "worker").get(pk=session.pk)
