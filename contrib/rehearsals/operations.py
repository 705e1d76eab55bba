"""Rehearse a study or a copy of it, and delete a copy."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import ProtectedError
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.fields import empty
from rest_framework.utils.html import is_html_input

from annotation.models import Assignment, Case, Exclusion, Worker
from common.amounts import spell_hours, thousands
from common.errors import WrongState
from common.parameters import Parameters
from contrib.rehearsals.copies import ORIGINAL_NOTE, copy_for_rehearsal, original_of_copy
from contrib.rehearsals.simulation.careless_types import CARELESS_TYPES
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from judgments.access.rights import Right
from judgments.access.study_log import note_event
from judgments.jobs.queues import enqueue
from judgments.models import Job, Study
from judgments.operations import Outcome, operation
from judgments.studies.generation.progress import Progress

DEFAULT_CROWD = RehearsalCrowd()


class SortsField(serializers.CharField):
    """Names that are separated by commas. A form sends the ticked names."""

    def get_value(self, dictionary: Any) -> Any:
        if not is_html_input(dictionary):
            return super().get_value(dictionary)
        # with `empty`, the field counts as left out
        return ",".join(filter(None, dictionary.getlist(self.field_name))) or empty


def _number_field(label: str, default: float, low: float, high: float) -> Any:
    """Return an optional field for whole numbers if the default is one, else for decimals."""
    is_integer = isinstance(default, int)
    field: Any = serializers.IntegerField if is_integer else serializers.FloatField
    return field(
        label=label,
        # A command shows no labels. So the help text repeats that of a decimal; the names of whole numbers say enough.
        help_text=f"Default: {default}." if is_integer else f"{label} (default: {default}).",
        min_value=low,
        max_value=high,
        initial=default,
        required=False,
    )


class RehearsalRequest(Parameters):
    """The simulated workers of a rehearsal."""

    workers = _number_field("Participants", DEFAULT_CROWD.workers, 1, 2000)
    spammers = _number_field("Share of spammers", DEFAULT_CROWD.spammers, 0, 1)
    accuracy = _number_field(
        "Mean accuracy of participants who are not spammers", DEFAULT_CROWD.accuracy, 0, 1
    )
    drop_outs = _number_field("Probability that a page of work is returned", DEFAULT_CROWD.drop_outs, 0, 0.9)
    speed = _number_field("Speed relative to the expected speed", DEFAULT_CROWD.speed, 0.01, 100)
    seed = _number_field("Seed", DEFAULT_CROWD.seed, 0, 2**53)
    sorts = SortsField(
        required=False,
        initial=DEFAULT_CROWD.sorts,
        label="Spammers",
        help_text=f"Types of spammers, separated by commas (default: {DEFAULT_CROWD.sorts}). "
        + " ".join(f"{sort.name}: {sort.description}." for sort in CARELESS_TYPES.values()),
        style={
            "choices": [(sort.name, f"{sort.name}: {sort.description}") for sort in CARELESS_TYPES.values()]
        },
    )
    rules = serializers.BooleanField(
        required=False,
        label="Run the recommended detectors if the study has none",
        help_text="Run the recommended detectors if the study has none. The study's own detectors always run.",
    )


@operation("rehearse-copy", "Rehearse a copy", parameters=RehearsalRequest)
def rehearse_copy(*, study: Study, by: User, **crowd: Any) -> Outcome:
    """Let simulated workers answer a copy of the study. The study itself does not change.

    The job's ``args.study`` names the copy.
    """
    RehearsalCrowd(**crowd)  # raises an error for invalid values before anything is copied
    with transaction.atomic():  # a copy exists only together with its job
        copy = copy_for_rehearsal(study=study, user=by)
        enqueue(kind="rehearse", args={"study": copy.slug, **crowd}, user=by)
    return Outcome(_("Simulated participants now answer the copy “%(name)s”.") % {"name": copy.name}, copy)


class LargeRehearsalRequest(RehearsalRequest):
    """Simulated workers who answer the study itself instead of a copy: up to 100,000."""

    workers = _number_field("Participants", DEFAULT_CROWD.workers, 1, 100_000)


@operation("rehearse", "Let simulated participants answer", parameters=LargeRehearsalRequest, job="rehearse")
def rehearse_study(*, study: Study, by: User | None, progress: Progress, **crowd: Any) -> Outcome:
    """Fill every HIT of the study itself with simulated answers."""
    report = rehearse(study=study, crowd=RehearsalCrowd(**crowd), progress=progress)
    return Outcome(
        _(
            "Simulated participants: %(workers)s (spammers: %(spammers)s). Pages of work completed: %(hits)s, "
            "returned: %(returned)s. Judgments: %(judgments)s. Simulated time: %(hours)s."
        )
        % {
            "workers": report.workers,
            "spammers": report.spammers,
            "hits": thousands(report.hits),
            "judgments": thousands(report.judgments),
            "hours": spell_hours(report.hours),
            "returned": thousands(report.returned),
        },
        report,
    )


@operation("delete-rehearsal", "Delete a rehearsal", right=Right.OWN)
@transaction.atomic
def delete_rehearsal(*, study: Study, by: User | None) -> Outcome:
    """Delete a rehearsed copy with all its simulated answers. Only its owner can do so."""
    copy = Study.objects.select_for_update().get(pk=study.pk)
    if not copy.simulated or ORIGINAL_NOTE not in copy.notes:
        raise WrongState(
            _(
                "Study %(slug)r is not the copy of a rehearsal. Only such copies can be deleted "
                "with their answers."
            )
            % {"slug": study.slug}
        )
    if Job.objects.under_way().filter(kind="rehearse", args__study=study.slug).exists():
        raise WrongState(
            _("Study %(slug)r is being rehearsed. Wait until the rehearsal has finished.")
            % {"slug": study.slug}
        )
    assignments = Assignment.objects.filter(study=copy)
    if assignments.exclude(worker__source=Worker.Source.REHEARSAL).exists():
        raise WrongState(
            _("Study %(slug)r has answers of people, so it cannot be deleted.") % {"slug": study.slug}
        )
    note_event(study=copy, what="deleted", sentence="Deleted with its simulated answers.", design=copy.design)
    original = original_of_copy(copy)
    if original is not None:
        note_event(
            study=original, what="rehearsal-deleted", sentence=f"The rehearsal {study.slug} was deleted."
        )
    try:
        # in the order that protected foreign keys allow: rows that refer to others come before these
        Case.objects.filter(study=copy).delete()
        assignments.delete()
        Exclusion.objects.filter(study=copy).delete()
        Worker.objects.filter(study=copy, source=Worker.Source.REHEARSAL).delete()
        copy.delete()
    except ProtectedError:
        raise WrongState(
            _("Study %(slug)r cannot be deleted, because other data depend on it.") % {"slug": study.slug}
        ) from None
    return Outcome(_("“%(name)s” and its simulated answers were deleted.") % {"name": study.name}, original)
