"""Panels that send people by a link and take them back (panels.toml).

Sources (November 2026): Prolific's parameters and completion address, docs.prolific.com "The study object"; its
export's columns, docs.prolific.com "Export demographic data" and published exports; SONA's completion address,
sona-systems.com "External Study Credit Granting"; Connect's redirect, connect-researcher-help.cloudresearch.com
"Project Completion". Connect's parameters are those that published studies and other platforms read. Neither
Connect nor SONA documents its columns in public, so a person may name them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter
from typing import Annotated, Any, Literal, get_args
from urllib.parse import quote, urlsplit

from django.utils.translation import gettext
from pydantic import AfterValidator, Field, model_validator

from judgments.design.requirements import Part

Outcome = Literal["completed", "screened-out", "timed-out", "returned", "full"]
OUTCOMES: tuple[str, ...] = get_args(Outcome)
SIGNATURE = "sig"  # the parameter with the signature in links of one's own
PLACEHOLDERS = frozenset({"code", "worker", "session"})


@dataclass(frozen=True, slots=True)
class PanelColumns:
    worker: tuple[str, ...]
    session: tuple[str, ...] = ()
    status: tuple[str, ...] = ("status",)
    code: tuple[str, ...] = ("completion code", "code")


@dataclass(frozen=True, slots=True)
class PanelPreset:
    """The words of a panel.

    Attributes:
        worker, session, project: parameters of its link.
        values: the panel's placeholders for the parameters.
        addresses: outcome -> return address, if it is the same for every study.
        currency: what it pays in by default.
        pays_by_session: whether its lists for paying name submissions, not people.
    """

    title: str
    worker: str
    columns: PanelColumns
    session: str = ""
    project: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    addresses: Mapping[str, str] = field(default_factory=dict)
    currency: str = ""
    pays_by_session: bool = False


def _preset(*, columns: Mapping[str, list[str]], address: str = "", **values: Any) -> PanelPreset:
    return PanelPreset(
        columns=PanelColumns(**{name: tuple(names) for name, names in columns.items()}),
        addresses=dict.fromkeys(OUTCOMES, address) if address else {},
        **values,
    )


PANEL_PRESETS = {
    name: _preset(**values)
    for name, values in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
}


def placeholders(address: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(address) if name is not None}


def checked_address(address: str) -> str:
    """Return an address for participants: https, or this machine for trials. Raise ValueError."""
    try:
        parts, names = urlsplit(address), placeholders(address)
        host = parts.hostname or ""
    except ValueError:
        raise ValueError(gettext("%(address)r is no address") % {"address": address}) from None
    here = parts.scheme == "http" and host in ("localhost", "127.0.0.1")
    if not host or re.search(r"[{}\s\\@]", parts.netloc) or not (parts.scheme == "https" or here):
        raise ValueError(
            gettext("%(address)r is no address that people can be sent to; expected https://...")
            % {"address": address}
        )
    if unknown := sorted(names - PLACEHOLDERS):
        raise ValueError(
            gettext("%(address)r asks for {%(unknown)s}; there are {code}, {worker} and {session}")
            % {"address": address, "unknown": unknown[0]}
        )
    if re.search(r"survey_code=X+$", address):
        raise ValueError(
            gettext("the Xs after survey_code= stand for the person: write {worker} in their place")
        )
    return address


PanelCode = Annotated[str, Field(min_length=1, max_length=80, pattern=r"^[A-Za-z0-9._-]+$")]
WebAddress = Annotated[str, Field(max_length=1000), AfterValidator(checked_address)]


def _keys_by_outcome(title: str, description: str) -> dict[str, Any]:
    """Return titles and descriptions for the form; the first outcome alone is described."""
    outcomes = ("finished", "screened out", "out of time", "given back", "no place left")
    keys = zip(OUTCOMES, outcomes, strict=True)
    return {
        name: (f"{title}: {outcome}", description if name == "completed" else "") for name, outcome in keys
    }


class Panel(Part):
    """How a panel sends its people and takes them back (docs/crowds)."""

    preset: Literal["plain", "prolific", "connect", "sona"] = Field(
        "plain",
        title="Panel",
        description="Fills what is left empty of the parameters and addresses below.",
        json_schema_extra={"words": {name: preset.title for name, preset in PANEL_PRESETS.items()}},
    )
    worker: str = Field(
        "",
        max_length=80,
        pattern=r"^[\w.-]*$",
        title="Parameter with the person's id",
        description="In the link that the panel sends people by.",
    )
    session: str = Field("", max_length=80, pattern=r"^[\w.-]*$", title="Parameter with the submission's id")
    project: str = Field(
        "", max_length=80, pattern=r"^[\w.-]*$", title="Parameter with the panel's id of the study"
    )
    signature: str = Field(
        "",
        max_length=80,
        pattern=r"^[\w.-]*$",
        title="Parameter with the signature",
        description="For links of your own, or of a panel that signs: nobody enters with an id that is not signed.",
    )
    hits: Annotated[int, Field(ge=1, le=1000)] = Field(
        1,
        title="Pages of work in a person's session",
        description="The panel pays a session: the pay of all of them.",
    )
    finish: Literal["redirect", "code"] = Field(
        "redirect",
        title="People go back",
        json_schema_extra={
            "words": {
                "redirect": "By an address, where there is one; else with a code",
                "code": "With a code that they type there",
            }
        },
    )
    codes: dict[Outcome, PanelCode] = Field(
        default_factory=dict,
        description="A completion code per outcome; left out: one is made.",
        json_schema_extra={"keys": _keys_by_outcome("Code", "Left empty, one is made.")},
    )
    personal_codes: bool = Field(
        False,
        title="A code for each person",
        description="Nobody can hand their code to somebody else. Not for a panel that knows one code for all.",
    )
    addresses: dict[Outcome, WebAddress] = Field(
        default_factory=dict,
        description="Where a person goes back to per outcome; {code}, {worker} and {session} are filled in.",
        json_schema_extra={
            "keys": _keys_by_outcome("Address back", "{code}, {worker} and {session} are filled in.")
        },
    )
    api: bool = Field(
        False, title="Prolific by its API", description="Places, approvals and bonuses at Quorum's word."
    )

    @model_validator(mode="after")
    def _check_distinct_names(self) -> Panel:
        if len(set(self.codes.values())) < len(self.codes):
            raise ValueError(
                gettext("codes has one code for two outcomes; the panel could not tell them apart")
            )
        named = [name for name in (self.worker, self.session, self.project, self.signature) if name]
        if len(set(named)) < len(named):
            raise ValueError(
                gettext("one parameter cannot hold two ids: %(listed)s") % {"listed": ", ".join(named)}
            )
        return self

    @model_validator(mode="after")
    def _check_panel_abilities(self) -> Panel:
        title = PANEL_PRESETS[self.preset].title
        if self.signature and self.preset != "plain":
            raise ValueError(
                gettext('signature is for preset = "plain": %(title)s does not sign its links')
                % {"title": title}
            )
        if self.personal_codes and self.preset == "prolific":
            raise ValueError(
                gettext("personal_codes cannot be true: %(title)s knows one code for each outcome")
                % {"title": title}
            )
        if self.personal_codes and self.codes:
            raise ValueError(gettext("personal_codes makes the codes, so that codes stays empty"))
        return self

    @property
    def knows_its_people(self) -> bool:
        """Whether an id that nobody sent is told from others."""
        return self.api or bool(self.signature)

    def code_of(self, outcome: str) -> str:
        return next((code for name, code in self.codes.items() if name == outcome), "")

    def address_of(self, outcome: str) -> str:
        return next((address for name, address in self.addresses.items() if name == outcome), "")


def makes_own_links(values: Mapping[str, Any]) -> bool:
    """Return whether people come by links that are made here, so that these can be signed. The values are unchecked."""
    crowd, panel = values.get("crowd"), values.get("panel", {})
    if not isinstance(crowd, dict) or not isinstance(panel, dict) or crowd.get("backend") != "external":
        return False
    return panel.get("preset", "plain") == "plain" and not panel.get("session")


def worker_parameter(panel: Panel) -> str:
    return panel.worker or PANEL_PRESETS[panel.preset].worker


def session_parameter(panel: Panel) -> str:
    return panel.session or PANEL_PRESETS[panel.preset].session


def project_parameter(panel: Panel) -> str:
    return panel.project or PANEL_PRESETS[panel.preset].project


def entry_query(panel: Panel) -> str:
    preset = PANEL_PRESETS[panel.preset]
    pairs = (
        (worker_parameter(panel), preset.values.get(preset.worker, "")),
        (project_parameter(panel), preset.values.get(preset.project, "")),
        (session_parameter(panel), preset.values.get(preset.session, "")),
    )
    return "&".join(f"{name}={value}" for name, value in pairs if name and value)


def return_address(panel: Panel, outcome: str, *, code: str, worker: str, session: str) -> str:
    """Return the address for a person; '' if the code is shown instead, or an id is unknown."""
    if panel.finish == "code":
        return ""
    address = panel.address_of(outcome) or PANEL_PRESETS[panel.preset].addresses.get(outcome, "")
    known = {"code": code, "worker": worker, "session": session}
    if any(not known[name] for name in placeholders(address)):
        return ""
    return address.format(**{name: quote(value, safe="") for name, value in known.items()})
