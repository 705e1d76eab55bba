"""A study at the emulated Mechanical Turk, and people who work on it there and here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch
from urllib.parse import parse_qs, urlsplit

from django.test import override_settings

from annotation.crowds.claims import claim_for_session
from annotation.crowds.mturk import hit_types
from annotation.crowds.sessions import open_session, worker_for_crowd_id
from annotation.crowds.sync.report import SyncReport
from annotation.crowds.sync.run import sync_with_crowd
from annotation.models import Assignment, Budget, CrowdSession, Publication
from annotation.money import ledger as money
from annotation.work.joining import join_from_crowd
from annotation.work.sheet.units import page_units_of
from annotation.work.submissions import save_answers, submit_assignment
from judgments.models import Study
from tests.annotation.casting import make_dataset, make_study
from tests.fakes.mturk import MTurkEmulator

KEYS = {"AWS_ACCESS_KEY_ID": "emulated", "AWS_SECRET_ACCESS_KEY": "emulated"}
CROWD = {"backend": "mturk", "reward_cents": 10, "budget_cents": 100_000, "approve_after_hours": 0}


@contextmanager
def emulated(**about: Any) -> Iterator[MTurkEmulator]:
    """The service, and settings that lead to it."""
    hit_types.known_hit_types.clear()
    hit_types.known_qualifications.clear()
    with patch.dict(os.environ, KEYS), MTurkEmulator(**about) as emulator, settings_for(emulator):
        yield emulator


def settings_for(emulator: MTurkEmulator, **more: Any) -> override_settings:
    """Of an installation that asks the emulator, and waits for nothing."""
    usual: dict[str, Any] = {
        "MTURK_ENDPOINT": emulator.endpoint_url,
        "SQS_ENDPOINT": emulator.endpoint_url,
        "PUBLIC_URL": "http://127.0.0.1:1",
        "CROWD_BACKOFF_SECONDS": 0.0,
        "CROWD_CALL_SECONDS": 0,
        "CROWD_GRACE_SECONDS": 0,
    }
    return override_settings(**(usual | more))


def make_turk_study(*, crowd: dict[str, Any] | None = None, **values: Any) -> Study:
    """A small study for the sandbox, not opened: triplets in HITs of four, two people each."""
    wanted: dict[str, Any] = {"crowd": CROWD | (crowd or {}), "question": "Which is closer?"}
    return make_study(make_dataset(pictures=False), opened=False, **(wanted | values))


def one_hit(*, people: int = 2, crowd: dict[str, Any] | None = None, **values: Any) -> Study:
    """The smallest study: one HIT of two units."""
    small: dict[str, Any] = {
        "judgments_per_unit": people,
        "sampling": {"pairs": {"MM": 2}, "references": 1},
        "controls": {"per_hit": 0},
    }
    return make_turk_study(crowd=crowd, **(small | values))


def sync(study: Study, **options: Any) -> SyncReport:
    """Without waiting."""
    return sync_with_crowd(study=study, wait=lambda seconds: None, **options)


def kinds_of(synced: SyncReport) -> list[str]:
    return sorted(one.kind for one in synced.discrepancies)


@dataclass
class Crowd:
    """People at the emulator, by the numbers."""

    emulator: MTurkEmulator
    study: Study
    people: dict[str, Any] = field(default_factory=dict)

    def turker(self, name: str) -> Any:
        if name not in self.people:
            self.people[name] = self.emulator.turker(f"A{name.upper()}")
        return self.people[name]

    def accept(self, publication: Publication, name: str) -> Work:
        """They take the HIT there, and arrive here with what the frame's address says."""
        taken = self.turker(name).accept(publication.external_id)
        return self.arrive(publication, taken.assignment_id, name, url=taken.url)

    def arrive(self, publication: Publication, assignment_id: str, name: str, url: str = "") -> Work:
        worker = worker_for_crowd_id(study=self.study, crowd_id=f"A{name.upper()}", id_name="WorkerId")
        join_from_crowd(study=self.study, worker=worker, consent=True)
        session = open_session(publication=publication, worker=worker, external_id=assignment_id)
        assert publication.hit is not None
        claim = claim_for_session(session=session, hit=publication.hit)
        return Work(self, publication, assignment_id, name, session, claim.assignment, url)

    def do(self, publication: Publication, name: str) -> Work:
        """A person as one hopes for."""
        work = self.accept(publication, name)
        work.answer()
        work.post()
        return work

    def do_all(self, *names: str) -> list[Work]:
        """Each of them does every HIT."""
        return [self.do(publication, name) for publication in up(self.study) for name in names]


@dataclass
class Work:
    """Somebody's turn at a HIT, seen from both sides."""

    crowd: Crowd
    publication: Publication
    assignment_id: str
    name: str
    session: CrowdSession
    assignment: Assignment
    url: str

    def answers(self) -> list[dict[str, Any]]:
        return [
            {"position": place.position, "value": 1, "seconds": 2.0}
            for place in page_units_of(self.assignment)
        ]

    def save(self) -> None:
        """As the page does while it is worked on."""
        save_answers(assignment=self.assignment, answers=self.answers())

    def answer(self) -> None:
        """Our server has the answers."""
        submit_assignment(assignment=self.assignment, answers=self.answers())
        CrowdSession.objects.filter(pk=self.session.pk, status="working").update(status="submitted")

    def post(self) -> None:
        """Mechanical Turk has the form."""
        self.crowd.turker(self.name).submit(self.assignment_id, {"receipt": "x"})

    def give_back(self) -> None:
        self.crowd.turker(self.name).return_(self.assignment_id)

    def parameters(self) -> dict[str, str]:
        """Of the frame's address."""
        return {name: values[0] for name, values in parse_qs(urlsplit(self.url).query).items()}

    def refreshed(self) -> tuple[CrowdSession, Assignment]:
        self.session.refresh_from_db()
        self.assignment.refresh_from_db()
        return self.session, self.assignment


def up(study: Study) -> list[Publication]:
    return list(
        Publication.objects.filter(study=study, state="published")
        .select_related("hit", "study")
        .order_by("pk")
    )


def books(study: Study) -> tuple[int, int]:
    """Reserved and spent, which the ledger and what keeps it must say too."""
    budget = Budget.objects.get(study=study, platform=study.platform)
    assert money.ledger_sums(budget) == (budget.reserved_cents, budget.spent_cents)
    assert money.reserved_cents(budget) == budget.reserved_cents
    return budget.reserved_cents, budget.spent_cents


def same_money(study: Study, emulator: MTurkEmulator) -> None:
    """Our books and the account there agree to the cent."""
    ledger = emulator.ledger()
    assert books(study) == (ledger["held"], ledger["spent"])
