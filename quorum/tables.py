"""The library's functions by short names, for columns and for tables, as one types them in a notebook.

A table is a pandas DataFrame, an Arrow table, or another with columns and Arrow's PyCapsule interface (a DataFrame of
polars). A table of judgments has the columns `unit`, `worker` and `value` of an exported judgment set; others are
named by the keywords `unit`, `worker` and `value`. Rows without a value, control items (`control`) and judgments that
do not count (`used` is false) are left out, where the table has these columns, as the command `agreement` does.

A coefficient gives its signed result with an interval. What has a row for each unit, system or caption gives a table:
pandas for pandas, else Arrow. Of columns, the functions give what those of `quorum.statistics` and `quorum.metrics`
give, which have all options, fields and sources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeGuard

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from quorum.metrics import InvalidInput
from quorum.metrics import score as score_texts
from quorum.statistics import aggregation
from quorum.statistics.aggregation.joint_answers import WorkerModel
from quorum.statistics.agreement import (
    AgreementResult,
    alpha_interval,
    fleiss_interval,
    kappa_interval,
    ratings_of_judgments,
)
from quorum.statistics.agreement.alpha import alpha_of_judgments
from quorum.statistics.inputs import BadShape, BadValue

Column = np.ndarray[Any, Any]
METRICS = ("bleu-4", "rouge-l", "cider-d")


def score(candidates: Any, references: Any = None, metrics: Iterable[str] = METRICS, **options: Any) -> Any:
    """Score n candidates against n lists of references; options as in `quorum.metrics.score`.

    Of a table with the columns `candidate` and `references` (lists of texts), return it with a column for each metric.
    """
    if not is_table(candidates):
        return score_texts(candidates, references, metrics, **options)
    if references is not None:
        raise InvalidInput("references are given beside a table, expected them in its column references")
    table = pa.table(candidates)
    texts, lists = (column.to_pylist() for column in _columns_of(table, "candidate", "references"))
    scores = score_texts(texts, lists, metrics, **options)
    for name, of_metric in scores.scores.items():
        table = table.append_column(name, pa.array(of_metric.images))
    return like(candidates, table)


def alpha(
    judgments: Any,
    level: str = "nominal",
    *,
    unit: str = "unit",
    worker: str = "worker",
    value: str = "value",
    **options: Any,
) -> AgreementResult:
    """Return Krippendorff's alpha of judgments, or of a (raters, units) array, nan where an answer is missing.

    Values are taken as they are, and units as independent of each other. The command `agreement` knows the protocol of
    an export: it takes choices between two texts in both orders, and units of one item together.
    """
    if is_table(judgments):
        units, workers, values = judgments_of(judgments, unit, worker, value)
        return alpha_of_judgments(units, workers, values, level, **options)
    return alpha_interval(judgments, level, **options)


def kappa(
    first: Any,
    second: Iterable[Any] | None = None,
    weights: str | None = None,
    *,
    unit: str = "unit",
    worker: str = "worker",
    value: str = "value",
    **options: Any,
) -> AgreementResult:
    """Return Cohen's kappa of two columns of answers to the same units, or of the judgments of two workers.

    Units that one of them alone judged are left out. Of more workers, return Fleiss' kappa.
    """
    if not is_table(first):
        if second is None:
            raise BadShape("second is missing, expected the answers of another rater")
        return kappa_interval(first, second, weights, **options)
    _refuse_beside_table(second=second)
    ratings = ratings_of_judgments(*judgments_of(first, unit, worker, value))
    if len(ratings.raters) != 2:
        if weights is not None:
            raise BadShape(f"there are {len(ratings.raters)} workers, expected two for a weighted kappa")
        return fleiss_interval(ratings, **{"clusters": "both", **options})
    answers = np.full((2, len(ratings.units)), -1)
    answers[ratings.rater, ratings.unit] = ratings.code
    both = (answers >= 0).all(axis=0)
    codes, other_codes = answers[:, both]
    options = {"labels": ratings.labels, "clusters": {"item": np.flatnonzero(both)}, **options}
    return kappa_interval(ratings.labels[codes], ratings.labels[other_codes], weights, **options)


def majority_vote(
    judgments: Any,
    values: Iterable[Any] | None = None,
    *,
    unit: str = "unit",
    value: str = "value",
    **options: Any,
) -> Any:
    """Return the most frequent answer of each unit: of a table `unit`, `winner`, `share` of the votes, and `votes`."""
    if not is_table(judgments):
        return aggregation.majority_vote(judgments, _required(values, "values"), **options)
    _refuse_beside_table(values=values)
    votes = aggregation.majority_vote(*judgments_of(judgments, unit, value), **options)
    columns = {"winner": votes.values(), "share": votes.share, "votes": votes.n}
    return _table_of_units(judgments, unit, votes.units, columns)


def _of_tables(fit: Callable[..., WorkerModel]) -> Callable[..., Any]:
    """Return a model of workers that takes columns or a table."""

    def model_of(
        judgments: Any,
        workers: Any = None,
        values: Any = None,
        *,
        unit: str = "unit",
        worker: str = "worker",
        value: str = "value",
        **options: Any,
    ) -> Any:
        if not is_table(judgments):
            return fit(judgments, _required(workers, "workers"), _required(values, "values"), **options)
        _refuse_beside_table(workers=workers, values=values)
        model = fit(*judgments_of(judgments, unit, worker, value), **options)
        columns = {"winner": model.values(), "probability": model.posterior.max(axis=1)}
        return _table_of_units(judgments, unit, model.units, columns)

    model_of.__name__ = fit.__name__
    model_of.__doc__ = (
        f"{fit.__doc__}\n    Of a table of judgments, return `unit`, `winner` and its `probability`.\n    "
    )
    return model_of


dawid_skene = _of_tables(aggregation.dawid_skene)
glad = _of_tables(aggregation.glad)
mace = _of_tables(aggregation.mace)


def bradley_terry(comparisons: Any, **options: Any) -> Any:
    """Fit strengths to a (K, K) array of wins, or to a table with `first`, `second` and `winner` (1, 2, or 0: neither).

    Of a table, return `item`, `log_strength`, and its interval `low` and `high`, from the strongest down. Raise
    BadValue where strengths have no maximum, as of an item that never loses; `prior=0.5` helps.
    """
    if not is_table(comparisons):
        return aggregation.bradley_terry(comparisons, **options)
    fit = aggregation.bradley_terry_of_comparisons(
        *(column.to_numpy() for column in _columns_of(comparisons, "first", "second", "winner")), **options
    )
    if not np.isfinite(fit.log_strength).all():
        raise BadValue(fit.reason)
    columns = {"item": fit.items, "log_strength": fit.log_strength, "low": fit.low, "high": fit.high}
    return like(comparisons, pa.table({name: column[fit.order] for name, column in columns.items()}))


def is_table(data: Any) -> TypeGuard[Any]:
    return hasattr(data, "__arrow_c_stream__") and hasattr(data, "columns")


def _columns_of(table: Any, *names: str) -> list[pa.ChunkedArray]:
    """Return columns of a table. Raise BadShape for one that it does not have."""
    arrow = pa.table(table)
    for name in names:
        if name not in arrow.column_names:
            raise BadShape(f"the table has the columns {', '.join(arrow.column_names)}, expected also {name}")
    return [arrow[name] for name in names]


def judgments_of(table: Any, *names: str) -> list[Column]:
    """Return columns of the judgments that count; the last is that of values."""
    arrow = pa.table(table)
    columns = _columns_of(arrow, *names)
    counted = columns[-1].is_valid()
    for name, expected in (("used", True), ("control", False)):
        if name in arrow.column_names:
            counted = pc.and_(counted, pc.equal(arrow[name].cast(pa.bool_()).fill_null(expected), expected))
    return [column.filter(counted).to_numpy() for column in columns]


def like(table: Any, result: pa.Table) -> Any:
    """Return a result as what a table is."""
    return result.to_pandas() if type(table).__module__.partition(".")[0] == "pandas" else result


def _table_of_units(judgments: Any, unit: str, units: Column, columns: Mapping[str, Any]) -> Any:
    if unit in columns:
        raise BadShape(f"unit is {unit!r}, expected another name than {', '.join(columns)}")
    return like(judgments, pa.table({unit: units, **columns}))


def _required(column: Any, name: str) -> Any:
    if column is None:
        raise BadShape(f"{name} is missing, expected a table, or a column for each argument")
    return column


def _refuse_beside_table(**columns: Any) -> None:
    for name, column in columns.items():
        if column is not None:
            raise BadShape(f"{name} is given beside a table, expected options by their names")
