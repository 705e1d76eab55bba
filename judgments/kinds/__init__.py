"""The kinds of HIT. A new kind is a module here, a template, and a line in ``KINDS``."""

from common.features import of_features
from judgments.hit_templates.kind import HITTemplate
from judgments.kinds.base import (
    CaptionScore,
    Choice,
    ChoiceKind,
    Consensus,
    IncludedJudgment,
    Kind,
    KindResults,
    OpenKind,
    Rehearsal,
    RelevanceScale,
)
from judgments.kinds.best_worst import BestWorst
from judgments.kinds.caption import CaptionWriting
from judgments.kinds.grounding import Grounding
from judgments.kinds.image_caption import Graded, Relevance, Slider
from judgments.kinds.keywords import Keywords
from judgments.kinds.pairs import Pairwise, Triplet
from judgments.kinds.spans.kind import Spans

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Triplet(),
        Pairwise(),
        Relevance(),
        Graded(),
        CaptionWriting(),
        BestWorst(),
        Slider(),
        Spans(),
        Keywords(),
        Grounding(),
        HITTemplate(),
        *(kind() for kind in of_features("kinds")),
    )
}

__all__ = [
    "KINDS",
    "CaptionScore",
    "Choice",
    "ChoiceKind",
    "Consensus",
    "IncludedJudgment",
    "Kind",
    "KindResults",
    "OpenKind",
    "Rehearsal",
    "RelevanceScale",
]
