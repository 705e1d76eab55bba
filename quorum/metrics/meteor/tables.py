"""Read the tables of METEOR 1.5 for English: function words, abbreviations, WordNet synonyms, paraphrases.

They are not part of Quorum. The official program's jar has all tables except the paraphrases, which are in a
compressed file next to the jar. The package pycocoevalcap 1.2 ships both (requirements-meteor.txt). A user may also
set

    QUORUM_METEOR_DATA   a folder, a jar or pycocoevalcap's wheel; `none` for no tables
    QUORUM_METEOR_CACHE  a folder for the parsed tables; default: `quorum` in the user's cache folder
"""

import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from quorum.metrics.inputs import InvalidFile
from quorum.metrics.meteor.table_files import DATA, NO_DATA, TableFiles, find_files
from quorum.numeric.arrays import Ints, Numbers, starts_of

CACHE = "QUORUM_METEOR_CACHE"
CACHE_VERSION = 1  # version of the stored arrays; raise it when their content changes
READ_BYTES = 1 << 24  # number of bytes of text read at once
MAX_PHRASE_LENGTH = 15  # words of a phrase; the sort key of matches has no room for more
# Names of files in the jar.
FUNCTION_WORDS = "function/english.words"
ABBREVIATIONS = "nonbreaking/english.prefixes"
EXCEPTIONS = "synonym/english.exceptions"
SYNSETS = "synonym/english.synsets"
JAR_MEMBERS = (FUNCTION_WORDS, ABBREVIATIONS, EXCEPTIONS, SYNSETS)


Arrays = dict[str, NDArray[Any]]  # by the names under which they are stored


@dataclass(frozen=True, slots=True)
class Synonyms:
    """The synonyms of the program's WordNet. Two words are synonyms if they have a synonym set in common.

    entries: the number of each word. The word with number e is in the synonym sets `sets[starts[e]:starts[e + 1]]`.
    bases: the basic forms of irregular words, such as ("go",) of "went".
    """

    entries: Mapping[str, int]
    sets: Numbers
    starts: Ints
    bases: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Paraphrases:
    """Numbered phrases and their paraphrases.

    Phrase p consists of the words `tokens[starts[p]:starts[p + 1]]`, which are positions in `vocabulary`. Its
    paraphrases are the phrases `targets[target_starts[p]:target_starts[p + 1]]`, in the order of the table. The phrases
    that have paraphrases are numbered first, so that only they have an entry in `target_starts`.
    """

    vocabulary: list[str]
    tokens: Numbers
    starts: Ints
    targets: Numbers
    target_starts: Ints

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "Paraphrases":
        return cls(
            _unpack_texts(arrays["paraphrase_vocabulary"]),
            arrays["paraphrase_words"],
            arrays["paraphrase_starts"],
            arrays["paraphrase_targets"],
            arrays["paraphrase_target_starts"],
        )


@dataclass(frozen=True, slots=True)
class MeteorTables:
    """All tables.

    digest: a digest of their content, which signatures state. abbreviations: words that keep their full stop, with
    whether they keep it only before a number (as "No." does). synonyms, paraphrases: None if these tables are missing.
    """

    digest: str
    function_words: frozenset[str]
    abbreviations: Mapping[str, bool]
    synonyms: Synonyms | None
    paraphrases: Paraphrases | None


NO_TABLES = MeteorTables(NO_DATA, frozenset(), {}, None, None)


class AvailableTables(NamedTuple):
    """Whether the tables of synonyms and of paraphrases are installed."""

    synonyms: bool
    paraphrases: bool


def available_tables() -> AvailableTables:
    """Return which tables are installed, without reading them. Raise InvalidFile if QUORUM_METEOR_DATA is wrong."""
    files = find_files(os.environ.get(DATA, ""))
    return AvailableTables(
        synonyms=files is not None, paraphrases=files is not None and files.paraphrases is not None
    )


def load_tables() -> MeteorTables:
    """Read the installed tables, or return NO_TABLES. Raise InvalidFile if a file is not readable as METEOR's.

    The parsed tables are stored in a cache folder, and kept in memory.
    """
    files = find_files(os.environ.get(DATA, ""))
    return _load_tables(files) if files else NO_TABLES


@cache
def _load_tables(files: TableFiles) -> MeteorTables:
    members = files.read_jar(JAR_MEMBERS)
    checksum = sha256(files.read_gzip_trailer())  # identifies the paraphrases without reading them
    for name in JAR_MEMBERS:
        checksum.update(members[name])
    digest = checksum.hexdigest()[:8]
    # The large tables are cached as arrays; the others are parsed each time.
    arrays = _load_arrays(digest)
    if arrays is None:
        arrays = _parse_synsets(_split_lines(members[SYNSETS]), files.jar)
        if files.paraphrases:
            with files.open(files.paraphrases) as packed_text:
                arrays |= read_paraphrases(packed_text, files.paraphrases)
        _save_arrays(digest, arrays)
    return MeteorTables(
        digest,
        frozenset(_split_lines(members[FUNCTION_WORDS])),
        _parse_abbreviations(_split_lines(members[ABBREVIATIONS])),
        _parse_synonyms(arrays, _split_lines(members[EXCEPTIONS])),
        Paraphrases.from_arrays(arrays) if files.paraphrases else None,
    )


def _split_lines(content: bytes) -> list[str]:
    return content.decode("utf-8", "replace").removesuffix("\n").split("\n")


def _parse_abbreviations(lines: list[str]) -> dict[str, bool]:
    """Return `MeteorTables.abbreviations` from lines such as "Mr", "No #NUMERIC_ONLY#" or "# a comment"."""
    abbreviations = {}
    for line in lines:
        words = line.split()
        if words and not words[0].startswith("#"):
            abbreviations[words[0]] = words[1:2] == ["#NUMERIC_ONLY#"]
    return abbreviations


def _parse_synsets(lines: list[str], jar: str) -> Arrays:
    """Return the words and the numbers of their synonym sets, from a line with a word and one with numbers in turn."""
    try:
        sets_of_words = [list(map(int, line.split())) for line in lines[1::2]]
    except ValueError:
        sets_of_words = []
    if not sets_of_words or len(lines) % 2:
        raise InvalidFile(f"{jar}: {SYNSETS} holds other lines than an entry and its numbers in turn")
    return {
        "entries": _pack_texts(lines[0::2]),
        "sets": np.array(list(chain.from_iterable(sets_of_words)), dtype=np.int32),
        "set_starts": starts_of(list(map(len, sets_of_words))),
    }


def _parse_synonyms(arrays: Arrays, lines: list[str]) -> Synonyms:
    """Return the synonyms, from the arrays of `_parse_synsets` and the lines of irregular words."""
    bases: dict[str, tuple[str, ...]] = {}
    # A line with a basic form and a line with its irregular forms take turns. A last line without a pair is dropped.
    for base, forms in zip(lines[0::2], lines[1::2], strict=False):
        for form in forms.split():
            bases[form] = (*bases.get(form, ()), base)
    entries = {entry: number for number, entry in enumerate(_unpack_texts(arrays["entries"]))}
    return Synonyms(entries, arrays["sets"], arrays["set_starts"], bases)


def read_paraphrases(packed_text: IO[bytes], name: str) -> Arrays:
    """Read a gzip file with three lines per entry: a probability (ignored), a phrase, and a paraphrase of it.

    Raise InvalidFile if the file is damaged, has other lines, or has a phrase of more than MAX_PHRASE_LENGTH words.
    """
    try:
        sources, targets = _read_phrases(packed_text)
    except (pa.ArrowInvalid, OSError):
        raise InvalidFile(f"{name} is damaged, expected METEOR's paraphrases in a gzip file") from None
    if not sources or sum(map(len, sources)) != sum(map(len, targets)):
        raise InvalidFile(f"{name} holds other lines than a probability, a phrase and a phrase in turn")
    # Number the distinct phrases in the order in which they occur, so that those with paraphrases come first.
    phrases = pa.chunked_array(sources + targets).dictionary_encode().combine_chunks()
    # The first half are phrases, the second half their paraphrases.
    source_codes, target_codes = np.split(phrases.indices.to_numpy(), 2)
    words = pc.split_pattern(phrases.dictionary, " ")
    lengths = np.diff(words.offsets.to_numpy())
    if lengths.max() > MAX_PHRASE_LENGTH:
        raise InvalidFile(
            f"{name} holds a phrase of {lengths.max()} words, expected up to {MAX_PHRASE_LENGTH}"
        )
    tokens = words.flatten().dictionary_encode()
    # Sort the paraphrases by their phrase.
    source_count = int(source_codes.max()) + 1
    order_by_source = np.argsort(source_codes, kind="stable")
    targets_per_source = np.bincount(source_codes, minlength=source_count)
    return {
        "paraphrase_vocabulary": _pack_texts(tokens.dictionary.to_pylist()),
        "paraphrase_words": tokens.indices.to_numpy().astype(np.int32),
        "paraphrase_starts": starts_of(lengths),
        "paraphrase_targets": target_codes[order_by_source].astype(np.int32),
        "paraphrase_target_starts": starts_of(targets_per_source),
    }


def _read_phrases(packed_text: IO[bytes]) -> tuple[list[pa.Array], list[pa.Array]]:
    """Return batches of phrases and of paraphrases, which are the second and the third of every three lines.

    Each line is read as a row of a CSV file with a single column, because Arrow reads such files in batches.
    """
    lines = pyarrow.csv.open_csv(
        pa.CompressedInputStream(packed_text, "gzip"),
        read_options=pyarrow.csv.ReadOptions(column_names=["line"], use_threads=False, block_size=READ_BYTES),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter="\x01", quote_char=False, escape_char=False, ignore_empty_lines=False
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types={"line": pa.string()}, strings_can_be_null=False
        ),
    )
    sources, targets, lines_read = [], [], 0
    for batch in lines:
        batch_lines = batch.column(0)
        # Line 1 of the file, counted from 0, is the first phrase; the modulo finds the first one in this batch.
        sources.append(batch_lines.take(pa.array(np.arange((1 - lines_read) % 3, len(batch_lines), 3))))
        targets.append(batch_lines.take(pa.array(np.arange((2 - lines_read) % 3, len(batch_lines), 3))))
        lines_read += len(batch_lines)
    return sources, targets


def cache_folder() -> Path:
    """Return the folder of parsed tables, which QUORUM_METEOR_CACHE may set."""
    configured_folder = os.environ.get(CACHE)
    if configured_folder:
        return Path(configured_folder).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "quorum"


def _cache_path(digest: str) -> Path:
    return cache_folder() / f"meteor-{digest}-{CACHE_VERSION}.npz"


def _load_arrays(digest: str) -> Arrays | None:
    try:
        with _cache_path(digest).open("rb") as file, np.load(file, allow_pickle=False) as stored_arrays:
            return {name: stored_arrays[name] for name in stored_arrays.files}
    except (OSError, ValueError, EOFError, BadZipFile):
        return None


def _save_arrays(digest: str, arrays: Arrays) -> None:
    """Store arrays in the cache folder, atomically. Do nothing if the folder cannot be written."""
    path = _cache_path(digest)
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


def _pack_texts(texts: Sequence[str]) -> NDArray[np.uint8]:
    """Return texts without line breaks as bytes, because numpy stores texts of different lengths wastefully."""
    return np.frombuffer("\n".join(texts).encode("utf-8"), dtype=np.uint8)


def _unpack_texts(array: NDArray[np.uint8]) -> list[str]:
    return array.tobytes().decode("utf-8").split("\n")
