"""Write the documents of a bundle: README, datasheet, CITATION.cff, LICENSE and metadata.

The metadata follow the MLCommons Croissant Format Specification 1.0
(https://docs.mlcommons.org/croissant/docs/croissant-spec.html).
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from common.errors import did_you_mean
from common.files import indented_json
from evaluation.errors import ReleaseError
from evaluation.presentation.rendering import text_templates

FOLDER = Path(__file__).parent
TEMPLATES = text_templates(FOLDER / "templates")

# A JSON string is also a YAML string.
TEMPLATES.filters["json"] = lambda text: json.dumps(text, ensure_ascii=False)

# Name of the licence and address of its text, by SPDX identifier.
LICENCES: dict[str, dict[str, str]] = tomllib.loads((FOLDER / "licences.toml").read_text(encoding="utf-8"))
# {"tables": {file: {"description": text, "columns": {name: [type, text]}}}, "others": {file or "folder/": text}}
_FILES: dict[str, Any] = tomllib.loads((FOLDER / "files.toml").read_text(encoding="utf-8"))
CROISSANT_CONTEXT: dict[str, Any] = json.loads((FOLDER / "croissant_context.json").read_text("utf-8"))
CROISSANT_VERSION = "http://mlcommons.org/croissant/1.0"

# Files that every bundle has. The README lists them even if they are not written yet.
FILES_OF_EVERY_BUNDLE = frozenset(
    ("manifest.json", "SHA256SUMS", "CITATION.cff", "LICENSE", "datasheet.md", "croissant.json")
)


@dataclass(frozen=True, slots=True)
class ReleaseDescription:
    """What the documents of a bundle say about the release.

    Attributes:
        study: slug of the study.
        licence: SPDX identifier, a key of ``LICENCES``.
        citation: how to cite the release; "" for its title and version.
        signature: signature of its judgments.
        simulated: whether simulated participants gave the answers.
        attribution: whose rights in the judged data must be stated.
        texts: whether the bundle has the texts of captions and of answers.
    """

    study: str
    title: str
    version: str
    licence: str
    citation: str
    released_on: date
    signature: str
    simulated: bool
    attribution: str
    texts: bool


def spdx_id_of(name: str) -> str:
    """Return the SPDX identifier of a licence.

    Raise ReleaseError if the licence is unknown; the message suggests the nearest known one.
    """
    id_by_lower_case = {licence.lower(): licence for licence in LICENCES}
    if name.lower() in id_by_lower_case:
        return id_by_lower_case[name.lower()]
    hint = did_you_mean(name, LICENCES)
    raise ReleaseError(f"There is no licence {name!r} here; expected one of {', '.join(LICENCES)}.{hint}")


def make_documents(
    release: ReleaseDescription,
    files: Mapping[str, Any],
    agreement: Mapping[str, Any],
    counts: Mapping[str, int],
    design: Mapping[str, Any],
    facts: Mapping[str, Any],
    quorum_version: str,
) -> dict[str, str]:
    """Return the contents of the documents by name.

    Args:
        files: the manifest's entries of files by name, at least of the tables.
        agreement, counts: results of the release; in ``agreement``, ``per_worker`` says whether workers are known.
        design: the design in ``design.toml``.
        facts: facts about the collection of the judgments (``format_datasheet``).
    """
    return {
        "datasheet.md": format_datasheet(release, agreement, counts, design, facts),
        "croissant.json": f"{indented_json(croissant_metadata(release, files))}\n",
        "CITATION.cff": citation_cff(release),
        "LICENSE": licence_text(release),
        "README.md": format_readme(release, files, quorum_version),
    }


def licence_text(release: ReleaseDescription) -> str:
    return TEMPLATES.get_template("LICENSE.j2").render(release=release, **LICENCES[release.licence])


def citation_cff(release: ReleaseDescription) -> str:
    """Return a citation file of format 1.2.0 (https://citation-file-format.github.io)."""
    return TEMPLATES.get_template("CITATION.cff.j2").render(release=release)


def format_readme(release: ReleaseDescription, files: Mapping[str, Any], quorum_version: str) -> str:
    """Return the README of a release, which describes its tables with their columns, and its other files."""
    other_files = {
        name: description
        for name, description in _FILES["others"].items()
        if name in FILES_OF_EVERY_BUNDLE or any(file.startswith(name) for file in files)
    }
    return TEMPLATES.get_template("README.md.j2").render(
        release=release,
        files=files,
        quorum_version=quorum_version,
        tables=_FILES["tables"],
        others=other_files,
    )


def format_datasheet(
    release: ReleaseDescription,
    agreement: Mapping[str, Any],
    counts: Mapping[str, int],
    design: Mapping[str, Any],
    facts: Mapping[str, Any],
) -> str:
    """Return the datasheet of a release.

    ``facts`` are ``collected`` (first and last day), ``minutes`` (median time of an assignment), ``exclusions``
    (number of workers by rule) and ``consents`` (number, hash and number of people of each version of the consent
    text).
    """
    sampling = (design.get("sampling") or {}).items()
    sides = next((part for part in release.signature.split("|") if part.startswith("sides:")), "sides:none")
    return TEMPLATES.get_template("datasheet.md.j2").render(
        release=release,
        alpha=agreement.get("alpha", {}),
        counts=counts,
        anonymous=not agreement["per_worker"]["available"],
        design=design,
        sampling=", ".join(f"{key} = {value}" for key, value in sampling if value not in (None, "", {})),
        sides=sides.removeprefix("sides:"),  # the share of votes with the first option on the left, or "none"
        **facts,
    )


def croissant_metadata(release: ReleaseDescription, files: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "@context": CROISSANT_CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CROISSANT_VERSION,
        "name": release.study,
        "description": f"{release.title}. {'Simulated answers. ' if release.simulated else ''}{release.signature}",
        "license": LICENCES[release.licence]["address"],
        "url": f"urn:quorum:{release.study}:{release.version}",
        # Croissant recommends semantic versions, which have three numbers.
        "version": release.version if release.version.count(".") == 2 else f"{release.version}.0",
        "datePublished": release.released_on.isoformat(),
        "citeAs": release.citation
        or f"{release.title}, version {release.version}, {release.released_on.year}.",
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


def _record_set(file: str, description: str, columns: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    table = file.removesuffix(".jsonl")
    return {
        "@type": "cr:RecordSet",
        "@id": table,
        "name": table,
        "description": description,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{table}/{column}",
                "name": column,
                "description": column_description,
                "dataType": data_type,
                "source": {"fileObject": {"@id": file}, "extract": {"column": column}},
            }
            for column, (data_type, column_description) in columns.items()
        ],
    }
