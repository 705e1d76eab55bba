"""The protocol in which workers write captions of an image.

An answer is a caption. Results compare the captions of an image with each other (WG16 §4 and §5). WG16 is Wang and
Gaizauskas 2016, V15 is Vedantam et al. 2015.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext

from common.errors import DesignError
from judgments.drawing.controls.splits import divide_images
from judgments.drawing.draws import draw_images, rng_for
from judgments.drawing.keys import content_key
from judgments.drawing.material import Batch, Group, Material, UnitSpec
from judgments.kinds.base import (
    IncludedJudgment,
    KindResults,
    MetricComparison,
    OpenAggregation,
    OpenKind,
    Page,
    RefusedAnswer,
    Results,
)
from judgments.kinds.caption_rules import (
    ANY_LANGUAGE,
    RULES,
    CaptionRule,
    broken_rules,
    first_refusal,
    primary_subtag,
    tidy_text,
)
from judgments.kinds.caption_rules.spelling import misspellings
from judgments.kinds.consensus import Consensus
from judgments.kinds.upper_bound import leave_one_out_scores

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


# Texts with more characters break the rule "far-too-long". Error messages name this number.
MAX_CHARACTERS = next(rule.most for rule in RULES if rule.id == "far-too-long")

MAX_TYPED_CHARACTERS = 5 * MAX_CHARACTERS  # characters of an answer; nobody types a longer text by hand


class RefusedCaption(RefusedAnswer):
    """A caption that breaks a hard rule."""

    def __init__(self, rule: CaptionRule) -> None:
        reason = f"expected another caption ({rule.id}: {str(rule.message).rstrip('.')})"
        super().__init__(reason, rule.message)


class AllCaptions(OpenAggregation):
    """The consensus is the list of all captions, in order. No caption is the winner (V15 §5)."""

    rule = "none"
    no_alpha = (
        "two good captions may have no word in common; each caption is compared with the others of its item "
        "instead (WG16 §4)"
    )

    def combine(self, answers: list[str]) -> Consensus:
        return Consensus(n=len(answers), answer=answers)

    def codes(self, unit: Any, answer: Any) -> dict[str, float]:
        return {}


class PairwiseCaptionResults(Results):
    def figures(self, judgments: Sequence[IncludedJudgment], *, seed: int) -> KindResults:
        captions_by_unit: defaultdict[int, list[str]] = defaultdict(list)
        for judgment in judgments:
            captions_by_unit[judgment.unit.pk].append(judgment.answer)
        scores = leave_one_out_scores(list(captions_by_unit.values()), seed=seed)
        return KindResults(study={"leave_one_out": scores.as_json()})


class CaptionWriting(OpenKind):
    name = "caption"
    title = "Caption writing: describe what is going on in the image"
    writes_captions = True
    defaults = {
        "question": "Describe what is going on in the image.",
        "language": "en",
        "judgments_per_unit": 5,
        "units_per_hit": 5,
        "seconds_per_unit": 40.0,
    }
    page = Page(
        "annotation/kinds/caption.html",
        script="js/kinds/caption.js",
        guide="annotation/kinds/caption_guide.html",
    )
    aggregation = AllCaptions()
    results = PairwiseCaptionResults()
    comparison = MetricComparison(
        refusal=(
            "the written captions have no judgments. The results compare the captions with each "
            "other. Use “Adopt captions” to have later studies judge them."
        )
    )

    def draw_batch(self, design: StudyDesign, material: Material) -> Batch:
        """Draw one unit per image. A worker does a HIT once, so different workers write the captions of an image."""
        if design.controls.per_hit:
            raise DesignError(
                f"controls.per_hit is {design.controls.per_hit}, but no caption is the right one: caption writing "
                "has no check questions (a quiz before the work does their part).",
                field="controls.per_hit",
            )
        images = draw_images(
            divide_images(design, material).judged_images,
            design.sampling.images,
            rng_for(design.seed, "images"),
        )
        if not images:
            raise DesignError(
                f"dataset {material.name!r} has no image in split {design.sampling.split!r}.",
                field="sampling.split",
            )
        units = [
            UnitSpec(key=content_key("unit", self.name, design.seed, image.name), image=image.name)
            for image in images
        ]
        return Batch(hits=self.hits(design, [Group(unit.image, (unit,)) for unit in units]))

    def present_unit(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        return {"image": {"url": picture_url, "alt": gettext("The image to be described")}}

    def clean_answer(self, answer: Any, *, unit: Any, design: StudyDesign | None) -> str:
        if not isinstance(answer, str):
            raise ValueError(gettext("expected the caption as a text"))
        if len(answer) > MAX_TYPED_CHARACTERS:
            raise ValueError(gettext("expected at most %(most)d characters") % {"most": MAX_CHARACTERS})
        text = tidy_text(answer)
        # Control characters and single surrogates cannot be stored. Unassigned and private characters can be.
        if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in text):
            raise ValueError(gettext("expected a text without control characters"))
        languages = ANY_LANGUAGE if design is None else (design.language,)
        refusals = [first_refusal(broken_rules(text, language)) for language in languages]
        # An imported file has no design, so its language is unknown: a caption is refused if all languages refuse it.
        if refusals[0] is not None and all(refusals):
            raise RefusedCaption(refusals[0])
        return text

    def read_form(self, form: Mapping[str, Any], position: int, unit: Any) -> str | None:
        """Read the field ``u<position>``. Return None if it is blank."""
        text = form.get(f"u{position}")
        return text if isinstance(text, str) and tidy_text(text) else None

    def advise(self, answer: Any, design: StudyDesign) -> str:
        suggestions = misspellings(str(answer), primary_subtag(design.language))
        if not suggestions:
            return ""
        advice = ", ".join(
            f"“{word}” (“{guess}”?)" if guess else f"“{word}”" for word, guess in suggestions.items()
        )
        return gettext("Check the spelling: %(words)s. Leave correct words as they are.") % {"words": advice}

    def describe_consensus(self, answer: Any, *, unit: Any) -> list[str]:
        return [f"“{text}”" for text in answer]


def fold_text(text: str) -> str:
    """Normalise case, punctuation and Unicode of a text, to compare captions."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(character if character.isalnum() else " " for character in folded).split())
