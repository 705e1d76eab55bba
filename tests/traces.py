"""Words that are left in a database, whatever table and column they stand in."""

from collections.abc import Collection

from django.db import connection


def traces_of(words: Collection[str]) -> list[str]:
    """Return the tables, columns and beginnings of values that hold one of the words, in any case."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")  # noqa: S608 - our own names
            columns = [column[0] for column in cursor.description]
            for row in cursor.fetchall():
                for column, value in zip(columns, row, strict=True):
                    text = bytes(value).decode(errors="replace") if isinstance(value, bytes) else str(value)
                    found += [
                        f"{table}.{column}: {text[:200]}" for word in words if word.lower() in text.lower()
                    ]
    return found
