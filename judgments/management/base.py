"""What every command of Quorum shares: errors as one line, a progress bar on a terminal, files whole or not at all."""

from __future__ import annotations

import os
import sys
import time
from argparse import RawDescriptionHelpFormatter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, ProgrammingError
from rich.console import Console
from rich.progress import Progress

from common.errors import QuorumError
from judgments.datasets.importing import ImportSummary
from judgments.studies.generation import Progress as Report
from judgments.studies.generation import no_progress

SILENT_SECONDS = 1.0


class QuorumCommand(BaseCommand):
    """A command that does its work itself and has stored everything when it returns.

    ``example`` ends ``--help``, which keeps the line breaks of ``help``. An exception in ``named_errors`` ends the
    command with its message and exit code 1.
    """

    example = ""
    named_errors: tuple[type[Exception], ...] = (QuorumError,)

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(
            prog_name,
            subcommand,
            epilog=f"Example:\n  {self.example}",
            formatter_class=RawDescriptionHelpFormatter,
            **kwargs,
        )
        parser.error = partial(_wrong_call, parser)  # type: ignore[method-assign]
        return parser

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except self.named_errors as error:
            raise CommandError(str(error)) from error
        except (OperationalError, ProgrammingError) as error:
            said = str(error).splitlines()[0]
            empty = "no such table" in said or "does not exist" in said
            advice = " `manage.py prepare` (or the first `make run`) sets it up." if empty else ""
            raise CommandError(f"The database cannot be used ({said}).{advice}") from error
        except BrokenPipeError:
            # the reader (`| head`) has had enough; Python would complain once more while it flushes at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return None
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise CommandError(f"{where}{error.strerror or error}.") from error

    def say(self, text: str = "") -> None:
        self.stdout.write(text)

    def say_import(self, what: str, summary: ImportSummary) -> None:
        """Print an import's non-zero counts and handled quirks."""
        done = "imported" if summary.created else "was there already with the same rows; nothing changed"
        self.say(f"{what} {summary.what}: {done}.")
        for name, count in summary.counts.items():
            if count:
                self.say(f"  {count:>9,} {name}")
        for note in summary.notes:
            self.say(f"  {note}")


def _wrong_call(parser: CommandParser, message: str) -> NoReturn:
    """Replace argparse's usage of several lines."""
    if not parser.called_from_command_line:
        raise CommandError(message)
    parser.exit(2, f"{parser.prog}: {message}; --help has an example.\n")


@contextmanager
def progress_bar() -> Iterator[Report]:
    """Yield a function ``(share, words)`` that draws a bar on a terminal after a second."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield no_progress
        return
    started = time.monotonic()
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("", total=1.0, visible=False)

        def show(share: float, words: str) -> None:
            bar.update(
                task, completed=share, description=words, visible=time.monotonic() - started > SILENT_SECONDS
            )

        yield show
