"""Make requirements for workers at Mechanical Turk, as the service's API takes them.

A requirement (QualificationRequirement in the API Reference) is a dict such as ``{"QualificationTypeId": "000...71",
"Comparator": "In", "LocaleValues": [{"Country": "DE"}], "ActionsGuarded": "DiscoverPreviewAndAccept"}``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from annotation.crowds.mturk.questions import QuestionProblem
from judgments.design.requirements import Workers

# ids of the built-in qualification types
LOCALE = "00000000000000000071"
PERCENT_APPROVED = "000000000000000000L0"
NUMBER_APPROVED = "00000000000000000040"

# Masters are the only built-in type that has another id in the sandbox
MASTERS_SANDBOX = "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6"
MASTERS_LIVE = "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH"
# limits of the service
MAX_REQUIREMENTS = 10
MAX_LOCALES = 30

Requirement = dict[str, Any]


def qualification_requirements(workers: Workers, *, extra: Iterable[Requirement] = ()) -> list[Requirement]:
    """Return the requirements that the design's ``workers`` make, followed by ``extra``.

    The limit of HITs per person is left out: the service has no such requirement, so Quorum checks it.
    """
    requirements: list[Requirement] = []
    if workers.countries:
        if len(workers.countries) > MAX_LOCALES:
            raise QuestionProblem(
                f"workers.countries names {len(workers.countries)} countries; Mechanical Turk takes {MAX_LOCALES}."
            )
        locales = [{"Country": code} for code in workers.countries]
        requirements.append(_requirement(LOCALE, "In", LocaleValues=locales))
    if workers.approval_above:
        requirements.append(
            _requirement(PERCENT_APPROVED, "GreaterThan", IntegerValues=[_percent(workers.approval_above)])
        )
    if workers.approved_at_least:
        requirements.append(
            _requirement(NUMBER_APPROVED, "GreaterThanOrEqualTo", IntegerValues=[workers.approved_at_least])
        )
    requirements += extra
    if len(requirements) > MAX_REQUIREMENTS:
        raise QuestionProblem(
            f"The study has {len(requirements)} requirements of its workers; Mechanical Turk takes {MAX_REQUIREMENTS}."
        )
    return requirements


def score_at_least(qualification: str, value: int) -> Requirement:
    """Return the requirement of a score in a test. Workers who have not taken the test still see the HIT."""
    return {
        "QualificationTypeId": qualification,
        "Comparator": "GreaterThanOrEqualTo",
        "IntegerValues": [value],
        "ActionsGuarded": "Accept",
    }


def require_qualification(qualification: str, *, must_have: bool) -> Requirement:
    """Return the requirement that a worker has, or lacks, the qualification with this id at the service."""
    return _requirement(qualification, "Exists" if must_have else "DoesNotExist")


def require_masters(*, live: bool) -> Requirement:
    """Return the requirement that a worker is a Master, one of Mechanical Turk's elite workers."""
    return _requirement(MASTERS_LIVE if live else MASTERS_SANDBOX, "Exists")


def _requirement(qualification: str, comparator: str, **values: Any) -> Requirement:
    return {
        "QualificationTypeId": qualification,
        "Comparator": comparator,
        **values,
        "ActionsGuarded": "DiscoverPreviewAndAccept",
    }


def _percent(share: float) -> int:
    """Return a share from 0 to 1 in whole percent, rounded down.

    The service compares whole percents, so "above 95.5" means "above 95".
    """
    # a float is inexact: floor(0.29 * 100) would be 28; the fraction of its decimal notation is exact
    percent = math.floor(Fraction(str(share)) * 100)
    if percent >= 100:
        raise QuestionProblem(
            f"workers.approval_above is {share:g}, and nobody has more than 100 % approved; expected less than 1."
        )
    return percent
