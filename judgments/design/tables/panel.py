"""The table of a study file about a panel."""

from __future__ import annotations

import re
from string import Formatter
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from django.utils.translation import gettext
from pydantic import AfterValidator, Field, model_validator

from judgments.design.panels import OUTCOMES, PANEL_PRESETS, Outcome
from judgments.design.tables.base import DesignTable

PLACEHOLDERS = frozenset({"code", "worker", "session"})

PanelCode = Annotated[str, Field(min_length=1, max_length=80, pattern=r"^[A-Za-z0-9._-]+$")]


def placeholders_in(address: str) -> set[str]:
    """Return the names in braces in an address, such as ``{"code"}`` for ``https://panel.example/?cc={code}``."""
    return {name for _, name, _, _ in Formatter().parse(address) if name is not None}


def checked_address(address: str) -> str:
    """Return an address to which participants return. Raise ValueError if it is invalid.

    It must begin with https://. For trials, it may also be an http:// address of this machine.
    """
    try:
        parts, names = urlsplit(address), placeholders_in(address)
        host = parts.hostname or ""
    except ValueError:
        raise ValueError(gettext("%(address)r is not a web address") % {"address": address}) from None
    # the host can have no placeholder and, with "@", no account before it
    is_local = parts.scheme == "http" and host in ("localhost", "127.0.0.1")
    if not host or re.search(r"[{}\s\\@]", parts.netloc) or not (parts.scheme == "https" or is_local):
        raise ValueError(
            gettext("%(address)r is not a valid redirect URL; expected https://...") % {"address": address}
        )
    if unknown_names := sorted(names - PLACEHOLDERS):
        raise ValueError(
            gettext("%(address)r contains {%(unknown)s}; expected {code}, {worker} or {session}")
            % {"address": address, "unknown": unknown_names[0]}
        )
    if re.search(r"survey_code=X+$", address):
        raise ValueError(
            gettext(
                "the Xs after survey_code= stand for the id of the participant; replace them with {worker}"
            )
        )
    return address


WebAddress = Annotated[str, Field(max_length=1000), AfterValidator(checked_address)]


def _keys_by_outcome(title: str, description: str) -> dict[str, Any]:
    """Return the title and the description of a form field for each outcome. Only the first has a description."""
    outcome_labels = ("finished", "screened out", "timed out", "returned", "no place left")
    labels = zip(OUTCOMES, outcome_labels, strict=True)
    return {name: (f"{title}: {label}", description if name == "completed" else "") for name, label in labels}


class Panel(DesignTable):
    """The settings of how a panel sends participants, and how they return to it (docs/crowds)."""

    preset: Literal["plain", "prolific", "connect", "sona"] = Field(
        "plain",
        title="Panel",
        description="Your choice fills the empty parameters and redirect URLs below.",
        json_schema_extra={"words": {name: preset.title for name, preset in PANEL_PRESETS.items()}},
    )
    worker: str = Field(
        "",
        max_length=80,
        pattern=r"^[\w.-]*$",
        title="Parameter for the participant's id",
        description="Name of the parameter in the link from the panel.",
    )
    session: str = Field("", max_length=80, pattern=r"^[\w.-]*$", title="Parameter for the submission's id")
    project: str = Field("", max_length=80, pattern=r"^[\w.-]*$", title="Parameter for the panel's study id")
    signature: str = Field(
        "",
        max_length=80,
        pattern=r"^[\w.-]*$",
        title="Parameter for the signature",
        description="For your own links, or for a panel that signs its links. If you enter a name, "
        "participants can join only with a signed link.",
    )
    hits: Annotated[int, Field(ge=1, le=1000)] = Field(
        1,
        title="Pages of work per session",
        description="The panel pays for the whole session. The pay is the sum for all pages of work "
        "in the session.",
    )
    finish: Literal["redirect", "code"] = Field(
        "redirect",
        title="Return to the panel",
        json_schema_extra={
            "words": {
                "redirect": "With a redirect URL if there is one, otherwise with a completion code",
                "code": "With a completion code",
            }
        },
    )
    codes: dict[Outcome, PanelCode] = Field(
        default_factory=dict,
        description="A completion code per outcome; left out: one is made.",
        json_schema_extra={"keys": _keys_by_outcome("Code", "If empty, a code is generated.")},
    )
    personal_codes: bool = Field(
        False,
        title="A personal code for each participant",
        description="With personal codes, participants cannot share a code. Do not use personal codes with "
        "a panel that accepts only one code.",
    )
    addresses: dict[Outcome, WebAddress] = Field(
        default_factory=dict,
        description="Where a person goes back to per outcome; {code}, {worker} and {session} are filled in.",
        json_schema_extra={
            "keys": _keys_by_outcome(
                "Redirect URL",
                "Quorum replaces {code}, {worker} and {session} with the values for each participant.",
            )
        },
    )
    api: bool = Field(
        False,
        title="Use Prolific's API",
        description="Through the API, Quorum controls places, approvals and bonuses at Prolific.",
    )

    @model_validator(mode="after")
    def _check_distinct_names(self) -> Panel:
        if len(set(self.codes.values())) < len(self.codes):
            raise ValueError(
                gettext(
                    "“codes” has the same code for two outcomes; expected a different code for each outcome"
                )
            )
        parameters = [name for name in (self.worker, self.session, self.project, self.signature) if name]
        if len(set(parameters)) < len(parameters):
            raise ValueError(
                gettext("two ids cannot have the same parameter: %(listed)s")
                % {"listed": ", ".join(parameters)}
            )
        return self

    @model_validator(mode="after")
    def _check_panel_abilities(self) -> Panel:
        title = PANEL_PRESETS[self.preset].title
        if self.signature and self.preset != "plain":
            raise ValueError(
                gettext('“signature” is only for preset = "plain": %(title)s does not sign its links')
                % {"title": title}
            )
        if self.personal_codes and self.preset == "prolific":
            raise ValueError(
                gettext("“personal_codes” cannot be true: %(title)s accepts only one code for each outcome")
                % {"title": title}
            )
        if self.personal_codes and self.codes:
            raise ValueError(gettext("“codes” must be empty, because “personal_codes” generates the codes"))
        return self

    @property
    def can_verify_ids(self) -> bool:
        """Whether an invented participant id can be detected."""
        return self.api or bool(self.signature)

    def code_of(self, outcome: str) -> str:
        """Return the completion code of an outcome; "" if the design states none."""
        return next((code for name, code in self.codes.items() if name == outcome), "")

    def address_of(self, outcome: str) -> str:
        """Return the return address of an outcome; "" if the design states none."""
        return next((address for name, address in self.addresses.items() if name == outcome), "")
