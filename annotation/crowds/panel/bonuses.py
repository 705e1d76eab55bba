"""Bonuses paid by lists at the panel: pay for incomplete sessions, and the lists, with each bonus in one of them."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Q

from annotation.crowds import Ability, backend_of
from annotation.crowds.delivery import carry_out_calls
from annotation.crowds.panel.sessions import panel_sessions
from annotation.models import CrowdCall, CrowdSession, RawId
from annotation.money.ledger import spell_cents
from annotation.money.payments import ask_for_bonus
from annotation.quality.reviews import UNFINISHED
from common.errors import WrongState
from judgments.design.panels import PANEL_PRESETS, session_parameter, worker_parameter
from judgments.models import Study
from judgments.studies.log import note_event
from judgments.studies.studies import design_of

PARTIAL = 900  # number of a session's bonus for its pages, apart from those given by people


@dataclass(frozen=True, slots=True)
class Partial:
    """Assignments of a session that ended before its last one."""

    session: CrowdSession
    pages: int
    cents: int


def unpaid_pages(study: Study) -> list[Partial]:
    """Return incomplete ended sessions with what is owed for pages that are neither rejected nor paid."""
    reward = design_of(study).crowd.reward_cents
    asked = CrowdCall.objects.filter(study=study, kind=Ability.BONUS, payload__partial=True)
    good = Q(assignments__state__in=["submitted", "approved"])
    found = panel_sessions(study).filter(status__in=UNFINISHED).exclude(pk__in=asked.values("session"))
    counted = (
        found.annotate(n=Count("assignments", filter=good)).filter(n__gt=0).select_related("worker", "study")
    )
    return [Partial(one, one.n, one.n * reward) for one in counted.order_by("pk") if reward]


def pay_pages(*, study: Study, why: str, by: User | None = None) -> int:
    """Ask for a bonus for each session of ``unpaid_pages``; return their number.

    Raises:
        WrongState: there are none, the crowd pays no bonuses, or the reason is missing.
        OverBudget: the budget does not cover all; nobody is paid.
    """
    with transaction.atomic():
        partial = unpaid_pages(study)
        if not partial:
            raise WrongState("Nothing was paid: no pages of sessions that ended early wait for their pay.")
        for one in partial:
            call = ask_for_bonus(session=one.session, cents=one.cents, why=why, number=PARTIAL, by=by)
            CrowdCall.objects.filter(pk=call.pk).update(payload=call.payload | {"partial": True})
        words = f"Bonuses of {spell_cents(sum(one.cents for one in partial))} for the pages of {len(partial)} sessions."
        note_event(study=study, what="partial-pay", words=words, by=by)
    carry_out_calls(study=study)
    return len(partial)


def listed_bonuses(study: Study) -> tuple[int, int]:
    """Return the number of the last list (0 for none) and of unlisted bonuses. Crowds with an API have no lists."""
    if Ability.APPROVE in backend_of(study).can:
        return 0, 0
    done = CrowdCall.objects.filter(study=study, kind=Ability.BONUS, state=CrowdCall.State.DONE)
    numbers = [int(answer["list"]) for answer in done.values_list("answer", flat=True) if "list" in answer]
    return max(numbers, default=0), done.filter(answer__list__isnull=True).count()


@transaction.atomic
def bonus_list(*, study: Study, number: int = 0, by: User | None = None) -> tuple[int, list[tuple[str, str]]]:
    """Return a list's number and its lines: the panel's id of submission or person, and the amount.

    Each bonus is in one list only, so that uploading each list once pays each bonus once.

    Args:
        number: an existing list; 0 makes a new one.

    Raises:
        WrongState: there is no such list, nothing to list, or a raw id was deleted.
    """
    if Ability.APPROVE in backend_of(study).can:
        raise WrongState("Nothing was listed: this crowd is told of bonuses by Quorum itself.")
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)  # one list at a time
    last, _ = listed_bonuses(study)
    calls = CrowdCall.objects.filter(study=study, kind=Ability.BONUS, state=CrowdCall.State.DONE).order_by(
        "pk"
    )
    wanted = list(calls.filter(answer__list=number) if number else calls.filter(answer__list__isnull=True))
    if not wanted:
        what = f"there is no list {number}" if number else f"no bonus is left that is in none of {last} lists"
        raise WrongState(f"Nothing was listed: {what}.")
    lines = _lines(study, wanted)
    if not number:
        number = last + 1
        for call in wanted:
            CrowdCall.objects.filter(pk=call.pk).update(answer=call.answer | {"list": number})
        note_event(
            study=study,
            what="bonus-list",
            words=f"Bonus list {number} was made, with {len(lines)} lines.",
            by=by,
        )
    return number, lines


def _lines(study: Study, calls: list[CrowdCall]) -> list[tuple[str, str]]:
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
    lines = []
    for call in calls:
        assert call.session_id is not None  # a bonus belongs to a session
        assert call.worker_id is not None
        raw = sessions.get(call.session_id) if by_session else None
        raw = raw or workers.get(call.worker_id)
        if raw is None:
            raise WrongState(
                f"Nothing was listed: the raw id of {call.worker} was deleted, so that nobody can be paid by it."
            )
        cents = int(call.payload["bonus_cents"])
        lines.append((raw, f"{cents // 100}.{cents % 100:02d}"))
    return lines
