"""What every command of Quorum shares: errors as one line, a progress bar on a terminal, files whole or not at all."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from judgments.errors import QuorumError
from judgments.services.generation import Progress as Report
from judgments.services.importing import ImportSummary


class QuorumCommand(BaseCommand):
    """A command that does its work itself and has stored everything when it returns.

    ``example`` is shown by ``--help``. A named error ends the command with its one sentence and exit code 1.
    """

    example = ""

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """``--help`` ends with the example."""
        return super().create_parser(prog_name, subcommand, epilog=f"Example: {self.example}", **kwargs)

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Named errors and unusable paths become one line."""
        try:
            return super().execute(*args, **options)
        except QuorumError as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise CommandError(f"{where}{error.strerror or error}.") from error

    def say(self, text: str = "") -> None:
        """A line on standard output."""
        self.stdout.write(text)

    def say_import(self, what: str, summary: ImportSummary) -> None:
        """What an import did: non-zero counts and the quirks that were handled, one a line."""
        done = "imported" if summary.created else "was there already with the same rows; nothing changed"
        self.say(f"{what} {summary.what}: {done}.")
        for name, count in summary.counts.items():
            if count:
                self.say(f"  {count:>9,} {name}")
        for note in summary.notes:
            self.say(f"  {note}")


@contextmanager
def progress_bar() -> Iterator[Report]:
    """A report function ``(share, words)`` that draws a bar where standard error is a terminal.

    The bar appears after the first report that comes with more than a second of work ahead; rich redraws it ten
    times a second whatever the number of reports.
    """
    console = Console(file=sys.stderr)
    if not console.is_terminal:
        yield lambda share, words: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda share, words: bar.update(task, completed=share, description=words)


def folder_of(path: Path) -> Path:
    """``path``, whose folder must exist.

    Raises:
        CommandError: it does not; checked before the work, not after it.
    """
    if not path.absolute().parent.is_dir():
        raise CommandError(f"{path.parent} is not a folder; expected one to write {path.name} to.")
    return path
