"""Find the files that hold the tables of METEOR 1.5, and read them from the official program's jar.

A file is given by its path, or, inside a wheel, by its name there.
"""

import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import PathFinder
from io import BytesIO
from pathlib import Path
from typing import IO
from zipfile import BadZipFile, ZipFile

from quorum.metrics.inputs import InvalidFile

DATA = "QUORUM_METEOR_DATA"
NO_DATA = "none"  # the value of QUORUM_METEOR_DATA with which no tables are used
JAR = "meteor-1.5.jar"
PARAPHRASES = "paraphrase-en.gz"
PACKAGE = "pycocoevalcap"
# The program's version is a text constant of this class. In a class file it has a tag (1) and its length (3) before it.
VERSION_CLASS = "edu/cmu/meteor/util/Constants.class"
VERSION_CONSTANT = b"\x01\x00\x031.5"


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The files that hold METEOR's tables.

    jar: path of the official program. paraphrases: path of the gzip file of paraphrases, or None if there is none.
    wheel: None, or the path of a wheel; `jar` and `paraphrases` are then names of files inside it.
    """

    jar: str
    paraphrases: str | None
    wheel: str | None = None

    def open(self, name: str) -> IO[bytes]:
        if self.wheel is None:
            return Path(name).open("rb")
        with ZipFile(self.wheel) as wheel:
            return BytesIO(wheel.read(name))

    def read_jar(self, names: Sequence[str]) -> dict[str, bytes]:
        """Return the contents, by name, of the named files in the jar.

        Raise InvalidFile if the jar is not that of METEOR 1.5.
        """
        try:
            with self.open(self.jar) as file, ZipFile(file) as jar:
                if VERSION_CONSTANT not in jar.read(VERSION_CLASS):
                    raise InvalidFile(f"{self.jar} is another version of METEOR, expected version 1.5")
                return {name: jar.read(name) for name in names}
        except KeyError as error:
            raise InvalidFile(
                f"{self.wheel or self.jar}: {error.args[0]}; expected the program METEOR 1.5"
            ) from None
        except (BadZipFile, zlib.error, EOFError, OSError):
            raise InvalidFile(
                f"{self.wheel or self.jar} cannot be read as a zip file, expected {JAR}"
            ) from None

    def read_gzip_trailer(self) -> bytes:
        """Return the last 8 bytes of the gzip file of paraphrases, or b"" if there is no such file.

        These bytes are the checksum and the length of the file's content, so they identify it.
        """
        if self.paraphrases is None:
            return b""
        try:
            with self.open(self.paraphrases) as gzip_file:
                gzip_file.seek(-8, os.SEEK_END)
                return gzip_file.read()
        except (OSError, KeyError):
            raise InvalidFile(
                f"{self.paraphrases} cannot be read, expected METEOR's paraphrases in a gzip file"
            ) from None


def find_files(location: str) -> TableFiles | None:
    """Return the files at a location, which is a value of QUORUM_METEOR_DATA, or None if there are no tables.

    If the location is empty, return the files of the installed package. Raise InvalidFile if there are no files at the
    location.
    """
    if not location:
        return _installed_files()
    if location == NO_DATA:
        return None
    path = Path(location).expanduser()
    if path.is_dir():
        return _files_in_folder(path)
    if not path.is_file():
        raise InvalidFile(f"{DATA} is {location}, expected a folder, {JAR} or the wheel of {PACKAGE}")
    if path.suffix == ".whl":
        package_folder = f"{PACKAGE}/meteor"
        return TableFiles(f"{package_folder}/{JAR}", f"{package_folder}/data/{PARAPHRASES}", str(path))
    return TableFiles(str(path), _paraphrases_near(path.parent))


def _files_in_folder(folder: Path) -> TableFiles:
    """Return the files in a folder, which may be that of METEOR, or of a package that contains it."""
    for package_folder in (folder, folder / "meteor", folder / PACKAGE / "meteor"):
        if (package_folder / JAR).is_file():
            return TableFiles(str(package_folder / JAR), _paraphrases_near(package_folder))
    raise InvalidFile(f"{DATA}: found no {JAR} in the folder {folder}, expected the folder of METEOR 1.5")


def _paraphrases_near(folder: Path) -> str | None:
    paths = [path for path in (folder / "data" / PARAPHRASES, folder / PARAPHRASES) if path.is_file()]
    return str(paths[0]) if paths else None


def _installed_files() -> TableFiles | None:
    spec = PathFinder.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(folder) / "meteor" / JAR).is_file():
            return _files_in_folder(Path(folder))
    return None
