"""Simulate the judgments of a paper that did not publish them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from annotation.rehearsal.crowd import ACCURACY_SPREAD, RehearsalCrowd
from quorum.numeric.arrays import Ints


@dataclass(frozen=True, slots=True)
class RehearsalVotes:
    """N simulated judgments: (N,) unit indices, worker numbers, and answers."""

    unit: Ints
    worker: Ints
    value: Any


def rehearse_votes(
    truth: ArrayLike, options: Sequence[float], votes: int, *, crowd: RehearsalCrowd | None = None
) -> RehearsalVotes:
    """Return simulated answers of ``votes`` workers to each of U units.

    A careful worker is right with the same probability as in `quorum study rehearse`, and otherwise gives one of
    the other options. A spammer gives any option.

    Args:
        truth: (U,) the right answer to each unit, one of ``options``.
    """
    crowd = crowd or RehearsalCrowd()
    rng = np.random.default_rng(crowd.seed)
    right, scale = np.asarray(truth), np.asarray(options)
    workers = max(crowd.workers, votes)
    accuracy = np.clip(crowd.accuracy + rng.uniform(-ACCURACY_SPREAD, ACCURACY_SPREAD, workers), 0.0, 1.0)
    spammer = np.zeros(workers, dtype=np.bool_)
    spammer[rng.permutation(workers)[: round(crowd.spammers * workers)]] = True
    # Each unit gets different workers: the first ones of a random order.
    worker = np.argsort(rng.random((len(right), workers)), axis=1)[:, :votes].astype(np.int64)
    position = np.searchsorted(scale, right, sorter=np.argsort(scale))
    correct = np.argsort(scale)[position][:, np.newaxis]
    wrong = (correct + rng.integers(1, max(len(scale), 2), worker.shape)) % len(scale)
    careful = np.where(rng.random(worker.shape) < accuracy[worker], correct, wrong)
    answers = np.where(spammer[worker], rng.integers(0, len(scale), worker.shape), careful)
    unit = np.repeat(np.arange(len(right)), votes)
    return RehearsalVotes(unit, worker.ravel(), scale[answers.ravel()])
