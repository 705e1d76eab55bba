"""The table of a study file about the crowd and its pay."""

from __future__ import annotations

from typing import Annotated, Literal

from django.utils.translation import gettext
from pydantic import Field, model_validator

from judgments.design.crowds import crowd_labels
from judgments.design.tables.base import Count, DesignTable, Listed

DEMOGRAPHICS = {
    "age": "Age",
    "sex": "Sex",
    "ethnicity": "Ethnicity",
    "first-language": "First language",
    "country": "Country of residence",
    "nationality": "Nationality",
    "country-of-birth": "Country of birth",
    "student": "Student status",
    "employment": "Employment status",
}


class Crowd(DesignTable):
    """The crowd that the workers come from, and their pay."""

    backend: str = Field(
        "local", title="Participants come from", json_schema_extra={"words": {**crowd_labels()}}
    )
    reward_cents: Count = Field(
        0, title="Pay for a page of work, in cents", description="0: participants see no amount of pay."
    )
    budget_cents: Count = Field(
        0,
        title="Budget, in cents",
        description="The study never spends more than this amount, including fees.",
    )
    currency: str = Field(
        "",
        pattern=r"^([A-Z]{3})?$",
        title="Currency",
        description="Three letters, such as EUR. Empty: the currency of the crowd, or USD if the "
        "crowd has none. Mechanical Turk’s API pays in USD.",
    )
    live: bool = Field(
        False,
        title="Live",
        description="Publish on a server that pays participants. Otherwise the sandbox is used, which costs nothing.",
    )
    question: Literal["external", "html"] = Field(
        "external",
        title="Page shown at Mechanical Turk",
        json_schema_extra={
            "words": {
                "external": "A page of this site, shown in a frame",
                "html": "A page stored at Mechanical Turk",
            }
        },
    )
    title: str = Field(
        "", max_length=128, title="Title in the crowd's list", description="Empty: the study's name is shown."
    )
    description: str = Field(
        "",
        max_length=2000,
        title="Description shown by the crowd",
        description="Empty: the study's question is shown.",
    )
    keywords: str = Field("", max_length=1000, title="Keywords", description="Separated by commas.")
    lifetime_hours: Annotated[int, Field(ge=1, le=8760)] = Field(
        168, title="Hours for which the crowd offers the work"
    )
    approve_after_hours: Annotated[int, Field(ge=0, le=552)] = Field(
        72,
        title="Hours until automatic approval",
        description="Work is approved after this time if there is no objection to it. 0: never.",
    )
    floor_cents_per_hour: Count = Field(
        0,
        title="Wage floor per hour, in cents",
        description="Minimum pay for an hour of active time. If a participant earns less, a bonus is "
        "proposed. 0: no wage floor.",
    )
    fee_percent: Annotated[float, Field(ge=0, le=200)] = Field(
        0.0, title="The panel's fee, in percent of the pay", description="Used to compute the budget."
    )
    screen_out_cents: Count = Field(
        0,
        title="Pay of screened-out participants, in cents",
        description="Paid through Prolific's API, if the workspace allows this. 0: participants are "
        "asked to return the submission.",
    )
    screen_outs: Annotated[int, Field(ge=0, le=100_000)] = Field(
        0,
        title="Maximum number of paid screen-outs",
        description="Prolific pauses the study when this number of participants has been screened out and "
        "paid.",
    )
    demographics: Listed[
        Literal[
            "age", "sex", "ethnicity", "first-language", "country", "nationality", "country-of-birth",
            "student", "employment",
        ]
    ] = Field(
        (),
        title="Demographics to fetch",
        description="Fetched through Prolific's API. These are personal data, so mention them in the "
                    "consent text.",
        json_schema_extra={"words": {**DEMOGRAPHICS}},
    )  # fmt: skip
    masters: bool = Field(False, title="Only Masters", description="Amazon charges a higher fee for Masters.")
    lease_minutes: Annotated[int, Field(ge=1, le=10_080)] = Field(
        60,
        title="Time limit of a page of work, in minutes",
        description="After this time, the page is offered to another participant.",
    )
    extensions: Annotated[int, Field(ge=0, le=20)] = Field(2, title="Maximum number of extensions")
    edit_minutes: Annotated[int, Field(ge=0, le=1440)] = Field(
        10,
        title="Minutes after submission in which answers can be revised",
        description="0: submitted answers cannot be revised.",
    )

    @model_validator(mode="after")
    def _check_paid_screen_outs(self) -> Crowd:
        if bool(self.screen_out_cents) != bool(self.screen_outs):
            raise ValueError(
                gettext(
                    "screen_out_cents is %(screen_out_cents)s and screen_outs %(screen_outs)s; expected "
                    "both, or neither"
                )
                % {"screen_out_cents": self.screen_out_cents, "screen_outs": self.screen_outs}
            )
        return self
