"""Make the files of a report, and write them into a folder."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from uuid import uuid4

from common.amounts import as_json
from common.files import NanAsNullEncoder
from evaluation.errors import ExportError
from evaluation.presentation.content import Report
from evaluation.presentation.rendering import render_methods, render_report, render_table
from evaluation.reports.methods import bibtex
from judgments.studies.generation.progress import Progress, no_progress

MANIFEST = "manifest.json"  # the file with the sizes and hashes of the others


def files_of(report: Report, progress: Progress = no_progress) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of all files except the manifest. Equal reports give equal bytes."""
    # Import late, because matplotlib takes 60 MB and 0.3 s.
    from evaluation.presentation.plots import figures as drawing

    svgs: dict[str, str] = {}
    plots = report.plots
    for number, plot in enumerate(plots):
        # The first 0.8 of the job computed the report.
        progress(0.8 + 0.18 * number / len(plots), f"figure {plot.name}")
        figure = drawing.draw_plot(plot, signature=report.signature)
        svg = drawing.svg_of(figure, plot, simulated=report.simulated)
        svgs[plot.name] = drawing.svg_for_page(svg, report.signature)
        yield f"figures/{plot.name}.svg", drawing.svg_for_file(svg)
        yield f"figures/{plot.name}.page.svg", svgs[plot.name].encode()
        yield f"figures/{plot.name}.pdf", drawing.pdf_of(figure)
        yield f"figures/{plot.name}.png", drawing.png_of(figure)
        yield f"figures/{plot.name}.csv", render_table(plot.data, "csv").encode()
    for table in report.tables:
        yield f"tables/{table.name}.csv", render_table(table, "csv").encode()
    for name, text in texts_of_report(report, svgs):
        yield name, text.encode()
    yield "report.json", _json_bytes(as_json(report))
    for name, result in report.parts.items():
        yield f"{name}.json", _json_bytes(result)


def texts_of_report(report: Report, svgs: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the name and content of all text files. ``svgs`` are the figures of ``index.html``."""
    for table in report.tables:
        for form in ("html", "tex", "md"):
            yield f"tables/{table.name}.{form}", render_table(table, form, report.signature)
    yield "index.html", render_report(report, "html", svgs)
    for form in ("md", "tex"):
        yield f"report.{form}", render_report(report, form)
        yield f"methods.{form}", render_methods(report, form)
    yield "references.bib", bibtex(report.citations)


def manifest_of(report: Report, checksums: dict[str, tuple[int, str]]) -> bytes:
    """Return the content of the manifest. ``checksums`` are the size and the SHA-256 of each other file, by name."""
    fields = ("study", "simulated", "signature", "data_hash", "seed", "versions")
    files = {name: {"bytes": size, "sha256": digest} for name, (size, digest) in sorted(checksums.items())}
    return _json_bytes({name: getattr(report, name) for name in fields} | {"files": files})


def files_with_manifest(report: Report, progress: Progress = no_progress) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of all files, and of the manifest as the last."""
    checksums: dict[str, tuple[int, str]] = {}
    for name, content in files_of(report, progress):
        checksums[name] = (len(content), hashlib.sha256(content).hexdigest())
        yield name, content
    yield MANIFEST, manifest_of(report, checksums)


def write_report(report: Report, folder: Path, *, progress: Progress = no_progress) -> list[str]:
    """Write ``report`` into ``folder`` atomically, replacing an earlier report. Return the names of the files.

    Raise ExportError if the folder cannot be written, or has other files.
    """
    return write_folder(folder, files_with_manifest(report, progress), marker=MANIFEST)


def write_folder(folder: Path, files: Iterable[tuple[str, bytes]], *, marker: str) -> list[str]:
    """Write files into ``folder`` atomically, and return their names.

    A folder is replaced only if it has a file named ``marker``, which shows that an earlier call wrote it.

    Raise ExportError if the folder cannot be written, or has other files.
    """
    check_folder(folder, marker=marker)
    new_folder = folder.with_name(f".{folder.name}.{uuid4().hex[:8]}.part")
    names = []
    try:
        for name, content in files:
            path = new_folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            names.append(name)
        # A folder cannot be replaced in one step, so move the old one away, and back if the new one cannot be moved.
        if folder.exists():
            old_folder = folder.with_name(f".{folder.name}.{uuid4().hex[:8]}.old")
            folder.rename(old_folder)
            try:
                new_folder.rename(folder)
            except OSError:
                old_folder.rename(folder)
                raise
            shutil.rmtree(old_folder)
        else:
            new_folder.rename(folder)
    except OSError as error:
        raise ExportError(f"{folder} cannot be written: {error.strerror or error}.") from None
    finally:
        shutil.rmtree(new_folder, ignore_errors=True)
    return names


def check_folder(folder: Path, *, marker: str = MANIFEST) -> None:
    """Raise ExportError unless the folder is new, empty, or has a file named ``marker``, and its parent exists."""
    if not folder.resolve().parent.is_dir():
        raise ExportError(f"The folder {folder.parent} does not exist; nothing was written.")
    if folder.exists() and not folder.is_dir():
        raise ExportError(f"{folder} is a file; expected the name of a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / marker).is_file():
        raise ExportError(f"{folder} holds files that are no report; expected a new or an empty folder.")


def _json_bytes(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1, cls=NanAsNullEncoder) + "\n").encode()
