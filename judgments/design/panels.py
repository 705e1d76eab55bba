"""Panels that send participants by a link, and to which participants return (panels.toml).

Sources (November 2026): Prolific's parameters and completion address, docs.prolific.com "The study object"; its
export's columns, docs.prolific.com "Export demographic data" and published exports; SONA's completion address,
sona-systems.com "External Study Credit Granting"; Connect's redirect, connect-researcher-help.cloudresearch.com
"Project Completion". Connect's parameters are those that published studies and other platforms read. Neither
Connect nor SONA documents its columns in public, so a person may name them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

Outcome = Literal["completed", "screened-out", "timed-out", "returned", "full"]
OUTCOMES: tuple[str, ...] = get_args(Outcome)


@dataclass(frozen=True, slots=True)
class PanelColumns:
    """The names that each column may have in a panel's export."""

    worker: tuple[str, ...]
    session: tuple[str, ...] = ()
    status: tuple[str, ...] = ("status",)
    code: tuple[str, ...] = ("completion code", "code")


@dataclass(frozen=True, slots=True)
class PanelPreset:
    """The names and addresses that a panel uses.

    Attributes:
        worker, session, project: names of the parameters in its links.
        values: the placeholders that the panel replaces by ids, by the names of its parameters.
        addresses: the return addresses by outcome, if they are the same for every study.
        currency: the panel's usual currency.
        pays_by_session: whether its payment lists name submissions instead of people.
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


def _make_preset(*, columns: Mapping[str, list[str]], address: str = "", **values: Any) -> PanelPreset:
    return PanelPreset(
        columns=PanelColumns(**{name: tuple(names) for name, names in columns.items()}),
        addresses=dict.fromkeys(OUTCOMES, address) if address else {},
        **values,
    )


PANEL_PRESETS = {
    name: _make_preset(**values)
    for name, values in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
}
