"""Write a report's files beside their place, then move the folder."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

from evaluation.errors import ExportError
from evaluation.provenance import as_json
from evaluation.report.citations import bibtex
from evaluation.report.content import Report
from evaluation.report.rendering import render_methods, render_report, render_table
from judgments.studies.generation import Progress, no_progress

MANIFEST = "manifest.json"


def files_of(report: Report, progress: Progress = no_progress) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of every file but the manifest; equal reports give equal bytes."""
    # Imported lazily: matplotlib costs 60 MB and 0.3 s.
    from evaluation.plots import files as drawing

    svgs: dict[str, str] = {}
    plots = report.plots
    for number, plot in enumerate(plots):
        progress(0.8 + 0.18 * number / len(plots), f"figure {plot.name}")
        figure = drawing.drawn(plot, stamp=report.signature)
        svgs[plot.name] = svg = drawing.svg_of(figure, plot, simulated=report.simulated)
        yield f"figures/{plot.name}.svg", drawing.svg_file(svg)
        yield f"figures/{plot.name}.page.svg", svg.encode()
        yield f"figures/{plot.name}.pdf", drawing.pdf_of(figure)
        yield f"figures/{plot.name}.png", drawing.png_of(figure)
        yield f"figures/{plot.name}.csv", render_table(plot.data, "csv").encode()
    for table in report.tables:
        for form in ("html", "csv", "tex", "md"):
            yield f"tables/{table.name}.{form}", render_table(table, form, report.signature).encode()
    yield "index.html", render_report(report, "html", svgs).encode()
    for form in ("md", "tex"):
        yield f"report.{form}", render_report(report, form).encode()
    for form in ("md", "tex"):
        yield f"methods.{form}", render_methods(report, form).encode()
    yield "references.bib", bibtex(report.citations).encode()
    yield "report.json", _json(as_json(report))


def manifest_of(report: Report, sums: dict[str, tuple[int, str]]) -> bytes:
    fields = ("study", "simulated", "signature", "data_hash", "seed", "versions")
    files = {name: {"bytes": size, "sha256": digest} for name, (size, digest) in sorted(sums.items())}
    return _json({name: getattr(report, name) for name in fields} | {"files": files})


def with_manifest(report: Report, progress: Progress = no_progress) -> Iterator[tuple[str, bytes]]:
    sums: dict[str, tuple[int, str]] = {}
    for name, content in files_of(report, progress):
        sums[name] = (len(content), hashlib.sha256(content).hexdigest())
        yield name, content
    yield MANIFEST, manifest_of(report, sums)


def write_report(report: Report, folder: Path, *, progress: Progress = no_progress) -> list[str]:
    """Write ``report`` into ``folder`` atomically, replacing an earlier report.

    Raises:
        ExportError: the parent folder does not exist, or the folder holds no report.
    """
    check_folder(folder)
    beside = folder.with_name(f".{folder.name}.{uuid4().hex[:8]}.part")
    names = []
    try:
        for name, content in with_manifest(report, progress):
            path = beside / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            names.append(name)
        if folder.exists():
            old = folder.with_name(f".{folder.name}.{uuid4().hex[:8]}.old")
            folder.rename(old)
            beside.rename(folder)
            shutil.rmtree(old)
        else:
            beside.rename(folder)
    except OSError as error:
        raise ExportError(f"{folder} cannot be written: {error.strerror or error}.") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return names


def check_folder(folder: Path) -> None:
    """Refuse an unusable place early. Raise ExportError."""
    if not folder.resolve().parent.is_dir():
        raise ExportError(f"The folder {folder.parent} does not exist; nothing was written.")
    if folder.exists() and not folder.is_dir():
        raise ExportError(f"{folder} is a file; expected the name of a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MANIFEST).is_file():
        raise ExportError(f"{folder} holds files that are no report; expected a new or an empty folder.")


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()
