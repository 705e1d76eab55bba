"""Record the progress of a deposit in its row, while its files are sent to an archive."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from common.errors import DataConflict
from contrib.archives.errors import PublishingError
from contrib.archives.models import Deposit
from contrib.archives.planning.plan import DepositPlan
from contrib.archives.planning.refusals import erasure_refusal
from judgments.access.study_log import note_event

State = Deposit.State


class DepositRecorder:
    """A recorder of the progress of a deposit.

    Several runs may send the same release at once. A run changes the deposit's row only if no other run has changed its
    state, or asked the archive to create a record (``asked_at``), since this run read the row.
    """

    def __init__(self, deposit: Deposit, plan: DepositPlan) -> None:
        self.deposit, self.plan = deposit, plan

    def store(self, **fields: Any) -> None:
        """Store fields of the deposit. Log that it is a draft, and that it is public, once each.

        Raises:
            DataConflict: another run has changed the deposit.
        """
        deposit = self.deposit
        state_before, asked_at = deposit.state, deposit.asked_at
        with transaction.atomic():
            rows = Deposit.objects.filter(pk=deposit.pk, state=state_before, asked_at=asked_at)
            if not rows.update(**fields):
                raise _conflict()
            for name, value in fields.items():
                setattr(deposit, name, value)
            if deposit.state == State.PUBLIC and state_before != State.PUBLIC:
                self._log("published-release", "is public")
            elif deposit.state == State.DRAFT and not self._is_logged():
                self._log("deposited-release", "is a draft")

    def check_may_send(self) -> None:
        """Check that the release may still be sent.

        Raises:
            DataConflict: another run has changed the deposit.
            PublishingError: a participant was erased meanwhile.
        """
        deposit = self.deposit
        with transaction.atomic():
            if refusal := erasure_refusal(self.plan.release):
                raise PublishingError(refusal)
            rows = Deposit.objects.filter(pk=deposit.pk, state=deposit.state, asked_at=deposit.asked_at)
            if not rows.exists():
                raise _conflict()

    def _is_logged(self) -> bool:
        events = self.deposit.release.study.events
        return events.filter(what="deposited-release", details__deposit=self.deposit.pk).exists()

    def _log(self, event: str, status: str) -> None:
        deposit, release = self.deposit, self.deposit.release
        doi = f", DOI {deposit.doi}" if deposit.doi else ""
        clearance = (
            " Its texts may be given away, by the word of who sent it."
            if self.plan.statements["cleared"]
            else ""
        )
        note_event(
            study=release.study,
            what=event,
            sentence=f"Release {release.version} {status} at {deposit.address}{doi}.{clearance}",
            version=release.version,
            deposit=deposit.pk,
            sha256=release.sha256,
            doi=deposit.doi,
        )


def _conflict() -> DataConflict:
    return DataConflict("Another run sends this release at this moment; nothing more was done by this one.")
