"""The protocols of the papers as ready designs.

``values`` is what a study file would say; a file that names the preset needs only ``name`` and ``dataset``. A
number that the paper does not give is ours, and ``ours`` names its key, so that nobody cites it as published.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from judgments.design import worked_examples

OUR_COMMON = ("seconds_per_unit", "crowd.lease_minutes")
OUR_QUIZ = ("quiz.ask", "quiz.pass_mark", "quiz.attempts", "quiz.explain")
# What the papers ask of the writers of captions, in our words.
H13_CAPTIONS = """\
Write **one sentence** about each picture: who or what is there, what they are doing, and where.

- Write only what the picture shows to somebody who knows nothing else about it.
- Leave out names of people and places, what came before, what comes after, and how you like it.
- Name what matters most. What can hardly be made out is no part of the sentence.
- Mind spelling and grammar.

People describe the same picture in different ways; there is no sentence you have to guess.
"""
V15_CAPTIONS = """\
Write **one sentence** that says what is going on in the picture.

- Name the main things, as other people are likely to name them too.
- Be objective. Do not write what somebody in the picture may say, and do not paint every detail.
- Imagine many similar pictures: somebody who reads your sentence should find this one among them.
- Mind your grammar: sentences with poor grammar are refused.
"""

# in our words: the papers print none
KEYWORD_INSTRUCTIONS = """\
Choose the words of the text that say what is in the picture.

- Only words that stand in the text count. Type them, or click them.
- A phrase below the text that fits as a whole can be ticked, besides its words or instead of them.
- Leave out what the text says and the picture does not show.
- If no word of the text fits, say so with the last box.
"""
GROUNDING_INSTRUCTIONS = """\
Link the words of the caption to the boxes in the picture.

- Link single words: in "a woman in a white dress", *woman* and *dress*.
- A word belongs to one box at most. Several words may stand for the same box (*a woman* … *her*).
- A box that the caption does not speak of stays without a word, and a word for which there is no box without a link.
- If a word stands for several boxes, choose the one that fits best.
"""
TRANSLATION_INSTRUCTIONS = """\
Read the source text first, then the translation.

- Judge how much of the meaning of the source text the translation expresses.
- What is missing, added or changed counts most. Style counts where it makes the meaning hard to see.
- Use the whole scale: 0 has nothing to do with the source text, 100 expresses its meaning perfectly.
"""
SUMMARY_INSTRUCTIONS = """\
Read the source text first, then the summary.

- A good summary says what matters most in the source text, and nothing that the text does not say.
- A statement that the source text does not support is an error, even if it is true.
- A summary may be short. It is worse only where something that matters is missing.
"""


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
            "workers": {"requirements": "vedantam-2015"},
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
            "examples": worked_examples.PAIRWISE,
            "sampling": {"pairs": {"HC": 1000, "HI": 1000, "HM": 1000, "MM": 1000}},
            "controls": {"per_hit": 0},
            "workers": {"requirements": "vedantam-2015"},
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
            "examples": worked_examples.RELEVANCE,
            "sampling": {"pairs_from": "top-k", "k": 10, "images": "all", "split": "test"},
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
            "examples": worked_examples.GRADED,
            "sampling": {
                "pairs_from": "top-k",
                "k": 1,
                "task": "annotation",
                "images": "all",
                "split": "test",
            },
            "controls": {"per_hit": 0},
        },
        ours=("controls.per_hit", "examples", "crowd.lease_minutes"),
    ),
    "hodosh-2013-captions": Preset(
        title="Caption writing: five sentences an image",
        source="Hodosh, Young, Hockenmaier 2013, section 2.3",
        values={
            "protocol": "caption",
            "preset": "hodosh-2013-captions",
            "language": "en",
            "judgments_per_unit": 5,
            "units_per_hit": 5,
            "question": "What is going on in this picture?",
            "instructions": H13_CAPTIONS,
            "sampling": {"images": "all"},
            "workers": {"requirements": "hodosh-2013"},
            "quiz": {"preset": "hodosh-2013-english"},
        },
        ours=("units_per_hit", "question", "instructions", *OUR_QUIZ, *OUR_COMMON),
    ),
    "vedantam-2015-captions": Preset(
        title="Caption writing: fifty sentences an image",
        source="Vedantam, Zitnick, Parikh 2015, section 5 and appendix V",
        values={
            "protocol": "caption",
            "preset": "vedantam-2015-captions",
            "language": "en",
            "judgments_per_unit": 50,
            "units_per_hit": 5,
            "question": "Describe what is going on in the image.",
            "instructions": V15_CAPTIONS,
            "sampling": {"images": "all"},
            "workers": {"requirements": "vedantam-2015"},
        },
        ours=("units_per_hit", "instructions", *OUR_COMMON),
    ),
    "mason-charniak-2012-keywords": Preset(
        title="Keywords: which words of the text describe the picture?",
        source="Mason, Charniak 2012, section 3.2",
        values={
            "protocol": "keywords",
            "preset": "mason-charniak-2012-keywords",
            "judgments_per_unit": 5,
            "units_per_hit": 5,
            "seconds_per_unit": 60.0,
            "question": "Which words of the text describe the picture?",
            "instructions": KEYWORD_INSTRUCTIONS,
            "sampling": {"images": "all", "split": "test"},
            "controls": {"per_hit": 0},
            "keywords": {"longest": 7},
        },
        ours=("question", "instructions", "units_per_hit", "controls.per_hit", *OUR_COMMON),
    ),
    "wang-gaizauskas-2015-grounding": Preset(
        title="Grounding: which words stand for which boxes?",
        source="Wang, Gaizauskas 2015, section 3",
        values={
            "protocol": "grounding",
            "preset": "wang-gaizauskas-2015-grounding",
            "judgments_per_unit": 3,
            "units_per_hit": 5,
            "seconds_per_unit": 25.0,
            "question": "Which words of the caption stand for which boxes?",
            "instructions": GROUNDING_INSTRUCTIONS,
            "sampling": {"images": "all", "references": "all", "split": "test"},
            "controls": {"per_hit": 0},
        },
        ours=(
            "judgments_per_unit",
            "question",
            "instructions",
            "units_per_hit",
            "controls.per_hit",
            *OUR_COMMON,
        ),
    ),
    "our-best-worst": Preset(
        title="Best-worst: which caption is the best, which the worst?",
        source="ours, after Kiritchenko, Mohammad 2017: every caption in eight lists of four",
        values={
            "protocol": "best-worst",
            "preset": "our-best-worst",
            "judgments_per_unit": 3,
            "units_per_hit": 10,
            "seconds_per_unit": 20.0,
            "question": "Which caption describes the image best, and which worst?",
            "sampling": {"options": 4, "appearances": 8, "images": "all", "split": "test"},
            "controls": {"per_hit": 1, "threshold": 0.7, "split": "dev"},
        },
        ours=(
            "judgments_per_unit",
            "units_per_hit",
            "question",
            "controls.per_hit",
            "controls.threshold",
            *OUR_COMMON,
        ),
    ),
    "our-slider": Preset(
        title="Slider: from 0 to 100, how well does the caption describe the image?",
        source="ours, after the direct assessment of Graham et al. 2013 and Bojar et al. 2016",
        values={
            "protocol": "slider",
            "preset": "our-slider",
            "judgments_per_unit": 3,
            "units_per_hit": 20,
            "seconds_per_unit": 10.0,
            "question": "How well does the caption describe the image?",
            "sampling": {"pairs_from": "outputs", "images": "all", "split": "test"},
            "controls": {"per_hit": 2, "threshold": 0.7, "split": "dev"},
        },
        ours=(
            "judgments_per_unit",
            "units_per_hit",
            "question",
            "controls.per_hit",
            "controls.threshold",
            *OUR_COMMON,
        ),
    ),
    "direct-assessment-translation": Preset(
        title="Direct assessment: from 0 to 100, how well does the translation express the source text?",
        source="after the direct assessment of Graham et al. 2013 and Bojar et al. 2016, with the source text shown",
        values={
            "protocol": "slider",
            "preset": "direct-assessment-translation",
            "judged": "translation",
            "source": {"show": True},
            "judgments_per_unit": 3,
            "units_per_hit": 20,
            "seconds_per_unit": 25.0,
            "question": "How well does the translation express the meaning of the source text?",
            "instructions": TRANSLATION_INSTRUCTIONS,
            "sampling": {"images": "all", "split": "test"},
            "controls": {"per_hit": 2, "threshold": 0.7, "split": "dev"},
        },
        ours=(
            "judgments_per_unit",
            "units_per_hit",
            "question",
            "instructions",
            "controls.per_hit",
            "controls.threshold",
            *OUR_COMMON,
        ),
    ),
    "our-summaries": Preset(
        title="Summaries: how well does the summary represent the source text?",
        source="ours: graded like captions in Hodosh, Young, Hockenmaier 2013, with the document beside the summary",
        values={
            "protocol": "graded",
            "preset": "our-summaries",
            "judged": "summary",
            "source": {"show": True},
            "judgments_per_unit": 3,
            "units_per_hit": 8,
            "seconds_per_unit": 90.0,
            "question": "How well does the summary represent the source text?",
            "instructions": SUMMARY_INSTRUCTIONS,
            "sampling": {"images": "all", "split": "test"},
            "controls": {"per_hit": 1, "threshold": 0.7, "split": "dev"},
        },
        ours=(
            "judgments_per_unit",
            "units_per_hit",
            "question",
            "instructions",
            "controls.per_hit",
            "controls.threshold",
            *OUR_COMMON,
        ),
    ),
}
