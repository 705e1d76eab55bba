"""Read the records of JSON lines, and the members of JSON documents."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from json import JSONDecoder
from pathlib import Path
from typing import Any, NoReturn

from common.incoming import LimitExceeded, quote_value
from common.incoming.json_documents import JSONStream, TooDeep, check_depth, load_json
from judgments.importers.notes import ImportNotes
from judgments.importers.problems import ImportProblem
from judgments.importers.records.columns import Columns
from judgments.importers.records.record import Record
from judgments.importers.textio import read_chunks, read_lines


def read_json_lines(
    path: Path, columns: Columns, notes: ImportNotes, encoding: str | None = None
) -> Iterator[Record]:
    """Yield a record for each line that is not blank."""
    checked_names: tuple[str, ...] = ()
    for number, line in read_lines(path, encoding=encoding):
        if line.isspace():
            continue
        values = parse_json(line.rstrip("\r\n"), path, number)
        if not isinstance(values, dict):
            actual = "a JSON array" if isinstance(values, list) else quote_value(values)
            raise ImportProblem(path, number, None, actual, "one JSON object a line")
        if checked_names != (names := tuple(values)):
            columns.check(names, path, number, notes)
            checked_names = names
        yield Record(path, number, values)


def parse_json(text: str, path: Path, line: int | None) -> object:
    """Parse a JSON text. Raise ImportProblem for invalid JSON, NaN, Infinity and repeated keys."""
    try:
        check_depth(text)
        return _decode(text)
    except (ImportProblem, ValueError, RecursionError):  # parse again with options that state file and line
        with _json_problems(path, line):
            return load_json(text, **_strict_decoder_options(path, line))


def read_document(path: Path, encoding: str | None = None) -> Iterator[tuple[str, int | None, Any, int]]:
    """Yield the members of a JSON document as tuples of key, number, value and line.

    For a member of a list, the number is its position, and the key is that of the list; for other members the number
    is None. See `JSONStream.members`.
    """
    decoder = JSONDecoder(**_strict_decoder_options(path, None))
    keys: set[str] = set()
    with _json_problems(path, None):
        stream = JSONStream(read_chunks(path, encoding=encoding), decoder=decoder)
        for key, number, value in stream.members():
            if number is None and key in keys:  # a member of a list has a number, and repeats the list's key
                raise ImportProblem(path, None, key, "this key twice in one object", "every key once")
            keys.add(key)
            yield key, number, value, stream.line


def _strict_decoder_options(path: Path, line: int | None) -> dict[str, Any]:
    """Return options for a JSON decoder, so that it raises ImportProblem for NaN, Infinity and repeated keys."""

    def refuse_constant(constant: str) -> NoReturn:
        raise ImportProblem(path, line, None, constant, "a JSON number or null")

    def unique_values(pairs: list[tuple[str, object]]) -> dict[str, object]:
        values = dict(pairs)
        if len(values) < len(pairs):
            names = Counter(name for name, _ in pairs)
            repeated_name = next(name for name in names if names[name] > 1)
            raise ImportProblem(path, line, repeated_name, "this key twice in one object", "every key once")
        return values

    return {"parse_constant": refuse_constant, "object_pairs_hook": unique_values}


# the usual decoder of records, whose errors lack file and line
_decode = JSONDecoder(**_strict_decoder_options(Path(), None)).decode


@contextmanager
def _json_problems(path: Path, line: int | None) -> Iterator[None]:
    """Raise ImportProblem for invalid JSON in the block. ``line`` is that of a JSON text, and None for a document."""
    try:
        yield
    except json.JSONDecodeError as error:
        problem_line = line if line is not None else error.lineno
        actual = f"text that is not JSON ({error.msg.lower()} at character {error.colno})"
        expected = "one JSON object a line" if line is not None else "a complete JSON document"
        raise ImportProblem(path, problem_line, None, actual, expected) from error
    except TooDeep as error:
        raise ImportProblem(path, line, None, "JSON nested too deeply", "flat records") from error
    except LimitExceeded as error:
        raise ImportProblem(path, line, None, error.actual, error.expected) from error
    except ValueError as error:  # an integer has thousands of digits
        raise ImportProblem(path, line, None, "a number too long to read", "a JSON number") from error


def json_cell(record: Record, column: str) -> Any:
    """Return the value of a cell. Parse a text as JSON if lists are texts in the format, such as CSV or Parquet."""
    value = record.get(column)
    is_encoded = (record.textual or record.json_texts) and isinstance(value, str)
    return parse_json(value, record.file, record.line) if is_encoded else value
