"""The links by which a panel sends participants, and the addresses by which they return to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from judgments.design.panels import PANEL_PRESETS
from judgments.design.tables.panel import Panel, placeholders_in

SIGNATURE_PARAMETER = "sig"  # the parameter with the signature in links that Quorum makes


def quorum_makes_links(values: Mapping[str, Any]) -> bool:
    """Return whether Quorum makes the participants' links, and thus can sign them. ``values`` may be invalid."""
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
    """Return the query of the address that a panel opens.

    The value of each parameter is the placeholder that the panel replaces by an id; "" if the panel has none.
    """
    preset = PANEL_PRESETS[panel.preset]
    parameters = (
        (worker_parameter(panel), preset.values.get(preset.worker, "")),
        (project_parameter(panel), preset.values.get(preset.project, "")),
        (session_parameter(panel), preset.values.get(preset.session, "")),
    )
    return "&".join(f"{name}={placeholder}" for name, placeholder in parameters if name and placeholder)


def return_address(panel: Panel, outcome: str, *, code: str, worker: str, session: str) -> str:
    """Return the address to which a person returns; "" if they get a code instead, or if a needed id is unknown."""
    if panel.finish == "code":
        return ""
    address = panel.address_of(outcome) or PANEL_PRESETS[panel.preset].addresses.get(outcome, "")
    ids = {"code": code, "worker": worker, "session": session}
    if any(not ids[name] for name in placeholders_in(address)):
        return ""
    return address.format(**{name: quote(value, safe="") for name, value in ids.items()})
