"""The account, blocks and messages."""

from datetime import datetime

from tests.fakes.mturk.errors import ParameterValidationError, unknown_worker
from tests.fakes.mturk.ledger import dollars
from tests.fakes.mturk.operations.registry import Answer, Parameters, demand_length, operation
from tests.fakes.mturk.state import World

MOST_ADDRESSEES = 100


@operation("GetAccountBalance")
def get_account_balance(world: World, parameters: Parameters, now: datetime) -> Answer:
    """What is free to use, and what is held."""
    held = world.ledger.held
    return {
        "AvailableBalance": dollars(world.ledger.available),
        "OnHoldBalance": dollars(held) if held else None,
    }


@operation("CreateWorkerBlock")
def create_worker_block(world: World, parameters: Parameters, now: datetime) -> Answer:
    """Blocks a worker for all HITs of the requester; blocking twice is no error (?)."""
    demand_length(parameters, Reason=1000)
    worker_id = parameters["WorkerId"]
    _demand_known(world, worker_id)
    number = world.blocks[worker_id][0] if worker_id in world.blocks else world.number()
    world.blocks[worker_id] = (number, parameters["Reason"])
    return {}


@operation("DeleteWorkerBlock")
def delete_worker_block(world: World, parameters: Parameters, now: datetime) -> Answer:
    """Lifts a block; no error when there is none (D)."""
    _demand_known(world, parameters["WorkerId"])
    world.blocks.pop(parameters["WorkerId"], None)
    return {}


@operation("NotifyWorkers")
def notify_workers(world: World, parameters: Parameters, now: datetime) -> Answer:
    """Mails only those whose work the requester has judged; the others come back as failures (D)."""
    demand_length(parameters, Subject=200, MessageText=4096)
    addressees = parameters["WorkerIds"]
    if not 1 <= len(addressees) <= MOST_ADDRESSEES:
        raise ParameterValidationError(f"WorkerIds must name between 1 and {MOST_ADDRESSEES} Workers.")
    failures = []
    for worker_id in addressees:
        if worker_id in world.reviewed:
            mail = {"worker": worker_id, "subject": parameters["Subject"], "text": parameters["MessageText"]}
            world.mails.append(mail)
        else:
            failures.append(
                {
                    "NotifyWorkersFailureCode": "HardFailure",
                    "NotifyWorkersFailureMessage": "You have not reviewed any work of this Worker.",
                    "WorkerId": worker_id,
                }
            )
    return {"NotifyWorkersFailureStatuses": failures}


def _demand_known(world: World, worker_id: str) -> None:
    if worker_id not in world.workers:
        raise unknown_worker(worker_id)
