"""Operations that the crowd page offers, carried out in the background."""

from __future__ import annotations

from annotation.crowds import Ability, backend_of
from annotation.crowds.operations import block, qualify, sync, unblock, write
from annotation.money.operations import bonus, budget, retry, top_up, was_done, was_not_done
from annotation.work.operations import extend
from judgments.admin.operations import add_operation
from judgments.models import Study


def _syncs(study: Study) -> bool:
    return bool(study.place) and Ability.LIST in backend_of(study).can


add_operation(sync, label="Compare with the crowd", offered=_syncs, primary_on={"crowd"})
add_operation(budget, name="set-budget", label="Change the budget", fields=("cents", "why"))
add_operation(extend, name="extend-crowd", label="Offer longer", fields=("hours", "why"), needed=("hours",))
add_operation(top_up, label="Pay top-ups", fields=(), beside=True)
add_operation(bonus, label="Pay the bonus", fields=("worker", "cents", "why"), hidden=("seen",))
add_operation(block, label="Block")
add_operation(unblock, label="Take the block back")
add_operation(qualify, label="Qualify")
add_operation(write, label="Send")
add_operation(retry, name="retry-call", label="Try again", fields=())
add_operation(was_done, name="call-was-done", label="It was done", fields=())
add_operation(was_not_done, name="call-was-not-done", label="It was not done", fields=())
