"""Find and read the tables of METEOR 1.5 for English: function words, abbreviations, WordNet synonyms, paraphrases.

They are not part of Quorum. The official program's jar has all tables except the paraphrases, which are in a
compressed file next to the jar. The package pycocoevalcap 1.2 ships both (requirements-meteor.txt). A user may also
set

    QUORUM_METEOR_DATA   a folder, a jar or pycocoevalcap's wheel; `none` for no tables
    QUORUM_METEOR_CACHE  a folder for the parsed tables; default: `quorum` in the user's cache folder
"""

import os
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.machinery import PathFinder
from io import BytesIO
from pathlib import Path
from typing import IO, Any, NamedTuple
from zipfile import BadZipFile, ZipFile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from quorum.metrics.inputs import InvalidFile
from quorum.metrics.text.tokens import TokenizedTexts
from quorum.metrics.text.tries import Trie, child, empty_trie, trie_bits
from quorum.numeric.arrays import Flags, Ints, Numbers, joined_ranges, starts_of
from quorum.numeric.compiling import compiled

DATA = "QUORUM_METEOR_DATA"
CACHE = "QUORUM_METEOR_CACHE"
CACHE_VERSION = 1  # version of the stored arrays; raise it when their content changes
READ_BYTES = 1 << 24  # number of bytes of text read at once
MAX_PHRASE_LENGTH = 15  # words of a phrase; the sort key of matches has no room for more
JAR = "meteor-1.5.jar"
PARAPHRASES = "paraphrase-en.gz"
PACKAGE = "pycocoevalcap"
FUNCTION_WORDS = "function/english.words"
ABBREVIATIONS = "nonbreaking/english.prefixes"
EXCEPTIONS = "synonym/english.exceptions"
SYNSETS = "synonym/english.synsets"
JAR_MEMBERS = (FUNCTION_WORDS, ABBREVIATIONS, EXCEPTIONS, SYNSETS)
# The program's version is a text constant of this class.
VERSION_CLASS = "edu/cmu/meteor/util/Constants.class"
VERSION_CONSTANT = b"\x01\x00\x031.5"


Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Synonyms:
    """The program's WordNet.

    entries: the number of each word. Entry e is in the synonym sets `sets[starts[e]:starts[e + 1]]`. bases: the basic
    forms of irregular words.
    """

    entries: Mapping[str, int]
    sets: Numbers
    starts: Ints
    bases: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Paraphrases:
    """Phrases and their paraphrases. Phrase p has the words `tokens[starts[p]:starts[p + 1]]`, numbers in `vocabulary`.

    Phrases that have paraphrases come first. The paraphrases of phrase p are
    `targets[target_starts[p]:target_starts[p + 1]]`, in the order of the table.
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
    """The tables, and a digest of them, which signatures state.

    abbreviations[a] is whether abbreviation a keeps its full stop only before a number. synonyms, paraphrases: None if
    these tables are missing.
    """

    digest: str
    function_words: frozenset[str]
    abbreviations: Mapping[str, bool]
    synonyms: Synonyms | None
    paraphrases: Paraphrases | None


NO_TABLES = MeteorTables("none", frozenset(), {}, None, None)


@dataclass(frozen=True, slots=True)
class _Source:
    """Paths of the jar and of the file of paraphrases, or their names inside the wheel `archive`."""

    jar: str
    paraphrases: str | None
    archive: str | None = None

    def open(self, name: str) -> IO[bytes]:
        if self.archive is None:
            return Path(name).open("rb")
        with ZipFile(self.archive) as wheel:
            return BytesIO(wheel.read(name))


class AvailableTables(NamedTuple):
    synonyms: bool
    paraphrases: bool


def available_tables() -> AvailableTables:
    """Return which tables are installed, without reading them. Raise InvalidFile if QUORUM_METEOR_DATA is wrong."""
    source = _find_source(os.environ.get(DATA, ""))
    return AvailableTables(source is not None, source is not None and source.paraphrases is not None)


def load_tables() -> MeteorTables:
    """Read the installed tables, or return NO_TABLES. Raise InvalidFile if a file is not readable as METEOR's.

    The parsed tables are stored in a cache folder, and kept in memory.
    """
    source = _find_source(os.environ.get(DATA, ""))
    return _load_source(source) if source else NO_TABLES


def _find_source(location: str) -> _Source | None:
    """Return the files at a location, by default of the installed package; None if there are none."""
    if not location:
        return _installed_source()
    if location == NO_TABLES.digest:
        return None
    path = Path(location).expanduser()
    if path.is_dir():
        return _source_in_folder(path)
    if not path.is_file():
        raise InvalidFile(f"{DATA} is {location}, expected a folder, {JAR} or the wheel of {PACKAGE}")
    if path.suffix == ".whl":
        inside = f"{PACKAGE}/meteor"
        return _Source(f"{inside}/{JAR}", f"{inside}/data/{PARAPHRASES}", str(path))
    return _Source(str(path), _paraphrases_near(path.parent))


def _source_in_folder(folder: Path) -> _Source:
    for inside in (folder, folder / "meteor", folder / PACKAGE / "meteor"):
        if (inside / JAR).is_file():
            return _Source(str(inside / JAR), _paraphrases_near(inside))
    raise InvalidFile(f"{DATA}: found no {JAR} in the folder {folder}, expected the folder of METEOR 1.5")


def _paraphrases_near(folder: Path) -> str | None:
    paths = [path for path in (folder / "data" / PARAPHRASES, folder / PARAPHRASES) if path.is_file()]
    return str(paths[0]) if paths else None


def _installed_source() -> _Source | None:
    spec = PathFinder.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(folder) / "meteor" / JAR).is_file():
            return _source_in_folder(Path(folder))
    return None


@cache
def _load_source(source: _Source) -> MeteorTables:
    """Return the tables of these files, from the cache folder if they were parsed before."""
    members = _read_members(source)
    tail = _read_tail(source)
    checksum = sha256(tail)
    for name in JAR_MEMBERS:
        checksum.update(members[name])
    digest = checksum.hexdigest()[:8]
    arrays = _load_arrays(digest)
    if arrays is None:
        arrays = _parse_synsets(_split_lines(members[SYNSETS]), source)
        if source.paraphrases:
            with source.open(source.paraphrases) as packed:
                arrays |= read_paraphrases(packed, source.paraphrases)
        _save_arrays(digest, arrays)
    return MeteorTables(
        digest,
        frozenset(_split_lines(members[FUNCTION_WORDS])),
        _parse_abbreviations(_split_lines(members[ABBREVIATIONS])),
        _parse_synonyms(arrays, _split_lines(members[EXCEPTIONS])),
        Paraphrases.from_arrays(arrays) if source.paraphrases else None,
    )


def _read_members(source: _Source) -> dict[str, bytes]:
    """Return the files of the jar. Raise InvalidFile if it is not that of METEOR 1.5."""
    try:
        with source.open(source.jar) as file, ZipFile(file) as jar:
            if VERSION_CONSTANT not in jar.read(VERSION_CLASS):
                raise InvalidFile(f"{source.jar} is another version of METEOR, expected version 1.5")
            return {name: jar.read(name) for name in JAR_MEMBERS}
    except KeyError as missing:
        raise InvalidFile(
            f"{source.archive or source.jar}: {missing.args[0]}; expected the program METEOR 1.5"
        ) from None
    except (BadZipFile, zlib.error, EOFError, OSError):
        raise InvalidFile(
            f"{source.archive or source.jar} cannot be read as a zip file, expected {JAR}"
        ) from None


def _read_tail(source: _Source) -> bytes:
    """Return the last 8 bytes of the gzip file of paraphrases, or b"" if there is no such file.

    These bytes are the file's checksum and length, which identify its content.
    """
    if source.paraphrases is None:
        return b""
    try:
        with source.open(source.paraphrases) as packed:
            packed.seek(-8, os.SEEK_END)
            return packed.read()
    except (OSError, KeyError):
        raise InvalidFile(
            f"{source.paraphrases} cannot be read, expected METEOR's paraphrases in a gzip file"
        ) from None


def _split_lines(content: bytes) -> list[str]:
    return content.decode("utf-8", "replace").removesuffix("\n").split("\n")


def _parse_abbreviations(lines: list[str]) -> dict[str, bool]:
    rows = [line.split() for line in lines]
    return {row[0]: row[1:2] == ["#NUMERIC_ONLY#"] for row in rows if row and not row[0].startswith("#")}


def _parse_synsets(lines: list[str], source: _Source) -> Arrays:
    """Return the arrays of WordNet, from lines that have an entry and the numbers of its synonym sets in turn."""
    try:
        numbers = [list(map(int, line.split())) for line in lines[1::2]]
    except ValueError:
        numbers = []
    if not numbers or len(lines) % 2:
        raise InvalidFile(f"{source.jar}: {SYNSETS} holds other lines than an entry and its numbers in turn")
    return {
        "entries": _pack_texts(lines[0::2]),
        "sets": np.array([number for row in numbers for number in row], dtype=np.int32),
        "set_starts": starts_of(list(map(len, numbers))),
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
    """Return the phrases and the paraphrases, which are the second and the third of every three lines."""
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
        sources.append(batch_lines.take(pa.array(np.arange((1 - lines_read) % 3, len(batch_lines), 3))))
        targets.append(batch_lines.take(pa.array(np.arange((2 - lines_read) % 3, len(batch_lines), 3))))
        lines_read += len(batch_lines)
    return sources, targets


def cache_folder() -> Path:
    configured = os.environ.get(CACHE)
    if configured:
        return Path(configured).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "quorum"


def _cache_path(digest: str) -> Path:
    return cache_folder() / f"meteor-{digest}-{CACHE_VERSION}.npz"


def _load_arrays(digest: str) -> Arrays | None:
    try:
        with _cache_path(digest).open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
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
    return np.frombuffer("\n".join(texts).encode("utf-8"), dtype=np.uint8)


def _unpack_texts(array: NDArray[np.uint8]) -> list[str]:
    return array.tobytes().decode("utf-8").split("\n")


class CaptionPhrases(NamedTuple):
    """Phrases of the captions that have, or are, a paraphrase of another phrase of the captions.

    `trie` and `bits` are those of `text.tries`. phrase_of_node: the phrase that ends at a node of `trie`, or -1.
    lengths: the number of words of each phrase. Phrase p may be replaced by the phrases
    `targets[target_starts[p]:target_starts[p + 1]]`, and may itself replace
    `sources[source_starts[p]:source_starts[p + 1]]`; `pair_positions` has the positions of these pairs in `targets`.
    """

    trie: Trie
    bits: int
    phrase_of_node: Numbers
    lengths: Numbers
    target_starts: Ints
    targets: Numbers
    source_starts: Ints
    sources: Numbers
    pair_positions: Ints


def no_phrases() -> CaptionPhrases:
    """Return an empty table of phrases, for alignments without the paraphrase stage."""
    no_numbers, starts = np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64)
    trie, bits, phrase_of_node = _build_trie(no_numbers, starts[:0])
    return CaptionPhrases(
        trie,
        bits,
        phrase_of_node,
        lengths=no_numbers,
        target_starts=starts,
        targets=no_numbers,
        source_starts=starts,
        sources=no_numbers,
        pair_positions=starts[:0],
    )


def phrases_in(texts: TokenizedTexts, table: Paraphrases) -> CaptionPhrases:
    """Return the paraphrase table restricted to phrases that occur in the captions.

    First a trie of all phrases whose words occur is built. One pass over the captions marks the phrases that occur
    as a whole. The smaller trie of the result holds only these.
    """
    number_by_word = {word: number for number, word in enumerate(texts.vocabulary)}
    # Numbers of the table's words in the captions.
    numbers = np.array([number_by_word.get(word, -1) for word in table.vocabulary], dtype=np.int32)
    # Keep phrases whose words occur, and pairs of such phrases. A pair is a source and a target, which paraphrases it.
    is_known = numbers >= 0
    known_sources = np.flatnonzero(
        _have_known_words(np.arange(table.target_starts.size - 1), table, is_known)
    )
    target_counts = table.target_starts[known_sources + 1] - table.target_starts[known_sources]
    sources = np.repeat(known_sources, target_counts)
    targets = table.targets[joined_ranges(table.target_starts[known_sources], target_counts)].astype(np.int64)
    is_known_target = np.zeros(table.starts.size - 1, dtype=np.bool_)
    is_known_target[targets] = True
    distinct_targets = np.flatnonzero(is_known_target)
    is_known_target[distinct_targets] = _have_known_words(distinct_targets, table, is_known)
    sources, targets, known_phrases = _renumber_phrases(
        sources[is_known_target[targets]], targets[is_known_target[targets]], is_known_target.size
    )
    lengths = table.starts[known_phrases + 1] - table.starts[known_phrases]
    tokens = numbers[table.tokens[joined_ranges(table.starts[known_phrases], lengths)]]
    trie, bits, phrase_of_node = _build_trie(tokens, lengths)
    # Keep pairs of phrases that occur in the captions.
    occurs = _find_occurring(texts.tokens, texts.starts, trie, bits, phrase_of_node, lengths.size)
    pairs = np.flatnonzero(occurs[sources] & occurs[targets])
    sources, targets, kept_phrases = _renumber_phrases(sources[pairs], targets[pairs], lengths.size)
    first_words = np.cumsum(lengths) - lengths
    tokens = tokens[joined_ranges(first_words[kept_phrases], lengths[kept_phrases])]
    lengths = lengths[kept_phrases]
    trie, bits, phrase_of_node = _build_trie(tokens, lengths)
    order_by_target = np.argsort(targets, kind="stable")
    return CaptionPhrases(
        trie,
        bits,
        phrase_of_node,
        lengths=lengths.astype(np.int32),
        target_starts=starts_of(np.bincount(sources, minlength=lengths.size)),
        targets=targets.astype(np.int32),
        source_starts=starts_of(np.bincount(targets, minlength=lengths.size)),
        sources=sources[order_by_target].astype(np.int32),
        pair_positions=order_by_target,
    )


def _have_known_words(phrases: Ints, table: Paraphrases, is_known: Flags) -> Flags:
    """Return the (phrases,) flags that say whether all words of a phrase are known."""
    lengths = table.starts[phrases + 1] - table.starts[phrases]
    is_known_word = is_known[table.tokens[joined_ranges(table.starts[phrases], lengths)]]
    return np.asarray(np.bitwise_and.reduceat(is_known_word, np.cumsum(lengths) - lengths))


def _renumber_phrases(sources: Ints, targets: Ints, phrase_count: int) -> tuple[Ints, Ints, Ints]:
    """Renumber the phrases of both columns without gaps.

    Return both columns, and the old numbers, which are below `phrase_count`.
    """
    is_used = np.zeros(phrase_count, dtype=np.bool_)
    is_used[sources] = is_used[targets] = True
    new_numbers = np.cumsum(is_used) - 1
    return new_numbers[sources], new_numbers[targets], np.flatnonzero(is_used)


@compiled
def _build_trie(tokens: Numbers, lengths: Ints) -> tuple[Trie, int, Numbers]:
    """Return a trie of phrases with these lengths and consecutive `tokens`, its bits, and each node's phrase or -1."""
    max_nodes = tokens.size + 1
    bits = trie_bits(max_nodes)
    trie = empty_trie(max_nodes)
    phrase_of_node = np.full(max_nodes, -1, dtype=np.int32)
    nodes = 1
    position = 0
    for phrase in range(lengths.size):
        node = 0
        for _ in range(lengths[phrase]):
            node = child(trie, bits, 0, node, tokens[position], nodes)
            if node == nodes:
                nodes += 1
            position += 1
        phrase_of_node[node] = phrase
    return trie, bits, phrase_of_node[:nodes]


@compiled
def _find_occurring(
    tokens: Numbers, starts: Ints, trie: Trie, bits: int, phrase_of_node: Numbers, phrase_count: int
) -> Flags:
    """Return the (phrases,) flags that say whether a phrase of the trie occurs in the texts."""
    occurs = np.zeros(phrase_count, dtype=np.bool_)
    for text in range(starts.size - 1):
        for first_word in range(starts[text], starts[text + 1]):
            node = 0
            for position in range(first_word, starts[text + 1]):
                node = child(trie, bits, 0, node, tokens[position], -1)
                if node < 0:
                    break
                if phrase_of_node[node] >= 0:
                    occurs[phrase_of_node[node]] = True
    return occurs
