"""Queries of a fixed shape, whose SQL Django makes once a process instead of at every call.

Making the SQL of a small query costs several times its execution, and so does PostgreSQL's plan. A request that many
people make at once declares its queries:

    OF_NAME = PreparedQuery(lambda: Worker.objects.filter(name=given("name", CharField())))
    OF_NAME.first(name="ada")

The shape includes whether a value is null, and how many values there are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from itertools import count
from types import SimpleNamespace
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db.models import BigAutoField, Expression, Field, QuerySet
from django.db.models.sql import UpdateQuery
from django.db.models.sql.constants import ROW_COUNT

Row = TypeVar("Row")


class _Given(Expression):
    def __init__(self, name: str, output_field: Field[Any, Any]) -> None:
        super().__init__(output_field=output_field)
        self.name = name

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        return "%s", [self]


def query_parameter(name: str, field: Field[Any, Any] | None = None) -> Any:
    """Return a parameter to which each call assigns a value by ``name``; without ``field`` it is a row id."""
    return _Given(name, field or BigAutoField())


@dataclass(frozen=True, slots=True)
class _Compiled:
    compiler: Any
    sql: str
    parameters: tuple[Any, ...]
    converters: Any

    @classmethod
    def of(cls, query: Any) -> _Compiled:
        compiler = query.get_compiler(using=DEFAULT_DB_ALIAS)
        sql, parameters = compiler.as_sql()
        columns = [column for column, _sql, _alias in compiler.select or ()]
        return cls(compiler, sql, tuple(parameters), compiler.get_converters(columns))

    def bound(self, values: dict[str, Any]) -> Any:
        """Return a compiler that runs the SQL with these values on this thread's connection."""
        here = connections[DEFAULT_DB_ALIAS]
        parameters = [
            parameter.output_field.get_db_prep_save(values[parameter.name], here)
            if isinstance(parameter, _Given)
            else parameter
            for parameter in self.parameters
        ]
        sql = as_prepared(self.sql, here) if here.vendor == "postgresql" else self.sql
        compiler = copy(self.compiler)
        compiler.connection = here
        compiler.as_sql = lambda: (sql, parameters)
        compiler.get_converters = lambda columns: self.converters
        return compiler


# connection to PostgreSQL -> SQL -> the statement that executes what the server has prepared for it
_prepared: WeakKeyDictionary[Any, dict[str, str]] = WeakKeyDictionary()


def as_prepared(sql: str, here: Any) -> str:
    """Return a statement equivalent to ``sql``, whose plan PostgreSQL keeps for the connection."""
    here.close_if_health_check_failed()
    here.ensure_connection()
    known = _prepared.setdefault(here.connection, {})
    if sql not in known:
        name, numbers = f"prepared_{len(known)}", count(1)
        numbered = re.sub("%[s%]", lambda match: "%" if match[0] == "%%" else f"${next(numbers)}", sql)
        with here.wrap_database_errors:
            here.connection.execute(f"PREPARE {name} AS {numbered}")
        known[sql] = f"EXECUTE {name} ({', '.join(['%s'] * (next(numbers) - 1))})"
    return known[sql]


class PreparedQuery(Generic[Row]):
    def __init__(self, make: Callable[[], QuerySet[Any, Row]]) -> None:
        self._make = make
        self._made: dict[str, tuple[QuerySet[Any, Row], _Compiled]] = {}

    def all(self, **values: Any) -> list[Row]:
        if connection.vendor not in self._made:
            queryset = self._make()
            self._made[connection.vendor] = queryset, _Compiled.of(queryset.query)
        queryset, compiled = self._made[connection.vendor]
        compiler = compiled.bound(values)
        iterable: Any = queryset._iterable_class
        # what Django's iterables ask of a queryset
        stand_in = SimpleNamespace(
            query=SimpleNamespace(get_compiler=lambda using: compiler),
            db=DEFAULT_DB_ALIAS,
            model=queryset.model,
            _known_related_objects={},
        )
        return list(iterable(stand_in))

    def first(self, **values: Any) -> Row | None:
        return next(iter(self.all(**values)), None)


class PreparedUpdate:
    """A guarded update with ``query_parameter`` values; calling it returns the number of changed rows."""

    def __init__(self, make: Callable[[], QuerySet[Any]], **changes: Any) -> None:
        self._make, self._changes = make, changes
        self._made: dict[str, _Compiled] = {}

    def __call__(self, **values: Any) -> int:
        if connection.vendor not in self._made:
            query: Any = self._make().query.chain(UpdateQuery)
            query.add_update_values(self._changes)
            self._made[connection.vendor] = _Compiled.of(query)
        with transaction.mark_for_rollback_on_error(DEFAULT_DB_ALIAS):
            changed: int = self._made[connection.vendor].bound(values).execute_sql(ROW_COUNT)
        return changed
