"""Write the texts of simulated workers, and draw the signals that a page would record while they write.

The signals are counts of how a text was written (contrib/honest_answers/README.md), such as ``bursts``, runs of keys
without a pause, and ``away``, how often the page was hidden meanwhile.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from annotation.models import Assignment
from annotation.work.sheet.hidden_line import hidden_word
from contrib.rehearsals.simulation.crowd import Person, draw_pace
from judgments.drawing.draws import rng_for
from judgments.studies.designs import design_of

# as people type (benchmarks/honesty.py)
KEY_GAP = 220.0  # median time between two keys, in ms
KEY_GAP_SPREAD = 0.67  # interquartile range of this time, as a fraction of the median
DELETION_SHARE = 0.06  # deletions for each character that stays
MEAN_PAUSES = 2  # pauses while a text is written


def draw_signals(person: Person, text: str, *, record: bool, rng: np.random.Generator) -> dict[str, int]:
    """Draw the signals of a page on which a person writes a text. ``record``: whether the page counts keys."""
    length = len(text)
    if person.sort == "pasting":  # a spammer who pastes what a program wrote
        writing_signals = {
            "text": length, "from_paste": length, "pastes": 1, "keys": 0, "bursts": 0, "typing_ms": 0, "away": 1,
        }  # fmt: skip
        return {"pasted": length} | (writing_signals if record else {})  # every page counts what is pasted
    if not record:
        return {}
    deletions = int(rng.binomial(length, DELETION_SHARE))
    # a deleted character takes two keys: one that types it, and one that deletes it
    keys = length + 2 * deletions
    bursts, gap = 1 + int(rng.poisson(MEAN_PAUSES)), KEY_GAP * draw_pace(rng)
    return {
        "text": length,
        "from_keys": length,
        "from_paste": 0,
        "pastes": 0,
        "deletions": deletions,
        "away": 0,
        "keys": keys,
        "bursts": bursts,
        "typing_ms": round(gap * max(0, keys - bursts)),  # n keys without a pause have n - 1 gaps
        "gap_ms": round(gap),
        "gap_spread_ms": round(gap * KEY_GAP_SPREAD * float(rng.uniform(0.6, 1.4))),
    }


def write_answer(assignment: Assignment, person: Person, text: str, seed: int) -> dict[str, Any]:
    """Return the fields "answer" and "signals" of an answer: the text as the person writes it, and the page's signals.

    The signals are drawn from a random stream of their own.
    """
    design, name = design_of(assignment.study), person.worker.name
    hit_key = assignment.hit.key if assignment.hit else ""
    # the program that wrote the text read the page, and used the word of its hidden line, as in "..., albeit so"
    if design.writing.hidden_line and person.sort == "pasting":
        text = f"{text}, {hidden_word(seed=design.seed, hit=hit_key, worker=name)} so"
    rng = rng_for(seed, f"writing {hit_key} {name} {text}")
    signals = draw_signals(person, text, record=design.writing.record, rng=rng)
    return {"answer": text} | ({"signals": signals} if signals else {})
