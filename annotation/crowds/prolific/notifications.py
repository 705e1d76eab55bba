"""What Prolific tells of studies and people: its webhooks, and demographics on request, limited to those of the design.

Form: docs.prolific.com, "Webhooks". Events are delivered at least once and in any order, so they are only hints to
look.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef

from annotation.crowds import backend_of
from annotation.crowds.base import CrowdProblem
from annotation.crowds.people import pseudonym, session_pseudonym
from annotation.crowds.prolific.client import open_client
from annotation.models import CrowdSession, Demographics, Publication, RawId, at_crowd
from common.errors import QuorumError, WrongState
from common.files import can_be_stored
from common.incoming import load_json
from judgments.access.roles import note_event
from judgments.models import Study
from judgments.studies.studies import design_of

PATH = "/hooks/prolific/"
SUBMISSION, STUDY = "submission.status.change", "study.status.change"
EVENTS = (SUBMISSION, STUDY)
OLDEST = timedelta(minutes=10)  # each delivery is signed anew; clocks differ
MOST_BYTES = 100_000


class HookUnreadable(QuorumError):
    pass


class HookForged(QuorumError):
    """Not signed with the workspace's secret, or signed too long ago."""

    status = 403


def studies_with_news(body: bytes, *, signature: str, timestamp: str, now: datetime) -> list[str]:
    """Return Prolific's ids of the studies that a webhook is about; none for people who never came here."""
    if len(body) > MOST_BYTES:
        raise HookUnreadable(f"The notification has {len(body):,} bytes; expected {MOST_BYTES:,} at most.")
    _check_signature(body, signature, timestamp, now)
    try:
        event = load_json(body)
        kind, resource = str(event["event_type"]), str(event["resource_id"])
        if not can_be_stored(resource):
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise HookUnreadable("The notification is no JSON object with event_type and resource_id.") from None
    if kind == STUDY:
        return [resource]
    if kind != SUBMISSION:
        return []
    sessions = CrowdSession.objects.filter(
        platform="prolific", external_id=session_pseudonym("prolific", resource)
    )
    return list(sessions.values_list("publication__external_id", flat=True))


def _check_signature(body: bytes, signature: str, timestamp: str, now: datetime) -> None:
    wanted = hmac.new(settings.PROLIFIC_HOOK_SECRET.encode(), timestamp.encode() + body, hashlib.sha256)
    if not hmac.compare_digest(base64.b64encode(wanted.digest()), signature.encode()):
        raise HookForged("The notification is not signed with PROLIFIC_HOOK_SECRET.")
    try:
        sent = datetime.fromtimestamp(float(timestamp), UTC)
    except (ValueError, OverflowError, OSError):
        raise HookForged(f"The notification's time {timestamp[:40]!r} is none.") from None
    if abs(now - sent) > OLDEST:
        raise HookForged(
            f"The notification was sent at {sent:%Y-%m-%d %H:%M} UTC; expected less than ten minutes from now."
        )


def subscribe() -> tuple[str, list[str]]:
    """Subscribe this server to the workspace's events; return the secret and the new events.

    An existing secret is kept: another one would silence other subscriptions.
    """
    workspace, address = str(settings.PROLIFIC_WORKSPACE), f"{settings.PUBLIC_URL}{PATH}"
    if not workspace:
        raise WrongState("Nothing was subscribed to: webhooks belong to a workspace; set PROLIFIC_WORKSPACE.")
    if urlsplit(address).scheme != "https":
        raise WrongState(
            f"Nothing was subscribed to: PUBLIC_URL is {settings.PUBLIC_URL!r}; Prolific calls https alone."
        )
    with open_client() as client:
        secret = client.hook_secret(workspace) or client.create_hook_secret(workspace)
        there = {hook.event for hook in client.hooks(workspace) if hook.address == address}
        new = [event for event in EVENTS if event not in there]
        for event in new:
            client.subscribe(workspace, event=event, address=address)
    return secret, new


# The reference names the data ("Export demographic data"), not the columns; these are those of published exports too.
PARTICIPANT_COLUMNS, SUBMISSION_COLUMNS = ("participant id",), ("submission id",)
COLUMNS: dict[str, tuple[str, ...]] = {
    "age": ("age",),
    "sex": ("sex",),
    "ethnicity": ("ethnicity simplified", "ethnicity (simplified)", "ethnicity"),
    "first-language": ("first language", "language"),
    "country": ("current country of residence", "country of residence"),
    "nationality": ("nationality",),
    "country-of-birth": ("country of birth",),
    "student": ("student status",),
    "employment": ("employment status",),
}
NOT_SAID = {"", "DATA_EXPIRED", "CONSENT_REVOKED"}
Row = Mapping[str, str]


def fetch_demographics(*, study: Study, by: User | None = None) -> int:
    """Store the demographics of people whose work was submitted here; return their number.

    Data that Prolific no longer has of a person are deleted here too. A person missing in its answer stays as before.
    People whose raw ids were deleted are left out.
    """
    wanted = design_of(study).crowd.demographics
    if not wanted:
        raise WrongState(
            f"Nothing was fetched: the design of study {study.slug!r} names no crowd.demographics."
        )
    there = at_crowd(Publication, study).exclude(external_id="")
    rows: list[Row] = []
    try:
        with open_client() as client:
            for publication in there:
                rows += client.demographics(publication.external_id)
    except CrowdProblem as problem:
        raise WrongState(f"Nothing was fetched. {problem}") from problem
    return _store(study, rows, wanted, by)


@transaction.atomic
def _store(study: Study, rows: list[Row], wanted: tuple[str, ...], by: User | None) -> int:
    backend = backend_of(study)
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)  # raw ids may be deleted at this moment
    known = RawId.objects.filter(worker=OuterRef("worker"), session=None)
    sessions = CrowdSession.objects.filter(Exists(known), study=study, submitted_at__isnull=False)
    sessions = sessions.select_related("worker")
    here = {(session.external_id, session.worker.name): session.worker_id for session in sessions}
    answers_by_worker: dict[int, dict[str, str]] = {}
    for row in rows:
        ids = (
            backend.session_id(study.platform, _cell(row, SUBMISSION_COLUMNS)),
            pseudonym(study.platform, _cell(row, PARTICIPANT_COLUMNS)),
        )
        if ids in here:
            described = {name: _cell(row, COLUMNS[name]) for name in wanted}
            answers_by_worker[here[ids]] = {
                name: answer for name, answer in described.items() if answer not in NOT_SAID
            }
    for worker, answers in answers_by_worker.items():
        Demographics.objects.update_or_create(study=study, worker_id=worker, defaults={"answers": answers})
    message = f"Demographics of {len(answers_by_worker)} people were fetched: {', '.join(wanted)}."
    note_event(study=study, what="demographics", sentence=message, by=by, people=len(answers_by_worker))
    return len(answers_by_worker)


def _cell(row: Row, columns: tuple[str, ...]) -> str:
    return next((row[name].strip() for name in columns if name in row), "")
