"""Outbox messages to a crowd, written in the transaction that decides them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from annotation.crowds import Ability, backend_of
from annotation.crowds.people import installation_word
from annotation.models import CrowdCall, CrowdSession, Publication, Worker
from annotation.money.ledger import reserve_for_call
from common.errors import WrongState
from judgments.drawing.draws import content_key
from judgments.models import Study
from judgments.studies.log import note_event

ABOUT_PEOPLE = {
    Ability.BLOCK: "block",
    Ability.UNBLOCK: "take back its block of",
    Ability.QUALIFY: "give a qualification to",
}


def call_key(kind: str, *parts: object) -> str:
    """Return a key of at most 64 characters, equal for equal parts and different between installations."""
    return f"{kind}-{content_key(installation_word(), kind, *parts)}"


def ask(
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
    """Write an outbox message and reserve ``cents``; return an equal existing one. Call it in a transaction.

    Raises:
        WrongState: the study's crowd cannot do that.
        OverBudget: the budget does not suffice; roll back the transaction.
    """
    backend = backend_of(study)
    if kind not in backend.can:
        raise WrongState(f"Nothing was changed: the crowd {backend.title} cannot {kind}.")
    call, created = CrowdCall.objects.get_or_create(
        key=key,
        defaults={
            "study": study,
            "place": study.place,
            "kind": kind.value,
            "publication": publication,
            "session": session,
            "worker": worker,
            "payload": {**(payload or {}), **({"cents": cents} if cents else {})},
            "why": why[:1024],
            "made_by": by,
        },
    )
    if created:
        reserve_for_call(call=call, cents=cents)
        if kind in ABOUT_PEOPLE and worker is not None:
            words = f"The crowd is asked to {ABOUT_PEOPLE[kind]} {worker.name}."
            note_event(study=study, what=f"{kind}-asked", words=words, why=why, by=by, call=call.pk)
    return call


def ask_to_take_down(
    *, publication: Publication, by: User | None = None, for_a_while: bool = False, why: str = ""
) -> CrowdCall:
    """Ask to close an external HIT to new workers; raise WrongState if the crowd cannot.

    Args:
        for_a_while: pause it, if the crowd can, since it will be reopened.
    """
    number = publication.calls.filter(kind=Ability.EXPIRE).count() + 1
    return ask(
        study=publication.study,
        kind=Ability.EXPIRE,
        key=call_key(Ability.EXPIRE, publication.token, number),
        publication=publication,
        payload={"pause": True} if for_a_while else {},
        why=why,
        by=by,
    )


LONGEST_MESSAGE = 4096
LONGEST_SUBJECT = 200
MOST_NAMED = 1_000  # in a log entry


@transaction.atomic
def ask_to_block(*, study: Study, worker: Worker, why: str, by: User | None = None) -> CrowdCall:
    """Ask to block the worker from all work of this account, the gravest measure.

    Raises:
        WrongState: the crowd cannot, or the reason is missing.
    """
    if not why.strip():
        raise WrongState("Nobody was blocked: a block needs a reason.")
    return _ask_about(study, worker, Ability.BLOCK, why=why, by=by, after=Ability.UNBLOCK)


@transaction.atomic
def ask_to_unblock(*, study: Study, worker: Worker, why: str = "", by: User | None = None) -> CrowdCall:
    return _ask_about(study, worker, Ability.UNBLOCK, why=why, by=by, after=Ability.BLOCK)


def _ask_about(
    study: Study, worker: Worker, kind: Ability, *, why: str, by: User | None, after: Ability
) -> CrowdCall:
    """Write one message until the opposite was asked for."""
    number = CrowdCall.objects.filter(place=study.place, worker=worker, kind=after).count()
    return ask(
        study=study,
        kind=kind,
        key=call_key(kind, study.place, worker.pk, number),
        worker=worker,
        why=why.strip(),
        by=by,
    )


@transaction.atomic
def ask_to_qualify(
    *, study: Study, worker: Worker, qualification: str, value: int = 1, by: User | None = None
) -> CrowdCall:
    """Ask to give the worker one of our qualifications, which studies may require by name.

    Raises:
        WrongState: the crowd cannot, or the name is missing.
    """
    if not qualification.strip():
        raise WrongState("Nobody was qualified: say which qualification.")
    return ask(
        study=study,
        kind=Ability.QUALIFY,
        key=call_key(Ability.QUALIFY, study.place, worker.pk, qualification.strip(), value),
        worker=worker,
        payload={"qualification": qualification.strip(), "value": value},
        by=by,
    )


@transaction.atomic
def ask_to_write(
    *, study: Study, workers: Collection[Worker], subject: str, text: str, by: User | None = None
) -> list[CrowdCall]:
    """Ask to message each worker; an equal message to the same person is sent once.

    Raises:
        WrongState: the crowd cannot, or subject or text is missing or too long.
    """
    subject, text = subject.strip(), text.strip()
    if not subject or not text:
        raise WrongState("Nothing was sent: a message needs a subject and a text.")
    if len(subject) > LONGEST_SUBJECT or len(text) > LONGEST_MESSAGE:
        raise WrongState(
            f"Nothing was sent: a subject has {LONGEST_SUBJECT} characters at most, and a text {LONGEST_MESSAGE}."
        )
    calls = [
        ask(
            study=study,
            kind=Ability.MESSAGE,
            key=call_key(Ability.MESSAGE, study.place, worker.pk, subject, text),
            worker=worker,
            payload={"subject": subject, "text": text},
            by=by,
        )
        for worker in workers
    ]
    messages = "One message is" if len(calls) == 1 else f"{len(calls)} messages are"
    note_event(
        study=study, what="written-to", words=f"{messages} to be sent: {subject}.", by=by, text=text,
        workers=[worker.name for worker in workers][:MOST_NAMED],
    )  # fmt: skip
    return calls
