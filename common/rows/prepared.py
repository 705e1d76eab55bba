"""Queries of frequent requests, whose SQL is generated once.

For a small query, generating the SQL takes several times as long as executing it, and so does PostgreSQL's planning.
Therefore frequent requests declare their queries, and Django generates the SQL only once in each process:

    OF_NAME = PreparedQuery(lambda: Worker.objects.filter(name=query_parameter("name", CharField())))
    OF_NAME.first(name="ada")

The form of such a query is fixed, including whether a value is null, and the number of values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, Generic, NamedTuple, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db.models import BigAutoField, Expression, Field, QuerySet
from django.db.models.sql import UpdateQuery

Row = TypeVar("Row")


class _Parameter(Expression):
    """A placeholder in a query. Its SQL has the placeholder itself as parameter, which each call replaces."""

    def __init__(self, name: str, output_field: Field[Any, Any]) -> None:
        super().__init__(output_field=output_field)
        self.name = name

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        return "%s", [self]


def query_parameter(name: str, field: Field[Any, Any] | None = None) -> Any:
    """Return a placeholder for a value that each call passes by ``name``. Without ``field``, the value is a row id."""
    return _Parameter(name, field or BigAutoField())


def _bind_parameters(parameters: Sequence[Any], values: Mapping[str, Any]) -> list[Any]:
    """Return the parameters of a statement. Replace placeholders by their values, converted for the database."""
    return [
        parameter.output_field.get_db_prep_save(values[parameter.name], connection)
        if isinstance(parameter, _Parameter)
        else parameter
        for parameter in parameters
    ]


@contextmanager
def server_side_plans() -> Iterator[None]:
    """Let PostgreSQL keep the plans of statements that the block executes.

    psycopg prepares statements whose values are sent separately (``prepare_threshold`` in the settings). Django's
    cursors insert the values into the text. The option ``server_side_binding`` would change that for all queries, but
    PostgreSQL refuses some queries then, because types are missing. Without stored plans, a submission takes 1.2 times
    as long.
    """
    if connection.vendor != "postgresql":
        yield
        return
    from psycopg import Cursor

    connection.ensure_connection()
    database: Any = connection.connection
    previous_factory = database.cursor_factory
    database.cursor_factory = Cursor
    try:
        yield
    finally:
        database.cursor_factory = previous_factory


class _CompiledQuery(NamedTuple):
    """A queryset, with the compiler and the SQL that Django made for it.

    Attributes:
        parameters: the values of the statement, and the placeholders that calls replace.
    """

    queryset: QuerySet[Any, Any]
    compiler: Any
    sql: str
    parameters: Sequence[Any]


class PreparedQuery(Generic[Row]):
    """A query whose SQL is generated once.

    If SQL is generated at each call, a submission takes 1.8 times as long, and 2.5 times if querysets are built, too.
    """

    def __init__(self, make_query: Callable[[], QuerySet[Any, Row]]) -> None:
        self._make_query = make_query
        self._compiled: dict[str, _CompiledQuery] = {}  # by vendor of the database

    def all_rows(self, **values: Any) -> list[Row]:
        if connection.vendor not in self._compiled:
            self._compiled[connection.vendor] = self._compile()
        compiled_query = self._compiled[connection.vendor]
        # Evaluate a copy of the queryset, with a compiler that returns the stored SQL.
        bound_parameters = _bind_parameters(compiled_query.parameters, values)
        compiler = copy(compiled_query.compiler)
        compiler.connection = connections[DEFAULT_DB_ALIAS]  # the connection of this thread
        compiler.as_sql = lambda: (compiled_query.sql, bound_parameters)
        rows: Any = compiled_query.queryset.all()
        rows.query.get_compiler = lambda using: compiler
        with server_side_plans():
            return list(rows)

    def _compile(self) -> _CompiledQuery:
        queryset = self._make_query()
        compiler: Any = queryset.query.get_compiler(DEFAULT_DB_ALIAS)
        sql, parameters = compiler.as_sql()
        converters = compiler.get_converters([column for column, _sql, _alias in compiler.select])
        compiler.get_converters = lambda columns: converters  # they depend only on the columns
        return _CompiledQuery(queryset, compiler, sql, parameters)

    def first(self, **values: Any) -> Row | None:
        return next(iter(self.all_rows(**values)), None)


class PreparedUpdate:
    """An update of the rows of a query with ``query_parameter`` values. A call returns the number of changed rows.

    Its SQL is generated once. If it were generated at each call, a submission would take 1.15 times as long.
    """

    def __init__(self, make_query: Callable[[], QuerySet[Any]], **changes: Any) -> None:
        self._make_query = make_query
        self._changes = changes
        self._compiled: dict[str, tuple[str, Sequence[Any]]] = {}

    def __call__(self, **values: Any) -> int:
        if connection.vendor not in self._compiled:
            query: Any = self._make_query().query.chain(UpdateQuery)
            query.add_update_values(self._changes)
            self._compiled[connection.vendor] = query.sql_with_params()
        sql, parameters = self._compiled[connection.vendor]
        with (
            transaction.mark_for_rollback_on_error(DEFAULT_DB_ALIAS),
            server_side_plans(),
            connection.cursor() as cursor,
        ):
            cursor.execute(sql, _bind_parameters(parameters, values))
            return cursor.rowcount
