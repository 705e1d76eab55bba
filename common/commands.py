"""The base class of all commands, with one-line errors and a progress bar."""

from __future__ import annotations

import os
import re
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from django.core.checks import Tags
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, ProgrammingError, connections
from rest_framework.exceptions import ValidationError

from common.audit import acting_as
from common.errors import QuorumError, sentence_of
from common.files import check_writable_path, write_json
from quorum.numeric.names import nearest_name
from quorum.numeric.parallel import LocalPool, use_pool

# Checks of the installation. Django's other checks are about the code and import all pages; `manage.py check` does
# them.
START_CHECKS = [Tags.security, Tags.database]
SECONDS_BEFORE_BAR = 1.0  # a bar is drawn for work that takes longer
# hints about options in error messages, such as " (--header-row N)"
OPTION_HINT = re.compile(r" \(--([a-z][a-z-]*)\b[^()]*\)")
# the message of argparse, with the wrong value and the list of possible values, quoted or not, by Python's version
WRONG_CHOICE = re.compile(r"invalid choice: '?([^' ]+)'? \(choose from (.+)\)")
ReportProgress = Callable[[float, str], None]


class QuorumCommand(BaseCommand):
    """A command that reports errors in one line.

    An exception in ``named_errors``, refused parameters, and errors of the database or of a file end the command with
    code 1; a wrong option ends it with code 2.

    Attributes:
        example: a call of the command, which is printed at the end of ``--help``.
        workers_option: the name of the option for the number of processes; "" for a command whose work is not divided.
    """

    name = ""
    example = ""
    requires_system_checks = START_CHECKS
    # Options that Django gives to every command; they work, but are not listed in --help.
    suppressed_base_arguments = {
        "--version", "--verbosity", "--settings", "--pythonpath", "--traceback", "--no-color", "--force-color",
    }  # fmt: skip
    named_errors: tuple[type[Exception], ...] = (QuorumError,)
    workers_option = ""

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(
            prog_name, subcommand, formatter_class=RawDescriptionHelpFormatter, **kwargs
        )
        command = f"manage.py {self.name}"  # in the example; users may type ``quorum``, and call_command has no name
        example = self.example.replace(command, parser.prog) if prog_name else self.example
        parser.epilog = f"Example:\n  {example}"
        parser.error = partial(_exit_with_error, parser)  # type: ignore[method-assign]
        if self.workers_option:
            parser.add_argument(
                self.workers_option,
                dest="processes",
                type=positive_number,
                default=1,
                metavar="N",
                help="processes that share the work; the result is the same (default: %(default)s)",
            )
        return parser

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            with acting_as(lambda: None, origin="command", origin_detail=self.name):  # no account acts
                if options.get("writes_output") and options["output"]:
                    check_writable_path(options["output"])
                if not self.workers_option:
                    return super().execute(*args, **options)
                with use_pool(LocalPool(options.get("processes", 1), _close_connections)):
                    return super().execute(*args, **options)
        except ValidationError as error:
            raise CommandError(sentence_of(error.detail)) from error
        except self.named_errors as error:
            raise CommandError(_remove_hints_about_other_options(str(error), options)) from error
        except (OperationalError, ProgrammingError) as error:
            message = str(error).splitlines()[0]
            has_no_tables = "no such table" in message or "does not exist" in message
            advice = " The command `prepare` (or the first `make run`) sets it up." if has_no_tables else ""
            raise CommandError(f"The database cannot be used ({message}).{advice}") from error
        except BrokenPipeError:
            # The reader of the pipe (`| head`) has closed it. Prevent another error when Python flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return None
        except OSError as error:
            location = f"{error.filename}: " if error.filename else ""
            raise CommandError(f"{location}{error.strerror or error}.") from error

    def add_output(
        self, parser: ArgumentParser, help: str = "write all figures there as JSON", **options: Any
    ) -> None:
        """Add the option ``--output`` for a file. The command first checks that the file can be written."""
        parser.set_defaults(writes_output=True)
        parser.add_argument("--output", type=Path, help=help, **options)

    def write_output(self, options: dict[str, Any], value: Any) -> None:
        """Write a value as JSON to the file that ``--output`` names, if it is set."""
        if options["output"]:
            write_json(options["output"], value)

    def say_tables(self, tables: Iterable[Any]) -> None:
        """Print tables (``evaluation.presentation.content.Table``) with their titles."""
        for table in tables:
            self.say(f"\n{table.title}")
            for line in table.lines():
                self.say(f"  {line}")

    def say(self, text: str = "") -> None:
        self.stdout.write(text)


def _remove_hints_about_other_options(sentence: str, options: Collection[str]) -> str:
    """Remove hints "(--option ...)" from an error message if this command lacks the option.

    Several commands read the same files and thus share messages.
    """
    return OPTION_HINT.sub(lambda hint: hint[0] if hint[1].replace("-", "_") in options else "", sentence)


def _close_connections() -> None:
    """Close database connections, which child processes must not share.

    A connection in a transaction stays open. Child processes must not use the database then.
    """
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()


def positive_number(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise ArgumentTypeError(f"{text!r} is no whole number from 1 on")
    return int(text)


def _exit_with_error(parser: CommandParser, message: str) -> NoReturn:
    """Exit with one line about a wrong option or value, without argparse's usage text."""
    if not parser.called_from_command_line:
        raise CommandError(message)
    suggestion = ""
    if wrong_choice := WRONG_CHOICE.search(message):
        suggestion = nearest_name(wrong_choice[1], re.split("[', ]+", wrong_choice[2].strip("'")))
    elif message.startswith("unrecognized arguments: --"):
        suggestion = nearest_name(message.split()[2], parser._option_string_actions)
    question = f" did you mean {suggestion}?" if suggestion else ""
    parser.exit(2, f"{parser.prog}: {message};{question} --help has an example.\n")


@contextmanager
def progress_bar() -> Iterator[ReportProgress]:
    """Yield a function that reports progress: the share of the work that is done, and a message.

    On a terminal, the function draws a progress bar after SECONDS_BEFORE_BAR.
    """
    if not sys.stderr.isatty():
        yield lambda share, message: None
        return
    from rich.console import Console  # imported late, since it is needed only on a terminal
    from rich.progress import Progress

    console = Console(stderr=True)
    started_at = time.monotonic()
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("", total=1.0, visible=False)

        def update_bar(share: float, message: str) -> None:
            bar.update(
                task,
                completed=share,
                description=message,
                visible=time.monotonic() - started_at > SECONDS_BEFORE_BAR,
            )

        yield update_bar
