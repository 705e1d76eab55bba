"""Writing down what a crowd is to do, in the transaction that decides it; ``calls`` carries it out."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User

from annotation.backends import Ability, backend_of
from annotation.models import CrowdCall, CrowdSession, Publication, Worker
from annotation.people import installation_word
from annotation.services.money import reserve_for_call
from judgments.draws import content_key
from judgments.errors import WrongState
from judgments.models import Study
from judgments.services.events import note_event

ABOUT_PEOPLE = {
    Ability.BLOCK: "block",
    Ability.UNBLOCK: "take back its block of",
    Ability.QUALIFY: "give a qualification to",
}


def call_key(kind: str, *parts: object) -> str:
    """The key of a call, at most 64 characters, equal for equal parts and different between installations."""
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
    """Write down, within the caller's transaction, what the study's crowd is to do, and keep ``cents`` for it. Asking
    for the same again gives the call that is there.

    Raises:
        WrongState: the study's crowd cannot do that.
        OverBudget: the money is not there; undo the transaction.
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
    """Within the caller's transaction: nobody new for the publication.

    Args:
        for_a_while: it is to be offered again, so a crowd that tells pausing from stopping is to pause it.

    Raises:
        WrongState: the crowd cannot.
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
