"""The texts of a bundle: README, CITATION.cff, Croissant metadata. Pure; datasheets stand in ``datasheet``.

Croissant is written after the MLCommons Croissant Format Specification 1.0
(https://docs.mlcommons.org/croissant/docs/croissant-spec.html).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from evaluation.releases.licences import LICENCES
from evaluation.releases.tables import OTHER_FILES, TABLES

CONTEXT: dict[str, Any] = {
    "@language": "en", "@vocab": "https://schema.org/", "citeAs": "cr:citeAs", "column": "cr:column",
    "conformsTo": "dct:conformsTo", "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"}, "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/", "equivalentProperty": "cr:equivalentProperty",
    "samplingRate": "cr:samplingRate", "examples": {"@id": "cr:examples", "@type": "@json"}, "extract": "cr:extract",
    "field": "cr:field", "fileProperty": "cr:fileProperty", "fileObject": "cr:fileObject", "fileSet": "cr:fileSet",
    "format": "cr:format", "includes": "cr:includes", "isLiveDataset": "cr:isLiveDataset", "jsonPath": "cr:jsonPath",
    "key": "cr:key", "md5": "cr:md5", "parentField": "cr:parentField", "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/", "recordSet": "cr:recordSet", "references": "cr:references",
    "regex": "cr:regex", "repeated": "cr:repeated", "replace": "cr:replace", "sc": "https://schema.org/",
    "separator": "cr:separator", "source": "cr:source", "subField": "cr:subField", "transform": "cr:transform",
}  # fmt: skip
CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
LONGEST_VERSION = 20
VERSION = re.compile(r"\d+(\.\d+){1,2}")


@dataclass(frozen=True, slots=True)
class About:
    """What a release is called, and by whom, when and on what terms it is given away."""

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


def readme(about: About, files: Mapping[str, Any], quorum: str) -> str:
    """README.md: what is in the bundle and how to check it."""
    lines = [f"# {one_line(about.title)} {about.version}", ""]
    if about.simulated:
        lines += ["**These answers are simulated. No person gave them.**", ""]
    lines += [
        f"Judgments of the study `{about.study}`, released on {about.on} under {about.licence}.",
        "",
        f"    {about.signature}",
        "",
        f"`quorum verify` checks every file and computes every figure again from the raw rows (Quorum {quorum}:",
        "`manage.py verify BUNDLE.zip`, no database needed); `sha256sum --check SHA256SUMS` checks the files alone.",
        "",
        "| file | holds |",
        "|---|---|",
    ]
    for name, (what, _) in TABLES.items():
        lines.append(f"| `{name}` | {what} {files[name]['rows']:,} rows |")
    lines += [f"| `{name}` | {what} |" for name, what in OTHER_FILES.items() if _there(name, files)]
    if not about.texts:
        lines += ["", "Captions are named by their ids alone: their texts are not ours to give away."]
    if about.attribution:
        lines += ["", "## The data that was judged", "", about.attribution]
    if about.citation:
        lines += ["", "## Citation", "", about.citation]
    return "\n".join([*lines, ""])


def _there(name: str, files: Mapping[str, Any]) -> bool:
    last = ("manifest.json", "SHA256SUMS", "CITATION.cff", "LICENSE", "datasheet.md", "croissant.json")
    return name in last or any(file.startswith(name) for file in files)


def citation_cff(about: About) -> str:
    """CITATION.cff 1.2.0 (https://citation-file-format.github.io); strings as JSON, which is YAML too."""
    message = about.citation or "Please cite this data by its title and version."
    lines = [
        "cff-version: 1.2.0",
        f"message: {json.dumps(message, ensure_ascii=False)}",
        "type: dataset",
        f"title: {json.dumps(about.title, ensure_ascii=False)}",
        f"version: {json.dumps(about.version)}",
        f"date-released: {about.on.isoformat()}",
        f"license: {about.licence}",
        "authors:",
        f"  - name: {json.dumps(f'The authors of {about.title}', ensure_ascii=False)}",
    ]
    return "\n".join([*lines, ""])


def croissant(about: About, files: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """croissant.json: the files of rows and their columns, as JSON-LD."""
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": about.study,
        "description": f"{about.title}. {'Simulated answers. ' if about.simulated else ''}{about.signature}",
        "license": LICENCES[about.licence][1],
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
            for name in TABLES
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": (table := name.removesuffix(".jsonl")),
                "name": table,
                "description": what,
                "field": [
                    {
                        "@type": "cr:Field",
                        "@id": f"{table}/{column}",
                        "name": column,
                        "description": said,
                        "dataType": data_type,
                        "source": {"fileObject": {"@id": name}, "extract": {"column": column}},
                    }
                    for column, (data_type, said) in columns.items()
                ],
            }
            for name, (what, columns) in TABLES.items()
        ],
    }


def one_line(text: str) -> str:
    """For a heading: what would break it is a blank."""
    return " ".join(text.split())
