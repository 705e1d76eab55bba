"""Write files completely or not at all: a temporary file is renamed at the end."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

from common.errors import QuorumError

LEFTOVER_SECONDS = 24 * 3600


class FileProblem(QuorumError):
    title = "The file cannot be written"


class HashedFile:
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
        """Flush only; ``whole_file`` closes the file."""
        self.flush()

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


def check_place(path: Path) -> None:
    """Raise FileProblem for an unwritable path before any work is done."""
    if path.is_dir():
        raise FileProblem(f"{path} is a folder; expected the name of a file to write.")
    if not path.parent.is_dir():
        raise FileProblem(f"The folder {path.parent} does not exist; nothing was written.")


@contextmanager
def whole_file(path: Path) -> Iterator[HashedFile]:
    """Open a file that replaces ``path`` if the block ends without an error. Raise FileProblem if that fails."""
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


def remove_leftovers(folder: Path, *patterns: str, but: Collection[str] = ()) -> list[str]:
    """Remove matching files and folders unwritten for a day, except ``but``; return their names."""
    removed, before = [], time.time() - LEFTOVER_SECONDS
    for path in sorted({match for pattern in patterns for match in folder.glob(pattern)}):
        with suppress(FileNotFoundError):  # another process removes it, or writes on
            if path.name in but or max(entry.stat().st_mtime for entry in (path, *path.rglob("*"))) > before:
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
            removed.append(path.name)
    return removed


def write_json(path: Path, value: Any) -> None:
    """Write indented JSON; refuse undefined numbers."""
    with whole_file(path) as file:
        file.write_text(f"{indented(value)}\n")


def indented(value: Any, depth: int = 0) -> str:
    """Return what ``json.dumps(value, indent=1)`` does, faster: Python's C encoder does not indent.

    It encodes innermost objects and lists, with the indentation in the separator.
    """
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    if not inner:
        return _encoder("").encode(value)
    end, start = f"\n{' ' * depth}", f"\n{' ' * (depth + 1)}"
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    if not any(isinstance(entry, (dict, list, tuple)) for entry in inner):
        text = _encoder(start).encode(value)[1:-1]
    elif isinstance(value, dict):
        # a member of its own has the name as JSON spells it, also of a number or null
        names = (_encoder("").encode({name: 0})[1:-2] for name in value)
        text = f",{start}".join(
            f"{name}{indented(entry, depth + 1)}" for name, entry in zip(names, inner, strict=True)
        )
    else:
        text = f",{start}".join(indented(entry, depth + 1) for entry in inner)
    return f"{opening}{start}{text}{end}{closing}"


@cache
def _encoder(start: str) -> json.JSONEncoder:
    return json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(f",{start}", ": "))


def write_lines(path: Path, lines: Iterable[str]) -> None:
    with whole_file(path) as file:
        for line in lines:
            file.write_text(f"{line}\n")


def can_be_stored(value: Any) -> bool:
    """Return whether no text in parsed JSON, including keys, has U+0000 or a lone surrogate.

    Raises:
        RecursionError: it is nested too deeply.
    """
    if isinstance(value, str):
        return "\x00" not in value and not any("\ud800" <= sign <= "\udfff" for sign in value)
    if isinstance(value, dict):
        return all(can_be_stored(key) and can_be_stored(inner) for key, inner in value.items())
    return not isinstance(value, list) or all(can_be_stored(inner) for inner in value)
