"""Approve and reject finished work, with reasons and appeals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import AppealNote, Assignment, Case, CrowdSession, Exclusion, Worker
from annotation.models.assignments import AssignmentQuerySet
from annotation.money.payments import decide_session
from annotation.quality.controls import ControlTally, control_tallies, tallied_records
from annotation.quality.detectors import RULES
from common.errors import NotThere, WrongState
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.log import note_event
from judgments.studies.studies import design_of


def reasons_against(
    study: Study, workers: Collection[int], *, known: Collection[ControlTally] | None = None
) -> dict[int, list[str]]:
    """Return sentences about what speaks against each worker (row id), if anything.

    That is a current exclusion, flags that were not dismissed, and accuracy below the threshold after the least number
    of control items. Make three queries for any number of workers.

    Args:
        known: answers on control items, if already counted.
    """
    found: defaultdict[int, list[str]] = defaultdict(list)
    standing = Exclusion.objects.filter(study=study, worker__in=workers, lifted_at=None)
    for worker, why in standing.values_list("worker", "why"):
        found[worker].append(why)
    cases = Case.objects.filter(study=study, worker__in=workers).exclude(state=Case.State.DISMISSED)
    for worker, rule, evidence in cases.order_by("pk").values_list("worker", "rule", "evidence"):
        title = RULES[rule].title if rule in RULES else rule
        found[worker].append(evidence.get("words") or f"{title}.")
    controls, kind = design_of(study).controls, KINDS[study.protocol]
    tallies = control_tallies(study, workers=workers) if known is None else known
    records = tallied_records(
        (one for one in tallies if one.worker in workers),
        threshold=controls.threshold,
        is_right=kind.is_right,
    )
    for worker, record in records.items():
        if not record.used and record.seen >= controls.after:
            found[worker].append(
                f"{record.right} of {record.seen} items with a known answer were right; the study asks for "
                f"{controls.threshold * 100:g} %."
            )
    return dict(found)


LONGEST_REASON = 500
MOST_NAMED = 1_000  # in a log entry
# sessions of several pages that were left before the last one
UNFINISHED = (
    CrowdSession.Status.RETURNED,
    CrowdSession.Status.TIMED_OUT,
    CrowdSession.Status.SCREENED_OUT,
)


@transaction.atomic
def approve_assignments(*, study: Study, assignments: Collection[UUID], by: User | None = None) -> int:
    """Approve submitted or rejected assignments; return the number of changes.

    Paid work at a crowd changes after the crowd was asked (annotation.crowds.delivery), and a session of several
    pages as a whole.
    """
    _finished(study, assignments)
    waiting = Assignment.objects.filter(pk__in=assignments, state__in=["submitted", "rejected"])
    asked = _decide_sessions(waiting, approve=True, why="", by=by)
    count = asked + waiting.filter(session=None).update(state=Assignment.State.APPROVED, reason="")
    _note(study, "approved", count, assignments, by)
    return count


@transaction.atomic
def reject_assignments(
    *, study: Study, assignments: Collection[UUID], reason: str, by: User | None = None
) -> int:
    """Reject submitted assignments with a reason for the worker; return the number of changes.

    See ``approve_assignments``.
    """
    if not reason.strip():
        raise WrongState("Nothing was changed: a rejection needs a reason that the worker can read.")
    states = _finished(study, assignments)
    paid = [pk for pk, state in states.items() if state == Assignment.State.APPROVED]
    if paid:
        raise WrongState(f"Nothing was changed: assignment {paid[0]} was approved before.")
    waiting = Assignment.objects.filter(pk__in=assignments, state=Assignment.State.SUBMITTED)
    asked = _decide_sessions(waiting, approve=False, why=reason, by=by)
    count = asked + waiting.filter(session=None).update(
        state=Assignment.State.REJECTED, reason=reason.strip()[:LONGEST_REASON]
    )
    _note(study, "rejected", count, assignments, by, why=reason.strip())
    return count


def _note(
    study: Study, what: str, count: int, assignments: Collection[UUID], by: User | None, why: str = ""
) -> None:
    if count:
        pages = "One page of work was" if count == 1 else f"{count} pages of work were"
        chosen = [str(pk) for pk in assignments][:MOST_NAMED]
        note_event(study=study, what=what, words=f"{pages} {what}.", why=why, by=by, assignments=chosen)


@transaction.atomic
def reject_for_what_was_found(*, study: Study, assignments: Collection[UUID], by: User | None = None) -> int:
    """Reject assignments with the detectors' and control items' findings as the reason."""
    _finished(study, assignments)
    workers = dict(Assignment.objects.filter(pk__in=assignments).values_list("pk", "worker"))
    against = reasons_against(study, set(workers.values()))
    blameless = [worker for worker in workers.values() if worker not in against]
    if blameless:
        name = Worker.objects.get(pk=blameless[0]).name
        raise WrongState(f"Nothing was changed: nothing speaks against {name}; write the reason yourself.")
    count = 0
    for worker in dict.fromkeys(workers.values()):
        own = [pk for pk, of in workers.items() if of == worker]
        count += reject_assignments(study=study, assignments=own, reason=" ".join(against[worker]), by=by)
    return count


def _decide_sessions(work: AssignmentQuerySet, *, approve: bool, why: str, by: User | None) -> int:
    """Decide on assignments of paid sessions through their session.

    A running session is decided when it is over. Assignments of an abandoned session are decided by themselves.
    """
    unfinished = work.filter(session__status__in=UNFINISHED)
    state = Assignment.State.APPROVED if approve else Assignment.State.REJECTED
    alone = unfinished.update(state=state, reason="" if approve else why.strip()[:LONGEST_REASON])
    whole = work.filter(session__isnull=False).exclude(session__status__in=UNFINISHED)
    if approve:
        whole = whole.exclude(session__status=CrowdSession.Status.WORKING)
    pages = list(whole.values_list("session", flat=True))
    for session in CrowdSession.objects.filter(pk__in=pages).select_related("study", "worker").order_by("pk"):
        decide_session(session=session, approve=approve, why=why, by=by)
    return len(pages) + alone


def reject_assignment(*, study: Study, assignment: UUID, reason: str) -> bool:
    return bool(reject_assignments(study=study, assignments=[assignment], reason=reason))


def _finished(study: Study, assignments: Collection[UUID]) -> dict[UUID, str]:
    own = Assignment.objects.filter(study=study, pk__in=assignments).finished()
    states = dict(own.select_for_update().order_by("pk").values_list("pk", "state"))
    missing = [pk for pk in assignments if pk not in states]
    if missing:
        raise WrongState(
            f"Nothing was changed: assignment {missing[0]} is no finished work of study {study.slug!r}."
        )
    return states


LONGEST = 2000
MOST_OF_A_WORKER = 5  # notes per assignment, so that nobody can fill the table


@transaction.atomic
def appeal(*, assignment: Assignment, worker: Worker, text: str) -> AppealNote:
    """Store a worker's appeal against a rejection. The same text again changes nothing."""
    if assignment.worker_id != worker.pk:
        raise NotThere("There is no such assignment.")
    if assignment.state != Assignment.State.REJECTED:
        raise WrongState(_("Nothing was sent: this page of work was not rejected."))
    said = _checked(text)
    notes = AppealNote.objects.filter(assignment=assignment, from_worker=True)
    same = notes.filter(text=said).first()
    if same is not None:
        return same
    if notes.count() >= MOST_OF_A_WORKER:
        raise WrongState(_("Nothing was sent: what you wrote before is kept, and somebody will read it."))
    return AppealNote.objects.create(assignment=assignment, text=said, from_worker=True)


@transaction.atomic
def answer_appeal(*, assignment: Assignment, text: str, by: User) -> AppealNote:
    """Store a reviewer's answer to an appeal, for the worker to read."""
    note = AppealNote.objects.create(assignment=assignment, text=_checked(text), by=by)
    note_event(
        study=assignment.study,
        what="appeal-note",
        words=f"A note on the work of {assignment.worker}: {note.text[:200]}",
        by=by,
        assignment=str(assignment.pk),
    )
    return note


def _checked(text: str) -> str:
    said = text.strip()
    if not said or "\x00" in said:
        raise WrongState(_("Nothing was sent: please write a sentence."))
    return said[:LONGEST]
