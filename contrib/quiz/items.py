"""Draw the known items of a quiz when a study is generated, from images that occur nowhere else in the study.

A known item is an item of the study's kind whose right answer is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from django.utils.translation import gettext

from common.errors import DesignError
from judgments.design.study_design import StudyDesign
from judgments.drawing.controls.makers import ControlSlot
from judgments.drawing.draws import rng_for, shuffle
from judgments.drawing.material import Group, Image, Material
from judgments.kinds import KINDS

MIN_IMAGES = 2  # a wrong caption comes from another image
QUIZ = "quiz"  # the control kind of the units


@dataclass(frozen=True, slots=True)
class QuizDivision:
    """A dataset that is divided for a quiz.

    Attributes:
        remaining_material: the dataset without the images of the quiz.
        images: the images of the quiz; no judged item or control item is about them.
        other_images: images whose captions are wrong answers in the quiz.
    """

    remaining_material: Material
    images: tuple[Image, ...]
    other_images: tuple[Image, ...]


def divide_for_quiz_items(design: StudyDesign, material: Material) -> QuizDivision:
    """Draw the images of the quiz from the control split: enough for all attempts of a worker, if there are so many.

    Enough images for the control items of a HIT are left. Without a split for controls, the quiz takes at most half
    of the images.

    Raises:
        DesignError: there are too few images for an attempt.
    """
    items = design.quiz.items
    split, per_hit = design.controls.split, design.controls.per_hit
    has_splits = material.has_splits
    # otherwise control items are about images of the judged split
    has_control_split = has_splits and split != design.sampling.split
    split_images = [image for image in material.images if image.split == split or not has_splits]
    makers = KINDS[design.protocol].for_design(design).control_items(design)
    usable_images = [image for image in split_images if makers.quiz_usable(image)]
    usable_count = len(usable_images)
    if not has_control_split:
        reserved_count = usable_count - usable_count // 2  # the quiz takes at most half
    elif per_hit:
        reserved_count = max(MIN_IMAGES, per_hit)  # for the control items of a HIT
    else:
        reserved_count = 0
    available_count = usable_count - reserved_count
    if available_count < items or usable_count < MIN_IMAGES:
        raise DesignError(
            gettext(
                "quiz.items is %(items)s, but the control split %(split)r has too few suitable items (%(n)s), and the "
                "check questions of the study need %(kept)s of them."
            )
            % {"items": items, "split": split, "n": usable_count, "kept": reserved_count},
            field="quiz.items",
        )
    wanted_count = min(max(items * design.quiz.attempts, MIN_IMAGES), available_count)
    images = tuple(shuffle(usable_images, rng_for(design.seed, "quiz images"))[:wanted_count])
    names = {image.name for image in images}
    remainder = replace(
        material,
        images=tuple(image for image in material.images if image.name not in names),
        published_pairs=tuple(pair for pair in material.published_pairs if pair.image not in names),
    )
    # Without a control split, the images outside the quiz are judged. So their captions are not shown in the quiz.
    return QuizDivision(
        remaining_material=remainder,
        images=images,
        other_images=tuple(split_images) if has_control_split else images,
    )


def make_quiz_groups(design: StudyDesign, division: QuizDivision) -> tuple[Group, ...]:
    """Return the known items of the quiz, grouped by image. Raise DesignError if the kind has no known items."""
    kind, rng = KINDS[design.protocol].for_design(design), rng_for(design.seed, "quiz")
    make_control = kind.control_items(design).reference  # an item with a reference as the right answer
    if make_control is None:
        raise DesignError(
            gettext(
                "quiz.items is %(items)s, but protocol %(protocol)r has no items with a right answer; ask questions "
                "instead."
            )
            % {"items": design.quiz.items, "protocol": design.protocol},
            field="quiz.items",
        )
    groups = []
    for index, image in enumerate(division.images):
        group = make_control(ControlSlot(design, f"quiz.{index}", division.other_images, rng), image)
        units = tuple(replace(unit, control=True, control_kind=QUIZ) for unit in group.units)
        groups.append(Group(group.image, units))
    return tuple(groups)


def divide_for_items(
    design: StudyDesign, material: Material
) -> tuple[Material, Callable[[], tuple[Group, ...]]]:
    """Return the material without the images of the quiz, and a function that makes its items after the judged ones."""
    division = divide_for_quiz_items(design, material)

    def make_groups() -> tuple[Group, ...]:
        return make_quiz_groups(design, division)

    return division.remaining_material, make_groups
