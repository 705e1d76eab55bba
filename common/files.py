"""Write files atomically, and format JSON and cells of CSV.

A file is written under a temporary name and renamed at the end, so that nobody reads a part of it.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import shutil
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

from common.amounts import as_json
from common.errors import QuorumError

LEFTOVER_SECONDS = 24 * 3600  # age from which files of killed processes are removed
# The time of all files in a ZIP archive, so that equal files give equal archives.
ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)
# Some spreadsheets treat full-width characters, as typed in Japanese or Chinese, as the ASCII characters.
_FORMULA = re.compile(r"'*[=+\-@＝＋－＠\t\r]")
_QUOTED_FORMULA = re.compile(r"'+[=+\-@＝＋－＠\t\r]")


class FileProblem(QuorumError):
    """A file cannot be written at the path that a person gave."""

    title = "The file cannot be written"


class HashedFile:
    """A binary file that counts and hashes what is written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        self.size += len(data)
        return self._file.write(data)

    def write_text(self, text: str) -> None:
        self.write(text.encode())

    def hexdigest(self) -> str:
        return self._hash.hexdigest()

    # attributes that pyarrow needs
    closed = False

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        """Flush the file, but do not close it. ``atomic_write`` closes the file."""
        self.flush()

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


def check_writable_path(path: Path) -> None:
    """Raise FileProblem if the path is a folder, or its folder does not exist. Call it before any work is done."""
    if path.is_dir():
        raise FileProblem(f"{path} is a folder; expected the name of a file to write.")
    if not path.parent.is_dir():
        raise FileProblem(f"The folder {path.parent} does not exist; nothing was written.")


@contextmanager
def atomic_write(path: Path) -> Iterator[HashedFile]:
    """Open a temporary file, which replaces ``path`` if the block ends without an error.

    Raises:
        FileProblem: the file cannot be written.
    """
    check_writable_path(path)
    temporary_path = path.with_name(f".{path.name}.{uuid4().hex[:8]}.part")
    try:
        with temporary_path.open("wb", buffering=1 << 20) as file:
            yield HashedFile(file)
        temporary_path.replace(path)
    except OSError as error:
        raise FileProblem(f"{path} cannot be written: {error.strerror or error}.") from None
    finally:
        temporary_path.unlink(missing_ok=True)


def remove_stale_files(folder: Path, *patterns: str, kept_names: Collection[str] = ()) -> list[str]:
    """Remove files and folders that match a pattern and were not changed for a day. Return their names.

    Args:
        patterns: glob patterns, such as "*.part".
        kept_names: names of files and folders that are never removed.
    """
    removed_names = []
    max_changed_at = time.time() - LEFTOVER_SECONDS
    matches: set[Path] = set()
    for pattern in patterns:
        matches.update(folder.glob(pattern))
    for path in sorted(matches):
        with suppress(FileNotFoundError):  # another process may remove or rename the file
            changed_at = max(entry.stat().st_mtime for entry in (path, *path.rglob("*")))
            if path.name in kept_names or changed_at > max_changed_at:
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
            removed_names.append(path.name)
    return removed_names


def write_json(path: Path, value: Any) -> None:
    """Write a value as indented JSON with ``NanAsNullEncoder``."""
    with atomic_write(path) as file:
        file.write_text(f"{indented_json(value)}\n")


class NanAsNullEncoder(json.JSONEncoder):
    """A JSON encoder that writes undefined and infinite numbers as null, since JSON and databases have neither.

    Stored results, the API and commands use this encoder, so code that computes a figure need not replace such numbers.
    """

    def encode(self, o: Any) -> str:
        self.allow_nan = False
        try:
            return super().encode(o)
        except (TypeError, ValueError):  # convert the whole value only now, since this is slow
            return super().encode(as_json(o))


def indented_json(value: Any, depth: int = 0) -> str:
    """Return ``json.dumps(value, indent=1)``, but faster.

    Python's C encoder cannot indent. It is used for innermost objects and lists only, with the indentation in the
    separator.

    Args:
        depth: the number of objects and lists around the value.
    """
    if not isinstance(value, (dict, list, tuple)) or not value:
        return _encoder("").encode(value)
    entries = value.values() if isinstance(value, dict) else value
    last_indent, entry_indent = f"\n{' ' * depth}", f"\n{' ' * (depth + 1)}"
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    if not any(isinstance(entry, (dict, list, tuple)) for entry in entries):
        text = _encoder(entry_indent).encode(value)[1:-1]  # without the brackets
    elif isinstance(value, dict):
        # The encoder turns names that are numbers or None into strings. So encode an object with only this member, such
        # as {"name": 0}, and cut off "{" and "0}".
        names = (_encoder("").encode({name: 0})[1:-2] for name in value)
        text = f",{entry_indent}".join(
            f"{name}{indented_json(entry, depth + 1)}" for name, entry in zip(names, entries, strict=True)
        )
    else:
        text = f",{entry_indent}".join(indented_json(entry, depth + 1) for entry in entries)
    return f"{opening}{entry_indent}{text}{last_indent}{closing}"


@cache
def _encoder(entry_indent: str) -> json.JSONEncoder:
    """Return an encoder that writes a line end with indentation before each entry but the first."""
    return NanAsNullEncoder(ensure_ascii=False, separators=(f",{entry_indent}", ": "))


def write_lines(path: Path, lines: Iterable[str]) -> None:
    with atomic_write(path) as file:
        for line in lines:
            file.write_text(f"{line}\n")


def can_be_stored(value: Any) -> bool:
    """Return whether databases accept all texts in parsed JSON: no text or key has U+0000 or a single surrogate.

    Raises:
        RecursionError: the value is nested too deeply.
    """
    if isinstance(value, str):
        return "\x00" not in value and not any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, dict):
        return all(can_be_stored(key) and can_be_stored(member) for key, member in value.items())
    return not isinstance(value, list) or all(can_be_stored(member) for member in value)


def as_cell(value: object) -> str:
    """Return a value as a CSV cell: a text unchanged, None as an empty cell, and other values as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, default=str)


def csv_line(cells: Iterable[object]) -> str:
    """Return a line of CSV without line end. Quote cells with a carriage return or a line feed.

    In spreadsheets, both characters end a row, but older Python versions quote only those of the writer's line end.
    """
    line = io.StringIO(newline="")
    csv.writer(line, lineterminator="\r\n").writerow(cells)
    return line.getvalue().removesuffix("\r\n")


def guard_formula(text: str) -> str:
    """Return a CSV cell that spreadsheets do not read as a formula.

    A text that looks like a formula gets a leading apostrophe, even if it begins with apostrophes already. Thus
    removing one apostrophe restores the text.
    """
    return f"'{text}" if _FORMULA.match(text) else text


def unguard_formula(cell: str) -> str:
    """Return the text of a cell that ``guard_formula`` returned."""
    return cell[1:] if _QUOTED_FORMULA.match(cell) else cell
