"""What a comparison of a study with its crowd found, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from django.db.models import Count

from annotation.backends import Ability, backend_of
from annotation.models import Assignment, Budget, CrowdCall, CrowdSession, Publication
from annotation.services.money import kept_cents, ledger_sums, spell_cents
from judgments.models import Study

Status = CrowdSession.Status


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """Something that our rows and the crowd's disagree on, or that waits for a person.

    Attributes:
        kind: in a word.
        words: in a sentence.
        ids: of what it is about.
    """

    kind: str
    words: str
    ids: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Synced:
    """What a sync found and did (CONTRACT.md 1).

    Attributes:
        hits: publications that the crowd has, or had.
        assignments: state -> how many pages of work.
    """

    hits: int
    assignments: dict[str, int]
    budget_cents: int
    reserved_cents: int
    spent_cents: int
    discrepancies: list[Discrepancy]

    def as_json(self) -> dict[str, Any]:
        """The report."""
        return asdict(self)


def report_of(study: Study, found: Iterable[Discrepancy]) -> Synced:
    """What a sync found, and what waits for a person or for time."""
    budget = Budget.objects.filter(study=study, place=study.place).first()
    states = Assignment.objects.filter(study=study).order_by().values_list("state").annotate(n=Count("pk"))
    there = Publication.objects.filter(study=study, place=study.place).exclude(external_id="")
    return Synced(
        hits=there.count(),
        assignments=dict(sorted(states)),
        budget_cents=budget.budget_cents if budget else 0,
        reserved_cents=budget.reserved_cents if budget else 0,
        spent_cents=budget.spent_cents if budget else 0,
        discrepancies=[*found, *_parked(study), *_unknown(study), *_unnamed(study), *_books(budget)],
    )


def _parked(study: Study) -> list[Discrepancy]:
    rows = CrowdCall.objects.filter(study=study, place=study.place, state=CrowdCall.State.PARKED)
    return [
        Discrepancy(
            "parked",
            f"A call to {call.kind} {'has an unknown end' if call.unsure else 'was refused'} and waits for a person: "
            f"{call.problem}",
            {"call": call.key},
        )
        for call in rows
    ]


def _unknown(study: Study) -> list[Discrepancy]:
    rows = CrowdSession.objects.filter(study=study, place=study.place, status=Status.UNKNOWN)
    return [
        Discrepancy(
            "apart",
            f"Answers came for assignment {session.external_id}, which the crowd never had or took away before: they "
            "are kept apart and not paid.",
            {"assignment": session.external_id, "worker": session.worker.name},
        )
        for session in rows.select_related("worker")
    ]


def _unnamed(study: Study) -> list[Discrepancy]:
    rows = CrowdSession.objects.filter(
        study=study, place=study.place, status=Status.SUBMITTED, confirmed=False
    )
    if Ability.LIST not in backend_of(study).can:
        return []
    return [
        Discrepancy(
            "unnamed",
            f"Answers came for assignment {session.external_id}, which the crowd does not name (yet).",
            {"assignment": session.external_id, "worker": session.worker.name},
        )
        for session in rows.select_related("worker")
    ]


def _books(budget: Budget | None) -> list[Discrepancy]:
    """Our own books against themselves."""
    if budget is None:
        return []
    reserved, spent = ledger_sums(budget)
    kept = kept_cents(budget)
    if (reserved, spent) == (budget.reserved_cents, budget.spent_cents) and kept == reserved:
        return []
    return [
        Discrepancy(
            "books",
            f"The ledger holds {spell_cents(reserved)} reserved and {spell_cents(spent)} spent, the budget "
            f"{spell_cents(budget.reserved_cents)} and {spell_cents(budget.spent_cents)}, and places and calls keep "
            f"{spell_cents(kept)}; see check_integrity.",
        )
    ]
