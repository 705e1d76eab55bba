"""Approve and reject finished work, find the objections to it, and store appeals and answers to them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from annotation.models import AppealNote, Assignment, Case, CrowdCall, CrowdSession, Exclusion, Worker
from annotation.models.assignments import AssignmentQuerySet
from annotation.money.limits import commit_as_one_order
from annotation.money.payments import ENDED_STATES, decide_session
from annotation.quality.controls import ControlTally, control_tallies, records_from_tallies
from annotation.quality.detectors import describe_evidence, installed_rule
from common.amounts import with_noun
from common.errors import ObjectNotFound, WrongState
from common.parameters import MAX_REASON_LENGTH
from judgments.access.study_log import note_event
from judgments.models import Study
from judgments.studies.designs import design_of, kind_of

MAX_ASSIGNMENTS_LOGGED = 1_000  # assignments named in a log entry
# statuses of sessions that ended before their last page
ABANDONED_STATUSES = (
    CrowdSession.Status.RETURNED,
    CrowdSession.Status.TIMED_OUT,
    CrowdSession.Status.SCREENED_OUT,
)
MAX_NOTE_LENGTH = 2000
MAX_NOTES_PER_ASSIGNMENT = 5  # a worker's notes, so that nobody can fill the table


def find_objections(
    study: Study,
    workers: Collection[int],
    *,
    tallies: Collection[ControlTally] | None = None,
    with_signs: bool = False,
) -> dict[int, list[str]]:
    """Return the objections to the work of each worker, as sentences by the worker's row id.

    The objections are current exclusions, flags that were not dismissed, and accuracy below the threshold. Workers
    without any are left out.

    Args:
        workers: row ids.
        tallies: the answers of these (and perhaps other) workers to control items; None to count them here.
        with_signs: whether to include flags that are not a proof (``only_flags``). They are shown to people, but
            neither hold back pay nor justify a rejection.
    """
    objections: defaultdict[int, list[str]] = defaultdict(list)
    exclusions = Exclusion.objects.filter(study=study, worker__in=workers, lifted_at=None)
    for worker, why in exclusions.values_list("worker", "why"):
        objections[worker].append(why)
    cases = Case.objects.filter(study=study, worker__in=workers).exclude(state=Case.State.DISMISSED)
    for worker, rule, evidence in cases.order_by("pk").values_list("worker", "rule", "evidence"):
        detector = installed_rule(rule)
        if detector and detector.only_flags and not with_signs:
            continue
        title = _(detector.title) if detector else rule
        # the title, if no sentence is stored
        objections[worker].append(describe_evidence(rule, evidence) or f"{title}.")
    controls = design_of(study).controls
    kind = kind_of(study)
    if tallies is None:
        tallies = control_tallies(study, workers=workers)
    tallies = [tally for tally in tallies if tally.worker in workers]
    records = records_from_tallies(tallies, rule=controls, kind=kind)
    for worker, record in records.items():
        # not used: the accuracy is too low. It is shown, as here, only after ``controls.after`` check questions.
        if not record.is_used and record.answers >= controls.after:
            sentence = pgettext(
                "staff",
                "Check questions answered correctly: %(right)s of %(seen)s. The study requires %(share)s %%.",
            )
            share = f"{controls.threshold * 100:g}"
            objections[worker].append(
                sentence % {"right": record.right_answers, "seen": record.answers, "share": share}
            )
    return dict(objections)


@commit_as_one_order
def approve_assignments(*, study: Study, assignments: Collection[UUID], by: User | None = None) -> int:
    """Approve submitted or rejected assignments. Return the number of those that are, or will be, approved.

    Work that a crowd pays is approved only after the crowd has answered (``annotation.crowds.outbox.effects``), and all
    assignments of a session together.
    """
    _lock_finished_work(study, assignments)
    unapproved_work = Assignment.objects.filter(pk__in=assignments, state__in=["submitted", "rejected"])
    session_count = _decide_sessions(unapproved_work, approve=True, why="", by=by)
    other_work = unapproved_work.filter(session=None)
    changed_count = session_count + other_work.update(state=Assignment.State.APPROVED, reason="")
    _log_decision(study, "approved", changed_count, assignments, by)
    return changed_count


def assignments_without_objection(study: Study) -> list[UUID]:
    """Return the ids of submitted assignments to which there is no objection, oldest first.

    Assignments are left out if a call to approve or reject them is pending or was refused.
    """
    calls = CrowdCall.objects.filter(study=study, kind__in=["approve", "reject"], session__isnull=False)
    open_calls = calls.exclude(state__in=ENDED_STATES)
    submitted_work = Assignment.objects.filter(study=study, state=Assignment.State.SUBMITTED)
    submitted_work = submitted_work.exclude(session__in=open_calls.values("session"))
    # A session is decided as a whole, after it has ended.
    submitted_work = submitted_work.exclude(session__status=CrowdSession.Status.WORKING)
    rows = list(submitted_work.order_by("submitted_at", "pk").values_list("pk", "worker"))
    objections = find_objections(study, {worker for _, worker in rows})
    return [pk for pk, worker in rows if worker not in objections]


@transaction.atomic
def approve_without_objection(*, study: Study, by: User | None = None) -> int:
    """Approve the work to which there is no objection. Return the number of assignments.

    The other work waits for a person's decision.
    """
    assignments = assignments_without_objection(study)
    changed_count = approve_assignments(study=study, assignments=assignments, by=by)
    if changed_count:
        note_event(
            study=study,
            what="approve",
            sentence=f"Approved, as there was no objection: {with_noun(changed_count, 'page')} of work.",
            by=by,
        )
    return changed_count


@transaction.atomic
def reject_assignments(
    *, study: Study, assignments: Collection[UUID], reason: str, by: User | None = None
) -> int:
    """Reject submitted assignments with a reason that the worker reads. Return their number.

    Work that a crowd pays is rejected only later, as in ``approve_assignments``.
    """
    states = _lock_finished_work(study, assignments)
    approved_ids = [pk for pk, state in states.items() if state == Assignment.State.APPROVED]
    if approved_ids:
        raise WrongState(
            pgettext("staff", "Nothing was changed: assignment %(paid)s is already approved.")
            % {"paid": approved_ids[0]}
        )
    submitted_work = Assignment.objects.filter(pk__in=assignments, state=Assignment.State.SUBMITTED)
    session_count = _decide_sessions(submitted_work, approve=False, why=reason, by=by)
    changed_count = session_count + submitted_work.filter(session=None).update(
        state=Assignment.State.REJECTED, reason=reason.strip()[:MAX_REASON_LENGTH]
    )
    _log_decision(study, "rejected", changed_count, assignments, by, why=reason.strip())
    return changed_count


def _log_decision(
    study: Study, decision: str, count: int, assignments: Collection[UUID], by: User | None, why: str = ""
) -> None:
    """Note a decision ("approved" or "rejected") in the study's log, if it changed anything."""
    if count:
        subject = "One page of work was" if count == 1 else f"{count} pages of work were"
        ids = [str(pk) for pk in assignments][:MAX_ASSIGNMENTS_LOGGED]
        note_event(
            study=study, what=decision, sentence=f"{subject} {decision}.", why=why, by=by, assignments=ids
        )


@transaction.atomic
def reject_with_findings(*, study: Study, assignments: Collection[UUID], by: User | None = None) -> int:
    """Reject assignments. The reason that each worker reads consists of the objections to their work.

    Raises:
        WrongState: there is no objection to the work of one of the workers.
    """
    _lock_finished_work(study, assignments)
    worker_by_assignment = dict(Assignment.objects.filter(pk__in=assignments).values_list("pk", "worker"))
    workers = list(dict.fromkeys(worker_by_assignment.values()))
    with translation.override("en"):  # the objections are stored, and sent to the crowd
        objections = find_objections(study, set(workers))
    unopposed_workers = [worker for worker in workers if worker not in objections]
    if unopposed_workers:
        name = Worker.objects.get(pk=unopposed_workers[0]).name
        raise WrongState(
            pgettext(
                "staff", "Nothing was changed: no objection to the work of %(name)s is known; enter a reason."
            )
            % {"name": name}
        )
    changed_count = 0
    for worker in workers:
        ids = [pk for pk, author in worker_by_assignment.items() if author == worker]
        reason = " ".join(objections[worker])
        changed_count += reject_assignments(study=study, assignments=ids, reason=reason, by=by)
    return changed_count


def _decide_sessions(assignments: AssignmentQuerySet, *, approve: bool, why: str, by: User | None) -> int:
    """Approve or reject the assignments that have a session, and return their number.

    The crowd pays a session as a whole, so all its assignments get the same decision. An abandoned session is not paid,
    so its assignments are decided on one by one.
    """
    state = Assignment.State.APPROVED if approve else Assignment.State.REJECTED
    abandoned_work = assignments.filter(session__status__in=ABANDONED_STATUSES)
    reason = "" if approve else why.strip()[:MAX_REASON_LENGTH]
    abandoned_count = abandoned_work.update(state=state, reason=reason)
    session_work = assignments.filter(session__isnull=False).exclude(session__status__in=ABANDONED_STATUSES)
    if approve:  # a running session is approved after its end; ``decide_session`` refuses to reject it
        session_work = session_work.exclude(session__status=CrowdSession.Status.WORKING)
    session_ids = list(session_work.values_list("session", flat=True))  # one for each assignment
    sessions = CrowdSession.objects.filter(pk__in=session_ids).select_related("study", "worker")
    for session in sessions.order_by("pk"):
        decide_session(session=session, approve=approve, why=why, by=by)
    return len(session_ids) + abandoned_count


def _lock_finished_work(study: Study, assignments: Collection[UUID]) -> dict[UUID, str]:
    """Lock finished assignments, and return their states by id. Raise WrongState if one of them is not finished."""
    finished_work = Assignment.objects.filter(study=study, pk__in=assignments).finished()
    states = dict(finished_work.select_for_update().order_by("pk").values_list("pk", "state"))
    missing_ids = [pk for pk in assignments if pk not in states]
    if missing_ids:
        raise WrongState(
            pgettext("staff", "Nothing was changed: study %(slug)r has no submitted assignment %(missing)s.")
            % {"missing": missing_ids[0], "slug": study.slug}
        )
    return states


@transaction.atomic
def store_appeal(*, assignment: Assignment, worker: Worker, text: str) -> AppealNote:
    """Store a worker's appeal against a rejection. Sending the same text again changes nothing."""
    if assignment.worker_id != worker.pk:
        raise ObjectNotFound(pgettext("staff", "There is no such assignment."))
    if assignment.state != Assignment.State.REJECTED:
        raise WrongState(_("Nothing was sent: this page of work was not rejected."))
    note = _clean_note(text)
    notes = AppealNote.objects.filter(assignment=assignment, from_worker=True)
    equal_note = notes.filter(text=note).first()
    if equal_note is not None:
        return equal_note
    if notes.count() >= MAX_NOTES_PER_ASSIGNMENT:
        raise WrongState(
            _(
                "Nothing was sent: you cannot send more messages about this page of work. Your earlier messages "
                "are kept, and somebody will read them."
            )
        )
    return AppealNote.objects.create(assignment=assignment, text=note, from_worker=True)


@transaction.atomic
def store_appeal_note(*, assignment: Assignment, text: str, by: User) -> AppealNote:
    """Store the researchers' answer to an appeal."""
    note = AppealNote.objects.create(assignment=assignment, text=_clean_note(text), by=by)
    note_event(
        study=assignment.study,
        what="appeal-note",
        sentence=f"A note on the work of {assignment.worker}: {note.text[:200]}",
        by=by,
        assignment=str(assignment.pk),
    )
    return note


def _clean_note(text: str) -> str:
    """Return the text of a note as it is stored. Raise WrongState if it is empty."""
    note = text.strip()
    if not note or "\x00" in note:  # PostgreSQL cannot store U+0000
        raise WrongState(_("Nothing was sent: please write a sentence."))
    return note[:MAX_NOTE_LENGTH]
