"""Find the units of a study that need more votes, and offer them to more participants (`reopen`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from enum import StrEnum

from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from rest_framework import serializers

from annotation.crowds.opening import ASK_THE_CROWD
from annotation.money.orders import with_confirmation
from annotation.work.operations import MAX_WORKERS, reopen_units
from common.amounts import thousands
from common.errors import WrongState
from common.parameters import KeysField, Reason
from evaluation.data.judgment_sets import loaders
from evaluation.results.consensus.study import consensus_of
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.operations import CommandHelp, Outcome, operation
from judgments.studies.designs import design_of

# By default, a unit is uncertain if its winner leads by at most this share of the votes: 2 to 1, which is a third.
DEFAULT_MARGIN = 0.34


class ReopeningReason(StrEnum):
    """Why a unit needs more votes."""

    TIED = "tied"  # two answers have the most votes
    UNCERTAIN = "uncertain"  # the winner's lead is small, or two answers are tied
    # fewer used votes than the design asks for: not judged yet, judgments invalidated, or workers excluded
    SHORT = "short"


def units_needing_votes(study: Study, need: ReopeningReason, *, margin: float = DEFAULT_MARGIN) -> list[str]:
    """Return the keys of units, other than control items, that need more votes. ``margin`` is as DEFAULT_MARGIN.

    Raises:
        WrongState: ``need`` requires answers with a winner, and the answers of the study have none.
    """
    kind = KINDS[study.protocol]
    if need != ReopeningReason.SHORT and kind.aggregation.level != "nominal":
        raise WrongState(
            _(
                "The answers of study %(slug)r have no winner, so no item can be tied or "
                "uncertain. Choose “%(short)s”: items that lack votes."
            )
            % {"slug": study.slug, "short": ReopeningReason.SHORT}
        )
    table = loaders.load_judgments(study)
    if need == ReopeningReason.SHORT:
        vote_counts: Counter[int] = Counter(table.unit[table.is_counted].tolist())
        votes_wanted = design_of(study).judgments_per_unit
        return [unit.key for unit in loaders.judged_units_of(study) if vote_counts[unit.pk] < votes_wanted]
    consensus = consensus_of(study, table)
    unit_keys = []
    for unit in consensus.units:
        outcome = consensus.of_unit.get(unit.pk)
        if outcome is None or unit.pk in consensus.decisions:  # without used votes, or adjudicated
            continue
        if outcome.tie or (
            need == ReopeningReason.UNCERTAIN and outcome.margin is not None and outcome.margin <= margin
        ):
            unit_keys.append(unit.key)
    return unit_keys


class ReopenRequest(Reason):
    """The units that get more votes, by name or by need, and the number of votes."""

    one_of = (("need", "units"),)  # exactly one of them must be given

    need = serializers.ChoiceField(
        choices=[need.value for need in ReopeningReason],
        required=False,
        help_text="Items that get more votes: tied ones, uncertain ones (tied, or with a lead of at most the "
        "margin), or ones that are short of used judgments.",
    )
    units = KeysField(required=False, min_length=1, label="Keys of items", help_text="Keys of judged items.")
    margin = serializers.FloatField(
        default=DEFAULT_MARGIN,
        help_text="Only for uncertain items: largest lead of the winner, as a share of the votes (default: "
        f"{DEFAULT_MARGIN}).",
    )
    votes = serializers.IntegerField(
        min_value=1,
        max_value=MAX_WORKERS,
        initial=1,
        label="Additional votes for each item",
        help_text="Number of additional votes for each item.",
    )


@operation(
    "reopen",
    "More votes for units",
    parameters=ReopenRequest,
    follow_up=ASK_THE_CROWD,
    is_order=True,
    command=CommandHelp(
        "Ask for more votes on units of an open study; the log says why.",
        "triplets-50 --need tied --votes 2 --why 'two of three votes were invalidated'",
    ),
)
@with_confirmation("reopen")
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
    """Offer the HITs of the units to more workers.

    Either ``need`` says which units, or ``units`` has their keys.
    """
    unit_keys = units_needing_votes(study, ReopeningReason(need), margin=margin) if need else units
    if not unit_keys:
        raise WrongState(
            _("Nothing was changed: no item of study %(slug)r is %(need)s.")
            % {"slug": study.slug, "need": need}
        )
    hit_count = reopen_units(study=study, units=unit_keys, votes=votes, why=why, by=by)
    people = ngettext("one more participant", "%(n)s more participants", votes) % {"n": votes}
    items = ngettext("%(n)s item", "%(n)s items", len(unit_keys)) % {"n": thousands(len(unit_keys))}
    sentence = ngettext(
        "One page of work is offered to %(people)s, to get more votes on %(items)s.",
        "%(n)s pages of work are offered to %(people)s, to get more votes on %(items)s.",
        hit_count,
    )
    return Outcome(sentence % {"n": thousands(hit_count), "people": people, "items": items})
