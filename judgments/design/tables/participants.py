"""The study-file tables about who may join, about personal data, and for an ethics board."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from judgments.design.tables.base import DesignTable, Paragraph

MIN_CODE_LENGTH = 8  # characters; the rate limit LIMIT_CODE alone would not protect a shorter code

EthicsText = Annotated[Paragraph, Field(json_schema_extra={"rows": 3})]


class Access(DesignTable):
    """The settings of who may join the study."""

    omitted = frozenset({"address_share"})  # while it has its default, so that earlier designs stay the same

    join: Literal["open", "code", "invited"] = Field(
        "open",
        title="Access",
        json_schema_extra={
            "words": {
                "open": "Anyone with the link",
                "code": "Anyone with the link and the code below",
                "invited": "Invited participants, each with a personal code",
            },
            "radio": True,
        },
    )
    code: str = Field(
        "",
        max_length=100,
        title="Code",
        description="Participants need this code to join. It has 8 characters or more. If empty, a "
        "code is generated.",
    )

    address_share: Annotated[float, Field(gt=0, le=1)] = Field(
        0.25,
        title="Maximum share of places for one internet address",
        description="Participants from one internet address can take at most this share of the "
        "places that are open or in progress. 1: all places, for example in a classroom.",
    )

    @property
    def is_guessable(self) -> bool:
        """Whether the access code is short enough to guess, as in some studies before version 0.6."""
        return self.join == "code" and len(self.code.strip()) < MIN_CODE_LENGTH


class Erasing(DesignTable):
    """The settings of how participants can have their data erased (docs/privacy.md)."""

    offered: Literal["no", "on-request", "at-once"] = Field(
        "no",
        title="Participants can have their data erased",
        description="Participants find this option on their page “Your work”.",
        json_schema_extra={
            "words": {
                "no": "No, participants must write to the contact person",
                "on-request": "Yes, if a researcher accepts their request",
                "at-once": "Yes, immediately and without a request",
            }
        },
    )
    way: Literal["identity", "all"] = Field(
        "identity",
        title="What is erased",
        json_schema_extra={
            "words": {
                "identity": "Identity and texts; answers are kept without a name",
                "all": "Identity and all answers",
            }
        },
    )


class Retention(DesignTable):
    """The times for which data that identify participants are stored (docs/privacy.md)."""

    identities_days: Annotated[int, Field(ge=0, le=3650)] = Field(
        0,
        title="Number of days from closing until names and ids are removed",
        description="Answers are kept without names. 0: the study promises no time limit.",
    )


class Ethics(DesignTable):
    """Answers to questions of an ethics board that no other field answers (contrib/ethics/README.md)."""

    board: str = Field(
        "",
        max_length=300,
        title="Ethics board",
        description="The board that reviewed the study, and the reference number.",
    )
    minimum_age: Annotated[int, Field(ge=0, le=120)] = Field(
        0, title="Minimum age", description="0: not specified."
    )
    vulnerable: EthicsText = Field(
        "",
        title="Vulnerable groups",
        description="State whether vulnerable groups are recruited, and how they are protected.",
    )
    risks: EthicsText = Field(
        "", title="Risks", description="What could upset or harm participants, and how you prevent it."
    )
    benefits: EthicsText = Field("", title="Benefits")
    storage: EthicsText = Field(
        "", title="Where data is stored", description="Country, institution, and operator of the server."
    )
    recipients: EthicsText = Field(
        "", title="Other recipients of the data", description="Partners, processors, archives."
    )
    funding: str = Field("", max_length=2000, title="Funding and conflicts of interest")
