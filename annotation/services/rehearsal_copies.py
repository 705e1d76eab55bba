"""Copies of a study that simulated workers answer, so that the study itself stays clean."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import ProtectedError, QuerySet

from annotation.models import Assignment, Case, Exclusion, Worker
from judgments.errors import WrongState
from judgments.models import Job, Study
from judgments.services.events import note_event
from judgments.services.studies import duplicate_study

OF = "rehearsal_of"  # the note of a copy that holds the row id of its study
UNDER_WAY = (Job.State.QUEUED, Job.State.RUNNING)


@transaction.atomic
def copy_for_rehearsal(*, study: Study, user: User | None = None) -> Study:
    """A draft with the same design, marked as simulated from the start, that names the study it is of.

    Raises:
        WrongState: the study is such a copy itself, or holds imported judgments.
    """
    if study.source == Study.Source.IMPORTED:
        raise WrongState(f"Study {study.slug!r} holds imported judgments; there is nothing to rehearse.")
    if study.simulated:
        raise WrongState(f"Study {study.slug!r} is a rehearsal; rehearse the study it is a copy of.")
    stem = f"{study.slug[:64]}-rehearsal-"
    taken = set(Study.objects.filter(slug__startswith=stem).values_list("slug", flat=True))
    number = next(number for number in range(1, len(taken) + 2) if f"{stem}{number}" not in taken)
    copy = duplicate_study(
        study=study, name=f"{study.name[:180]} (rehearsal {number})", slug=f"{stem}{number}", user=user
    )
    copy.simulated, copy.notes = True, copy.notes | {OF: study.pk}
    copy.save(update_fields=["simulated", "notes"])
    note_event(study=study, what="rehearsed", words=f"A rehearsal of a copy, {copy.slug}, was asked for.")
    return copy


def rehearsals_of(study: Study) -> QuerySet[Study]:
    """Its copies, the newest first."""
    return Study.objects.filter(**{f"notes__{OF}": study.pk}, simulated=True).order_by("-pk")


def study_rehearsed(copy: Study) -> Study | None:
    """The study that a copy is of, if it is still there."""
    number = copy.notes.get(OF)
    return Study.objects.filter(pk=number).first() if number else None


@transaction.atomic
def delete_rehearsal(*, copy: Study) -> None:
    """Delete a copy with all its simulated answers; what people answered is never deleted.

    Raises:
        WrongState: it is no such copy, is being rehearsed, holds an answer of a person, or something rests on it.
    """
    locked = Study.objects.select_for_update().get(pk=copy.pk)
    if not locked.simulated or OF not in locked.notes:
        raise WrongState(
            f"Study {copy.slug!r} is no rehearsed copy; only such copies are deleted with answers."
        )
    if Job.objects.filter(kind="rehearse", args__study=copy.slug, state__in=UNDER_WAY).exists():
        raise WrongState(f"Study {copy.slug!r} is being rehearsed; wait until that is done.")
    work = Assignment.objects.filter(study=locked)
    if work.exclude(worker__source=Worker.Source.REHEARSAL).exists():
        raise WrongState(f"Study {copy.slug!r} holds answers of people and cannot be deleted.")
    note_event(
        study=locked, what="deleted", words="Deleted with its simulated answers.", design=locked.design
    )
    of_whom = study_rehearsed(locked)
    if of_whom is not None:
        note_event(study=of_whom, what="rehearsal-deleted", words=f"The rehearsal {copy.slug} was deleted.")
    try:
        Case.objects.filter(study=locked).delete()
        work.delete()
        Exclusion.objects.filter(study=locked).delete()
        Worker.objects.filter(study=locked, source=Worker.Source.REHEARSAL).delete()
        locked.delete()
    except ProtectedError:
        raise WrongState(f"Something rests on study {copy.slug!r}; it cannot be deleted.") from None
