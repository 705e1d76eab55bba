"""Read archives in the export folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

from common.errors import NotThere

EPOCH = (
    1980,
    1,
    1,
    0,
    0,
    0,
)  # the earliest time in an archive, fixed so that equal files give equal archives
OTHERS = "application/octet-stream"
CONTENT_TYPES = {
    ".svg": "image/svg+xml",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".csv": "text/csv; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".md": "text/markdown; charset=utf-8",
    ".tex": "application/x-tex; charset=utf-8",
    ".bib": "application/x-bibtex; charset=utf-8",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".toml": "application/toml",
}


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    size: int
    content_type: str


def entries(path: Path) -> list[Entry]:
    with ZipFile(path) as archive:
        return [Entry(one.filename, one.file_size, content_type(one.filename)) for one in archive.infolist()]


def content_of(path: Path, name: str, *, what: str) -> bytes:
    """Return a file of the archive. Raise NotThere."""
    with ZipFile(path) as archive:
        if name not in archive.namelist():
            raise NotThere(f"The {what} has no file {name!r}.")
        return archive.read(name)


def content_type(name: str) -> str:
    return CONTENT_TYPES.get(PurePosixPath(name).suffix, OTHERS)
