"""Make the documentation's page of papers' numbers beside Quorum's values, from stored tables of how far they match."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from contrib.packs.reading import shipped_packs
from contrib.packs.verdict_tables import COLUMNS, markdown_row, rows_in_full
from contrib.packs.verdicts import NOT_REPRODUCIBLE

TABLES_FOLDER = Path(__file__).resolve().parents[2] / "docs" / "figures" / "papers"


def published_numbers() -> Iterator[str]:
    """Yield the page as Markdown: for each pack (a paper), the table that ``replicate all`` wrote into TABLES_FOLDER.

    Numbers that are not reproducible are listed by reason instead of in the table.
    """
    yield "# Published numbers, one by one\n\nHow they are computed is in [Papers, run again](../contrib/packs.md)."
    for pack in shipped_packs():
        with (TABLES_FOLDER / f"{pack.name}-numbers.csv").open(encoding="utf-8", newline="") as file:
            _header, *stored_rows = csv.reader(file)
        rows = list(rows_in_full(stored_rows))  # with the cells that are stored "as above"
        yield f"\n## {pack.name}\n\n{pack.contents.title}.\n"
        yield from _table([row for row in rows if row[COLUMNS.index("verdict")] != NOT_REPRODUCIBLE])
        numbers_by_reason: dict[str, list[str]] = {}
        for place, number, published_value, *_, verdict, why in rows:
            if verdict == NOT_REPRODUCIBLE:
                numbers_by_reason.setdefault(why, []).append(f"{place}: {number}: {published_value}")
        for why, numbers in numbers_by_reason.items():
            yield f"\nNot reproducible: {why}.\n"
            yield from (f"- {number}" for number in numbers)


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if rows:
        yield markdown_row(COLUMNS)
        yield markdown_row(["---"] * len(COLUMNS))
        yield from map(markdown_row, rows)
