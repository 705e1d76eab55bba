"""An installation at the emulated Mechanical Turk: its studies are up there, and people come to it in a frame."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import FrameLocator, Page, expect

from tests.fakes.mturk import MTurkEmulator
from tests.installations import Installation, Installations, free_port

STUDIES = """
import json
from annotation.models import Publication
from annotation.crowds.opening import open_study
from judgments.models import Study
from tests.annotation.casting import make_dataset, make_study

dataset = make_dataset(images=12)
EXAMPLE = {
    "scene": "A dog on a bench.", "image": "secret-file-07.jpg",
    "shown": ["A dog sits.", "A dog on a bench.", "A cat."], "answer": "The first one", "why": "It says the same.",
}
CROWD = {"backend": "mturk", "reward_cents": 30, "budget_cents": 1_000_000, "approve_after_hours": 0}
few = {"sampling": {"pairs": {"MM": 1}, "references": 4}, "opened": False, "crowd": CROWD, "judgments_per_unit": 30}
few["controls"] = {"per_hit": 0}
make_study(
    dataset, slug="triplet", name="Which caption is closer?", examples=[EXAMPLE],
    instructions="Judge *what is described*, not how well it is written.", contact="lab@example.org", **few,
)
make_study(dataset, "pairwise", slug="pairwise", **few | {"sampling": {"pairs": {"MM": 4}}})
make_study(dataset, "relevance", slug="relevance", **few | {"sampling": {}, "images_per_hit": 3})
make_study(dataset, slug="consent", consent="You may **stop** at any time. Nothing personal is stored.", **few)
make_study(dataset, slug="quiz", quiz={"items": 1, "attempts": 2}, **few)
make_study(dataset, slug="html", **few | {"crowd": CROWD | {"question": "html"}})
for study in Study.objects.all():
    open_study(study=study)
first = {one.study.slug: one.external_id for one in Publication.objects.select_related("study").order_by("-pk")}
print(json.dumps(first))
"""
APPROVE = """
from annotation.models import CrowdSession
from annotation.crowds.outbox.delivery import carry_out_calls
from annotation.money.payments import decide_session
session = CrowdSession.objects.get(worker__raw_ids__value={worker!r})
decide_session(session=session, approve=True)
carry_out_calls(study=session.study)
"""
SESSIONS = """
SELECT s.id, s.status, s.confirmed FROM annotation_crowdsession s JOIN annotation_rawid r ON r.worker_id = s.worker_id
WHERE r.value = '{worker}' AND r.session_id IS NULL ORDER BY s.id
"""
PAGES = """
SELECT a.id, a.state, j.seconds FROM annotation_assignment a LEFT JOIN annotation_judgment j ON j.assignment_id = a.id
WHERE a.session_id = {session} ORDER BY a.accepted_at
"""


@contextmanager
def framed_site(installations: Installations) -> Iterator[FramedSite]:
    """A running installation whose studies are open at the emulator."""
    with MTurkEmulator() as emulator, installations.fresh("sqlite") as installation:
        port = free_port()
        installation.env |= {
            "AWS_ENDPOINT_URL_MTURK": emulator.endpoint_url,
            "AWS_ACCESS_KEY_ID": "emulated",
            "AWS_SECRET_ACCESS_KEY": "emulated",
            "MTURK_SITES": emulator.endpoint_url,
            "PUBLIC_URL": f"http://localhost:{port}",
        }
        hits = json.loads(installation.python(STUDIES).splitlines()[-1])
        installation.start_server(port=port)
        yield FramedSite(emulator, installation, hits)


@dataclass
class Worked:
    """A page of work: its state, and the seconds of its judgments."""

    state: str
    seconds: list[float]


@dataclass
class Session:
    """A worker's piece of work as our rows have it."""

    status: str
    confirmed: bool
    pages: list[Worked]


@dataclass
class FramedSite:
    """Quorum behind ``localhost`` and Mechanical Turk behind ``127.0.0.1``: two sites to a browser.

    Attributes:
        hits: per study, the HIT of its first page of work.
    """

    emulator: MTurkEmulator
    installation: Installation
    hits: dict[str, str]

    def preview(self, page: Page, slug: str, worker: str) -> FrameLocator:
        """The HIT as somebody looks at it."""
        page.goto(f"{self.emulator.endpoint_url}/worker/hits/{self.hits[slug]}?worker={worker}")
        return page.frame_locator("iframe[name=hit]")

    def accept(self, page: Page, slug: str, worker: str) -> FrameLocator:
        """The HIT accepted."""
        frame = self.preview(page, slug, worker)
        page.get_by_role("button", name="Accept HIT").click()
        expect(page.get_by_role("button", name="Return HIT")).to_be_visible()
        return frame

    def begin(self, page: Page, worker: str) -> FrameLocator:
        """The triplets accepted, and their instructions read."""
        frame = self.accept(page, "triplet", worker)
        frame.get_by_role("link", name="Start").click()
        expect(frame.locator("[data-step].now")).to_be_visible()
        return frame

    def turns(self, slug: str, worker: str) -> list[str]:
        """The states of the worker's turns there."""
        dumped: list[dict[str, Any]] = self.emulator.dump()["hits"]
        found = next(one for one in dumped if one["hit_id"] == self.hits[slug])
        return [turn["state"] for turn in found["turns"] if turn["worker_id"] == worker]

    def approve(self, worker: str) -> None:
        """What a person in charge does."""
        self.installation.python(APPROVE.format(worker=worker))

    def sessions(self, worker: str) -> list[Session]:
        """What our side holds of the worker."""
        rows = self.installation.query(SESSIONS.format(worker=worker))
        return [self._session(*row) for row in rows]

    def _session(self, pk: int, status: str, confirmed: int) -> Session:
        pages: dict[str, Worked] = {}
        for assignment, state, seconds in self.installation.query(PAGES.format(session=pk)):
            held = pages.setdefault(assignment, Worked(state, []))
            held.seconds.extend([] if seconds is None else [seconds])
        return Session(status, bool(confirmed), list(pages.values()))
