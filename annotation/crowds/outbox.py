"""Outbox messages to a crowd, written in the transaction that decides them, and delivered exactly once.

The effects of their outcomes are booked here; indeterminate ones are resolved by hand.

Qualifications here decide who may join by a link or a panel's entrance. Mechanical Turk and Prolific keep people out
themselves, so they get a copy of each change.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from annotation.crowds import CrowdBackend, backend_for, backend_of
from annotation.crowds.base import Ability, OutOfFunds, Refused, TryLater, Unsure
from annotation.crowds.panel.backend import AN_ID
from annotation.crowds.people import error_of_call, installation_word, pseudonym
from annotation.models import (
    Assignment,
    CrowdCall,
    CrowdSession,
    Publication,
    Qualification,
    RawId,
    Worker,
    at_crowd,
)
from annotation.money.ledger import (
    NeedsConfirmation,
    OverBudget,
    OverLimit,
    hold_slots,
    pay_session,
    release_call,
    release_rejected,
    release_slots,
    reserve_again,
    reserve_for_call,
    spend_bonus,
)
from common.amounts import spell_cents
from common.errors import QuorumError, WrongState
from judgments.access.roles import note_event
from judgments.design.requirements import is_qualification
from judgments.drawing.material import content_key
from judgments.jobs import Progress
from judgments.models import Study
from judgments.studies.studies import design_of

Status = CrowdSession.Status
UNDECIDED_SESSIONS = (Status.WORKING, Status.SUBMITTED)
DECIDED = (Status.APPROVED, Status.REJECTED)
LONGEST_MESSAGE = 4096
LONGEST_SUBJECT = 200
MOST_NAMED = 1_000  # in a log entry
ABOUT_PEOPLE = {
    Ability.BLOCK: "block",
    Ability.UNBLOCK: "take back its block of",
    Ability.QUALIFY: "give a qualification to",
}


def call_key(kind: str, *parts: object) -> str:
    """Return a key of at most 64 characters, equal for equal parts and different between installations."""
    return f"{kind}-{content_key(installation_word(), kind, *parts)}"


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
    """Write an outbox message and reserve ``cents``; return an equal existing one. Call it in a transaction."""
    backend = backend_of(study)
    if kind not in backend.can:
        raise WrongState(
            _("Nothing was changed: the crowd %(title)s cannot %(kind)s.")
            % {"title": backend.title, "kind": kind}
        )
    call, created = CrowdCall.objects.get_or_create(
        key=key,
        defaults={
            "study": study,
            "platform": study.platform,
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
        reserve_for_call(call=call, cents=cents, by=by)
        if kind in ABOUT_PEOPLE and worker is not None:
            message = f"The crowd is asked to {ABOUT_PEOPLE[kind]} {worker.name}."
            note_event(study=study, what=f"{kind}-asked", sentence=message, why=why, by=by, call=call.pk)
    return call


def ask_to_take_down(
    *, publication: Publication, by: User | None = None, for_a_while: bool = False, why: str = ""
) -> CrowdCall:
    """Ask to close an external HIT to new workers; ``for_a_while`` pauses it if the crowd can."""
    number = publication.calls.filter(kind=Ability.EXPIRE).count() + 1
    return write_message(
        study=publication.study,
        kind=Ability.EXPIRE,
        key=call_key(Ability.EXPIRE, publication.token, number),
        publication=publication,
        payload={"pause": True} if for_a_while else {},
        why=why,
        by=by,
    )


def ask_to_delete(*, publication: Publication) -> CrowdCall:
    """Ask to delete an external HIT, which is final."""
    return write_message(
        study=publication.study,
        kind=Ability.DELETE,
        key=call_key(Ability.DELETE, publication.token),
        publication=publication,
    )


@transaction.atomic
def ask_to_block(*, study: Study, worker: Worker, why: str, by: User | None = None) -> CrowdCall:
    return _ask_about(study, worker, Ability.BLOCK, why=why, by=by, after=Ability.UNBLOCK)


@transaction.atomic
def ask_to_unblock(*, study: Study, worker: Worker, why: str = "", by: User | None = None) -> CrowdCall:
    return _ask_about(study, worker, Ability.UNBLOCK, why=why, by=by, after=Ability.BLOCK)


def _ask_about(
    study: Study, worker: Worker, kind: Ability, *, why: str, by: User | None, after: Ability
) -> CrowdCall:
    """Write one message until the opposite was asked for."""
    number = CrowdCall.objects.filter(platform=study.platform, worker=worker, kind=after).count()
    return write_message(
        study=study,
        kind=kind,
        key=call_key(kind, study.platform, worker.pk, number),
        worker=worker,
        why=why,
        by=by,
    )


@transaction.atomic
def ask_to_qualify(
    *, study: Study, worker: Worker, qualification: str, value: int = 1, by: User | None = None
) -> CrowdCall:
    before = CrowdCall.objects.filter(
        platform=study.platform, worker=worker, kind=Ability.QUALIFY, payload__qualification=qualification
    )
    changes = before.exclude(payload__value=value).count()  # given again after it was taken away
    again = [changes] if changes else []
    return write_message(
        study=study,
        kind=Ability.QUALIFY,
        key=call_key(Ability.QUALIFY, study.platform, worker.pk, qualification, value, *again),
        worker=worker,
        payload={"qualification": qualification, "value": value},
        by=by,
    )


@transaction.atomic
def ask_to_write(
    *, study: Study, workers: Collection[Worker], subject: str, text: str, by: User | None = None
) -> list[CrowdCall]:
    """Ask to message each worker; send an equal message to the same person once."""
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
    messages = "One message is" if len(calls) == 1 else f"{len(calls)} messages are"
    note_event(
        study=study, what="written-to", sentence=f"{messages} to be sent: {subject}.", by=by, text=text,
        workers=[worker.name for worker in workers][:MOST_NAMED],
    )  # fmt: skip
    return calls


@transaction.atomic
def release_unfilled(*, publication: Publication) -> int:
    """Release the money of untaken slots of a closed external HIT; return their number.

    Crowds that report open slots (``Ability.LIST``) are synchronised instead.
    """
    closed = Publication.objects.filter(pk=publication.pk, state=Publication.State.EXPIRED)
    locked = closed.select_for_update(of=("self",)).select_related("study").first()
    if locked is None or Ability.LIST in backend_of(locked.study).can:
        return 0
    waiting = CrowdSession.objects.filter(
        publication=locked, status__in=UNDECIDED_SESSIONS, booked=""
    ).count()
    unfilled = max(0, locked.held_slots - waiting)
    released = release_slots(publication=locked, places=unfilled)
    if not waiting:
        Publication.objects.filter(pk=locked.pk).update(state=Publication.State.FINISHED)
    return unfilled if released else 0


def apply_success(call: CrowdCall) -> None:
    effect = EFFECTS.get(call.kind)
    if effect is not None:
        effect(call)


def apply_failure(call: CrowdCall) -> None:
    release_call(call=call)
    if call.kind == Ability.PUBLISH and call.publication is not None:
        Publication.objects.filter(pk=call.publication.pk, state=Publication.State.PLANNED).update(
            state=Publication.State.WITHDRAWN
        )


def _published(call: CrowdCall) -> None:
    publication = call.publication_now()
    until = parse_datetime(call.answer.get("expires_at", "") or "")
    Publication.objects.filter(
        pk=publication.pk, state__in=[Publication.State.PLANNED, Publication.State.WITHDRAWN]
    ).update(
        state=Publication.State.PUBLISHED,
        external_id=call.answer["external_id"],
        group_id=call.answer.get("group_id", ""),
        expires_at=until or publication.expires_at,
    )
    _reserve_again(call)
    hold_slots(
        call=call,
        publication=publication,
        places=publication.places,
        screen_outs=publication.screen_outs,
    )
    if Study.objects.filter(pk=publication.study_id, state=Study.State.CLOSED).exists():
        ask_to_take_down(publication=publication, by=call.made_by)


def _reserve_again(call: CrowdCall) -> None:
    reserve_again(call=call, cents=int(call.payload.get("cents", 0)))


def _extended(call: CrowdCall) -> None:
    """Apply more slots or time. The external HIT is open again, with the slots that were released."""
    publication = Publication.objects.select_for_update().get(pk=call.publication_now().pk)
    places, reopened = int(call.payload.get("places", 0)), int(call.payload.get("reopened", 0))
    more, again = int(call.payload.get("screen_outs", 0)), int(call.payload.get("screen_outs_again", 0))
    until = parse_datetime(call.payload.get("expires_at", "") or "")
    decided = publication.sessions.exclude(booked="").count()
    # a second request before the first was sent finds the slots reserved
    empty = max(0, publication.places + places - publication.held_slots - decided)
    Publication.objects.filter(pk=publication.pk).update(
        places=F("places") + places,
        screen_outs=F("screen_outs") + more,
        expires_at=until or publication.expires_at,
        state=Publication.State.PUBLISHED,
    )
    if places + reopened + more + again:
        _reserve_again(call)
        paid = publication.entries.filter(what="screened-out").count()
        unpaid = max(0, publication.screen_outs + more - publication.screen_outs_held - paid)
        hold_slots(
            call=call,
            publication=publication,
            places=min(places + reopened, empty),
            screen_outs=min(more + again, unpaid),
        )


def _expired(call: CrowdCall) -> None:
    """Close to new workers. A sync releases open slots once nobody is at work."""
    publication = call.publication_now()
    Publication.objects.filter(pk=publication.pk, state=Publication.State.PUBLISHED).update(
        state=Publication.State.EXPIRED, expires_at=timezone.now()
    )
    release_unfilled(publication=publication)


def _decided(call: CrowdCall) -> None:
    """Take over the crowd's status: somebody else, or the crowd itself, may have decided before."""
    # reserved for an approval that overrides a rejection: the payment reserves it again
    release_call(call=call)
    requested = Status.APPROVED if call.kind == Ability.APPROVE else Status.REJECTED
    status = call.answer.get("status", requested)
    feedback = call.why if status == requested else ""
    settle_session(session=call.session_now(), status=status, feedback=feedback)


def _paid_bonus(call: CrowdCall) -> None:
    _reserve_again(call)
    spend_bonus(call=call)


EFFECTS: dict[str, Callable[[CrowdCall], None]] = {
    Ability.PUBLISH: _published,
    Ability.EXTEND: _extended,
    Ability.EXPIRE: _expired,
    Ability.APPROVE: _decided,
    Ability.REJECT: _decided,
    Ability.BONUS: _paid_bonus,
}


@transaction.atomic
def settle_session(
    *,
    session: CrowdSession,
    status: str,
    decided_at: datetime | None = None,
    feedback: str = "",
    fact: bool = False,
) -> bool:
    """Book that the crowd paid or rejected a session, and update its assignments. The crowd's status wins over ours.

    Args:
        fact: whether the crowd decided it already, so that it is paid beyond the budget too.
    Raises:
        OverBudget: an approval of rejected work for which nothing is left; nothing changes.
    """
    work = Assignment.objects.filter(session=session)
    pages = list(work.select_for_update().order_by("pk").values_list("pk", flat=True))
    # Not the study's row: who holds the budget would wait for it at the commit, and this for the budget.
    rows = CrowdSession.objects.select_for_update(of=("self", "publication"))
    locked = rows.select_related("publication", "study").get(pk=session.pk)
    if status not in DECIDED or locked.status == status or locked.booked == CrowdSession.Booked.SPENT:
        return False
    locked.status = status
    if status == Status.APPROVED:
        pay_session(session=locked, fact=fact)
        locked.booked = CrowdSession.Booked.SPENT
        state, reason = Assignment.State.APPROVED, ""
        changes = Assignment.objects.filter(pk__in=pages, state__in=["submitted", "rejected"])
    else:
        release_rejected(session=locked)
        locked.booked = CrowdSession.Booked.RELEASED
        state, reason = Assignment.State.REJECTED, feedback[:500]
        changes = Assignment.objects.filter(pk__in=pages, state__in=["submitted", "approved"])
    locked.decided_at = decided_at or timezone.now()
    locked.feedback = feedback[:1024]
    locked.save(update_fields=["status", "booked", "decided_at", "feedback"])
    changes.update(state=state, reason=reason)
    return True


TRIES = 6  # per call and run
ALL_TRIES = 60  # per call, before a person has to look
IN_A_ROW = 25  # unanswered calls that end a run
LONGEST_WAIT = 30.0  # seconds that a run waits for a call; longer waits are left to the next run
COSTS = (Ability.PUBLISH, Ability.EXTEND, Ability.BONUS)
UNDER_WAY = (CrowdCall.State.WAITING, CrowdCall.State.STARTED)
UNDECIDED_CALLS = (*UNDER_WAY, CrowdCall.State.FAILED)  # a slower runner may complete a failed call


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """Numbers of calls; ``stopped`` is the reason why paid calls were stopped, or ''."""

    done: int = 0
    parked: int = 0
    waiting: int = 0
    stopped: str = ""


def carry_out_calls(
    *,
    study: Study,
    rng: random.Random | None = None,
    wait: Callable[[float], None] = time.sleep,
    progress: Progress | None = None,
) -> DeliveryResult:
    """Send the study's outbox messages, oldest first, with back-off and jitter."""
    rng = rng or random.Random()
    backend = backend_of(study)
    tried: Counter[int] = Counter()
    stopped = _lacking_funds(study, backend)
    skipped: tuple[str, ...] = tuple(COSTS) if stopped else ()
    done = parked = unanswered = 0
    while unanswered < IN_A_ROW:
        call = _next_call(study, tried, skipped)
        if call is None:
            break
        now = timezone.now()
        if call.next_at > now:
            wait((call.next_at - now).total_seconds())
            continue
        if not _start(call):
            continue
        tried[call.pk] += 1
        unanswered += 1
        try:
            answer = backend.carry_out(call)
            done += finish_call(call=call, answer=answer)
            unanswered = 0
        # already done at the crowd by somebody else, and cannot be booked
        except (OverBudget, OverLimit, NeedsConfirmation) as problem:
            parked += _park(call, f"The crowd did it, but it is not booked: {problem}", unsure=True)
        except (Refused, QuorumError) as problem:
            parked += _park(call, error_of_call(call, str(problem)))
            unanswered = 0
        except Unsure as problem:
            parked += _park(call, error_of_call(call, str(problem)), unsure=True)
            unanswered = 0
        except OutOfFunds as problem:
            stopped = error_of_call(call, str(problem))
            _put_back(call, stopped, after=0.0, undone=True)
            skipped = tuple(COSTS)
        except TryLater as problem:
            message = error_of_call(call, str(problem))
            if call.attempts >= ALL_TRIES:
                parked += _park(
                    call,
                    f"Given up after {call.attempts} attempts: {message}",
                    unsure=_may_have_succeeded(call) or not problem.undone,
                )
            else:
                pause = _pause(rng, tried[call.pk], problem.after)
                _put_back(call, message, after=pause, undone=problem.undone)
            if problem.final:
                stopped = message
                break
        if progress is not None:
            left = CrowdCall.objects.filter(study=study, state__in=UNDER_WAY).count()
            progress(done / max(1, done + left), f"{done} done, {left} to go")
    waiting = CrowdCall.objects.filter(study=study, state__in=UNDER_WAY).count()
    return DeliveryResult(done=done, parked=parked, waiting=waiting, stopped=stopped)


def _lacking_funds(study: Study, backend: CrowdBackend) -> str:
    """Return why the balance does not cover what waits; "" if it does or is unknown."""
    calls = at_crowd(CrowdCall, study).filter(kind__in=COSTS)
    fresh = calls.filter(state=CrowdCall.State.WAITING, first_started_at__isnull=True)
    wanted = fresh.aggregate(cents=Sum("reserved_cents"))["cents"] or 0
    if not wanted:
        return ""
    try:
        balance = backend.fetch_balance(study.platform)
    except TryLater as problem:
        return f"The account's balance could not be asked: {problem}"
    if balance is None or balance >= wanted:
        return ""
    currency = design_of(study).currency
    return (
        f"The account at {backend.title} holds {spell_cents(balance, currency)}, and what waits costs "
        f"{spell_cents(wanted, currency)}: none "
        "of it was begun."
    )


def _next_call(study: Study, tried: Counter[int], skipped: tuple[str, ...]) -> CrowdCall | None:
    now = timezone.now()
    spent = [pk for pk, times in tried.items() if times >= TRIES]
    calls = CrowdCall.objects.filter(_open(now), study=study, platform=study.platform)
    calls = calls.exclude(pk__in=spent).exclude(kind__in=skipped).select_related("publication", "session")
    due = calls.filter(next_at__lte=now).order_by("pk").first()
    if due is not None:
        return due
    return calls.filter(next_at__lte=now + timedelta(seconds=LONGEST_WAIT)).order_by("next_at").first()


def _open(now: datetime) -> Q:
    """Select calls that wait, or whose runner started long ago and is presumed dead."""
    lost = now - timedelta(seconds=settings.CROWD_CALL_SECONDS)
    return Q(state=CrowdCall.State.WAITING) | Q(state=CrowdCall.State.STARTED, started_at__lte=lost)


def _start(call: CrowdCall) -> bool:
    """Mark the call as started before the crowd is asked, so that it never looks untried."""
    now = timezone.now()
    moved = CrowdCall.objects.filter(_open(now), pk=call.pk).update(
        state=CrowdCall.State.STARTED,
        started_at=now,
        first_started_at=Coalesce("first_started_at", now),
        attempts=F("attempts") + 1,
    )
    if moved:
        call.refresh_from_db()
    return bool(moved)


def _put_back(call: CrowdCall, problem: str, *, after: float, undone: bool) -> None:
    """Put the call back for later. If it was certainly not done, it counts as never started."""
    _own_attempt(call).update(
        state=CrowdCall.State.WAITING,
        problem=problem[:1000],
        next_at=timezone.now() + timedelta(seconds=after),
        first_started_at=call.first_started_at if _may_have_succeeded(call) or not undone else None,
    )


def _own_attempt(call: CrowdCall) -> QuerySet[CrowdCall]:
    """Select the call unless another runner has taken it since."""
    return CrowdCall.objects.filter(pk=call.pk, state=CrowdCall.State.STARTED, started_at=call.started_at)


def _may_have_succeeded(call: CrowdCall) -> bool:
    return call.first_started_at != call.started_at


def _pause(rng: random.Random, times: int, requested: float) -> float:
    longest = min(60.0, settings.CROWD_BACKOFF_SECONDS * 2.0**times)
    return max(requested, rng.uniform(0.0, longest))


@transaction.atomic
def finish_call(*, call: CrowdCall, answer: dict[str, Any]) -> bool:
    """End a call that the crowd carried out, even a failed one. Return False if another runner ended it.

    Raises:
        OverBudget: its reservation was released when it failed, and is not left; nothing changes.
    """
    # The effect moves the reservation before the row may be done (a_call_that_is_done_keeps_no_money).
    locked = CrowdCall.objects.select_for_update().filter(pk=call.pk, state__in=UNDECIDED_CALLS).first()
    if locked is None:
        return False
    locked.answer = answer
    apply_success(locked)
    ended = CrowdCall.objects.filter(pk=call.pk).update(
        state=CrowdCall.State.DONE, done_at=timezone.now(), answer=answer, problem="", reserved_cents=0
    )
    return bool(ended)


@transaction.atomic
def _park(call: CrowdCall, problem: str, *, unsure: bool = False) -> int:
    """Mark the call failed and release its reservation, or indeterminate and keep it."""
    parked = _own_attempt(call).update(
        state=CrowdCall.State.FAILED,
        problem=problem[:1000] or "The crowd gave no reason.",
        answer={**call.answer, **({"unsure": True} if unsure else {})},
    )
    if parked and not unsure:
        apply_failure(call)
    return parked


@transaction.atomic
def retry_call(*, call: CrowdCall, by: User | None = None) -> CrowdCall:
    """Retry a failed call with a new reservation; the same key makes this safe.

    What a closed study never put up is put up by opening it again.
    """
    withdrawn = call.publication is not None and call.publication.state == Publication.State.WITHDRAWN
    if withdrawn and call.study.state != Study.State.OPEN:
        raise WrongState(
            "Nothing was changed: the study is not open; open it, which publishes what is missing."
        )
    _start_again(call, "Nothing was changed: only a failed call can be tried again.", by)
    message = f"A failed call is tried again: {call.kind}."
    note_event(study=call.study, what="call-retried", sentence=message, by=by, call=call.pk)
    return call


@transaction.atomic
def resolve_as_done(*, call: CrowdCall, by: User | None = None) -> CrowdCall:
    """Resolve an indeterminate call as done and spend its reservation. For a publish, a sync finds the outcome."""
    if call.kind == Ability.PUBLISH:
        raise WrongState(
            "Nothing was changed: ask for the publication again; what stands there already is found."
        )
    # The effect moves the reservation before the row may be done (a_call_that_is_done_keeps_no_money).
    parked = CrowdCall.objects.select_for_update().filter(pk=call.pk, state=CrowdCall.State.FAILED).first()
    if parked is None:
        raise WrongState("Nothing was changed: only a failed call can be marked as done.")
    apply_success(parked)
    CrowdCall.objects.filter(pk=call.pk).update(
        state=CrowdCall.State.DONE, done_at=timezone.now(), reserved_cents=0
    )
    _note(parked, "it was done", by)
    parked.refresh_from_db()
    return parked


@transaction.atomic
def resolve_as_not_done(*, call: CrowdCall, by: User | None = None) -> CrowdCall:
    refusal = "Nothing was changed: only a failed call can be marked as not done."
    _start_again(call, refusal, by, answer={})
    _note(call, "it was not done, so it is asked for again", by)
    return call


def _start_again(call: CrowdCall, refusal: str, by: User | None, **changes: object) -> None:
    moved = CrowdCall.objects.filter(pk=call.pk, state=CrowdCall.State.FAILED).update(
        state=CrowdCall.State.WAITING, next_at=timezone.now(), attempts=0, **changes
    )
    if not moved:
        raise WrongState(refusal)
    call.refresh_from_db()
    cents = int(call.payload.get("cents", 0))
    if cents and not call.reserved_cents:
        reserve_for_call(call=call, cents=cents, by=by)


def _note(call: CrowdCall, outcome: str, by: User | None) -> None:
    note_event(
        study=call.study,
        what="looked",
        sentence=f"Somebody looked at {call.platform} after the call {call.key}: {outcome}.",
        by=by,
        call=call.pk,
    )


@transaction.atomic
def give_qualification(
    *, study: Study, workers: Collection[Worker], name: str, value: int = 1, by: User | None = None
) -> None:
    """Give people a qualification, or take it away with the value 0, here and at their crowd.

    Before the study is first opened, its crowd hears of it on publishing.
    """
    name = name.strip()
    if not is_qualification(name):
        raise WrongState(
            f"Nobody was qualified: {name!r} is no name of a qualification; expected letters, digits, dots, hyphens "
            "and underscores, 80 at most."
        )
    passes_on = Ability.QUALIFY in backend_of(study).can
    if passes_on and not value and not study.platform:
        _refuse_to_take_away(study, workers, name)
    for worker in workers:
        _record(worker, name, value)
        if passes_on and worker.platform and worker.platform == study.platform:
            ask_to_qualify(study=study, worker=worker, qualification=name, value=value, by=by)
    people = "One worker" if len(workers) == 1 else f"{len(workers)} workers"
    message = f"{people} {'got' if value else 'lost'} the qualification {name}."
    note_event(study=study, what="qualified", sentence=message, by=by, qualification=name, value=value)


def _refuse_to_take_away(study: Study, workers: Collection[Worker], name: str) -> None:
    """Raise WrongState if the crowd may know of the qualification, as it hears of changes through an opened study."""
    have = Qualification.objects.filter(name=name, worker__in=workers).values("worker__platform")
    other = Study.objects.filter(platform__in=have).exclude(platform="").order_by("-pk").first()
    if other is not None:
        raise WrongState(
            f"Nobody lost the qualification {name}: study {study.slug!r} was not opened yet, and its crowd may have "
            f"heard of it. Take it away on the page of a study that was opened there, such as {other.slug!r}."
        )


def _record(worker: Worker, name: str, value: int) -> None:
    if value:
        Qualification.objects.get_or_create(worker=worker, name=name)
    else:
        Qualification.objects.filter(worker=worker, name=name).delete()


@transaction.atomic
def people_by_ids(*, study: Study, ids: Collection[str]) -> list[Worker]:
    """Return the workers with these ids at the study's crowd; add those who never came."""
    backend = backend_for(design_of(study))
    if not backend.sends_people:
        raise WrongState("Nobody was qualified: people who join by the link have names; give their names.")
    wrong = next((raw for raw in ids if not AN_ID.fullmatch(raw)), None)
    if wrong is not None:
        raise WrongState(f"Nobody was qualified: {wrong[:60]!r} is no id of a person at {backend.title}.")
    platform = study.platform or backend.platform(design_of(study))
    workers = []
    for raw in ids:
        worker, _created = Worker.objects.get_or_create(
            source=Worker.Source.CROWD, platform=platform, name=pseudonym(platform, raw)
        )
        RawId.objects.get_or_create(
            worker=worker, session=None, name=backend.person_of(design_of(study)), defaults={"value": raw}
        )
        workers.append(worker)
    return workers


def grant(*, assignment: Assignment) -> None:
    """Give the submitter the qualification that the study grants, within the transaction of the submission."""
    study = assignment.study
    name = design_of(study).workers.grants
    worker = assignment.worker
    if not worker.is_person or Qualification.objects.filter(worker=worker, name=name).exists():
        return
    _record(worker, name, 1)
    if Ability.QUALIFY in backend_of(study).can and worker.platform:
        ask_to_qualify(study=study, worker=worker, qualification=name)
