"""The tables of METEOR 1.5 for English: where they lie, and how they are read.

They are data of others and no part of Quorum: function words, abbreviations and WordNet synonyms lie in the
official program's jar, which is a zip file, paraphrases in a compressed text beside it. The package
pycocoevalcap 1.2 carries both (requirements-meteor.txt), a user may also point to a copy (see `places`).
"""

import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.machinery import PathFinder
from io import BytesIO
from pathlib import Path
from typing import IO
from zipfile import BadZipFile, ZipFile

import numpy as np

from evaluation.metrics.corpus import Ints, Numbers, starts_of
from evaluation.metrics.errors import InvalidFile
from evaluation.metrics.meteor import paraphrases, storage
from evaluation.metrics.meteor.places import DATA, data_place
from evaluation.metrics.meteor.storage import Arrays

JAR = "meteor-1.5.jar"
PARAPHRASES = "paraphrase-en.gz"
PACKAGE = "pycocoevalcap"

FUNCTION_WORDS = "function/english.words"
ABBREVIATIONS = "nonbreaking/english.prefixes"
EXCEPTIONS = "synonym/english.exceptions"
SYNSETS = "synonym/english.synsets"
MEMBERS = (FUNCTION_WORDS, ABBREVIATIONS, EXCEPTIONS, SYNSETS)
# The program knows its own version: a text constant of this class.
VERSION_CLASS = "edu/cmu/meteor/util/Constants.class"
VERSION_CONSTANT = b"\x01\x00\x031.5"


@dataclass(frozen=True, slots=True)
class Synonyms:
    """WordNet as the program carries it.

    `entries` gives the number of each entry, `sets` the synonym sets of all entries one after the other,
    `starts` (entries + 1,) where each entry's begin; `bases` the basic forms of irregular words.
    """

    entries: Mapping[str, int]
    sets: Numbers
    starts: Ints
    bases: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Tables:
    """What the stages of METEOR look things up in; without a source all of it is empty.

    `abbreviations` maps each abbreviation that keeps its full stop to whether it does so only before a number.
    `digest` names the source's content, "none" without one.
    """

    digest: str
    function_words: frozenset[str]
    abbreviations: Mapping[str, bool]
    synonyms: Synonyms | None
    paraphrases: paraphrases.Paraphrases | None


NOTHING = Tables("none", frozenset(), {}, None, None)


@dataclass(frozen=True, slots=True)
class _Source:
    """Where the two files are: paths, or names inside the wheel `archive`."""

    jar: str
    paraphrases: str | None
    archive: str | None = None

    def open(self, name: str) -> IO[bytes]:
        if self.archive is None:
            return Path(name).open("rb")
        with ZipFile(self.archive) as wheel:
            return BytesIO(wheel.read(name))


def find_tables() -> Tables:
    """The tables that `QUORUM_METEOR_DATA` or an installed pycocoevalcap gives, or `NOTHING`.

    Raises InvalidFile when what was pointed to is no METEOR 1.5.
    """
    source = _source(data_place())
    return _read(source) if source else NOTHING


def _source(given: str) -> _Source | None:
    if not given:
        return _installed()
    if given == NOTHING.digest:
        return None
    path = Path(given).expanduser()
    if path.is_dir():
        return _folder(path)
    if not path.is_file():
        raise InvalidFile(f"{DATA} is {given}, expected a folder, {JAR} or the wheel of {PACKAGE}")
    if path.suffix == ".whl":
        inside = f"{PACKAGE}/meteor"
        return _Source(f"{inside}/{JAR}", f"{inside}/data/{PARAPHRASES}", str(path))
    return _Source(str(path), _beside(path.parent))


def _folder(folder: Path) -> _Source:
    """A folder as the program or the package ships it."""
    for inside in (folder, folder / "meteor", folder / PACKAGE / "meteor"):
        if (inside / JAR).is_file():
            return _Source(str(inside / JAR), _beside(inside))
    raise InvalidFile(f"{DATA}: found no {JAR} in the folder {folder}, expected the folder of METEOR 1.5")


def _beside(folder: Path) -> str | None:
    found = [path for path in (folder / "data" / PARAPHRASES, folder / PARAPHRASES) if path.is_file()]
    return str(found[0]) if found else None


def _installed() -> _Source | None:
    """The files of an installed package, which is looked for and never imported."""
    spec = PathFinder.find_spec(PACKAGE)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(place) / "meteor" / JAR).is_file():
            return _folder(Path(place))
    return None


@cache
def _read(source: _Source) -> Tables:
    members = _members(source)
    tail = _tail(source)
    seal = sha256(tail)
    for name in MEMBERS:
        seal.update(members[name])
    digest = seal.hexdigest()[:8]
    found = storage.load(digest)
    if found is None:
        found = _synset_arrays(_lines(members[SYNSETS]), source)
        if source.paraphrases:
            with source.open(source.paraphrases) as packed:
                found |= paraphrases.read(packed, source.paraphrases)
        storage.save(digest, found)
    return Tables(
        digest,
        frozenset(_lines(members[FUNCTION_WORDS])),
        _abbreviations(_lines(members[ABBREVIATIONS])),
        _synonyms(found, _lines(members[EXCEPTIONS])),
        paraphrases.Paraphrases.of(found) if source.paraphrases else None,
    )


def _members(source: _Source) -> dict[str, bytes]:
    """The tables in the jar, by name."""
    try:
        with source.open(source.jar) as file, ZipFile(file) as jar:
            if VERSION_CONSTANT not in jar.read(VERSION_CLASS):
                raise InvalidFile(f"{source.jar} is another version of METEOR, expected version 1.5")
            return {name: jar.read(name) for name in MEMBERS}
    except KeyError as missing:
        raise InvalidFile(
            f"{source.archive or source.jar}: {missing.args[0]}; expected the program METEOR 1.5"
        ) from None
    except (BadZipFile, zlib.error, EOFError, OSError):
        raise InvalidFile(
            f"{source.archive or source.jar} cannot be read as a zip file, expected {JAR}"
        ) from None


def _tail(source: _Source) -> bytes:
    """Checksum and length that a gzip file ends with: they stand for its content."""
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


def _lines(content: bytes) -> list[str]:
    return content.decode("utf-8", "replace").removesuffix("\n").split("\n")


def _abbreviations(lines: list[str]) -> dict[str, bool]:
    """Lines of an abbreviation and perhaps a remark; a # begins a comment."""
    rows = [line.split() for line in lines]
    return {row[0]: row[1:2] == ["#NUMERIC_ONLY#"] for row in rows if row and not row[0].startswith("#")}


def _synset_arrays(lines: list[str], source: _Source) -> Arrays:
    """Lines in pairs: an entry, the numbers of its synonym sets."""
    try:
        numbers = [list(map(int, line.split())) for line in lines[1::2]]
    except ValueError:
        numbers = []
    if not numbers or len(lines) % 2:
        raise InvalidFile(f"{source.jar}: {SYNSETS} holds other lines than an entry and its numbers in turn")
    return {
        "entries": storage.packed(lines[0::2]),
        "sets": np.array([number for row in numbers for number in row], dtype=np.int32),
        "set_starts": starts_of(list(map(len, numbers))),
    }


def _synonyms(found: Arrays, lines: list[str]) -> Synonyms:
    bases: dict[str, tuple[str, ...]] = {}
    for base, forms in zip(lines[0::2], lines[1::2], strict=False):
        for form in forms.split():
            bases[form] = (*bases.get(form, ()), base)
    entries = {entry: number for number, entry in enumerate(storage.unpacked(found["entries"]))}
    return Synonyms(entries, found["sets"], found["set_starts"], bases)
