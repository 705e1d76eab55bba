"""The licences a release can be given: identifiers of the SPDX licence list (https://spdx.org/licenses/). Pure."""

from __future__ import annotations

import csv
from difflib import get_close_matches
from pathlib import Path

from evaluation.errors import ReleaseError


def _read() -> dict[str, tuple[str, str]]:
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        return {row["identifier"]: (row["name"], row["address"]) for row in csv.DictReader(file)}


# Identifier -> (name, where its text stands), for data and for what people wrote.
LICENCES = _read()


def check_licence(name: str) -> str:
    """The identifier as SPDX writes it.

    Raises:
        ReleaseError: it is none of those; the message names the nearest one.
    """
    by_lower = {known.lower(): known for known in LICENCES}
    if name.lower() in by_lower:
        return by_lower[name.lower()]
    near = get_close_matches(name.lower(), by_lower, n=1)
    hint = f"did you mean {by_lower[near[0]]}? " if near else ""
    raise ReleaseError(f"There is no licence {name!r} here; {hint}expected one of {', '.join(LICENCES)}.")


def licence_text(name: str, title: str) -> str:
    """The bundle's LICENSE file."""
    full, address = LICENCES[name]
    return (
        f"{title}\n\nReleased under {full}\nSPDX-License-Identifier: {name}\nThe licence's text: {address}\n"
    )
