"""Invariants of exclusions, rehearsals, writers and erased people."""

from __future__ import annotations

from django.db.models import Exists, F, OuterRef, Q

from annotation.models import Assignment, Case, Erasure, Exclusion, Participation, WrittenCaption
from annotation.models.assignments import FINISHED_STATES
from annotation.privacy.erasure_chain import digest_of
from annotation.privacy.erasure_list import restored_after_erasure
from evaluation.data.invariants.sentences import DESIGNED_SOURCE, ROWS_PER_BATCH, Sentences, sentences_about


def flags_name_their_exclusion() -> Sentences:
    cases = Case.objects.filter(exclusion__isnull=False)
    wrong_flags = cases.exclude(exclusion__worker=F("worker"), exclusion__study=F("study"))
    yield from sentences_about(wrong_flags, "flag {pk} names the exclusion of somebody else.")
    flags = Case.objects.exclude(state=Case.State.OPEN).filter(Q(decided_at__isnull=True) | Q(decision=""))
    yield from sentences_about(flags, "flag {pk} is {state}, but does not say when and why.")


def exclusions_hold() -> Sentences:
    """Check that excluded workers have no included work.

    Invalidated work must name an active exclusion of its worker, and the worker's standing must agree.
    """
    active_exclusions = Exclusion.objects.filter(lifted_at=None)
    exclusions = active_exclusions.filter(study=OuterRef("study"), worker=OuterRef("worker"))
    included_work = Assignment.objects.filter(state__in=FINISHED_STATES).filter(Exists(exclusions))
    yield from sentences_about(included_work, "assignment {pk} is {state}, but its worker is excluded.")
    invalid_work = Assignment.objects.filter(state=Assignment.State.INVALIDATED)
    unexplained_work = invalid_work.filter(
        Q(before_exclusion="")  # the state that the work has again when the exclusion is lifted
        | Q(exclusion__lifted_at__isnull=False)
        | ~Q(exclusion__worker=F("worker"))
        | ~Q(exclusion__study=F("study"))
    )
    yield from sentences_about(
        unexplained_work, "assignment {pk} is invalidated without a current exclusion of its worker."
    )
    is_marked_excluded = Q(standing=Participation.Standing.EXCLUDED)
    contradictions = Participation.objects.annotate(has_exclusion=Exists(exclusions)).filter(
        (Q(has_exclusion=True) & ~is_marked_excluded) | (Q(has_exclusion=False) & is_marked_excluded)
    )
    yield from sentences_about(
        contradictions, "worker {worker__name} is {standing}, which their exclusions do not say."
    )


def people_and_rehearsals_are_apart() -> Sentences:
    # `sentences_about` reads only the study's slug of these rows, so `distinct` leaves one sentence for each study.
    work = Assignment.objects.filter(state__in=FINISHED_STATES).order_by("study__slug").distinct()
    simulated_work = work.filter(simulated=True, study__simulated=False)
    yield from sentences_about(simulated_work, "holds simulated answers, but is not marked as simulated.")
    human_work = work.filter(simulated=False, study__simulated=True, study__source=DESIGNED_SOURCE)
    yield from sentences_about(human_work, "marked as simulated, but holds answers of people.")


def written_captions_have_their_writers() -> Sentences:
    wrong_rows = WrittenCaption.objects.filter(judgment__isnull=False).exclude(
        judgment__assignment__worker=F("worker"), judgment__unit__study__dataset=F("caption__dataset")
    )
    for key, worker in wrong_rows.values_list("caption__key", "worker__name").iterator(ROWS_PER_BATCH):
        yield f"Caption {key}: worker {worker} did not write it in a study of its dataset."


def erasures_are_one_chain() -> Sentences:
    """Check that each erasure names the erasure before it, and has the digest of its own content."""
    previous_digest = ""
    for row in Erasure.objects.select_related("study").order_by("pk"):
        if row.previous != previous_digest or row.digest != digest_of(row):
            yield f"Study {row.study.slug}: erasure {row.pk} was changed, or one before it was removed."
        previous_digest = row.digest


def erased_people_are_gone() -> Sentences:
    """Check that no erased person is in the data again, for example after a backup was restored."""
    for erasure, worker in restored_after_erasure():
        yield (
            f"Study {erasure.study.slug}: worker {worker.pk} was erased on {erasure.at.date()} and is here again; "
            "`erase_person --replay FILE` erases them again."
        )
