"""The columns of a bundle's tables, and tables that keep rows of these columns in little memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]  # a row of a table, by column, as in the bundle's file
# Columns kept in memory; TEXTS only if results need them. A proposal is a ranked output; full_depth: not stopped early.
UNIT_FIELDS = (
    "unit", "image", "reference", "first", "second", "pair", "kind", "control", "control_kind", "expected", "repeats",
    "struck", "filtered", "audited", "full_depth", "decided", "content",
)  # fmt: skip
TEXTS = ("reference_text", "first_text", "second_text")
TIMES = ("accepted_at", "submitted_at")  # columns of judgments
PAIR_FIELDS = (
    "pair", "kind", "image", "first", "second", "first_system", "second_system", "references", "published_winner",
)  # fmt: skip
SCORE_FIELDS = ("metric", "pair", "unit", "image", "caption", "first", "second")
CAPTION_FIELDS = ("caption", "text", "image", "document")
PROPOSAL_FIELDS = ("system", "task", "image", "caption", "query", "rank", "original")
CONTENT_FIELDS = ("system", "image", "names")  # of boxes or keywords that a system names for an image
UNIQUE_COLUMNS = frozenset({"unit", "text", *TEXTS})  # not interned, because each row has its own value


class CompactRow(tuple[Any, ...]):
    """A row with access by column, which needs a quarter of the memory of a dict."""

    __slots__ = ()
    column_positions: Mapping[str, int] = {}

    def __getitem__(self, name: Any) -> Any:
        return tuple.__getitem__(self, self.column_positions[name])


def make_row_class(*names: str) -> type[CompactRow]:
    positions = {name: position for position, name in enumerate(names)}
    return type("CompactRow", (CompactRow,), {"__slots__": (), "column_positions": positions})


@dataclass(slots=True)
class CompactRows:
    """Rows of a table. Equal strings are stored once, in ``interned``, which several tables share."""

    row_class: type[CompactRow]
    interned: dict[str, str]
    rows: list[Any] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows)

    def __getitem__(self, number: int) -> Any:
        return self.rows[number]

    def append(self, row: Row) -> None:
        """Add a row. Raise KeyError if the row lacks a column."""
        names = self.row_class.column_positions
        self.rows.append(self.row_class([self._shared_value(name, row[name]) for name in names]))

    def extend(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self.append(row)

    def _shared_value(self, name: str, value: Any) -> Any:
        """Return an equal value of the column ``name``, in which strings are shared with other rows."""
        if isinstance(value, str) and name not in UNIQUE_COLUMNS:
            return self.interned.setdefault(value, value)
        if isinstance(value, list):
            return [self._shared_value(name, element) for element in value]
        return value


def to_the_minute(time: str | None) -> str | None:
    """Set a time's seconds to 0, since exact times could be matched with the crowd platform's own records."""
    return f"{time[:16]}:00Z" if time else time
