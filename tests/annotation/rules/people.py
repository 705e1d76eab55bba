"""Workers of a made-up study, page by page, for the rules."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from annotation.quality.detectors.base import (
    AnswerFormat,
    History,
    OthersJudgment,
    OwnJudgment,
    Rule,
    make_history,
)
from annotation.quality.rules import JudgmentLog, SubmittedPage, examine_latest_page

TRIPLET = AnswerFormat.from_values((1, 2), level="nominal", sided=True)
RELEVANCE = AnswerFormat.from_values((0, 1), level="nominal", sided=False)
NAN = float("nan")


def of(
    seen: Sequence[float],
    *,
    answers: AnswerFormat = TRIPLET,
    flipped: Sequence[bool] = (),
    seconds: Sequence[float] = (),
    right: Sequence[float] = (),
    same: Sequence[float] = (),
    pasted: Sequence[float] = (),
    others: Mapping[int, Sequence[tuple[float, float]]] | None = None,
    page: int = 20,
) -> History:
    """One worker's judgments on units 0, 1, 2, ..., all of them handed in just now on pages of ``page``."""

    def at(values: Sequence[float], place: int) -> float:
        return values[place] if place < len(values) else NAN

    given = [
        OwnJudgment(
            place // page,
            place,
            value,
            3 - value if answers.sided and flipped and flipped[place] else value,
            float(value == 1) if answers.sided and not math.isnan(value) else NAN,
            at(seconds, place),
            at(right, place),
            at(same, place),
            at(pasted, place),
        )
        for place, value in enumerate(seen)
    ]
    said = {unit: [OthersJudgment(*one) for one in votes] for unit, votes in (others or {}).items()}
    return make_history(given, said, answers=answers, total=len(given), fresh=len(given))


def ever_accused(rule: Rule, *, pages: int, size: int, chance_left: float, rng: np.random.Generator) -> bool:
    """Whether the rule ever finds something in the work of somebody who takes the left with this chance."""
    log = JudgmentLog(TRIPLET)
    for page in range(pages):
        seen = 2 - (rng.random(size) < chance_left).astype(int)
        given = [
            OwnJudgment(page, page * size + place, value, value, float(value == 1))
            for place, value in enumerate(seen.tolist())
        ]
        log.add(SubmittedPage(1, given))
        if examine_latest_page(log, 1, rules=[rule]):
            return True
    return False
