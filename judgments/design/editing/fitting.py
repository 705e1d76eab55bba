"""Fit a new design to the contents of its dataset, so that it does not start with an error."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.utils.translation import gettext, gettext_noop

from judgments.design.editing.fitter import DatasetReader, DesignFitter
from judgments.design.reading.presets import PRESETS
from judgments.drawing.controls.makers import SPLIT_CONTROLS
from judgments.kinds import KINDS
from judgments.models import Dataset

CHECKS_PER_PAGE = 2
# for each item that is left out for check questions, at least this many items are there
ITEMS_PER_RESERVED = 10
# the possible answers to a ChecksQuestion
RESERVE = "reserve"  # check questions are made from items that are then not judged
REPEAT = "repeat"  # check questions repeat judged items
OMIT = "omit"  # there are no check questions
TOO_FEW_TEXTS = {
    REPEAT: gettext_noop(
        "Check questions are repeated items, because the dataset has too few texts for other "
        "kinds of check questions."
    ),
    OMIT: gettext_noop("There are no check questions, because the dataset has too few texts for them."),
}


@dataclass(frozen=True, slots=True)
class ChecksQuestion:
    """A question for the designer: may check questions use items that would otherwise be judged?

    Attributes:
        proposed_answer: the proposed answer, a value of the argument ``checks_answer`` of `fit_to_dataset`.
        choices: the other possible answers.
        lost_items: number of items that would not be judged if items were reserved for check questions.
        judged_items: number of items that can be judged without check questions.
    """

    proposed_answer: str
    choices: tuple[str, ...]
    lost_items: int
    judged_items: int


class FittedDesign(NamedTuple):
    """A design fitted to its dataset, sentences about the changes, and a question for the designer or None."""

    values: dict[str, Any]
    sentences: list[str]
    question: ChecksQuestion | None = None


def fit_to_dataset(
    values: dict[str, Any],
    dataset: Dataset,
    *,
    maker: int | None,
    is_unchanged_preset: bool = False,
    checks_answer: str = "",
) -> FittedDesign:
    """Fit a design to its dataset.

    By default, items are reserved for check questions only if a tenth of the items suffices. Otherwise, check questions
    repeat items or, if this is impossible, there are none.

    Args:
        values: a complete design; name and slug may be empty.
        maker: row id of the study's author. Unpublished systems of others are not used.
        is_unchanged_preset: whether the values are those of a preset. If its paper does not state a number of check
            questions (``Preset.ours``), some are added if they suffice to distinguish careful answers from guesses.
        checks_answer: RESERVE, REPEAT or OMIT, as chosen by a person; "" to propose one.
    """
    reader = DatasetReader(dataset, maker)
    preset = (
        PRESETS.get(values["preset"]) if is_unchanged_preset and not values["controls"]["per_hit"] else None
    )
    if preset and "controls.per_hit" in preset.ours and KINDS[values["protocol"]].compares_pairs:
        controls = values["controls"] | {"per_hit": CHECKS_PER_PAGE}
        checking_fitter = DesignFitter(values | {"controls": controls}, reader)
        if checking_fitter.has_enough_checks():
            note = gettext("Check questions on each page of work: %(n)s. The paper does not give a number.")
            checking_fitter.sentences.append(note % {"n": CHECKS_PER_PAGE})
            return _choose_controls(checking_fitter, values, reader, checks_answer)
    return _choose_controls(DesignFitter(values, reader), values, reader, checks_answer)


def _choose_controls(
    reserve_fitter: DesignFitter, values: dict[str, Any], reader: DatasetReader, checks_answer: str
) -> FittedDesign:
    """Return the design that reserves items for check questions, that repeats items, or that has no check questions.

    The designer's choice decides. Without a choice, items are reserved only if few suffice.

    Args:
        reserve_fitter: the fitted design that reserves items for check questions.
        values: the design before it is fitted.
    """
    controls = reserve_fitter.values["controls"]
    # only check questions of SPLIT_CONTROLS are made from items that are then not judged
    if not reserve_fitter.checks_per_page or not set(controls["kinds"]) & set(SPLIT_CONTROLS):
        return FittedDesign(reserve_fitter.values, reserve_fitter.sentences)
    # ``checks_per_page`` are wanted; ``per_hit`` are those for which the dataset has enough texts, perhaps none
    omit_fitter = DesignFitter(values, reader, per_hit=0)
    lost_items = omit_fitter.item_count - reserve_fitter.item_count
    if controls["per_hit"] and lost_items <= 0:
        return FittedDesign(reserve_fitter.values, reserve_fitter.sentences)
    is_grouped = KINDS[reserve_fitter.values["protocol"]].grouped
    # a repeated item of a grouped kind has several answers, so one suffices
    per_hit = 1 if is_grouped else min(reserve_fitter.checks_per_page, CHECKS_PER_PAGE)
    repeat_fitter = DesignFitter(values, reader, per_hit=per_hit, repeating=True)
    fitters = {REPEAT: repeat_fitter, RESERVE: reserve_fitter, OMIT: omit_fitter}
    # repeating is no answer if it is impossible, or costs items, too
    if not repeat_fitter.values["controls"]["per_hit"] or repeat_fitter.item_count < omit_fitter.item_count:
        del fitters[REPEAT]
    if not controls["per_hit"]:
        return _design_without_reserve(fitters)
    reserve_is_small = (
        reserve_fitter.has_enough_checks() and lost_items * ITEMS_PER_RESERVED <= omit_fitter.item_count
    )
    answer = _propose_answer(checks_answer, fitters, reserve_is_small)
    other_answers = tuple(name for name in fitters if name != answer)
    return FittedDesign(
        fitters[answer].values,
        fitters[answer].sentences,
        ChecksQuestion(answer, other_answers, lost_items, omit_fitter.item_count),
    )


def _design_without_reserve(fitters: Mapping[str, DesignFitter]) -> FittedDesign:
    """Return the design that repeats items, or else the one without check questions, with the reason."""
    name = REPEAT if REPEAT in fitters else OMIT
    fitter = fitters[name]
    fitter.sentences.append(gettext(TOO_FEW_TEXTS[name]))
    return FittedDesign(fitter.values, fitter.sentences)


def _propose_answer(checks_answer: str, answers: Collection[str], reserve_is_small: bool) -> str:
    """Return ``checks_answer`` if it is among the possible ``answers``, or else propose one of them."""
    if checks_answer in answers:
        return checks_answer
    if reserve_is_small:
        return RESERVE
    return REPEAT if REPEAT in answers else OMIT
