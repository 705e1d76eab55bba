"""A study at the emulated Prolific, and the people who come from there: helpers of the tests."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.utils import timezone
from pytest_django import Settings

from annotation.crowds.base import Ability
from annotation.crowds.outbox.delivery import DeliveryResult, carry_out_calls
from annotation.crowds.panel.sessions import completion_code_for
from annotation.crowds.people import session_pseudonym
from annotation.crowds.sessions import open_session, worker_for_crowd_id
from annotation.models import Budget, CrowdCall, CrowdSession, Publication, RawId
from annotation.money.ledger import ledger_sums, reserved_cents
from annotation.work.joining import join_from_crowd
from contrib.prolific.tests.emulator import Fault, ProlificEmulator
from judgments.models import Dataset, Study
from judgments.studies.designs import design_of
from tests.annotation.casting import make_dataset, make_study

REWARD = 150  # with the fee of 33.3 % exactly 200, so that the sums here and at Prolific agree
PRICE = REWARD + 50
PLACES = 8  # four HITs for two people each
# a fault of each kind that the client tells apart (contrib/prolific/tests/test_client.py)
LOST = [Fault.DROP_BEFORE, Fault.DROP_AFTER, Fault.CUT_SHORT, Fault.THROTTLE]


def point_at(prolific: ProlificEmulator, settings: Settings) -> None:
    """Set the settings of an installation that uses the emulator."""
    settings.PROLIFIC_API_URL = prolific.url
    settings.PROLIFIC_TOKEN = prolific.token
    settings.PROLIFIC_WORKSPACE = "w1"
    settings.PROLIFIC_PROJECT = ""
    settings.PUBLIC_URL = "https://quorum.example"
    settings.CROWD_BACKOFF_SECONDS = 0.0


def panel_study(
    *,
    budget_cents: int = 10_000,
    panel: dict[str, Any] | None = None,
    workers: dict[str, Any] | None = None,
    slug: str = "shapes-there",
    **crowd: Any,
) -> Study:
    """Return a generated study that is not open. It has four HITs for two people each: eight places of one HIT."""
    return make_study(
        Dataset.objects.first() or make_dataset(pictures=False),
        opened=False,
        slug=slug,
        crowd={"backend": "external", "reward_cents": REWARD, "budget_cents": budget_cents, **crowd},
        panel={"preset": "prolific", "api": True, **(panel or {})},
        workers=workers or {},
    )


@dataclass
class Panel:
    """A study that is published at the emulator, as the tests see both sides.

    ``came`` has the submission of each participant who arrived.
    """

    study: Study
    prolific: ProlificEmulator
    came: dict[str, str] = field(default_factory=dict)

    @property
    def publication(self) -> Publication:
        """The study's only publication."""
        return Publication.objects.get(study=self.study)

    def code(self, outcome: str = "completed") -> str:
        """Return the completion code for an outcome."""
        return completion_code_for(self.study, design_of(self.study), outcome)

    def arrive(self, participant: str) -> CrowdSession:
        """Let a participant take a place at Prolific and arrive here. Return the session."""
        submission, address = self.prolific.enter(self.publication.external_id, participant)
        assert address.startswith(
            f"https://quorum.example/s/{self.study.slug}/panel/?PROLIFIC_PID={participant}&"
        )
        worker = worker_for_crowd_id(study=self.study, crowd_id=participant, id_name="PROLIFIC_PID")
        join_from_crowd(study=self.study, worker=worker, consent=True)
        name = session_pseudonym(self.study.platform, submission)
        session = open_session(publication=self.publication, worker=worker, external_id=name)
        RawId.objects.create(worker=worker, session=session, name="SESSION_ID", value=submission)
        self.came[participant] = submission
        return session

    def finish(self, participant: str, outcome: str = "completed") -> CrowdSession:
        """Let a participant arrive, finish, and return to Prolific with the code. Return the session."""
        session = self.arrive(participant)
        CrowdSession.objects.filter(pk=session.pk).update(status=CrowdSession.Status.SUBMITTED)
        self.prolific.come_back(self.came[participant], self.code(outcome))
        session.refresh_from_db()
        return session

    def there(self, participant: str) -> str:
        """Return the state of a participant's submission at Prolific."""
        return self.prolific.world.submissions[self.came[participant]].status

    def books(self) -> tuple[int, int]:
        """Return the reserved and the spent cents here, after comparing the budget with the ledger and the rows."""
        budget = Budget.objects.get(study=self.study, platform="prolific")
        assert ledger_sums(budget) == (budget.reserved_cents, budget.spent_cents)
        assert reserved_cents(budget) == budget.reserved_cents
        return budget.reserved_cents, budget.spent_cents

    def books_there(self) -> tuple[int, int]:
        """Return the reserved and the spent cents at Prolific."""
        return self.prolific.world.held_cents(), self.prolific.world.spent_cents


def go_on(study: Study) -> DeliveryResult:
    """Send waiting messages as a later run does: all of them are due, and an interrupted runner counts as dead."""
    now = timezone.now()
    CrowdCall.objects.filter(study=study).update(next_at=now)
    CrowdCall.objects.filter(study=study, state="started").update(started_at=now - timedelta(hours=1))
    return carry_out_calls(study=study, wait=lambda seconds: None)


def only_call(panel: Panel, kind: Ability) -> CrowdCall:
    return CrowdCall.objects.get(study=panel.study, kind=kind)
