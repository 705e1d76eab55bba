"""Approve and reject finished work, answer appeals, and adjudicate disputed units.

Judgments are not changed. In the consensus, an adjudicator's decision replaces the votes until it is withdrawn.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from annotation.errors import AnswerProblem
from annotation.models import (
    Adjudication,
    AppealNote,
    Assignment,
    Case,
    CrowdCall,
    CrowdSession,
    Exclusion,
    Judgment,
    Worker,
)
from annotation.models.assignments import AssignmentQuerySet
from annotation.money.limits import commit_as_one_order
from annotation.money.payments import ENDED_STATES, decide_session
from annotation.quality.controls import ControlTally, control_tallies, records_from_tallies
from annotation.quality.detectors import RULES, describe_evidence
from annotation.work.sheet.units import PageUnit
from common.errors import ObjectNotFound, WrongState
from judgments.access.rights import RIGHTS, Right
from judgments.access.study_log import note_event
from judgments.drawing.draws import rng_for
from judgments.kinds import KINDS
from judgments.models import Study, StudyRole, Unit
from judgments.studies.designs import design_of, kind_of

LONGEST_REASON = 500
MOST_ASSIGNMENTS_LOGGED = 1_000  # assignments named in a log entry
# statuses of sessions that ended before their last page
ABANDONED_STATUSES = (
    CrowdSession.Status.RETURNED,
    CrowdSession.Status.TIMED_OUT,
    CrowdSession.Status.SCREENED_OUT,
)
LONGEST_NOTE = 2000
MOST_NOTES_OF_A_WORKER = 5  # notes per assignment, so that nobody can fill the table
PERMISSION = "annotation.change_adjudication"
State = Adjudication.State


def reasons_against(
    study: Study,
    workers: Collection[int],
    *,
    known: Collection[ControlTally] | None = None,
    signs: bool = False,
) -> dict[int, list[str]]:
    """Return the reasons not to approve a worker's work, by the worker's row id, for workers with any reason.

    The reasons are current exclusions, flags that were not dismissed, and accuracy below the threshold.

    Args:
        known: the workers' tallies on control items, if they are already counted.
        signs: whether to include flags that are not a proof (``only_flags``). They are shown to people, but neither
            hold back pay nor justify a rejection.
    """
    reasons: defaultdict[int, list[str]] = defaultdict(list)
    exclusions = Exclusion.objects.filter(study=study, worker__in=workers, lifted_at=None)
    for worker, why in exclusions.values_list("worker", "why"):
        reasons[worker].append(why)
    cases = Case.objects.filter(study=study, worker__in=workers).exclude(state=Case.State.DISMISSED)
    for worker, rule, evidence in cases.order_by("pk").values_list("worker", "rule", "evidence"):
        if rule in RULES and RULES[rule].only_flags and not signs:
            continue
        title = _(RULES[rule].title) if rule in RULES else rule
        reasons[worker].append(describe_evidence(rule, evidence) or f"{title}.")
    controls, kind = design_of(study).controls, kind_of(study)
    tallies = control_tallies(study, workers=workers) if known is None else known
    records = records_from_tallies(
        (tally for tally in tallies if tally.worker in workers),
        rule=controls,
        kind=kind,
    )
    for worker, record in records.items():
        if not record.used and record.seen >= controls.after:
            sentence = pgettext(
                "staff",
                "%(right)s of %(seen)s check questions were answered correctly. The study requires %(share)s %%.",
            )
            share = f"{controls.threshold * 100:g}"
            reasons[worker].append(sentence % {"right": record.right, "seen": record.seen, "share": share})
    return dict(reasons)


@commit_as_one_order
def approve_assignments(*, study: Study, assignments: Collection[UUID], by: User | None = None) -> int:
    """Approve submitted or rejected assignments; return the number of changes.

    Paid work changes only after the crowd has answered (annotation.crowds.outbox.effects), and a session changes as
    a whole.
    """
    _lock_finished(study, assignments)
    waiting = Assignment.objects.filter(pk__in=assignments, state__in=["submitted", "rejected"])
    calls = _decide_sessions(waiting, approve=True, why="", by=by)
    count = calls + waiting.filter(session=None).update(state=Assignment.State.APPROVED, reason="")
    _log_decision(study, "approved", count, assignments, by)
    return count


def assignments_without_objection(study: Study) -> list[UUID]:
    """Return submitted assignments of workers without reasons against them, oldest first.

    Assignments are left out if a call to approve or reject them is pending or was refused.
    """
    calls = CrowdCall.objects.filter(study=study, kind__in=["approve", "reject"], session__isnull=False)
    undecided = calls.exclude(state__in=ENDED_STATES)
    waiting = Assignment.objects.filter(study=study, state=Assignment.State.SUBMITTED)
    waiting = waiting.exclude(session__in=undecided.values("session"))
    # A session is decided as a whole, after it has ended.
    waiting = waiting.exclude(session__status=CrowdSession.Status.WORKING)
    rows = list(waiting.order_by("submitted_at", "pk").values_list("pk", "worker"))
    against = reasons_against(study, {worker for _, worker in rows})
    return [pk for pk, worker in rows if worker not in against]


@transaction.atomic
def approve_without_objection(*, study: Study, by: User | None = None) -> int:
    """Approve the work of workers without reasons against them; return the number of assignments.

    The other work waits for a person.
    """
    pages = assignments_without_objection(study)
    count = approve_assignments(study=study, assignments=pages, by=by)
    if count:
        note_event(
            study=study,
            what="approve",
            sentence=f"{count} pages of work were approved, which nothing speaks against.",
            by=by,
        )
    return count


@transaction.atomic
def reject_assignments(
    *, study: Study, assignments: Collection[UUID], reason: str, by: User | None = None
) -> int:
    """Reject submitted assignments with a reason for the worker; see ``approve_assignments``."""
    states = _lock_finished(study, assignments)
    paid = [pk for pk, state in states.items() if state == Assignment.State.APPROVED]
    if paid:
        raise WrongState(
            pgettext("staff", "Nothing was changed: assignment %(paid)s is already approved.")
            % {"paid": paid[0]}
        )
    waiting = Assignment.objects.filter(pk__in=assignments, state=Assignment.State.SUBMITTED)
    calls = _decide_sessions(waiting, approve=False, why=reason, by=by)
    count = calls + waiting.filter(session=None).update(
        state=Assignment.State.REJECTED, reason=reason.strip()[:LONGEST_REASON]
    )
    _log_decision(study, "rejected", count, assignments, by, why=reason.strip())
    return count


def _log_decision(
    study: Study, what: str, count: int, assignments: Collection[UUID], by: User | None, why: str = ""
) -> None:
    if count:
        pages = "One page of work was" if count == 1 else f"{count} pages of work were"
        chosen = [str(pk) for pk in assignments][:MOST_ASSIGNMENTS_LOGGED]
        note_event(study=study, what=what, sentence=f"{pages} {what}.", why=why, by=by, assignments=chosen)


@transaction.atomic
def reject_with_findings(*, study: Study, assignments: Collection[UUID], by: User | None = None) -> int:
    """Reject assignments. The message to each worker lists the reasons against the worker."""
    _lock_finished(study, assignments)
    workers = dict(Assignment.objects.filter(pk__in=assignments).values_list("pk", "worker"))
    with translation.override("en"):  # the reasons are stored, and sent to the crowd
        against = reasons_against(study, set(workers.values()))
    blameless = [worker for worker in workers.values() if worker not in against]
    if blameless:
        name = Worker.objects.get(pk=blameless[0]).name
        raise WrongState(
            pgettext(
                "staff",
                "Nothing was changed: there is no objection to the work of %(name)s; write the reason "
                "yourself.",
            )
            % {"name": name}
        )
    count = 0
    for worker in dict.fromkeys(workers.values()):
        of_worker = [pk for pk, owner in workers.items() if owner == worker]
        count += reject_assignments(
            study=study, assignments=of_worker, reason=" ".join(against[worker]), by=by
        )
    return count


def _decide_sessions(work: AssignmentQuerySet, *, approve: bool, why: str, by: User | None) -> int:
    """Decide on each paid session as a whole. Assignments of an abandoned session are decided one by one."""
    unfinished = work.filter(session__status__in=ABANDONED_STATUSES)
    state = Assignment.State.APPROVED if approve else Assignment.State.REJECTED
    alone = unfinished.update(state=state, reason="" if approve else why.strip()[:LONGEST_REASON])
    whole = work.filter(session__isnull=False).exclude(session__status__in=ABANDONED_STATUSES)
    if approve:
        whole = whole.exclude(session__status=CrowdSession.Status.WORKING)
    pages = list(whole.values_list("session", flat=True))
    for session in CrowdSession.objects.filter(pk__in=pages).select_related("study", "worker").order_by("pk"):
        decide_session(session=session, approve=approve, why=why, by=by)
    return len(pages) + alone


def _lock_finished(study: Study, assignments: Collection[UUID]) -> dict[UUID, str]:
    finished = Assignment.objects.filter(study=study, pk__in=assignments).finished()
    states = dict(finished.select_for_update().order_by("pk").values_list("pk", "state"))
    missing = [pk for pk in assignments if pk not in states]
    if missing:
        raise WrongState(
            pgettext("staff", "Nothing was changed: study %(slug)r has no submitted assignment %(missing)s.")
            % {"missing": missing[0], "slug": study.slug}
        )
    return states


@transaction.atomic
def store_appeal(*, assignment: Assignment, worker: Worker, text: str) -> AppealNote:
    """Store a worker's appeal against a rejection. Sending the same text again changes nothing."""
    if assignment.worker_id != worker.pk:
        raise ObjectNotFound(pgettext("staff", "There is no such assignment."))
    if assignment.state != Assignment.State.REJECTED:
        raise WrongState(_("Nothing was sent: this page of work was not rejected."))
    checked = _checked_note(text)
    notes = AppealNote.objects.filter(assignment=assignment, from_worker=True)
    same = notes.filter(text=checked).first()
    if same is not None:
        return same
    if notes.count() >= MOST_NOTES_OF_A_WORKER:
        raise WrongState(
            _(
                "Nothing was sent: you cannot send more messages about this page of work. Your earlier messages "
                "are kept, and somebody will read them."
            )
        )
    return AppealNote.objects.create(assignment=assignment, text=checked, from_worker=True)


@transaction.atomic
def store_appeal_note(*, assignment: Assignment, text: str, by: User) -> AppealNote:
    note = AppealNote.objects.create(assignment=assignment, text=_checked_note(text), by=by)
    note_event(
        study=assignment.study,
        what="appeal-note",
        sentence=f"A note on the work of {assignment.worker}: {note.text[:200]}",
        by=by,
        assignment=str(assignment.pk),
    )
    return note


def _checked_note(text: str) -> str:
    checked = text.strip()
    if not checked or "\x00" in checked:
        raise WrongState(_("Nothing was sent: please write a sentence."))
    return checked[:LONGEST_NOTE]


def adjudicators(study: Study) -> QuerySet[User]:
    backend = "django.contrib.auth.backends.ModelBackend"
    all_reviewers = User.objects.with_perm(PERMISSION, backend=backend).values("pk")
    reviewing = [role for role, rights in RIGHTS.items() if Right.REVIEW in rights]
    study_reviewers = StudyRole.objects.filter(study=study, role__in=reviewing).values("user")
    chosen = User.objects.filter(
        Q(pk__in=all_reviewers) | Q(pk__in=study_reviewers), is_staff=True, is_active=True
    )
    return chosen.order_by("username")


def may_adjudicate(user: User) -> bool:
    return user.has_perm(PERMISSION) or Adjudication.objects.filter(adjudicator=user).exists()


def can_be_adjudicated(study: Study) -> bool:
    return not KINDS[study.protocol].is_open


@transaction.atomic
def send_to_adjudicator(
    *, study: Study, units: Collection[int], adjudicator: User, by: User | None = None
) -> list[Adjudication]:
    """Send units (row ids) to ``adjudicator``. Units that already wait or are decided are skipped."""
    rows = list(Unit.objects.filter(study=study, pk__in=units, control=False).order_by("position"))
    if not rows or len(rows) != len(set(units)):
        raise WrongState(
            pgettext(
                "staff",
                "Nothing was sent: choose one or more items of this study that are not check questions.",
            )
        )
    if not can_be_adjudicated(study):
        raise WrongState(
            pgettext(
                "staff", "Nothing was sent: one person cannot decide answers of the protocol %(protocol)s."
            )
            % {"protocol": study.protocol}
        )
    already_sent = set(
        Adjudication.objects.filter(unit__in=rows)
        .exclude(state=State.WITHDRAWN)
        .values_list("unit_id", flat=True)
    )
    votes, kind, seed = _count_votes(study, rows), KINDS[study.protocol], design_of(study).seed
    new = []
    for unit in rows:
        if unit.pk in already_sent:
            continue
        rng = rng_for(seed, f"adjudication {unit.key} {adjudicator.get_username()}")
        sides = kind.sides.draw([unit], rng)
        new.append(
            Adjudication(
                study=study,
                unit=unit,
                adjudicator=adjudicator,
                side=sides[0] if sides else None,
                votes=votes.get(unit.pk, {}),
                sent_by=by,
            )
        )
    try:
        with transaction.atomic():
            sent = Adjudication.objects.bulk_create(new)
    except IntegrityError:
        raise WrongState(
            pgettext("staff", "Nothing was sent: somebody sent one of these items at the same moment.")
        ) from None
    if sent:
        note_event(
            study=study,
            what="adjudication-sent",
            sentence=f"{len(sent)} unit{'' if len(sent) == 1 else 's'} sent to {adjudicator.get_username()}.",
            by=by,
            units=[adjudication.unit.key for adjudication in sent],
        )
    return sent


def _count_votes(study: Study, units: Collection[Unit]) -> dict[int, dict[str, int]]:
    rows = Judgment.objects.current().filter(assignment__study=study, unit__in=units)
    votes: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for unit, value in rows.values_list("unit_id", "value"):
        votes[unit][str(value)] += 1
    return {unit: dict(sorted(count.items())) for unit, count in votes.items()}


def waiting_adjudications(user: User) -> QuerySet[Adjudication]:
    return Adjudication.objects.filter(adjudicator=user, state=State.WAITING)


def own_adjudication(*, user: User, pk: int) -> Adjudication:
    rows = Adjudication.objects.exclude(state=State.WITHDRAWN).select_related(
        "study__dataset", "unit__item", "unit__reference", "unit__first", "unit__second"
    )
    adjudication = rows.filter(pk=pk, adjudicator=user).first()
    if adjudication is None:
        raise ObjectNotFound(pgettext("staff", "There is no such item for you to decide."))
    return adjudication


def page_unit_of(adjudication: Adjudication) -> PageUnit:
    return PageUnit(position=1, unit=adjudication.unit, side=adjudication.side)


@transaction.atomic
def decide_adjudication(*, adjudication: Adjudication, answer: Any, reason: str = "") -> Adjudication:
    """Store the adjudicator's answer, which is in the order shown to them. A repeated call changes nothing."""
    design = design_of(adjudication.study)
    kind = KINDS[adjudication.study.protocol].for_design(design)
    try:
        checked = kind.clean_answer(answer, unit=adjudication.unit, design=design)
    except ValueError as error:
        raise AnswerProblem(_("Nothing was decided: %(problem)s.") % {"problem": error}) from None
    value = kind.outcome_of(kind.sides.to_canonical(checked, side=adjudication.side))
    stored_reason = reason.strip()[:LONGEST_REASON]
    moved = Adjudication.objects.filter(pk=adjudication.pk, state=State.WAITING).update(
        state=State.DECIDED, value=value, reason=stored_reason, decided_at=timezone.now()
    )
    adjudication.refresh_from_db(fields=["state", "value", "reason", "decided_at"])
    if not moved and adjudication.state == State.WITHDRAWN:
        raise WrongState(_("Your decision was not stored: the item was withdrawn."))
    if not moved and adjudication.value != value:
        raise WrongState(
            _(
                "Your new decision was not stored, because this item was already decided. The earlier "
                "decision stays."
            )
        )
    if moved:
        note_event(
            study=adjudication.study,
            what="adjudicated",
            sentence=f"Unit {adjudication.unit.key} was decided: {value}.",
            why=stored_reason,
            by=adjudication.adjudicator,
            unit=adjudication.unit.key,
            value=value,
        )
    return adjudication


@transaction.atomic
def withdraw_adjudication(*, study: Study, pk: int, by: User | None = None) -> Adjudication:
    """Withdraw a unit from adjudication, decided or not, so that its votes count again."""
    adjudication = Adjudication.objects.filter(study=study, pk=pk).select_related("unit").first()
    if adjudication is None:
        raise ObjectNotFound(pgettext("staff", "There is no such adjudication in this study."))
    moved = (
        Adjudication.objects.filter(pk=pk)
        .exclude(state=State.WITHDRAWN)
        .update(state=State.WITHDRAWN, withdrawn_at=timezone.now(), withdrawn_by=by)
    )
    if moved:
        sentence = f"Unit {adjudication.unit.key} was withdrawn from adjudication."
        note_event(
            study=study, what="adjudication-withdrawn", sentence=sentence, by=by, unit=adjudication.unit.key
        )
    adjudication.refresh_from_db()
    return adjudication
