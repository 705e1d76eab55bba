"""Render reports and tables as HTML, Markdown, LaTeX and CSV. Pure; every value is escaped."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from html import escape
from io import StringIO
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from evaluation.report.content import Report, Table
from evaluation.report.wording import FOLDER, text_templates

FORMULA = ("=", "+", "-", "@", "\t", "\r")
ROWS_IN_TEXT = 40
MINUS = "−"
TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "–": "--", "—": "---", "“": "``", "”": "''", "‘": "`", "’": "'",
    "…": r"\ldots{}", "\u00a0": "~", "×": r"$\times$", MINUS: "$-$",
    "≥": r"$\geq$", "≤": r"$\leq$", "→": r"$\rightarrow$",
}  # fmt: skip
LAST_LATIN = "\u017f"


def markdown(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", re.sub(r"\s+", " ", text))


def tex(text: str) -> str:
    """Escape for LaTeX; characters missing from Latin fonts become code points."""
    made = []
    for letter in re.sub(r"[^\S\u00a0]", " ", text):
        if letter in TEX:
            made.append(TEX[letter])
        elif letter < " " or letter == "\x7f":
            continue
        elif letter <= LAST_LATIN:
            made.append(letter)
        else:
            made.append(rf"\texttt{{U+{ord(letter):04X}}}")
    return "".join(made)


def _breakable(signature: str) -> Markup:
    """Set a signature in small type that may break at bars and commas."""
    broken = re.sub(r"(\\textbar\{\}|,|:|-)", r"\1\\allowbreak{}", tex(signature))
    return Markup(rf"{{\raggedright\tiny\ttfamily {broken}\par}}")  # noqa: S704 (escaped above)


def _environments() -> dict[str, Environment]:
    """Return the templates by format; LaTeX uses braces, so its templates have other delimiters."""
    templates = FOLDER / "templates"
    made = {
        "html": text_templates(templates, escape=escape),
        "md": text_templates(templates, escape=markdown),
        "tex": text_templates(templates, escape=tex).overlay(
            block_start_string="<%", block_end_string="%>", variable_start_string="<<", variable_end_string=">>",
            comment_start_string="<#", comment_end_string="#>",
        ),
    }  # fmt: skip
    made["md"].filters["escaped"] = markdown
    made["tex"].filters |= {"escaped": tex, "breakable": _breakable}
    return made


_ENVIRONMENTS = _environments()


def _rendered(template: str, form: str, **values: Any) -> str:
    return _ENVIRONMENTS[form].get_template(f"{template}.{form}.j2").render(minus=MINUS, **values)


def render_table(table: Table, form: str, signature: str = "", *, most: int | None = None) -> str:
    """Return a table as ``html``, ``md``, ``tex`` or ``csv``.

    Args:
        signature: printed below the table, except in CSV.
        most: maximal rows in Markdown and LaTeX.
    """
    if form == "csv":
        return csv_of(*table.data())
    return _rendered("table", form, table=table, stamp=signature, most=most)


def render_report(report: Report, form: str, svgs: Mapping[str, str] | None = None) -> str:
    return _rendered("report", form, report=report, stamp=report.signature, most=ROWS_IN_TEXT, svgs=svgs)


def render_methods(report: Report, form: str) -> str:
    return _rendered("methods", form, report=report)


def csv_of(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return unrounded values; a cell that looks like a formula gets a leading '."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([[_harmless(cell) for cell in row] for row in (heads, *rows)])
    return out.getvalue()


def _harmless(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else "" if cell is None else cell
