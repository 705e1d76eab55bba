"""Hash judgments as lines of JSON, which are added one by one or as columns."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from json.encoder import encode_basestring
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quorum.numeric.arrays import Ints

if TYPE_CHECKING:
    import pyarrow as pa


LINES_PER_BATCH = 100_000  # lines hashed at once
JSON_ESCAPED = r'["\\\x00-\x1f]'  # characters that JSON escapes
ASCII_ESCAPED = r"[^ !#-\[\]-~]"  # characters that JSON in ASCII escapes


class DataHash:
    """SHA-256 of judgments, added in the order of unit and worker name: their answers and whether they are included.

    Row ids and times are not hashed.

    Args:
        write: a function to which ``add`` passes lines instead of hashing them. They can be stored and hashed later
            by ``hash_of_files``. ``add_coded`` always hashes.
    """

    def __init__(self, write: Callable[[bytes], object] | None = None) -> None:
        self._hash = hashlib.sha256()
        self._take_line = write or self._hash.update
        self._encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode

    def add(self, unit: str, worker: str, answer: Any, used: bool) -> None:
        text = str(answer) if type(answer) is int else self._encode(answer)
        line = f"[{encode_basestring(unit)}, {encode_basestring(worker)}, {text}, {'true' if used else 'false'}]\n"
        self._take_line(line.encode())

    def add_coded(
        self,
        units: pa.Array | Iterable[str],
        workers: Iterable[str],
        answers: Iterable[Any],
        codes: Sequence[Ints],
    ) -> None:
        """Add many judgments at once.

        Args:
            units, workers, answers: the distinct keys of units, names of workers, and answers.
            codes: four columns of (N,) int64: positions in ``units``, ``workers`` and ``answers``, and 1 for used
                judgments, else 0.
        """
        parts = (
            line_beginnings(units),
            text_column(f"{encode_basestring(worker)}, " for worker in workers),
            text_column(f"{self._encode(answer)}, " for answer in answers),
            text_column(("false]\n", "true]\n")),
        )
        for start in range(0, len(codes[0]), LINES_PER_BATCH):
            batch = [code[start : start + LINES_PER_BATCH] for code in codes]
            self._hash.update(join_lines(*zip(parts, batch, strict=True)))

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def join_lines(*parts: tuple[pa.Array, Ints] | str) -> memoryview:
    """Return the bytes of N lines, each of which is joined from parts.

    A part is an array of texts with the (N,) positions of the lines' texts in it, or one text for all lines.
    """
    import pyarrow as pa

    lines = join_columns(
        *(part if isinstance(part, str) else part[0].take(pa.array(part[1])) for part in parts)
    )
    _, ends, text = lines.buffers()  # Arrow's buffers: validity, end of each text after a 0, and all texts
    return memoryview(text)[: np.frombuffer(ends, dtype=np.int64)[len(lines)]]


def join_columns(*parts: pa.Array | str) -> pa.Array:
    """Return the (N,) concatenations of arrays of N texts, and of texts that are the same in all rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # The last argument of `binary_join_element_wise` is the separator.
    texts = [pa.scalar(part, pa.large_string()) if isinstance(part, str) else part for part in (*parts, "")]
    return pc.binary_join_element_wise(*texts)


def text_column(values: Iterable[str | None]) -> pa.Array:
    """Return the texts as an Arrow column.

    It is built in chunks, because millions of Python strings would take four times the memory.
    """
    import pyarrow as pa  # imported late, because most web processes never need its 40 MB

    stream, chunks = iter(values), [pa.array([], pa.large_string())]
    while chunk := list(islice(stream, LINES_PER_BATCH)):
        chunks.append(pa.array(chunk, pa.large_string()))
    return pa.concat_arrays(chunks)


def line_beginnings(units: pa.Array | Iterable[str]) -> pa.Array:
    """Return the beginning of each unit's lines, such as ``["unit-1", ``."""
    return json_column(units, before="[", after=", ")


def json_column(
    texts: pa.Array | Iterable[str | None],
    encode: Callable[[str], str] = encode_basestring,
    escaped_pattern: str = JSON_ESCAPED,
    *,
    before: str = "",
    after: str = "",
) -> pa.Array:
    """Return texts as JSON between ``before`` and ``after``. A missing text is null.

    ``encode`` writes a text as JSON. It is called for the few texts that have a character of ``escaped_pattern``.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    column = (texts if isinstance(texts, pa.Array) else text_column(texts)).cast(pa.large_string())
    json_texts = join_columns(f'{before}"', column, f'"{after}').fill_null(f"{before}null{after}")
    is_escaped = pc.match_substring_regex(column, escaped_pattern).fill_null(False)
    if not pc.any(is_escaped).as_py():
        return json_texts
    escaped_texts = [f"{before}{encode(text)}{after}" for text in column.filter(is_escaped).to_pylist()]
    return pc.replace_with_mask(json_texts, is_escaped, pa.array(escaped_texts, pa.large_string()))


def hash_of_files(paths: Iterable[Path]) -> str:
    """Return the SHA-256 of the concatenated files."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def hash_with_data(data_hash: str, data: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a data hash together with other data, which are encoded as JSON with sorted keys."""
    return hashlib.sha256(f"{data_hash}{json.dumps(data, sort_keys=True)}".encode()).hexdigest()


def hash_with_winners(data_hash: str, winners: Mapping[str, int]) -> str:
    """Return the hash of judgments together with published winners of pairs, by pair key, if there are any."""
    return hash_with_data(data_hash, winners) if winners else data_hash
