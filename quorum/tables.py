"""The library's functions under short names, for columns and for tables, to use in a notebook.

A table is a pandas DataFrame, an Arrow table, or another object with columns and Arrow's PyCapsule interface (such as a
polars DataFrame). A table of judgments has the columns `unit`, `worker` and `value` of an exported judgment set; the
keyword arguments `unit`, `worker` and `value` name other columns. As in the command `agreement`, some rows are left
out if the table has the columns that mark them: rows without a value, of check questions (`control`), and of judgments
that do not count (`used` is false).

A coefficient returns its signed result with an interval. For a table, results with a row for each unit, system or
caption are a table too: pandas for pandas, else Arrow. For columns, the functions return the same as the functions of
`quorum.statistics` and `quorum.metrics`, which document options, fields and sources.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from quorum.columns import (
    accepting_tables,
    is_table,
    match_table_type,
    named_columns,
    read_judgments,
    refuse_beside_table,
    required_column,
    table_of_units,
)
from quorum.metrics import InvalidInput
from quorum.metrics import score as score_texts
from quorum.statistics import aggregation
from quorum.statistics.agreement import (
    AgreementResult,
    alpha_interval,
    fleiss_interval,
    kappa_interval,
    ratings_of_judgments,
)
from quorum.statistics.agreement.alpha import alpha_of_judgments
from quorum.statistics.inputs import BadShape, BadValue

METRICS = ("bleu-4", "rouge-l", "cider-d")
dawid_skene = accepting_tables(aggregation.dawid_skene)
glad = accepting_tables(aggregation.glad)
mace = accepting_tables(aggregation.mace)


def score(candidates: Any, references: Any = None, metrics: Iterable[str] = METRICS, **options: Any) -> Any:
    """Score n candidates against n lists of references. Options are as in `quorum.metrics.score`.

    Given a table with the columns `candidate` and `references` (lists of texts), return the table with a column for
    each metric added. Raise InvalidInput if references are given besides a table.
    """
    if not is_table(candidates):
        return score_texts(candidates, references, metrics, **options)
    if references is not None:
        raise InvalidInput("references are given beside a table, expected them in its column references")
    table = pa.table(candidates)
    texts, lists = (column.to_pylist() for column in named_columns(table, "candidate", "references"))
    scores = score_texts(texts, lists, metrics, **options)
    for name, metric_score in scores.scores.items():
        table = table.append_column(name, pa.array(metric_score.images))
    return match_table_type(candidates, table)


def alpha(
    judgments: Any,
    level: str = "nominal",
    *,
    unit: str = "unit",
    worker: str = "worker",
    value: str = "value",
    **options: Any,
) -> AgreementResult:
    """Return Krippendorff's alpha of judgments, or of a (raters, units) array in which nan is a missing answer.

    Values are used as they are, and units are regarded as independent. By contrast, the command `agreement` reads the
    protocol of an export, counts choices between two texts also with the texts exchanged, and clusters units by item.
    """
    if is_table(judgments):
        units, workers, values = read_judgments(judgments, unit, worker, value)
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

    Units judged by only one of the two are left out. For judgments of more than two workers, return Fleiss' kappa.
    """
    if not is_table(first):
        if second is None:
            raise BadShape("second is missing, expected the answers of another rater")
        return kappa_interval(first, second, weights, **options)
    refuse_beside_table(second=second)
    ratings = ratings_of_judgments(*read_judgments(first, unit, worker, value))
    if len(ratings.raters) != 2:
        if weights is not None:
            raise BadShape(f"there are {len(ratings.raters)} workers, expected two for a weighted kappa")
        # Unless the caller passes clusters, the interval is for other units and other workers.
        return fleiss_interval(ratings, **{"clusters": "both", **options})
    answers = np.full((2, len(ratings.units)), -1)
    answers[ratings.rater, ratings.unit] = ratings.code
    judged_by_both = (answers >= 0).all(axis=0)  # -1 stands for no answer
    codes, other_codes = answers[:, judged_by_both]
    # Unless the caller passes clusters, the interval is for other units, but for these two workers alone.
    options = {"labels": ratings.labels, "clusters": {"item": np.flatnonzero(judged_by_both)}, **options}
    return kappa_interval(ratings.labels[codes], ratings.labels[other_codes], weights, **options)


def majority_vote(
    judgments: Any,
    values: Iterable[Any] | None = None,
    *,
    unit: str = "unit",
    value: str = "value",
    **options: Any,
) -> Any:
    """Return the most frequent answer of each unit.

    For a table, return a table with the columns `unit`, `winner`, `share` (of the votes) and `votes`.
    """
    if not is_table(judgments):
        return aggregation.majority_vote(judgments, required_column(values, "values"), **options)
    refuse_beside_table(values=values)
    votes = aggregation.majority_vote(*read_judgments(judgments, unit, value), **options)
    columns = {"winner": votes.values(), "share": votes.share, "votes": votes.n}
    return table_of_units(judgments, unit, votes.units, columns)


def bradley_terry(comparisons: Any, **options: Any) -> Any:
    """Fit strengths to a (K, K) array of wins, or to a table with `first`, `second` and `winner` (1, 2, or 0: neither).

    For a table, return a table with the columns `item`, `log_strength`, `low` and `high` (its interval), strongest
    item first. Raise BadValue if the likelihood has no maximum, for example because an item never loses;
    `prior=0.5` then helps.
    """
    if not is_table(comparisons):
        return aggregation.bradley_terry(comparisons, **options)
    fit = aggregation.bradley_terry_of_comparisons(
        *(column.to_numpy() for column in named_columns(comparisons, "first", "second", "winner")), **options
    )
    if not np.isfinite(fit.log_strength).all():
        raise BadValue(fit.reason)
    columns = {"item": fit.items, "log_strength": fit.log_strength, "low": fit.low, "high": fit.high}
    return match_table_type(
        comparisons, pa.table({name: column[fit.order] for name, column in columns.items()})
    )
