"""Fit a new design to the contents of its dataset, so that it does not start with an error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from django.utils.translation import gettext, gettext_noop

from judgments.design.editing.fitter import DatasetReader, DesignFitter
from judgments.design.reading.presets import PRESETS
from judgments.drawing.controls.makers import SPLIT_CONTROLS
from judgments.kinds import KINDS
from judgments.models import Dataset

CHECKS = 2  # check questions on a page
ITEMS_PER_RESERVED = 10  # one in this many items may be left out for check questions
RESERVE, REPEAT, OMIT = (
    "reserve",
    "repeat",
    "omit",
)  # check questions come from items that are left out, or repeat items; or there are none
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
        proposed_answer: the proposed answer, a value of the argument ``checks`` of `fit_to_dataset`.
        choices: the other possible answers.
        lost_items: number of items that would not be judged.
        judged_items: number of items that can be judged.
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
    values: dict[str, Any], dataset: Dataset, *, maker: int | None, untouched: bool = False, checks: str = ""
) -> FittedDesign:
    """Fit a design to its dataset.

    Items are left out for check questions only if a tenth of the items suffices; otherwise, fewer check questions are
    asked.

    Args:
        values: a complete design; name and slug may be empty.
        maker: row id of the study's author. Unpublished systems of others are not used.
        untouched: whether the values are those of a preset. If its paper does not state a number of check
            questions, some are added if they suffice to distinguish careful answers from guesses.
        checks: RESERVE, REPEAT or OMIT, as chosen by a person; "" to propose one.
    """
    reader = DatasetReader(dataset, maker)
    preset = PRESETS.get(values["preset"]) if untouched and not values["controls"]["per_hit"] else None
    if preset and "controls.per_hit" in preset.ours and KINDS[values["protocol"]].compares_pairs:
        checked = DesignFitter(values | {"controls": values["controls"] | {"per_hit": CHECKS}}, reader)
        if checked.has_enough_checks():
            about = gettext("Check questions on each page of work: %(n)s. The paper does not give a number.")
            checked.sentences.append(about % {"n": CHECKS})
            return _keep_items(checked, values, reader, checks)
    return _keep_items(DesignFitter(values, reader), values, reader, checks)


def _keep_items(
    reserving: DesignFitter, values: dict[str, Any], reader: DatasetReader, checks: str
) -> FittedDesign:
    """Return the design that reserves items for check questions or, if these need too many, one that does not.

    Args:
        reserving: the way to fit that reserves items for check questions.
        checks: the designer's choice, as in `fit_to_dataset`.
    """
    controls = reserving.values["controls"]
    if not reserving.checks or not set(controls["kinds"]) & set(SPLIT_CONTROLS):
        return FittedDesign(reserving.values, reserving.sentences)
    kind = KINDS[reserving.values["protocol"]]
    omitting = DesignFitter(values, reader, per_hit=0)
    lost = omitting.asked - reserving.asked
    if controls["per_hit"] and lost <= 0:
        return FittedDesign(reserving.values, reserving.sentences)
    repeating = DesignFitter(
        values, reader, per_hit=1 if kind.grouped else min(reserving.checks, CHECKS), repeating=True
    )
    fittings = {REPEAT: repeating, RESERVE: reserving, OMIT: omitting}
    if not repeating.values["controls"]["per_hit"] or repeating.asked < omitting.asked:
        del fittings[REPEAT]
    if not controls["per_hit"]:
        best = fittings.get(REPEAT, omitting)
        best.sentences.append(gettext(TOO_FEW_TEXTS[REPEAT if best is repeating else OMIT]))
        return FittedDesign(best.values, best.sentences)
    few = reserving.has_enough_checks() and lost * ITEMS_PER_RESERVED <= omitting.asked
    proposed = checks if checks in fittings else RESERVE if few else REPEAT if REPEAT in fittings else OMIT
    others = tuple(name for name in fittings if name != proposed)
    best = fittings[proposed]
    return FittedDesign(best.values, best.sentences, ChecksQuestion(proposed, others, lost, omitting.asked))
