"""What else a crowd is asked about its people: to keep somebody away, to give a qualification, to write to them."""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth.models import User
from django.db import transaction

from annotation.backends import Ability
from annotation.models import CrowdCall, Worker
from annotation.services.asking import ask, call_key
from judgments.errors import WrongState
from judgments.models import Study
from judgments.services.events import note_event

LONGEST_MESSAGE = 4096
LONGEST_SUBJECT = 200
MOST_NAMED = 1_000  # in an entry of the log


@transaction.atomic
def ask_to_block(*, study: Study, worker: Worker, why: str, by: User | None = None) -> CrowdCall:
    """Nothing of this account's work for the worker any more, in any study: the gravest thing to do to somebody.

    Raises:
        WrongState: the crowd cannot, or there is no reason.
    """
    if not why.strip():
        raise WrongState("Nobody was blocked: a block needs a reason.")
    return _ask_about(study, worker, Ability.BLOCK, why=why, by=by, after=Ability.UNBLOCK)


@transaction.atomic
def ask_to_unblock(*, study: Study, worker: Worker, why: str = "", by: User | None = None) -> CrowdCall:
    """Take a block back.

    Raises:
        WrongState: the crowd cannot.
    """
    return _ask_about(study, worker, Ability.UNBLOCK, why=why, by=by, after=Ability.BLOCK)


def _ask_about(
    study: Study, worker: Worker, kind: Ability, *, why: str, by: User | None, after: Ability
) -> CrowdCall:
    """Once until the opposite was asked for."""
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
    """Give the worker a qualification of ours, which studies may ask for by its name.

    Raises:
        WrongState: the crowd cannot, or it has no name.
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
    """One message to each; the same message to the same person is sent once.

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
