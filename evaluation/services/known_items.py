"""Known items from what was judged before: units on which everybody agreed, or that somebody decided."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from evaluation.models import Consensus
from judgments.design import make_design
from judgments.errors import WrongState
from judgments.kinds import KINDS, Kind
from judgments.models import Study
from judgments.services.studies import change_design

LEAST_VOTES = 3


@dataclass(frozen=True, slots=True)
class Candidate:
    """A judged unit that could be a known item.

    Attributes:
        expected: the answer that everybody gave, in the form a study file takes.
    """

    consensus: Consensus
    expected: Any

    def as_known(self) -> dict[str, Any]:
        """A ``[[controls.known]]`` table."""
        unit = self.consensus.unit
        assert unit is not None
        texts = {"reference": unit.reference, "first": unit.first, "second": unit.second}
        said = (
            "decided by an adjudicator"
            if self.consensus.source == Consensus.Source.ADJUDICATED
            else (f"all {self.consensus.n} judgments say so")
        )
        return {
            "image": unit.item.name,
            **{name: caption.text for name, caption in texts.items() if caption is not None},
            "expected": self.expected,
            "why": f"In study {unit.study.slug}, {said}.",
        }


def settled_units(study: Study) -> QuerySet[Consensus]:
    """The consensus of units of other studies of the same dataset and protocol, those with most votes first."""
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
    """The unit as a known item, where every vote, or the adjudicator, says the same; else None."""
    if consensus.source == Consensus.Source.ADJUDICATED:
        votes = [consensus.value]
    else:
        votes = [int(value) for value, count in consensus.votes.items() if count]
    for expected in kind.expectations():
        if votes and all(vote is not None and kind.is_right(vote, expected) for vote in votes):
            return Candidate(consensus, expected)
    return None


@transaction.atomic
def take_known_items(*, study: Study, chosen: Collection[int]) -> int:
    """Add units to the known items of a draft's design, and ``known-good`` to its kinds; how many were new to it.

    Args:
        chosen: row ids of the consensus of units that ``settled_units`` offers.

    Raises:
        WrongState: the design is frozen, or nothing of what was chosen is settled.
    """
    kind = KINDS[study.protocol]
    found = [candidate_of(kind, one) for one in settled_units(study).filter(pk__in=chosen)]
    items = [one.as_known() for one in found if one is not None]
    if not items:
        raise WrongState("No known item was added: choose units on which everybody agreed.")
    controls = study.design.get("controls", {})
    there = list(controls.get("known", []))
    shown = ("image", "reference", "first", "second")

    def what(item: dict[str, Any]) -> list[str]:
        return [item.get(name, "") for name in shown]

    known = {tuple(what(item)) for item in there}
    new = [item for item in items if tuple(what(item)) not in known]
    kinds = list(dict.fromkeys([*controls.get("kinds", ["reference"]), "known-good"]))
    values = study.design | {"controls": controls | {"known": there + new, "kinds": kinds}}
    change_design(study=study, design=make_design(values))
    return len(new)
