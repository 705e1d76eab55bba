"""Write the report of one or several packs: a page, its figures and tables, and the verdicts in Markdown and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from markupsafe import Markup

from common.amounts import as_json
from common.files import indented_json
from contrib.packs.running import Replication
from contrib.packs.verdict_tables import describe_verdict_counts, verdict_markdown, verdict_table
from evaluation.presentation.rendering import FOLDER, ROWS_IN_TEXT, render_table, text_templates
from evaluation.reports.files import check_folder, write_folder
from quorum.numeric.signatures import quorum_version

VERDICTS_FILE = "verdicts.json"  # a folder that has this file is an earlier report, which may be replaced

TEMPLATES = text_templates(FOLDER / "templates", escape=escape)


def check_output(folder: Path) -> None:
    """Raise ExportError if the report cannot be written to the folder."""
    check_folder(folder, marker=VERDICTS_FILE)


def write_replications(replications: Sequence[Replication], folder: Path) -> list[str]:
    """Write a report of one or several packs atomically, in place of an earlier report.

    Return the names of its files.
    """
    return write_folder(folder, _report_files(replications), marker=VERDICTS_FILE)


def _report_files(replications: Sequence[Replication]) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each file of the report."""
    # Imported lazily, since matplotlib costs 60 MB and 0.3 s.
    from evaluation.presentation.plots import figures as drawing

    svgs: dict[str, str] = {}
    for replication in replications:
        table = verdict_table(replication.pack, replication.verdicts)
        yield f"tables/{table.name}.csv", render_table(table, "csv").encode()
        for section in replication.sections:
            for plot in section.plots:
                figure = drawing.draw_plot(plot, signature=replication.signature)
                svg = drawing.svg_of(figure, plot, simulated=replication.is_simulated)
                svgs[plot.name] = drawing.svg_for_page(svg, replication.signature)
                yield f"figures/{plot.name}.svg", drawing.svg_for_file(svg)
                yield f"figures/{plot.name}.png", drawing.png_of(figure)
                yield f"figures/{plot.name}.csv", render_table(plot.data, "csv").encode()
            for table in section.tables:
                yield f"tables/{table.name}.csv", render_table(table, "csv").encode()
    template = TEMPLATES.from_string((Path(__file__).parent / "report.html.j2").read_text(encoding="utf-8"))
    page = template.render(
        replications=replications,
        title=replications[0].pack.contents.title if len(replications) == 1 else "All protocol packs",
        version=quorum_version(),
        css=Markup((FOLDER / "templates" / "report.css").read_text(encoding="utf-8")),  # noqa: S704 (our own file)
        svgs={name: Markup(svg) for name, svg in svgs.items()},  # noqa: S704 (plots escape every word)
        tally=describe_verdict_counts,
        most=ROWS_IN_TEXT,
        minus="−",
    )
    yield "report.html", page.encode()
    sections = [verdict_markdown(replication.pack, replication.verdicts) for replication in replications]
    yield "verdicts.md", "\n".join(sections).encode()
    verdicts = [verdict for replication in replications for verdict in replication.verdicts]
    yield VERDICTS_FILE, f"{indented_json(as_json(verdicts))}\n".encode()
