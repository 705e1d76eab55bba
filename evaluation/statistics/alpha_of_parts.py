"""Krippendorff's alpha of judgments that consist of several small ones, with an interval over whole units.

Links of words to boxes, words that are keywords or not, options that are best, worst or neither: one answer is a
value for each part of its unit. Alpha compares the values part by part. The parts of a unit hang together, because
the same people gave them at the same moment, so a resample draws whole units: drawing parts would make the
interval too narrow.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from evaluation.statistics.agreement_result import AgreementResult, interval_of
from evaluation.statistics.alpha import LEVELS, NO_PAIRS, NO_VARIATION, AlphaOfWeights
from evaluation.statistics.errors import DuplicateJudgment
from evaluation.statistics.patterns import Patterns
from evaluation.statistics.ratings import Ratings, check_numeric
from evaluation.statistics.resampling import (
    CONFIDENCE,
    RESAMPLES,
    Seed,
    bootstrap,
    check_confidence,
    generator_of,
)
from evaluation.statistics.signed import signed
from evaluation.statistics.tables import Codes, Floats, encode, one_of, same_length


@signed("krippendorff-alpha", input="parts")
def alpha_of_parts(
    units: Iterable[Any],
    parts: Iterable[Any],
    workers: Iterable[Any],
    values: Iterable[Any],
    level: str = "nominal",
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: Seed = 0,
) -> AgreementResult:
    """Alpha over the parts of units: one value of one part a row, four (N,) columns.

    `units`, `pairable` and `judgments` of the result count whole units and whole answers, not parts. With one part a
    unit this is `alpha_of_judgments`, but for the draws. Raises DuplicateJudgment where a worker gave a part
    two values, BadShape, BadValue, BadOption.
    """
    one_of(level, LEVELS, "level")
    check_confidence(confidence)
    generator, reported = generator_of(seed)
    unit_names, unit = encode(units, "units")
    _, part = encode(parts, "parts")
    worker_names, worker = encode(workers, "workers")
    labels, code = encode(values, "values")
    same_length(units=unit, parts=part, workers=worker, values=code)
    if level != "nominal":
        check_numeric(Ratings(unit_names, worker_names, labels, unit, worker, code))
    places, cell = np.unique(unit * (int(part.max(initial=0)) + 1) + part, return_inverse=True)
    owner = np.zeros(len(places), dtype=np.int64)
    owner[cell] = unit
    _refuse_duplicates(cell, worker, len(worker_names))
    counts = csr_array((np.ones(len(cell)), (cell, code)), shape=(len(places), len(labels)))
    pairable = np.flatnonzero(np.asarray(counts.sum(axis=1)) >= 2)
    counts = csr_array(counts[pairable])
    counts.sort_indices()
    compared, group = np.unique(owner[pairable], return_inverse=True)
    patterns = Patterns(
        labels, counts, np.ones(len(pairable), dtype=np.int64), len(unit_names), len(worker_names), len(cell)
    )
    value = float("nan")
    statistic = None
    if len(pairable):
        statistic = AlphaOfWeights(patterns, level)
        value = float(statistic(np.ones((1, len(pairable))))[0])

    def draws() -> Floats:
        assert statistic is not None, "a figure that is defined has units to draw"
        alpha = statistic
        return bootstrap(
            lambda weights: alpha(weights[:, group]),
            np.ones(len(compared), dtype=np.int64),
            resamples=resamples,
            generator=generator,
            width=max(counts.shape[1], len(group)),
        )

    low, high, undefined = interval_of(value, draws, confidence)
    return AgreementResult(
        statistic="krippendorff-alpha",
        value=value,
        low=low,
        high=high,
        confidence=confidence,
        units=len(unit_names),
        pairable=len(compared),
        raters=len(worker_names),
        judgments=len(np.unique(unit * max(len(worker_names), 1) + worker)),
        level=level,
        resamples=resamples,
        undefined_resamples=undefined,
        seed=reported,
        reason="" if value == value else NO_VARIATION if len(pairable) else NO_PAIRS,
    )


def _refuse_duplicates(cell: Codes, worker: Codes, workers: int) -> None:
    keys = np.sort(cell * max(workers, 1) + worker)
    if (keys[1:] == keys[:-1]).any():
        raise DuplicateJudgment(
            "a worker gave a part of a unit two values, expected one value a part and worker"
        )
