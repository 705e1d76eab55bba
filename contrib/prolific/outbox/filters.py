"""Convert requirements for workers to Prolific's filters.

A filter is a question, such as the country of residence, with the answers of people who may take part: for example
``{"filter_id": "sex", "selected_values": ["1"]}``. The ids of answers are not documented, so they are looked up by
their names in Prolific's list of filters. If a filter or an answer is missing in the list, the study is refused before
anything is created.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from annotation.crowds.base import CrowdRefusal
from contrib.prolific.client import ProlificClient
from contrib.prolific.records import ListedFilter
from judgments.design.countries import COUNTRIES
from judgments.design.requirements import Workers
from quorum.numeric.names import nearest_name

# Ids of filters.
COUNTRY, LANGUAGE, SEX, AGE = "current-country-of-residence", "fluent-languages", "sex", "age"
APPROVAL_RATE, APPROVED_COUNT = "approval_rate", "approval_numbers"

# Names that countries may have at Prolific instead of those in COUNTRIES.
OTHER_NAMES = {
    "CZ": ("Czechia",),
    "KR": ("South Korea", "Korea, Republic of", "Republic of Korea"),
    "RU": ("Russian Federation",),
    "TR": ("Türkiye",),
    "US": ("United States of America", "USA"),
    "VN": ("Viet Nam",),
}

Filter = dict[str, Any]  # as JSON for the API


def needs_filter_list(workers: Workers) -> bool:
    """Return whether a requirement can only be converted with Prolific's list of filters."""
    return bool(
        workers.countries
        or workers.languages
        or workers.approval_above
        or workers.approved_at_least
        or workers.quotas
    )


def requirement_filters(client: ProlificClient, workers: Workers, *, workspace: str) -> list[Filter]:
    """Return the filters for the requirements for workers, except qualifications, which are groups at Prolific.

    Raises:
        CrowdRefusal: Prolific has no such filter or answer; nothing was changed.
    """
    if not needs_filter_list(workers):
        return []
    listed_filters = {row.id: row for row in client.list_filters(workspace=workspace)}
    return list(_convert_requirements(workers, listed_filters))


def _convert_requirements(workers: Workers, listed_filters: Mapping[str, ListedFilter]) -> Iterator[Filter]:
    """Yield a filter for each requirement. ``listed_filters`` are keyed by their ids."""
    country_shares = {quota.value: quota.share for quota in workers.quotas if quota.by == "country"}
    if country_shares:
        choices = _find_choices(listed_filters, COUNTRY, "workers.quotas", country_shares, _country_names)
        yield _select_filter(COUNTRY, choices, country_shares)
    elif workers.countries:
        choices = _find_choices(
            listed_filters, COUNTRY, "workers.countries", workers.countries, _country_names
        )
        yield _select_filter(COUNTRY, choices)
    if workers.languages:
        choices = _find_choices(listed_filters, LANGUAGE, "workers.languages", workers.languages)
        yield _select_filter(LANGUAGE, choices)
    if workers.approval_above:
        # The least whole percentage above the rate. A fraction is exact, so that 0.29 gives 30; with floats,
        # 0.29 * 100 is below 29.
        min_percent = math.floor(Fraction(str(workers.approval_above)) * 100) + 1
        max_percent = _find_filter(listed_filters, APPROVAL_RATE, "workers.approval_above").maximum or 100
        if min_percent > max_percent:
            raise _availability_error(
                f"workers.approval_above is {workers.approval_above:g}; nobody has more"
            )
        yield {
            "filter_id": APPROVAL_RATE,
            "selected_range": {"lower": min_percent, "upper": max_percent},
        }
    if workers.approved_at_least:
        max_approved = _find_filter(listed_filters, APPROVED_COUNT, "workers.approved_at_least").maximum
        if max_approved is not None and workers.approved_at_least > max_approved:
            raise _availability_error(
                f"workers.approved_at_least is {workers.approved_at_least}; it knows {max_approved} at most"
            )
        upper_bound = {} if max_approved is None else {"upper": max_approved}
        yield {
            "filter_id": APPROVED_COUNT,
            "selected_range": {"lower": workers.approved_at_least, **upper_bound},
        }
    sex_shares = {quota.value: quota.share for quota in workers.quotas if quota.by == "sex"}
    if sex_shares:
        choices = _find_choices(listed_filters, SEX, "workers.quotas", sex_shares)
        yield _select_filter(SEX, choices, sex_shares)
    age_shares = sorted((quota.ages, quota.share) for quota in workers.quotas if quota.by == "age")
    if age_shares:
        yield _age_filter(_find_filter(listed_filters, AGE, "workers.quotas"), age_shares)


def _select_filter(
    filter_id: str, choices: Mapping[str, str], shares: Mapping[str, int] | None = None
) -> Filter:
    """Return a filter for people with one of the answers.

    Args:
        choices: the id of the answer for each value.
        shares: the percentage of people with each value, if there are quotas.
    """
    filter_json: Filter = {"filter_id": filter_id, "selected_values": list(choices.values())}
    if shares:
        filter_json["weightings"] = {choices[value]: share for value, share in shares.items()}
    return filter_json


def _age_filter(listed_filter: ListedFilter, age_shares: list[tuple[tuple[int, int], int]]) -> Filter:
    """Return a filter for ages with quotas.

    Args:
        age_shares: the first and the last age of each quota, and its share, in order of age.
    """
    (lower, _), _ = age_shares[0]
    (_, upper), _ = age_shares[-1]
    if (listed_filter.minimum is not None and lower < listed_filter.minimum) or (
        listed_filter.maximum is not None and upper > listed_filter.maximum
    ):
        raise _availability_error(
            f"workers.quotas has ages from {lower} to {upper}; it knows {listed_filter.minimum} to "
            f"{listed_filter.maximum}"
        )
    return {
        "filter_id": AGE,
        "selected_range": {"lower": lower, "upper": upper},
        "weightings": {
            str(number): {"selected_range": {"lower": first, "upper": last}, "weighting": share}
            for number, ((first, last), share) in enumerate(age_shares)
        },
    }


def _find_filter(listed_filters: Mapping[str, ListedFilter], filter_id: str, setting: str) -> ListedFilter:
    """Return a filter of the list. Raise CrowdRefusal that names ``setting`` if it is missing."""
    listed_filter = listed_filters.get(filter_id)
    if listed_filter is None:
        raise _availability_error(f"{setting} needs its filter {filter_id!r}, which is not in its list")
    return listed_filter


def _find_choices(
    listed_filters: Mapping[str, ListedFilter],
    filter_id: str,
    setting: str,
    values: Iterable[str],
    names_of: Callable[[str], tuple[str, ...]] = lambda value: (value,),
) -> dict[str, str]:
    """Return the id of the filter's answer for each value.

    Args:
        setting: the setting of the design that has the values, for error messages.
        names_of: a function that returns the names that the answer for a value may have at Prolific; by default, the
            value itself is the name.

    Raises:
        CrowdRefusal: the filter, or the answer for a value, is missing.
    """
    listed_filter = _find_filter(listed_filters, filter_id, setting)
    ids_by_text = {text.casefold(): choice_id for choice_id, text in listed_filter.choices.items()}
    choices: dict[str, str] = {}
    for value in values:
        names = [name.casefold() for name in names_of(value)]
        choice_id = next((ids_by_text[name] for name in names if name in ids_by_text), None)
        if choice_id is None:
            suggestion = nearest_name(names[0], ids_by_text)
            hint = f"; did you mean {listed_filter.choices[ids_by_text[suggestion]]!r}?" if suggestion else ""
            raise _availability_error(
                f"{setting} names {names_of(value)[0]!r}, which is not among its answers{hint}"
            )
        choices[value] = choice_id
    return choices


def _country_names(code: str) -> tuple[str, ...]:
    return (COUNTRIES[code], *OTHER_NAMES.get(code, ()))


def _availability_error(problem: str) -> CrowdRefusal:
    return CrowdRefusal(f"Nothing was made at Prolific: {problem}{'' if problem.endswith('?') else '.'}")
