"""Filter the captions of images by Bleu-pre (Hodosh et al. 2013, H13).

Bleu-pre of a caption is the share of its words that a reference of the image has. Only captions that reach a threshold
are judged, and a random sample of the others, to audit the filter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from django.utils.translation import gettext

from common.errors import DesignError
from judgments.drawing.controls.captions import foreign_captions
from judgments.drawing.draws import rng_for, shuffle
from judgments.drawing.material import Image, Text

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


Flags = npt.NDArray[np.bool_]


def passes_filter(
    captions: Sequence[Sequence[Text]], references: Sequence[Sequence[str]], *, threshold: float, order: str
) -> Flags:
    """Return whether each caption reaches the threshold of Bleu-pre (H13: 0.25), by image.

    Scores are compared exactly, as integers, since thousands of pairs score exactly 1/4 or 1/3.

    Args:
        order: the key ``filter.order`` of the design, which says how words are prepared.

    Returns:
        Flags (N,) of all N captions, image by image.
    """
    # Imported lazily: the metrics load a compiler that workers' pages never need.
    from quorum.metrics import bleu_pre_pairs

    number_by_text: dict[str, int] = {}  # distinct texts are numbered, so that each is prepared only once
    # by the id() of the list of texts, since all images share one list if ``sampling.pairs_from`` is "crossed"
    numbers_by_list: dict[int, npt.NDArray[np.int64]] = {}
    for texts in captions:
        if id(texts) not in numbers_by_list:
            text_numbers = [number_by_text.setdefault(text.text, len(number_by_text)) for text in texts]
            numbers_by_list[id(texts)] = np.array(text_numbers, dtype=np.int64)
    text_numbers_by_image = [numbers_by_list[id(texts)] for texts in captions]
    # for each caption, the number of its words that are in a reference; for each distinct text, its number of words
    matching_counts, word_counts_by_text = bleu_pre_pairs(
        list(number_by_text), references, text_numbers_by_image, order=order
    )
    word_counts = word_counts_by_text[np.concatenate(text_numbers_by_image)]
    limit = Fraction(str(threshold)).limit_denominator(10_000)  # 1/3 for 0.33333333
    # matching / words >= numerator / denominator
    reaches_limit: Flags = matching_counts * limit.denominator >= word_counts * limit.numerator
    return reaches_limit & (word_counts > 0)


@dataclass(frozen=True, slots=True)
class ImageCaptions:
    """The captions drawn for an image.

    Attributes:
        texts: n distinct texts.
        passes_filter: flags (n,): whether the filter passes each text; all true without a filter.
        is_audited: flags (n,): whether a text that the filter removed is judged to audit the filter.
    """

    image: Image
    texts: Sequence[Text]
    passes_filter: Flags
    is_audited: Flags

    def judged_texts(
        self, rng: np.random.Generator, audit_rng: np.random.Generator
    ) -> list[tuple[Text, bool]]:
        """Return the judged texts in random order, each with a flag whether it is judged to audit the filter.

        The stream ``audit_rng`` draws the positions of the audited texts, so that the order of the others does not
        depend on them.
        """
        indices = shuffle(np.flatnonzero(self.passes_filter).tolist(), rng)
        for index in shuffle(np.flatnonzero(self.is_audited).tolist(), audit_rng):
            indices.insert(int(audit_rng.integers(len(indices) + 1)), index)
        return [(self.texts[index], bool(self.is_audited[index])) for index in indices]

    def further_captions(
        self, count: int, pool: Sequence[Text], images: Sequence[Image], rng: np.random.Generator
    ) -> list[Text]:
        """Return up to ``count`` further texts, to fill up a group of captions of the image.

        Draw first from the image's texts that are not judged, then from ``pool``, the texts of all images, and then
        from the references of ``images``.
        """
        unjudged_indices = np.flatnonzero(~(self.passes_filter | self.is_audited)).tolist()
        fillers = [self.texts[index] for index in shuffle(unjudged_indices, rng)[:count]]
        # If ``sampling.pairs_from`` is "crossed", all images have the texts of the pool, and are shown with no others.
        if len(fillers) == count or self.texts is pool:
            return fillers
        excluded_texts = {text.text for text in self.texts}
        # enough texts, even if all of the excluded ones are drawn
        sample_size = min(len(pool), len(excluded_texts) + count)
        for index in rng.choice(len(pool), size=sample_size, replace=False).tolist():
            if len(fillers) == count:
                break
            if pool[index].text not in excluded_texts:
                fillers.append(pool[index])
        if len(fillers) < count:
            excluded_texts.update(text.text for text in fillers)
            missing_count = count - len(fillers)
            foreign_texts = foreign_captions(self.image, images, missing_count + len(excluded_texts), rng)
            new_texts = [text for text in foreign_texts if text.text not in excluded_texts]
            fillers += new_texts[:missing_count]
        return fillers


def apply_filter(
    design: StudyDesign, drawn_texts: Sequence[tuple[Image, Sequence[Text]]]
) -> list[ImageCaptions]:
    """Filter the texts drawn for images by the design, and draw those that audit the filter.

    Raises:
        DesignError: the design filters texts, and an image has no reference.
    """
    lengths = [len(texts) for _, texts in drawn_texts]
    if design.filter.bleu_pre > 0:
        image_without_reference = next((image.name for image, _ in drawn_texts if not image.references), None)
        if image_without_reference is not None:
            raise DesignError(
                gettext(
                    "filter.bleu_pre is %(bleu_pre)s, so texts are compared with references, but "
                    "item %(bare)r has no reference; expected filter.bleu_pre = 0."
                )
                % {"bleu_pre": design.filter.bleu_pre, "bare": image_without_reference},
                field="filter.bleu_pre",
            )
        passes = passes_filter(
            [texts for _, texts in drawn_texts],
            [[text.text for text in image.references] for image, _ in drawn_texts],
            threshold=design.filter.bleu_pre,
            order=design.filter.order,
        )
    else:
        passes = np.ones(sum(lengths), dtype=bool)
    is_audited = np.zeros(sum(lengths), dtype=bool)
    if design.filter.audit:
        removed_indices = np.flatnonzero(~passes)
        is_audited[rng_for(design.seed, "audit").permutation(removed_indices)[: design.filter.audit]] = True
    ends = np.cumsum(lengths)[:-1]  # the flags of all images are in one array
    flags_by_image = zip(np.split(passes, ends), np.split(is_audited, ends), strict=True)
    return [
        ImageCaptions(image, texts, passes_filter=pass_flags, is_audited=audit_flags)
        for (image, texts), (pass_flags, audit_flags) in zip(drawn_texts, flags_by_image, strict=True)
    ]
