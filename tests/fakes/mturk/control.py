"""`/_emulator/…`: the clock, faults, money and rows, for tests in other processes and for hand use."""

import dataclasses
import json
import random
from collections.abc import Callable
from datetime import datetime
from typing import Any

from tests.fakes.mturk.faults import Fault, FaultPlan
from tests.fakes.mturk.herald import Herald
from tests.fakes.mturk.replies import Reply
from tests.fakes.mturk.service import Service
from tests.fakes.mturk.state import Worker, World

PREFIX = "/_emulator/"


class Control:
    """What the person behind the emulator may see and do."""

    def __init__(self, world: World, faults: FaultPlan, service: Service, herald: Herald) -> None:
        self.world = world
        self.faults = faults
        self.service = service
        self.herald = herald
        self._doors: dict[str, Callable[[dict[str, Any]], Any]] = {
            "clock": self._clock,
            "faults": self._faults,
            "ledger": self._ledger,
            "counts": self._counts,
            "log": self._log,
            "dump": self._dump,
            "workers": self._workers,
            "queues": self._queues,
            "subscriptions": self._subscriptions,
            "events": self._events,
        }

    def answer(self, path: str, body: bytes) -> Reply:
        """GET reads; POST with a JSON object changes first."""
        door = self._doors.get(path.removeprefix(PREFIX))
        if door is None:
            return _reply({"error": f"one of {', '.join(sorted(self._doors))}"}, 404)
        try:
            asked = json.loads(body or b"{}")
            with self.world.lock:
                told = door(asked)
                self.world.settle()
        except (KeyError, TypeError, ValueError) as error:
            return _reply({"error": f"{type(error).__name__}: {error}"}, 400)
        return _reply(told)

    def _clock(self, asked: dict[str, Any]) -> dict[str, Any]:
        """`{"freeze": true | "2026-11-20T12:00:00Z", "advance": 60, "run": true}`."""
        clock = self.world.clock
        if freeze := asked.get("freeze"):
            clock.freeze(datetime.fromisoformat(freeze) if isinstance(freeze, str) else None)
        if "advance" in asked:
            clock.advance(asked["advance"])
        if asked.get("run"):
            clock.run()
        return {"now": clock.now().isoformat(), "frozen": clock.frozen}

    def _faults(self, asked: dict[str, Any]) -> dict[str, Any]:
        """`{"faults": [{"kind": "drop_after", "share": 0.2, "operations": ["CreateHIT"]}], "seed": 1}`."""
        if "faults" in asked:
            given = [Fault(**fault) for fault in asked["faults"]]
            self.faults.replace(given, asked.get("seed"))
        return self.faults.as_json()

    def _ledger(self, asked: dict[str, Any]) -> dict[str, Any]:
        """`{"deposit": cents}`."""
        if "deposit" in asked:
            self.world.ledger.deposit(int(asked["deposit"]), self.world.clock.now())
        self.world.settle()
        return self.world.ledger.as_json()

    def _counts(self, asked: dict[str, Any]) -> dict[str, dict[str, int]]:
        told: dict[str, dict[str, int]] = {}
        for (operation, outcome), times in sorted(self.service.counts.items()):
            told.setdefault(operation, {})[outcome] = times
        return told

    def _log(self, asked: dict[str, Any]) -> list[dict[str, Any]]:
        return [dataclasses.asdict(call) for call in self.service.log]

    def _dump(self, asked: dict[str, Any]) -> dict[str, Any]:
        self.world.settle()
        return dump(self.world)

    def _workers(self, asked: dict[str, Any]) -> list[dict[str, Any]]:
        """`{"worker_id": "AWORKER", "country": "DE", "approved": 500}`."""
        if asked:
            worker = Worker(**asked)
            self.world.workers[worker.worker_id] = worker
        return [dataclasses.asdict(worker) for worker in self.world.workers.values()]

    def _queues(self, asked: dict[str, Any]) -> dict[str, str]:
        """`{"name": "events"}`."""
        return {"url": self.herald.queues.create(asked["name"])}

    def _subscriptions(self, asked: dict[str, Any]) -> list[dict[str, Any]]:
        """`{"topic_arn": …, "url": …}`."""
        if asked:
            self.herald.topics.subscribe(asked["topic_arn"], asked["url"])
        return [dataclasses.asdict(delivery) for delivery in self.herald.topics.deliveries]

    def _events(self, asked: dict[str, Any]) -> dict[str, int]:
        """`{"hold": true}`; `{"release": true, "shuffle": seed}`; `{"repeat": how many of the latest}`."""
        if asked.get("hold"):
            self.herald.hold()
        if asked.get("release"):
            self.herald.release(random.Random(asked["shuffle"]) if "shuffle" in asked else None)
        if "repeat" in asked:
            self.herald.repeat(asked["repeat"])
        return {"sent": len(self.herald.sent)}


def dump(world: World) -> dict[str, Any]:
    """All HITs, turns (returned and abandoned ones too), bonuses, blocks and mails."""
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


def _reply(told: object, status: int = 200) -> Reply:
    return Reply(status, json.dumps(told, default=_plain).encode(), "application/json")


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
