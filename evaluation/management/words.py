"""Format numbers and plain tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from common import amounts
from common.commands import QuorumCommand
from evaluation.report.content import Table


def coefficient(value: float | None) -> str:
    return "–" if value is None else amounts.coefficient(value)


def digits(value: float | None, places: int) -> str:
    return "–" if value is None else f"{value:.{places}f}"


def with_interval(figure: Mapping[str, Any]) -> str:
    """Format as ``.62 [.58, .66]``."""
    if figure["value"] is None:
        return "–"
    return f"{coefficient(figure['value'])} [{coefficient(figure['low'])}, {coefficient(figure['high'])}]"


def percent(share: float | None) -> str:
    return "–" if share is None else amounts.percent(share)


def say_tables(command: QuorumCommand, tables: Iterable[Table]) -> None:
    for table in tables:
        say_table(command, table.title, [column.name for column in table.columns], table.texts())


def say_table(
    command: QuorumCommand, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    command.say(f"\n{title}")
    for line in table_lines(columns, rows):
        command.say(f"  {line}")


def table_lines(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Align the first column left, and figures right."""
    widths = [max(len(row[index]) for row in (columns, *rows)) for index in range(len(columns))]
    return [
        "  ".join(
            cell.ljust(width) if index == 0 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (columns, *rows)
    ]
