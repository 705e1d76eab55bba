"""List the bonuses that staff upload at a panel, and pay for the finished pages of unfinished sessions.

A panel with an API gets bonuses by outbox messages, so it needs no lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _

from annotation.crowds import Ability, backend_of
from annotation.crowds.panel.sessions import panel_sessions
from annotation.models import CrowdCall, CrowdSession, LedgerEntry, RawId
from annotation.money.limits import one_order
from annotation.money.payments import ask_for_bonus
from annotation.quality.reviews import ABANDONED_STATUSES
from common.amounts import spell_cents
from common.errors import WrongState
from common.files import csv_line, guard_formula
from judgments.access.study_log import note_event
from judgments.design.panel_links import session_parameter, worker_parameter
from judgments.design.panels import PANEL_PRESETS
from judgments.models import Study
from judgments.studies.designs import design_of

# The number of the bonus that pays for the pages of an unfinished session. Other bonuses of a session are numbered from
# 1. Since the number is part of the key of the outbox call, this bonus gets a key of its own.
UNFINISHED_SESSION_NUMBER = 900


@dataclass(frozen=True, slots=True)
class UnpaidPages:
    """A session that ended early, with the number of its submitted assignments and the pay due for them."""

    session: CrowdSession
    page_count: int
    cents: int


def unpaid_pages(study: Study) -> list[UnpaidPages]:
    """Return the sessions that ended early and have submitted assignments which are not paid yet.

    Rejected assignments do not count. Sessions whose pages were paid before, by a bonus or by the panel, are left out.
    """
    reward_cents = design_of(study).crowd.reward_cents
    if not reward_cents:
        return []
    is_submitted = Q(assignments__state__in=["submitted", "approved"])
    page_bonuses = CrowdCall.objects.filter(study=study, kind=Ability.BONUS, payload__partial=True)
    # payments in a list that the panel sent (contrib.panel_lists), although these sessions had ended early
    panel_payments = LedgerEntry.objects.filter(budget__study=study, what="unmatched", session__isnull=False)
    sessions = panel_sessions(study).filter(status__in=ABANDONED_STATUSES)
    sessions = sessions.exclude(pk__in=page_bonuses.values("session"))
    sessions = sessions.exclude(pk__in=panel_payments.values("session"))
    sessions = sessions.annotate(page_count=Count("assignments", filter=is_submitted))
    unpaid_sessions = sessions.filter(page_count__gt=0).order_by("pk").select_related("worker", "study")
    return [
        UnpaidPages(session, session.page_count, session.page_count * reward_cents)
        for session in unpaid_sessions
    ]


def pay_pages(*, study: Study, why: str, by: User | None = None) -> int:
    """Book a bonus for each session of ``unpaid_pages``; return their number."""
    with one_order(study, by.pk if by else None):  # limits apply to the sum of the bonuses
        unpaid_sessions = unpaid_pages(study)
        if not unpaid_sessions:
            raise WrongState(_("Nothing was paid: there are no unpaid pages of sessions that ended early."))
        for pages in unpaid_sessions:
            call = ask_for_bonus(
                session=pages.session, cents=pages.cents, why=why, number=UNFINISHED_SESSION_NUMBER, by=by
            )
            CrowdCall.objects.filter(pk=call.pk).update(payload=call.payload | {"partial": True})
        total = spell_cents(sum(pages.cents for pages in unpaid_sessions), design_of(study).currency)
        message = f"Bonuses of {total} for the pages of {len(unpaid_sessions)} sessions."
        note_event(study=study, what="partial-pay", sentence=message, by=by)
    return len(unpaid_sessions)


def _pays_by_list(study: Study) -> bool:
    """Return whether staff upload lists of bonuses. A crowd with an API, which can approve work, gets messages."""
    return Ability.APPROVE not in backend_of(study).can


def last_bonus_list(study: Study) -> int:
    """Return the number of the last list of bonuses; 0 if there is none."""
    if not _pays_by_list(study):
        return 0
    answers = _paid_bonuses(study).values_list("answer", flat=True)
    return max((int(answer["list"]) for answer in answers if "list" in answer), default=0)


def _paid_bonuses(study: Study) -> QuerySet[CrowdCall]:
    """Return the bonus calls that are booked as paid, listed or not; ``answer["list"]`` is the number of the list."""
    return CrowdCall.objects.filter(study=study, kind=Ability.BONUS, state=CrowdCall.State.DONE)


def unlisted_bonuses(study: Study) -> QuerySet[CrowdCall]:
    """Return the bonuses for the next list. It is empty at a crowd with an API; erased people are left out."""
    if not _pays_by_list(study):
        return CrowdCall.objects.none()
    return _paid_bonuses(study).filter(answer__list__isnull=True).exclude(worker__erased=True)


BonusLine = tuple[str, str]  # the panel's id of the submission or person, and an amount


@transaction.atomic
def make_bonus_list(*, study: Study, number: int = 0, by: User | None = None) -> tuple[int, list[BonusLine]]:
    """Make a list of the bonuses that are in no list yet, or make an earlier list again.

    Return the list's number and its lines. Each bonus is in one list only, so uploading each list once pays each bonus
    once. Lines of people whose id was deleted are left out; the other lines stay the same.

    Args:
        number: the list's number; 0 makes a new list.
    """
    if not _pays_by_list(study):
        raise WrongState(_("No list was created: Quorum reports bonuses to this crowd automatically."))
    # without this lock, two simultaneous lists would share bonuses
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    calls = _paid_bonuses(study).filter(answer__list=number) if number else unlisted_bonuses(study)
    bonus_calls = list(calls.order_by("pk"))
    if not bonus_calls:  # the number of a list that does not exist, or no new bonuses
        if number:
            raise WrongState(_("There is no bonus list %(number)s.") % {"number": number})
        raise WrongState(_("No list was created: every bonus is already in a list."))
    lines = _bonus_lines(study, bonus_calls)
    if not lines:
        raise WrongState(
            _(
                "No list was created: the raw id of %(worker)s was deleted, so this participant cannot be paid."
            )
            % {"worker": bonus_calls[0].worker}
        )
    if not number:
        number = last_bonus_list(study) + 1
        for call in bonus_calls:
            if call.pk in lines:
                CrowdCall.objects.filter(pk=call.pk).update(answer=call.answer | {"list": number})
        missing_count = len(bonus_calls) - len(lines)
        omission = f", without {missing_count} of people whose id was deleted" if missing_count else ""
        note_event(
            study=study,
            what="bonus-list",
            sentence=f"Bonus list {number} was made, with {len(lines)} lines{omission}.",
            by=by,
        )
    return number, list(lines.values())


def _bonus_lines(study: Study, calls: list[CrowdCall]) -> dict[int, BonusLine]:
    """Return the panel's id and the amount of each bonus, by the call's row id.

    Bonuses of people whose id was deleted are left out.
    """
    panel = design_of(study).panel
    pays_by_session = PANEL_PRESETS[panel.preset].pays_by_session
    session_ids = RawId.objects.filter(session__study=study, name=session_parameter(panel))
    ids_by_session = dict(session_ids.values_list("session", "value"))
    worker_ids = RawId.objects.filter(
        worker__crowd_sessions__study=study, session=None, name=worker_parameter(panel)
    )
    ids_by_worker = dict(worker_ids.values_list("worker", "value"))
    lines = {}
    for call in calls:
        assert call.session_id is not None  # a bonus belongs to a session
        assert call.worker_id is not None
        raw_id = ids_by_session.get(call.session_id) if pays_by_session else None
        raw_id = raw_id or ids_by_worker.get(call.worker_id)
        if raw_id is not None:
            lines[call.pk] = (raw_id, spell_cents(int(call.payload["bonus_cents"])))
    return lines


def as_csv(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV. Cells that a spreadsheet would take for formulas are escaped."""
    return "".join(f"{csv_line(guard_formula(str(cell)) for cell in row)}\n" for row in rows)
