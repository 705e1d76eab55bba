"""The requirements that workers must meet, as the study-file table ``workers`` states them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal

from django.utils.translation import gettext, gettext_noop
from pydantic import Field, field_validator, model_validator

from judgments.design.countries import COUNTRIES, country_name
from judgments.design.crowds import (
    APPROVAL_RATE,
    APPROVED,
    CROWDS,
    DEVICES,
    HITS_AT_MOST,
    LANGUAGES,
    QUALIFIED,
    QUOTAS,
    RESIDENCE,
)
from judgments.design.tables.base import Count, DesignTable, Listed

# Prolific's limit ("How do I balance my sample within demographics?"). Each combination of traits is a group.
MAX_QUOTA_GROUPS = 75

# names of devices within a sentence
DEVICE_PHRASES = {
    "desktop": gettext_noop("desktop computer"),
    "tablet": gettext_noop("tablet"),
    "mobile": gettext_noop("mobile phone"),
}
# names of devices as choices of the form
DEVICE_LABELS = {"desktop": "Desktop computer", "tablet": "Tablet", "mobile": "Mobile phone"}
MAX_QUALIFICATION_LENGTH = 80
QUALIFICATION = "[-a-zA-Z0-9_.]"  # a pattern for each character of a qualification's name
QualificationName = Annotated[str, Field(pattern=f"^{QUALIFICATION}+$", max_length=MAX_QUALIFICATION_LENGTH)]


@dataclass(frozen=True, slots=True)
class RequirementPreset:
    """The requirements of a paper, with values for keys of the table ``workers``."""

    title: str
    source: str
    values: Mapping[str, Any]


REQUIREMENT_PRESETS: dict[str, RequirementPreset] = {
    "vedantam-2015": RequirementPreset(
        title="United States, more than 95 % of HITs approved, at least 500 HITs approved",
        source="Vedantam, Zitnick, Parikh 2015, footnote 3",
        values={"countries": ["US"], "approval_above": 0.95, "approved_at_least": 500},
    ),
    "hodosh-2013": RequirementPreset(
        title="United States",
        source="Hodosh, Young, Hockenmaier 2013, section 2.3.2 (with the test of spelling and grammar)",
        values={"countries": ["US"]},
    ),
}


class Quota(DesignTable):
    """A group of participants, and its weight among the groups of the same trait."""

    by: Literal["sex", "age", "country"]
    value: Annotated[str, Field(min_length=1, max_length=60)] = Field(
        description="For sex: the value as the crowd writes it, such as Female. For age: a range, "
        "such as 18-34. For country: the ISO code."
    )
    share: Annotated[int, Field(ge=1, le=100_000)] = 1

    @property
    def ages(self) -> tuple[int, int]:
        """The lowest and the highest age of a quota by age."""
        first, _, last = self.value.partition("-")
        return int(first), int(last)

    @model_validator(mode="after")
    def _check_values_of_trait(self) -> Quota:
        is_age_range = re.fullmatch(r"[1-9]\d-[1-9]\d{1,2}", self.value) and self.ages[0] <= self.ages[1]
        if self.by == "age" and not is_age_range:
            raise ValueError(
                gettext("%(value)r is not a range of ages; expected from-to, such as 18-34")
                % {"value": self.value}
            )
        if self.by == "country" and self.value not in COUNTRIES:
            raise ValueError(
                gettext("%(value)r is not an ISO 3166-1 code of a country") % {"value": self.value}
            )
        return self


def is_qualification(name: str) -> bool:
    return re.fullmatch(f"{QUALIFICATION}+", name) is not None and len(name) <= MAX_QUALIFICATION_LENGTH


class Workers(DesignTable):
    """The requirements for participants (docs/workers.md). A study is refused if its crowd cannot check one of them."""

    requirements: str = Field(
        "",
        title="Predefined set of requirements",
        description="A predefined set fills the empty fields below. If you then choose “None”, the values "
        "of the set are removed.",
        json_schema_extra={
            "words": {"": "None", **{name: preset.title for name, preset in REQUIREMENT_PRESETS.items()}}
        },
    )
    countries: Listed[Annotated[str, Field(pattern=r"^[A-Z]{2}$")]] = Field(
        (),
        title="Countries",
        description="ISO codes, one per line. Empty: any country.",
        json_schema_extra={"rows": 2},
    )
    approval_above: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, title="Participants need an approval rate above", description="Between 0 and 1. 0: not required."
    )
    approved_at_least: Count = Field(
        0, title="Minimum number of approved pages of work", description="0: no minimum."
    )
    hits_at_most: Count = Field(
        0, title="Maximum number of pages of work per participant", description="0: no limit."
    )
    languages: Listed[Annotated[str, Field(pattern=r"^[^\W\d_][^\n]*$", max_length=60)]] = Field(
        (),
        title="Fluent in one of these languages",
        description="The English names that the crowd uses, one per line. Empty: any language.",
        json_schema_extra={"rows": 2},
    )
    devices: Listed[Literal["desktop", "tablet", "mobile"]] = Field(
        (),
        title="Devices",
        description="If you choose no device, all devices are allowed.",
        json_schema_extra={"words": {**DEVICE_LABELS}},
    )
    requires: Listed[QualificationName] = Field(
        (),
        title="Qualifications needed",
        description="One qualification per line. Participants need all qualifications. Participants get a "
        "qualification from a study, or from you on the page “Crowd”.",
        json_schema_extra={"rows": 2},
    )
    forbids: Listed[QualificationName] = Field(
        (),
        title="Qualifications that exclude participants",
        description="One qualification per line, for example a qualification that your pilot study grants.",
        json_schema_extra={"rows": 2},
    )
    grants: str = Field(
        "",
        pattern=f"^{QUALIFICATION}*$",
        max_length=MAX_QUALIFICATION_LENGTH,
        title="Qualification that the study grants",
        description="Every participant who submits a page of work gets this qualification.",
    )
    quotas: Listed[Quota] = Field(
        (),
        title="Quotas",
        description="The groups of a trait get participants in the proportion of the numbers that you enter "
        "here.",
    )
    show_accuracy: bool = Field(False, title="Show participants their accuracy")

    @field_validator("requirements")
    @classmethod
    def _check_requirements_exist(cls, name: str) -> str:
        if name and name not in REQUIREMENT_PRESETS:
            names = ", ".join(REQUIREMENT_PRESETS)
            raise ValueError(
                gettext("there is no set of requirements %(name)r; expected one of %(known)s")
                % {"name": name, "known": names}
            )
        return name

    @field_validator("countries")
    @classmethod
    def _check_countries_exist(cls, codes: tuple[str, ...]) -> tuple[str, ...]:
        unknown_codes = [code for code in codes if code not in COUNTRIES]
        if unknown_codes:
            raise ValueError(
                gettext("%(unknown)r is not an ISO 3166-1 code of a country") % {"unknown": unknown_codes[0]}
            )
        return codes

    @model_validator(mode="after")
    def _check_no_contradiction(self) -> Workers:
        contradictory_names = set(self.requires) & set(self.forbids)
        if contradictory_names:
            raise ValueError(
                gettext(
                    "“requires” and “forbids” both contain %(min)r; remove this qualification from one of "
                    "them"
                )
                % {"min": min(contradictory_names)}
            )
        if self.grants and self.grants in self.requires:
            raise ValueError(
                gettext(
                    "“grants” and “requires” both contain %(grants)r; remove this qualification from "
                    "one of them"
                )
                % {"grants": self.grants}
            )
        return self

    @model_validator(mode="after")
    def _check_quotas(self) -> Workers:
        traits_and_values = [(quota.by, quota.value) for quota in self.quotas]
        if len(set(traits_and_values)) < len(traits_and_values):
            trait, value = next(pair for pair in traits_and_values if traits_and_values.count(pair) > 1)
            raise ValueError(
                gettext("“quotas” contains %(twice)s %(twice2)r twice") % {"twice": trait, "twice2": value}
            )
        ages = sorted(quota.ages for quota in self.quotas if quota.by == "age")
        for (_, last), (first, _) in pairwise(ages):
            if first != last + 1:
                raise ValueError(
                    gettext(
                        "“quotas” has an age group that ends at %(last)s and a next group that "
                        "starts at %(first)s; expected a start at %(what)s"
                    )
                    % {"last": last, "first": first, "what": last + 1}
                )
        countries = {quota.value for quota in self.quotas if quota.by == "country"}
        if countries and self.countries and countries != set(self.countries):
            raise ValueError(
                gettext(
                    "“quotas” and “countries” contain different countries; expected the same "
                    "countries in both, or an empty “countries”"
                )
            )
        group_count = math.prod(Counter(quota.by for quota in self.quotas).values())
        if group_count > MAX_QUOTA_GROUPS:
            raise ValueError(
                gettext("“quotas” makes too many groups (%(groups)s); expected at most %(most_groups)s")
                % {"groups": group_count, "most_groups": MAX_QUOTA_GROUPS}
            )
        return self


def requirement_phrases(workers: Workers) -> dict[str, str]:
    """Return a phrase about each requirement, by the key of ``workers`` that states the requirement."""
    phrases: dict[str, str] = {}
    if workers.countries:
        country_names = ", ".join(country_name(code) for code in workers.countries)
        phrases[RESIDENCE] = gettext("live in %(countries)s") % {"countries": country_names}
    if workers.approval_above:
        phrases[APPROVAL_RATE] = gettext("more than %(share)s %% of reviewed pages of work approved") % {
            "share": f"{workers.approval_above * 100:g}"
        }
    if workers.approved_at_least:
        phrases[APPROVED] = gettext("approved pages of work: at least %(n)d") % {
            "n": workers.approved_at_least
        }
    if workers.hits_at_most:
        phrases[HITS_AT_MOST] = gettext("pages of work in this study: at most %(n)d") % {
            "n": workers.hits_at_most
        }
    if workers.languages:
        phrases[LANGUAGES] = gettext("fluent in %(languages)s") % {
            "languages": gettext(" or ").join(workers.languages)
        }
    if workers.devices:
        phrases[DEVICES] = gettext(" or ").join(gettext(DEVICE_PHRASES[name]) for name in workers.devices)
    if workers.requires or workers.forbids:
        wanted_phrases = [gettext("the qualification %(name)s") % {"name": name} for name in workers.requires]
        unwanted_phrases = [
            gettext("without the qualification %(name)s") % {"name": name} for name in workers.forbids
        ]
        phrases[QUALIFIED] = gettext(" and ").join([*wanted_phrases, *unwanted_phrases])
    if workers.quotas:
        traits = dict.fromkeys(gettext(quota.by) for quota in workers.quotas)
        phrases[QUOTAS] = gettext("quotas by %(traits)s") % {"traits": gettext(" and ").join(traits)}
    return phrases


def why_nobody_may_qualify(workers: Workers, backend: str) -> str:
    """Return a warning if workers need work that was approved on this installation; "" otherwise.

    A new installation has approved no work yet, so nobody could join the study.
    """
    if backend != "local" or not workers.approved_at_least:
        return ""
    remedy = (
        'requirements = "" under [workers], or None on the design form, takes that off.'
        if workers.requirements
        else "approved_at_least = 0 under [workers] takes that off."
    )
    return (
        f"Only participants with {workers.approved_at_least} pages of work approved on this site can join, which may "
        f"be nobody: {remedy}"
    )


def unsupported_requirements(workers: Workers, crowd: str) -> list[str]:
    """Return a phrase about each requirement that neither the crowd nor Quorum can check for workers of the crowd."""
    supported_names = CROWDS[crowd].requirements
    return [phrase for name, phrase in requirement_phrases(workers).items() if name not in supported_names]


def approval_is_enough(approved: int, rejected: int, threshold: float) -> bool:
    """Return whether the approval rate exceeds ``threshold``, or no work was reviewed yet."""
    review_count = approved + rejected
    return not review_count or approved / review_count > threshold
