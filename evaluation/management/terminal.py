"""How commands talk to a person: a progress bar on a terminal once the work takes longer than a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from evaluation.services.aggregation import no_progress

SILENT_SECONDS = 1.0


@contextmanager
def progress_bar() -> Iterator[Callable[[float, str], None]]:
    """A ``progress(share, words)`` for services; silent where standard error is no terminal."""
    if not sys.stderr.isatty():
        yield no_progress
        return
    started = time.monotonic()
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0, visible=False)

        def show(share: float, words: str = "") -> None:
            late = time.monotonic() - started > SILENT_SECONDS
            bar.update(task, completed=share, description=words, visible=late)

        yield show


def print_table(stream: Any, title: str, columns: list[str], rows: list[list[str]]) -> None:
    """A table on ``stream`` (a command's stdout): words to the left, figures to the right."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    wide = max([sum(map(len, row)) + 3 * len(row) for row in [columns, *rows]] + [len(title), 80])
    Console(file=stream, width=wide, highlight=False, markup=False).print(table)
