"""Compare a panel's list of submissions with the sessions, book the panel's payments, and list bonuses to upload.

Ids are matched by pseudonym, so this works even after raw ids were deleted.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.crowds import Ability, backend_of
from annotation.crowds.outbox.effects import release_unfilled, settle_session
from annotation.crowds.panel.backend import PanelIds, code_for, pages_handed_in, panel_sessions, session_name
from annotation.crowds.panel.people import end_abandoned_sessions, end_panel_session
from annotation.crowds.people import erased_people, is_session_of, pseudonym
from annotation.models import CrowdCall, CrowdSession, LedgerEntry, Publication, RawId, at_crowd
from annotation.money.bookings import pay_unmatched, unmatched_key
from annotation.money.limits import one_order
from annotation.money.payments import ask_for_bonus, decide_session
from annotation.quality.reviews import ABANDONED_STATUSES, reasons_against
from common.amounts import spell_cents, thousands
from common.errors import QuorumError, WrongState
from common.files import csv_line, guard_formula
from judgments.access.study_log import note_event
from judgments.design.panel_links import session_parameter, worker_parameter
from judgments.design.panels import PANEL_PRESETS
from judgments.design.tables.panel import Panel
from judgments.models import Study
from judgments.studies.designs import design_of

Status = CrowdSession.Status
ENDED_STATUSES = (Status.RETURNED, Status.TIMED_OUT)
MAX_ROWS = 20_000
MAX_CHARACTERS = 5_000_000
LIST_COLUMNS = ("worker", "session", "status", "code")
# The panel's word for a status, in lower case without blanks and hyphens, and the value of CrowdSession.Status.
STATUSES = {
    "approved": "approved",
    "accepted": "approved",
    "paid": "approved",
    "participated": "approved",  # SONA: participation was marked, or credit was granted ("G" in its interface)
    "creditgranted": "approved",
    "g": "approved",
    "awaitingreview": "submitted",
    "submitted": "submitted",
    "completed": "submitted",
    "complete": "submitted",
    "pending": "submitted",
    "pendingreview": "submitted",
    "pendingapproval": "submitted",
    "": "submitted",  # a list without a status names the people who came back
    "rejected": "rejected",
    "returned": "returned",
    "timedout": "timed-out",
    "expired": "timed-out",
    "screenedout": "screened-out",
    "active": "working",
    "reserved": "working",
    "inprogress": "working",
    "started": "working",
    "awaitingaction": "working",
}
# the number of a bonus for a session's pages of work; bonuses that people give have smaller numbers
PARTIAL = 900
MISSING_CODES = ("nocode", "nan", "none", "")


class ListProblem(QuorumError):
    """Raised if a list cannot be read. ``columns`` are its columns if the person has to choose one."""

    title = "The list cannot be used"

    def __init__(self, message: str, *, columns: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.columns = list(columns)


@dataclass(frozen=True, slots=True)
class PanelListLine:
    """A line of the list. ``panel_status`` is the panel's word; ``status`` is the value of ``CrowdSession.Status``."""

    line: int
    worker: str
    session: str
    status: str
    panel_status: str
    code: str

    def as_json(self) -> list[object]:
        return list(asdict(self).values())


def read_submissions(
    text: str, panel: Panel, *, columns: Mapping[str, str] | None = None
) -> list[PanelListLine]:
    """Parse a list that has a header, and cells separated by commas, semicolons or tabs.

    Args:
        columns: the column for each name of LIST_COLUMNS that cannot be found automatically.
    """
    if len(text) > MAX_CHARACTERS:
        raise ListProblem(
            _("The list has %(text)s characters; expected %(most)s at most.")
            % {"text": thousands(len(text)), "most": thousands(MAX_CHARACTERS)}
        )
    if "\x00" in text:
        raise ListProblem(_("The list holds the character U+0000, so it is not CSV."))
    lines = _lines(text.removeprefix("\ufeff"))
    _number, header = next(lines, (0, []))
    if not header:
        raise ListProblem(_("The list is empty; expected a header and a line for each submission."))
    places = _places([cell.strip() for cell in header], panel, columns or {})
    submissions: dict[tuple[str, str], PanelListLine] = {}
    for count, (number, cells) in enumerate(lines):
        if count == MAX_ROWS:
            raise ListProblem(
                _("The list has more than %(most)s lines; expected fewer.") % {"most": thousands(MAX_ROWS)}
            )
        submission = _submission(number, cells, places)
        before = submissions.setdefault((submission.worker, submission.session), submission)
        if (before.status, before.code) != (submission.status, submission.code):
            raise ListProblem(
                _(
                    "Lines %(line)s and %(line_2)s are about the same submission but differ. Expected one line "
                    "for each submission."
                )
                % {"line": before.line, "line_2": submission.line}
            )
    return list(submissions.values())


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    first = text.split("\n", 1)[0]
    separator = max((",", ";", "\t"), key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        yield from ((reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells))
    except csv.Error as error:
        raise ListProblem(
            _("Line %(line_num)s of the list is not CSV: %(error)s.")
            % {"line_num": reader.line_num, "error": error}
        ) from None


def _places(header: Sequence[str], panel: Panel, chosen: Mapping[str, str]) -> dict[str, int]:
    """Return the index of the column for each name of LIST_COLUMNS.

    Raises:
        ListProblem: no column has the participants' ids, or a chosen column is missing.
    """
    plain = [_normalise_name(name) for name in header]
    usual = PANEL_PRESETS[panel.preset].columns
    columns: dict[str, int] = {}
    for kind in LIST_COLUMNS:
        if name := chosen.get(kind, ""):
            if name not in header:
                raise ListProblem(
                    _("The list has no column %(name)r. Its columns are: %(header)s.")
                    % {"name": name[:80], "header": ", ".join(header)[:500]},
                    columns=header,
                )
            columns[kind] = header.index(name)
            continue
        names = [_normalise_name(name) for name in (*getattr(usual, kind), getattr(panel, kind, ""))]
        column = next((plain.index(name) for name in names if name and name in plain), None)
        if column is not None:
            columns[kind] = column
    if "worker" not in columns:
        raise ListProblem(
            _(
                "Choose the column that contains the participant's id. The columns of the list are: %(header)s."
            )
            % {"header": ", ".join(header)[:500]},
            columns=header,
        )
    return columns


def _normalise_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _submission(number: int, cells: Sequence[str], columns: Mapping[str, int]) -> PanelListLine:
    def cell(kind: str) -> str:
        column = columns.get(kind)
        return cells[column].strip() if column is not None and column < len(cells) else ""

    status, code = cell("status"), cell("code")
    if not cell("worker"):
        raise ListProblem(_("Line %(number)s of the list has no participant's id.") % {"number": number})
    return PanelListLine(
        line=number,
        worker=cell("worker")[:200],
        session=cell("session")[:200],
        status=STATUSES.get(_normalise_name(status), ""),
        panel_status=status[:80],
        code="" if code.lower() in MISSING_CODES else code[:80],
    )


def as_csv(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV. Cells that a spreadsheet would take for formulas are escaped."""
    return "".join(f"{csv_line(guard_formula(str(cell)) for cell in row)}\n" for row in rows)


class _Verdict(NamedTuple):
    verdict: str
    reason: str
    new_status: str = ""
    contradictory: bool = False


@dataclass(frozen=True, slots=True)
class ComparedSubmission:
    """A submission in the panel's list, in the database, or in both.

    Attributes:
        panel_line: its line in the list.
        session: its session in the database.
        panel_worker_id: the panel's id of the person, if known.
        verdict: what to do: "pay", "paid" (was paid before), "no" (pays nothing), "wait" (is still running),
            "only-here" or "only-there" (is only in the database, or only in the list).
        new_status: the session's new status after booking, or "".
        contradictory: whether line and session contradict each other, or the code is wrong.
        unmatched: the ledger key of a payment that has no session and is not booked yet, or "".
    """

    panel_line: PanelListLine | None
    session: CrowdSession | None
    panel_worker_id: str
    verdict: str
    reason: str
    new_status: str = ""
    contradictory: bool = False
    unmatched: str = ""


@dataclass(frozen=True, slots=True)
class BookingCounts:
    approved: int = 0
    rejected: int = 0
    ended: int = 0
    confirmed: int = 0
    unmatched: int = 0

    @property
    def changed(self) -> int:
        return self.approved + self.rejected + self.ended + self.unmatched


def compare_panel_list(*, study: Study, submissions: Sequence[PanelListLine]) -> list[ComparedSubmission]:
    """Compare the lines of a list with the sessions. Sessions that are not listed come last. Nothing is stored."""
    if not study.platform or not study.publications.filter(hit=None).exists():
        raise WrongState(
            _("Study %(slug)r was never opened to a panel; there is nothing to compare.")
            % {"slug": study.slug}
        )
    rows = panel_sessions(study).select_related("worker", "study").order_by("pk")
    sessions = {session.external_id: session for session in rows}
    against = reasons_against(study, {session.worker_id for session in sessions.values()})
    design = design_of(study)
    codes = {name: code_for(study, design, "completed", name) for name in sessions}
    finished = {code.lower() for code in codes.values()}
    by_worker = {session.worker.name for session in sessions.values()}
    with_ids = bool(session_parameter(design.panel))
    erased = erased_people(study)
    compared = []
    for panel_line in submissions:
        ids = PanelIds(worker=panel_line.worker, session=panel_line.session if with_ids else "")
        name = pseudonym(study.platform, panel_line.worker)
        session = sessions.get(session_name(study, ids))
        if (
            with_ids and not panel_line.session
        ):  # a list of people without submissions: use each person's latest session
            session = next(
                (session for session in reversed(sessions.values()) if is_session_of(session, name, erased)),
                None,
            )
        if session is None or not is_session_of(session, name, erased):
            compared.append(
                _compare_list_line(panel_line, another=name in by_worker, known_id=session is not None)
            )
            continue
        del sessions[session.external_id]
        reasons, code = against.get(session.worker_id, []), session.code or codes[session.external_id]
        verdict = _compare_both(panel_line, session, code=code, finished=finished, against=reasons)
        compared.append(ComparedSubmission(panel_line, session, panel_line.worker, *verdict))
    compared = _add_unmatched_payments(study, compared)
    raw_ids = _raw_ids(study)
    compared += [
        _compare_session(session, raw_ids.get(session.worker_id, "")) for session in sessions.values()
    ]
    return compared


def _add_unmatched_payments(study: Study, compared: list[ComparedSubmission]) -> list[ComparedSubmission]:
    entries = LedgerEntry.objects.filter(budget__study=study, what="unmatched")
    booked = set(entries.values_list("key", flat=True))
    return [
        replace(row, unmatched=key) if (key := _unmatched_payment(study, row)) not in booked else row
        for row in compared
    ]


def _unmatched_payment(study: Study, row: ComparedSubmission) -> str:
    panel_line = row.panel_line
    if panel_line is None or panel_line.status != Status.APPROVED or row.verdict not in ("no", "only-there"):
        return ""
    ids = PanelIds(worker=panel_line.worker, session=panel_line.session)
    submission = row.session.external_id if row.session else session_name(study, ids)
    return unmatched_key(study.platform, pseudonym(study.platform, panel_line.worker), submission)


def _raw_ids(study: Study) -> dict[int, str]:
    rows = RawId.objects.filter(worker__crowd_sessions__study=study, session=None)
    return dict(rows.values_list("worker", "value"))


def _compare_list_line(panel_line: PanelListLine, *, another: bool, known_id: bool) -> ComparedSubmission:
    if known_id:
        reason = _("In this study, this submission has the id of another participant.")
    elif another:
        reason = _("The participant took part in this study, but not with this submission.")
    else:
        reason = _("No participant of this study has this id.")
    contradictory = known_id or panel_line.status in (Status.SUBMITTED, Status.APPROVED)
    return ComparedSubmission(
        panel_line, None, panel_line.worker, "only-there", reason, contradictory=contradictory
    )


def _compare_session(session: CrowdSession, panel_worker_id: str) -> ComparedSubmission:
    done = session.status in (Status.SUBMITTED, Status.APPROVED)
    reason = _("Not in the list. Here the session is %(status)s.") % {"status": session.get_status_display()}
    return ComparedSubmission(None, session, panel_worker_id, "only-here", reason, contradictory=done)


def _compare_both(
    panel_line: PanelListLine,
    session: CrowdSession,
    *,
    code: str,
    finished: Collection[str],
    against: Sequence[str],
) -> _Verdict:
    if session.booked == CrowdSession.Booked.SPENT:
        return _compare_paid(panel_line)
    if panel_line.status == "":
        sentence = _("Quorum does not know the panel's status %(said)r.") % {"said": panel_line.panel_status}
        return _Verdict("wait", sentence, contradictory=True)
    if session.status in (Status.SUBMITTED, Status.REJECTED):
        return _compare_finished(panel_line, session, code=code, against=against)
    return _compare_unfinished(panel_line, session, finished=finished)


def _compare_paid(panel_line: PanelListLine) -> _Verdict:
    if panel_line.status == Status.APPROVED:
        return _Verdict("paid", _("Approved both here and at the panel."))
    if panel_line.status == Status.SUBMITTED:
        return _Verdict("pay", _("Approved here, not yet at the panel."))
    return _Verdict(
        "no",
        _("Approved here, but the panel says %(said)r.") % {"said": panel_line.panel_status},
        contradictory=True,
    )


def _compare_finished(
    panel_line: PanelListLine, session: CrowdSession, *, code: str, against: Sequence[str]
) -> _Verdict:
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
            contradictory=True,
        )
    if against:
        return _Verdict("no", _("Review the work first: %(reasons)s") % {"reasons": " ".join(against)})
    if panel_line.status == Status.WORKING:
        return _Verdict(
            "wait",
            _("Finished here, in progress at the panel: the participant has not returned to the panel yet."),
            contradictory=True,
        )
    if panel_line.status in (Status.TIMED_OUT, Status.SCREENED_OUT):
        return _Verdict(
            "pay",
            _("Finished here, but the panel says %(said)r. Pay this session by hand at the panel.")
            % {"said": panel_line.panel_status},
            contradictory=True,
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
            contradictory=True,
        )
    return _Verdict("pay", _("Finished both here and at the panel."))


def _compare_unfinished(
    panel_line: PanelListLine, session: CrowdSession, *, finished: Collection[str]
) -> _Verdict:
    state = session.get_status_display()
    new_status = (
        panel_line.status if session.status == Status.WORKING and panel_line.status in ENDED_STATUSES else ""
    )
    why = f": {session.feedback}" if session.feedback else ""
    if panel_line.status == Status.APPROVED:
        return _Verdict(
            "no",
            _("Paid at the panel, although the session is %(state)s here%(why)s.")
            % {"state": state, "why": why},
            contradictory=True,
        )
    if panel_line.code.lower() in finished:
        done = pages_handed_in(session)
        wanted = design_of(session.study).panel.hits
        return _Verdict(
            "no",
            _(
                "The session has the completion code, but only %(done)s of its %(wanted)s pages are submitted "
                "here."
            )
            % {"done": done, "wanted": wanted},
            new_status,
            True,
        )
    if panel_line.status == Status.SUBMITTED:
        return _Verdict(
            "no",
            _("Submitted at the panel. Here the session is %(state)s%(why)s.") % {"state": state, "why": why},
            contradictory=session.status == Status.WORKING,
        )
    if panel_line.status == Status.WORKING and session.status == Status.WORKING:
        return _Verdict("wait", _("In progress both here and at the panel."))
    return _Verdict(
        "no",
        _("The panel says %(said)r. Here the session is %(state)s%(why)s.")
        % {"said": panel_line.panel_status, "state": state, "why": why},
        new_status,
    )


@transaction.atomic
def book_list(
    *, study: Study, submissions: Sequence[PanelListLine], approve: bool = False, by: User | None = None
) -> BookingCounts:
    """Book the statuses in the panel's list. Repeating changes nothing.

    The panel's payments without a session count as spent, and are flagged.

    Args:
        approve: whether sessions with the verdict "pay" are also approved.
    """
    counts: Counter[str] = Counter()
    for row in compare_panel_list(study=study, submissions=submissions):
        if row.unmatched:
            publication = at_crowd(Publication, study).filter(hit=None).order_by("-pk")[0]
            counts["unmatched"] += pay_unmatched(
                publication=publication, key=row.unmatched, session=row.session, by=by
            )
        if row.session is None or row.panel_line is None:
            continue
        if row.new_status in (Status.APPROVED, Status.REJECTED):
            feedback = "The panel rejected it." if row.new_status == Status.REJECTED else ""
            counts[row.new_status] += settle_session(
                session=row.session, status=row.new_status, feedback=feedback, fact=True
            )
        elif row.new_status:
            counts["ended"] += _end(row.session, row.new_status)
        elif approve and row.verdict == "pay" and row.session.status == Status.SUBMITTED:
            decide_session(session=row.session, approve=True, by=by)
            counts[Status.APPROVED] += 1
        fresh = CrowdSession.objects.filter(pk=row.session.pk, confirmed=False)
        counts["confirmed"] += fresh.update(confirmed=True, seen_at=timezone.now())
    end_abandoned_sessions(study=study)
    for publication in at_crowd(Publication, study).filter(hit=None):
        release_unfilled(publication=publication)
    booked = BookingCounts(
        counts[Status.APPROVED],
        counts[Status.REJECTED],
        counts["ended"],
        counts["confirmed"],
        counts["unmatched"],
    )
    if booked.changed:
        note_event(
            study=study,
            what="reconciled",
            sentence=f"A list of {len(submissions)} submissions was booked: {booked.approved} approved, "
            f"{booked.rejected} rejected, {booked.ended} ended"
            + (f", {booked.unmatched} paid there that do not count here." if booked.unmatched else "."),
            by=by,
        )
    return booked


def _end(session: CrowdSession, status: str) -> int:
    if session.status == Status.WORKING:
        return int(end_panel_session(session=session, status=status, why="The panel says so."))
    return CrowdSession.objects.filter(pk=session.pk, status=Status.SUBMITTED).update(
        status=status, decided_at=timezone.now(), feedback="The panel says so."
    )


def payment_list(study: Study, compared: Sequence[ComparedSubmission]) -> list[list[object]]:
    publications = {publication.pk: publication for publication in study.publications.all()}
    rows: list[list[object]] = [
        ["participant id", "submission id", "amount", "status there", "code there", "why"]
    ]
    for row in compared:
        if row.verdict != "pay" or row.session is None or row.panel_line is None:
            continue
        cents = publications[row.session.publication_id].reward_cents
        amount = spell_cents(cents)
        line = row.panel_line
        rows.append([line.worker, line.session, amount, line.panel_status, line.code, row.reason])
    return rows


@dataclass(frozen=True, slots=True)
class Partial:
    """A session that ended early: the number of its submitted assignments, and their pay."""

    session: CrowdSession
    pages: int
    cents: int


def unpaid_pages(study: Study) -> list[Partial]:
    """Return incomplete sessions that have ended, with the pay due for their assignments.

    Rejected assignments, and sessions whose pages were paid before, are left out.
    """
    reward = design_of(study).crowd.reward_cents
    requested = CrowdCall.objects.filter(study=study, kind=Ability.BONUS, payload__partial=True)
    good = Q(assignments__state__in=["submitted", "approved"])
    paid_there = LedgerEntry.objects.filter(budget__study=study, what="unmatched", session__isnull=False)
    ended = panel_sessions(study).filter(status__in=ABANDONED_STATUSES)
    ended = ended.exclude(pk__in=requested.values("session")).exclude(pk__in=paid_there.values("session"))
    counted = (
        ended.annotate(n=Count("assignments", filter=good)).filter(n__gt=0).select_related("worker", "study")
    )
    return [Partial(session, session.n, session.n * reward) for session in counted.order_by("pk") if reward]


def pay_pages(*, study: Study, why: str, by: User | None = None) -> int:
    """Book a bonus for each session of ``unpaid_pages``; return their number."""
    with one_order(study, by.pk if by else None):
        partial = unpaid_pages(study)
        if not partial:
            raise WrongState(_("Nothing was paid: there are no unpaid pages of sessions that ended early."))
        for part in partial:
            call = ask_for_bonus(session=part.session, cents=part.cents, why=why, number=PARTIAL, by=by)
            CrowdCall.objects.filter(pk=call.pk).update(payload=call.payload | {"partial": True})
        total = spell_cents(sum(part.cents for part in partial), design_of(study).currency)
        message = f"Bonuses of {total} for the pages of {len(partial)} sessions."
        note_event(study=study, what="partial-pay", sentence=message, by=by)
    return len(partial)


def listed_bonuses(study: Study) -> tuple[int, int]:
    """Return the number of the last list (0 if there is none) and the number of bonuses that are in no list.

    Both are 0 at a crowd with an API, which has no lists.
    """
    if Ability.APPROVE in backend_of(study).can:
        return 0, 0
    answers = _paid_bonuses(study).values_list("answer", flat=True)
    numbers = [int(answer["list"]) for answer in answers if "list" in answer]
    return max(numbers, default=0), unlisted_bonuses(study).count()


def _paid_bonuses(study: Study) -> QuerySet[CrowdCall]:
    return CrowdCall.objects.filter(study=study, kind=Ability.BONUS, state=CrowdCall.State.DONE)


def unlisted_bonuses(study: Study) -> QuerySet[CrowdCall]:
    """Return the bonuses for the next list. It is empty at a crowd with an API; erased people are left out."""
    if Ability.APPROVE in backend_of(study).can:
        return CrowdCall.objects.none()
    return _paid_bonuses(study).filter(answer__list__isnull=True).exclude(worker__erased=True)


@transaction.atomic
def bonus_list(*, study: Study, number: int = 0, by: User | None = None) -> tuple[int, list[tuple[str, str]]]:
    """Return the number of a list and its lines. A line is the panel's id of the submission or person, and an amount.

    Each bonus is in one list only, so uploading each list once pays each bonus once. Lines of people whose id was
    deleted are left out; the other lines stay the same.

    Args:
        number: the list's number; 0 makes a new list.
    """
    if Ability.APPROVE in backend_of(study).can:
        raise WrongState(_("No list was created: Quorum reports bonuses to this crowd automatically."))
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)  # one list at a time
    last, _count = listed_bonuses(study)
    calls = _paid_bonuses(study).filter(answer__list=number) if number else unlisted_bonuses(study)
    wanted = list(calls.order_by("pk"))
    if not wanted:
        if number:
            raise WrongState(_("There is no bonus list %(number)s.") % {"number": number})
        raise WrongState(_("No list was created: every bonus is already in a list."))
    lines = _bonus_lines(study, wanted)
    if not lines:
        raise WrongState(
            _(
                "No list was created: the raw id of %(worker)s was deleted, so this participant cannot be paid."
            )
            % {"worker": wanted[0].worker}
        )
    if not number:
        number = last + 1
        for call in wanted:
            if call.pk in lines:
                CrowdCall.objects.filter(pk=call.pk).update(answer=call.answer | {"list": number})
        missing = len(wanted) - len(lines)
        left_out = f", without {missing} of people whose id was deleted" if missing else ""
        note_event(
            study=study,
            what="bonus-list",
            sentence=f"Bonus list {number} was made, with {len(lines)} lines{left_out}.",
            by=by,
        )
    return number, list(lines.values())


def _bonus_lines(study: Study, calls: list[CrowdCall]) -> dict[int, tuple[str, str]]:
    """Return the panel's id and the amount of each bonus, by the call's row id.

    Bonuses of people whose id was deleted are left out.
    """
    panel = design_of(study).panel
    by_session = PANEL_PRESETS[panel.preset].pays_by_session
    sessions = dict(
        RawId.objects.filter(session__study=study, name=session_parameter(panel)).values_list(
            "session", "value"
        )
    )
    workers = dict(
        RawId.objects.filter(
            worker__crowd_sessions__study=study, session=None, name=worker_parameter(panel)
        ).values_list("worker", "value")
    )
    lines = {}
    for call in calls:
        assert call.session_id is not None  # a bonus belongs to a session
        assert call.worker_id is not None
        raw = sessions.get(call.session_id) if by_session else None
        raw = raw or workers.get(call.worker_id)
        if raw is not None:
            lines[call.pk] = (raw, spell_cents(int(call.payload["bonus_cents"])))
    return lines
