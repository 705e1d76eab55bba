"""Compare a panel's list of submissions with our sessions, and book it.

Ids are matched by pseudonym, so that this works after raw ids were deleted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from annotation.crowds.effects import release_unfilled, settle_session
from annotation.crowds.panel.ids import PanelIds, code_for, session_name
from annotation.crowds.panel.lists import Submission
from annotation.crowds.panel.people import end_session_of_panel, tidy_up
from annotation.crowds.panel.sessions import pages_handed_in, panel_sessions
from annotation.crowds.people import pseudonym
from annotation.models import CrowdSession, RawId
from annotation.money.payments import decide_session
from annotation.quality.reviews import reasons_against
from common.errors import WrongState
from judgments.design.panels import session_parameter
from judgments.models import Study
from judgments.studies.log import note_event
from judgments.studies.studies import design_of

Status = CrowdSession.Status
OVER_THERE = (Status.RETURNED, Status.TIMED_OUT)


class _Saying(Protocol):
    def __call__(self, verdict: str, reason: str, books: str = "", odd: bool = False) -> Compared: ...


@dataclass(frozen=True, slots=True)
class Compared:
    """A submission on both sides.

    Attributes:
        there: the line of the list, or None.
        here: our session, or None.
        raw: the panel's id of the person, if known.
        verdict: "pay", "paid", "no", "wait" (it is running), "only-here", "only-there".
        reason: in a sentence.
        books: the new status of our session after booking, or ''.
        odd: whether the two sides contradict each other, or the code is wrong.
    """

    there: Submission | None
    here: CrowdSession | None
    raw: str
    verdict: str
    reason: str
    books: str = ""
    odd: bool = False


@dataclass(frozen=True, slots=True)
class Booked:
    """The changes by booking a list."""

    approved: int = 0
    rejected: int = 0
    ended: int = 0
    confirmed: int = 0

    @property
    def changed(self) -> int:
        return self.approved + self.rejected + self.ended


def compare(*, study: Study, submissions: Sequence[Submission]) -> list[Compared]:
    """Compare the list's lines with our sessions, then add sessions that are not listed. Write nothing.

    Raises:
        WrongState: the study was never opened to a panel.
    """
    if not study.place or not study.publications.filter(hit=None).exists():
        raise WrongState(f"Study {study.slug!r} was never opened to a panel; there is nothing to compare.")
    rows = panel_sessions(study).select_related("worker", "study").order_by("pk")
    sessions = {one.external_id: one for one in rows}
    against = reasons_against(study, {one.worker_id for one in sessions.values()})
    code = code_for(study, design_of(study), "completed")
    by_worker = {one.worker.name for one in sessions.values()}
    with_ids = bool(session_parameter(design_of(study).panel))
    found = []
    for there in submissions:
        ids = PanelIds(worker=there.worker, session=there.session if with_ids else "")
        name = pseudonym(study.place, there.worker)
        here = sessions.get(session_name(study, ids))
        if with_ids and not there.session:  # a list of people without submissions: use their latest session
            here = next((one for one in reversed(sessions.values()) if one.worker.name == name), None)
        if here is None or here.worker.name != name:
            found.append(_only_there(there, another=name in by_worker, known_id=here is not None))
            continue
        del sessions[here.external_id]
        found.append(_both(there, here, code=code, against=against.get(here.worker_id, [])))
    kept = _raw_ids(study)
    found += [_only_here(here, kept.get(here.worker_id, "")) for here in sessions.values()]
    return found


def _raw_ids(study: Study) -> dict[int, str]:
    rows = RawId.objects.filter(worker__crowd_sessions__study=study, session=None)
    return dict(rows.values_list("worker", "value"))


def _only_there(there: Submission, *, another: bool, known_id: bool) -> Compared:
    if known_id:
        reason = "This submission came here with another person's id."
    elif another:
        reason = "The person came here, but not with this submission."
    else:
        reason = "Nobody came here with this id."
    odd = known_id or there.status in (Status.SUBMITTED, Status.APPROVED)
    return Compared(there, None, there.worker, "only-there", reason, odd=odd)


def _only_here(here: CrowdSession, raw: str) -> Compared:
    done = here.status in (Status.SUBMITTED, Status.APPROVED)
    reason = f"The list does not have it; here it is {here.get_status_display()}."
    return Compared(None, here, raw, "only-here", reason, odd=done)


def _both(there: Submission, here: CrowdSession, *, code: str, against: Sequence[str]) -> Compared:
    def said(verdict: str, reason: str, books: str = "", odd: bool = False) -> Compared:
        return Compared(there, here, there.worker, verdict, reason, books, odd)

    if here.booked == CrowdSession.Booked.SPENT:
        return _paid_here(said, there)
    if there.status == "":
        return said("wait", f"The panel says {there.said!r}, which is not understood here.", odd=True)
    if here.status in (Status.SUBMITTED, Status.REJECTED):
        return _finished_here(said, there, here, code=code, against=against)
    return _unfinished_here(said, there, here, code=code)


def _paid_here(said: _Saying, there: Submission) -> Compared:
    if there.status == Status.APPROVED:
        return said("paid", "Approved here and there.")
    if there.status == Status.SUBMITTED:
        return said("pay", "Approved here, and not there yet.")
    return said("no", f"Approved here, but the panel says {there.said!r}.", odd=True)


def _finished_here(
    said: _Saying, there: Submission, here: CrowdSession, *, code: str, against: Sequence[str]
) -> Compared:
    if there.status == Status.APPROVED:
        return said("paid", "Approved there.", books=Status.APPROVED)
    if there.status == Status.REJECTED:
        books = Status.REJECTED if here.status == Status.SUBMITTED else ""
        return said("no", "Rejected there.", books=books)
    if here.status == Status.REJECTED:
        return said("no", f"Rejected here: {here.feedback or 'no reason was noted'}")
    if there.status == Status.RETURNED:
        return said("no", "Finished here, but given back there.", books=Status.RETURNED, odd=True)
    if against:
        return said("no", "Look at the work first: " + " ".join(against))
    if there.status == Status.WORKING:
        return said(
            "wait", "Finished here; there it is under way: the person has not gone back yet.", odd=True
        )
    if there.status in (Status.TIMED_OUT, Status.SCREENED_OUT):
        return said("pay", f"Finished here; there it is {there.said!r}: pay it by hand there.", odd=True)
    if there.code.strip().lower() != (here.code or code).lower():
        given = f"the code there is {there.code!r}" if there.code else "there is no code there"
        return said("pay", f"Finished here; {given} instead of {here.code or code}.", odd=True)
    return said("pay", "Finished here and there.")


def _unfinished_here(said: _Saying, there: Submission, here: CrowdSession, *, code: str) -> Compared:
    state = here.get_status_display()
    books = there.status if here.status == Status.WORKING and there.status in OVER_THERE else ""
    why = f": {here.feedback}" if here.feedback else ""
    if there.status == Status.APPROVED:
        return said("no", f"Paid there, though it is {state} here{why}.", odd=True)
    if there.code.lower() == code.lower():
        done = pages_handed_in(here)
        wanted = design_of(here.study).panel.hits
        return said(
            "no",
            f"Has the code of finished sessions with {done} of {wanted} pages handed in here.",
            books,
            True,
        )
    if there.status == Status.SUBMITTED:
        return said("no", f"Handed in there; here it is {state}{why}.", odd=here.status == Status.WORKING)
    if there.status == Status.WORKING and here.status == Status.WORKING:
        return said("wait", "Under way here and there.")
    return said("no", f"There it is {there.said!r}, here {state}{why}.", books)


@transaction.atomic
def book_list(
    *, study: Study, submissions: Sequence[Submission], approve: bool = False, by: User | None = None
) -> Booked:
    """Book the panel's statuses. A repeated call changes nothing.

    Args:
        approve: also approve all sessions to be paid.

    Raises:
        OverBudget: an approval for which nothing is left; nothing changes.
        WrongState: as ``compare``.
    """
    counts: Counter[str] = Counter()
    for one in compare(study=study, submissions=submissions):
        if one.here is None or one.there is None:
            continue
        if one.books in (Status.APPROVED, Status.REJECTED):
            words = "The panel rejected it." if one.books == Status.REJECTED else ""
            counts[one.books] += settle_session(session=one.here, status=one.books, feedback=words)
        elif one.books:
            counts["ended"] += _end(one.here, one.books)
        elif approve and one.verdict == "pay" and one.here.status == Status.SUBMITTED:
            decide_session(session=one.here, approve=True, by=by)
            counts[Status.APPROVED] += 1
        fresh = CrowdSession.objects.filter(pk=one.here.pk, confirmed=False)
        counts["confirmed"] += fresh.update(confirmed=True, seen_at=timezone.now())
    tidy_up(study=study)
    for publication in study.publications.filter(place=study.place, hit=None):
        release_unfilled(publication=publication)
    booked = Booked(counts[Status.APPROVED], counts[Status.REJECTED], counts["ended"], counts["confirmed"])
    if booked.changed:
        note_event(
            study=study,
            what="reconciled",
            words=f"A list of {len(submissions)} submissions was booked: {booked.approved} approved, "
            f"{booked.rejected} rejected, {booked.ended} ended.",
            by=by,
        )
    return booked


def _end(session: CrowdSession, status: str) -> int:
    if session.status == Status.WORKING:
        return int(end_session_of_panel(session=session, status=status, why="The panel says so."))
    return CrowdSession.objects.filter(pk=session.pk, status=Status.SUBMITTED).update(
        status=status, decided_at=timezone.now(), feedback="The panel says so."
    )


def payment_list(study: Study, compared: Sequence[Compared]) -> list[list[object]]:
    publications = {one.pk: one for one in study.publications.all()}
    rows: list[list[object]] = [
        ["participant id", "submission id", "amount", "status there", "code there", "why"]
    ]
    for one in compared:
        if one.verdict != "pay" or one.here is None or one.there is None:
            continue
        cents = publications[one.here.publication_id].reward_cents
        amount = f"{cents // 100}.{cents % 100:02d}"
        rows.append([one.there.worker, one.there.session, amount, one.there.said, one.there.code, one.reason])
    return rows


__all__ = ["Booked", "Compared", "book_list", "compare", "payment_list"]
