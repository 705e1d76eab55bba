"""May this worker do this HIT? System qualifications, own ones, and the actions they guard (MTURK.md §2 D)."""

from collections.abc import Callable
from typing import Any

from tests.fakes.mturk.errors import ParameterValidationError, wrong_state
from tests.fakes.mturk.state import MASTERS, HITType, Worker, World

# Ids of the service's own qualifications (D, QualificationRequirement article).
NUMBER_APPROVED = "00000000000000000040"
ADULT = "00000000000000000060"
LOCALE = "00000000000000000071"
PERCENT_APPROVED = "000000000000000000L0"
SYSTEM = {NUMBER_APPROVED, ADULT, LOCALE, PERCENT_APPROVED, *MASTERS}
MOST_INTEGERS = 15
MOST_LOCALES = 30
MOST_REQUIREMENTS = 10
FEW = 100  # assignments; below, everybody's share of approved work counts as 100 % (?)
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "LessThan": int.__lt__,
    "LessThanOrEqualTo": int.__le__,
    "GreaterThan": int.__gt__,
    "GreaterThanOrEqualTo": int.__ge__,
    "EqualTo": int.__eq__,
    "NotEqualTo": int.__ne__,
}
GUARDED = {
    "Accept": {"accept"},
    "PreviewAndAccept": {"accept", "preview"},
    "DiscoverPreviewAndAccept": {"accept", "preview", "discover"},
}


def check_requirements(world: World, requirements: list[dict[str, Any]]) -> None:
    """Refuses requirements that the documentation rules out."""
    if len(requirements) > MOST_REQUIREMENTS:
        raise ParameterValidationError(
            f"A HIT can have at most {MOST_REQUIREMENTS} QualificationRequirements."
        )
    for requirement in requirements:
        identifier = requirement["QualificationTypeId"]
        if identifier not in SYSTEM:
            found = world.qualification_type(identifier)
            if found.status != "Active":
                raise wrong_state("QualificationType", "Active", found.status)
        _check_values(requirement)
        if "ActionsGuarded" in requirement and "RequiredToPreview" in requirement:
            raise ParameterValidationError("RequiredToPreview must not be combined with ActionsGuarded.")


def _check_values(requirement: dict[str, Any]) -> None:
    comparator = requirement["Comparator"]
    integers = requirement.get("IntegerValues", [])
    locales = requirement.get("LocaleValues", [])
    at_locale = requirement["QualificationTypeId"] == LOCALE
    values, most = (locales, MOST_LOCALES) if at_locale else (integers, MOST_INTEGERS)
    if comparator in {"Exists", "DoesNotExist"}:
        fits = not integers and not locales
    elif comparator in {"In", "NotIn"}:
        fits = 1 <= len(values) <= most
    else:
        fits = len(values) == 1 and (not at_locale or comparator in {"EqualTo", "NotEqualTo"})
    if not fits or (integers if at_locale else locales):
        raise ParameterValidationError(
            f"The values of the requirement {requirement['QualificationTypeId']} {comparator} do not fit it."
        )


def may(world: World, worker: Worker, hit_type: HITType, action: str) -> bool:
    """Whether the worker meets every requirement that guards `discover`, `preview` or `accept`."""
    return all(
        _meets(world, worker, requirement)
        for requirement in hit_type.requirements
        if action in _guarded(requirement)
    )


def _guarded(requirement: dict[str, Any]) -> set[str]:
    implied = "PreviewAndAccept" if requirement.get("RequiredToPreview") else "Accept"
    return GUARDED[requirement.get("ActionsGuarded", implied)]


def _meets(world: World, worker: Worker, requirement: dict[str, Any]) -> bool:
    comparator = requirement["Comparator"]
    if requirement["QualificationTypeId"] == LOCALE:
        if comparator in {"Exists", "DoesNotExist"}:
            return comparator == "Exists"
        found = any(_lives_in(worker, locale) for locale in requirement["LocaleValues"])
        return found == (comparator in {"EqualTo", "In"})
    value = _value(world, worker, requirement["QualificationTypeId"])
    if comparator == "DoesNotExist" or value is None:
        return comparator == "DoesNotExist" and value is None
    if comparator == "Exists":
        return True
    integers = requirement["IntegerValues"]
    if comparator in {"In", "NotIn"}:
        return (value in integers) == (comparator == "In")
    return COMPARISONS[comparator](value, integers[0])


def _lives_in(worker: Worker, locale: dict[str, str]) -> bool:
    return worker.country == locale["Country"] and locale.get("Subdivision") in {None, worker.subdivision}


def _value(world: World, worker: Worker, identifier: str) -> int | None:
    """The worker's value of an integer qualification; None when there is none."""
    if identifier == ADULT:
        return int(worker.adult)
    if identifier in MASTERS:
        return 1 if worker.masters else None
    if identifier in {NUMBER_APPROVED, PERCENT_APPROVED}:
        if identifier == NUMBER_APPROVED:
            return worker.approved
        judged = worker.approved + worker.rejected
        return 100 if judged < FEW else 100 * worker.approved // judged
    found = world.qualifications.get((identifier, worker.worker_id))
    return found.value if found is not None and found.status == "Granted" else None
