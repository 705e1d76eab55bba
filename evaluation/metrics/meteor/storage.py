"""The tables as they were read, kept in one file so that reading them again takes a moment.

A folder that cannot be written is no error: the tables are then read anew by each process.
"""

import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.meteor.places import cache_folder

FORMAT = 1  # goes up when what is stored changes

Arrays = dict[str, NDArray[Any]]


def _path(digest: str) -> Path:
    return cache_folder() / f"meteor-{digest}-{FORMAT}.npz"


def load(digest: str) -> Arrays | None:
    """The arrays stored for a source, or None where there are none or the file is damaged."""
    try:
        with _path(digest).open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, BadZipFile):
        return None


def save(digest: str, arrays: Arrays) -> None:
    """Store the arrays of a source; readers see the whole file or none."""
    path = _path(digest)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as part:
            try:
                np.savez(part, allow_pickle=False, **arrays)
                part.flush()
                os.replace(part.name, path)
            except OSError:
                os.unlink(part.name)
                raise


def packed(texts: Sequence[str]) -> NDArray[np.uint8]:
    """Texts without line breaks as one array."""
    return np.frombuffer("\n".join(texts).encode("utf-8"), dtype=np.uint8)


def unpacked(array: NDArray[np.uint8]) -> list[str]:
    """The texts of a packed array."""
    return array.tobytes().decode("utf-8").split("\n")
