"""The texts that simulated workers write, and the counts that a page would record while they write."""

from __future__ import annotations

from typing import Any

import numpy as np

from annotation.models import Assignment
from annotation.quality.detectors.honesty import hidden_word
from annotation.rehearsal.crowd import Person, draw_pace
from judgments.drawing.draws import rng_for
from judgments.studies.designs import design_of

# as people type (benchmarks/honesty.py)
KEY_GAP = 220.0  # median time between two keys, in ms
KEY_GAP_SPREAD = 0.67  # spread of this time, as a fraction of it
DELETION_SHARE = 0.06  # deletions for each character that stays
MEAN_PAUSES = 2  # pauses while a text is written


def signals_of(person: Person, text: str, *, record: bool, rng: np.random.Generator) -> dict[str, int]:
    """Draw the counts of a page on which a person writes a text; with ``record``, also those about the writing."""
    length = len(text)
    if person.sort == "pasting":
        counts = {
            "text": length, "from_paste": length, "pastes": 1, "keys": 0, "bursts": 0, "typing_ms": 0, "away": 1,
        }  # fmt: skip
        return {"pasted": length} | (counts if record else {})
    if not record:
        return {}
    deletions = int(rng.binomial(length, DELETION_SHARE))
    keys, bursts, gap = length + 2 * deletions, 1 + int(rng.poisson(MEAN_PAUSES)), KEY_GAP * draw_pace(rng)
    return {
        "text": length,
        "from_keys": length,
        "from_paste": 0,
        "pastes": 0,
        "deletions": deletions,
        "away": 0,
        "keys": keys,
        "bursts": bursts,
        "typing_ms": round(gap * max(0, keys - bursts)),
        "gap_ms": round(gap),
        "gap_spread_ms": round(gap * KEY_GAP_SPREAD * float(rng.uniform(0.6, 1.4))),
    }


def write_answer(assignment: Assignment, person: Person, text: str, seed: int) -> dict[str, Any]:
    """Return the text as the person writes it, and the page's counts. They are drawn from a separate random stream."""
    design, hit, name = design_of(assignment.study), assignment.hit, person.worker.name
    key = hit.key if hit else ""
    # the program read the page with its hidden line
    if design.writing.hidden_line and person.sort == "pasting":
        text = f"{text}, {hidden_word(seed=design.seed, hit=key, worker=name)} so"
    rng = rng_for(seed, f"writing {key} {name} {text}")
    signals = signals_of(person, text, record=design.writing.record, rng=rng)
    return {"answer": text} | ({"signals": signals} if signals else {})
