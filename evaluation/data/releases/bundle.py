"""Read and write bundles, reproducible zips with checksums for `sha256sum --check`, and their documents.

The documents are README, datasheet, CITATION.cff, LICENSE and metadata by the MLCommons Croissant Format Specification
1.0 (https://docs.mlcommons.org/croissant/docs/croissant-spec.html).
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import IO, Any, cast
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from common.files import FiguresEncoder, HashedFile, indented
from evaluation.data.export.parts import EPOCH
from evaluation.errors import ReleaseError, VerificationError
from evaluation.presentation.rendering import text_templates
from judgments.models import Study
from judgments.studies.studies import design_of

SUMS = "SHA256SUMS"
MANIFEST = "manifest.json"
LEVEL = 6
CHUNK = 1 << 20
LONGEST_LINE = 16 << 20  # bytes
UNREADABLE = (BadZipFile, EOFError, NotImplementedError, RuntimeError, zlib.error)


class BundleWriter:
    def __init__(self, file: HashedFile) -> None:
        self._zip = ZipFile(cast("IO[bytes]", file), "w", ZIP_DEFLATED, compresslevel=LEVEL)
        self.files: dict[str, dict[str, Any]] = {}

    @contextmanager
    def member(self, name: str) -> Iterator[HashedFile]:
        info = ZipInfo(name, EPOCH)
        info.compress_type, info.external_attr = ZIP_DEFLATED, 0o644 << 16
        with self._zip.open(info, "w", force_zip64=True) as raw:
            file = HashedFile(cast("Any", raw))
            yield file
        self.files[name] = {"sha256": file.hexdigest(), "bytes": file.size}

    def write_text(self, name: str, text: str) -> None:
        with self.member(name) as file:
            file.write_text(text)

    def write_bytes(self, name: str, content: bytes) -> None:
        with self.member(name) as file:
            file.write(content)

    def write_json(self, name: str, value: Any) -> None:
        self.write_text(name, f"{indented(value)}\n")

    def write_rows(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        count = 0
        with self.member(name) as file:
            for row in rows:
                count += 1
                file.write_text(f"{json.dumps(row, ensure_ascii=False, cls=FiguresEncoder)}\n")
        self.files[name]["rows"] = count

    def close(self, manifest: Mapping[str, Any]) -> None:
        self.write_json(MANIFEST, {**manifest, "files": dict(self.files)})
        self.write_text(SUMS, _sums({name: file["sha256"] for name, file in self.files.items()}))

    def finish(self) -> None:
        self._zip.close()


def _sums(hashes: Mapping[str, str]) -> str:
    return "".join([f"{digest}  {name}\n" for name, digest in sorted(hashes.items())])


class BundleReader:
    """Read a bundle. Raise VerificationError for any defect."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._zip = ZipFile(path)
        except FileNotFoundError:
            raise VerificationError(f"There is no file {path}; expected a release bundle.") from None
        except (*UNREADABLE, OSError):
            raise VerificationError(
                f"{path} is no release bundle: it cannot be read as a zip file."
            ) from None
        self.sizes = {info.filename: info.file_size for info in self._zip.infolist()}
        self.names = [info.filename for info in self._zip.infolist()]
        self.digests: dict[str, str] = {}  # of what `problems` read

    def close(self) -> None:
        self._zip.close()

    def problems(self) -> list[str]:
        """Describe contradictions between files and checksums."""
        repeated = [name for name in set(self.names) if self.names.count(name) > 1]
        problems = [f"{name} is there more than once." for name in repeated]
        if SUMS not in self.names:
            return [*problems, f"{SUMS} is missing."]
        text = self.text(SUMS)
        parts = [line.partition("  ") for line in text.split("\n")[:-1]]
        sums = {name: digest for digest, _, name in parts}
        if _sums(sums) != text:
            problems.append(
                f"{SUMS} was changed: expected a hash, two blanks and a file's name a line, by name."
            )
        for name in sorted(set(self.names) - {SUMS} | set(sums)):
            if name not in sums:
                problems.append(f"{name} stands in the bundle but not in {SUMS}.")
            elif name not in self.names:
                problems.append(f"{name} is missing.")
            else:
                digest = self.digests[name] = self._digest(name) or "it cannot be read"
                if digest != sums[name]:
                    problems.append(f"{name} was changed: {digest}, stated {sums[name]}.")
        if MANIFEST not in sums:
            problems.append(f"{MANIFEST} is not listed in {SUMS}.")
        return problems

    def _digest(self, name: str) -> str:
        digest = hashlib.sha256()
        try:
            with self._zip.open(name) as file:
                while chunk := file.read(CHUNK):
                    digest.update(chunk)
        except UNREADABLE:
            return ""
        return digest.hexdigest()

    def text(self, name: str) -> str:
        try:
            return self._zip.read(name).decode()
        except KeyError:
            raise VerificationError(f"{self.path} is no release bundle: it has no {name}.") from None
        except (*UNREADABLE, UnicodeDecodeError):
            raise VerificationError(f"{name} of {self.path} cannot be read.") from None

    def json(self, name: str) -> Any:
        try:
            return json.loads(self.text(name))
        except ValueError:
            raise VerificationError(f"{name} of {self.path} is not JSON.") from None

    def rows(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a JSON lines file; none if it is missing."""
        if name not in self.names:
            return
        number = 0
        try:
            with self._zip.open(name) as file:
                while line := file.readline(LONGEST_LINE):
                    number += 1
                    row = json.loads(line)
                    if not isinstance(row, dict):
                        raise ValueError
                    yield row
        except (*UNREADABLE, ValueError):
            raise VerificationError(
                f"{name} of {self.path} cannot be read at line {number}; expected a JSON object."
            ) from None


FOLDER = Path(__file__).parent
TEMPLATES = text_templates(FOLDER / "templates")

# JSON strings are YAML strings too.
TEMPLATES.filters["json"] = lambda text: json.dumps(text, ensure_ascii=False)

# SPDX identifier -> name and address of the text.
LICENCES: dict[str, dict[str, str]] = tomllib.loads((FOLDER / "licences.toml").read_text(encoding="utf-8"))
_FILES: dict[str, Any] = tomllib.loads((FOLDER / "files.toml").read_text(encoding="utf-8"))
CONTEXT: dict[str, Any] = json.loads((FOLDER / "croissant_context.json").read_text(encoding="utf-8"))
CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
LONGEST_VERSION = 20
VERSION = re.compile(r"\d+(\.\d+){1,2}")

# Files of every bundle that are written after its README.
WRITTEN_LATER = frozenset(
    ("manifest.json", "SHA256SUMS", "CITATION.cff", "LICENSE", "datasheet.md", "croissant.json")
)


@dataclass(frozen=True, slots=True)
class About:
    study: str
    title: str
    version: str
    licence: str
    citation: str
    on: date
    signature: str
    simulated: bool
    attribution: str
    texts: bool


def check_licence(name: str) -> str:
    """Return the SPDX identifier. Raise ReleaseError naming the nearest."""
    by_lower = {known.lower(): known for known in LICENCES}
    if name.lower() in by_lower:
        return by_lower[name.lower()]
    near = get_close_matches(name.lower(), by_lower, n=1)
    hint = f"did you mean {by_lower[near[0]]}? " if near else ""
    raise ReleaseError(f"There is no licence {name!r} here; {hint}expected one of {', '.join(LICENCES)}.")


def documents(
    about: About,
    files: Mapping[str, Any],
    agreement: Mapping[str, Any],
    counts: Mapping[str, int],
    design: Mapping[str, Any],
    facts: Mapping[str, Any],
    quorum: str,
) -> Iterator[tuple[str, str]]:
    """Yield name and content of each document; ``files`` are read as they are then."""
    yield "datasheet.md", datasheet(about, agreement, counts, design, facts)
    yield "croissant.json", f"{indented(croissant(about, files))}\n"
    yield "CITATION.cff", citation_cff(about)
    yield "LICENSE", licence_text(about)
    yield "README.md", readme(about, files, quorum)


def licence_text(about: About) -> str:
    return TEMPLATES.get_template("LICENSE.j2").render(about=about, **LICENCES[about.licence])


def citation_cff(about: About) -> str:
    """Return a citation file of format 1.2.0 (https://citation-file-format.github.io)."""
    return TEMPLATES.get_template("CITATION.cff.j2").render(about=about)


def readme(about: About, files: Mapping[str, Any], quorum: str) -> str:
    others = {
        name: holds
        for name, holds in _FILES["others"].items()
        if name in WRITTEN_LATER or any(file.startswith(name) for file in files)
    }
    return TEMPLATES.get_template("README.md.j2").render(
        about=about, files=files, quorum=quorum, tables=_FILES["tables"], others=others
    )


def datasheet(
    about: About,
    agreement: Mapping[str, Any],
    counts: Mapping[str, int],
    design: Mapping[str, Any],
    facts: Mapping[str, Any],
) -> str:
    """Return the datasheet of a release.

    ``facts`` are ``collected`` (first and last day), ``minutes`` (median of an assignment), ``exclusions``
    (rule -> number of workers) and ``consents`` (number, hash and people of each version of the consent
    text).
    """
    sampling = (design.get("sampling") or {}).items()
    sides = next((part for part in about.signature.split("|") if part.startswith("sides:")), "sides:none")
    return TEMPLATES.get_template("datasheet.md.j2").render(
        about=about,
        alpha=agreement.get("alpha", {}),
        counts=counts,
        anonymous=not agreement["per_worker"]["available"],
        design=design,
        sampling=", ".join(f"{key} = {value}" for key, value in sampling if value not in (None, "", {})),
        sides=sides.removeprefix("sides:"),
        **facts,
    )


def croissant(about: About, files: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": about.study,
        "description": f"{about.title}. {'Simulated answers. ' if about.simulated else ''}{about.signature}",
        "license": LICENCES[about.licence]["address"],
        "url": f"urn:quorum:{about.study}:{about.version}",
        "version": about.version if about.version.count(".") == 2 else f"{about.version}.0",
        "datePublished": about.on.isoformat(),
        "citeAs": about.citation or f"{about.title}, version {about.version}, {about.on.year}.",
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": name,
                "name": name,
                "contentUrl": name,
                "encodingFormat": "application/jsonlines",
                "sha256": files[name]["sha256"],
            }
            for name in _FILES["tables"]
        ],
        "recordSet": [_record_set(name, **table) for name, table in _FILES["tables"].items()],
    }


def _record_set(file: str, holds: str, columns: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    table = file.removesuffix(".jsonl")
    return {
        "@type": "cr:RecordSet",
        "@id": table,
        "name": table,
        "description": holds,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{table}/{column}",
                "name": column,
                "description": description,
                "dataType": data_type,
                "source": {"fileObject": {"@id": file}, "extract": {"column": column}},
            }
            for column, (data_type, description) in columns.items()
        ],
    }


def shareable_design(study: Study) -> dict[str, Any]:
    """Return the design without access codes and a panel's addresses."""
    design = design_of(study).model_dump(mode="json")
    if design["access"]["code"]:
        design["access"]["code"] = "left out"
    design["panel"] |= {"codes": {}, "addresses": {}}
    return design
