"""Read columns of tables for the functions of `quorum.tables`, and return results as tables of the same type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from quorum.statistics.aggregation.aggregated_labels import WorkerModel
from quorum.statistics.inputs import BadShape

Column = np.ndarray[Any, Any]


def is_table(data: Any) -> TypeGuard[Any]:
    """Return whether the data have columns, and can be read by Arrow (its PyCapsule interface)."""
    return hasattr(data, "__arrow_c_stream__") and hasattr(data, "columns")


def named_columns(table: Any, *names: str) -> list[pa.ChunkedArray]:
    """Return the named columns of a table. Raise BadShape if the table has no column of a name."""
    arrow = pa.table(table)
    for name in names:
        if name not in arrow.column_names:
            raise BadShape(f"the table has the columns {', '.join(arrow.column_names)}, expected also {name}")
    return [arrow[name] for name in names]


def read_judgments(table: Any, *names: str) -> list[Column]:
    """Return the named columns, without rows of control items, unused judgments and missing values.

    The last of `names` is the column of values.
    """
    arrow = pa.table(table)
    columns = named_columns(arrow, *names)
    is_kept = columns[-1].is_valid()
    # A row counts if it is used and no control item; where the table does not say so, it counts.
    for name, kept_value in (("used", True), ("control", False)):
        if name in arrow.column_names:
            flags = arrow[name].cast(pa.bool_()).fill_null(kept_value)
            is_kept = pc.and_(is_kept, pc.equal(flags, kept_value))
    return [column.filter(is_kept).to_numpy() for column in columns]


def match_table_type(table: Any, result: pa.Table) -> Any:
    """Return the result as a pandas DataFrame if `table` is one, else as an Arrow table."""
    return result.to_pandas() if type(table).__module__.partition(".")[0] == "pandas" else result


def table_of_units(judgments: Any, unit: str, units: Column, columns: Mapping[str, Any]) -> Any:
    """Return a table of the type of `judgments` with a row for each unit, whose names are in the column `unit`.

    Raise BadShape if one of the other columns has that name.
    """
    if unit in columns:
        raise BadShape(f"unit is {unit!r}, expected another name than {', '.join(columns)}")
    return match_table_type(judgments, pa.table({unit: units, **columns}))


def accepting_tables(fit: Callable[..., WorkerModel]) -> Callable[..., Any]:
    """Return a function like `fit` (`dawid_skene`, `glad` or `mace`) that also accepts a table in place of columns."""

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
            return fit(
                judgments, required_column(workers, "workers"), required_column(values, "values"), **options
            )
        refuse_beside_table(workers=workers, values=values)
        model = fit(*read_judgments(judgments, unit, worker, value), **options)
        columns = {"winner": model.values(), "probability": model.posterior.max(axis=1)}
        return table_of_units(judgments, unit, model.units, columns)

    model_of.__name__ = fit.__name__
    model_of.__doc__ = (
        f"{fit.__doc__}\n    Of a table of judgments, return `unit`, `winner` and its `probability`.\n    "
    )
    return model_of


def required_column(column: Any, name: str) -> Any:
    if column is None:
        raise BadShape(f"{name} is missing, expected a table, or a column for each argument")
    return column


def refuse_beside_table(**columns: Any) -> None:
    for name, column in columns.items():
        if column is not None:
            raise BadShape(f"{name} is given beside a table, expected options by their names")
