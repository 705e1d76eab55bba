"""What the database is asked, and how many rows each answer hands to Python."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from django.db import connection
from django.db.backends.utils import CursorWrapper


@dataclass
class Question:
    """A query, and the rows that were fetched of its answer."""

    sql: str
    rows: int = 0


@contextmanager
def questions() -> Iterator[list[Question]]:
    """The queries of a ``with`` block, whoever asks them, and however their rows are fetched."""
    asked: list[Question] = []

    class Counting(CursorWrapper):
        """Each cursor counts for the query that it asked last: while one is read, others may be asked."""

        def execute(self, sql: Any, params: Any = None) -> Any:
            asked.append(Question(str(sql)))
            self.own = asked[-1]
            return super().execute(sql, params)

        def fetchone(self) -> Any:
            row = self.cursor.fetchone()
            self.own.rows += row is not None
            return row

        def fetchmany(self, *size: int) -> Any:
            rows = self.cursor.fetchmany(*size)
            self.own.rows += len(rows)
            return rows

        def fetchall(self) -> Any:
            rows = self.cursor.fetchall()
            self.own.rows += len(rows)
            return rows

        def __iter__(self) -> Iterator[Any]:
            for row in self.cursor:
                self.own.rows += 1
                yield row

    def counting(cursor: Any) -> CursorWrapper:
        return Counting(cursor, connection)

    with (
        patch.object(connection, "make_cursor", counting),
        patch.object(connection, "make_debug_cursor", counting),
    ):
        yield asked
