"""Cut a design to what its dataset has, so that a new design does not begin with an error, and ask what gives way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from django.utils.translation import gettext, gettext_noop

from judgments.design.editing.cutting import DatasetReader, Fitting
from judgments.design.reading.presets import PRESETS
from judgments.drawing.controls.makers import SPLIT_CONTROLS
from judgments.kinds import KINDS
from judgments.models import Dataset

CHECKS = 2  # on a page
RESERVED_OF = 10  # items, of which one may be left out for check questions that tell care from guessing
RESERVE, REPEAT, OMIT = (
    "reserve",
    "repeat",
    "omit",
)  # what check questions are made of: items left out, repeated, none
TOO_FEW_TEXTS = {
    REPEAT: gettext_noop("Check questions repeat items: the dataset has too few texts for others."),
    OMIT: gettext_noop("There are no check questions: the dataset has too few texts to make them of."),
}


@dataclass(frozen=True, slots=True)
class ChecksQuestion:
    """What the page of a design asks if check questions with a known answer leave no place for some items.

    Attributes:
        proposed, choices: values of ``checks`` of `fit_to_dataset`.
        lost, asked: numbers of items.
    """

    proposed: str
    choices: tuple[str, ...]
    lost: int
    asked: int


class Fitted(NamedTuple):
    """A design cut to its dataset, sentences about what was cut, and what is left to decide."""

    values: dict[str, Any]
    sentences: list[str]
    question: ChecksQuestion | None = None


def fit_to_dataset(
    values: dict[str, Any], dataset: Dataset, *, maker: int | None, untouched: bool = False, checks: str = ""
) -> Fitted:
    """Return the values cut to the dataset. Check questions give way before items do, unless a tenth suffices.

    Args:
        values: a complete design; name and slug may be empty.
        maker: row id of the study's maker: others' unpublished systems are not drawn from.
        untouched: whether the values are a preset's. Where its paper does not give a number of check questions, there
            are some if they suffice to tell care from guessing.
        checks: RESERVE, REPEAT or OMIT, which somebody chose; "" to propose one.
    """
    reader = DatasetReader(dataset, maker)
    preset = PRESETS.get(values["preset"]) if untouched and not values["controls"]["per_hit"] else None
    if preset and "controls.per_hit" in preset.ours and KINDS[values["protocol"]].compares_pairs:
        checked = Fitting(values | {"controls": values["controls"] | {"per_hit": CHECKS}}, reader)
        if checked.suffices():
            about = gettext("Check questions on each page of work: %(n)s. The paper does not give a number.")
            checked.sentences.append(about % {"n": CHECKS})
            return _keep_items(checked, values, reader, checks)
    return _keep_items(Fitting(values, reader), values, reader, checks)


def _keep_items(reserving: Fitting, values: dict[str, Any], reader: DatasetReader, checks: str) -> Fitted:
    """Return a fitting that asks about all items where ``reserving`` leaves some out for its check questions."""
    controls = reserving.values["controls"]
    if not reserving.checks or not set(controls["kinds"]) & set(SPLIT_CONTROLS):
        return Fitted(reserving.values, reserving.sentences)
    kind = KINDS[reserving.values["protocol"]]
    omitting = Fitting(values, reader, per_hit=0)
    lost = omitting.asked - reserving.asked
    if controls["per_hit"] and lost <= 0:
        return Fitted(reserving.values, reserving.sentences)
    repeating = Fitting(
        values, reader, per_hit=1 if kind.grouped else min(reserving.checks, CHECKS), repeating=True
    )
    fittings = {REPEAT: repeating, RESERVE: reserving, OMIT: omitting}
    if not repeating.values["controls"]["per_hit"] or repeating.asked < omitting.asked:
        del fittings[REPEAT]
    if not controls["per_hit"]:
        best = fittings.get(REPEAT, omitting)
        best.sentences.append(gettext(TOO_FEW_TEXTS[REPEAT if best is repeating else OMIT]))
        return Fitted(best.values, best.sentences)
    few = reserving.suffices() and lost * RESERVED_OF <= omitting.asked
    proposed = checks if checks in fittings else RESERVE if few else REPEAT if REPEAT in fittings else OMIT
    others = tuple(name for name in fittings if name != proposed)
    best = fittings[proposed]
    return Fitted(best.values, best.sentences, ChecksQuestion(proposed, others, lost, omitting.asked))
