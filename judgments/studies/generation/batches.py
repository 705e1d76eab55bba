"""Draw the batch of a study, its HITs and their units, from its dataset, without storing it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from django.utils.translation import gettext, ngettext

from common.amounts import thousands
from common.errors import DesignError
from common.features import of_features
from common.rows.loads import many_objects
from judgments.design.quiz import why_quiz_is_off
from judgments.design.requirements import why_nobody_may_qualify
from judgments.design.study_design import StudyDesign
from judgments.design.tables.sampling import CROSSED
from judgments.drawing.by_hand import apply_by_hand
from judgments.drawing.material import Batch, Group, HITSpec, Image, Material
from judgments.kinds import KINDS
from judgments.models import Dataset, Study, Unit
from judgments.studies.generation.material import load_material

MAX_RANK = 2**31 - 1  # the largest rank that the database can store, to read all ranks


def draw_hits_of_row(design: StudyDesign, cells: Mapping[str, str]) -> tuple[HITSpec, ...]:
    """Draw the HITs of a preview from a single row of inputs, without a dataset."""
    image = Image(name="row-1", split="", references=(), fields=tuple(cells.items()))
    kind = KINDS[design.protocol].for_design(design)
    return kind.draw_batch(design, Material(design.dataset, (image,))).hits


def divide_for_quiz(
    design: StudyDesign, material: Material
) -> tuple[Material, Callable[[], tuple[Group, ...]]]:
    """Reserve images for the quiz.

    Return the material without these images, and a function that makes the quiz items from them.

    Raises:
        DesignError: the feature for quizzes is off, or the material has too few items.
    """
    if not design.quiz.items:
        return material, tuple  # tuple() makes no items
    if reason := why_quiz_is_off(design.quiz):
        raise DesignError(reason, field="quiz.items")
    [divide] = of_features("quiz_items")  # exactly one, since the feature for quizzes is on
    return divide(design, material)


@many_objects()  # without the cyclic garbage collector, for speed
def build_batch(design: StudyDesign, dataset: Dataset, *, maker: int | None = None) -> Batch:
    """Draw the batch of a study, with the changes to single items that its author made by hand.

    Args:
        maker: row id of the study's author, who may use unpublished systems of their own; None for a command.

    Raises:
        DesignError: the dataset cannot supply the batch.
    """
    material = load_material(dataset, max_rank=_max_rank(design), maker=maker)
    if design.sampling.not_in:
        material = _without_items_of(design.sampling.not_in, material, dataset)
    _check_examples(design, material)
    work_material, make_quiz = divide_for_quiz(design, material)
    kind = KINDS[design.protocol].for_design(design)
    batch = apply_by_hand(kind.draw_batch(design, work_material), design, work_material, kind)
    notes = dict(batch.notes)
    if warning := why_nobody_may_qualify(design.workers, design.crowd.backend):
        notes["sentences"] = [*notes.get("sentences", []), warning]
    quiz = make_quiz()
    _check_sources(design, material, batch, quiz)
    if quiz:
        notes["quiz_items"] = sum(len(group.units) for group in quiz)
    return replace(batch, quiz=quiz, notes=notes)


def _max_rank(design: StudyDesign) -> int | None:
    """Return the last rank to read of systems' ranked lists (``load_material``); None reads no lists."""
    if not KINDS[design.protocol].judges_one_caption:
        return None
    if design.sampling.pairs_from == "top-k":
        return design.sampling.k
    # CROSSED asks for each text with each image; its systems are all that ranked the text for the image
    return MAX_RANK if design.sampling.pairs_from == CROSSED else None


def _without_items_of(studies: Collection[str], material: Material, dataset: Dataset) -> Material:
    """Return the material without the items that other studies of the dataset judged.

    Raises:
        DesignError: one of the names is not a study of the dataset.
    """
    known_slugs = set(Study.objects.filter(dataset=dataset, slug__in=studies).values_list("slug", flat=True))
    for slug in studies:
        if slug not in known_slugs:
            raise DesignError(
                gettext(
                    "sampling.not_in names study %(slug)r, but there is no study with this "
                    "name that uses dataset %(name)r."
                )
                % {"slug": slug, "name": dataset.name},
                field="sampling.not_in",
            )
    units = Unit.objects.filter(study__slug__in=known_slugs, control=False)
    judged_items = set(units.order_by().values_list("item__name", flat=True).distinct())
    return replace(
        material,
        images=tuple(image for image in material.images if image.name not in judged_items),
        published_pairs=tuple(pair for pair in material.published_pairs if pair.image not in judged_items),
    )


def _check_examples(design: StudyDesign, material: Material) -> None:
    """Raise DesignError if an example of the instructions names an item that the dataset lacks."""
    item_names = {image.name for image in material.images}
    for number, example in enumerate(design.examples, start=1):
        if example.image and example.image not in item_names:
            raise DesignError(
                gettext(
                    "examples: example %(number)s names item %(image)r, but dataset %(name)r has no such item."
                )
                % {"number": number, "image": example.image, "name": material.name},
                field="examples",
            )


def _check_sources(design: StudyDesign, material: Material, batch: Batch, quiz: Sequence[Group]) -> None:
    """Raise DesignError if the design shows source texts, and an item that is shown has none."""
    if not design.source.show:
        return
    shown_images = {unit.image for unit in (*batch.hit_units(), *batch.pool)}  # pool: an arena's units
    shown_images |= {group.image for group in quiz}
    textless_items = [
        image.name for image in material.images if image.name in shown_images and not image.text.strip()
    ]
    if textless_items:
        more_count = len(textless_items) - 1
        further_items = ngettext(
            " (and one more item has no text)", " (and %(n)s more items have no text)", more_count
        ) % {"n": thousands(more_count)}
        rest_of_sentence = further_items if more_count else ""
        raise DesignError(
            gettext(
                "source.show is true, but item %(lacking)r of dataset %(name)r has no source "
                "text%(others)s; expected a text in the column “text” for each item that is shown."
            )
            % {"lacking": textless_items[0], "name": material.name, "others": rest_of_sentence},
            field="source.show",
        )
