"""The protocols of the papers as ready designs.

``values`` is what a study file would say; a file that names the preset needs only ``name`` and ``dataset``. A
number that the paper does not give is ours, and ``ours`` names its key, so that nobody cites it as published.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from judgments import worked

OUR_COMMON = ("seconds_per_unit", "crowd.lease_minutes")


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


PRESETS: dict[str, Preset] = {
    "vedantam-2015-triplet": Preset(
        title="Triplets: which sentence is more similar to A?",
        source="Vedantam, Zitnick, Parikh 2015, section 3 and 6",
        values={
            "protocol": "triplet",
            "preset": "vedantam-2015-triplet",
            "judgments_per_unit": 3,
            "units_per_hit": 20,
            "question": "Which of the two sentences, B or C, is more similar to A?",
            "sampling": {"pairs": {"HC": 1000, "HI": 1000, "HM": 1000, "MM": 1000}, "references": 48},
            "controls": {"per_hit": 0},
        },
        ours=("units_per_hit", "controls.per_hit", *OUR_COMMON),
    ),
    "vedantam-2015-pairwise": Preset(
        title="Pairwise: which is the better description?",
        source="Vedantam, Zitnick, Parikh 2015, appendix I",
        values={
            "protocol": "pairwise",
            "preset": "vedantam-2015-pairwise",
            "judgments_per_unit": 11,
            "units_per_hit": 20,
            "question": "Which is the better description?",
            "examples": worked.PAIRWISE,
            "sampling": {"pairs": {"HC": 1000, "HI": 1000, "HM": 1000, "MM": 1000}},
            "controls": {"per_hit": 0},
        },
        ours=("units_per_hit", "controls.per_hit", "examples", *OUR_COMMON),
    ),
    "hodosh-2013-relevance": Preset(
        title="Relevance: does the caption describe the image?",
        source="Hodosh, Young, Hockenmaier 2013, section 4.3.2",
        values={
            "protocol": "relevance",
            "preset": "hodosh-2013-relevance",
            "judgments_per_unit": 3,
            "images_per_hit": 6,
            "captions_per_image": 10,
            "question": "Which of these captions describe the image?",
            "examples": worked.RELEVANCE,
            "sampling": {"images": "all", "split": "test"},
            "controls": {"per_hit": 1, "threshold": 0.7, "split": "dev"},
            "filter": {"bleu_pre": 0.25, "fill_to": 10, "order": "stem-first"},
        },
        ours=("filter.order", "examples", *OUR_COMMON),
    ),
    "hodosh-2013-graded": Preset(
        title="Graded: how well does the caption describe the image?",
        source="Hodosh, Young, Hockenmaier 2013, section 4.2.1",
        values={
            "protocol": "graded",
            "preset": "hodosh-2013-graded",
            "judgments_per_unit": 3,
            "units_per_hit": 50,
            "seconds_per_unit": 12.0,
            "question": "How well does the caption describe the image?",
            "examples": worked.GRADED,
            "sampling": {"images": "all", "split": "test"},
            "controls": {"per_hit": 0},
        },
        ours=("controls.per_hit", "examples", "crowd.lease_minutes"),
    ),
}
