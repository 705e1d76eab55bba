"""Rehearse packs whose paper published no judgments, without a database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from annotation.rehearsal.people import APART, Crowd
from evaluation.arrays import Ints


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """Simulated judgments: (N,) unit positions, worker numbers, and answers."""

    unit: Ints
    worker: Ints
    value: Any


def rehearse(
    truth: ArrayLike, options: Sequence[float], votes: int, *, crowd: Crowd | None = None
) -> Rehearsal:
    """Let ``votes`` workers answer each unit, whose right answer in ``truth`` (U,) is one of ``options``.

    A careful worker is right as often as in `manage.py rehearse`, else gives one of the other options; a
    spammer gives any.
    """
    crowd = crowd or Crowd()
    rng = np.random.default_rng(crowd.seed)
    right, scale = np.asarray(truth), np.asarray(options)
    workers = max(crowd.workers, votes)
    accuracy = np.clip(crowd.accuracy + rng.uniform(-APART, APART, workers), 0.0, 1.0)
    spammer = np.zeros(workers, dtype=np.bool_)
    spammer[rng.permutation(workers)[: round(crowd.spammers * workers)]] = True
    # Different workers for the votes on a unit: the first of a random order.
    worker = np.argsort(rng.random((len(right), workers)), axis=1)[:, :votes].astype(np.int64)
    place = np.searchsorted(scale, right, sorter=np.argsort(scale))
    own = np.argsort(scale)[place][:, np.newaxis]
    other = (own + rng.integers(1, max(len(scale), 2), worker.shape)) % len(scale)
    careful = np.where(rng.random(worker.shape) < accuracy[worker], own, other)
    given = np.where(spammer[worker], rng.integers(0, len(scale), worker.shape), careful)
    unit = np.repeat(np.arange(len(right)), votes)
    return Rehearsal(unit, worker.ravel(), scale[given.ravel()])
