"""A client of Mechanical Turk, based on boto3. Calls are repeated only if the repetition has no second effect.

The live site is called only if ``MTURK_LIVE`` is set. boto3's own retries are off, since repeating a call
without a token would create a second HIT. This module repeats calls itself, up to four times, after random pauses.

A response (200) with a truncated body arrives as an empty dict (measured with botocore 1.44.5). So if a member (a field
of the response) is missing, the outcome is unknown.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
)
from django.conf import settings

from annotation.crowds.base import CrowdWork, RetryLater
from annotation.crowds.mturk.errors import NotFoundAtTurk, TurkRefusal, WrongStateAtTurk, exception_for

SANDBOX, LIVE = "mturk-sandbox", "mturk-live"
REGION = "us-east-1"
ENDPOINTS = {
    SANDBOX: "https://mturk-requester-sandbox.us-east-1.amazonaws.com",
    LIVE: "https://mturk-requester.us-east-1.amazonaws.com",
}
MAX_MESSAGES = 10  # number of messages per request to the queue, its maximum
MAX_RECEIVES = 100  # requests to the queue in one sync; the limit ends the sync even if messages keep coming
EVENTS = ["AssignmentSubmitted", "AssignmentReturned", "AssignmentAbandoned", "HITReviewable", "HITExpired"]
PAGE_ROWS = 100  # number of rows in one response to a list operation, the service's maximum
READ_ATTEMPTS = 5  # number of attempts of a call that may be repeated
MAX_PAUSE_SECONDS = 8.0
CONNECT_SECONDS, READ_SECONDS = 5, 30
VISITOR_SECONDS = 3  # seconds to wait for a response while a visitor waits

# boto3 clients by service, platform, address and timeout
_clients: dict[tuple[str, str, str, int], Any] = {}
_clients_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class TurkHIT:
    """A HIT at Mechanical Turk.

    Attributes:
        annotation: a text that only the requester sees.
        status: the service's status of the HIT, such as "Assignable"; "Disposed" once the HIT was deleted.
        places: number of people who may do it.
        pending_count: number of assignments in progress.
        available_count: number of places that workers can take.
        completed_count: number of approved and rejected assignments.
    """

    id: str
    type_id: str
    group_id: str
    annotation: str
    status: str
    places: int
    pending_count: int
    available_count: int
    completed_count: int
    reward_cents: int
    expires_at: datetime | None

    @property
    def is_over(self) -> bool:
        """Whether nobody works on it and nobody can accept it any more."""
        return self.status in ("Reviewable", "Reviewing", "Disposed")


@dataclass(frozen=True, slots=True)
class TurkBonus:
    """A bonus, with the service's ids of the worker and the assignment."""

    worker: str
    assignment: str
    cents: int
    reason: str


def format_dollars(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d}"


def cents_of(amount: str) -> int:
    cents = Decimal(amount) * 100
    if cents != cents.to_integral_value():
        raise ValueError(f"{amount!r} is no amount in whole cents")
    return int(cents)


def hit_of(row: Mapping[str, Any]) -> TurkHIT:
    return TurkHIT(
        id=row["HITId"],
        type_id=row.get("HITTypeId", ""),
        group_id=row.get("HITGroupId", ""),
        annotation=row.get("RequesterAnnotation") or "",
        status=row.get("HITStatus", ""),
        places=row.get("MaxAssignments", 1),
        pending_count=row.get("NumberOfAssignmentsPending", 0),
        available_count=row.get("NumberOfAssignmentsAvailable", 0),
        completed_count=row.get("NumberOfAssignmentsCompleted", 0),
        reward_cents=cents_of(row.get("Reward", "0")),
        expires_at=row.get("Expiration"),
    )


def assignment_of(row: Mapping[str, Any]) -> CrowdWork:
    return CrowdWork(
        external_id=row["AssignmentId"],
        worker=row["WorkerId"],
        status=row["AssignmentStatus"].lower(),
        receipt=row.get("Answer") or "",  # the copy of the answers that Mechanical Turk stores
        feedback=row.get("RequesterFeedback") or "",
        accepted_at=row.get("AcceptTime"),
        submitted_at=row.get("SubmitTime"),
        auto_approval_at=row.get("AutoApprovalTime"),
        decided_at=row.get("ApprovalTime") or row.get("RejectionTime"),
    )


def endpoint_of(platform: str) -> str:
    """Return the address of a platform. Raise RetryLater if the settings allow no call to it."""
    if platform == LIVE and not settings.MTURK_LIVE:
        raise RetryLater(
            "Nothing was asked of Mechanical Turk: the study is live and the setting MTURK_LIVE is off.",
            had_no_effect=True,
        )
    endpoint: str = settings.MTURK_ENDPOINT or ENDPOINTS[platform]
    host = urlsplit(endpoint).hostname
    for other_platform, address in ENDPOINTS.items():
        if other_platform != platform and host == urlsplit(address).hostname:
            raise RetryLater(
                "Nothing was asked of Mechanical Turk: AWS_ENDPOINT_URL_MTURK is the address of "
                f"{other_platform}, and the study belongs to {platform}.",
                had_no_effect=True,
            )
    return endpoint


def client_of(platform: str, *, visitor_waits: bool = False) -> TurkClient:
    """Return a client of the platform. If a visitor waits for the response, it reads once, with a short timeout."""
    seconds = VISITOR_SECONDS if visitor_waits else READ_SECONDS
    client = _boto_client("mturk", platform, endpoint_of(platform), seconds=seconds)
    return TurkClient(client, read_attempts=1 if visitor_waits else READ_ATTEMPTS)


def receive_messages(platform: str) -> Iterator[str]:
    """Yield the bodies of the messages in the queue of notifications. Delete each after the caller has used it."""
    client = _boto_client("sqs", platform, settings.SQS_ENDPOINT)
    queue = settings.MTURK_SQS_QUEUE
    try:
        for _request in range(MAX_RECEIVES):
            response = client.receive_message(
                QueueUrl=queue, MaxNumberOfMessages=MAX_MESSAGES, WaitTimeSeconds=0
            )
            messages = response.get("Messages", [])
            for message in messages:
                yield message["Body"]
                client.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
            if not messages:
                return
    except (BotoCoreError, ClientError) as error:
        raise RetryLater(f"The queue of notifications cannot be read: {error}") from None


def _boto_client(service: str, platform: str, endpoint: str, *, seconds: int = READ_SECONDS) -> Any:
    """Return the boto3 client of a service. Each is created once; boto3 sessions are not thread-safe."""
    import boto3  # takes half a second to load, and most processes never need it
    import botocore.session
    from botocore.config import Config

    key = (service, platform, endpoint, seconds)
    with _clients_lock:
        if key not in _clients:
            session = botocore.session.Session()
            session.register_component("data_loader", _description_loader())
            _clients[key] = boto3.session.Session(botocore_session=session).client(  # type: ignore[call-overload]  # boto3-stubs wants literals
                service,
                region_name=REGION,
                endpoint_url=endpoint or None,
                config=Config(
                    retries={"total_max_attempts": 1, "mode": "standard"},
                    connect_timeout=min(CONNECT_SECONDS, seconds),
                    read_timeout=seconds,
                    max_pool_connections=10,
                ),
            )
        return _clients[key]


@cache
def _description_loader() -> Any:
    """Return a loader of AWS's service descriptions. It is cached, since reading them takes a tenth of a second."""
    import botocore.session

    return botocore.session.Session().get_component("data_loader")


class TurkClient:
    """The calls that the backend uses. If a call fails, it raises ``TurkRefusal``, ``RetryLater`` or ``OutOfFunds``.

    ``mturk.errors`` has the subclasses of ``TurkRefusal``.
    Parameters such as ``hit``, ``assignment`` and ``worker`` are Mechanical Turk's ids.
    """

    def __init__(self, client: Any, *, read_attempts: int = READ_ATTEMPTS) -> None:
        self._client, self._read_attempts = client, read_attempts

    def fetch_balance_cents(self) -> int:
        return cents_of(
            self._send_repeatable_call("get_account_balance", "AvailableBalance")["AvailableBalance"]
        )

    def create_hit_type(self, properties: Mapping[str, Any]) -> str:
        """Return the id of the HIT type with these properties. Equal properties give the same id."""
        response = self._send_repeatable_call("create_hit_type", "HITTypeId", **properties)
        type_id: str = response["HITTypeId"]
        return type_id

    def set_notification(self, hit_type: str, *, transport: str, destination: str) -> None:
        """Have the service send notifications of ``EVENTS`` about the HITs of this type.

        Args:
            transport: "SNS" to notify a topic, or "SQS" to notify a queue.
            destination: the ARN of the topic, or the address of the queue.
        """
        notification = {
            "Destination": destination, "Transport": transport, "Version": "2006-05-05", "EventTypes": EVENTS,
        }  # fmt: skip
        self._send_repeatable_call(
            "update_notification_settings", HITTypeId=hit_type, Notification=notification, Active=True
        )

    def create_hit(
        self, hit_type: str, *, places: int, seconds: int, question: str, annotation: str, token: str
    ) -> TurkHIT:
        """Create a HIT. Raise ``HitAlreadyExists`` if the same token was used within the last 24 hours."""
        response = self._send_call(
            "create_hit_with_hit_type",
            "HIT",
            HITTypeId=hit_type,
            MaxAssignments=places,
            LifetimeInSeconds=seconds,
            Question=question,
            RequesterAnnotation=annotation,
            UniqueRequestToken=token,
        )
        return hit_of(response["HIT"])

    def get_hit(self, hit: str) -> TurkHIT:
        return hit_of(self._send_repeatable_call("get_hit", "HIT", HITId=hit)["HIT"])

    def list_hits(self) -> Iterator[TurkHIT]:
        return map(hit_of, self._list_all("list_hits", "HITs"))

    def add_places(self, hit: str, *, places: int, token: str) -> None:
        """Add places to a HIT. Raise ``TokenAlreadyUsed`` if the same token was used within the last 24 hours."""
        self._send_call(
            "create_additional_assignments_for_hit",
            HITId=hit,
            NumberOfAdditionalAssignments=places,
            UniqueRequestToken=token,
        )

    def set_expiration(self, hit: str, expires_at: datetime) -> None:
        """Set the time from which new workers cannot accept the HIT.

        The service refuses a time equal to the current one; this raises ``TokenAlreadyUsed`` (Dallinger#3109).
        """
        self._send_call("update_expiration_for_hit", HITId=hit, ExpireAt=expires_at)

    def delete_hit(self, hit: str) -> None:
        """Delete a HIT and its results. Raise ``WrongStateAtTurk`` unless it is over and all its work is decided."""
        self._send_call("delete_hit", HITId=hit)

    def list_assignments(self, hit: str) -> Iterator[CrowdWork]:
        """Yield the submitted work on a HIT, both decided and undecided."""
        statuses = ["Submitted", "Approved", "Rejected"]
        rows = self._list_all(
            "list_assignments_for_hit", "Assignments", HITId=hit, AssignmentStatuses=statuses
        )
        return map(assignment_of, rows)

    def get_assignment(self, assignment: str) -> CrowdWork:
        """Return an assignment. Raise ``WrongStateAtTurk`` while somebody works on it (turkserver-meteor#56)."""
        response = self._send_repeatable_call("get_assignment", "Assignment", AssignmentId=assignment)
        return assignment_of(response["Assignment"])

    def approve(self, assignment: str, *, feedback: str = "", override: bool = False) -> None:
        options = {"RequesterFeedback": feedback} if feedback else {}
        self._send_call("approve_assignment", AssignmentId=assignment, OverrideRejection=override, **options)

    def reject(self, assignment: str, *, feedback: str) -> None:
        self._send_call("reject_assignment", AssignmentId=assignment, RequesterFeedback=feedback)

    def send_bonus(self, bonus: TurkBonus, *, token: str) -> None:
        """Pay a bonus. Raise ``TokenAlreadyUsed`` if the same token was used within the last 24 hours."""
        self._send_call(
            "send_bonus",
            WorkerId=bonus.worker,
            AssignmentId=bonus.assignment,
            BonusAmount=format_dollars(bonus.cents),
            Reason=bonus.reason,
            UniqueRequestToken=token,
        )

    def list_bonuses(self, assignment: str) -> Iterator[TurkBonus]:
        for row in self._list_all("list_bonus_payments", "BonusPayments", AssignmentId=assignment):
            cents = cents_of(row["BonusAmount"])
            yield TurkBonus(row["WorkerId"], row["AssignmentId"], cents, row.get("Reason", ""))

    def block(self, worker: str, *, reason: str) -> None:
        self._send_call("create_worker_block", WorkerId=worker, Reason=reason)

    def unblock(self, worker: str, *, reason: str) -> None:
        self._send_call("delete_worker_block", WorkerId=worker, Reason=reason)

    def send_message(self, workers: Sequence[str], *, subject: str, text: str) -> dict[str, str]:
        """Send a message to workers whose work was reviewed. A repeated call sends the message again.

        Return an error message for each worker who did not get the message, by the worker's id.
        """
        response = self._send_call(
            "notify_workers",
            "NotifyWorkersFailureStatuses",
            WorkerIds=list(workers),
            Subject=subject,
            MessageText=text,
        )
        failures = response["NotifyWorkersFailureStatuses"]
        return {row["WorkerId"]: row.get("NotifyWorkersFailureMessage", "not delivered") for row in failures}

    def find_qualification(self, name: str) -> str | None:
        """Return the id of the account's qualification type with exactly this name; None if there is none."""
        rows = self._list_all(
            "list_qualification_types",
            "QualificationTypes",
            Query=name,
            MustBeRequestable=False,
            MustBeOwnedByCaller=True,
        )
        return next((row["QualificationTypeId"] for row in rows if row["Name"] == name), None)

    def create_qualification(self, properties: Mapping[str, Any]) -> str:
        response = self._send_call("create_qualification_type", "QualificationType", **properties)
        qualification: str = response["QualificationType"]["QualificationTypeId"]
        return qualification

    def qualify(self, qualification: str, worker: str, value: int) -> None:
        self._send_call(
            "associate_qualification_with_worker",
            QualificationTypeId=qualification,
            WorkerId=worker,
            IntegerValue=value,
            SendNotification=False,
        )

    def disqualify(self, qualification: str, worker: str) -> None:
        """Take a qualification away from a worker; do nothing if the worker lacks it."""
        try:
            self._send_call(
                "disassociate_qualification_from_worker", QualificationTypeId=qualification, WorkerId=worker
            )
        except (NotFoundAtTurk, WrongStateAtTurk):
            return

    def _list_all(self, operation: str, member: str, **parameters: Any) -> Iterator[dict[str, Any]]:
        """Yield the rows of all pages of a list operation. ``member`` is the field with the rows, such as "HITs"."""
        page_parameter: dict[str, str] = {}
        while True:
            response = self._send_repeatable_call(
                operation, member, MaxResults=PAGE_ROWS, **parameters, **page_parameter
            )
            yield from response[member]
            next_token = response.get("NextToken")
            if not next_token or not response[member]:  # an empty page is the end, even with a token
                return
            page_parameter = {"NextToken": next_token}

    def _send_repeatable_call(self, operation: str, *members: str, **parameters: Any) -> dict[str, Any]:
        """Send a call that has no second effect if it is repeated. Return a response that has the fields ``members``.

        While the call fails temporarily, it is repeated after growing random pauses.
        """
        rng = random.Random()
        for attempt in range(1, self._read_attempts):
            try:
                return self._send_call(operation, *members, **parameters)
            except RetryLater as problem:
                if problem.final:
                    raise
                max_pause = min(MAX_PAUSE_SECONDS, settings.CROWD_BACKOFF_SECONDS * 2.0**attempt)
                time.sleep(rng.uniform(0.0, max_pause))
        return self._send_call(operation, *members, **parameters)

    def _send_call(self, operation: str, *members: str, **parameters: Any) -> dict[str, Any]:
        """Send a call once. Return the response, which has the fields ``members``."""
        try:
            response: dict[str, Any] = getattr(self._client, operation)(**parameters)
        except ClientError as error:
            raise exception_for(operation, error.response) from None
        except ParamValidationError as error:
            raise TurkRefusal(f"Not asked of Mechanical Turk: {error}", code="ParamValidation") from None
        except (NoCredentialsError, PartialCredentialsError) as error:
            with _clients_lock:
                _clients.clear()  # a client looks for keys only once, so the next call needs a new client
            raise RetryLater(
                f"Mechanical Turk was not asked: the account's keys are not configured ({error}).",
                had_no_effect=True,
                final=True,
            ) from None
        except (EndpointConnectionError, ConnectTimeoutError) as error:
            raise RetryLater(f"Mechanical Turk cannot be reached: {error}", had_no_effect=True) from None
        except BotoCoreError as error:
            raise RetryLater(f"The answer of Mechanical Turk to {operation} was lost: {error}") from None
        missing_members = [member for member in members if member not in response]
        if missing_members:
            raise RetryLater(f"The answer of Mechanical Turk to {operation} was cut off.")
        return response
