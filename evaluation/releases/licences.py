"""The licences a release can be given: identifiers of the SPDX licence list (https://spdx.org/licenses/). Pure."""

from __future__ import annotations

from difflib import get_close_matches

from evaluation.errors import ReleaseError

_CC = "https://creativecommons.org"
# identifier -> (name, where its text stands), for data and for what people wrote
LICENCES = {
    "CC0-1.0": ("Creative Commons Zero v1.0 Universal", f"{_CC}/publicdomain/zero/1.0/legalcode"),
    "CC-BY-4.0": ("Creative Commons Attribution 4.0 International", f"{_CC}/licenses/by/4.0/legalcode"),
    "CC-BY-SA-4.0": (
        "Creative Commons Attribution Share Alike 4.0 International", f"{_CC}/licenses/by-sa/4.0/legalcode",
    ),
    "CC-BY-NC-4.0": (
        "Creative Commons Attribution Non Commercial 4.0 International", f"{_CC}/licenses/by-nc/4.0/legalcode",
    ),
    "CC-BY-NC-SA-4.0": (
        "Creative Commons Attribution Non Commercial Share Alike 4.0 International",
        f"{_CC}/licenses/by-nc-sa/4.0/legalcode",
    ),
    "CC-BY-ND-4.0": (
        "Creative Commons Attribution No Derivatives 4.0 International", f"{_CC}/licenses/by-nd/4.0/legalcode",
    ),
    "CC-BY-NC-ND-4.0": (
        "Creative Commons Attribution Non Commercial No Derivatives 4.0 International",
        f"{_CC}/licenses/by-nc-nd/4.0/legalcode",
    ),
    "CC-BY-3.0": ("Creative Commons Attribution 3.0 Unported", f"{_CC}/licenses/by/3.0/legalcode"),
    "CC-BY-SA-3.0": (
        "Creative Commons Attribution Share Alike 3.0 Unported", f"{_CC}/licenses/by-sa/3.0/legalcode",
    ),
    "ODbL-1.0": ("Open Data Commons Open Database License v1.0", "https://opendatacommons.org/licenses/odbl/1-0/"),
    "ODC-By-1.0": ("Open Data Commons Attribution License v1.0", "https://opendatacommons.org/licenses/by/1-0/"),
    "PDDL-1.0": (
        "Open Data Commons Public Domain Dedication & License 1.0", "https://opendatacommons.org/licenses/pddl/1-0/",
    ),
    "CDLA-Permissive-2.0": (
        "Community Data License Agreement Permissive 2.0", "https://cdla.dev/permissive-2-0/",
    ),
    "CDLA-Sharing-1.0": ("Community Data License Agreement Sharing 1.0", "https://cdla.dev/sharing-1-0/"),
    "MIT": ("MIT License", "https://opensource.org/license/mit/"),
    "Apache-2.0": ("Apache License 2.0", "https://www.apache.org/licenses/LICENSE-2.0"),
}  # fmt: skip


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
