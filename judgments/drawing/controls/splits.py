"""Divide the images of a dataset into images to judge and images for control items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext

from common.errors import DesignError
from judgments.drawing.controls.makers import SPLIT_CONTROLS
from judgments.drawing.draws import rng_for, shuffle
from judgments.drawing.material import Division, Material

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


def needs_split(design: StudyDesign) -> bool:
    """Return whether some of the design's control items are made from images that are not judged."""
    return bool(design.controls.per_hit) and bool(set(design.controls.kinds) & set(SPLIT_CONTROLS))


def divide_images(design: StudyDesign, material: Material) -> Division:
    """Return the images to judge and the images for control items, as the design's splits say.

    If both splits are the same, or the dataset has no splits, draw a tenth of the images, and at least two, for control
    items. Draw none if the design needs no images for control items (``needs_split``).
    """
    judged_split, control_split, images = design.sampling.split, design.controls.split, material.images
    if material.has_splits and judged_split != control_split:
        return Division(
            judged_images=tuple(image for image in images if image.split == judged_split),
            control_images=tuple(image for image in images if image.split == control_split),
        )
    if material.has_splits:
        images = tuple(image for image in images if image.split == judged_split)
    if not needs_split(design):
        return Division(judged_images=images, control_images=())
    control_count = max(2, len(images) // 10)
    names = {image.name for image in shuffle(images, rng_for(design.seed, "control split"))[:control_count]}
    return Division(
        judged_images=tuple(image for image in images if image.name not in names),
        control_images=tuple(image for image in images if image.name in names),
    )


def check_split(design: StudyDesign, material: Material) -> None:
    """Raise DesignError if the dataset has no image of the judged split."""
    splits = {image.split for image in material.images}
    split_names = sorted(splits - {""})
    if split_names and design.sampling.split not in splits:
        raise DesignError(
            gettext("Dataset %(name)r has no split %(split)r; expected %(listed)s.")
            % {"name": material.name, "split": design.sampling.split, "listed": " or ".join(split_names)},
            field="sampling.split",
        )
