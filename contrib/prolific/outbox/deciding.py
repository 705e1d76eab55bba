"""Approve and reject submissions at Prolific, and pay bonuses.

Whether a submission is decided is read before it is decided. The API has no idempotency key for a bonus. Therefore,
after a lost response, Quorum only searches for the bonus, and never pays it again.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.crowds.base import Ability, CrowdProblem, CrowdRefusal, RetryLater, UnknownOutcome
from annotation.models import CrowdCall, CrowdSession
from contrib.prolific.client import MIN_REJECTION_LENGTH, ProlificClient
from contrib.prolific.outbox.subjects import panel_study_id, store_facts, submission_of
from contrib.prolific.records import SubmissionState

State = SubmissionState
# A paid bonus is listed within this time. The reference says "in the following minutes"; an hour leaves a margin.
MAX_BONUS_DELAY = timedelta(hours=1)
RECHECK_SECONDS = 60.0  # seconds until a bonus is searched for again
RETURN_SECONDS = 600.0  # seconds until a submission whose author is at work is read again
# The status of a session by the state of its submission.
SESSION_STATUS = {
    State.RESERVED: CrowdSession.Status.WORKING,
    State.ACTIVE: CrowdSession.Status.WORKING,
    State.AWAITING_REVIEW: CrowdSession.Status.SUBMITTED,
    State.PROCESSING: CrowdSession.Status.SUBMITTED,
    State.APPROVED: CrowdSession.Status.APPROVED,
    State.PARTIALLY_APPROVED: CrowdSession.Status.APPROVED,
    State.REJECTED: CrowdSession.Status.REJECTED,
    State.RETURNED: CrowdSession.Status.RETURNED,
    State.TIMED_OUT: CrowdSession.Status.TIMED_OUT,
    State.SCREENED_OUT: CrowdSession.Status.SCREENED_OUT,
    State.UNKNOWN: CrowdSession.Status.UNKNOWN,
}


def decide_submission(client: ProlificClient, call: CrowdCall) -> dict[str, Any]:
    """Approve or reject a submission, unless it is decided already. Return the decision at Prolific."""
    submission = submission_of(client, call)
    if submission.state in (State.RESERVED, State.ACTIVE, State.PROCESSING):
        raise RetryLater(
            f"Submission {submission.id} is {submission.state.value} at Prolific; it can be decided once its author is "
            "back there.",
            after=RETURN_SECONDS,
        )
    is_approval = call.kind == Ability.APPROVE
    is_undoing = is_approval and submission.state is State.REJECTED
    if is_undoing or submission.state in (State.RETURNED, State.TIMED_OUT, State.SCREENED_OUT, State.UNKNOWN):
        hint = "; undo the rejection on Prolific's page of the study" if is_undoing else ""
        raise CrowdRefusal(
            f"Submission {submission.id} is {submission.state.value} at Prolific and cannot be decided here{hint}."
        )
    if submission.state is State.AWAITING_REVIEW:
        if is_approval:
            client.approve(submission.id)
        else:
            client.reject(submission.id, message=rejection_message(call.why))
        return {"status": str(CrowdSession.Status.APPROVED if is_approval else CrowdSession.Status.REJECTED)}
    return {"status": str(SESSION_STATUS[submission.state])}


def rejection_message(why: str) -> str:
    """Return the message of a rejection, extended to the hundred characters that Prolific requires."""
    message = f"{why.strip()}\n\n" + _(
        "If you think that this is a mistake, please answer this message: a person will look at your work again."
    )
    return message.ljust(MIN_REJECTION_LENGTH, ".")


def send_bonus(client: ProlificClient, call: CrowdCall) -> dict[str, Any]:
    """Pay a bonus once: set it up, which costs nothing, store that it is about to be paid, and pay it.

    If the response is lost, later attempts only search for the bonus, since a second payment of the same set-up would
    pay twice. These facts are stored with the call: ``set_up`` (the id of the set-up), ``paying`` (when it was about to
    be paid) and ``before`` (how many equal bonuses the submission had then).
    """
    submission = submission_of(client, call)
    cents = int(call.payload["bonus_cents"])
    equal_bonus_count = list(submission.bonus_cents or ()).count(cents)
    if "paying" in call.answer:
        return _find_paid_bonus(call, equal_bonus_count)
    other_calls = CrowdCall.objects.filter(session=call.session, kind=Ability.BONUS).exclude(pk=call.pk)
    # The count of equal bonuses would not tell two payments of unknown outcome apart.
    if any("paying" in other_call.answer for other_call in other_calls.exclude(state=CrowdCall.State.DONE)):
        raise RetryLater("Another bonus of this submission is being looked for.", after=RECHECK_SECONDS)
    if "set_up" not in call.answer:
        set_up = client.set_up_bonus(panel_study_id(call), submission.id, cents)
        if set_up.total_cents > call.reserved_cents:
            raise CrowdRefusal(
                f"Nothing was paid: Prolific asks {set_up.total_cents} cents for this bonus, and "
                f"{call.reserved_cents} is reserved; set PROLIFIC_FEE_PERCENT to this account's fee with its tax."
            )
        store_facts(call, set_up=set_up.id)
    # Bonuses of the same amount that were paid may not be listed yet.
    paid_count = sum(
        int(other_call.payload.get("bonus_cents", 0)) == cents
        for other_call in other_calls.filter(state=CrowdCall.State.DONE)
    )
    set_up_id = str(call.answer["set_up"])
    store_facts(call, paying=timezone.now().isoformat(), before=max(equal_bonus_count, paid_count))
    try:
        client.pay_bonus(set_up_id)
    except CrowdProblem as problem:
        if problem.had_no_effect:
            store_facts(call, paying=None, before=None)  # None deletes the fact
        raise
    return {"bonus": set_up_id}


def _find_paid_bonus(call: CrowdCall, equal_bonus_count: int) -> dict[str, Any]:
    """Return the result of a payment whose response was lost, if Prolific now lists one more bonus of this amount.

    Raises:
        RetryLater: the bonus is not listed yet.
        UnknownOutcome: the bonus was not listed within ``MAX_BONUS_DELAY``.
    """
    if equal_bonus_count > int(call.answer["before"]):
        return {"bonus": call.answer["set_up"], "found": True}  # recorded with the call: not paid again
    asked_at = datetime.fromisoformat(call.answer["paying"])
    if timezone.now() - asked_at < MAX_BONUS_DELAY:
        raise RetryLater(
            f"Whether bonus {call.answer['set_up']} was paid is not known; it is being looked for.",
            after=RECHECK_SECONDS,
        )
    raise UnknownOutcome(
        f"Bonus {call.answer['set_up']} was asked for at {asked_at:%Y-%m-%d %H:%M} UTC, the answer was lost, and no "
        "bonus shows at Prolific. Look at the submission there, then say here whether it was paid."
    )
