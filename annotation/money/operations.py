"""The operations that pay bonuses and top-ups, and set the budget, for pages, API and commands.

``confirm`` is the digest of the preview, by which a client of the API says that it knows the cost.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.crowds import Ability
from annotation.crowds.sync.schedule import SYNC_LATER
from annotation.models import Budget, CrowdCall, CrowdSession
from annotation.money.ledger import budget_of, set_budget
from annotation.money.orders import with_confirmation
from annotation.money.parameters import BonusRequest, BudgetRequest, TopUpRequest
from annotation.money.payments import lock_for_next_bonus, pay_bonus, pay_top_ups
from annotation.money.previews import (
    approved_session,
    check_confirmed,
    figures_after_operation,
    preview_bonus,
    preview_budget,
    preview_top_ups,
)
from common.errors import WrongState
from common.rows.ids import is_row_id
from judgments.models import Study
from judgments.operations import Outcome, operation


@operation(
    "bonus",
    "Pay a bonus",
    parameters=BonusRequest,
    scope="money",
    follow_up=SYNC_LATER,
    preview=preview_bonus,
    is_order=True,
)
@with_confirmation("bonus", preview=preview_bonus)  # by a second person, if it is too expensive for one
@transaction.atomic
def bonus(
    *,
    study: Study,
    by: User | None,
    worker: str,
    cents: int,
    why: str,
    confirm: str | None = None,
    seen: str | None = None,
) -> Outcome:
    """Ask the crowd to pay a bonus. The crowd is called in the background; /api/crowd-calls/ has the result."""
    session = approved_session(study, worker)
    number = lock_for_next_bonus(session)
    current_preview = preview_bonus(study=study, worker=worker, cents=cents)
    check_confirmed(current_preview, confirm)
    if seen is not None:
        _check_no_newer_bonus(session, seen)
    call = pay_bonus(session=session, cents=cents, why=why, number=number, by=by)
    return Outcome(
        _("A bonus for %(worker)s is being paid.") % {"worker": session.worker},
        figures_after_operation(current_preview, [call]),
    )


def _check_no_newer_bonus(session: CrowdSession, seen: str) -> None:
    """Raise WrongState if a bonus was ordered after the page loaded. ``seen`` is its newest call, or "" for none."""
    last_seen_id = int(seen) if is_row_id(seen) else 0
    if CrowdCall.objects.filter(session=session, kind=Ability.BONUS, pk__gt=last_seen_id).exists():
        raise WrongState(
            _(
                "Nothing was paid: another bonus for %(worker)s was requested after you loaded this page; "
                "reload it to pay one more."
            )
            % {"worker": session.worker}
        )


@operation(
    "top-up",
    "Pay top-ups",
    parameters=TopUpRequest,
    scope="money",
    follow_up=SYNC_LATER,
    preview=preview_top_ups,
    is_order=True,
)
@with_confirmation("top-up", preview=preview_top_ups)
@transaction.atomic
def top_up(
    *, study: Study, by: User | None, why: str, worker: str = "", confirm: str | None = None
) -> Outcome:
    """Pay the top-ups of all participants or of one. The crowd is called in the background.

    Participants for whom the budget does not suffice are left out and named.
    """
    # lock before the preview, so that it cannot change until the bonuses are ordered
    approved_sessions = CrowdSession.objects.filter(study=study, status="approved").order_by("pk")
    list(approved_sessions.select_for_update(no_key=True).values_list("pk", flat=True))
    current_preview = preview_top_ups(study=study, worker=worker)
    check_confirmed(current_preview, confirm)
    calls, unpaid_workers = pay_top_ups(study=study, why=why, worker=worker, by=by)
    message = ngettext("One bonus is being paid.", "%(n)s bonuses are being paid.", len(calls))
    message %= {"n": len(calls)}
    if unpaid_workers:
        people = ", ".join(unpaid_workers)
        message += " " + _("The budget is too small for %(people)s.") % {"people": people}
    figures = figures_after_operation(current_preview, calls)
    figures["total_cents"] = sum(int(call.payload["cents"]) for call in calls)  # with fees
    figures["left_out"] = unpaid_workers
    return Outcome(message, figures)


@operation("budget", "Set the budget", parameters=BudgetRequest, scope="money", preview=preview_budget)
@transaction.atomic
def budget(
    *, study: Study, by: User | None, cents: int, why: str = "", confirm: str | None = None
) -> Outcome:
    """Set the budget. It cannot be less than spent and reserved money."""
    if study.platform:  # otherwise ``preview_budget`` refuses
        Budget.objects.select_for_update(no_key=True).get(pk=budget_of(study, study.platform).pk)
    current_preview = preview_budget(study=study, cents=cents)
    check_confirmed(current_preview, confirm)
    set_budget(study=study, platform=study.platform, cents=cents, why=why, by=by)
    return Outcome(_("The budget is changed."), figures_after_operation(current_preview, []))
