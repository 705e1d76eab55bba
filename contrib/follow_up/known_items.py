"""Take known items for a draft from units of other studies whose votes agree, or which were adjudicated."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework import serializers

from common.errors import WrongState
from common.parameters import Parameters, RowId
from evaluation.models import Consensus
from judgments.design.numbers import plain_number
from judgments.design.reading.checking import make_design
from judgments.kinds import Kind
from judgments.models import Study
from judgments.studies.designs import kind_of
from judgments.studies.studies import change_design

MIN_VOTES = 3  # equal answers that a unit needs, unless an adjudicator decided
MAX_KNOWN_ITEMS = 1000  # known items that one call can take


@dataclass(frozen=True, slots=True)
class CandidateItem:
    """A unit that can become a known item, with its right answer in the form of a study file.

    For graded relevance, for example, the right answer is "3-4" or "1-2".
    """

    consensus: Consensus
    expected: Any

    def known_item(self) -> dict[str, Any]:
        """Return the entry of the list ``controls.known`` in a study file.

        Example: ``{"image": "1.jpg", "first": "A dog.", "expected": 1, "why": "In study s, all 3 judgments say so."}``.
        """
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
    """Return the consensus of units that may become known items: those of other studies of this dataset and protocol.

    The consensus is unanimous, as far as a query can tell, or adjudicated (see ``candidate_of``).
    """
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
            Q(n__gte=MIN_VOTES, share__in=(0, 1))  # for relevance, the share of yes
            | Q(n__gte=MIN_VOTES, share__isnull=True)  # grades, whose votes `candidate_of` compares
            | Q(source=Consensus.Source.ADJUDICATED)
        )
        .select_related("unit__study", "unit__item", "unit__reference", "unit__first", "unit__second")
        .order_by("-n", "unit__study_id", "unit__position")
    )


def visible_units_for_known_items(study: Study, visible_studies: QuerySet[Study]) -> QuerySet[Consensus]:
    return units_for_known_items(study).filter(study__in=visible_studies.order_by().values("pk"))


def candidate_of(kind: Kind, consensus: Consensus) -> CandidateItem | None:
    """Return a unit as a known item if its consensus is unanimous or adjudicated, else None."""
    if consensus.source == Consensus.Source.ADJUDICATED:
        votes = [consensus.value]
    else:
        votes = [plain_number(float(value)) for value, count in consensus.votes.items() if count]
    for right_answer in kind.expected_choices:
        if votes and all(vote is not None and kind.is_right(vote, right_answer) for vote in votes):
            return CandidateItem(consensus, right_answer)
    return None


@transaction.atomic
def take_known_items(*, study: Study, consensus_ids: Collection[int]) -> int:
    """Add units of ``units_for_known_items`` to a draft's known items; return the number of new ones.

    Raises:
        WrongState: the design is frozen, or none of the selected units qualifies.
    """
    kind = kind_of(study)
    rows = units_for_known_items(study).filter(pk__in=consensus_ids)
    candidates = [candidate_of(kind, consensus) for consensus in rows]
    items = [candidate.known_item() for candidate in candidates if candidate is not None]
    if not items:
        raise WrongState(_("No known item was added: select items on which all participants agreed."))
    controls = study.design.get("controls", {})
    known_items = list(controls.get("known", []))
    known_texts = {_item_texts(item) for item in known_items}
    new_items = [item for item in items if _item_texts(item) not in known_texts]
    # The check questions' kinds are those of before (by default "reference") and "known-good", which are known items.
    kinds = list(dict.fromkeys([*controls.get("kinds", ["reference"]), "known-good"]))
    values = study.design | {"controls": controls | {"known": known_items + new_items, "kinds": kinds}}
    change_design(study=study, design=make_design(values))
    return len(new_items)


def _item_texts(item: dict[str, Any]) -> tuple[str, ...]:
    """Return the image and the texts of a known item, by which equal items are recognised."""
    return tuple(item.get(name, "") for name in ("image", "reference", "first", "second"))


class TakeKnownItemsRequest(Parameters):
    """The units to take as known items."""

    chosen = serializers.ListField(
        child=RowId(),
        min_length=1,
        max_length=MAX_KNOWN_ITEMS,
        error_messages=dict.fromkeys(
            ("required", "min_length"), gettext_lazy("Select items on which all participants agreed.")
        ),
    )
