"""Create drafts that follow a study: with some of its rows again, or with new items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework import serializers

from common.amounts import thousands
from common.errors import ObjectNotFound, WrongState
from common.parameters import MAX_REASON_LENGTH, Parameters
from evaluation.results.systems import count_unused_items
from judgments.access.study_log import note_event
from judgments.design.reading.checking import make_design
from judgments.drawing.material import SCREEN
from judgments.kinds import KINDS
from judgments.models import Study, Unit
from judgments.operations import Outcome, operation
from judgments.studies.codes import without_guessable_code
from judgments.studies.designs import design_of, draws_at_claim
from judgments.studies.studies import create_study, next_copy_number

MAX_ITEMS = 10_000  # rows or new items of a draft
# Characters that are kept of the study's short name and name; the rest of the fields (80, 200) is for the additions.
SLUG_LENGTH, NAME_LENGTH = 75, 180


def _with_units_of_same_screens(study: Study, units: QuerySet[Unit]) -> QuerySet[Unit]:
    """Return the units, and all that were on the same screens, so that people compare the same texts as before."""
    screens = {content.get(SCREEN) for content in units.values_list("content", flat=True)} - {None}
    if not screens:
        return units
    return units | study.units.filter(control=False, content__screen__in=screens)


@transaction.atomic
def make_next_batch(*, study: Study, keys: Sequence[str], why: str = "", by: User | None = None) -> Study:
    """Create a draft with the design of ``study`` (no guessable access code) for the pairs or units with these keys.

    Raises:
        WrongState: nothing is selected, or nothing could be generated again.
        ObjectNotFound: a key is unknown.
    """
    kind = KINDS[study.protocol]
    selected_keys = list(dict.fromkeys(keys))
    _check_selection(study, selected_keys)
    number = next_copy_number(study)
    values = without_guessable_code(study.design) | {
        "slug": f"{study.slug[:SLUG_LENGTH]}-{number}",
        "name": f"{study.name[:NAME_LENGTH]} (closer, {number})",  # "closer": the error analysis
        "sampling": study.design["sampling"] | {"only": sorted(selected_keys)},
    }
    values.pop("by_hand", None)  # changes by hand are about items of the previous study
    values.pop("chosen", None)  # each row's probability of being selected, which is unknown for this batch
    if kind.judges_one_caption:
        values |= _tables_of_listed_captions(study, selected_keys)
    batch = create_study(design=make_design(values), user=by)
    noun = "candidate pairs" if kind.compares_pairs else "captions"
    description = f"{len(selected_keys):,} {noun}"
    note_event(
        study=study,
        what="next-batch",
        sentence=f"{description} were chosen for a new draft, {batch.slug}.",
        by=by,
        why=why,
        batch=batch.slug,
        only=sorted(selected_keys),
    )
    note_event(
        study=batch,
        what="next-batch",
        sentence=f"Made of {description} of {study.slug}.",
        by=by,
        why=why,
        source=study.slug,
    )
    return batch


def _check_selection(study: Study, keys: Sequence[str]) -> None:
    """Raise an error if a draft cannot be limited to the pairs or units with these keys."""
    kind = KINDS[study.protocol]
    if not keys:
        raise WrongState(_("No study was created: select at least one row."))
    if len(keys) > MAX_ITEMS:
        raise WrongState(
            _(
                "No study was created: too many rows are selected (%(chosen)s); expected at most %(most)s, the limit "
                "for a design."
            )
            % {"chosen": thousands(len(keys)), "most": thousands(MAX_ITEMS)}
        )
    if not kind.supports_unit_ids:
        raise WrongState(
            _("No study was created: items of the kind %(name)s cannot be chosen individually.")
            % {"name": kind.name}
        )
    # The key of a pair is made of its texts, so that a draft can find an imported pair in the dataset.
    if study.source == Study.Source.IMPORTED and not kind.compares_pairs:
        raise WrongState(
            _(
                "No study was created: the judgments of study %(slug)r were imported, so its items cannot "
                "be sampled again."
            )
            % {"slug": study.slug}
        )
    rows = study.pairs.all() if kind.compares_pairs else study.units.filter(control=False)
    known_keys = set(rows.filter(key__in=keys).values_list("key", flat=True))
    unknown_keys = [key for key in keys if key not in known_keys]
    if unknown_keys:
        raise ObjectNotFound(
            _("No study was created: study %(slug)r has no row %(lacking)r.")
            % {"slug": study.slug, "lacking": unknown_keys[0]}
        )


def _tables_of_listed_captions(study: Study, keys: Sequence[str]) -> dict[str, Any]:
    """Return the tables of a design by which exactly these units, and others on their screens, are judged again."""
    units = _with_units_of_same_screens(study, study.units.filter(key__in=keys)).order_by("position")
    sampling = {
        "pairs_from": "list",
        "listed": list(units.values_list("item__name", "first__key")),
        "only": [],
        "images": "all",
    }
    # A grouped kind shows an image with a group of captions. A small group is filled up, since people would recognise
    # the check questions, whose groups are always full.
    fill_to = study.design["captions_per_image"] if KINDS[study.protocol].grouped else 0
    tables = {
        "sampling": study.design["sampling"] | sampling,
        # no filter, since the listed captions were selected already
        "filter": study.design["filter"] | {"bleu_pre": 0.0, "fill_to": fill_to, "audit": 0},
    }
    unit_counts = Counter(units.values_list("item", flat=True))
    # "contrastive" shows two texts of an item together, which is impossible if no item has two.
    if study.design.get("spans", {}).get("contrastive") and max(unit_counts.values()) < 2:
        tables["spans"] = study.design["spans"] | {"contrastive": False}
    return tables


@transaction.atomic
def make_batch_of_new_items(*, study: Study, items: int, why: str = "", by: User | None = None) -> Study:
    """Create a draft with the design of ``study`` for ``items`` items that the study did not ask about.

    The draft must be analysed alone. Whoever looks at results, and continues until there is a difference, finds
    differences too often (Armitage, McPherson, Rowe 1969).

    Raises:
        WrongState: the dataset has fewer such items, or the design names its items one by one.
    """
    kind, design = KINDS[study.protocol], design_of(study)
    if study.source == Study.Source.IMPORTED or draws_at_claim(study) or design.sampling.listed:
        raise WrongState(
            _("No study was created: study %(slug)r does not sample its items from the dataset.")
            % {"slug": study.slug}
        )
    unused_items = count_unused_items(study)
    if items > unused_items:
        raise WrongState(
            _(
                "No study was created: dataset %(dataset)r has too few unused items (%(left)s; expected %(items)s). "
                "Upload more items first."
            )
            % {"dataset": study.dataset.name, "left": thousands(unused_items), "items": thousands(items)}
        )
    number = next_copy_number(study)
    sampling: dict[str, Any] = {"only": [], "not_in": [*design.sampling.not_in, study.slug]}
    if kind.compares_pairs:
        judged_count = max(1, study.pairs.values("item").distinct().count())
        counts = Counter(study.pairs.values_list("kind", flat=True))
        # As many pairs of each kind for an item as in this study, rounded up. "" is an unknown kind.
        sampling["pairs"] = {
            name: ceil(count * items / judged_count) for name, count in counts.items() if name
        }
    else:
        sampling["images"] = items
    values = without_guessable_code(study.design) | {
        "slug": f"{study.slug[:SLUG_LENGTH]}-{number}",
        "name": f"{study.name[:NAME_LENGTH]} (new items, {number})",
        "sampling": study.design["sampling"] | sampling,
    }
    values.pop("chosen", None)  # probabilities of items of the previous study
    values.pop("by_hand", None)  # changes of its items, which the new draft does not draw
    batch = create_study(design=make_design(values), user=by)
    events = (
        (study, f"{items:,} new items were ordered, in draft {batch.slug}."),
        (batch, f"Made of {study.slug}."),
    )
    for logged_study, sentence in events:
        note_event(study=logged_study, what="more-items", sentence=sentence, by=by, why=why)
    return batch


class OptionalReason(serializers.CharField):
    """A field for the reason of a step, which the log of the study shows."""

    def __init__(self) -> None:
        super().__init__(
            default="",
            allow_blank=True,
            max_length=MAX_REASON_LENGTH,
            label="Reason",
            help_text="The reason is shown in the log.",
        )


class BatchRequest(Parameters):
    """The keys of the pairs or units about which the new draft asks again, and the reason."""

    chosen = serializers.ListField(
        child=serializers.CharField(),
        min_length=1,
        max_length=MAX_ITEMS,
        error_messages=dict.fromkeys(("required", "min_length"), gettext_lazy("Select at least one row.")),
    )
    why = OptionalReason()


@operation("next-batch", "A draft that asks again about chosen rows", parameters=BatchRequest)
def next_batch(*, study: Study, by: User | None, chosen: Sequence[str], why: str) -> Outcome:
    """Create a draft with the study's own design that asks again about the selected rows. The draft is not opened."""
    batch = make_next_batch(study=study, keys=chosen, why=why, by=by)
    sentence = _("The draft “%(name)s” was created. Selected rows: %(n)s. It is not opened automatically.")
    return Outcome(sentence % {"name": batch.name, "n": len(set(chosen))}, batch)


class MoreItemsRequest(Parameters):
    """The number of new items, and the reason."""

    items = serializers.IntegerField(min_value=1, max_value=MAX_ITEMS, label="New items")
    why = OptionalReason()


@operation("more-items", "A draft that asks about new items", parameters=MoreItemsRequest)
def more_items(*, study: Study, by: User | None, items: int, why: str) -> Outcome:
    """Create a draft with the study's own design for items that it did not ask about. The draft is not opened."""
    batch = make_batch_of_new_items(study=study, items=items, why=why, by=by)
    sentence = _("The draft “%(name)s” was created. New items: %(n)s. It is not opened automatically.")
    return Outcome(sentence % {"name": batch.name, "n": thousands(items)}, batch)
