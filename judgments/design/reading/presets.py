"""Presets of study designs. Each is the protocol of a paper, or based on papers (``our-slider``).

A preset is a file in study_presets/ or in a feature's folder: a study file without ``name`` and ``dataset``. Its
table ``[about]`` has the texts for lists of presets. The key ``ours`` of this table names the keys that the paper does
not state, so that they are not cited as published.

Most papers only describe their instructions, so Quorum's authors worded them. Presets have no worked examples, since no
paper prints any, and since an example teaches workers what to prefer.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from common.features import feature_settings

PRESET_FOLDER = Path(__file__).parent.with_name("study_presets")
# The order of lists of presets. A name may be of a feature that is off; presets without a name here stand last.
LIST_ORDER = (
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
    """A preset of Quorum, or one that a person has saved.

    Attributes:
        ours: dotted keys whose values the paper does not state.
        choose: when to choose the preset, as the end of a sentence.
        suits: by purpose of a study, the preset's rank among the presets for this purpose; the lowest rank is the
            simplest protocol.
    """

    title: str
    source: str
    values: dict[str, Any]
    ours: tuple[str, ...] = ()
    choose: str = ""
    suits: Mapping[str, int] = dataclass_field(default_factory=dict)


def _read_preset(path: Traversable) -> Preset:
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    about = values.pop("about")
    return Preset(values=values, ours=tuple(about.pop("ours")), **about)


def preset_files() -> dict[str, Traversable]:
    """Return the files of the platform's presets and of those of active features, by name."""
    own_files = {path.stem: path for path in sorted(PRESET_FOLDER.glob("*.toml"))}
    feature_files = {
        name: files(feature.name) / "presets" / f"{name}.toml"
        for feature in feature_settings.FEATURES.values()
        for name in feature.presets
    }
    return own_files | feature_files


def _read_presets() -> dict[str, Preset]:
    """Return the presets by name, in the order of lists."""
    paths = preset_files()
    names = [name for name in LIST_ORDER if name in paths]
    names += [name for name in paths if name not in LIST_ORDER]
    return {name: _read_preset(paths[name]) for name in names}


PRESETS: dict[str, Preset] = _read_presets()

# for callers without the saved presets, which are in the database
NO_PRESETS: Mapping[str, Preset] = {}
