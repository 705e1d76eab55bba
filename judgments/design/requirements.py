"""Worker requirements as data, and which of them each crowd can state or check. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, field_validator

from judgments.countries import COUNTRIES as KNOWN_COUNTRIES
from judgments.countries import country_name
from judgments.design.parts import Count, Listed, Part

COUNTRIES, APPROVAL_RATE, APPROVED, HITS_AT_MOST = "countries", "approval-rate", "approved", "hits-at-most"


@dataclass(frozen=True, slots=True)
class CrowdWords:
    """A crowd, for code that does not know its backend.

    Attributes:
        label: in the form.
        requirements: those that it states to its workers, or that are checked here. Here, the worker declares the
            country, and approval is this installation's own record; a crowd that sends workers by a link shares none.
    """

    label: str
    requirements: frozenset[str]


CROWDS: dict[str, CrowdWords] = {
    "local": CrowdWords(
        "People who come by the link", frozenset({COUNTRIES, APPROVAL_RATE, APPROVED, HITS_AT_MOST})
    ),
    "external": CrowdWords(
        "A panel that sends its people here (Prolific, Connect, SONA, links of your own)",
        frozenset({COUNTRIES, HITS_AT_MOST}),
    ),
    "mturk": CrowdWords(
        "Amazon Mechanical Turk", frozenset({COUNTRIES, APPROVAL_RATE, APPROVED, HITS_AT_MOST})
    ),
}


@dataclass(frozen=True, slots=True)
class RequirementPreset:
    """What a paper asked of its workers; ``values`` are keys of the table ``workers``."""

    title: str
    source: str
    values: Mapping[str, Any]


REQUIREMENT_PRESETS: dict[str, RequirementPreset] = {
    "vedantam-2015": RequirementPreset(
        title="United States, more than 95 % approved, 500 HITs approved",
        source="Vedantam, Zitnick, Parikh 2015, footnote 3",
        values={"countries": ["US"], "approval_above": 0.95, "approved_at_least": 500},
    ),
    "hodosh-2013": RequirementPreset(
        title="United States",
        source="Hodosh, Young, Hockenmaier 2013, section 2.3.2 (with the test of spelling and grammar)",
        values={"countries": ["US"]},
    ),
}


class Workers(Part):
    """Who may work (PROTOCOLS.md 2.8). A crowd that cannot check a requirement refuses the study."""

    requirements: str = Field(
        "",
        title="Ready set of requirements",
        description="Fills what is left empty below. None takes off what it filled.",
        json_schema_extra={
            "words": {"": "None", **{name: one.title for name, one in REQUIREMENT_PRESETS.items()}}
        },
    )
    countries: Listed[Annotated[str, Field(pattern=r"^[A-Z]{2}$")]] = Field(
        (), title="Countries", description="ISO codes, one a line. Empty: any.", json_schema_extra={"rows": 2}
    )
    approval_above: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, title="Approval rate above", description="Between 0 and 1. 0: not asked."
    )
    approved_at_least: Count = Field(0, title="Approved HITs at least", description="0: not asked.")
    hits_at_most: Count = Field(0, title="HITs a worker may do", description="0: no limit.")
    show_accuracy: bool = Field(False, title="Workers see their accuracy")

    @field_validator("requirements")
    @classmethod
    def _there_are_such_requirements(cls, name: str) -> str:
        if name and name not in REQUIREMENT_PRESETS:
            known = ", ".join(REQUIREMENT_PRESETS)
            raise ValueError(f"there are no requirements {name!r}; there are {known}")
        return name

    @field_validator("countries")
    @classmethod
    def _there_are_such_countries(cls, codes: tuple[str, ...]) -> tuple[str, ...]:
        unknown = [code for code in codes if code not in KNOWN_COUNTRIES]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is no country of ISO 3166-1")
        return codes


def requirements_of(workers: Workers) -> dict[str, str]:
    """Return requirement -> words, for those that a design asks for."""
    asked: dict[str, str] = {}
    if workers.countries:
        named = ", ".join(country_name(code) for code in workers.countries)
        asked[COUNTRIES] = f"live in {named}"
    if workers.approval_above:
        asked[APPROVAL_RATE] = (
            f"more than {workers.approval_above * 100:g} % of their reviewed pages approved"
        )
    if workers.approved_at_least:
        asked[APPROVED] = f"at least {workers.approved_at_least} pages approved"
    if workers.hits_at_most:
        asked[HITS_AT_MOST] = f"at most {workers.hits_at_most} pages in this study"
    return asked


def own_record_needed(workers: Workers, backend: str) -> str:
    """Return a warning if approved HITs are counted on this site alone; '' otherwise.

    A new installation has approved nobody's work, so the study would let nobody in.
    """
    if backend != "local" or not workers.approved_at_least:
        return ""
    off = (
        'requirements = "" under [workers], or None on the design form, takes that off.'
        if workers.requirements
        else "approved_at_least = 0 under [workers] takes that off."
    )
    return (
        f"Only workers with {workers.approved_at_least} pages of work approved on this site can join, which may be "
        f"nobody: {off}"
    )


def not_stated(workers: Workers, backend: str) -> list[str]:
    """Return the words of the requirements that the crowd can neither state nor check."""
    can = CROWDS[backend].requirements if backend in CROWDS else frozenset()
    return [words for name, words in requirements_of(workers).items() if name not in can]


def approval_is_enough(approved: int, rejected: int, above: float) -> bool:
    """Return whether the share approved is above the mark, or nothing was reviewed yet."""
    reviewed = approved + rejected
    return not reviewed or approved / reviewed > above
