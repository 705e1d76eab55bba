"""The links by which a panel sends participants, and the addresses by which they return to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from judgments.design.panels import PANEL_PRESETS
from judgments.design.tables.panel import Panel, placeholders_in

SIGNATURE_PARAMETER = "sig"  # the parameter with the signature in links that Quorum makes


def quorum_makes_links(values: Mapping[str, Any]) -> bool:
    """Return whether Quorum, and not a panel, makes the links of participants, so that it can sign them.

    ``values`` are the tables of a study file, which may be invalid.
    """
    crowd, panel = values.get("crowd"), values.get("panel", {})
    if not isinstance(crowd, dict) or not isinstance(panel, dict) or crowd.get("backend") != "external":
        return False
    return panel.get("preset", "plain") == "plain" and not panel.get("session")  # only panels have sessions


def worker_parameter(panel: Panel) -> str:
    """Return the parameter of the link that has the participant's id."""
    return panel.worker or PANEL_PRESETS[panel.preset].worker


def session_parameter(panel: Panel) -> str:
    """Return the parameter of the link that has the id of the submission."""
    return panel.session or PANEL_PRESETS[panel.preset].session


def project_parameter(panel: Panel) -> str:
    """Return the parameter of the link that has the panel's id of the study."""
    return panel.project or PANEL_PRESETS[panel.preset].project


def entry_query(panel: Panel) -> str:
    """Return the query of the link that a researcher enters at a panel, such as ``PROLIFIC_PID={{%PROLIFIC_PID%}}``.

    The value of each parameter is the placeholder that the panel replaces by an id. A parameter for which the panel has
    no placeholder is left out.
    """
    preset = PANEL_PRESETS[panel.preset]
    parameters = (
        (worker_parameter(panel), preset.values.get(preset.worker, "")),
        (project_parameter(panel), preset.values.get(preset.project, "")),
        (session_parameter(panel), preset.values.get(preset.session, "")),
    )
    return "&".join(f"{name}={placeholder}" for name, placeholder in parameters if name and placeholder)


def return_address(panel: Panel, outcome: str, *, code: str, worker: str, session: str) -> str:
    """Return the address to which a participant returns after an outcome such as "completed".

    Return "" if participants get a code instead, or if the address needs a code or an id that is "".
    """
    if panel.finish == "code":
        return ""
    address = panel.address_of(outcome) or PANEL_PRESETS[panel.preset].addresses.get(outcome, "")
    ids = {"code": code, "worker": worker, "session": session}
    if any(not ids[name] for name in placeholders_in(address)):
        return ""
    return address.format(**{name: quote(value, safe="") for name, value in ids.items()})
