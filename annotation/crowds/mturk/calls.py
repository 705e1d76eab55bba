"""Carry out outbox messages at Mechanical Turk: one function for each kind of message.

Each function takes a client and a ``CrowdCall``, and returns JSON to store with the call, such as
``{"external_id": "3XYZ", "group_id": "3ABC", "expires_at": "2026-01-31T23:59:59+00:00"}``.

Carrying out a message again has no second effect. Some operations take a UniqueRequestToken, which the service
remembers for 24 hours; the key of the outbox message is this token. After that time, and for operations without a
token, the state at the service is read first.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from annotation.crowds.base import Ability, CrowdRefusal, RetryLater
from annotation.crowds.mturk.client import TurkBonus, TurkClient, TurkHIT
from annotation.crowds.mturk.errors import (
    HitAlreadyExists,
    NotFoundAtTurk,
    TokenAlreadyUsed,
    WrongStateAtTurk,
)
from annotation.crowds.mturk.hit_types import (
    known_hit_types,
    known_qualifications,
    prepare_hit_type,
    prepare_qualification,
)
from annotation.crowds.mturk.listings import annotation_of, question_of_hit, token_in_annotation
from annotation.models import CrowdCall, CrowdSession, RawId, Worker
from judgments.models import Study
from judgments.studies.designs import design_of

Status = CrowdSession.Status

# The service remembers a token for 24 hours. One hour less allows for different clocks and for slow calls.
TOKEN_LIFETIME = timedelta(hours=23)

DECISION_WAIT_SECONDS = 600.0  # seconds until a HIT with undecided work is read again
SUBMISSION_WAIT_SECONDS = 60.0  # seconds until the status of a fresh submission is read again (ParlAI#2957)

MAX_FEEDBACK_LENGTH = 1024


def _token_may_be_forgotten(call: CrowdCall) -> bool:
    """Return whether an earlier attempt may have succeeded with a token that the service has forgotten."""
    first_attempt, this_attempt = call.first_started_at, call.started_at or timezone.now()
    return first_attempt is not None and this_attempt - first_attempt > TOKEN_LIFETIME


def _publish_hit(client: TurkClient, call: CrowdCall) -> dict[str, Any]:
    """Create the HIT of a publication, or find the HIT that an earlier attempt created."""
    publication, study = call.current_publication(), call.study
    if _token_may_be_forgotten(call):
        existing_hit = _find_by_token(client, study, call.key)
        if existing_hit is not None:
            return _publication_facts(existing_hit)
    design = design_of(study)
    assert publication.hit is not None  # this backend publishes only HITs
    question = question_of_hit(study, design, publication.hit)
    hit_type = prepare_hit_type(client, call.platform, study, design)
    try:
        hit = client.create_hit(
            hit_type,
            places=publication.places,
            seconds=design.crowd.lifetime_hours * 3600,
            question=question,
            annotation=annotation_of(call.key, study),
            token=call.key,
        )
    except HitAlreadyExists as conflict:
        hit_id = conflict.hit_id
        existing_hit = client.get_hit(hit_id) if hit_id else _find_by_token(client, study, call.key)
        if existing_hit is None:
            raise RetryLater(
                "Mechanical Turk says that the HIT is there already, and does not show it."
            ) from None
        hit = existing_hit
    except NotFoundAtTurk as problem:  # the HIT type was removed meanwhile: another attempt creates it
        known_hit_types.clear()
        known_qualifications.clear()
        raise RetryLater(str(problem), had_no_effect=True) from None
    return _publication_facts(hit)


def _find_by_token(client: TurkClient, study: Study, token: str) -> TurkHIT | None:
    """Return the HIT of the study whose annotation has the token; None if there is none."""
    return next(
        (hit for hit in client.list_hits() if token_in_annotation(hit.annotation, study) == token), None
    )


def _publication_facts(hit: TurkHIT) -> dict[str, Any]:
    return {
        "external_id": hit.id,
        "group_id": hit.type_id,  # ``Publication.group_id`` is the id of the HIT type
        "expires_at": hit.expires_at.isoformat() if hit.expires_at else "",
    }


def _extend_hit(client: TurkClient, call: CrowdCall) -> dict[str, Any]:
    """Add places to a HIT and set its expiration, by a payload such as ``{"places": 2, "expires_at": "2026-..."}``."""
    publication = call.current_publication()
    places = int(call.payload.get("places", 0))
    expires_at = parse_datetime(call.payload.get("expires_at", "") or "")
    if places:
        total_places = publication.places + places
        is_extended = (
            _token_may_be_forgotten(call) and client.get_hit(publication.external_id).places >= total_places
        )
        if not is_extended:
            with suppress(TokenAlreadyUsed):  # an earlier attempt has added the places
                client.add_places(publication.external_id, places=places, token=call.key)
    if expires_at is not None:
        _set_expiration(client, publication.external_id, expires_at)
    return {}


def _expire_hit(client: TurkClient, call: CrowdCall) -> dict[str, Any]:
    """Close a HIT by setting its expiration to a time in the past.

    The time is relative to now, because the service refuses a time that an earlier attempt has set.
    """
    publication = call.current_publication()
    try:
        hit = client.get_hit(publication.external_id)
    except NotFoundAtTurk:
        return {}  # the HIT no longer exists, so it is closed
    if hit.status == "Disposed" or (hit.expires_at is not None and hit.expires_at <= timezone.now()):
        return {}
    _set_expiration(client, publication.external_id, timezone.now() - timedelta(hours=1))
    return {}


def _delete_hit(client: TurkClient, call: CrowdCall) -> dict[str, Any]:
    """Delete a HIT after checking that all of its work is decided and booked in the database."""
    publication = call.current_publication()
    if _is_deleted(client, publication.external_id):
        return {}
    booked_statuses = dict(publication.sessions.exclude(booked="").values_list("external_id", "status"))
    for work in client.list_assignments(publication.external_id):
        booked_status = booked_statuses.get(work.external_id, "not decided")
        if booked_status != work.status:
            raise RetryLater(
                f"HIT {publication.external_id} is not deleted: assignment {work.external_id} is "
                f"{work.status.title()} there, and {booked_status} here.",
                after=DECISION_WAIT_SECONDS,
                had_no_effect=True,
            )
    try:
        client.delete_hit(publication.external_id)
    except WrongStateAtTurk:
        if not _is_deleted(client, publication.external_id):
            raise
    return {}


def _is_deleted(client: TurkClient, hit: str) -> bool:
    try:
        return client.get_hit(hit).status == "Disposed"
    except NotFoundAtTurk:
        return True


def _set_expiration(client: TurkClient, hit: str, expires_at: datetime) -> None:
    """Set the time at which a HIT expires, in whole seconds, unless it is set already: the service refuses that."""
    expires_at = expires_at.replace(microsecond=0)
    current_expiry = client.get_hit(hit).expires_at
    if current_expiry is not None and abs(current_expiry - expires_at) < timedelta(seconds=1):
        return
    with suppress(TokenAlreadyUsed):  # the time is set already
        client.set_expiration(hit, expires_at)


def _approve_work(client: TurkClient, call: CrowdCall) -> dict[str, Any]:
    return _decide_work(
        client, call, client.approve, Status.APPROVED, overrides=bool(call.payload.get("override"))
    )


def _reject_work(client: TurkClient, call: CrowdCall) -> dict[str, Any]:
    return _decide_work(client, call, client.reject, Status.REJECTED)


def _decide_work(
    client: TurkClient, call: CrowdCall, send: Callable[..., None], decision: str, *, overrides: bool = False
) -> dict[str, Any]:
    """Approve or reject the work of a session once; return the status that the work then has at the service.

    The status is read first, because the call takes no token that would prevent a repetition, and because another
    person may have decided.

    Args:
        send: the client's method that approves or rejects.
        overrides: whether the decision may replace a rejection.
    """
    session = call.current_session()
    status = _status_at_turk(client, session)
    overrides_rejection = overrides and status == Status.REJECTED
    if status == Status.SUBMITTED or overrides_rejection:
        options = {"override": True} if overrides_rejection else {}
        try:
            send(session.external_id, feedback=call.why[:MAX_FEEDBACK_LENGTH], **options)
            status = decision
        except WrongStateAtTurk:  # another person decided first
            status = _status_at_turk(client, session)
            if status == Status.SUBMITTED:
                raise
    return {"status": str(status)}


def _status_at_turk(client: TurkClient, session: CrowdSession) -> str:
    """Return the status of the session's work at the service.

    Raises:
        CrowdRefusal: the work was deleted there, or is another worker's.
        RetryLater: the service may not know the work yet.
    """
    try:
        work = client.get_assignment(session.external_id)
    except (NotFoundAtTurk, WrongStateAtTurk) as problem:
        if session.confirmed:  # the crowd had confirmed the session
            raise CrowdRefusal(f"{problem} It may have been deleted there.") from None
        raise RetryLater(
            f"{problem} It may not be known there yet.", after=SUBMISSION_WAIT_SECONDS, had_no_effect=True
        ) from None
    if work.worker != _worker_id_of(session.worker):
        raise CrowdRefusal(
            f"Assignment {session.external_id} at Mechanical Turk is another worker's by now; nothing was decided."
        )
    return work.status


def _send_bonus(client: TurkClient, call: CrowdCall) -> dict[str, Any]:
    """Pay a bonus. If the service may have forgotten the token, read the list of paid bonuses first."""
    session, cents = call.current_session(), int(call.payload["bonus_cents"])
    bonus = TurkBonus(_worker_id_of(session.worker), session.external_id, cents, call.why)
    if _token_may_be_forgotten(call) and _is_paid(client, call, bonus):
        return {"found": True}  # an earlier attempt has paid the bonus
    with suppress(TokenAlreadyUsed):  # an earlier attempt has paid the bonus
        client.send_bonus(bonus, token=call.key)
    return {}


def _is_paid(client: TurkClient, call: CrowdCall, bonus: TurkBonus) -> bool:
    """Return whether this bonus was paid already: the service lists more bonuses equal to it than calls marked as done.

    The list has no tokens, so a bonus is recognised by its worker, assignment, amount and reason.
    """
    paid_calls = CrowdCall.objects.filter(
        session=call.session, kind=Ability.BONUS, why=call.why, state=CrowdCall.State.DONE
    )
    booked_count = paid_calls.filter(payload__bonus_cents=bonus.cents).count()
    return list(client.list_bonuses(bonus.assignment)).count(bonus) > booked_count


def _block_worker(client: TurkClient, call: CrowdCall) -> dict[str, Any]:
    client.block(_worker_id_of_call(call), reason=call.why or "Blocked.")
    return {}


def _unblock_worker(client: TurkClient, call: CrowdCall) -> dict[str, Any]:
    client.unblock(_worker_id_of_call(call), reason=call.why or "Unblocked.")
    return {}


def _set_qualification(client: TurkClient, call: CrowdCall) -> dict[str, Any]:
    """Give the worker a qualification with a value, or take it away if the value is 0."""
    qualification = prepare_qualification(client, call.payload["qualification"])
    value = int(call.payload.get("value", 1))
    if value:
        client.qualify(qualification, _worker_id_of_call(call), value)
    else:
        client.disqualify(qualification, _worker_id_of_call(call))
    return {"qualification": qualification}


def _send_message(client: TurkClient, call: CrowdCall) -> dict[str, Any]:
    """Send a worker a message at the first attempt only, since NotifyWorkers takes no token."""
    if call.first_started_at != call.started_at:  # not the first attempt
        raise CrowdRefusal(
            "The message may have been sent before, and is not sent twice; send a new one if it was not."
        )
    subject, text = call.payload["subject"], call.payload["text"]
    worker_id = _worker_id_of_call(call)
    failures = client.send_message([worker_id], subject=subject, text=text)
    if worker_id in failures:
        raise CrowdRefusal(f"Mechanical Turk did not deliver the message: {failures[worker_id]}")
    return {}


def _worker_id_of_call(call: CrowdCall) -> str:
    assert call.worker is not None  # calls about a worker are written with the worker
    return _worker_id_of(call.worker)


def _worker_id_of(worker: Worker) -> str:
    """Return the WorkerId of a worker. Raise CrowdRefusal if the id was deleted from the database."""
    row = RawId.objects.filter(worker=worker, session=None, name="WorkerId").first()
    if row is None:
        raise CrowdRefusal(
            f"The WorkerId of {worker} was deleted here, so that nothing can be asked about them."
        )
    return row.value


HANDLERS: dict[str, Callable[[TurkClient, CrowdCall], dict[str, Any]]] = {
    Ability.PUBLISH: _publish_hit,
    Ability.EXTEND: _extend_hit,
    Ability.EXPIRE: _expire_hit,
    Ability.DELETE: _delete_hit,
    Ability.APPROVE: _approve_work,
    Ability.REJECT: _reject_work,
    Ability.BONUS: _send_bonus,
    Ability.BLOCK: _block_worker,
    Ability.UNBLOCK: _unblock_worker,
    Ability.QUALIFY: _set_qualification,
    Ability.MESSAGE: _send_message,
}
