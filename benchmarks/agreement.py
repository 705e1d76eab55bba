"""Compare agreement with krippendorff 0.9, evalica 0.4.2 and scikit-learn 1.9 on random answers.

    python -m benchmarks.agreement                      # every job at three sizes, some minutes
    python -m benchmarks.agreement alpha --sizes 10000

requirements-oracles.txt names the other programs. For alpha there are five raters and four values, and a tenth of the
answers is missing. "The obvious loop" draws units and calls the other program's alpha a thousand times. Its draws
differ, so the ends of the intervals differ in the third digit.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.measuring import Job, main
from quorum.statistics.agreement import (
    Alpha,
    FleissKappa,
    Gwet,
    Percent,
    agreement,
    agreement_by_pair,
    alpha_interval,
    alpha_of_judgments,
    cohen_kappa,
    gwet_interval,
    krippendorff_alpha,
    ratings_of_judgments,
)
from quorum.statistics.crossed import NAIVE, Clusters

SIZES = (10_000, 100_000, 1_000_000)
RATERS = 5
MISSING_SHARE = 0.1
RESAMPLES = 1000
SEED = 20

Table = NDArray[np.float64]
Column = NDArray[np.int64]
Clustered = tuple[tuple[Column, Column, Column], dict[str, Column]]


def table(units: int) -> Table:
    """Return random answers of five raters, who give the unit's true answer half of the time."""
    generator = np.random.default_rng(SEED)
    shape = (RATERS, units)
    truth = generator.integers(1, 5, units)
    answers = np.where(generator.random(shape) < 0.5, truth, generator.integers(1, 5, shape)).astype(float)
    answers[generator.random(shape) < MISSING_SHARE] = np.nan
    return answers


def random_ratings(units: int) -> Table:
    """Return random ratings from 0 to 100."""
    generator = np.random.default_rng(SEED)
    return np.clip(np.round(table(units) * 25 + generator.normal(0, 10, (RATERS, units))), 0, 100)


def frame(units: int) -> tuple[Table, Any]:
    answers = table(units)
    return answers, importlib.import_module("pandas").DataFrame(answers)


def pairs(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return random labels, 1 to 5, of two raters."""
    generator = np.random.default_rng(SEED)
    first = generator.integers(1, 6, count)
    return first, np.where(generator.random(count) < 0.6, first, generator.integers(1, 6, count))


def words(count: int) -> tuple[list[str], list[str]]:
    names = np.array(["none", "bird", "horse", "person", "bicycle"])
    first, second = pairs(count)
    return names[first - 1].tolist(), names[second - 1].tolist()


def clustered_judgments(judgments: int) -> Clustered:
    """Return random judgments with clusters, where 300 workers judge each unit three times with 1 or 2.

    An image has 15 units.
    """
    generator = np.random.default_rng(SEED)
    units, own = judgments // 3, np.arange(judgments) // 3
    worker = (generator.integers(0, 300, units + 1)[own] + 100 * (np.arange(judgments) % 3)) % 300
    truth = generator.integers(1, 3, units + 1)[own]
    answers = np.where(generator.random(judgments) < 0.75, truth, 3 - truth)
    return (own, worker, answers), {"item": own // 15, "rater": worker}


def rows(judgments: int) -> tuple[list[str], list[str], NDArray[np.int64]]:
    """Return random judgments with grades from 1 to 4, where ten thousand workers judge each unit three times."""
    grades = np.random.default_rng(SEED).integers(1, 5, judgments)
    units = [f"unit-{row // 3}" for row in range(judgments)]
    return units, [f"w-{(row // 3 * 7 + row % 3) % 9999}" for row in range(judgments)], grades


def alpha(level: str) -> Callable[[Table], ArrayLike]:
    return lambda answers: krippendorff_alpha(answers, level)


def peer_alpha(level: str) -> Callable[[Table], ArrayLike]:
    def call(answers: Table) -> ArrayLike:
        return float(importlib.import_module("krippendorff").alpha(answers, level_of_measurement=level))

    return call


def alpha_beside_frame(given: tuple[Table, Any]) -> ArrayLike:
    return krippendorff_alpha(given[0], "ordinal")


def evalica_alpha(given: tuple[Table, Any]) -> ArrayLike:
    return float(importlib.import_module("evalica").alpha(given[1], distance="ordinal").alpha)


def interval(answers: Table, level: str = "nominal") -> ArrayLike:
    result = alpha_interval(answers, level, resamples=RESAMPLES, clusters=NAIVE)
    return [result.low, result.high]


def plain_loop(answers: Table) -> ArrayLike:
    """Resample the units a thousand times, and return the interval of the other program's alpha."""
    peer = importlib.import_module("krippendorff")
    generator = np.random.default_rng(SEED)
    units = answers.shape[1]
    drawn = [
        peer.alpha(answers[:, generator.integers(0, units, units)], level_of_measurement="nominal")
        for _ in range(RESAMPLES)
    ]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return [low, high]


def kappa(weights: str | None) -> Callable[[tuple[Any, Any]], ArrayLike]:
    return lambda given: cohen_kappa(*given, weights)


def peer_kappa(weights: str | None) -> Callable[[tuple[Any, Any]], ArrayLike]:
    def call(given: tuple[Any, Any]) -> ArrayLike:
        return float(importlib.import_module("sklearn.metrics").cohen_kappa_score(*given, weights=weights))

    return call


def clustered_alpha(given: Clustered) -> ArrayLike:
    columns, by = given
    found = alpha_of_judgments(*columns, clusters=by)
    return [found.value, found.low, found.high]


def clustered_coefficients(given: Clustered) -> ArrayLike:
    columns, by = given
    ratings, made = ratings_of_judgments(*columns), Clusters.from_columns(by, len(columns[0]))
    wanted = (Alpha(), Percent(), FleissKappa(), Gwet())
    return [agreement(ratings, coefficient, clusters=made).low for coefficient in wanted]


def alpha_of_rows(given: tuple[list[str], list[str], NDArray[np.int64]]) -> ArrayLike:
    return alpha_of_judgments(*given, "ordinal", resamples=RESAMPLES, clusters=NAIVE).value


def gwet(answers: Table) -> ArrayLike:
    return gwet_interval(answers, "quadratic", resamples=RESAMPLES, clusters=NAIVE).value


def by_pair(answers: Table) -> ArrayLike:
    return agreement_by_pair(answers).alpha


def by_pair_of_rows(given: tuple[list[str], list[str], NDArray[np.int64]]) -> ArrayLike:
    return len(agreement_by_pair(ratings_of_judgments(*given)).alpha)


KRIPPENDORFF = ("krippendorff 0.9.0", "krippendorff")
EVALICA = ("evalica 0.4.2", "evalica")
SKLEARN = ("scikit-learn 1.9.1", "sklearn")
LOOP = ("the obvious loop", "krippendorff")
UNIT = f" x {RATERS}"
JOBS = (
    Job("alpha", SIZES, table, alpha("nominal"), peer_alpha("nominal"), *KRIPPENDORFF, unit=UNIT),
    Job("alpha-ordinal", SIZES, table, alpha("ordinal"), peer_alpha("ordinal"), *KRIPPENDORFF, unit=UNIT),
    Job("alpha-evalica", SIZES, frame, alpha_beside_frame, evalica_alpha, *EVALICA, unit=UNIT),
    Job("alpha-sliders", SIZES, random_ratings, alpha("interval"), unit=UNIT),
    Job("alpha-interval", (1_000, 10_000, 100_000), table, interval, plain_loop, *LOOP, unit=UNIT),
    Job(
        "sliders-interval",
        SIZES[:2],
        random_ratings,
        functools.partial(interval, level="interval"),
        unit=UNIT,
    ),
    Job("alpha-of-names", SIZES, rows, alpha_of_rows),
    Job("alpha-by-item-and-rater", SIZES, clustered_judgments, clustered_alpha, warm_up=3000),
    Job("four-by-item-and-rater", SIZES, clustered_judgments, clustered_coefficients, warm_up=3000),
    Job("kappa", SIZES, pairs, kappa(None), peer_kappa(None), *SKLEARN),
    Job("kappa-quadratic", SIZES, pairs, kappa("quadratic"), peer_kappa("quadratic"), *SKLEARN),
    Job("kappa-words", SIZES, words, kappa(None), peer_kappa(None), *SKLEARN),
    Job("gwet-interval", SIZES, table, gwet, unit=UNIT),
    Job("by-pair", SIZES, table, by_pair, unit=UNIT),
    Job("by-pair-of-names", SIZES, rows, by_pair_of_rows),
)

if __name__ == "__main__":
    main(JOBS)
