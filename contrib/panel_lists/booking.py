"""Book a panel's list of submissions: store the statuses that the panel reports, and what the panel paid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from annotation.crowds.outbox.effects import release_unfilled, settle_session
from annotation.crowds.panel.endings import end_abandoned_sessions, end_panel_session
from annotation.models import CrowdSession, Publication, at_crowd
from annotation.money.bookings import book_unmatched_payment
from annotation.money.payments import decide_session
from contrib.panel_lists.comparison import compare_panel_list
from contrib.panel_lists.submission_list import PanelListLine
from judgments.access.study_log import note_event
from judgments.models import Study

Status = CrowdSession.Status


@dataclass(frozen=True, slots=True)
class BookingCounts:
    """How many sessions the booking of a list changed.

    Attributes:
        approved, rejected, ended: number of sessions with this new status.
        confirmed: number of sessions that a list contained for the first time.
        unmatched: number of payments of the panel without a session, or to one that is not to be paid.
    """

    approved: int = 0
    rejected: int = 0
    ended: int = 0
    confirmed: int = 0
    unmatched: int = 0

    @property
    def change_count(self) -> int:
        """The number of changes to statuses or money. Confirmations do not count."""
        return self.approved + self.rejected + self.ended + self.unmatched


@transaction.atomic
def book_list(
    *, study: Study, submissions: Sequence[PanelListLine], approve: bool = False, by: User | None = None
) -> BookingCounts:
    """Book the statuses in the panel's list. A repeated call changes nothing.

    ``compare_panel_list`` also returns sessions that the list lacks. Payments of the panel that are ``unmatched`` count
    as spent. A publication at a panel is of a whole study, and has no HIT.

    Args:
        approve: whether sessions with the verdict "pay" are also approved.
    """
    counts: Counter[str] = Counter()  # numbers of sessions by new status, or by a field of BookingCounts
    for submission in compare_panel_list(study=study, submissions=submissions):
        session, new_status = submission.session, submission.new_status
        if submission.unmatched_payment:  # the key of its ledger entry, or ""
            # There is one: the comparison refuses a study that was never opened to a panel.
            publication = at_crowd(Publication, study).filter(hit=None).order_by("-pk")[0]
            counts["unmatched"] += book_unmatched_payment(
                publication=publication, key=submission.unmatched_payment, session=session, by=by
            )
        if session is None or submission.panel_line is None:  # only in the list, or only in the database
            continue
        if new_status in (Status.APPROVED, Status.REJECTED):  # the panel has paid or rejected it already
            feedback = "The panel rejected it." if new_status == Status.REJECTED else ""
            counts[new_status] += settle_session(
                session=session, status=new_status, feedback=feedback, is_fact=True
            )
        elif new_status:
            counts["ended"] += _end_session_as_reported(session, new_status)
        elif approve and submission.verdict == "pay" and session.status == Status.SUBMITTED:
            decide_session(session=session, approve=True, by=by)
            counts[Status.APPROVED] += 1
        unconfirmed_rows = CrowdSession.objects.filter(pk=session.pk, confirmed=False)
        counts["confirmed"] += unconfirmed_rows.update(confirmed=True, seen_at=timezone.now())
    end_abandoned_sessions(study=study)
    for publication in at_crowd(Publication, study).filter(hit=None):
        release_unfilled(publication=publication)
    totals = BookingCounts(
        approved=counts[Status.APPROVED],
        rejected=counts[Status.REJECTED],
        ended=counts["ended"],
        confirmed=counts["confirmed"],
        unmatched=counts["unmatched"],
    )
    if totals.change_count:
        note_event(
            study=study,
            what="reconciled",
            sentence=f"A list of {len(submissions)} submissions was booked: {totals.approved} approved, "
            f"{totals.rejected} rejected, {totals.ended} ended"
            + (f", {totals.unmatched} paid there that do not count here." if totals.unmatched else "."),
            by=by,
        )
    return totals


def _end_session_as_reported(session: CrowdSession, status: str) -> int:
    """End a session that is running or submitted here. Return the number of sessions changed, 0 or 1."""
    if session.status == Status.WORKING:
        return int(end_panel_session(session=session, status=status, why="The panel says so."))
    return CrowdSession.objects.filter(pk=session.pk, status=Status.SUBMITTED).update(
        status=status, decided_at=timezone.now(), feedback="The panel says so."
    )
