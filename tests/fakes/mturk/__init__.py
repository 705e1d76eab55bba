"""An emulator of the Amazon Mechanical Turk requester service, over HTTP.

It speaks the service's AWS JSON 1.1 protocol, so plain boto3 with `endpoint_url` works against it. Rules carry
their source: D documented by AWS, O observed in public reports, M measured with boto3, (?) a guess.

On one port of 127.0.0.1:

- `/` with X-Amz-Target: the requester's operations, and queues for boto3's sqs client;
- `/worker/hits?worker=AWORKER`: the workers' site, HTML for people and JSON for scripts (`Turker`);
- `/mturk/externalSubmit`: where forms go; `/mturk/preview?groupId=…`: the link that requesters pass on.

What it leaves out: operations that Quorum does not use, Masters' rules, previews counted as pending, and several
requesters (one emulator is one account at one place; sandbox and live are two).
"""

from tests.fakes.mturk.clock import Clock
from tests.fakes.mturk.emulator import MTurkEmulator
from tests.fakes.mturk.faults import Fault, FaultPlan, mixed
from tests.fakes.mturk.turker import Refused, Taken, Turker

__all__ = ["Clock", "Fault", "FaultPlan", "MTurkEmulator", "Refused", "Taken", "Turker", "mixed"]
