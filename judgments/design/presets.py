"""The papers' protocols as designs, read from study_presets/.

Each file is a study file without ``name`` and ``dataset``. Its table ``[about]`` holds what lists show; its
``ours`` names the keys that the paper does not give, so that they are not cited as published.

Most instructions are in our words, from what the paper says its workers were told. No paper prints worked examples,
and an example teaches what to prefer, so that no preset has any.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("study_presets")
# In display order.
NAMES = (
    "vedantam-2015-triplet",
    "vedantam-2015-pairwise",
    "hodosh-2013-relevance",
    "hodosh-2013-graded",
    "hodosh-2013-captions",
    "vedantam-2015-captions",
    "mason-charniak-2012-keywords",
    "wang-gaizauskas-2015-grounding",
    "our-best-worst",
    "our-slider",
    "direct-assessment-translation",
    "kocmi-2024-esa",
    "freitag-2021-mqm",
    "our-summaries",
)


@dataclass(frozen=True, slots=True)
class Preset:
    """A published protocol.

    Attributes:
        ours: dotted keys whose values the paper does not give.
        needs: the data it needs, in words.
        choose: when to choose it, as the end of a sentence.
    """

    title: str
    source: str
    values: dict[str, Any]
    ours: tuple[str, ...] = ()
    needs: str = ""
    choose: str = ""


def _read(name: str) -> Preset:
    values = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    about = values.pop("about")
    return Preset(values=values, ours=tuple(about.pop("ours")), **about)


PRESETS: dict[str, Preset] = {name: _read(name) for name in NAMES}
