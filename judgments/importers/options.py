"""The options for reading a table, which commands, pages and HTTP calls give as text, such as ``value=stars``."""

from __future__ import annotations

import csv
from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from common.incoming import quote_value
from judgments.importers.mapped.mapping import (
    ANONYMOUS_WORKERS,
    EXAMPLE_PAIRS,
    ColumnMapping,
    parse_pairs,
    read_mapping,
)
from judgments.importers.problems import ImportProblem


class Option(NamedTuple):
    """An option for reading a table. ``metavar``, the name of its value, is "" if the option takes no value."""

    metavar: str
    help_text: str


COLUMN_OPTIONS: dict[str, Option] = {
    "map": Option(
        "PAIRS",
        f"the file's column for each column of Quorum, {EXAMPLE_PAIRS}. In a row with several judgments, {{n}} "
        "stands for their numbers. kind=- leaves out the column kind; worker={file} names people after the files of "
        "a folder",
    ),
    "values": Option("PAIRS", "the values of answers in words, such as left=1,right=2"),
    "zone": Option("ZONE", "the time zone of times that name none, such as America/Los_Angeles"),
    "where": Option(
        "COLUMN=VALUE", "read only rows with this value in the column; separate several conditions by commas"
    ),
    "missing": Option("WORDS", "words that mean an empty cell, such as NA,None, except in columns of texts"),
    "header_row": Option("N", "the line of the header, if a title stands above it"),
    "match_names": Option(
        "", "treat names of images as equal that differ only in case, spaces or file ending"
    ),
}
JUDGMENT_OPTIONS: dict[str, Option] = {
    "people": Option(
        "COLUMNS", "columns with the answers of one person each, named after the person, such as Ada,Ben,Eva"
    ),
    "criterion": Option(
        "COLUMN", "the column with the criterion of each answer; each criterion becomes a study"
    ),
    "workers": Option(
        ANONYMOUS_WORKERS,
        f"{ANONYMOUS_WORKERS}: the file does not say who answered, so each row counts as another person",
    ),
}
OPTIONS = {**COLUMN_OPTIONS, **JUDGMENT_OPTIONS}
# examples for error messages about the options that take pairs
EXPECTED_PAIRS = {
    "map": EXAMPLE_PAIRS,
    "values": "pairs such as left=1,right=2",
    "where": "pairs such as language=de",
}


def add_options(parser: ArgumentParser, *names: str) -> None:
    """Add the options with these names to a command, and the option ``--mapping`` for a file with a mapping."""
    for name in names:
        option = OPTIONS[name]
        flags = [f"--{name.replace('_', '-')}"]
        if name == "map":
            flags.append("--columns")
        takes_value = bool(option.metavar)
        value: dict[str, Any] = {"metavar": option.metavar} if takes_value else {"action": "store_true"}
        parser.add_argument(*flags, **value, help=option.help_text)
    parser.add_argument(
        "--mapping", type=Path, metavar="FILE", help="a TOML file with these and others (docs/imports.md)"
    )


def mapping_of(options: Mapping[str, Any], path: Path) -> ColumnMapping | None:
    """Return the mapping that the options describe; None if no option is set.

    Raises:
        ImportProblem: an option is invalid, or is set together with a mapping file.
    """
    texts = {name: options[name] for name in OPTIONS if options.get(name)}
    if (file := options.get("mapping")) is not None:
        if texts:
            raise ImportProblem(file, None, "--mapping", "other options beside it", "the file alone")
        return read_mapping(file)
    if not texts:
        return None
    values: dict[str, Any] = dict(texts)
    for name, text in texts.items():
        if name in EXPECTED_PAIRS:
            values[name] = parse_pairs(text, path, f"--{name}", EXPECTED_PAIRS[name])
        elif name in ("people", "missing"):
            values[name] = _read_names(text, path, f"--{name}")
    if "header_row" in texts:
        values["header_row"] = _read_line_number(texts["header_row"], path)
    if texts.get("workers", ANONYMOUS_WORKERS) != ANONYMOUS_WORKERS:
        raise ImportProblem(path, None, "--workers", quote_value(texts["workers"]), ANONYMOUS_WORKERS)
    return ColumnMapping(columns=values.pop("map", {}), **values)


def _read_names(text: str, path: Path, option: str) -> list[str]:
    """Return the names in a text, which commas separate. A name that contains a comma is in quotation marks."""
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True))]
    if not all(names):
        raise ImportProblem(path, None, option, quote_value(text), "names with commas between")
    if len(set(names)) < len(names):
        raise ImportProblem(path, None, option, "a name twice", "every name once")
    return names


def _read_line_number(text: str, path: Path) -> int:
    if not (str(text).isascii() and str(text).isdecimal() and 0 < int(text) < 10**6):
        raise ImportProblem(path, None, "--header-row", quote_value(text), "a line's number, from 1")
    return int(text)
