"""How commands hand back their figures: whole files or none, and JSON without NaN."""

from __future__ import annotations

import json
import math
import os
import tempfile
from pathlib import Path

from django.core.management.base import CommandError


def as_json(value: object) -> str:
    """Indented JSON with a line end; nan, which JSON does not have, becomes null."""
    return json.dumps(_without_nan(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a reader finds the old one or the whole new one. Raises CommandError."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    except OSError as error:
        raise _cannot_write(path, error) from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        # A temporary file is its owner's alone; the result gets the rights of any new file.
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(path)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> CommandError:
    reason = (error.strerror or type(error).__name__).lower()
    return CommandError(f"{path}: {reason}, expected a place that can be written to.")


def _without_nan(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(item) for item in value]
    return value
