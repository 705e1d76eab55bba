"""The requirements for workers at Mechanical Turk (QualificationRequirement in its API Reference)."""

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
    """Return the design's requirements for workers as boto3 takes them, followed by ``extra``.

    The service has no limit of HITs per person, so Quorum checks it.
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
    """Require a score in a test. Workers who have not taken the test still see the HIT and the test."""
    return {
        "QualificationTypeId": qualification,
        "Comparator": "GreaterThanOrEqualTo",
        "IntegerValues": [value],
        "ActionsGuarded": "Accept",
    }


def require_qualification(qualification: str, *, must_have: bool) -> Requirement:
    """Require that a worker has, or lacks, one of Quorum's own qualifications."""
    return _requirement(qualification, "Exists" if must_have else "DoesNotExist")


def is_master(*, live: bool) -> Requirement:
    return _requirement(MASTERS_LIVE if live else MASTERS_SANDBOX, "Exists")


def _requirement(qualification: str, comparator: str, **values: Any) -> Requirement:
    return {
        "QualificationTypeId": qualification,
        "Comparator": comparator,
        **values,
        "ActionsGuarded": "DiscoverPreviewAndAccept",
    }


def _percent(share: float) -> int:
    """Return a share from 0 to 1 in percent, rounded down. The service compares whole percentages by "greater than"."""
    percent = math.floor(Fraction(str(share)) * 100)  # the number as written in decimal: .29 is 29, not 28
    if percent >= 100:
        raise QuestionProblem(
            f"workers.approval_above is {share:g}, and nobody has more than 100 % approved; expected less than 1."
        )
    return percent
