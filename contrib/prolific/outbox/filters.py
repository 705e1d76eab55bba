"""Convert requirements for workers to Prolific's filters.

The ids of a filter's answers are not documented, so names are looked up in Prolific's list of filters. If a filter
is missing in the list, the study is refused before anything is created.
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

COUNTRY, LANGUAGE, SEX, AGE = "current-country-of-residence", "fluent-languages", "sex", "age"
APPROVAL_RATE, APPROVED_COUNT = "approval_rate", "approval_numbers"

# Prolific's names of countries that differ from those in the table of countries
OTHER_NAMES = {
    "CZ": ("Czechia",),
    "KR": ("South Korea", "Korea, Republic of", "Republic of Korea"),
    "RU": ("Russian Federation",),
    "TR": ("Türkiye",),
    "US": ("United States of America", "USA"),
    "VN": ("Viet Nam",),
}

Filter = dict[str, Any]


def needs_the_list(workers: Workers) -> bool:
    return bool(
        workers.countries
        or workers.languages
        or workers.approval_above
        or workers.approved_at_least
        or workers.quotas
    )


def requirement_filters(client: ProlificClient, workers: Workers, *, workspace: str) -> list[Filter]:
    """Return the filters for the requirements for workers, without groups.

    Raises:
        CrowdRefusal: Prolific has no such filter or answer; nothing was changed.
    """
    if not needs_the_list(workers):
        return []
    return list(_filters(workers, {row.id: row for row in client.filters(workspace=workspace)}))


def _filters(workers: Workers, filters_by_id: Mapping[str, ListedFilter]) -> Iterator[Filter]:
    countries = {quota.value: quota.share for quota in workers.quotas if quota.by == "country"}
    if countries:
        choices = _choices(filters_by_id, COUNTRY, "workers.quotas", countries, _country_names)
        yield _select_filter(COUNTRY, choices, countries)
    elif workers.countries:
        values = workers.countries
        yield _select_filter(
            COUNTRY, _choices(filters_by_id, COUNTRY, "workers.countries", values, _country_names)
        )
    if workers.languages:
        values = workers.languages
        yield _select_filter(LANGUAGE, _choices(filters_by_id, LANGUAGE, "workers.languages", values))
    if workers.approval_above:
        # the least whole number of per cent that is above the rate
        percent = math.floor(Fraction(str(workers.approval_above)) * 100) + 1
        upper = _find_filter(filters_by_id, APPROVAL_RATE, "workers.approval_above").maximum or 100
        if percent > upper:
            raise _availability_error(
                f"workers.approval_above is {workers.approval_above:g}; nobody has more"
            )
        yield {"filter_id": APPROVAL_RATE, "selected_range": {"lower": percent, "upper": upper}}
    if workers.approved_at_least:
        max_approved = _find_filter(filters_by_id, APPROVED_COUNT, "workers.approved_at_least").maximum
        if max_approved is not None and workers.approved_at_least > max_approved:
            raise _availability_error(
                f"workers.approved_at_least is {workers.approved_at_least}; it knows {max_approved} at most"
            )
        bound = {} if max_approved is None else {"upper": max_approved}
        yield {"filter_id": APPROVED_COUNT, "selected_range": {"lower": workers.approved_at_least, **bound}}
    sexes = {quota.value: quota.share for quota in workers.quotas if quota.by == "sex"}
    if sexes:
        yield _select_filter(SEX, _choices(filters_by_id, SEX, "workers.quotas", sexes), sexes)
    ages = sorted((quota.ages, quota.share) for quota in workers.quotas if quota.by == "age")
    if ages:
        yield _ages(_find_filter(filters_by_id, AGE, "workers.quotas"), ages)


def _select_filter(name: str, choices: Mapping[str, str], shares: Mapping[str, int] | None = None) -> Filter:
    filter_json: Filter = {"filter_id": name, "selected_values": list(choices.values())}
    if shares:
        filter_json["weightings"] = {choices[value]: share for value, share in shares.items()}
    return filter_json


def _ages(age_filter: ListedFilter, ages: list[tuple[tuple[int, int], int]]) -> Filter:
    bounds = [bound for bound, _share in ages]
    lower, upper = bounds[0][0], bounds[-1][1]
    if (age_filter.minimum is not None and lower < age_filter.minimum) or (
        age_filter.maximum is not None and upper > age_filter.maximum
    ):
        raise _availability_error(
            f"workers.quotas has ages from {lower} to {upper}; it knows {age_filter.minimum} to {age_filter.maximum}"
        )
    return {
        "filter_id": AGE,
        "selected_range": {"lower": lower, "upper": upper},
        "weightings": {
            str(number): {"selected_range": {"lower": first, "upper": last}, "weighting": share}
            for number, ((first, last), share) in enumerate(ages)
        },
    }


def _find_filter(filters_by_id: Mapping[str, ListedFilter], name: str, key: str) -> ListedFilter:
    listed_filter = filters_by_id.get(name)
    if listed_filter is None:
        raise _availability_error(f"{key} needs its filter {name!r}, which is not in its list")
    return listed_filter


def _choices(
    filters_by_id: Mapping[str, ListedFilter],
    name: str,
    key: str,
    values: Iterable[str],
    names: Callable[[str], tuple[str, ...]] = lambda value: (value,),
) -> dict[str, str]:
    """Return the id of the answer at Prolific for each value, by value."""
    ids = {text.casefold(): choice for choice, text in _find_filter(filters_by_id, name, key).choices.items()}
    choices: dict[str, str] = {}
    for value in values:
        labels = [text.casefold() for text in names(value)]
        choice = next((ids[label] for label in labels if label in ids), None)
        if choice is None:
            nearest = nearest_name(labels[0], ids)
            hint = f"; did you mean {filters_by_id[name].choices[ids[nearest]]!r}?" if nearest else ""
            raise _availability_error(
                f"{key} names {names(value)[0]!r}, which is not among its answers{hint}"
            )
        choices[value] = choice
    return choices


def _country_names(code: str) -> tuple[str, ...]:
    return (COUNTRIES[code], *OTHER_NAMES.get(code, ()))


def _availability_error(what: str) -> CrowdRefusal:
    return CrowdRefusal(f"Nothing was made at Prolific: {what}{'' if what.endswith('?') else '.'}")
