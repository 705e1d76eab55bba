"""Synchronise the database with a crowd. This is safe to repeat and to run concurrently."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.crowds import BACKENDS, Ability, CrowdBackend, UnavailableBackend, backend_of
from annotation.crowds.base import CrowdPublication, RetryLater
from annotation.crowds.outbox.delivery import carry_out_calls, finish_call
from annotation.crowds.outbox.messages import ask_to_delete
from annotation.crowds.panel.people import end_abandoned_sessions
from annotation.crowds.sessions import (
    IncompleteWork,
    end_session,
    exclude_unknown_work,
    record_work,
    remove_extra_slots,
)
from annotation.models import Assignment, Budget, CrowdCall, CrowdSession, Publication, at_crowd
from annotation.money.bookings import release_screen_outs, release_slot_money
from annotation.money.ledger import OverBudget, ledger_sums, reserved_cents
from annotation.money.payments import decide_session
from annotation.quality.reviews import reasons_against
from annotation.work.slots.release import expire_overdue
from common.amounts import spell_cents
from common.errors import WrongState
from judgments.access.study_log import note_event
from judgments.jobs.queues import enqueue
from judgments.jobs.runs import Progress
from judgments.models import Job, Study
from judgments.operations import FollowUp
from judgments.studies.designs import design_of
from judgments.studies.studies import lock_study, mark_closed

Status = CrowdSession.Status
State = Publication.State
SYNC = "sync_crowd"  # the job's kind
MIN_HINT_INTERVAL = timedelta(minutes=1)  # time between two syncs started by hints
CLOSED_INTERVAL_FACTOR = 12  # factor of the usual interval in a closed study that only waits for decisions
MAX_UNREADABLE = 3  # number of unreadable external HITs after which a sync gives up
OVERRIDABLE = timedelta(days=30)  # Mechanical Turk allows to approve rejected work for this time
FULL_READ_INTERVAL = timedelta(hours=24)  # after this time, unchanged external HITs are read all the same


def ask_to_sync(*, study: Study, by: User | None = None, soonest: timedelta | None = None) -> Job | None:
    """Queue a sync. Return None if one is queued already, or the last one began within ``soonest``."""
    jobs = Job.objects.filter(kind=SYNC, args__study=study.slug)
    if jobs.filter(state=Job.State.QUEUED).exists():
        return None
    if soonest is not None and jobs.filter(created_at__gt=timezone.now() - soonest).exists():
        return None
    return enqueue(kind=SYNC, args={"study": study.slug}, user=by)


def sync_if_calls_wait(study: Study, by: User | None) -> None:
    if CrowdCall.objects.filter(study=study, state=CrowdCall.State.WAITING).exists():
        ask_to_sync(study=study, by=by)


# for operations with many messages: HTTP calls do not wait, and the next sync sends the rest
SYNC_LATER = FollowUp(carry_out=lambda study: "", enqueue=sync_if_calls_wait)


def sync_what_is_due() -> list[str]:
    """Queue a sync of every study that is due for one (``CROWD_SYNC_SECONDS``); return their slugs."""
    every = timedelta(seconds=settings.CROWD_SYNC_SECONDS)
    unfinished = Publication.objects.filter(
        study=OuterRef("pk"), state__in=["planned", "published", "expired"]
    )
    calls = CrowdCall.objects.filter(study=OuterRef("pk"), state__in=["waiting", "started"])
    crowds = Study.objects.exclude(platform__in=["", "local"]).annotate(asks=Exists(calls))
    names = [backend.name for backend in BACKENDS if Ability.DELETE in backend.can]
    deletable = Q(Exists(_deletable().filter(study=OuterRef("pk"))), design__crowd__backend__in=names)
    slugs = []
    for study in crowds.filter(Exists(unfinished) | Q(asks=True) | deletable).order_by("pk"):
        pause = every if study.state == Study.State.OPEN or study.asks else every * CLOSED_INTERVAL_FACTOR
        if isinstance(backend_of(study), UnavailableBackend):
            continue
        if Job.objects.under_way().filter(kind=SYNC, args__study=study.slug).exists():
            continue
        if ask_to_sync(study=study, soonest=pause) is not None:
            slugs.append(study.slug)
    return slugs


def record_notification(*, platform: str, external_id: str) -> bool:
    """Record that an external HIT may have changed. Return False if it is unknown."""
    rows = Publication.objects.filter(platform=platform, external_id=external_id)
    publication = rows.select_related("study").first()
    if publication is None:
        return False
    rows.update(hinted_at=timezone.now())
    ask_to_sync(study=publication.study, soonest=MIN_HINT_INTERVAL)
    return True


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """A difference between the database and the crowd, or a decision for a person."""

    kind: str
    words: str
    ids: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SyncReport:
    """The result of a sync (CONTRACT.md 1)."""

    hits: int
    assignments: dict[str, int]
    budget_cents: int
    reserved_cents: int
    spent_cents: int
    discrepancies: list[Discrepancy]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def report_of(study: Study, discrepancies: Iterable[Discrepancy]) -> SyncReport:
    budget = at_crowd(Budget, study).first()
    states = Assignment.objects.filter(study=study).order_by().values_list("state").annotate(n=Count("pk"))
    publications = at_crowd(Publication, study).exclude(external_id="")
    return SyncReport(
        hits=publications.count(),
        assignments=dict(sorted(states)),
        budget_cents=budget.budget_cents if budget else 0,
        reserved_cents=budget.reserved_cents if budget else 0,
        spent_cents=budget.spent_cents if budget else 0,
        discrepancies=[*discrepancies, *_parked_calls(study), *_unconfirmed(study), *_check_books(budget)],
    )


def _parked_calls(study: Study) -> list[Discrepancy]:
    rows = at_crowd(CrowdCall, study).filter(state=CrowdCall.State.FAILED)
    return [
        Discrepancy(
            "parked",
            f"A call to {call.kind} {'has an unknown end' if call.unsure else 'was refused'} and waits for a person: "
            f"{call.problem}",
            {"call": call.key},
        )
        for call in rows
    ]


def _unconfirmed(study: Study) -> list[Discrepancy]:
    sessions = at_crowd(CrowdSession, study).select_related("worker")
    reason = "never had or took away before: they are kept apart and not paid."
    discrepancies = [
        _about_answers("apart", session, reason) for session in sessions.filter(status=Status.UNKNOWN)
    ]
    if Ability.LIST in backend_of(study).can:
        unnamed = sessions.filter(status=Status.SUBMITTED, confirmed=False)
        discrepancies += [_about_answers("unnamed", session, "does not name (yet).") for session in unnamed]
    return discrepancies


def _about_answers(kind: str, session: CrowdSession, reason: str) -> Discrepancy:
    return Discrepancy(
        kind,
        f"Answers came for assignment {session.external_id}, which the crowd {reason}",
        {"assignment": session.external_id, "worker": session.worker.name},
    )


def _check_books(budget: Budget | None) -> list[Discrepancy]:
    if budget is None:
        return []
    spelled = partial(spell_cents, currency=budget.currency)
    discrepancies = []
    if budget.over_cents:
        message = f"The crowd paid {spelled(budget.over_cents)} beyond the budget: raise it."
        discrepancies.append(Discrepancy("money", message))
    unmatched = budget.entries.filter(what__in=["unmatched", "matched"]).aggregate(cents=Sum("spent_cents"))
    if unmatched["cents"]:
        message = f"The crowd paid {spelled(unmatched['cents'])} for work that does not count here."
        discrepancies.append(Discrepancy("paid-there", message))
    reserved, spent = ledger_sums(budget)
    held_cents = reserved_cents(budget)
    if (reserved, spent) == (budget.reserved_cents, budget.spent_cents) and held_cents == reserved:
        return discrepancies
    return [
        *discrepancies,
        Discrepancy(
            "books",
            f"The ledger holds {spelled(reserved)} reserved and {spelled(spent)} spent, the budget "
            f"{spelled(budget.reserved_cents)} and {spelled(budget.spent_cents)}, and places and calls keep "
            f"{spelled(held_cents)}.",
        ),
    ]


def sync_with_crowd(
    *,
    study: Study,
    thorough: bool = False,
    wait: Callable[[float], None] = time.sleep,
    progress: Progress | None = None,
) -> SyncReport:
    """Synchronise a study with its crowd. If ``thorough``, read external HITs even if they seem unchanged."""
    backend = backend_of(study)
    discrepancies: list[Discrepancy] = []
    if backend.sends_people and study.platform:
        discrepancies += _carry_out(study, wait, progress)
        if Ability.LIST in backend.can:
            comparison = _Comparison(study, backend, thorough, discrepancies)
            try:
                comparison.run(progress)
            except RetryLater as problem:
                comparison.note("not-looked-at", f"Not all could be looked at: {problem}")
        else:
            end_abandoned_sessions(study=study)
        approve_what_is_due(study=study)
        delete_what_is_over(study=study)
        discrepancies += _carry_out(study, wait, progress)
    return report_of(study, discrepancies)


def _carry_out(study: Study, wait: Callable[[float], None], progress: Progress | None) -> list[Discrepancy]:
    carried = carry_out_calls(study=study, wait=wait, progress=progress)
    stopped = [Discrepancy("stopped", carried.stop_reason)] if carried.stop_reason else []
    refused = close_if_all_refused(study)
    return stopped + ([Discrepancy("refused", refused)] if refused else [])


@transaction.atomic
def close_if_all_refused(study: Study) -> str:
    """Close an open study if the crowd refused all of its publications. Return the reason; "" if it stays open."""
    lock_study(study)
    rows = at_crowd(Publication, study)
    calls = at_crowd(CrowdCall, study).filter(kind=Ability.PUBLISH, state=CrowdCall.State.FAILED)
    refused = calls.order_by("pk").first()
    if study.state != Study.State.OPEN or refused is None:
        return ""
    if rows.exclude(state=Publication.State.WITHDRAWN).exists():
        return ""
    sentence = _(
        "Study %(slug)r was not opened, because its crowd accepted none of its pages of work. The "
        "first error message from the crowd: %(answer)s"
    )
    sentence %= {"slug": study.slug, "answer": refused.problem}
    mark_closed(study=study)
    note_event(study=study, what="closed", sentence="Closed: its crowd refused every publication.")
    return sentence


@dataclass(slots=True)
class _Comparison:
    """The comparison of all external HITs of a study with those at its crowd."""

    study: Study
    backend: CrowdBackend
    full: bool
    discrepancies: list[Discrepancy] = field(default_factory=list)
    asked_at: datetime = field(init=False)

    def note(self, kind: str, sentence: str, **ids: str) -> None:
        self.discrepancies.append(Discrepancy(kind, sentence, ids))

    def run(self, progress: Progress | None) -> None:
        platform = Publication.objects.filter(platform=self.study.platform)
        for external_id in self.backend.ids_with_news(self.study.platform):  # the queue serves all studies
            platform.filter(external_id=external_id).update(hinted_at=timezone.now())
        expire_overdue(study=self.study)
        known = list(platform.filter(study=self.study, state__in=[State.PUBLISHED, State.EXPIRED]))
        self.asked_at = timezone.now()
        listed = list(self.backend.fetch_publications(self.study, known=known))
        unread = 0
        for number, reported in enumerate(listed):
            publication = self.publication_of(reported)
            if publication is None or (
                publication.state == State.FINISHED
                and publication.seen == dict(reported.facts)
                and not self.full
            ):
                continue
            try:
                self.sync_publication(publication, reported)
                unread = 0
            except RetryLater as problem:  # the next sync reads it again, since it is not marked as read
                unread += 1
                name = publication.external_id
                self.note("not-looked-at", f"{name}: {problem}", publication=name)
                if unread == MAX_UNREADABLE:
                    break
            if progress is not None:
                progress((number + 1) / len(listed), f"{number + 1} of {len(listed)} looked at")
        reported_ids = {reported.external_id for reported in listed}
        for publication in known:
            if publication.external_id not in reported_ids:
                cents = spell_cents(
                    publication.held_slots * publication.price_cents, design_of(self.study).currency
                )
                self.note(
                    "only-here",
                    f"{publication.external_id} is published by our rows, and {self.backend.title} does not have it; "
                    f"{cents} stay reserved for it.",
                    publication=publication.external_id,
                )
        remove_extra_slots(study=self.study)

    def publication_of(self, there: CrowdPublication) -> Publication | None:
        """Return the row of an external HIT; None if it has no row here.

        If a call with unknown outcome created the HIT, the call is marked as done.
        """
        rows, name = at_crowd(Publication, self.study), there.external_id
        publication = rows.filter(external_id=name).first()
        if publication is not None:
            return publication
        publication = rows.filter(token=there.token).first()
        if publication is None:
            self.note(
                "only-there",
                f"{name} was put up for this study, and our rows do not have it: it was put up by another copy of "
                "this database. Nobody's work on it is taken.",
                publication=name,
            )
            return None
        first = publication.external_id
        if first:
            sentence = f"{name} was put up a second time for what {first} is; close it by hand."
            self.note("twice-there", sentence, publication=name, first=first)
            return None
        call = CrowdCall.objects.get(key=publication.token)
        expires_at = there.expires_at.isoformat() if there.expires_at else ""
        answer = {"external_id": name, "group_id": there.group_id, "expires_at": expires_at}
        try:
            finish_call(call=call, answer=answer)
        except OverBudget as problem:
            sentence = f"{name} was put up, and there is no money for it here: {problem}"
            self.note("only-there", sentence, publication=name)
            return None
        publication.refresh_from_db()
        return publication if publication.external_id else None

    def sync_publication(self, publication: Publication, there: CrowdPublication) -> None:
        self.compare(publication, there)
        began = timezone.now()
        # read the work before excluding unconfirmed work
        if self.full or _has_news(publication, there) or (there.is_over and _has_unconfirmed(publication)):
            for work in self.backend.fetch_work(publication):
                try:
                    record_work(backend=self.backend, publication=publication, work=work)
                except IncompleteWork as problem:
                    name = self.backend.session_id(publication.platform, work.external_id)
                    sentence = f"Assignment {name} of {publication.external_id} was submitted at the crowd. {problem}"
                    self.note("no-answers", sentence, publication=publication.external_id, assignment=name)
            _end_superseded(publication)
        if there.is_over and there.readable:
            _end(publication, began_before=began, asked_at=self.asked_at)
        Publication.objects.filter(pk=publication.pk).update(seen=dict(there.facts), looked_at=began)

    def compare(self, publication: Publication, there: CrowdPublication) -> None:
        name, title = publication.external_id, self.backend.title
        spelled = partial(spell_cents, currency=design_of(publication.study).currency)
        if not there.readable:
            sentence = f"{name} was deleted at {title}; what was submitted is not shown there."
            self.note("deleted-there", sentence, publication=name)
        if there.reward_cents is not None and there.reward_cents != publication.reward_cents:
            pay = f"{spelled(there.reward_cents)} at {title}, and {spelled(publication.reward_cents)}"
            self.note("money", f"{name} pays {pay} by our rows.", publication=name)
        extensions = publication.calls.filter(kind=Ability.EXTEND).exclude(
            state__in=[CrowdCall.State.DONE, CrowdCall.State.DROPPED]
        )
        if there.places != publication.places and not extensions.exists():
            people = f"{there.places} people at {title}, and for {publication.places}"
            self.note("places", f"{name} is for {people} by our rows.", publication=name)


def _has_news(publication: Publication, there: CrowdPublication) -> bool:
    last = publication.looked_at
    if last is None or publication.seen != dict(there.facts) or timezone.now() - last > FULL_READ_INTERVAL:
        return True
    return publication.hinted_at is not None and publication.hinted_at >= last


def _has_unconfirmed(publication: Publication) -> bool:
    sessions = CrowdSession.objects.filter(publication=publication, confirmed=False)
    return sessions.filter(status__in=[Status.WORKING, Status.SUBMITTED]).exists()


def _end_superseded(publication: Publication) -> None:
    """End unconfirmed sessions whose id now belongs to another worker, since the crowd took their work back."""
    sessions = CrowdSession.objects.filter(publication=publication)
    named = sessions.filter(confirmed=True).values("external_id")
    for session in sessions.filter(confirmed=False, external_id__in=named):
        if session.status == Status.WORKING:
            end_session(session=session, status=Status.RETURNED)
        elif session.status == Status.SUBMITTED:
            exclude_unknown_work(session=session)


def _end(publication: Publication, *, began_before: datetime, asked_at: datetime) -> None:
    """End an external HIT that is over, and exclude work that the crowd did not confirm."""
    grace = began_before - timedelta(seconds=settings.CROWD_GRACE_SECONDS)
    unnamed = CrowdSession.objects.filter(publication=publication, confirmed=False)
    for session in unnamed.filter(status=Status.WORKING, arrived_at__lte=grace):
        end_session(session=session, status=Status.TIMED_OUT)
    waiting = 0
    for session in unnamed.filter(status=Status.SUBMITTED):
        pages = Assignment.objects.filter(session=session)
        if pages.filter(submitted_at__gt=grace).exists():  # the crowd may not list it yet (ParlAI#2957)
            waiting += 1
        else:
            exclude_unknown_work(session=session)
    _release_open_slots(publication, waiting, asked_at)


@transaction.atomic
def _release_open_slots(publication: Publication, waiting: int, asked_at: datetime) -> None:
    """Release the money of slots that nobody will fill. Mark the publication as finished once all work is decided.

    Args:
        waiting: number of slots that may still turn out to be filled.
        asked_at: when the crowd reported that the publication was over. A publication that was extended since then
            is left unchanged.
    """
    locked = Publication.objects.select_for_update().get(pk=publication.pk)
    if locked.state not in (State.PUBLISHED, State.EXPIRED):
        return
    extending = Q(state__in=["waiting", "started"]) | Q(done_at__gte=asked_at)
    if CrowdCall.objects.filter(extending, publication=locked, kind=Ability.EXTEND).exists():
        return
    undecided = locked.sessions.filter(confirmed=True, status=Status.SUBMITTED).count() + waiting
    free = locked.held_slots - undecided
    if free > 0:
        release_slot_money(publication=locked, places=free)
        locked.refresh_from_db()
    finished = not locked.held_slots and not undecided
    if finished:
        release_screen_outs(publication=locked)
    locked.state = State.FINISHED if finished else State.EXPIRED
    locked.save(update_fields=["state"])


def approve_what_is_due(*, study: Study) -> int:
    """Write messages that approve work that nothing speaks against, once the design's waiting time is over.

    Return their number.
    """
    hours = design_of(study).crowd.approve_after_hours
    if not hours or Ability.APPROVE not in backend_of(study).can:
        return 0
    asked_for = CrowdCall.objects.filter(study=study, kind__in=[Ability.APPROVE, Ability.REJECT])
    asked_for = asked_for.filter(session__isnull=False).exclude(state=CrowdCall.State.DROPPED)
    waiting = (
        at_crowd(CrowdSession, study)
        .filter(
            confirmed=True,
            status=Status.SUBMITTED,
            submitted_at__lte=timezone.now() - timedelta(hours=hours),
        )
        .exclude(pk__in=asked_for.values("session"))
    )
    answered = waiting.annotate(
        pages=Count("assignments"),
        fine=Count("assignments", filter=Q(assignments__state=Assignment.State.SUBMITTED)),
    ).filter(pages__gt=0, fine__gt=0)
    sessions = list(answered.select_related("study", "worker", "publication").order_by("pk"))
    against = reasons_against(study, {session.worker_id for session in sessions})
    count = 0
    for session in sessions:
        if session.worker_id in against or not _has_only_submitted(session):
            continue
        try:
            decide_session(session=session, approve=True)
        except WrongState:  # somebody decided meanwhile
            continue
        count += 1
    if count:
        note_event(
            study=study,
            what="approve",
            sentence=f"{count} pieces of work are approved {hours} hours after they were submitted.",
            count=count,
        )
    return count


def delete_what_is_over(*, study: Study) -> int:
    """Write messages that delete external HITs that are no longer needed; return their number."""
    if Ability.DELETE not in backend_of(study).can:
        return 0
    with transaction.atomic():
        publications = list(
            _deletable().filter(study=study, platform=study.platform).select_related("study").order_by("pk")
        )
        for publication in publications:
            ask_to_delete(publication=publication)
    return len(publications)


def _deletable() -> QuerySet[Publication]:
    """Return finished external HITs that can be deleted.

    They are full, or their study is closed, and all of their work and money is stored. HITs with a rejection are
    kept as long as the crowd allows the rejection to be overridden.
    """
    calls = CrowdCall.objects.filter(Q(publication=OuterRef("pk")) | Q(session__publication=OuterRef("pk")))
    under_way = calls.filter(state__in=["waiting", "started", "parked"])
    sessions = CrowdSession.objects.filter(publication=OuterRef("pk"))
    rejected = sessions.filter(status=Status.REJECTED, decided_at__gt=timezone.now() - OVERRIDABLE)
    answers = Assignment.objects.filter(session=OuterRef("pk"), submitted_at__isnull=False)
    return (
        Publication.objects.filter(state=State.FINISHED)
        .exclude(external_id="")
        .annotate(decided=Count("sessions", filter=~Q(sessions__booked="")))
        .filter(
            Q(study__state=Study.State.CLOSED) | Q(decided__gte=F("places")),
            ~Exists(calls.filter(kind=Ability.DELETE)),
            ~Exists(under_way),
            ~Exists(rejected),
            ~Exists(sessions.filter(~Exists(answers), confirmed=True)),
        )
    )


def _has_only_submitted(session: CrowdSession) -> bool:
    states = set(session.assignments.values_list("state", flat=True))
    ended = {Assignment.State.RETURNED, Assignment.State.EXPIRED}
    return states - ended == {Assignment.State.SUBMITTED}
