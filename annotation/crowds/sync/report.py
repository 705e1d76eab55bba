"""The report of a sync: what the database has of the study, and how it differs from the crowd."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from django.db.models import Count, Sum

from annotation.crowds import Ability, backend_of
from annotation.models import Assignment, Budget, CrowdCall, CrowdSession, Publication, at_crowd
from annotation.money.ledger import ledger_sums, reserved_cents
from common.amounts import spell_cents
from judgments.models import Study

Status = CrowdSession.Status


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """A difference between the database and the crowd, or something that a person has to decide.

    Attributes:
        kind: what differs, such as "only-here" or "money". The kinds are explained in docs/crowds.
        words: the difference in a sentence.
        ids: the ids of what the difference is about, such as ``{"assignment": "3X", "worker": "p-3f2a"}``.
    """

    kind: str
    words: str
    ids: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SyncReport:
    """The result of a sync.

    Attributes:
        hit_count: number of external HITs (offers of work at the crowd) that were published.
        assignments_by_state: number of assignments in each state.
        budget_cents, reserved_cents, spent_cents: the study's budget; 0 if it has none.
    """

    hit_count: int
    assignments_by_state: dict[str, int]
    budget_cents: int
    reserved_cents: int
    spent_cents: int
    discrepancies: list[Discrepancy]

    def as_json(self) -> dict[str, Any]:
        """Return the JSON of the command ``sync_crowd`` and of the job, which has other names for two fields."""
        json_names = {"hit_count": "hits", "assignments_by_state": "assignments"}
        return {json_names.get(name, name): value for name, value in asdict(self).items()}


def report_of(study: Study, discrepancies: Iterable[Discrepancy]) -> SyncReport:
    """Return the report of a sync that found ``discrepancies`` at the crowd.

    The report also has the discrepancies that the database alone shows: failed calls, unconfirmed answers, and sums of
    money that do not agree.
    """
    budget = at_crowd(Budget, study).first()
    counts = Assignment.objects.filter(study=study).order_by().values_list("state").annotate(n=Count("pk"))
    publications = at_crowd(Publication, study).exclude(external_id="")
    return SyncReport(
        hit_count=publications.count(),
        assignments_by_state=dict(sorted(counts)),
        budget_cents=budget.budget_cents if budget else 0,
        reserved_cents=budget.reserved_cents if budget else 0,
        spent_cents=budget.spent_cents if budget else 0,
        discrepancies=[
            *discrepancies,
            *_failed_call_discrepancies(study),
            *_unconfirmed_discrepancies(study),
            *_budget_discrepancies(budget),
        ],
    )


def _failed_call_discrepancies(study: Study) -> list[Discrepancy]:
    discrepancies = []
    for call in at_crowd(CrowdCall, study).filter(state=CrowdCall.State.FAILED):
        outcome = "has an unknown end" if call.has_unknown_outcome else "was refused"
        message = f"A call to {call.kind} {outcome} and waits for a person: {call.problem}"
        discrepancies.append(Discrepancy("parked", message, {"call": call.key}))
    return discrepancies


def _unconfirmed_discrepancies(study: Study) -> list[Discrepancy]:
    """Return sessions that the crowd does not know ("apart"), or does not list yet ("unnamed")."""
    sessions = at_crowd(CrowdSession, study).select_related("worker")
    reason = "never had or took away before: they are kept apart and not paid."
    unknown_sessions = sessions.filter(status=Status.UNKNOWN)
    discrepancies = [_answers_discrepancy("apart", session, reason) for session in unknown_sessions]
    if Ability.LIST in backend_of(study).can:
        unnamed_sessions = sessions.filter(status=Status.SUBMITTED, confirmed=False)
        discrepancies += [
            _answers_discrepancy("unnamed", session, "does not name (yet).") for session in unnamed_sessions
        ]
    return discrepancies


def _answers_discrepancy(kind: str, session: CrowdSession, reason: str) -> Discrepancy:
    return Discrepancy(
        kind,
        f"Answers came for assignment {session.external_id}, which the crowd {reason}",
        {"assignment": session.external_id, "worker": session.worker.name},
    )


def _budget_discrepancies(budget: Budget | None) -> list[Discrepancy]:
    """Return payments beyond the budget or without a session, and sums that do not agree.

    The counters of the budget, the sums of the ledger, and the money of held places and open calls should agree.
    """
    if budget is None:
        return []

    def spell(cents: int) -> str:
        return spell_cents(cents, budget.currency)

    discrepancies = []
    if budget.over_cents:
        message = f"The crowd paid {spell(budget.over_cents)} beyond the budget: raise it."
        discrepancies.append(Discrepancy("money", message))
    # "unmatched" is a payment without a session; "matched" takes it back once there is a session for it
    payments = budget.entries.filter(what__in=["unmatched", "matched"]).aggregate(cents=Sum("spent_cents"))
    if payments["cents"]:
        message = f"The crowd paid {spell(payments['cents'])} for work that does not count here."
        discrepancies.append(Discrepancy("paid-there", message))
    ledger_reserved, ledger_spent = ledger_sums(budget)
    held_cents = reserved_cents(budget)
    is_ledger_wrong = (ledger_reserved, ledger_spent) != (budget.reserved_cents, budget.spent_cents)
    if is_ledger_wrong or held_cents != ledger_reserved:
        message = (
            f"The ledger holds {spell(ledger_reserved)} reserved and {spell(ledger_spent)} spent, the budget "
            f"{spell(budget.reserved_cents)} and {spell(budget.spent_cents)}, and places and calls keep "
            f"{spell(held_cents)}."
        )
        discrepancies.append(Discrepancy("books", message))
    return discrepancies
