"""What is known of panels that send people by a link and take them back: parameters, addresses, columns. Pure.

Sources (all looked at in November 2026): Prolific's parameters and completion address, docs.prolific.com "The study
object"; its export's columns, docs.prolific.com "Export demographic data" and published exports; SONA's completion
address, sona-systems.com "External Study Credit Granting"; Connect's redirect,
connect-researcher-help.cloudresearch.com "Project Completion". Connect's parameters are those that published studies
and other platforms read; neither Connect's nor SONA's columns are documented in public, so that a person may name them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from string import Formatter
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

if TYPE_CHECKING:
    from judgments.design.tables import Panel

OUTCOMES = ("completed", "screened-out", "timed-out", "returned", "full")
PLACEHOLDERS = frozenset({"code", "worker", "session"})
PROLIFIC_BACK = "https://app.prolific.com/submissions/complete?cc={code}"


@dataclass(frozen=True, slots=True)
class Columns:
    """What a panel calls the columns of its list of submissions; each with the words that were seen for it."""

    worker: tuple[str, ...]
    session: tuple[str, ...] = ()
    status: tuple[str, ...] = ("status",)
    code: tuple[str, ...] = ("completion code", "code")


@dataclass(frozen=True, slots=True)
class PanelPreset:
    """A panel's own words.

    Attributes:
        worker, session, project: parameters of the link it sends people by; '' where it has none.
        values: what the panel fills the parameters with, as it wants them written in the link.
        addresses: where people go back to, by outcome, where that is the same for every study.
        pays_by_session: whether its lists for paying name submissions rather than people.
    """

    title: str
    worker: str
    columns: Columns
    session: str = ""
    project: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    addresses: Mapping[str, str] = field(default_factory=dict)
    pays_by_session: bool = False


PANEL_PRESETS: dict[str, PanelPreset] = {
    "plain": PanelPreset(
        title="Invitation links of your own",
        worker="id",
        values={"id": "ID-OF-THE-PERSON"},
        columns=Columns(worker=("id", "worker", "participant", "participant id"), session=("session",)),
    ),
    "prolific": PanelPreset(
        title="Prolific",
        worker="PROLIFIC_PID",
        session="SESSION_ID",
        project="STUDY_ID",
        values={
            "PROLIFIC_PID": "{{%PROLIFIC_PID%}}",
            "STUDY_ID": "{{%STUDY_ID%}}",
            "SESSION_ID": "{{%SESSION_ID%}}",
        },
        addresses=dict.fromkeys(OUTCOMES, PROLIFIC_BACK),
        columns=Columns(
            worker=("participant id",),
            session=("submission id", "session id"),
            code=("completion code", "entered code"),
        ),
        pays_by_session=True,
    ),
    "connect": PanelPreset(
        title="CloudResearch Connect",
        worker="participantId",
        session="assignmentId",
        project="projectId",
        columns=Columns(
            worker=("participant id", "connect id"),
            session=("assignment id",),
            status=("status", "assignment status"),
        ),
    ),
    "sona": PanelPreset(
        title="SONA",
        worker="survey_code",
        values={"survey_code": "%SURVEY_CODE%"},
        columns=Columns(
            worker=("survey code", "id code", "sona id"),
            status=("credit status", "status", "participation status"),
        ),
    ),
}


def worker_parameter(panel: Panel) -> str:
    """The parameter that holds the person's id."""
    return panel.worker or PANEL_PRESETS[panel.preset].worker


def session_parameter(panel: Panel) -> str:
    """The parameter that holds the id of the submission; '' where the panel has none."""
    return panel.session or PANEL_PRESETS[panel.preset].session


def project_parameter(panel: Panel) -> str:
    """The parameter that holds the panel's id of the study; '' where the panel has none."""
    return panel.project or PANEL_PRESETS[panel.preset].project


def entry_query(panel: Panel) -> str:
    """What follows the question mark of the link that is given to the panel."""
    preset = PANEL_PRESETS[panel.preset]
    pairs = (
        (worker_parameter(panel), preset.values.get(preset.worker, "")),
        (project_parameter(panel), preset.values.get(preset.project, "")),
        (session_parameter(panel), preset.values.get(preset.session, "")),
    )
    return "&".join(f"{name}={value}" for name, value in pairs if name and value)


def way_back(panel: Panel, outcome: str, *, code: str, worker: str, session: str) -> str:
    """The address that takes a person back; '' where the code is shown instead, or an id it needs is not known."""
    if panel.finish == "code":
        return ""
    address = panel.address_of(outcome) or PANEL_PRESETS[panel.preset].addresses.get(outcome, "")
    known = {"code": code, "worker": worker, "session": session}
    if any(not known[name] for name in placeholders(address)):
        return ""
    return address.format(**{name: quote(value, safe="") for name, value in known.items()})


def placeholders(address: str) -> set[str]:
    """The names in braces.

    Raises:
        ValueError: braces that do not belong together.
    """
    return {name for _, name, _, _ in Formatter().parse(address) if name is not None}


def checked_address(address: str) -> str:
    """An address that people may be sent to: https, or this machine for trying it; ids stand behind the host.

    Raises:
        ValueError: it is none.
    """
    try:
        parts, names = urlsplit(address), placeholders(address)
        host = parts.hostname or ""
    except ValueError:
        raise ValueError(f"{address!r} is no address") from None
    here = parts.scheme == "http" and host in ("localhost", "127.0.0.1")
    if not host or re.search(r"[{}\s\\@]", parts.netloc) or not (parts.scheme == "https" or here):
        raise ValueError(f"{address!r} is no address that people can be sent to; expected https://...")
    if unknown := sorted(names - PLACEHOLDERS):
        raise ValueError(
            f"{address!r} asks for {{{unknown[0]}}}; there are {{code}}, {{worker}} and {{session}}"
        )
    if re.search(r"survey_code=X+$", address):
        raise ValueError("the Xs after survey_code= stand for the person: write {worker} in their place")
    return address
