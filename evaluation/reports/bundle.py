"""A report as files: made in memory one by one, written beside the place and moved in whole."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

from evaluation.errors import ExportError
from evaluation.provenance import without_nan
from evaluation.reports import writing
from evaluation.reports.citations import bibtex
from evaluation.reports.content import Report
from judgments.studies.generation import Progress, no_progress

MANIFEST = "manifest.json"


def files_of(report: Report, progress: Progress = no_progress) -> Iterator[tuple[str, bytes]]:
    """Name and content of every file but the manifest; the same report gives the same bytes."""
    # here and not above: matplotlib costs 60 MB and 0.3 s
    from evaluation.figures import reports as figures

    svgs: dict[str, str] = {}
    plots = report.plots
    for number, plot in enumerate(plots):
        progress(0.8 + 0.18 * number / len(plots), f"figure {plot.name}")
        figure = figures.drawn(plot, stamp=report.stamp)
        svgs[plot.name] = svg = figures.svg_of(figure, plot, simulated=report.simulated)
        yield f"figures/{plot.name}.svg", figures.svg_file(svg)
        yield f"figures/{plot.name}.page.svg", svg.encode()
        yield f"figures/{plot.name}.pdf", figures.pdf_of(figure)
        yield f"figures/{plot.name}.png", figures.png_of(figure)
        yield f"figures/{plot.name}.csv", writing.table_csv(plot.data).encode()
    for table in report.tables:
        yield f"tables/{table.name}.html", writing.table_html(table, report.stamp).encode()
        yield f"tables/{table.name}.csv", writing.table_csv(table).encode()
        yield f"tables/{table.name}.tex", writing.table_tex(table, report.stamp).encode()
        yield f"tables/{table.name}.md", writing.table_markdown(table, report.stamp).encode()
    yield "index.html", writing.report_html(report, svgs).encode()
    yield "report.md", writing.report_markdown(report).encode()
    yield "report.tex", writing.report_tex(report).encode()
    yield "methods.md", writing.methods_markdown(report).encode()
    yield "methods.tex", writing.methods_tex(report).encode()
    yield "references.bib", bibtex(report.citations).encode()
    yield "report.json", _json(without_nan(report.as_json()))


def manifest_of(report: Report, sums: dict[str, tuple[int, str]]) -> bytes:
    """What the files are, with size and SHA-256 of each."""
    return _json(
        {
            "study": report.study,
            "simulated": report.simulated,
            "signature": report.stamp,
            "data_hash": report.data_hash,
            "seed": report.seed,
            "versions": dict(report.versions),
            "files": {
                name: {"bytes": size, "sha256": digest} for name, (size, digest) in sorted(sums.items())
            },
        }
    )


def with_manifest(report: Report, progress: Progress = no_progress) -> Iterator[tuple[str, bytes]]:
    """Every file, the manifest last."""
    sums: dict[str, tuple[int, str]] = {}
    for name, content in files_of(report, progress):
        sums[name] = (len(content), hashlib.sha256(content).hexdigest())
        yield name, content
    yield MANIFEST, manifest_of(report, sums)


def write_report(report: Report, folder: Path, *, progress: Progress = no_progress) -> list[str]:
    """Write ``report`` into ``folder``, which is there whole or not at all; a report that is there is replaced.

    Raises:
        ExportError: the folder's own folder does not exist, or it holds something that is no report.
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
    """Refuse a place before any work is done: no folder to stand in, a file, or a folder of something else."""
    if not folder.resolve().parent.is_dir():
        raise ExportError(f"The folder {folder.parent} does not exist; nothing was written.")
    if folder.exists() and not folder.is_dir():
        raise ExportError(f"{folder} is a file; expected the name of a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MANIFEST).is_file():
        raise ExportError(f"{folder} holds files that are no report; expected a new or an empty folder.")


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()
