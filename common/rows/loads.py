"""Settings of the interpreter and of the database for reading and writing many rows, and the last row of a table."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import connection, models, transaction

MIN_REINDEXED_ROWS = 50_000  # new rows from which on rebuilding indexes is faster than extending them
LOCK_TIMEOUT = "500ms"  # longest wait of `last_row_id` for its lock, behind which submissions wait
CACHE_KIB = 64 * 1024  # SQLite's page cache, which is 2 MB by default


@contextmanager
def many_objects() -> Iterator[None]:
    """Switch off the cyclic garbage collector in a block that creates millions of objects without cycles.

    Its passes over all objects could take as long as creating them.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def large_cache() -> Iterator[None]:
    """Give SQLite a large page cache in a block that writes about a million rows.

    With the usual 2 MB, it writes index pages to the disk and reads them again thousands of times.
    """
    with _with_pragma("cache_size", -CACHE_KIB):  # negative for KiB, positive for pages
        yield


@contextmanager
def trusted_keys() -> Iterator[None]:
    """Let SQLite store rows in the block without checking foreign keys.

    Use it only for a transaction that itself reads or writes all rows to which its new rows refer, and deletes
    nothing. If a transaction has already begun, keys are checked.
    """
    with _with_pragma("foreign_keys", 0):
        yield


@contextmanager
def _with_pragma(name: str, value: int) -> Iterator[None]:
    """Change a setting of SQLite for the block. Do nothing with another database."""
    if connection.vendor != "sqlite":
        yield
        return
    connection.ensure_connection()
    # Do not use Django's cursor, which raises after an error in a transaction.
    database: Any = connection.connection
    (previous_value,) = database.execute(f"PRAGMA {name}").fetchone()
    database.execute(f"PRAGMA {name} = {value}")
    try:
        yield
    finally:
        if connection.connection is database:  # false if an error has closed the connection
            database.execute(f"PRAGMA {name} = {previous_value}")


@contextmanager
def indexes_built_after(model: type[models.Model], *, rows: int) -> Iterator[None]:
    """Let SQLite build a table's indexes after the block has written ``rows`` rows, if these are most of the table.

    Sorting once takes a fraction of the time of a million inserts into each index. Use it within a transaction. With
    PostgreSQL it does nothing, since building indexes would lock the table.
    """
    table = model._meta.db_table
    old_rows = model._default_manager.order_by()
    # the slice has a row if the table already has more rows than will be written
    if connection.vendor != "sqlite" or rows < MIN_REINDEXED_ROWS or old_rows[rows : rows + 1].exists():
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = %s AND sql IS NOT NULL",
            [table],
        )
        indexes = cursor.fetchall()
        for name, _ in indexes:
            cursor.execute(f"DROP INDEX {connection.ops.quote_name(name)}")
    yield  # after an error, the transaction is rolled back
    with connection.cursor() as cursor:
        for _, definition in indexes:
            cursor.execute(definition)


def drop_key_indexes(app_label: str, columns: Mapping[str, Sequence[str]]) -> Callable[[Any, Any], None]:
    """Return a function for RunPython that drops redundant indexes of foreign keys, if they exist.

    The indexes are found by their columns, since their names contain a hash.

    Args:
        columns: the columns of the foreign keys, by model.
    """

    def drop_indexes(apps: Any, editor: Any) -> None:
        for model, names in columns.items():
            table = apps.get_model(app_label, model)._meta.db_table
            with editor.connection.cursor() as cursor:
                constraints = editor.connection.introspection.get_constraints(cursor, table)
            for index, constraint in constraints.items():
                is_of_key = constraint["columns"] in [[name] for name in names]
                if is_of_key and constraint["index"] and not constraint["unique"]:
                    editor.execute(f"DROP INDEX {editor.quote_name(index)}")

    return drop_indexes


def refresh_statistics(*tables: type[models.Model]) -> None:
    """Update PostgreSQL's statistics of tables in the current transaction.

    Autovacuum updates them only after about a minute. Until then, a claim in a new study of 10,000 HITs takes 50 %
    longer.
    """
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"ANALYZE {connection.ops.quote_name(table._meta.db_table)}")


def last_row_id(model: type[models.Model]) -> int:
    """Return the highest id of a table's rows, when no row with a lower id can appear any more; 0 without rows.

    PostgreSQL assigns ids before a transaction commits, so a row with a lower id may appear later. Therefore take a
    lock, which waits for all writers, and release it. After LOCK_TIMEOUT, OperationalError is raised.
    """
    with transaction.atomic():
        if connection.vendor == "postgresql":  # SQLite has only one writer
            with connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
                cursor.execute(f'LOCK TABLE "{model._meta.db_table}" IN SHARE MODE')
        last_id = model._default_manager.aggregate(last=models.Max("pk"))["last"] or 0
        if connection.vendor == "postgresql":
            transaction.set_rollback(True)  # releases the lock and resets the timeout
    return last_id
