"""Appeals: what a worker says about a rejection, and what those who decide answer."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import AppealNote, Assignment, Worker
from judgments.errors import NotThere, WrongState
from judgments.services.events import note_event

LONGEST = 2000
MOST_OF_A_WORKER = 5  # notes on one page of work, so that nobody can fill the table


@transaction.atomic
def appeal(*, assignment: Assignment, worker: Worker, text: str) -> AppealNote:
    """A worker says why the rejection of their work is wrong. The same words again change nothing.

    Raises:
        NotThere: it is not their work.
        WrongState: it was not rejected, nothing is said, or enough was said.
    """
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
    """A note of those who decide, beside the worker's; the worker reads it.

    Raises:
        WrongState: nothing is said.
    """
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
