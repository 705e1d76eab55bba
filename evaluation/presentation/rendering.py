"""Make the sections, tables and sentences of reports from their wording, and render them as files.

The wording is in ``wording.toml`` and in files of features, as Jinja templates. Files are HTML, Markdown, LaTeX or CSV.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from common.amounts import p_in_text, percent_number, with_noun
from common.files import csv_line, guard_formula
from evaluation.presentation.content import (
    HEADINGS,
    Cell,
    Column,
    DotPlot,
    Heatmap,
    LinePlot,
    Plot,
    Report,
    Section,
    Specifications,
    Table,
    coefficient,
    format_cell,
)

ROWS_IN_TEXT = 40  # rows of a table that a report shows; its files have all rows
MINUS_SIGN = "−"
TEX_CHARACTERS = {  # characters that LaTeX needs in another form
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "–": "--", "—": "---", "“": "``", "”": "''", "‘": "`", "’": "'",
    "…": r"\ldots{}", "\u00a0": "~", "×": r"$\times$", MINUS_SIGN: "$-$",
    "≥": r"$\geq$", "≤": r"$\leq$", "→": r"$\rightarrow$",
}  # fmt: skip
LAST_LATIN_LETTER = "\u017f"  # the last one that the fonts of LaTeX have
FOLDER = Path(__file__).parent
# Version of the wording of reports and of the templates of releases. Each release states its version. `verify` renders
# all texts again, and knows how earlier versions differ. Increase it when you change wording.toml or the templates.
WORDING_VERSION = 2
WORDING_TEMPLATES: dict[str, Any] = tomllib.loads((FOLDER / "wording.toml").read_text(encoding="utf-8"))
HEADINGS.update(WORDING_TEMPLATES["on_pages"]["headings"])


def add_wording(path: Path) -> None:
    """Add a feature's file of section titles, sentences and tables."""
    for kind, texts in tomllib.loads(path.read_text(encoding="utf-8")).items():
        WORDING_TEMPLATES[kind] |= texts


def text_templates(folder: Path, *, escape: Callable[[str], str] | None = None) -> Environment:
    """Return a Jinja environment for plain text. ``escape`` is applied to all values except ``Markup``."""

    def escape_value(value: Any) -> Any:
        return value if escape is None or isinstance(value, Markup) else escape(str(value))

    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=False,  # noqa: S701 (not HTML)
        finalize=escape_value,
        keep_trailing_newline=True,
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "coefficient": coefficient,
        "counted": with_noun,
        "fixed": lambda value, digits: f"{value:.{digits}f}",
        "general": lambda value, digits=6: f"{value:.{digits}g}",
        "one_line": lambda text: " ".join(text.split()),
        "p": p_in_text,
        "percent": lambda share, digits=0: f"{percent_number(share, digits)} %",
        "percent_number": percent_number,
        "shown": format_cell,
        "thousands": lambda value: f"{value:,}",
    }
    return environment


TEMPLATES = text_templates(FOLDER / "templates")


@cache
def _template(text: str) -> Template:
    return TEMPLATES.from_string(text)


def fill_template(text: str, values: dict[str, Any]) -> str:
    return _template(text).render(values)


def render_sentence(name: str, /, *, wording: int = WORDING_VERSION, **values: Any) -> str:
    """Return the named sentence of ``wording.toml``, filled with these values.

    ``wording`` is the version of the wording, which is 0 for releases that do not state it. Only that version has other
    templates; `verify` replaces phrases to compare version 1 with the current one.
    """
    earlier_sentences = {} if wording else WORDING_TEMPLATES["earlier"]
    return fill_template(earlier_sentences.get(name, WORDING_TEMPLATES["sentences"][name]), values)


def section(
    name: str,
    sentences: Iterable[str] = (),
    plots: Iterable[Plot] = (),
    tables: Iterable[Table] = (),
    *,
    empty: str = "",
) -> Section:
    """Return the named section with its title. ``empty`` says why it has no content."""
    title = WORDING_TEMPLATES["sections"][name]
    return Section(name, title, tuple(filter(None, sentences)), tuple(plots), tuple(tables), empty)


def table(
    key: str,
    rows: Iterable[Sequence[Cell]],
    columns: Iterable[tuple[str, str] | tuple[str, str, bool]] = (),
    *,
    name: str = "",
    **values: Any,
) -> Table:
    """Return the named table with its title, columns and note.

    Args:
        columns: the fields of each ``Column``, if these depend on the study.
        name: name of the table's files; by default ``key``.
        values: values for the templates of title and note.
    """
    entry = WORDING_TEMPLATES["tables"][key]
    return Table(
        name or key,
        fill_template(entry["title"], values),
        tuple(Column(*column) for column in columns or entry["columns"]),
        tuple(tuple(row) for row in rows),
        fill_template(entry.get("note", ""), values),
    )


def plot(
    sentence: str,
    drawing: DotPlot | LinePlot | Heatmap | Specifications,
    data: Table,
    name: str = "",
    title: str = "",
) -> Plot:
    """Return a plot, which by default has the name and the title of its ``data``."""
    return Plot(name or data.name, title or data.title, sentence, drawing, data)


def escape_markdown(text: str) -> str:
    """Return a text escaped for Markdown, on one line."""
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", re.sub(r"\s+", " ", text))


def escape_tex(text: str) -> str:
    """Return a text escaped for LaTeX. Characters that Latin fonts lack are written as code points."""
    letters = []
    for letter in re.sub(r"[^\S\u00a0]", " ", text):
        if letter in TEX_CHARACTERS:
            letters.append(TEX_CHARACTERS[letter])
        elif letter < " " or letter == "\x7f":
            continue
        elif letter <= LAST_LATIN_LETTER:
            letters.append(letter)
        else:
            letters.append(rf"\texttt{{U+{ord(letter):04X}}}")
    return "".join(letters)


def _breakable_signature(signature: str) -> Markup:
    """Return a signature for LaTeX, with possible line breaks after its separators."""
    text = re.sub(r"(\\textbar\{\}|,|:|-)", r"\1\\allowbreak{}", escape_tex(signature))
    return Markup(rf"{{\raggedright\tiny\ttfamily {text}\par}}")  # noqa: S704 (escaped above)


def _environments() -> dict[str, Environment]:
    """Return the Jinja environment of each form of files. That for LaTeX has other delimiters, as braces are common."""
    templates = FOLDER / "templates"
    environments = {
        "html": text_templates(templates, escape=escape),
        "md": text_templates(templates, escape=escape_markdown),
        "tex": text_templates(templates, escape=escape_tex).overlay(
            block_start_string="<%", block_end_string="%>", variable_start_string="<<", variable_end_string=">>",
            comment_start_string="<#", comment_end_string="#>",
        ),
    }  # fmt: skip
    environments["md"].filters["escaped"] = escape_markdown  # for paragraphs, which are joined after escaping
    environments["tex"].filters |= {"escaped": escape_tex, "breakable": _breakable_signature}
    return environments


_ENVIRONMENTS = _environments()


def _render_template(template: str, form: str, **values: Any) -> str:
    """Render a template in a form: ``html``, ``md`` or ``tex``."""
    return _ENVIRONMENTS[form].get_template(f"{template}.{form}.j2").render(minus=MINUS_SIGN, **values)


def render_table(table: Table, form: str, signature: str = "") -> str:
    """Return a table as ``html``, ``md``, ``tex`` or ``csv``."""
    if form == "csv":
        return csv_of(*table.data())
    return _render_template("table", form, table=table, stamp=signature, max_rows=None)


def render_report(report: Report, form: str, svgs: Mapping[str, str] | None = None) -> str:
    """Return a report as ``html``, ``md`` or ``tex``. ``svgs`` are the drawings of HTML by name."""
    return _render_template(
        "report", form, report=report, stamp=report.signature, max_rows=ROWS_IN_TEXT, svgs=svgs
    )


def render_methods(report: Report, form: str) -> str:
    return _render_template("methods", form, report=report)


def csv_of(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return CSV with unrounded values. A cell that looks like a formula gets a leading '."""
    lines = []
    for row in (headings, *rows):
        cells = [guard_formula(cell) if isinstance(cell, str) else cell for cell in row]
        lines.append(f"{csv_line(cells)}\n")
    return "".join(lines)
