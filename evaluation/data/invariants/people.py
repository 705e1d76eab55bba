"""Invariants of exclusions, rehearsals, writers and erased people."""

from __future__ import annotations

from django.db.models import Exists, F, OuterRef, Q

from annotation.models import Assignment, Case, Erasure, Exclusion, Participation, WrittenCaption
from annotation.models.assignments import FINISHED_STATES
from annotation.privacy.erasing import digest_of
from annotation.privacy.erasure_list import restored_after_erasure
from evaluation.data.invariants.sentences import DESIGNED_SOURCE, ROWS_PER_BATCH, Sentences, sentences_about


def flags_name_their_exclusion() -> Sentences:
    cases = Case.objects.filter(exclusion__isnull=False)
    wrong = cases.exclude(exclusion__worker=F("worker"), exclusion__study=F("study"))
    yield from sentences_about(wrong, "flag {pk} names the exclusion of somebody else.")
    unsaid = Case.objects.exclude(state=Case.State.OPEN).filter(Q(decided_at__isnull=True) | Q(decision=""))
    yield from sentences_about(unsaid, "flag {pk} is {state}, but does not say when and why.")


def exclusions_hold() -> Sentences:
    """Check that excluded workers have no included work.

    Invalidated work must name an active exclusion of its worker, and the worker's status must agree.
    """
    active = Exclusion.objects.filter(lifted_at=None)
    exclusions = active.filter(study=OuterRef("study"), worker=OuterRef("worker"))
    counts = Assignment.objects.filter(state__in=FINISHED_STATES).filter(Exists(exclusions))
    yield from sentences_about(counts, "assignment {pk} is {state}, but its worker is excluded.")
    invalid = Assignment.objects.filter(state=Assignment.State.INVALIDATED)
    loose = invalid.filter(
        Q(before_exclusion="")
        | Q(exclusion__lifted_at__isnull=False)
        | ~Q(exclusion__worker=F("worker"))
        | ~Q(exclusion__study=F("study"))
    )
    yield from sentences_about(
        loose, "assignment {pk} is invalidated without a current exclusion of its worker."
    )
    parts = Participation.objects.annotate(out=Exists(exclusions))
    excluded = Participation.Standing.EXCLUDED
    contradictions = parts.exclude(out=True, standing=excluded).exclude(~Q(standing=excluded), out=False)
    yield from sentences_about(
        contradictions, "worker {worker__name} is {standing}, which their exclusions do not say."
    )


def people_and_rehearsals_are_apart() -> Sentences:
    work = Assignment.objects.filter(state__in=FINISHED_STATES).order_by("study__slug").distinct()
    unmarked = work.filter(simulated=True, study__simulated=False)
    yield from sentences_about(unmarked, "holds simulated answers, but is not marked as simulated.")
    mixed = work.filter(simulated=False, study__simulated=True, study__source=DESIGNED_SOURCE)
    yield from sentences_about(mixed, "marked as simulated, but holds answers of people.")


def written_captions_have_their_writers() -> Sentences:
    written = WrittenCaption.objects.filter(judgment__isnull=False).exclude(
        judgment__assignment__worker=F("worker"), judgment__unit__study__dataset=F("caption__dataset")
    )
    for key, worker in written.values_list("caption__key", "worker__name").iterator(ROWS_PER_BATCH):
        yield f"Caption {key}: worker {worker} did not write it in a study of its dataset."


def erasures_are_one_chain() -> Sentences:
    """Check that each erasure names the erasure before it, and has the digest of its own content."""
    before = ""
    for row in Erasure.objects.select_related("study").order_by("pk"):
        if row.previous != before or row.digest != digest_of(row):
            yield f"Study {row.study.slug}: erasure {row.pk} was changed, or one before it was removed."
        before = row.digest


def erased_people_are_gone() -> Sentences:
    """Check that no erased person is in the data again, for example after a backup was restored."""
    for erasure, worker in restored_after_erasure():
        yield (
            f"Study {erasure.study.slug}: worker {worker.pk} was erased on {erasure.at.date()} and is here again; "
            "`erase_person --replay FILE` erases them again."
        )
