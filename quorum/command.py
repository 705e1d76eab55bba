"""The command ``quorum``, which finds a subcommand by its words, such as "dataset import", and runs it.

The command line is a list of words and options, such as ["dataset", "import", "captions.json"]. An installed Quorum
keeps its data in a folder, which is set before Django's settings are read. The module also prints shell completions.
"""

from __future__ import annotations

import os
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.numeric.names import nearest_name
from quorum.subcommands import COMMANDS_OUTSIDE_DJANGO, PLATFORM_COMMANDS, CommandTable

if TYPE_CHECKING:
    from django.core.management.base import BaseCommand

PACKAGE_DIR = Path(__file__).resolve().parent
IS_INSTALLED = (PACKAGE_DIR / "platform").is_dir()
# The folder of apps, settings and templates: in a clone it contains this package; an installed package contains it.
PLATFORM = PACKAGE_DIR / "platform" if IS_INSTALLED else PACKAGE_DIR.parent
DATA_FOLDER = "quorum-data"
INITIALISE_ZSH_COMPLETION = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }"
HELP_OPTIONS = {"-h", "--help"}


def main() -> None:
    """Run the command line, or print completions if a shell asks for them."""
    if str(PLATFORM) not in sys.path:
        sys.path.insert(0, str(PLATFORM))
    line = sys.argv[1:]
    if "_ARGCOMPLETE" in os.environ:  # set by the shell's completion
        _print_completions(os.environ["COMP_LINE"].split()[1:])
    elif line == ["--version"]:
        from quorum.numeric.signatures import quorum_version

        sys.stdout.write(f"quorum {quorum_version()}\n")
    else:
        _run_line([*line[1:], "--help"] if line[:1] == ["help"] else line)


@cache
def commands_of_environment() -> CommandTable:
    """Return the subcommands of the platform and of the enabled features."""
    from django.core.exceptions import ImproperlyConfigured

    from config.features import active_features, feature_names_in

    _read_settings_file(Path(os.environ.get("ENV_FILE") or (".env" if IS_INSTALLED else PLATFORM / ".env")))
    try:
        features = active_features(feature_names_in(os.environ.get("CONTRIB_APPS"))).values()
        return CommandTable(
            *(feature.commands for feature in features),
            without_data={name for feature in features for name in feature.commands_without_data},
        )
    except ImproperlyConfigured as error:
        sys.exit(str(error))


def _read_settings_file(path: Path) -> None:
    if path.is_file():
        from environ import Env

        Env.read_env(path.resolve())


def commands_for(line: list[str]) -> CommandTable:
    """Return the subcommands among which the subcommand of a command line is looked up.

    They include those of features only if the line begins with none of the platform's, as loading features takes time.
    """
    known_commands = {*PLATFORM_COMMANDS.names, *PLATFORM_COMMANDS.paths, *COMMANDS_OUTSIDE_DJANGO}
    possible_commands = {" ".join(line[:2]), *line[:1]}
    return PLATFORM_COMMANDS if known_commands & possible_commands else commands_of_environment()


def _run_line(line: list[str]) -> None:
    """Run a subcommand, or print the help of Quorum or of a group of subcommands."""
    word = line[0] if line else "--help"
    table = commands_for(line)
    command, args = split_words(line)
    if word in HELP_OPTIONS:
        sys.stdout.write(table.page())
    elif word == "run":
        _serve_pages(args)
    elif word == "completion":
        _print_completion(args)
    elif word in table.groups and " " not in command:  # `quorum dataset` without one of its subcommands
        if args and args[0] not in HELP_OPTIONS:
            suggestion = nearest_name(" ".join(line[:2]), table.names)
            guess = f"did you mean `quorum {suggestion}`? " if suggestion.startswith(f"{word} ") else ""
            sys.exit(f"quorum {word}: {args[0]!r} is none of its words; {guess}`quorum {word}` lists them.")
        sys.stdout.write(table.page(word))
    else:
        # The command's name in `manage.py`. Django's own commands, such as `migrate`, keep their names.
        name, asks_for_help = table.names.get(command, command), bool(HELP_OPTIONS.intersection(args))
        # `prepare` may create the folder; `without_data` has the commands that need none, `paths` all but Django's own.
        with _using_data_folder(may_create=name == "prepare" and not asks_for_help) as missing_folder:
            if name not in table.paths:
                _check_known(name)
            if missing_folder and not asks_for_help and name not in table.without_data:
                sys.exit(
                    f"There is no folder {missing_folder}: go where `quorum run` was started, or set DATA_DIR."
                )
            _load_command(name, args).run_from_argv(["quorum", command, *args])


def split_words(line: list[str]) -> tuple[str, list[str]]:
    """Return the one or two words of the subcommand, joined by a blank, and its arguments, the rest of the line."""
    two_words = " ".join(line[:2])
    if two_words in commands_for(line).names:
        return two_words, line[2:]
    return " ".join(line[:1]), line[1:]


@contextmanager
def _using_data_folder(*, may_create: bool = False) -> Iterator[Path | None]:
    """Set DATA_DIR to an absolute path if Quorum is installed. The default is `quorum-data` in the current folder.

    Yield None if the folder exists, or if the command may create it. Otherwise yield the path of the missing
    folder, and set DATA_DIR to a temporary folder, so that `--help` creates no files.
    """
    folder = _set_data_folder() if IS_INSTALLED else None
    if folder is None or folder.is_dir() or may_create:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="quorum-") as temporary_folder:
        os.environ["DATA_DIR"] = temporary_folder
        yield folder


def _set_data_folder(data: str | None = None) -> Path:
    """Set DATA_DIR and STATIC_ROOT, which must be outside the installed package, and return DATA_DIR."""
    _read_settings_file(Path(".env"))
    folder = Path(data or os.environ.get("DATA_DIR") or DATA_FOLDER).expanduser().resolve()
    os.environ["DATA_DIR"] = str(folder)
    static_folder = Path(os.environ.get("STATIC_ROOT") or folder / "staticfiles").expanduser().resolve()
    os.environ["STATIC_ROOT"] = str(static_folder)
    return folder


def _check_known(name: str) -> None:
    from django.core.management import get_commands

    _set_up_django()
    table = commands_of_environment()
    known_names = [*table.names, *table.groups, *COMMANDS_OUTSIDE_DJANGO, *get_commands()]
    if name not in known_names:
        suggestion = nearest_name(name, known_names)
        guess = f"; did you mean `quorum {suggestion}`?" if suggestion else "."
        sys.exit(f"quorum: {name!r} is no command{guess} `quorum --help` lists them.")


def _load_command(name: str, args: list[str]) -> BaseCommand:
    """Return the command. Do not load settings, apps and models for one that reads only files, such as `score`."""
    manage = import_module("manage")
    if manage.reads_only_files(name, args):
        command: BaseCommand = manage.load_file_command(name)
        return command
    from django.core.management import get_commands, load_command_class

    from config.commands import load_command

    _set_up_django()
    return (
        load_command(name)
        if name in commands_for([name]).paths
        else load_command_class(get_commands()[name], name)
    )


def _set_up_django() -> None:
    import django
    from django.core.exceptions import ImproperlyConfigured

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        django.setup()
    except ImproperlyConfigured as error:
        sys.exit(str(error))


def _serve_pages(args: list[str]) -> None:
    """Start the web server and the background worker, as `make run` does, but from the installed packages."""
    from scripts import services
    from scripts.environment import SetupError, check_port, check_writable, setting

    parser = ArgumentParser(
        prog="quorum run", description="Start web server and background worker; Ctrl-C stops both."
    )
    _add_run_options(parser)
    options = parser.parse_args(args)
    if IS_INSTALLED or options.data:
        folder = _set_data_folder(options.data)
    else:
        folder = PLATFORM / Path(setting("DATA_DIR", "var")).expanduser()
    if options.port:
        os.environ["PORT"] = options.port
    try:
        with services.until_stopped() as processes:
            check_writable(str(folder))
            port = check_port(command="quorum run --port {}")
            services.print_line(
                f"The data is in {folder}. Nothing is fetched: all that Quorum needs is installed."
            )
            installation = services.Installation(
                sys.executable, "quorum", services.environment_of(str(folder), port)
            )
            services.serve(processes, installation, demo=not options.no_demo)
    except SetupError as problem:
        sys.exit(str(problem))


def _add_run_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--data", metavar="FOLDER", help=f"where everything is kept (default: DATA_DIR, else {DATA_FOLDER})"
    )
    parser.add_argument("--port", help="default: PORT, else 8000")
    parser.add_argument("--no-demo", action="store_true", help="leave the demo out")


def _print_completion(args: list[str]) -> None:
    import argcomplete

    parser = ArgumentParser(
        prog="quorum completion",
        description="Print what a shell needs to complete quorum's words and options.",
        epilog='~/.bashrc and ~/.zshrc: eval "$(quorum completion bash)", or zsh; '
        "fish: quorum completion fish > ~/.config/fish/completions/quorum.fish",
    )
    _add_shell(parser)
    shell = parser.parse_args(args).shell
    code = argcomplete.shellcode(["quorum"], shell=shell)
    if shell == "zsh":  # zsh completes only after this in a start file
        first_line, _, other_lines = code.partition("\n")
        code = f"{first_line}\n{INITIALISE_ZSH_COMPLETION}\n{other_lines}"
    sys.stdout.write(code + "\n")


def _add_shell(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=["bash", "zsh", "fish"])


def _print_completions(line: list[str]) -> None:
    """Print the completions of a command line, which the shell passes in the environment, and exit."""
    import argcomplete

    with _using_data_folder():
        argcomplete.autocomplete(_make_parser(line))


def _make_parser(line: list[str]) -> ArgumentParser:
    """Return a parser of all subcommands. Of those in Django, only the subcommand in `line` has its options."""
    parser = ArgumentParser(prog="quorum")
    groups = {"": parser.add_subparsers()}  # by first word, such as "dataset"; "" has subcommands of one word
    _add_run_options(groups[""].add_parser("run", help=COMMANDS_OUTSIDE_DJANGO["run"]))
    _add_shell(groups[""].add_parser("completion", help=COMMANDS_OUTSIDE_DJANGO["completion"]))
    typed_command, args = split_words(line)
    for title, section in commands_of_environment().sections.items():
        for words, subcommand in section.items():
            group, _, word = words.rpartition(" ")
            if group not in groups:
                groups[group] = groups[""].add_parser(group, help=title).add_subparsers()
            subparser = groups[group].add_parser(word, help=subcommand.description)
            if words == typed_command:
                _load_command(subcommand.name, args).add_arguments(subparser)  # type: ignore[arg-type]
                for argument in subparser._actions:
                    if argument.dest == "study":
                        argument.completer = _study_slugs  # type: ignore[attr-defined]
    return parser


def _study_slugs(**_: object) -> list[str]:
    from django.db import DatabaseError

    from judgments.models import Study

    try:
        return list(Study.objects.values_list("slug", flat=True))
    except DatabaseError:  # the database is not set up
        return []
