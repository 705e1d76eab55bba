"""Draw the pairs of image and caption that a study asks about.

The design says from where the captions come (``sampling.pairs_from``): all captions of systems for all images, each
system's outputs for the image, the first captions of ranked lists, references, or a list in the design. H13 is Hodosh
et al. 2013, whose section 4.3.2 judges the first captions of ranked lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from django.utils.translation import gettext

from common.errors import DesignError
from common.texts import one_text
from judgments.design.tables.sampling import CROSSED
from judgments.drawing.caption_filter import ImageCaptions, apply_filter
from judgments.drawing.controls.captions import foreign_captions
from judgments.drawing.controls.splits import divide_images
from judgments.drawing.draws import draw_images, rng_for
from judgments.drawing.material import Division, Image, Material, Text
from judgments.drawing.pairs.drawing import missing_ids_error

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


# Number of random images that are searched first for each foil. If they have too few captions, all images are searched.
IMAGES_PER_FOIL = 8

DrawnTexts = Iterator[tuple[Image, list[Text]]]  # images with the texts that are judged for them


@dataclass(frozen=True, slots=True)
class CaptionDraw:
    """The image-caption pairs of a study.

    Attributes:
        division: the images that are judged, and those for control items.
        images: the captions drawn for each judged image.
        pool: the distinct texts drawn for all images, before the filter.
        pair_count: number of pairs before the filter.
    """

    division: Division
    images: Sequence[ImageCaptions]
    pool: Sequence[Text]
    pair_count: int

    @property
    def notes(self) -> dict[str, Any]:
        """Counts for ``Batch.notes``: pairs before and after the filter, and removed pairs judged to audit it."""
        audited_count = sum(int(captions.is_audited.sum()) for captions in self.images)
        return {
            "candidate_pairs": self.pair_count,
            "passed_filter": sum(int(captions.passes_filter.sum()) for captions in self.images),
            **({"audited": audited_count} if audited_count else {}),
        }


def draw_captions(
    design: StudyDesign, material: Material, unit_keys: Callable[[Image, Sequence[Text]], list[str]]
) -> CaptionDraw:
    """Draw the image-caption pairs of a design.

    Args:
        unit_keys: returns the keys of the units about an image's texts, which ``sampling.only`` names.

    Raises:
        DesignError: the dataset cannot supply the pairs.
    """
    division = divide_images(design, material)
    image_count, rng = design.sampling.images, rng_for(design.seed, "images")
    if design.sampling.pairs_from == CROSSED:
        pool: Sequence[Text] = _texts_of_systems(division.judged_images)
        drawn_images = [(image, pool) for image in draw_images(division.judged_images, image_count, rng)]
    else:
        draw_texts = _SOURCES[design.sampling.pairs_from]
        texts_by_image = {image.name: texts for image, texts in draw_texts(design, material, division)}
        images = [image for image in division.judged_images if texts_by_image.get(image.name)]
        pool = _distinct_texts(text for image in images for text in texts_by_image[image.name])
        sample_phrase = f" with texts to be judged (sampling.pairs_from is {design.sampling.pairs_from!r})"
        sample = draw_images(images, image_count, rng, sample_phrase=sample_phrase)
        drawn_images = [(image, texts_by_image[image.name]) for image in sample]
    if not pool:
        raise _no_captions_error(design, material)
    captions = apply_filter(design, drawn_images)
    pair_count = sum(len(texts) for _, texts in drawn_images)
    if design.sampling.only:
        captions = _select_by_id(design.sampling.only, captions, unit_keys)
    return CaptionDraw(division, captions, pool, pair_count)


def _distinct_texts(texts: Iterable[Text]) -> list[Text]:
    """Return the first text of each wording, in the order of the last texts of the wordings.

    This order must not change, since random draws depend on it.
    """
    # of equal keys, a dict keeps the place of the first and the value of the last; here, the order is reversed
    return list({text.text: text for text in reversed(list(texts))}.values())[::-1]


def _texts_of_systems(images: Sequence[Image]) -> list[Text]:
    """Return the first text of each wording among the outputs for the images."""
    texts: dict[str, Text] = {}
    for image in images:
        for _, text in image.outputs:
            texts.setdefault(text.text, text)
    return list(texts.values())


# The following functions are members of ``_SOURCES``, so they have the same parameters.
def _outputs(design: StudyDesign, material: Material, division: Division) -> DrawnTexts:
    for image in division.judged_images:
        yield image, _distinct_texts(text for _, text in image.outputs)


def _top_captions(design: StudyDesign, material: Material, division: Division) -> DrawnTexts:
    """Yield, for each image, the captions that any ranked list pairs with it among the first k (H13).

    A list has captions for an image or, if the task is search, images for a caption.
    """
    k, task = design.sampling.k, design.sampling.task
    for image in division.judged_images:
        texts: list[Text] = []
        if task != "search":
            for _, outputs in groupby(image.outputs, key=lambda output: output[0]):  # by system
                texts += [text for _, text in outputs][:k]
        if task != "annotation":
            texts += [text for _, text, rank in image.retrievals if rank <= k]
        yield image, _distinct_texts(texts)


def _references(design: StudyDesign, material: Material, division: Division) -> DrawnTexts:
    """Draw references of each image, and captions of other images as foils."""
    reference_count, foil_count = design.sampling.references, design.sampling.foils
    images = division.judged_images
    for image in images:
        rng = rng_for(design.seed, f"references of {image.name}")
        references = _distinct_texts(image.references)
        if reference_count != "all":
            indices = sorted(rng.permutation(len(references))[: int(reference_count)].tolist())
            references = [references[index] for index in indices]
        # A sample of the images usually suffices; scanning all of them for each image is slow.
        sample = rng.choice(len(images), size=min(len(images), IMAGES_PER_FOIL * foil_count), replace=False)
        foil_texts = foreign_captions(image, [images[index] for index in sample.tolist()], foil_count, rng)
        if len(foil_texts) < foil_count:
            foil_texts = foreign_captions(image, images, foil_count, rng)
        yield image, references + foil_texts


def _listed_texts(design: StudyDesign, material: Material, division: Division) -> DrawnTexts:
    """Yield the texts that ``sampling.listed`` names for each image, by their ids or wordings."""
    text_by_key: dict[str, Text] = {}
    text_by_wording: dict[str, Text] = {}
    for image in material.images:
        for text in (
            *image.references,
            *(text for _, text in image.outputs),
            *(text for _, text, _ in image.retrievals),
        ):
            text_by_key.setdefault(text.key, text)
            text_by_wording.setdefault(one_text(text.text), text)
    judged_images = {image.name: image for image in division.judged_images}
    texts_by_image: dict[str, list[Text]] = {}
    for number, (name, caption) in enumerate(design.sampling.listed, start=1):
        if name not in judged_images:
            raise DesignError(
                gettext(
                    "sampling.listed: pair %(number)s names item %(name)r, but this item is not judged. The "
                    "item must be in dataset %(name2)r and split %(split)r, and it must not be reserved for "
                    "check questions."
                )
                % {"number": number, "name": name, "name2": material.name, "split": design.sampling.split},
                field="sampling.listed",
            )
        listed_text = text_by_key.get(caption) or text_by_wording.get(one_text(caption))
        if listed_text is None:
            raise DesignError(
                gettext(
                    "sampling.listed: pair %(number)s names text %(caption)r, but dataset "
                    "%(name)r has no text with this id or wording."
                )
                % {"number": number, "caption": caption[:80], "name": material.name},
                field="sampling.listed",
            )
        texts_by_image.setdefault(name, []).append(listed_text)
    for name, texts in texts_by_image.items():
        yield judged_images[name], _distinct_texts(texts)


# The functions that draw texts, by the values of ``sampling.pairs_from``.
_SOURCES = {"outputs": _outputs, "top-k": _top_captions, "references": _references, "list": _listed_texts}


def _no_captions_error(design: StudyDesign, material: Material) -> DesignError:
    name, split = material.name, design.sampling.split
    if design.sampling.pairs_from == "references":
        return DesignError(
            gettext("no item of split %(split)r of dataset %(name)r has a reference.")
            % {"split": split, "name": name},
            field="sampling.pairs_from",
        )
    if design.sampling.pairs_from == "top-k" and design.sampling.task == "search":
        return DesignError(
            gettext(
                "no ranking of dataset %(name)r has an item of split %(split)r up to rank %(k)s; import rankings with "
                "--task search first."
            )
            % {"name": name, "split": split, "k": design.sampling.k},
            field="sampling.task",
        )
    return DesignError(
        gettext(
            "dataset %(name)r has no text of a system for an item of split %(split)r; import candidates first."
        )
        % {"name": name, "split": split},
        field="sampling.split",
    )


def _select_by_id(
    ids: Sequence[str],
    captions: Sequence[ImageCaptions],
    unit_keys: Callable[[Image, Sequence[Text]], list[str]],
) -> list[ImageCaptions]:
    """Return the captions of images, of which only those texts are judged whose units have one of the ids.

    Raises:
        DesignError: no unit has one of the ids.
    """
    missing_ids = set(ids)  # those that no unit had so far; each unit has another id
    selected_captions = []
    for image_captions in captions:
        keys = unit_keys(image_captions.image, image_captions.texts)
        is_selected = np.array([key in missing_ids for key in keys], dtype=bool)
        missing_ids.difference_update(keys)
        selected_captions.append(
            replace(
                image_captions,
                passes_filter=image_captions.passes_filter & is_selected,
                is_audited=image_captions.is_audited & is_selected,
            )
        )
    if missing_ids:
        raise missing_ids_error(missing_ids)
    return selected_captions
