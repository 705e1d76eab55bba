"""What is asked of a study by what its judgments say so far."""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth.models import User
from rest_framework import serializers

from annotation.crowds.operations import ASK_THE_CROWD
from annotation.work.extending import MOST_WORKERS, reopen_units
from common.errors import WrongState
from common.parameters import KeysField, Reason
from evaluation.results.follow_up import MARGIN, Need, units_in_need
from judgments.models import Study
from judgments.study_operations import Outcome, operation


class ReopenRequest(Reason):
    """More votes for units: those named, or those in need."""

    one_of = (("need", "units"),)

    need = serializers.ChoiceField(
        choices=[need.value for need in Need],
        required=False,
        help_text="The units that are so: tied, led by at most the margin, or short of judgments that count.",
    )
    units = KeysField(required=False, min_length=1, label="Units by key", help_text="Keys of judged units.")
    margin = serializers.FloatField(
        default=MARGIN, help_text=f"Uncertain: led by at most this share ({MARGIN})."
    )
    votes = serializers.IntegerField(
        min_value=1,
        max_value=MOST_WORKERS,
        initial=1,
        label="More votes for each",
        help_text="So many more for each.",
    )


@operation("reopen", "More votes for units", parameters=ReopenRequest, then=ASK_THE_CROWD)
def reopen(
    *,
    study: Study,
    by: User | None,
    why: str,
    votes: int,
    margin: float,
    need: str = "",
    units: Collection[str] = (),
) -> Outcome:
    """The HITs that hold the units go to more workers."""
    chosen = units_in_need(study, Need(need), margin=margin) if need else units
    if not chosen:
        raise WrongState(f"Nothing was changed: no unit of study {study.slug!r} is {need}.")
    count = reopen_units(study=study, units=chosen, votes=votes, why=why, by=by)
    hits = "One HIT goes" if count == 1 else f"{count:,} HITs go"
    return Outcome(f"{hits} to {votes} more workers, for {len(chosen):,} units.")
