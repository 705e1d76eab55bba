"""Who may take a HIT, as Mechanical Turk's qualification requirements.

Identifiers and limits: "QualificationRequirement" of the Mechanical Turk API Reference.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from annotation.mturk.errors import RequirementProblem
from judgments.design_tables import Workers

LOCALE = "00000000000000000071"
PERCENT_APPROVED = "000000000000000000L0"
NUMBER_APPROVED = "00000000000000000040"
# the only one of the service's own that has another id in the sandbox
MASTERS_SANDBOX = "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6"
MASTERS_LIVE = "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH"
MOST_REQUIREMENTS = 10
MOST_LOCALES = 30

Requirement = dict[str, Any]


def requirements_of(workers: Workers, *, more: Iterable[Requirement] = ()) -> list[Requirement]:
    """What the design asks of workers, as boto3 takes it, and then ``more``.

    Who does not fulfil what the service itself knows of them does not see the HIT at all. How many HITs of a study
    a worker may do is nothing that the service can be told; that is kept here.

    Raises:
        RequirementProblem: it cannot be stated, or is more than the service takes.
    """
    asked: list[Requirement] = []
    if workers.countries:
        if len(workers.countries) > MOST_LOCALES:
            raise RequirementProblem(
                f"workers.countries names {len(workers.countries)} countries; Mechanical Turk takes {MOST_LOCALES}."
            )
        places = [{"Country": code} for code in workers.countries]
        asked.append(_hidden(LOCALE, "In", LocaleValues=places))
    if workers.approval_above:
        asked.append(
            _hidden(PERCENT_APPROVED, "GreaterThan", IntegerValues=[_percent(workers.approval_above)])
        )
    if workers.approved_at_least:
        asked.append(
            _hidden(NUMBER_APPROVED, "GreaterThanOrEqualTo", IntegerValues=[workers.approved_at_least])
        )
    asked += more
    if len(asked) > MOST_REQUIREMENTS:
        raise RequirementProblem(
            f"The study has {len(asked)} requirements of its workers; Mechanical Turk takes {MOST_REQUIREMENTS}."
        )
    return asked


def score_at_least(qualification: str, value: int) -> Requirement:
    """A test must be passed; who has not taken it yet sees the HIT, and where to take the test."""
    return {
        "QualificationTypeId": qualification,
        "Comparator": "GreaterThanOrEqualTo",
        "IntegerValues": [value],
        "ActionsGuarded": "Accept",
    }


def does_not_have(qualification: str) -> Requirement:
    """Nobody with this qualification: who was excluded, or has done their share of a study."""
    return _hidden(qualification, "DoesNotExist")


def is_master(*, live: bool) -> Requirement:
    """The service's own masters, who cost more."""
    return _hidden(MASTERS_LIVE if live else MASTERS_SANDBOX, "Exists")


def _hidden(qualification: str, comparator: str, **values: Any) -> Requirement:
    return {
        "QualificationTypeId": qualification,
        "Comparator": comparator,
        **values,
        "ActionsGuarded": "DiscoverPreviewAndAccept",
    }


def _percent(above: float) -> int:
    """The whole percentage that a worker's, a whole one too, must lie above: the next lower one."""
    percent = math.floor(Fraction(str(above)) * 100)  # the share as it was written: 0.29 is 29, not 28
    if percent >= 100:
        raise RequirementProblem(
            f"workers.approval_above is {above:g}, and nobody has more than 100 % approved; expected less than 1."
        )
    return percent
