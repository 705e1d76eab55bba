"""What goes back over HTTP, and what faults make of it."""

import json
from dataclasses import dataclass, field, replace

from tests.fakes.mturk.errors import Refusal, ServiceFault, ThrottlingException
from tests.fakes.mturk.faults import Fault


@dataclass(frozen=True)
class Reply:
    """An answer; `drop` closes the connection instead, `promised` is a Content-Length that is not kept."""

    status: int
    body: bytes
    content_type: str = "application/x-amz-json-1.1"
    headers: dict[str, str] = field(default_factory=dict)
    drop: bool = False
    promised: int | None = None
    delay: float = 0.0


def refusal_reply(refusal: Refusal, milliseconds: int) -> Reply:
    """An error of the service as JSON."""
    return Reply(refusal.http, json.dumps(refusal.body(milliseconds)).encode())


def struck_before(fault: Fault, milliseconds: int) -> Reply | None:
    """The reply of a call that was not carried out; None where the fault lets it be carried out."""
    match fault.kind:
        case "drop_before":
            return Reply(0, b"", drop=True)
        case "fault_before":
            return refusal_reply(_out_of_order(), milliseconds)
        case "unavailable":
            return Reply(503, b"<html><body>Service Unavailable</body></html>", "text/html")
        case "throttle":
            return refusal_reply(ThrottlingException("Rate exceeded"), milliseconds)
    return None


def struck_after(fault: Fault, reply: Reply, milliseconds: int) -> Reply:
    """What becomes of the reply to a call that was carried out."""
    half = reply.body[: len(reply.body) // 2]
    match fault.kind:
        case "drop_after":
            return Reply(0, b"", drop=True)
        case "fault_after":
            return refusal_reply(_out_of_order(), milliseconds)
        case "truncate":
            return replace(reply, body=half)
        case "cut":
            return replace(reply, body=half, promised=len(reply.body))
        case "delay":
            return replace(reply, delay=fault.seconds)
    return reply


def _out_of_order() -> ServiceFault:
    return ServiceFault("The service is unavailable. Please try your call again.", "ServiceFault")
