"""Write outbox messages: calls to a crowd that are stored in the transaction of a decision, and sent later.

Each message has a key that is derived from its content, so that the same decision is written and sent once.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.crowds import backend_of
from annotation.crowds.base import ABILITY_PHRASES, Ability
from annotation.crowds.people import installation_id
from annotation.models import CrowdCall, CrowdSession, Publication, Worker
from annotation.money.bookings import reserve_for_call
from common.errors import WrongState
from judgments.access.study_log import note_event
from judgments.drawing.keys import content_key
from judgments.models import Study

MAX_MESSAGE_LENGTH = 4096
MAX_SUBJECT_LENGTH = 200
MAX_WORKERS_IN_EVENT = 1_000  # number of workers whose names one log entry lists
# the kinds of messages about a worker that the study's log records, and the words of the record
WORKER_ACTIONS = {
    Ability.BLOCK: "block",
    Ability.UNBLOCK: "lift its block of",
    Ability.QUALIFY: "give a qualification to",
}


def call_key(kind: str, *parts: object) -> str:
    """Return the key of a message, at most 64 characters, such as "bonus-3f2a...".

    Equal parts give equal keys. Installations that share a crowd account get different keys for equal parts.
    """
    return f"{kind}-{content_key(installation_id(), kind, *parts)}"


def write_message(
    *,
    study: Study,
    kind: Ability,
    key: str,
    publication: Publication | None = None,
    session: CrowdSession | None = None,
    worker: Worker | None = None,
    payload: dict[str, Any] | None = None,
    cents: int = 0,
    why: str = "",
    by: User | None = None,
) -> CrowdCall:
    """Write an outbox message and reserve ``cents``. If a message with the same key exists, return that one.

    Call this function in a transaction. ``key`` is from ``call_key``.

    Raises:
        WrongState: the crowd does not support this kind of message.
        OverBudget, OverLimit, NeedsConfirmation: see ``reserve_for_call``.
    """
    backend = backend_of(study)
    if kind not in backend.can:
        raise WrongState(
            _("Nothing was changed: the crowd %(title)s cannot %(action)s.")
            % {"title": backend.title, "action": _(ABILITY_PHRASES[kind])}
        )
    stored_payload = dict(payload or {})
    if cents:
        stored_payload["cents"] = cents
    call, created = CrowdCall.objects.get_or_create(
        key=key,
        defaults={
            "study": study,
            "platform": study.platform,
            "kind": kind.value,
            "publication": publication,
            "session": session,
            "worker": worker,
            "payload": stored_payload,
            "why": why[:1024],
            "made_by": by,
        },
    )
    if created:
        reserve_for_call(call=call, cents=cents, by=by)
        if kind in WORKER_ACTIONS and worker is not None:
            message = f"The crowd is asked to {WORKER_ACTIONS[kind]} {worker.name}."
            note_event(study=study, what=f"{kind}-asked", sentence=message, why=why, by=by, call=call.pk)
    return call


def ask_to_take_down(
    *, publication: Publication, by: User | None = None, is_pause: bool = False, why: str = ""
) -> CrowdCall:
    """Write a message that closes an external HIT (an offer of work at the crowd) to new workers.

    If ``is_pause``, crowds that can pause it only do that.
    """
    # part of the key, since an external HIT that was reopened can be closed again
    number = publication.calls.filter(kind=Ability.EXPIRE).count() + 1
    return write_message(
        study=publication.study,
        kind=Ability.EXPIRE,
        key=call_key(Ability.EXPIRE, publication.token, number),
        publication=publication,
        payload={"pause": True} if is_pause else {},
        why=why,
        by=by,
    )


def ask_to_delete(*, publication: Publication) -> CrowdCall:
    """Write a message that deletes an external HIT permanently."""
    return write_message(
        study=publication.study,
        kind=Ability.DELETE,
        key=call_key(Ability.DELETE, publication.token),
        publication=publication,
    )


@transaction.atomic
def ask_to_block(*, study: Study, worker: Worker, why: str, by: User | None = None) -> CrowdCall:
    return _ask_about_worker(study, worker, Ability.BLOCK, why=why, by=by, opposite=Ability.UNBLOCK)


@transaction.atomic
def ask_to_unblock(*, study: Study, worker: Worker, why: str = "", by: User | None = None) -> CrowdCall:
    return _ask_about_worker(study, worker, Ability.UNBLOCK, why=why, by=by, opposite=Ability.BLOCK)


def _ask_about_worker(
    study: Study, worker: Worker, kind: Ability, *, why: str, by: User | None, opposite: Ability
) -> CrowdCall:
    """Write a message that blocks a worker or lifts the block.

    A repeated call returns the first message, until a message of the ``opposite`` kind is written.
    """
    # part of the key, so that a worker can be blocked again after a block was lifted
    opposite_count = CrowdCall.objects.filter(platform=study.platform, worker=worker, kind=opposite).count()
    return write_message(
        study=study,
        kind=kind,
        key=call_key(kind, study.platform, worker.pk, opposite_count),
        worker=worker,
        why=why,
        by=by,
    )


@transaction.atomic
def ask_to_qualify(
    *, study: Study, worker: Worker, qualification: str, value: int = 1, by: User | None = None
) -> CrowdCall:
    """Write a message that gives a worker a qualification with a value. The value 0 takes it away."""
    earlier_calls = CrowdCall.objects.filter(
        platform=study.platform, worker=worker, kind=Ability.QUALIFY, payload__qualification=qualification
    )
    # part of the key, so that the qualification can be given again after it was taken away
    other_value_count = earlier_calls.exclude(payload__value=value).count()
    # the first key has no number, as in earlier releases, so that their messages are recognised
    change_number = [other_value_count] if other_value_count else []
    return write_message(
        study=study,
        kind=Ability.QUALIFY,
        key=call_key(Ability.QUALIFY, study.platform, worker.pk, qualification, value, *change_number),
        worker=worker,
        payload={"qualification": qualification, "value": value},
        by=by,
    )


@transaction.atomic
def ask_to_send_text(
    *, study: Study, workers: Collection[Worker], subject: str, text: str, by: User | None = None
) -> list[CrowdCall]:
    """Write an outbox message for each worker that sends them a text. Nobody gets the same text twice."""
    calls = [
        write_message(
            study=study,
            kind=Ability.MESSAGE,
            key=call_key(Ability.MESSAGE, study.platform, worker.pk, subject, text),
            worker=worker,
            payload={"subject": subject, "text": text},
            by=by,
        )
        for worker in workers
    ]
    messages_are = "One message is" if len(calls) == 1 else f"{len(calls)} messages are"
    note_event(
        study=study, what="written-to", sentence=f"{messages_are} to be sent: {subject}.", by=by, text=text,
        workers=[worker.name for worker in workers][:MAX_WORKERS_IN_EVENT],
    )  # fmt: skip
    return calls
