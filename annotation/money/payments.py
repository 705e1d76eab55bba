"""Decide on and pay work by outbox calls: approvals, rejections, bonuses, and top-ups to the wage floor.

An outbox call (``CrowdCall``) is a stored request to the crowd, which a background job sends. Its key is derived from
what is decided, so that it is sent once.
"""

from __future__ import annotations

from typing import NamedTuple

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.crowds import Ability, backend_of
from annotation.crowds.outbox.effects import settle_session
from annotation.crowds.outbox.messages import call_key, write_message
from annotation.models import CrowdCall, CrowdSession
from annotation.money.ledger import OverBudget
from annotation.money.limits import commit_as_one_order, one_order
from annotation.money.wages import pay_of_sessions
from common.amounts import spell_cents, with_noun
from common.errors import WrongState
from judgments.access.study_log import note_event
from judgments.models import Study
from judgments.studies.designs import design_of

Status = CrowdSession.Status
ENDED_STATES = (CrowdCall.State.DONE, CrowdCall.State.DROPPED)  # states of calls that are never sent again


@transaction.atomic
def decide_session(
    *, session: CrowdSession, approve: bool, why: str = "", by: User | None = None
) -> CrowdCall | None:
    """Approve or reject a session by an outbox call.

    Return the call. Return None if none is needed: because the session is already approved, or because the crowd does
    not support such calls, so that the decision is stored at once.

    Args:
        why: the message to the worker, required for a rejection.

    Raises:
        WrongState: the session was not submitted, or a paid session is to be rejected.
    """
    if session.status == Status.APPROVED or session.booked == CrowdSession.Booked.SPENT:
        if approve:
            return None
        raise WrongState(
            _("Nothing was changed: session %(external_id)s is approved and paid.")
            % {"external_id": session.external_id}
        )
    if session.status not in (Status.SUBMITTED, Status.REJECTED):
        raise WrongState(
            _("Nothing was changed: session %(external_id)s is %(status)s.")
            % {"external_id": session.external_id, "status": session.get_status_display()}
        )
    kind = Ability.APPROVE if approve else Ability.REJECT
    if kind not in backend_of(session.study).can:
        settle_session(
            session=session, status=Status.APPROVED if approve else Status.REJECTED, feedback=why.strip()
        )
        return None
    # Approvals and rejections are numbered separately. Another call of the same kind is needed if the last one was
    # cancelled, or had no effect because a person had decided otherwise at the crowd.
    ended_calls = CrowdCall.objects.filter(session=session, kind=kind, state__in=ENDED_STATES)
    number = ended_calls.count() + 1
    # after a rejection, callers only approve: reserve again the money that it released, and tell the crowd to override
    overrides_rejection = session.status == Status.REJECTED
    return write_message(
        study=session.study,
        kind=kind,
        key=call_key(kind, session.platform, session.worker_id, session.external_id, number),
        session=session,
        worker=session.worker,
        payload={"override": overrides_rejection},
        cents=session.publication.price_cents if overrides_rejection else 0,
        why=why.strip(),
        by=by,
    )


def lock_for_next_bonus(session: CrowdSession) -> int:
    """Lock the session against simultaneous decisions, and return the number for its next bonus."""
    CrowdSession.objects.select_for_update(no_key=True).get(pk=session.pk)
    return _next_bonus_number(session)


def _next_bonus_number(session: CrowdSession) -> int:
    return CrowdCall.objects.filter(session=session, kind=Ability.BONUS).count() + 1


@transaction.atomic
def ask_for_bonus(
    *, session: CrowdSession, cents: int, why: str, number: int = 1, by: User | None = None
) -> CrowdCall:
    """Order a bonus for a session by an outbox call.

    Args:
        cents: the bonus without the crowd's fee.
        why: the message to the worker.
        number: the number of the session's bonus. If a bonus of this number was ordered before, its call is returned.

    Raises:
        WrongState: the message is empty, or the crowd cannot pay bonuses.
        OverBudget, OverLimit, NeedsConfirmation: see ``write_message``.
    """
    if not why.strip():
        raise WrongState(_("Nothing was paid: enter a message to the participant. Each bonus needs one."))
    return write_message(
        study=session.study,
        kind=Ability.BONUS,
        key=call_key(Ability.BONUS, session.platform, session.worker_id, session.external_id, number),
        session=session,
        worker=session.worker,
        payload={"bonus_cents": cents},
        cents=cents + backend_of(session.study).bonus_fee(cents),
        why=why.strip(),
        by=by,
    )


@transaction.atomic
def pay_bonus(
    *, session: CrowdSession, cents: int, why: str, number: int = 1, by: User | None = None
) -> CrowdCall:
    """Order a bonus as ``ask_for_bonus`` does, and log it as the decision of a person."""
    call = ask_for_bonus(session=session, cents=cents, why=why, number=number, by=by)
    note_event(
        study=session.study,
        what="bonus",
        sentence=f"A bonus of {spell_cents(cents, design_of(session.study).currency)} for {session.worker.name}.",
        why=why.strip(),
        by=by,
        call=call.pk,
    )
    return call


class TopUps(NamedTuple):
    """The outbox calls of top-ups, and the workers whose top-ups the budget cannot cover."""

    calls: list[CrowdCall]
    unpaid_workers: list[str]


@commit_as_one_order
def pay_top_ups(*, study: Study, why: str, worker: str = "", by: User | None = None) -> TopUps:
    """Order a bonus for each approved session below the study's wage floor, for all people or for one.

    The top-ups of a person are either all ordered or all left out. If the budget cannot cover those of one person, it
    may still cover those of others.

    Raises:
        OverBudget: the budget does not suffice for anybody.
        WrongState: no approved work is below the wage floor, the message is empty, or the crowd cannot pay bonuses.
    """
    # lock before reading the wages, so that a concurrent request finds these bonuses
    approved_sessions = CrowdSession.objects.filter(study=study, status=Status.APPROVED).order_by("pk")
    list(approved_sessions.select_for_update(no_key=True).values_list("pk", flat=True))
    top_up_cents = {
        pay.session: pay.top_up_cents
        for pay in pay_of_sessions(study)
        if pay.top_up_cents and pay.approved and (not worker or pay.worker == worker)
    }
    if not top_up_cents:
        raise WrongState(_("Nothing was paid: no approved work is below the wage floor."))
    underpaid_sessions = CrowdSession.objects.filter(pk__in=top_up_cents).order_by("worker", "pk")
    sessions_by_worker: dict[str, list[CrowdSession]] = {}
    for session in underpaid_sessions.select_related("study", "worker"):
        sessions_by_worker.setdefault(session.worker.name, []).append(session)
    calls: list[CrowdCall] = []
    unpaid_workers: list[str] = []
    problem: OverBudget | None = None
    for name, sessions in sessions_by_worker.items():
        try:
            # The block joins the order of all top-ups, whose account counts (not None). If the budget does not suffice,
            # this rolls back the calls of this person only, and subtracts their sum from that order.
            with one_order(study, None), transaction.atomic():
                calls_of_worker = [
                    ask_for_bonus(
                        session=session,
                        cents=top_up_cents[session.pk],
                        why=why,
                        number=_next_bonus_number(session),
                        by=by,
                    )
                    for session in sessions
                ]
        except OverBudget as error:
            unpaid_workers.append(name)
            problem = error
        else:
            calls += calls_of_worker
    if not calls and problem is not None:
        raise problem
    total = spell_cents(sum(int(call.payload["bonus_cents"]) for call in calls), design_of(study).currency)
    message = f"Bonuses of {total} for {with_noun(len(calls), 'submission')} below the wage floor."
    if unpaid_workers:
        message += f" The budget does not reach for {', '.join(unpaid_workers)}."
    note_event(study=study, what="top-up", sentence=message, why=why.strip(), by=by)
    return TopUps(calls, unpaid_workers)
