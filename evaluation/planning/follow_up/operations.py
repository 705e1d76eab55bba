"""Operations that follow from results: more votes, another draft, known items."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from rest_framework import serializers

from annotation.crowds.operations import ASK_THE_CROWD
from annotation.money.confirming import confirmable
from annotation.work.operations import MOST_WORKERS, reopen_units
from common.amounts import thousands
from common.errors import WrongState
from common.parameters import LONGEST_REASON, KeysField, Parameters, Reason, RowId
from evaluation.planning.follow_up.units import MARGIN, MOST, Need, make_next_batch, units_in_need
from judgments.models import Study
from judgments.study_operations import CommandHelp, Outcome, operation

MOST_TAKEN = 1000  # known items at once


class ReopenRequest(Reason):
    """More votes for units: those named, or those in need."""

    one_of = (("need", "units"),)

    need = serializers.ChoiceField(
        choices=[need.value for need in Need],
        required=False,
        help_text="The units that are so: tied, led by at most the margin, or short of judgments that count.",
    )
    units = KeysField(required=False, min_length=1, label="Items by key", help_text="Keys of judged units.")
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


@operation(
    "reopen",
    "More votes for units",
    parameters=ReopenRequest,
    then=ASK_THE_CROWD,
    orders=True,
    command=CommandHelp(
        "Ask for more votes on units of an open study; the log says why.",
        "triplets-50 --need tied --votes 2 --why 'two of three votes were invalidated'",
    ),
)
@confirmable("reopen")
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
    """Offer the HITs that hold the units to more workers."""
    chosen = units_in_need(study, Need(need), margin=margin) if need else units
    if not chosen:
        raise WrongState(
            _("Nothing was changed: no unit of study %(slug)r is %(need)s.")
            % {"slug": study.slug, "need": need}
        )
    count = reopen_units(study=study, units=chosen, votes=votes, why=why, by=by)
    words = ngettext(
        "One HIT goes to %(votes)s more workers, for %(units)s units.",
        "%(n)s HITs go to %(votes)s more workers, for %(units)s units.",
        count,
    )
    return Outcome(words % {"n": thousands(count), "votes": votes, "units": thousands(len(chosen))})


class BatchRequest(Parameters):
    """Which pairs, or units, to ask about again."""

    chosen = serializers.ListField(
        child=serializers.CharField(),
        min_length=1,
        max_length=MOST,
        error_messages=dict.fromkeys(("required", "min_length"), gettext_lazy("Choose at least one row.")),
    )
    why = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=LONGEST_REASON,
        help_text="Stands in the log.",
    )


@operation("next-batch", "A draft that asks again about chosen rows", parameters=BatchRequest)
def next_batch(*, study: Study, by: User | None, chosen: Sequence[str], why: str) -> Outcome:
    """Make a draft, of the study's own design, that asks again about the chosen rows. Nothing is opened."""
    batch = make_next_batch(study=study, keys=chosen, why=why, by=by)
    words = _("“%(name)s” is a draft of %(n)s chosen rows; nothing is opened by itself.")
    return Outcome(words % {"name": batch.name, "n": len(set(chosen))}, batch)


class TakeRequest(Parameters):
    """Which units to take."""

    chosen = serializers.ListField(
        child=RowId(),
        min_length=1,
        max_length=MOST_TAKEN,
        error_messages=dict.fromkeys(
            ("required", "min_length"), gettext_lazy("Choose units on which everybody agreed.")
        ),
    )
