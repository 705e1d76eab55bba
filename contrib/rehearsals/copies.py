"""Copies of a study that simulated participants answer."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from common.errors import WrongState
from judgments.access.study_log import note_event
from judgments.models import Study
from judgments.studies.studies import duplicate_study

ORIGINAL_NOTE = "rehearsal_of"  # name of the note of a copy that has the row id of the original study


@transaction.atomic
def copy_for_rehearsal(*, study: Study, user: User | None = None) -> Study:
    """Create a simulated draft with the same design, linked to the study."""
    if study.source == Study.Source.IMPORTED:
        raise WrongState(
            _("Study %(slug)r has imported judgments, so it cannot be rehearsed.") % {"slug": study.slug}
        )
    if study.simulated:
        raise WrongState(
            _("Study %(slug)r is the copy of a rehearsal. Rehearse the original study instead.")
            % {"slug": study.slug}
        )
    stem = f"{study.slug[:64]}-rehearsal-"  # short enough for a slug with a number behind it
    taken_slugs = set(Study.objects.filter(slug__startswith=stem).values_list("slug", flat=True))
    number = next(number for number in range(1, len(taken_slugs) + 2) if f"{stem}{number}" not in taken_slugs)
    copy = duplicate_study(
        study=study, name=f"{study.name[:180]} (rehearsal {number})", slug=f"{stem}{number}", user=user
    )
    copy.simulated, copy.notes = True, copy.notes | {ORIGINAL_NOTE: study.pk}
    copy.save(update_fields=["simulated", "notes"])
    # Only people with a role in the copy may learn its name.
    note_event(study=study, what="rehearsed", sentence="A rehearsal of a copy was asked for.", by=user)
    return copy


def rehearsals_of(study: Study) -> QuerySet[Study]:
    return Study.objects.filter(**{f"notes__{ORIGINAL_NOTE}": study.pk}, simulated=True).order_by("-pk")


def original_of_copy(copy: Study) -> Study | None:
    original_id = copy.notes.get(ORIGINAL_NOTE)
    return Study.objects.filter(pk=original_id).first() if original_id else None
