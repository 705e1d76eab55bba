"""Compare a panel's list of submissions with the sessions in the database.

Each line of the list is matched with a session. The statuses of the two give a verdict: what to do with the submission.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from django.utils.translation import gettext as _

from annotation.crowds.panel.links import PanelIds
from annotation.crowds.panel.sessions import (
    completion_code_for,
    count_submitted,
    external_id_for,
    panel_sessions,
)
from annotation.crowds.people import erasure_marks, is_session_of, pseudonym
from annotation.models import CrowdSession, LedgerEntry, RawId
from annotation.money.bookings import unmatched_payment_key
from annotation.quality.reviews import find_objections
from common.errors import WrongState
from contrib.panel_lists.submission_list import PanelListLine
from judgments.design.panel_links import session_parameter
from judgments.models import Study
from judgments.studies.designs import design_of

Status = CrowdSession.Status
ENDED_STATUSES = (Status.RETURNED, Status.TIMED_OUT)


class _Verdict(NamedTuple):
    """What to do with a submission that has both a line in the list and a session.

    The fields are those of ``ComparedSubmission`` with the same names.
    """

    verdict: str
    reason: str
    new_status: str = ""
    is_contradictory: bool = False


@dataclass(frozen=True, slots=True)
class ComparedSubmission:
    """A submission in the panel's list, in the database, or in both.

    Attributes:
        panel_line: its line in the list.
        session: its session in the database.
        panel_worker_id: the panel's id of the person; "" if unknown.
        verdict: what to do: "pay", "paid" (it was paid before), "no" (do not pay), "wait" (it is still running),
            "only-here" (it is only in the database) or "only-there" (it is only in the list).
        reason: the reason of the verdict, in a sentence.
        new_status: the status that booking gives the session; "" if it stays.
        is_contradictory: whether line and session contradict each other, or the code is wrong.
        unmatched_payment: the ledger key of a payment that no session accounts for and that is not booked yet; "" if
            there is none.
    """

    panel_line: PanelListLine | None
    session: CrowdSession | None
    panel_worker_id: str
    verdict: str
    reason: str
    new_status: str = ""
    is_contradictory: bool = False
    unmatched_payment: str = ""


def compare_panel_list(*, study: Study, submissions: Sequence[PanelListLine]) -> list[ComparedSubmission]:
    """Compare the lines of a list with the study's sessions, and store nothing.

    The result has one entry per line, in the order of the list, followed by the sessions that are not in the list.
    """
    # A publication at a panel is of the whole study, and has no HIT.
    if not study.platform or not study.publications.filter(hit=None).exists():
        raise WrongState(
            _("Study %(slug)r was never opened to a panel; there is nothing to compare.")
            % {"slug": study.slug}
        )
    rows = panel_sessions(study).select_related("worker", "study").order_by("pk")
    sessions = {session.external_id: session for session in rows}
    objections = find_objections(study, {session.worker_id for session in sessions.values()})
    design = design_of(study)
    codes = {
        external_id: completion_code_for(study, design, "completed", external_id) for external_id in sessions
    }
    all_codes = {code.lower() for code in codes.values()}
    worker_names = {session.worker.name for session in sessions.values()}
    has_session_ids = bool(session_parameter(design.panel))
    marks = erasure_marks(study)  # by which erased people are recognised, whose pseudonyms are gone
    # the sessions that no line has named yet, oldest first, by external id
    unlisted_sessions = sessions.copy()
    comparisons = []
    for panel_line in submissions:
        # If the panel's links have no id of the session, it is found by the id of the person.
        ids = PanelIds(worker=panel_line.worker, session=panel_line.session if has_session_ids else "")
        name = pseudonym(study.platform, panel_line.worker)
        session = unlisted_sessions.get(external_id_for(study, ids))
        if has_session_ids and not panel_line.session:
            # the list names people without their submissions: use each person's latest session
            newest_first = reversed(unlisted_sessions.values())
            session = next((row for row in newest_first if is_session_of(row, name, marks)), None)
        if session is None or not is_session_of(session, name, marks):
            comparisons.append(
                _compare_list_line(panel_line, took_part=name in worker_names, is_taken=session is not None)
            )
            continue
        del unlisted_sessions[session.external_id]
        verdict = _compare_both(
            panel_line,
            session,
            code=session.code or codes[session.external_id],  # the code that was shown, if one was
            all_codes=all_codes,
            objections=objections.get(session.worker_id, []),
        )
        comparisons.append(ComparedSubmission(panel_line, session, panel_line.worker, **verdict._asdict()))
    comparisons = _add_unmatched_payments(study, comparisons)
    raw_ids = raw_ids_of(study)
    comparisons += [
        _compare_session(session, raw_ids.get(session.worker_id, ""))
        for session in unlisted_sessions.values()
    ]
    return comparisons


def _add_unmatched_payments(study: Study, comparisons: list[ComparedSubmission]) -> list[ComparedSubmission]:
    """Return the submissions with ``unmatched_payment`` set where such a payment is not booked yet."""
    entries = LedgerEntry.objects.filter(budget__study=study, what="unmatched")
    booked_keys = set(entries.values_list("key", flat=True))
    submissions = []
    for submission in comparisons:
        key = _unmatched_payment_key(study, submission)
        submissions.append(submission if key in booked_keys else replace(submission, unmatched_payment=key))
    return submissions


def _unmatched_payment_key(study: Study, submission: ComparedSubmission) -> str:
    """Return the ledger key of a payment at the panel that no session accounts for; "" if there is none."""
    panel_line = submission.panel_line
    if panel_line is None or panel_line.status != Status.APPROVED:
        return ""  # the panel has not paid
    if submission.verdict not in ("no", "only-there"):
        return ""  # the session accounts for the payment
    ids = PanelIds(worker=panel_line.worker, session=panel_line.session)  # the list's id tells payments apart
    external_id = submission.session.external_id if submission.session else external_id_for(study, ids)
    return unmatched_payment_key(study.platform, pseudonym(study.platform, panel_line.worker), external_id)


def raw_ids_of(study: Study) -> dict[int, str]:
    """Return the panel's ids of people whose ids were not deleted, by the worker's row id."""
    # With a session, it would be the panel's id of the submission.
    rows = RawId.objects.filter(worker__crowd_sessions__study=study, session=None)
    return dict(rows.values_list("worker", "value"))


def _compare_list_line(panel_line: PanelListLine, *, took_part: bool, is_taken: bool) -> ComparedSubmission:
    """Return the comparison for a line that has no session.

    Args:
        took_part: whether the person has a session of the study.
        is_taken: whether the submission's id belongs to the session of another person.
    """
    if is_taken:
        reason = _("In this study, this submission has the id of another participant.")
    elif took_part:
        reason = _("The participant took part in this study, but not with this submission.")
    else:
        reason = _("No participant of this study has this id.")
    is_contradictory = is_taken or panel_line.status in (Status.SUBMITTED, Status.APPROVED)
    return ComparedSubmission(
        panel_line, None, panel_line.worker, "only-there", reason, is_contradictory=is_contradictory
    )


def _compare_session(session: CrowdSession, panel_worker_id: str) -> ComparedSubmission:
    """Return the comparison for a session that is not in the list."""
    is_done = session.status in (Status.SUBMITTED, Status.APPROVED)
    reason = _("Not in the list. Here the session is %(status)s.") % {"status": session.get_status_display()}
    return ComparedSubmission(None, session, panel_worker_id, "only-here", reason, is_contradictory=is_done)


def _compare_both(
    panel_line: PanelListLine,
    session: CrowdSession,
    *,
    code: str,
    all_codes: Collection[str],
    objections: Sequence[str],
) -> _Verdict:
    """Compare a line with its session.

    Args:
        all_codes: the completion codes of all sessions, in lower case.
        objections: reasons why the session should not be paid yet.
    """
    if session.booked == CrowdSession.Booked.SPENT:  # it was approved here, or by an earlier list
        return _compare_paid(panel_line)
    if panel_line.status == "":
        sentence = _("Quorum does not know the panel's status %(said)r.") % {"said": panel_line.panel_status}
        return _Verdict("wait", sentence, is_contradictory=True)
    if session.status in (Status.SUBMITTED, Status.REJECTED):
        return _compare_finished(panel_line, session, code=code, objections=objections)
    return _compare_unfinished(panel_line, session, all_codes=all_codes)


def _compare_paid(panel_line: PanelListLine) -> _Verdict:
    """Compare a line with a session that is approved here."""
    if panel_line.status == Status.APPROVED:
        return _Verdict("paid", _("Approved both here and at the panel."))
    if panel_line.status == Status.SUBMITTED:
        return _Verdict("pay", _("Approved here, not yet at the panel."))
    return _Verdict(
        "no",
        _("Approved here, but the panel says %(said)r.") % {"said": panel_line.panel_status},
        is_contradictory=True,
    )


def _compare_finished(
    panel_line: PanelListLine, session: CrowdSession, *, code: str, objections: Sequence[str]
) -> _Verdict:
    """Compare a line with a session that is submitted or rejected here, and not paid."""
    if panel_line.status == Status.APPROVED:
        return _Verdict("paid", _("Approved at the panel."), new_status=Status.APPROVED)
    if panel_line.status == Status.REJECTED:
        new_status = Status.REJECTED if session.status == Status.SUBMITTED else ""
        return _Verdict("no", _("Rejected at the panel."), new_status=new_status)
    if session.status == Status.REJECTED:
        if session.feedback:
            return _Verdict("no", _("Rejected here: %(reason)s") % {"reason": session.feedback})
        return _Verdict("no", _("Rejected here, without a reason."))
    if panel_line.status == Status.RETURNED:
        return _Verdict(
            "no",
            _("Finished here, but returned at the panel."),
            new_status=Status.RETURNED,
            is_contradictory=True,
        )
    if objections:
        return _Verdict("no", _("Review the work first: %(reasons)s") % {"reasons": " ".join(objections)})
    if panel_line.status == Status.WORKING:
        return _Verdict(
            "wait",
            _("Finished here, in progress at the panel: the participant has not returned to the panel yet."),
            is_contradictory=True,
        )
    if panel_line.status in (Status.TIMED_OUT, Status.SCREENED_OUT):
        return _Verdict(
            "pay",
            _("Finished here, but the panel says %(said)r. Pay this session by hand at the panel.")
            % {"said": panel_line.panel_status},
            is_contradictory=True,
        )
    if panel_line.code.lower() != code.lower():
        difference = (
            _("the panel has code %(code)r") % {"code": panel_line.code}
            if panel_line.code
            else _("the panel has no code")
        )
        return _Verdict(
            "pay",
            _("Finished here, but %(given)s. The expected code is %(code)s.")
            % {"given": difference, "code": code},
            is_contradictory=True,
        )
    return _Verdict("pay", _("Finished both here and at the panel."))


def _compare_unfinished(
    panel_line: PanelListLine, session: CrowdSession, *, all_codes: Collection[str]
) -> _Verdict:
    """Compare a line with a session that is running, or that ended before its work was submitted."""
    state = session.get_status_display()
    ended_at_panel = session.status == Status.WORKING and panel_line.status in ENDED_STATUSES
    new_status = panel_line.status if ended_at_panel else ""
    why = f": {session.feedback}" if session.feedback else ""
    if panel_line.status == Status.APPROVED:
        return _Verdict(
            "no",
            _("Paid at the panel, although the session is %(state)s here%(why)s.")
            % {"state": state, "why": why},
            is_contradictory=True,
        )
    if panel_line.code.lower() in all_codes:
        return _Verdict(
            "no",
            _(
                "The session has the completion code, but not all of its pages are submitted here (%(done)s of "
                "%(wanted)s)."
            )
            % {"done": count_submitted(session), "wanted": design_of(session.study).panel.hits},
            new_status,
            is_contradictory=True,
        )
    if panel_line.status == Status.SUBMITTED:
        return _Verdict(
            "no",
            _("Submitted at the panel. Here the session is %(state)s%(why)s.") % {"state": state, "why": why},
            is_contradictory=session.status == Status.WORKING,
        )
    if panel_line.status == Status.WORKING and session.status == Status.WORKING:
        return _Verdict("wait", _("In progress both here and at the panel."))
    return _Verdict(
        "no",
        _("The panel says %(said)r. Here the session is %(state)s%(why)s.")
        % {"said": panel_line.panel_status, "state": state, "why": why},
        new_status,
    )
