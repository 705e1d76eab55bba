"""State the provenance of results: versions, settings in one line, and a data hash."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import math
import platform
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from itertools import islice
from json.encoder import encode_basestring
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from evaluation.numeric.arrays import Ints
from evaluation.numeric.signatures import Signature

if TYPE_CHECKING:
    import pyarrow as pa

LINES_AT_ONCE = 100_000
TO_ESCAPE = r'["\\\x00-\x1f]'  # what JSON escapes


@cache
def quorum_version() -> str:
    clone = Path(__file__).resolve().parents[2]
    if not (clone / "manage.py").exists():
        return importlib.metadata.version("quorum")
    with (clone / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])


def versions() -> dict[str, str]:
    """Return the versions of Quorum and its numeric libraries."""
    return {
        "quorum": quorum_version(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def signature(name: str, settings: dict[str, Any]) -> str:
    """Return ``name|key:value|...|v:version`` in the order of ``settings``."""
    return str(Signature(name, settings, quorum_version()))


class DataHash:
    """SHA-256 over judgments by unit, then worker name: answers and whether included, not row ids or times.

    Args:
        into: gets what is to be hashed instead, for ``hash_of_files``.
    """

    def __init__(self, into: Callable[[bytes], object] | None = None) -> None:
        self._hash = hashlib.sha256()
        self._take = into or self._hash.update
        self._encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode

    def add(self, unit: str, worker: str, answer: Any, used: bool) -> None:
        encoded = str(answer) if type(answer) is int else self._encode(answer)
        line = f"[{encode_basestring(unit)}, {encode_basestring(worker)}, {encoded}, {'true' if used else 'false'}]\n"
        self._take(line.encode())

    def add_coded(
        self,
        units: pa.Array | Iterable[str],
        workers: Iterable[str],
        answers: Iterable[Any],
        codes: Sequence[Ints],
    ) -> None:
        """Add many judgments at once.

        ``units``, ``workers`` and ``answers`` are distinct; ``codes`` are four (N,) int64: positions in them,
        and 0 or 1 for used.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        parts = (
            _line_beginnings(units),
            _text_column(f"{encode_basestring(worker)}, " for worker in workers),
            _text_column(f"{self._encode(answer)}, " for answer in answers),
            _text_column(("false]\n", "true]\n")),
        )
        for start in range(0, len(codes[0]), LINES_AT_ONCE):
            columns = [
                part.take(pa.array(code[start : start + LINES_AT_ONCE]))
                for part, code in zip(parts, codes, strict=True)
            ]
            lines = pc.binary_join_element_wise(*columns, pa.scalar("", pa.large_string()))
            _, ends, text = lines.buffers()
            self._hash.update(memoryview(text)[: np.frombuffer(ends, dtype=np.int64)[len(lines)]])

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def _text_column(values: Iterable[str]) -> pa.Array:
    """Return an Arrow column, built in parts: millions of Python strings would take four times the memory."""
    import pyarrow as pa  # loaded when it is first used, as most web processes never need its 40 MB

    stream, parts = iter(values), [pa.array([], pa.large_string())]
    while some := list(islice(stream, LINES_AT_ONCE)):
        parts.append(pa.array(some, pa.large_string()))
    return pa.concat_arrays(parts)


def _line_beginnings(units: pa.Array | Iterable[str]) -> pa.Array:
    """Return the beginning of each unit's lines, ``["key", ``."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = units if isinstance(units, pa.Array) else _text_column(units)
    if pc.any(pc.match_substring_regex(texts, TO_ESCAPE)).as_py():
        return _text_column(f"[{encode_basestring(key)}, " for key in texts.to_pylist())
    start, end, nothing = (pa.scalar(part, pa.large_string()) for part in ('["', '", ', ""))
    return pc.binary_join_element_wise(start, texts.cast(pa.large_string()), end, nothing)


def hash_of_files(paths: Iterable[Path]) -> str:
    """Return the SHA-256 of files one after the other."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def hash_with(data_hash: str, others: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a data hash with other data, as JSON with sorted keys."""
    return hashlib.sha256(f"{data_hash}{json.dumps(others, sort_keys=True)}".encode()).hexdigest()


def json_float(value: float | None) -> float | None:
    """Return ``value`` for JSON; undefined numbers become null."""
    return None if value is None or math.isnan(value) else float(value)


def as_json(value: Any, *names: str) -> Any:
    """Return ``value`` for JSON at any depth, or only its fields ``names``.

    Dataclasses become objects, arrays lists, undefined numbers null, unless an object has a method
    ``as_json``.
    """
    if names:
        return {name: as_json(getattr(value, name)) for name in names}
    if type(value) is float:
        return json_float(value)
    if value is None or type(value) in (str, int, bool):
        return value
    if hasattr(value, "as_json"):
        return as_json(value.as_json())
    if is_dataclass(value):
        return {member.name: as_json(getattr(value, member.name)) for member in fields(value)}
    if isinstance(value, Mapping):
        return {key: as_json(member) for key, member in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return as_json(value.tolist())
    if isinstance(value, list | tuple):
        return [as_json(member) for member in value]
    return json_float(value) if isinstance(value, float) else value
