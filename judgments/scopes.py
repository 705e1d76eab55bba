"""What a token of the HTTP interface may be good for. A scope opens calls; it never widens what its account may do."""

from __future__ import annotations

from collections.abc import Iterable

SCOPES: dict[str, str] = {
    "studies:read": "studies, designs, datasets, units, HITs, jobs, the log, rehearsals, presets",
    "studies:write": "create studies, change designs and rules, generate, open and close",
    "judgments:read": "judgments, assignments and what workers wrote",
    "workers:read": "workers, invitations, rules and their findings, exclusions, adjudications",
    "workers:write": "approve and reject work, exclude workers and take them back, decide",
    "reports:read": "consensus, agreement, analyses, the board, plans",
    "reports:write": "compute consensus, agreement, metrics against them, and plans",
    "exports:read": "list and download exports",
    "exports:write": "make exports",
    "webhooks:read": "webhooks and what they were told",
    "webhooks:write": "add, try, rotate, switch and remove webhooks",
    "submissions:read": "challenges and one's own submissions to them",
    "submissions:write": "submit captions to challenges",
    "money:read": "budgets, the ledger, what was put up at a crowd and asked of it",
    "money:write": "pay bonuses and top-ups, set budgets, decide on payments that failed",
}


# All that a token of an account without staff rights can be good for.
FOR_PARTICIPANTS = ("submissions:read", "submissions:write")


def allows(held: Iterable[str], asked: str) -> bool:
    """Whether one of the scopes held opens what ``asked`` names; who may write may read too."""
    area, _, verb = asked.partition(":")
    return asked in held or (verb == "read" and f"{area}:write" in held)
