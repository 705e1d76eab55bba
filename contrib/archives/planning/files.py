"""Prepare the files of a deposit, with the hashes by which archives identify them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from zipfile import ZipFile

from contrib.archives.errors import PublishingError
from evaluation.data.releases.bundle import CHUNK_BYTES, BundleReader
from evaluation.models import Release

SAMPLE_BYTES = 512  # number of first bytes from which Hugging Face guesses how to store a file


@dataclass(frozen=True, slots=True)
class DepositFile:
    """A file to send.

    Attributes:
        git_sha1: the hash by which git identifies the file.
        sample: the first bytes of the file.
        open: a function that yields the file's bytes from an offset (default 0). It can be called several times.
    """

    name: str
    size: int
    sha256: str
    md5: str
    git_sha1: str
    sample: bytes
    open: Callable[..., Iterator[bytes]] = field(repr=False)

    def read(self, begin: int, end: int) -> Iterator[bytes]:
        """Yield the bytes from offset ``begin`` up to, but not including, ``end``."""
        remaining_bytes = end - begin
        for part in self.open(begin):
            yield part[:remaining_bytes]
            remaining_bytes -= len(part)
            if remaining_bytes <= 0:
                return


def make_deposit_file(name: str, open_at: Callable[..., Iterator[bytes]]) -> DepositFile:
    """Return a file with its hashes. Its bytes are read twice, since git hashes their number first.

    Args:
        open_at: a function that yields the file's bytes from an offset.
    """
    sha256, md5, size, sample = hashlib.sha256(), hashlib.md5(usedforsecurity=False), 0, b""
    for part in open_at():
        sha256.update(part)
        md5.update(part)
        size += len(part)
        sample += part[: SAMPLE_BYTES - len(sample)]
    git_sha1 = hashlib.sha1(f"blob {size}\0".encode(), usedforsecurity=False)
    for part in open_at():
        git_sha1.update(part)
    hashes = {"sha256": sha256.hexdigest(), "md5": md5.hexdigest(), "git_sha1": git_sha1.hexdigest()}
    return DepositFile(name=name, size=size, sample=sample, open=open_at, **hashes)


def open_bundle(bundle: Path, release: Release) -> BundleReader:
    """Open the bundle of a release. Raise PublishingError if the file is another one."""
    digest = hashlib.sha256()
    reader = BundleReader(bundle)
    for part in read_file(bundle):
        digest.update(part)
    if digest.hexdigest() != release.sha256:
        reader.close()
        raise PublishingError(
            f"{bundle} is not release {release.version} of study {release.study.slug!r}: its SHA-256 is "
            f"{digest.hexdigest()}, expected {release.sha256}."
        )
    return reader


def read_bytes(data: bytes, begin: int = 0) -> Iterator[bytes]:
    yield data[begin:]


def read_file(path: Path, begin: int = 0) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(begin)
        while part := file.read(CHUNK_BYTES):
            yield part


def read_member(path: Path, name: str, begin: int = 0) -> Iterator[bytes]:
    """Yield the bytes of a file in a zip archive from an offset."""
    with ZipFile(path) as archive, archive.open(name) as file:
        file.seek(begin)
        while part := file.read(CHUNK_BYTES):
            yield part
