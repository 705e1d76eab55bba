"""The protocols of the papers as ready designs, read from the files in study_presets/.

Each file is a study file without ``name`` and ``dataset``, and with a table ``[about]``: what lists show, the paper,
and ``ours``, the keys whose values the paper does not give, so that nobody cites them as published. Worked examples and
most instructions are ours as well: the papers print none that could be shown as they stand. V15 gives workers "no
explicit concept" of similarity (section 3), so its triplets have no example: one would be such a concept.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("study_presets")
# In the order in which they are offered.
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
    "our-summaries",
)


@dataclass(frozen=True, slots=True)
class Preset:
    """A protocol as published.

    Attributes:
        title: what the admin's list shows.
        source: paper and section.
        values: keys of the study file.
        ours: dotted keys whose values the paper does not give.
    """

    title: str
    source: str
    values: dict[str, Any]
    ours: tuple[str, ...] = ()


def _read(name: str) -> Preset:
    values = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    about = values.pop("about")
    return Preset(title=about["title"], source=about["source"], values=values, ours=tuple(about["ours"]))


PRESETS: dict[str, Preset] = {name: _read(name) for name in NAMES}
