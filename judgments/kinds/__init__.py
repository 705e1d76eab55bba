"""The kinds of HIT. A new kind is a module here, a template, and a line in ``KINDS``."""

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
from judgments.kinds.graded import Graded
from judgments.kinds.grounding import Grounding
from judgments.kinds.keywords import Keywords
from judgments.kinds.pairwise import Pairwise
from judgments.kinds.relevance import Relevance
from judgments.kinds.slider import Slider
from judgments.kinds.spans.kind import Spans
from judgments.kinds.triplet import Triplet

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
