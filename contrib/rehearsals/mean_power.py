"""The power of a study like the rehearsed one to find the better of two systems, if its answers have a mean.

It follows from the variance of the difference between the two best systems of the rehearsal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from common.amounts import as_json
from evaluation.data.judgment_sets import loaders
from evaluation.data.judgment_sets.records import Decision
from evaluation.data.ranked_lists import Proposals, proposals_of
from evaluation.results.outputs import outputs_of_answers
from evaluation.results.standings import MEAN
from judgments.kinds import RelevanceScale
from judgments.models import Study
from quorum.numeric.arrays import Floats
from quorum.statistics.significance import LEVEL

# The differences between systems' means for which the power is reported, in steps of the scale. The power at
# MAIN_STEPS decides whether a study counts as ready.
STEPS_APART, MAIN_STEPS = (0.5, 1.0), 0.5
MAX_STEPS = 10  # a scale whose ends are at most this far apart has steps of 1, others have this many steps


def power_of_means(
    study: Study,
    relevance: RelevanceScale,
    decisions: Mapping[int, Decision],
    true_answers: Mapping[int, Any],
) -> list[dict[str, Any]]:
    """Return the power for each of STEPS_APART; [] if fewer than two systems were judged.

    ``decisions`` are adjudicated answers, and ``true_answers`` the drawn true ones, both by the unit's row id.
    """
    proposals = proposals_of(study)  # the ranked outputs of systems
    outputs = outputs_of_answers(
        proposals, loaders.load_judgments(study), decisions, anonymous=False, scale_ends=relevance.ends
    )
    if outputs is None or len(outputs.names) < 2:
        return []
    standings = outputs.standings(MEAN)
    best_index, second_index = np.argsort(-standings.strength, kind="stable")[:2].tolist()
    contrast = standings.contrast(best_index, second_index)
    low, high = relevance.ends
    step = 1.0 if high - low <= MAX_STEPS else (high - low) / MAX_STEPS
    true_means = _true_means(proposals, true_answers)
    # no system of the rehearsal is truly better than another by the smallest of the reported differences
    are_alike = true_means[0] - true_means[-1] < min(STEPS_APART) * step
    return [
        {
            "what": "systems",
            "first": standings.names[best_index],
            "second": standings.names[second_index],
            "difference": steps * step,
            "main": steps == MAIN_STEPS,
            "n": standings.items,
            "power": as_json(contrast.spread.power(steps * step, LEVEL)),
            "needed": None,  # the number of pairs for enough power, which only studies of pairs have
            "alike": bool(are_alike),
        }
        for steps in STEPS_APART
    ]


def _true_means(proposals: Proposals, true_answers: Mapping[int, Any]) -> Floats:
    """Return the systems' mean true answers, highest first."""
    output, unit = proposals.scored_entries()  # indices of outputs, and of the units that score them
    answer_of_unit = np.array([float(true_answers.get(pk, math.nan)) for pk in proposals.units.pk.tolist()])
    answers, systems = answer_of_unit[unit], proposals.system[output]
    has_answer = ~np.isnan(answers)
    counts = np.bincount(systems[has_answer])
    totals = np.bincount(systems[has_answer], answers[has_answer])
    # systems without answers have no mean
    return np.sort(totals[counts > 0] / counts[counts > 0])[::-1]
