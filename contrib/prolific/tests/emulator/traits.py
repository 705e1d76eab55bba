"""The filters of the emulated Prolific, and which people pass them.

The forms are the reference's ("SelectFilterListResponse", "RangeFilterListResponse", "Study Distribution (Quotas) with
Filters"). The ids of filters and answers are those that published studies use (O); the reference names none.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Traits = Mapping[str, Any]  # a person's answer for each filter: its text, several texts, or a number

FILTERS: dict[str, dict[str, Any]] = {
    "current-country-of-residence": {
        "type": "select",
        "data_type": "ChoiceID",
        "choices": {"0": "United Kingdom", "1": "United States", "7": "Germany", "9": "South Korea"},
    },
    "fluent-languages": {
        "type": "select",
        "data_type": "ChoiceID",
        "choices": {"0": "Rather not say", "19": "English", "22": "German"},
    },
    "sex": {"type": "select", "data_type": "ChoiceID", "choices": {"0": "Male", "1": "Female"}},
    "age": {"type": "range", "data_type": "integer", "min": 18, "max": 100},
    "approval_rate": {"type": "range", "data_type": "integer", "min": 0, "max": 100},
    "approval_numbers": {"type": "range", "data_type": "integer", "min": 0, "max": 100_000},
    "participant_group_allowlist": {"type": "select", "data_type": "ParticipantGroupID", "choices": {}},
    "participant_group_blocklist": {"type": "select", "data_type": "ParticipantGroupID", "choices": {}},
    "previous_studies_blocklist": {"type": "select", "data_type": "StudyID", "choices": {}},
}


def fits(filtered: Mapping[str, Any], traits: Traits) -> bool:
    """Return whether a person passes a filter. People who never answered its question do not."""
    answer = traits.get(filtered["filter_id"])
    if answer is None:
        return False
    if "selected_range" in filtered:
        return _within(filtered["selected_range"], answer)
    choices = FILTERS[filtered["filter_id"]]["choices"]
    return any(choices[one] in _as_texts(answer) for one in filtered["selected_values"])


def room_in_quota(
    filters: Sequence[Mapping[str, Any]], traits: Traits, others: Iterable[Traits], places: int
) -> bool:
    """Return whether the person's group has a free place. Groups are the combinations of all weighted filters (R).

    Args:
        others: the traits of people who have a place.
        places: the number of places of the study.
    """
    weighted = [one for one in filters if one.get("weightings")]
    if not weighted:
        return True
    own_groups = [_group(one, traits) for one in weighted]
    if None in own_groups:
        return False
    share = math.prod(
        _weight(one, group) / sum(_weight(one, other) for other in one["weightings"])
        for one, group in zip(weighted, own_groups, strict=True)
    )
    taken_count = sum([_group(one, other) for one in weighted] == own_groups for other in others)
    return taken_count < round(places * share)


def _group(filtered: Mapping[str, Any], traits: Traits) -> str | None:
    """Return the weighted answer that the person gave; None if there is none."""
    answer = traits.get(filtered["filter_id"])
    if answer is None:
        return None
    if "selected_range" in filtered:
        groups = filtered["weightings"].items()
        return next((name for name, one in groups if _within(one["selected_range"], answer)), None)
    choices = FILTERS[filtered["filter_id"]]["choices"]
    return next((one for one in filtered["weightings"] if choices[one] in _as_texts(answer)), None)


def _weight(filtered: Mapping[str, Any], group: str | None) -> float:
    weight = filtered["weightings"][group]
    return float(weight["weighting"] if isinstance(weight, dict) else weight)


def _within(bounds: Mapping[str, Any], number: float) -> bool:
    lower, upper = bounds.get("lower"), bounds.get("upper")
    return (lower is None or number >= lower) and (upper is None or number <= upper)


def _as_texts(answer: Any) -> Sequence[str]:
    return [answer] if isinstance(answer, str) else answer
