"""Discard the pages of work of a study that was never opened, so that the study is a draft again."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import models, transaction
from django.utils.translation import gettext

from common.amounts import with_noun
from common.errors import WrongState
from judgments.access.study_log import note_event
from judgments.models import (
    HIT,
    CachedFigures,
    CandidatePair,
    DrawState,
    HITUnit,
    Job,
    OutcomeBounds,
    Study,
    SystemPair,
    Unit,
)
from judgments.models.jobs import of_studies
from judgments.models.studies import pages_discarded, reasons_against_discarding
from judgments.studies.designs import is_registered
from judgments.studies.studies import lock_study

TEMPLATE_NOTES = (
    "left_out",
)  # names of notes about an imported template; all other notes are about the draw
UNOPENED_STATES = (Study.State.DRAFT, Study.State.GENERATED)


def count_discarded_rows(study: Study) -> dict[str, Any]:
    """Count the rows that are deleted if a study's pages of work are discarded."""
    units = Unit.objects.filter(study=study)
    return {
        "hits": HIT.objects.filter(study=study).count(),
        "units": units.filter(control=False).count(),
        "controls": units.filter(control=True).count(),
        "withdrawn": units.filter(withdrawn=True).count(),
    }


def why_not_discarded(study: Study) -> str:
    """Return why the pages of work of a study cannot be discarded; "" if they can be."""
    names = {"slug": study.slug}
    if study.source != Study.Source.DESIGNED:
        return (
            gettext("Study %(slug)r has imported judgments, so it has no pages of work to discard.") % names
        )
    if study.state == Study.State.DRAFT:
        return gettext("Study %(slug)r is a draft, so it has no pages of work to discard.") % names
    for _receiver, reason in reasons_against_discarding.send(sender=Study, study=study):
        if reason:
            return str(reason)
    if study.state not in UNOPENED_STATES or study.opened_at is not None:
        return (
            gettext(
                "Study %(slug)r was opened to participants, so its pages of work cannot be discarded. Duplicate the "
                "study instead."
            )
            % names
        )
    if is_registered(study):
        return (
            gettext(
                "The design of study %(slug)r was registered, so its pages of work cannot be discarded. Duplicate "
                "the study instead."
            )
            % names
        )
    running_jobs = Job.objects.under_way().listed().filter(of_studies(study.slug))
    if running_jobs.exists():
        return gettext("A job of study %(slug)r is running; try again when it has finished.") % names
    return ""


def can_be_discarded(study: Study) -> bool:
    """Return whether the pages of work can be discarded. Make no query unless the study has generated pages."""
    return study.state == Study.State.GENERATED and not why_not_discarded(study)


@transaction.atomic
def discard_hits(*, study: Study, by: User | None = None) -> dict[str, Any]:
    """Delete units, control items and HITs, so that the study is a draft again. Return the numbers of deleted rows.

    The study's row is locked so strictly that no rows that refer to it can be added. Therefore nobody can open the
    study, join it, or let a language model judge it at the same time. HITs are deleted only if nobody has taken one.

    Raises:
        WrongState: the study was opened or registered, something refers to its pages of work, or there are none.
    """
    lock_study(study, no_key=False)
    if problem := why_not_discarded(study):
        raise WrongState(problem)
    counts = count_discarded_rows(study)
    pages_discarded.send(sender=Study, study=study)
    querysets: tuple[models.QuerySet[models.Model], ...] = (
        HITUnit.objects.filter(hit__study=study),
        OutcomeBounds.objects.filter(unit__study=study),
        HIT.objects.filter(study=study),
        Unit.objects.filter(study=study),
        CandidatePair.objects.filter(study=study),
        SystemPair.objects.filter(study=study),
        DrawState.objects.filter(study=study),
        CachedFigures.objects.filter(study=study),
    )
    for rows in querysets:
        # unlike delete(), this does not load the rows; it fails if a foreign key of another table refers to them
        rows._raw_delete(rows.db)
    generated_at = study.generated_at
    study.state, study.generated_at = Study.State.DRAFT, None
    study.notes = {name: study.notes[name] for name in TEMPLATE_NOTES if name in study.notes}
    study.save(update_fields=["state", "generated_at", "notes"])
    note_event(
        study=study,
        what="discarded",
        sentence=f"Discarded: {with_noun(counts['hits'], 'page')} of work, with "
        f"{with_noun(counts['units'], 'item')} and "
        f"{with_noun(counts['controls'], 'check question')}. The design is a draft again.",
        by=by,
        generated_at=str(generated_at),
        **counts,
    )
    return counts
