"""Follow up on results: more votes for units that need them, drafts of chosen rows, and known items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from rest_framework import serializers

from annotation.crowds.publishing import ASK_THE_CROWD
from annotation.money.orders import confirmable
from annotation.work.operations import MOST_WORKERS, reopen_units
from common.amounts import thousands
from common.errors import NotThere, WrongState
from common.parameters import LONGEST_REASON, KeysField, Parameters, Reason, RowId
from evaluation.data.judgment_sets import loaders
from evaluation.models import Consensus
from evaluation.results.consensus import consensus_of
from evaluation.results.systems import items_left
from judgments.access.roles import note_event
from judgments.design.reading import make_design
from judgments.design.scale import plain_number
from judgments.drawing.material import SCREEN
from judgments.kinds import KINDS, Kind
from judgments.models import Study, Unit
from judgments.operations import CommandHelp, Outcome, operation
from judgments.studies.studies import (
    change_design,
    create_study,
    design_of,
    draws_at_claim,
    kind_of,
    next_copy,
    without_short_code,
)

MARGIN = 0.34  # maximal lead, as a share of votes, of an uncertain unit's winner
MOST = 10_000
LEAST_VOTES = 3


class Need(StrEnum):
    TIED = "tied"  # no answer has the most votes
    UNCERTAIN = "uncertain"  # the winner leads by too little
    SHORT = "short"  # judgments were invalidated, or their workers excluded


def units_in_need(study: Study, need: Need, *, margin: float = MARGIN) -> list[str]:
    """Return the keys of judged units in need, in order.

    Args:
        margin: maximal lead of an uncertain unit's winner, as a share of its votes.

    Raises:
        WrongState: the study's answers have no winner.
    """
    kind = KINDS[study.protocol]
    if need != Need.SHORT and kind.aggregation.level != "nominal":
        raise WrongState(
            _(
                "Units of study %(slug)r are neither tied nor uncertain: its answers have no "
                "winner; expected '%(short)s'."
            )
            % {"slug": study.slug, "short": Need.SHORT}
        )
    table = loaders.load_judgments(study)
    if need == Need.SHORT:
        counted: Counter[int] = Counter(table.unit[table.counted].tolist())
        wanted = design_of(study).judgments_per_unit
        return [unit.key for unit in loaders.unit_rows(study) if counted[unit.pk] < wanted]
    consensus = consensus_of(study, table)
    chosen = []
    for unit in consensus.units:
        answer = consensus.of_unit.get(unit.pk)
        if answer is None or unit.pk in consensus.decisions:
            continue
        if answer.tie or (need == Need.UNCERTAIN and answer.margin is not None and answer.margin <= margin):
            chosen.append(unit.key)
    return chosen


def _add_units_of_same_screens(study: Study, units: QuerySet[Unit]) -> QuerySet[Unit]:
    """Add the units that stood beside these on one screen: people would see other texts without them."""
    screens = {content.get(SCREEN) for content in units.values_list("content", flat=True)} - {None}
    return units | study.units.filter(control=False, content__screen__in=screens) if screens else units


@transaction.atomic
def make_next_batch(*, study: Study, keys: Sequence[str], why: str = "", by: User | None = None) -> Study:
    """Create a draft with the design of ``study``, limited to these pairs or units.

    Raises:
        WrongState: nothing is chosen, or nothing could be drawn again. NotThere: an unknown id.
    """
    kind = KINDS[study.protocol]
    chosen = list(dict.fromkeys(keys))
    if not chosen:
        raise WrongState(_("No batch was made: choose at least one row."))
    if len(chosen) > MOST:
        raise WrongState(
            _("No batch was made: %(chosen)s rows are chosen, at most %(most)s fit in one design.")
            % {"chosen": thousands(len(chosen)), "most": thousands(MOST)}
        )
    if not kind.chosen_by_id:
        raise WrongState(
            _("No batch was made: %(name)s has no units that could be chosen one by one.")
            % {"name": kind.name}
        )
    if study.source == Study.Source.IMPORTED and not kind.compares_pairs:
        raise WrongState(
            _(
                "No batch was made: study %(slug)r holds imported judgments; no design draws its captions again."
            )
            % {"slug": study.slug}
        )
    rows = study.pairs.all() if kind.compares_pairs else study.units.filter(control=False)
    existing = set(rows.filter(key__in=chosen).values_list("key", flat=True))
    lacking = [key for key in chosen if key not in existing]
    if lacking:
        raise NotThere(
            _("No batch was made: study %(slug)r has no %(lacking)r.")
            % {"slug": study.slug, "lacking": lacking[0]}
        )
    number = next_copy(study)
    sampling: dict[str, Any] = {"only": sorted(chosen)}
    values = without_short_code(study.design) | {
        "slug": f"{study.slug[:75]}-{number}",
        "name": f"{study.name[:180]} (closer, {number})",
    }
    values.pop("by_hand", None)  # of items of the study before
    values.pop("chosen", None)  # what chance a row had to be in this batch, nobody knows
    if kind.judges_one_caption:  # chosen units are judged, whatever the sampling or the filter
        units = _add_units_of_same_screens(study, study.units.filter(key__in=chosen)).order_by("position")
        sampling = {
            "pairs_from": "list",
            "listed": list(units.values_list("item__name", "first__key")),
            "only": [],
            "images": "all",
        }
        images = Counter(units.values_list("item", flat=True))
        if study.design.get("spans", {}).get("contrastive") and max(images.values()) < 2:
            values["spans"] = study.design["spans"] | {"contrastive": False}
        full = study.design["captions_per_image"] if kind.grouped else 0  # as many as a control image has
        values["filter"] = study.design["filter"] | {"bleu_pre": 0.0, "fill_to": full, "audit": 0}
    values["sampling"] = study.design["sampling"] | sampling
    batch = create_study(design=make_design(values), user=by)
    what = f"{len(chosen):,} candidate pairs" if kind.compares_pairs else f"{len(chosen):,} captions"
    note_event(
        study=study, what="next-batch", sentence=f"{what} were chosen for a new draft, {batch.slug}.", by=by,
        why=why, batch=batch.slug, only=sorted(chosen),
    )  # fmt: skip
    note_event(
        study=batch,
        what="next-batch",
        sentence=f"Made of {what} of {study.slug}.",
        by=by,
        why=why,
        source=study.slug,
    )
    return batch


@transaction.atomic
def make_batch_of_new_items(*, study: Study, items: int, why: str = "", by: User | None = None) -> Study:
    """Create a draft with the design of ``study`` for so many items that it did not ask about.

    The draft alone answers the question: to look, and to go on until a difference shows, finds one too often
    (Armitage, McPherson, Rowe 1969).

    Raises:
        WrongState: the dataset has fewer such items, or the design names its items one by one.
    """
    kind, design = KINDS[study.protocol], design_of(study)
    if study.source == Study.Source.IMPORTED or draws_at_claim(study) or design.sampling.listed:
        raise WrongState(
            _("No items were ordered: study %(slug)r does not draw its items from the dataset.")
            % {"slug": study.slug}
        )
    left = items_left(study)
    if items > left:
        raise WrongState(
            _(
                "No items were ordered: dataset %(dataset)r has %(left)s items that were not asked about, not "
                "%(items)s; upload more first."
            )
            % {"dataset": study.dataset.name, "left": thousands(left), "items": thousands(items)}
        )
    number = next_copy(study)
    sampling: dict[str, Any] = {"only": [], "not_in": [*design.sampling.not_in, study.slug]}
    if kind.compares_pairs:
        judged = max(1, study.pairs.values("item").distinct().count())
        counts = Counter(study.pairs.values_list("kind", flat=True))
        sampling["pairs"] = {
            of_kind: -(-count * items // judged) for of_kind, count in counts.items() if of_kind
        }
    else:
        sampling["images"] = items
    values = without_short_code(study.design) | {
        "slug": f"{study.slug[:75]}-{number}",
        "name": f"{study.name[:180]} (new items, {number})",
        "sampling": study.design["sampling"] | sampling,
    }
    values.pop("chosen", None)
    batch = create_study(design=make_design(values), user=by)
    events = (
        (study, f"{items:,} new items were ordered, in draft {batch.slug}."),
        (batch, f"Made of {study.slug}."),
    )
    for about, sentence in events:
        note_event(study=about, what="more-items", sentence=sentence, by=by, why=why)
    return batch


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible known item; ``expected`` is its answer as in a study file."""

    consensus: Consensus
    expected: Any

    def as_known(self) -> dict[str, Any]:
        unit = self.consensus.unit
        assert unit is not None
        texts = {"reference": unit.reference, "first": unit.first, "second": unit.second}
        reason = (
            "decided by an adjudicator"
            if self.consensus.source == Consensus.Source.ADJUDICATED
            else f"all {self.consensus.n} judgments say so"
        )
        return {
            "image": unit.item.name,
            **{name: caption.text for name, caption in texts.items() if caption is not None},
            "expected": self.expected,
            "why": f"In study {unit.study.slug}, {reason}.",
        }


def units_for_known_items(study: Study) -> QuerySet[Consensus]:
    return (
        Consensus.objects.filter(
            unit__study__dataset=study.dataset_id,
            unit__study__protocol=study.protocol,
            unit__study__simulated=False,
            unit__control=False,
            value__isnull=False,
        )
        .exclude(unit__study=study)
        .filter(
            Q(n__gte=LEAST_VOTES, share__in=(0, 1))  # relevance: share of yes
            | Q(n__gte=LEAST_VOTES, share__isnull=True)
            | Q(source=Consensus.Source.ADJUDICATED)
        )
        .select_related("unit__study", "unit__item", "unit__reference", "unit__first", "unit__second")
        .order_by("-n", "unit__study_id", "unit__position")
    )


def candidate_of(kind: Kind, consensus: Consensus) -> Candidate | None:
    """Return the unit as a known item if unanimous or adjudicated, else None."""
    if consensus.source == Consensus.Source.ADJUDICATED:
        votes = [consensus.value]
    else:
        votes = [plain_number(float(value)) for value, count in consensus.votes.items() if count]
    for expected in kind.expectations:
        if votes and all(vote is not None and kind.is_right(vote, expected) for vote in votes):
            return Candidate(consensus, expected)
    return None


@transaction.atomic
def take_known_items(*, study: Study, chosen: Collection[int]) -> int:
    """Add units of ``units_for_known_items`` to a draft's known items; return the number of new ones.

    Raises:
        WrongState: the design is frozen, or no chosen unit qualifies.
    """
    kind = kind_of(study)
    candidates = [candidate_of(kind, row) for row in units_for_known_items(study).filter(pk__in=chosen)]
    items = [candidate.as_known() for candidate in candidates if candidate is not None]
    if not items:
        raise WrongState(_("No known item was added: choose units on which everybody agreed."))
    controls = study.design.get("controls", {})
    existing = list(controls.get("known", []))
    shown = ("image", "reference", "first", "second")

    def what(item: dict[str, Any]) -> list[str]:
        return [item.get(name, "") for name in shown]

    known = {tuple(what(item)) for item in existing}
    new = [item for item in items if tuple(what(item)) not in known]
    kinds = list(dict.fromkeys([*controls.get("kinds", ["reference"]), "known-good"]))
    values = study.design | {"controls": controls | {"known": existing + new, "kinds": kinds}}
    change_design(study=study, design=make_design(values))
    return len(new)


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
    sentence = ngettext(
        "One HIT goes to %(votes)s more workers, for %(units)s units.",
        "%(n)s HITs go to %(votes)s more workers, for %(units)s units.",
        count,
    )
    return Outcome(sentence % {"n": thousands(count), "votes": votes, "units": thousands(len(chosen))})


class OptionalReason(serializers.CharField):
    def __init__(self) -> None:
        super().__init__(
            default="", allow_blank=True, max_length=LONGEST_REASON, help_text="Stands in the log."
        )


class BatchRequest(Parameters):
    """Which pairs, or units, to ask about again."""

    chosen = serializers.ListField(
        child=serializers.CharField(),
        min_length=1,
        max_length=MOST,
        error_messages=dict.fromkeys(("required", "min_length"), gettext_lazy("Choose at least one row.")),
    )
    why = OptionalReason()


@operation("next-batch", "A draft that asks again about chosen rows", parameters=BatchRequest)
def next_batch(*, study: Study, by: User | None, chosen: Sequence[str], why: str) -> Outcome:
    """Make a draft, of the study's own design, that asks again about the chosen rows. Nothing is opened."""
    batch = make_next_batch(study=study, keys=chosen, why=why, by=by)
    sentence = _("“%(name)s” is a draft of %(n)s chosen rows; nothing is opened by itself.")
    return Outcome(sentence % {"name": batch.name, "n": len(set(chosen))}, batch)


class MoreItemsRequest(Parameters):
    """How many new items to ask about."""

    items = serializers.IntegerField(min_value=1, max_value=MOST, label="New items")
    why = OptionalReason()


@operation("more-items", "A draft that asks about new items", parameters=MoreItemsRequest)
def more_items(*, study: Study, by: User | None, items: int, why: str) -> Outcome:
    """Make a draft, of the study's own design, for items that it did not ask about. Nothing is opened."""
    batch = make_batch_of_new_items(study=study, items=items, why=why, by=by)
    sentence = _("“%(name)s” is a draft of %(n)s new items; nothing is opened by itself.")
    return Outcome(sentence % {"name": batch.name, "n": thousands(items)}, batch)


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
