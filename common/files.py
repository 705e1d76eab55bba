"""Files that are whole or absent: written beside their place and renamed at the end."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

from common.errors import QuorumError


class FileProblem(QuorumError):
    """A place that cannot be written to."""

    title = "The file cannot be written"


class HashedFile:
    """A binary file that hashes and counts what is written to it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> int:
        """Write, hash and count."""
        self._hash.update(data)
        self.size += len(data)
        return self._file.write(data)

    def write_text(self, text: str) -> None:
        """Write ``text`` as UTF-8."""
        self.write(text.encode())

    def hexdigest(self) -> str:
        """SHA-256 of everything written."""
        return self._hash.hexdigest()

    # what pyarrow asks of a file besides
    closed = False

    def flush(self) -> None:
        """Hand on what is buffered."""
        self._file.flush()

    def close(self) -> None:
        """The file belongs to ``whole_file``, which closes it."""
        self.flush()

    def readable(self) -> bool:
        """Never."""
        return False

    def writable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Never: a stream."""
        return False


def check_place(path: Path) -> None:
    """Refuse a path that cannot be written before any work is done."""
    if path.is_dir():
        raise FileProblem(f"{path} is a folder; expected the name of a file to write.")
    if not path.parent.is_dir():
        raise FileProblem(f"The folder {path.parent} does not exist; nothing was written.")


@contextmanager
def whole_file(path: Path) -> Iterator[HashedFile]:
    """A file to write to that takes ``path``'s place when the block ends without an error.

    Raises:
        FileProblem: the folder does not exist or cannot be written to.
    """
    check_place(path)
    beside = path.with_name(f".{path.name}.{uuid4().hex[:8]}.part")
    try:
        with beside.open("wb", buffering=1 << 20) as raw:
            yield HashedFile(raw)
        beside.replace(path)
    except OSError as error:
        raise FileProblem(f"{path} cannot be written: {error.strerror or error}.") from None
    finally:
        beside.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """``value`` as indented JSON, or no file. An undefined number must have become null before."""
    text = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False)
    with whole_file(path) as file:
        file.write_text(f"{text}\n")


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """``lines`` with a line end each, or no file."""
    with whole_file(path) as file:
        for line in lines:
            file.write_text(f"{line}\n")


def can_be_stored(value: Any) -> bool:
    """Whether no text in parsed JSON, keys too, holds U+0000 or half of a surrogate pair.

    Raises:
        RecursionError: it is nested too deeply.
    """
    if isinstance(value, str):
        return "\x00" not in value and not any("\ud800" <= sign <= "\udfff" for sign in value)
    if isinstance(value, dict):
        return all(can_be_stored(key) and can_be_stored(inner) for key, inner in value.items())
    return not isinstance(value, list) or all(can_be_stored(inner) for inner in value)
