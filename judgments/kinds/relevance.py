"""The protocol that asks which of ten captions describe an image (Hodosh et al. 2013, H13, section 4.3.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from django.utils.translation import pgettext

from judgments.design.tables.sampling import CROSSED
from judgments.design.wordings import CAPTION, WORDINGS
from judgments.drawing.caption_filter import ImageCaptions
from judgments.drawing.controls.captions import degraded_text, foreign_captions, right_caption_count
from judgments.drawing.controls.makers import DEGRADED, REFERENCE, ControlSlot, KnownItem
from judgments.drawing.draws import rng_for, shuffle
from judgments.drawing.image_captions import CaptionDraw
from judgments.drawing.material import Group, Image, Text, UnitSpec
from judgments.kinds.base import (
    Aggregation,
    Answers,
    Choice,
    MetricComparison,
    Page,
    RelevanceScale,
    Units,
)
from judgments.kinds.consensus import ConsensusColumns
from judgments.kinds.image_caption import ImageCaptionKind
from quorum.statistics.aggregation import relevance_vote
from quorum.statistics.stopping import relevance_range

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


class TwoThirdsMajority(Aggregation):
    """The consensus is "relevant" if at least two thirds say yes (H13). The comparison is exact; there are no ties."""

    rule = "two-thirds"
    supports_early_stopping = True

    def consensus(self, units: Units, values: Answers) -> ConsensusColumns:
        vote = relevance_vote(units, values)
        no_votes = vote.n - vote.yes
        return ConsensusColumns(
            unit=vote.units,
            n=vote.n,
            value=vote.relevant.astype(np.float64),
            share=vote.share,
            margin=np.abs(vote.yes - no_votes) / vote.n,
            tie=np.zeros(len(no_votes), dtype=np.bool_),
            votes=np.column_stack([no_votes, vote.yes]),
            answers=("0", "1"),
            is_integer=True,
        )

    def outcome_range(self, values: Sequence[float], remaining: int) -> tuple[int, int]:
        return relevance_range(yes=values.count(1), no=values.count(0), remaining=remaining)


class Relevance(ImageCaptionKind):
    """Workers judge groups of captions of an image. The answer 1 means that the caption describes the image."""

    name = "relevance"
    wordings = WORDINGS[name]
    wording = wordings[CAPTION]
    title = wording.title
    values = (0, 1)
    grouped = True
    choices = (Choice(0, wording.choices[0]), Choice(1, wording.choices[1]))
    defaults = {"question": wording.question, "seconds_per_unit": 3.0}
    page = Page("annotation/kinds/relevance.html")
    aggregation = TwoThirdsMajority()
    comparison = MetricComparison(cuts=(0.33, 0.66, 1.0))  # shares of yes: one, two or all of three (H13)
    relevance = RelevanceScale(is_relevant=lambda value: value == 1, least_share=2 / 3)
    right_caption_answer, wrong_caption_answer = 1, 0

    def defaults_for(self, study_file: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``defaults`` with small groups filled up, since groups of control items are always full.

        Do not fill up groups if texts and images are crossed, or if ``sampling.only`` names the items.
        """
        sampling = study_file.get("sampling")
        if isinstance(sampling, Mapping) and (sampling.get("pairs_from") == CROSSED or sampling.get("only")):
            return self.defaults
        return {**self.defaults, "filter": {"fill_to": study_file.get("captions_per_image", 10)}}

    def contradictions(self, design: StudyDesign) -> Iterator[str]:
        """Yield a clause if groups may be smaller than those of control items, which workers could then recognise."""
        size, fill_to = design.captions_per_image, design.filter.fill_to
        is_sampled = design.sampling.pairs_from != CROSSED and not design.sampling.only
        if is_sampled and design.controls.per_hit and fill_to < size:
            yield (
                pgettext(
                    "staff",
                    "filter.fill_to is %(fill_to)s, but captions_per_image, the number of texts of a check question, "
                    "is %(size)s. Participants could recognise check questions by their size; expected "
                    "filter.fill_to = %(size)s",
                )
                % {"fill_to": fill_to, "size": size}
            )

    def groups(
        self, design: StudyDesign, draw: CaptionDraw, captions: ImageCaptions
    ) -> list[tuple[UnitSpec, ...]]:
        """Split the judged captions of an image into groups of ``captions_per_image``. Fill up the last group (H13)."""
        rng = rng_for(design.seed, f"captions {captions.image.name}")
        units = self.judged_units(design, captions, rng)
        size = design.captions_per_image
        groups = [units[start : start + size] for start in range(0, len(units), size)]
        lacking_count = min(design.filter.fill_to, size) - len(groups[-1]) if groups else 0
        if lacking_count > 0:
            texts = captions.further_captions(lacking_count, draw.pool, draw.division.judged_images, rng)
            filler_texts = [(text, False) for text in texts]  # False: not judged to audit the filter
            fillers = self.units(design, captions.image, filler_texts, filtered=True)  # only fill the group
            groups[-1] = shuffle(groups[-1] + fillers, rng)
        return [tuple(group) for group in groups]

    def reference_control(self, slot: ControlSlot, image: Image) -> Group:
        """Return a group of control items: one to three captions of the image, and captions of other images."""
        size, rng = slot.design.captions_per_image, slot.rng
        right_count = right_caption_count(image, size, rng)
        captions = shuffle(image.distinct_references, rng)[:right_count]
        foreign_texts = foreign_captions(image, slot.images, size - right_count, rng)
        units = [self.control(slot, image, text, self.right_caption_answer) for text in captions]
        units += [self.control(slot, image, text, self.wrong_caption_answer) for text in foreign_texts]
        return Group(image.name, tuple(shuffle(units, rng)))

    def degraded_control(self, slot: ControlSlot, image: Image) -> Group | None:
        """Return a group of control items: one to three captions of the image, and damaged captions.

        Captions of other images fill up the group. Return None if no caption can be damaged.
        """
        size, rng = slot.design.captions_per_image, slot.rng
        right_count = right_caption_count(image, size, rng)
        captions = shuffle(image.distinct_references, rng)
        damaged_captions: dict[str, Text] = {}
        for caption in captions * size:  # damage each caption several times, with other words
            if len(damaged_captions) == size - right_count:
                break
            text = degraded_text(caption, image, slot.images, slot.rng, replace_all=True)
            if text is not None:
                damaged_captions.setdefault(text.text, text)
        if not damaged_captions:
            return None
        units = [
            self.control(slot, image, text, self.right_caption_answer, DEGRADED)
            for text in captions[:right_count]
        ]
        units += [
            self.control(slot, image, text, self.wrong_caption_answer, DEGRADED)
            for text in damaged_captions.values()
        ]
        units += self._filler_units(slot, image, units)
        return Group(image.name, tuple(shuffle(units, rng)))

    def known_control(self, slot: ControlSlot, items: Sequence[KnownItem]) -> Group:
        units = [self.known_unit(slot, item) for item in items[: slot.design.captions_per_image]]
        units += self._filler_units(slot, items[0].image, units)
        return Group(items[0].image.name, tuple(shuffle(units, slot.rng)))

    def _filler_units(self, slot: ControlSlot, image: Image, units: Sequence[UnitSpec]) -> list[UnitSpec]:
        """Return captions of other images that fill up a group of control items. A short group could be recognised."""
        used_texts = {unit.first.text for unit in units if unit.first is not None}
        lacking_count = slot.design.captions_per_image - len(units)
        candidates = foreign_captions(image, slot.images, lacking_count + len(used_texts), slot.rng)
        fillers = [text for text in candidates if text.text not in used_texts][:lacking_count]
        return [self.control(slot, image, text, self.wrong_caption_answer, REFERENCE) for text in fillers]
