"""Rehearsing a study, or a copy of it, with simulated workers."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from rest_framework import serializers
from rest_framework.fields import empty
from rest_framework.utils.html import is_html_input

from annotation.rehearsal.people import SORTS, Crowd
from annotation.rehearsal.rehearsal import copy_for_rehearsal
from annotation.rehearsal.rehearsal import rehearse as let_crowd_answer
from common.parameters import Parameters
from judgments.jobs import enqueue
from judgments.models import Study
from judgments.studies.generation import Progress
from judgments.study_operations import Outcome, operation

USUAL = Crowd()


class SortsField(serializers.CharField):
    """Names with commas between them; the ticked ones in a form."""

    def get_value(self, dictionary: Any) -> Any:
        if not is_html_input(dictionary):
            return super().get_value(dictionary)
        return ",".join(filter(None, dictionary.getlist(self.field_name))) or empty


class RehearsalRequest(Parameters):
    """A study, and who answers a copy of it."""

    workers = serializers.IntegerField(
        min_value=1,
        max_value=2000,
        required=False,
        initial=USUAL.workers,
        label="Workers",
        help_text=f"Default {USUAL.workers}.",
    )
    spammers = serializers.FloatField(
        min_value=0,
        max_value=1,
        required=False,
        initial=USUAL.spammers,
        label="Share of spammers",
        help_text=f"Share of them who answer without looking (default {USUAL.spammers}).",
    )
    accuracy = serializers.FloatField(
        min_value=0,
        max_value=1,
        required=False,
        initial=USUAL.accuracy,
        label="Chance of the others to be right",
        help_text=f"Mean chance of the others to be right (default {USUAL.accuracy}).",
    )
    drop_outs = serializers.FloatField(
        min_value=0,
        max_value=0.9,
        required=False,
        initial=USUAL.drop_outs,
        label="Chance that a HIT is returned",
        help_text=f"Chance that a HIT is returned (default {USUAL.drop_outs}).",
    )
    speed = serializers.FloatField(
        min_value=0.01,
        max_value=100,
        required=False,
        initial=USUAL.speed,
        label="Times the expected speed",
        help_text=f"Times the speed that the design expects (default {USUAL.speed}).",
    )
    seed = serializers.IntegerField(
        min_value=0,
        max_value=2**53,
        required=False,
        initial=USUAL.seed,
        label="Seed",
        help_text=f"Default {USUAL.seed}.",
    )
    sorts = SortsField(
        required=False,
        initial=USUAL.sort_names,
        label="Spammers",
        help_text="Sorts of spammers, with commas between them: "
        + "; ".join(f"{sort.name} {sort.about}" for sort in SORTS.values())
        + f" (default {USUAL.sorts}).",
        style={"choices": [(sort.name, f"{sort.name}: {sort.about}") for sort in SORTS.values()]},
    )
    rules = serializers.BooleanField(
        required=False,
        label="Let the recommended rules watch, where the study has none",
        help_text="Let the recommended rules watch where the study has none; its own always do.",
    )


@operation("rehearse-copy", "Rehearse a copy", parameters=RehearsalRequest)
def rehearse_copy(*, study: Study, by: User, **crowd: Any) -> Outcome:
    """Copies a study and lets simulated workers answer the copy; `args.study` of the job names it. The study itself
    stays clean."""
    Crowd(**crowd)  # says what is wrong before anything is copied
    with transaction.atomic():  # a copy without its job would stand there for nothing
        copy = copy_for_rehearsal(study=study, user=by)
        enqueue(kind="rehearse", args={"study": copy.slug, **crowd}, user=by)
    return Outcome(f"“{copy.name}” is a copy that simulated workers answer now.", copy)


class LargeRehearsalRequest(RehearsalRequest):
    """Who answers the study itself."""

    workers = serializers.IntegerField(
        min_value=1, max_value=100_000, required=False, help_text=f"Default {USUAL.workers}."
    )


@operation("rehearse", "Let simulated workers answer", parameters=LargeRehearsalRequest, job="rehearse")
def rehearse(*, study: Study, by: User | None, progress: Progress, **crowd: Any) -> Outcome:
    """Fills every HIT of the study with simulated answers."""
    report = let_crowd_answer(study=study, crowd=Crowd(**crowd), progress=progress)
    return Outcome(
        f"{report.workers} simulated workers ({report.spammers} spammers) filled {report.hits:,} HITs with "
        f"{report.judgments:,} judgments in {report.hours:.1f} simulated hours; "
        f"{report.returned:,} HITs were returned.",
        report,
    )
