"""Screens that show two texts of an item side by side, if the design's setting ``spans.contrastive`` is true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.utils.translation import pgettext

from common.errors import DesignError
from judgments.design.study_design import StudyDesign
from judgments.drawing.keys import content_key
from judgments.drawing.material import SCREEN, HITSpec, UnitSpec, screen_of

TEXTS_PER_SCREEN = 2


def join_on_screen(units: Sequence[UnitSpec]) -> tuple[UnitSpec, ...]:
    """Put two units on one screen. A single unit is returned unchanged."""
    if len(units) < TEXTS_PER_SCREEN:
        return tuple(units)
    screen_key = content_key(SCREEN, *(unit.key for unit in units))
    return tuple(replace(unit, content={**unit.content, SCREEN: screen_key}) for unit in units)


def with_control_screens(design: StudyDesign) -> StudyDesign:
    """Return the design with its number of check questions counted in screens instead of texts."""
    screens = design.controls.per_hit // TEXTS_PER_SCREEN
    return design.model_copy(update={"controls": design.controls.model_copy(update={"per_hit": screens})})


def screen_count(hit: HITSpec) -> int:
    """Return the number of screens of a page of work. A text that is shown alone has a screen of its own."""
    return len({screen_of(unit) or unit.key for unit in hit.units})


def describe_screens(design: StudyDesign, hits: Sequence[HITSpec]) -> list[str]:
    """Return sentences about the screens of a generated study. Raise DesignError if no screen has two texts."""
    units = [unit for hit in hits for unit in hit.units if not unit.control]
    single_count = sum(screen_of(unit) is None for unit in units)
    if single_count == len(units):
        raise DesignError(
            pgettext(
                "staff",
                "spans.contrastive is true, but no item has two texts that can be shown side by "
                "side; expected texts of at least two systems.",
            ),
            field="spans.contrastive",
        )
    short_count = sum(len(hit.units) < design.units_per_hit for hit in hits)
    sentences = [f"Screens with two texts side by side: {(len(units) - single_count) // TEXTS_PER_SCREEN:,}."]
    if single_count:
        sentences.append(
            f"Texts alone on their screen, as no other of their item was left: {single_count:,}."
        )
    if short_count:
        sentences.append(
            f"Pages with fewer texts than units_per_hit, as an item stands on a page once: {short_count:,}."
        )
    return sentences
