"""Known items for a quiz: images set aside before anything else is drawn, and items of the study's kind made of them.

Pure functions. A study without such items is drawn as if this module were not there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from common.errors import DesignError
from judgments.drawing.draws import rng_for, shuffled
from judgments.drawing.material import Group, Image, Material
from judgments.kinds import KINDS

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign

LEAST_IMAGES = 2  # a wrong caption is one of another image
QUIZ = "quiz"


@dataclass(frozen=True, slots=True)
class SetAside:
    """A dataset parted for a quiz.

    Attributes:
        rest: what the study is drawn from.
        images: those of the quiz; no judged and no control item is about them.
        others: whose captions may stand as wrong answers in the quiz.
    """

    rest: Material
    images: tuple[Image, ...]
    others: tuple[Image, ...]


def set_aside(design: StudyDesign, material: Material) -> SetAside:
    """The images of the quiz, drawn with the seed from the split of control items: as many as all attempts together
    ask about where there are so many, and at least as many as one does.

    Control items keep enough images for a page of work. Where no split is the control items' own, the quiz takes half
    of the images at most.

    Raises:
        DesignError: the split has too few images that can give an item.
    """
    items = design.quiz.items
    if not items:
        return SetAside(rest=material, images=(), others=())
    split, per_hit = design.controls.split, design.controls.per_hit
    own_split = material.has_splits and split != design.sampling.split
    pool = [image for image in material.images if image.split == split or not material.has_splits]
    usable = [image for image in pool if KINDS[design.protocol].quiz_usable(image)]
    kept = (max(2, per_hit) if per_hit else 0) if own_split else len(usable) - len(usable) // 2
    most = len(usable) - kept
    if most < items or len(usable) < LEAST_IMAGES:
        raise DesignError(
            f"quiz.items asks for {items} known items, but the control split {split!r} has {len(usable)} images that "
            f"can give one, of which the study itself keeps {kept}.",
            field="quiz.items",
        )
    wanted = min(max(items * design.quiz.attempts, LEAST_IMAGES), most)
    images = tuple(shuffled(usable, rng_for(design.seed, "quiz images"))[:wanted])
    names = {image.name for image in images}
    rest = replace(
        material,
        images=tuple(image for image in material.images if image.name not in names),
        published=tuple(pair for pair in material.published if pair.image not in names),
    )
    return SetAside(rest=rest, images=images, others=tuple(pool) if own_split else images)


def quiz_groups(design: StudyDesign, aside: SetAside) -> tuple[Group, ...]:
    """A known item, or a group of them, for each image of the quiz.

    Raises:
        DesignError: the protocol has no items whose answer is known.
    """
    kind, rng = KINDS[design.protocol], rng_for(design.seed, "quiz")
    groups = []
    for index, image in enumerate(aside.images):
        group = kind.quiz_group(design, f"quiz.{index}", image, aside.others, rng)
        if group is None:
            raise DesignError(
                f"quiz.items is {design.quiz.items}, but protocol {kind.name!r} has no items whose answer is known; "
                "ask questions instead.",
                field="quiz.items",
            )
        units = tuple(replace(unit, control=True, control_kind=QUIZ) for unit in group.units)
        groups.append(Group(group.image, units))
    return tuple(groups)
