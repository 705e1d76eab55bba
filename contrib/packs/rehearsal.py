"""Simulate the judgments of a paper that did not publish them, with the crowd of rehearsals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from contrib.rehearsals.simulation.crowd import ACCURACY_SPREAD, RehearsalCrowd
from quorum.numeric.arrays import Ints


@dataclass(frozen=True, slots=True)
class RehearsalVotes:
    """N simulated judgments. Those of the first unit come first, then those of the second, and so on.

    Attributes:
        unit, worker: (N,) index of the unit and of the worker of each judgment.
        value: (N,) answers, which are options of ``rehearse_votes``.
    """

    unit: Ints
    worker: Ints
    value: Any


def rehearse_votes(
    right_answers: ArrayLike,
    options: Sequence[float],
    votes_per_unit: int,
    *,
    crowd: RehearsalCrowd | None = None,
) -> RehearsalVotes:
    """Return simulated answers of ``votes_per_unit`` workers to each of U units.

    A careful worker is right with the same probability as in `quorum study rehearse`, and otherwise gives one of
    the other options. A spammer gives any option.

    Args:
        right_answers: (U,) the right answer to each unit, one of ``options``.
    """
    crowd = crowd or RehearsalCrowd()
    rng = np.random.default_rng(crowd.seed)
    right_values, option_values = np.asarray(right_answers), np.asarray(options)
    workers = max(crowd.workers, votes_per_unit)
    accuracy = np.clip(crowd.accuracy + rng.uniform(-ACCURACY_SPREAD, ACCURACY_SPREAD, workers), 0.0, 1.0)
    is_spammer = np.zeros(workers, dtype=np.bool_)
    is_spammer[rng.permutation(workers)[: round(crowd.spammers * workers)]] = True
    # Each unit gets different workers: the first ones of a random order.
    worker = np.argsort(rng.random((len(right_values), workers)), axis=1)[:, :votes_per_unit].astype(np.int64)
    # From here on, answers are indices of options. The options need not be sorted.
    sorted_position = np.searchsorted(option_values, right_values, sorter=np.argsort(option_values))
    right_index = np.argsort(option_values)[sorted_position][:, np.newaxis]
    # A shift by 1 to len(options) - 1 places, around the end, gives each other option with the same probability.
    wrong_index = (right_index + rng.integers(1, max(len(options), 2), worker.shape)) % len(options)
    careful_answers = np.where(rng.random(worker.shape) < accuracy[worker], right_index, wrong_index)
    answers = np.where(is_spammer[worker], rng.integers(0, len(options), worker.shape), careful_answers)
    unit = np.repeat(np.arange(len(right_values)), votes_per_unit)
    return RehearsalVotes(unit, worker.ravel(), option_values[answers.ravel()])
