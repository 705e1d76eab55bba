"""The emulator as tests use it: a context with an address.

with MTurkEmulator(seed=1, clock=Clock(at=noon)) as emulator:
    client = boto3.client("mturk", endpoint_url=emulator.endpoint_url, region_name="us-east-1", …)
"""

import dataclasses
import threading
import uuid
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

from tests.fakes.mturk.clock import Clock
from tests.fakes.mturk.faults import Fault, FaultPlan
from tests.fakes.mturk.herald import Herald
from tests.fakes.mturk.server import Server
from tests.fakes.mturk.service import Call, Service
from tests.fakes.mturk.site import Site
from tests.fakes.mturk.sns import Topics
from tests.fakes.mturk.sqs import Queues
from tests.fakes.mturk.state import Worker, World
from tests.fakes.mturk.turker import Turker
from tests.fakes.mturk.web import Web

USUAL_BALANCE = 1_000_000  # cents; the sandbox says $10,000.00 (O)


class MTurkEmulator:
    """One account at one place: sandbox and live are two emulators.

    `lag_seconds` is how long a submission stays unknown to the requester's side (O ParlAI#2957).
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        clock: Clock | None = None,
        faults: Iterable[Fault] = (),
        balance_cents: int = USUAL_BALANCE,
        lag_seconds: float = 0,
        port: int = 0,
    ) -> None:
        self.clock = clock or Clock()
        self.world = World(seed=seed, clock=self.clock, balance_cents=balance_cents, lag_seconds=lag_seconds)
        self.faults = FaultPlan(faults, seed=seed)
        self.queues = Queues(self.clock, _message_id)
        self.topics = Topics(self.clock, _message_id)
        self.herald = Herald(self.queues, self.world.new_id)
        self.world.herald = self.herald
        self.service = Service(self.world, self.faults, self.queues)
        self.site = Site(self.world)
        self.web = Web(self.site, self.faults)
        self._server = Server(port, self)
        self.endpoint_url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.site.base_url = self.queues.base_url = self.topics.base_url = self.endpoint_url
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, name="mturk", daemon=True
        )
        self._turkers: list[Turker] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for turker in self._turkers:
            turker.close()
        self._server.close()
        self._thread.join()
        if self._server.failures and error is None:
            raise AssertionError("the emulator itself failed") from self._server.failures[0]

    def turker(self, worker_id: str, **about: Any) -> Turker:
        """A worker with these properties (`country`, `approved`, … see `state.Worker`), ready to work."""
        with self.world.lock:
            if about or worker_id not in self.world.workers:
                self.world.workers[worker_id] = Worker(worker_id, **about)
        turker = Turker(self.endpoint_url, worker_id)
        self._turkers.append(turker)
        return turker

    def settle(self) -> None:
        """Lets everything happen whose time has come, without a call."""
        with self.world.lock:
            self.world.settle()

    def dump(self) -> dict[str, Any]:
        """All rows: HITs, turns (returned and abandoned ones too), bonuses, blocks and mails."""
        with self.world.lock:
            self.world.settle()
            return _dump(self.world)

    def ledger(self) -> dict[str, Any]:
        """The account in cents."""
        with self.world.lock:
            self.world.settle()
            return self.world.ledger.as_json()

    def calls(self, operation: str = "") -> list[Call]:
        """The calls that arrived, all or those to one operation."""
        with self.world.lock:
            return [call for call in self.service.log if operation in {"", call.operation}]

    def done(self, operation: str) -> int:
        """How often an operation was carried out, whatever its caller heard of it."""
        return sum(call.carried_out for call in self.calls(operation))


def _message_id() -> str:
    return str(uuid.uuid4())


def _dump(world: World) -> dict[str, Any]:
    return {
        "hits": [
            {
                "hit_id": hit.hit_id,
                "hit_type_id": hit.type.hit_type_id,
                "status": hit.status,
                "annotation": hit.annotation,
                "max_assignments": hit.max_assignments,
                "expiration": hit.expiration,
                "turns": [
                    {
                        "assignment_id": turn.assignment_id,
                        "worker_id": turn.worker_id,
                        "state": turn.state,
                        "accepted": turn.accepted,
                        "submitted": turn.submitted,
                    }
                    for turn in hit.turns
                ],
            }
            for hit in world.hits.values()
        ],
        "bonuses": [dataclasses.asdict(bonus) for bonus in world.bonuses],
        "blocks": {worker_id: reason for worker_id, (_, reason) in world.blocks.items()},
        "mails": world.mails,
    }
