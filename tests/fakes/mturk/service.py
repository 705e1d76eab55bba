"""A call to the requester's side from its JSON to the JSON of its answer."""

import json
from collections import Counter, deque
from dataclasses import dataclass
from typing import Any

from tests.fakes.mturk.errors import AccessDenied, ParameterValidationError, Refusal, UnknownOperation
from tests.fakes.mturk.faults import Fault, FaultPlan
from tests.fakes.mturk.operations import OPERATIONS
from tests.fakes.mturk.replies import Reply, refusal_reply, struck_after, struck_before
from tests.fakes.mturk.shapes import decode, encode, operation_model
from tests.fakes.mturk.sqs import Queues, SQSRefusal
from tests.fakes.mturk.state import World

TARGET = "MTurkRequesterServiceV20170117"  # botocore's model, targetPrefix
SQS_TARGET = "AmazonSQS"
REGION = "us-east-1"  # the only one (D)
SIGNING_NAME = "mturk-requester"
LOG_LENGTH = 100_000


@dataclass(frozen=True)
class Call:
    """A call that arrived, and what became of it: done, refused, or the fault that struck."""

    operation: str
    parameters: dict[str, Any]
    outcome: str
    error: str = ""
    carried_out: bool = False


class Service:
    """Dispatches calls, lets faults strike, and keeps a log of both."""

    def __init__(self, world: World, faults: FaultPlan, queues: Queues) -> None:
        self.world = world
        self.faults = faults
        self.queues = queues
        self.log: deque[Call] = deque(maxlen=LOG_LENGTH)
        self.counts: Counter[tuple[str, str]] = Counter()

    def call(self, target: str, body: bytes, authorization: str) -> Reply:
        """One POST with an X-Amz-Target."""
        prefix, _, operation = target.partition(".")
        if prefix == SQS_TARGET:
            return self._call_queues(operation, body)
        now = self.world.clock.now()
        milliseconds = int(now.timestamp() * 1000)
        fault = self.faults.strike(operation)
        if fault is not None and (reply := struck_before(fault, milliseconds)) is not None:
            self._note(Call(operation, {}, fault.kind))
            return reply
        reply = self._carry_out(prefix, operation, body, authorization, fault)
        return reply if fault is None else struck_after(fault, reply, milliseconds)

    def _carry_out(
        self, prefix: str, operation: str, body: bytes, authorization: str, fault: Fault | None
    ) -> Reply:
        struck = fault.kind if fault is not None else ""
        parameters: dict[str, Any] = {}
        with self.world.lock:
            now = self.world.settle()
            try:
                _check_signature(authorization)
                model = operation_model("mturk", operation) if prefix == TARGET else None
                handler = OPERATIONS.get(operation)
                if model is None or handler is None:
                    raise UnknownOperation(f"{prefix}.{operation} is no operation of this service.")
                parameters = decode(model.input_shape, _json(body))
                answer = encode(model.output_shape, handler(self.world, parameters, now))
            except Refusal as refusal:
                reply = refusal_reply(refusal, int(now.timestamp() * 1000))
                self._note(Call(operation, parameters, struck or "refused", refusal.code or refusal.kind))
            else:
                reply = Reply(200, json.dumps(answer).encode())
                self._note(Call(operation, parameters, struck or "done", carried_out=True))
        return reply

    def _call_queues(self, operation: str, body: bytes) -> Reply:
        json_type = "application/x-amz-json-1.0"
        model = operation_model("sqs", operation)
        with self.world.lock:
            self.world.settle()  # what time has done may be news for a queue
        try:
            if model is None:
                raise SQSRefusal("UnsupportedOperation", f"{operation} is no operation of SQS")
            parameters = decode(model.input_shape, _json(body))
            answer = encode(model.output_shape, self.queues.call(operation, parameters))
        except SQSRefusal as refusal:
            told = {"__type": f"com.amazonaws.sqs#{refusal.kind}", "message": refusal.message}
            return Reply(400, json.dumps(told).encode(), json_type)
        except Refusal as refusal:
            told = {"__type": "com.amazonaws.sqs#InvalidParameterValue", "message": refusal.message}
            return Reply(400, json.dumps(told).encode(), json_type)
        return Reply(200, json.dumps(answer).encode(), json_type)

    def _note(self, call: Call) -> None:
        with self.world.lock:
            self.log.append(call)
            self.counts[call.operation, call.outcome] += 1


def _json(body: bytes) -> dict[str, Any]:
    try:
        decoded = json.loads(body or b"{}")
    except ValueError as error:
        raise ParameterValidationError("The body is no JSON.") from error
    if not isinstance(decoded, dict):
        raise ParameterValidationError("The body is no JSON object.")
    return decoded


def _check_signature(authorization: str) -> None:
    """Calls must be signed for this service in its only region; the signature itself is not looked at."""
    scope = f"/{REGION}/{SIGNING_NAME}/aws4_request"
    if not authorization.startswith("AWS4-HMAC-SHA256 ") or scope not in authorization:
        raise AccessDenied(f"Credential should be scoped to {scope}.")
