"""Read and write bundles, which are the files of releases.

A bundle is a zip file with checksums for `sha256sum --check`. It is reproducible: the same files in the same order give
the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from common.files import ZIP_EPOCH, HashedFile, NanAsNullEncoder, indented_json
from evaluation.errors import VerificationError

CHECKSUMS = "SHA256SUMS"  # name of the file with the checksums
MANIFEST = "manifest.json"  # name of the file that describes the release, and lists the other files
COMPRESSION_LEVEL = 6  # zlib's default, which is fixed here so that equal files give equal bundles
CHUNK_BYTES = 1 << 20  # bytes (1 MiB) that are read at once
MAX_LINE_BYTES = 16 << 20  # longest line of a table
# errors that zip files cause if they are defective, encrypted, or compressed in an unknown way
READ_ERRORS = (BadZipFile, EOFError, NotImplementedError, RuntimeError, zlib.error)


class BundleWriter:
    """Writes the files of a bundle one after the other, and notes their checksums for the manifest and SHA256SUMS.

    Call ``close`` after the last file, and ``finish`` in any case.

    Attributes:
        files: by name, the checksum, the size and, for tables, the number of rows of each file written so far.
    """

    def __init__(self, file: HashedFile) -> None:
        self._zip = ZipFile(cast("IO[bytes]", file), "w", ZIP_DEFLATED, compresslevel=COMPRESSION_LEVEL)
        self.files: dict[str, dict[str, Any]] = {}

    @contextmanager
    def member(self, name: str) -> Iterator[HashedFile]:
        info = ZipInfo(name, ZIP_EPOCH)
        info.compress_type = ZIP_DEFLATED
        info.external_attr = 0o644 << 16  # permissions of Unix are in the upper 16 bits
        with self._zip.open(info, "w", force_zip64=True) as raw_file:
            file = HashedFile(cast("Any", raw_file))
            yield file
        self.files[name] = {"sha256": file.hexdigest(), "bytes": file.size}

    def write_text(self, name: str, text: str) -> None:
        with self.member(name) as file:
            file.write_text(text)

    def write_bytes(self, name: str, content: bytes) -> None:
        with self.member(name) as file:
            file.write(content)

    def write_json(self, name: str, value: Any) -> None:
        self.write_text(name, f"{indented_json(value)}\n")

    def write_rows(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        row_count = 0
        with self.member(name) as file:
            for row in rows:
                row_count += 1
                file.write_text(f"{json.dumps(row, ensure_ascii=False, cls=NanAsNullEncoder)}\n")
        self.files[name]["rows"] = row_count

    def close(self, manifest: Mapping[str, Any]) -> None:
        """Write the manifest, which lists the files, and the checksums, as the last files."""
        self.write_json(MANIFEST, {**manifest, "files": dict(self.files)})
        self.write_text(CHECKSUMS, _format_sums({name: file["sha256"] for name, file in self.files.items()}))

    def finish(self) -> None:
        """Write the zip file's directory. Without ``close`` before, the bundle is incomplete."""
        self._zip.close()


def _format_sums(hashes: Mapping[str, str]) -> str:
    """Return the lines of `sha256sum`, sorted by name, for the hashes of files by name."""
    return "".join([f"{digest}  {name}\n" for name, digest in sorted(hashes.items())])


class BundleReader:
    """Reads the files of a bundle, and checks them against its checksums.

    Methods raise VerificationError if the bundle is defective; ``problems`` only if SHA256SUMS cannot be read.

    Attributes:
        names, sizes: names of the files, and their sizes by name.
        digests: SHA-256 by name, of the files that ``problems`` has read; a phrase for files that cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._zip = ZipFile(path)
        except FileNotFoundError:
            raise VerificationError(f"There is no file {path}; expected a release bundle.") from None
        except (*READ_ERRORS, OSError):
            raise VerificationError(
                f"{path} is no release bundle: it cannot be read as a zip file."
            ) from None
        self.sizes = {info.filename: info.file_size for info in self._zip.infolist()}
        self.names = [info.filename for info in self._zip.infolist()]
        self.digests: dict[str, str] = {}

    def close(self) -> None:
        self._zip.close()

    def problems(self) -> list[str]:
        """Return a sentence about each contradiction between the bundle's files and its checksums."""
        name_counts = Counter(self.names)
        problems = [f"{name} is there more than once." for name, count in name_counts.items() if count > 1]
        if CHECKSUMS not in self.names:
            return [*problems, f"{CHECKSUMS} is missing."]
        text = self.text(CHECKSUMS)
        stated_digests: dict[str, str] = {}
        for line in text.split("\n")[:-1]:
            digest, _, name = line.partition("  ")
            stated_digests[name] = digest
        if _format_sums(stated_digests) != text:
            problems.append(
                f"{CHECKSUMS} was changed: expected a hash, two blanks and a file's name a line, by name."
            )
        for name in sorted(set(self.names) - {CHECKSUMS} | set(stated_digests)):
            if name not in stated_digests:
                problems.append(f"{name} stands in the bundle but not in {CHECKSUMS}.")
                continue
            if name not in self.names:
                problems.append(f"{name} is missing.")
                continue
            self.digests[name] = self._digest(name) or "it cannot be read"
            if self.digests[name] != stated_digests[name]:
                problems.append(f"{name} was changed: {self.digests[name]}, stated {stated_digests[name]}.")
        if MANIFEST not in stated_digests:
            problems.append(f"{MANIFEST} is not listed in {CHECKSUMS}.")
        return problems

    def _digest(self, name: str) -> str:
        """Return the SHA-256 of a file, or "" if it cannot be read."""
        digest = hashlib.sha256()
        try:
            with self._zip.open(name) as file:
                while chunk := file.read(CHUNK_BYTES):
                    digest.update(chunk)
        except READ_ERRORS:
            return ""
        return digest.hexdigest()

    def text(self, name: str) -> str:
        try:
            return self._zip.read(name).decode()
        except KeyError:
            raise VerificationError(f"{self.path} is no release bundle: it has no {name}.") from None
        except (*READ_ERRORS, UnicodeDecodeError):
            raise VerificationError(f"{name} of {self.path} cannot be read.") from None

    def json(self, name: str) -> Any:
        try:
            return json.loads(self.text(name))
        except ValueError:
            raise VerificationError(f"{name} of {self.path} is not JSON.") from None

    def rows(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a JSON lines file, or none if it is missing.

        Raise VerificationError if a line is not a JSON object.
        """
        if name not in self.names:
            return
        number = 0
        try:
            with self._zip.open(name) as file:
                while line := file.readline(MAX_LINE_BYTES):
                    number += 1
                    row = json.loads(line)
                    if not isinstance(row, dict):
                        raise ValueError
                    yield row
        except (*READ_ERRORS, ValueError):
            raise VerificationError(
                f"{name} of {self.path} cannot be read at line {number}; expected a JSON object."
            ) from None
