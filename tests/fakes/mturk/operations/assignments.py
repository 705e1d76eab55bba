"""Assignments: read, approve, reject, bonus."""

from datetime import datetime
from typing import Any

from tests.fakes.mturk import lifecycle
from tests.fakes.mturk.errors import (
    ParameterValidationError,
    RequestError,
    does_not_exist,
    out_of_range,
    unknown_worker,
    wrong_state,
)
from tests.fakes.mturk.ledger import BASE_PERCENT, Entry, cents_of, dollars, fee_cents
from tests.fakes.mturk.operations.hits import hit_row, refuse_repeated, request_id
from tests.fakes.mturk.operations.registry import Answer, Parameters, demand_length, operation, page
from tests.fakes.mturk.state import Assignment, Bonus, World

LONGEST_FEEDBACK = 1024


def assignment_row(turn: Assignment) -> dict[str, Any]:
    """An assignment as the service shows it."""
    return {
        "AssignmentId": turn.assignment_id,
        "WorkerId": turn.worker_id,
        "HITId": turn.hit.hit_id,
        "AssignmentStatus": turn.state,
        "AutoApprovalTime": turn.auto_approval,
        "AcceptTime": turn.accepted,
        "SubmitTime": turn.submitted,
        "ApprovalTime": turn.approved,
        "RejectionTime": turn.rejected,
        "Deadline": turn.deadline,
        "Answer": turn.answer,
        "RequesterFeedback": turn.feedback,
    }


def _assignment(world: World, identifier: str) -> Assignment:
    """The latest turn of that id. Of turns that were given up nothing is left (O psiTurk#184)."""
    turn = world.assignments.get(identifier)
    if turn is None or turn.state in {"Returned", "Abandoned"}:
        raise does_not_exist("Assignment", identifier)
    return turn


@operation("ListAssignmentsForHIT")
def list_assignments_for_hit(world: World, parameters: Parameters, now: datetime) -> Answer:
    """Submitted, approved and rejected ones; in the order they came; those of a deleted HIT are gone (guide)."""
    hit = world.hit(parameters["HITId"])
    if hit.status == "Disposed":
        raise wrong_state("HIT", "Assignable, Unassignable, Reviewable, Reviewing", hit.status)
    states = parameters.get("AssignmentStatuses") or ["Submitted", "Approved", "Rejected"]
    there = (turn for turn in hit.having(*states) if turn.known(now))
    shown, told = page(parameters, there, lambda turn: turn.order)
    return told | {"Assignments": [assignment_row(turn) for turn in shown]}


@operation("GetAssignment")
def get_assignment(world: World, parameters: Parameters, now: datetime) -> Answer:
    """Work that is still running is an error (O turkserver-meteor#56, whose words these are)."""
    turn = _assignment(world, parameters["AssignmentId"])
    if turn.hit.status == "Disposed":
        raise does_not_exist("Assignment", turn.assignment_id)
    if turn.state == "Working" or not turn.known(now):
        raise wrong_state("Assignment", "Reviewable,Approved,Rejected")
    return {"Assignment": assignment_row(turn), "HIT": hit_row(world, turn.hit, now)}


@operation("ApproveAssignment")
def approve_assignment(world: World, parameters: Parameters, now: datetime) -> Answer:
    """Pays; there is no token, a second approval is an error about the state."""
    _check_feedback(parameters)
    lifecycle.approve(
        world,
        _assignment(world, parameters["AssignmentId"]),
        feedback=parameters.get("RequesterFeedback"),
        override=parameters.get("OverrideRejection", False),
        now=now,
    )
    return {}


@operation("RejectAssignment")
def reject_assignment(world: World, parameters: Parameters, now: datetime) -> Answer:
    """Pays nothing; wants a reason."""
    _check_feedback(parameters)
    if not parameters["RequesterFeedback"].strip():
        raise ParameterValidationError("RequesterFeedback is required to reject an assignment.")
    lifecycle.reject(
        world,
        _assignment(world, parameters["AssignmentId"]),
        feedback=parameters["RequesterFeedback"],
        now=now,
    )
    return {}


def _check_feedback(parameters: Parameters) -> None:
    if len(parameters.get("RequesterFeedback", "")) > LONGEST_FEEDBACK:
        raise ParameterValidationError(f"RequesterFeedback must have at most {LONGEST_FEEDBACK} characters.")


@operation("SendBonus")
def send_bonus(world: World, parameters: Parameters, now: datetime) -> Answer:
    """Money on top, with its own fee (D)."""
    token = parameters.get("UniqueRequestToken")
    refuse_repeated(world, "SendBonus", token, now)
    demand_length(parameters, Reason=2000)
    cents = cents_of(parameters["BonusAmount"], "BonusAmount")
    if not 1 <= cents <= 1_000_000:
        raise out_of_range("BonusAmount", parameters["BonusAmount"], "0.01", "10000.00")
    if parameters["WorkerId"] not in world.workers:
        raise unknown_worker(parameters["WorkerId"])
    turn = _assignment(world, parameters["AssignmentId"])
    if turn.worker_id != parameters["WorkerId"]:  # code and wording are a guess (?)
        raise RequestError(
            f"Worker {parameters['WorkerId']} did not do assignment {turn.assignment_id}.",
            "WorkerDoesNotMatchAssignment",
        )
    if turn.state == "Working" or not turn.known(now):
        raise wrong_state("Assignment", "Reviewable,Approved,Rejected")
    fee = fee_cents(cents, BASE_PERCENT)
    world.ledger.pay_available(Entry(now, "bonus", turn.assignment_id, turn.worker_id, cents, fee))
    world.bonuses.append(
        Bonus(
            number=world.number(),
            worker_id=turn.worker_id,
            assignment_id=turn.assignment_id,
            hit_id=turn.hit.hit_id,
            cents=cents,
            reason=parameters["Reason"],
            granted=now,
        )
    )
    world.tokens.remember("SendBonus", token, request_id(world), now)
    return {}


@operation("ListBonusPayments")
def list_bonus_payments(world: World, parameters: Parameters, now: datetime) -> Answer:
    """Of a HIT or of an assignment; one of the two must be named (D)."""
    hit, assignment = parameters.get("HITId"), parameters.get("AssignmentId")
    if hit is None and assignment is None:
        raise ParameterValidationError("Either the HITId or the AssignmentId must be specified.")
    there = (
        bonus
        for bonus in world.bonuses
        if hit in {None, bonus.hit_id} and assignment in {None, bonus.assignment_id}
    )
    shown, told = page(parameters, there, lambda bonus: bonus.number)
    rows = [
        {
            "WorkerId": bonus.worker_id,
            "BonusAmount": dollars(bonus.cents),
            "AssignmentId": bonus.assignment_id,
            "Reason": bonus.reason,
            "GrantTime": bonus.granted,
        }
        for bonus in shown
    ]
    return told | {"BonusPayments": rows}
