"""Texts of a report: sentences, titles, columns and notes, from ``wording.toml``. Pure.

The texts are Jinja templates; ``text_templates`` has the filters of numbers.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from evaluation.report.content import (
    Cell,
    Column,
    Curves,
    Dots,
    Heat,
    Plot,
    Section,
    Table,
    coefficient,
    p_in_text,
    shown,
)


def text_templates(folder: Path, *, escape: Callable[[str], str] | None = None) -> Environment:
    """Return an environment for templates of plain text.

    Args:
        escape: applied to every printed value except ``Markup``.
    """

    def escaped(value: Any) -> Any:
        return value if escape is None or isinstance(value, Markup) else escape(str(value))

    made = Environment(
        loader=FileSystemLoader(folder),
        autoescape=False,  # noqa: S701 (not HTML)
        finalize=escaped,
        keep_trailing_newline=True,
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters |= {
        "coefficient": coefficient,
        "fixed": lambda value, digits: f"{value:.{digits}f}",
        "general": lambda value, digits=6: f"{value:.{digits}g}",
        "one_line": lambda text: " ".join(text.split()),
        "p": p_in_text,
        "percent": lambda share, digits=1: f"{100 * share:.{digits}f} %",
        "percent_number": lambda share, digits=1: f"{100 * share:.{digits}f}",
        "shown": shown,
        "thousands": lambda value: f"{value:,}",
    }
    return made


FOLDER = Path(__file__).parent
TEMPLATES = text_templates(FOLDER / "templates")
WORDS: dict[str, Any] = tomllib.loads((FOLDER / "wording.toml").read_text(encoding="utf-8"))


@cache
def _template(text: str) -> Template:
    return TEMPLATES.from_string(text)


def fill(text: str, values: dict[str, Any]) -> str:
    return _template(text).render(values)


def say(name: str, /, **values: Any) -> str:
    return fill(WORDS["sentences"][name], values)


def section(
    name: str,
    sentences: Iterable[str] = (),
    plots: Iterable[Plot] = (),
    tables: Iterable[Table] = (),
    *,
    empty: str = "",
) -> Section:
    return Section(name, WORDS["sections"][name], tuple(sentences), tuple(plots), tuple(tables), empty)


def table(
    words: str,
    rows: Iterable[Sequence[Cell]],
    columns: Iterable[tuple[str, str]] = (),
    *,
    name: str = "",
    **values: Any,
) -> Table:
    """Return the named table with its title, columns and note.

    Args:
        columns: name and ``Column.shows``, if they depend on the study.
        name: of the table's files; default: ``words``.
        values: for the templates of title and note.
    """
    found = WORDS["tables"][words]
    return Table(
        name or words,
        fill(found["title"], values),
        tuple(Column(*one) for one in columns or found["columns"]),
        tuple(tuple(row) for row in rows),
        fill(found.get("note", ""), values),
    )


def plot(sentence: str, drawing: Dots | Curves | Heat, data: Table, name: str = "", title: str = "") -> Plot:
    """Return a plot of ``data``, by default with that table's name and title."""
    return Plot(name or data.name, title or data.title, sentence, drawing, data)
