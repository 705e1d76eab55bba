"""The content of reports as plain data. Sections have sentences, plots, and tables of unrounded numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from django.utils.text import capfirst
from django.utils.translation import gettext

from common.amounts import (
    DASH,
    as_json,
    coefficient,
    interval_in_table,
    metric_score,
    p_value,
    percent_number,
    thousands,
)

# Sections that pages show first, with an unfolded figure. Other sections are folded.
LEADING_SECTIONS = ("verdict", "tournament", "grades", "ranking", "metrics")
MAX_NAMED = 6  # names that a sentence lists; the others are counted
MIN_WHOLE_NUMBER = 999.5  # from here on, numbers are shown whole, since three digits would need an exponent


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval and n. Fields are None if undefined."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None


Cell = str | int | float | None | Estimate

HEADINGS: dict[str, str] = {}  # headings on pages by column name; rendering.py reads them from wording.toml


@dataclass(frozen=True, slots=True)
class Column:
    """A table column.

    Attributes:
        shows: the format of cells: text, count, share (per cent without the sign), percent, coefficient, score, number,
            fixed (two digits), signed or p.
        verbatim: whether the heading is a name, such as a metric's, which is neither translated nor changed.
    """

    name: str
    shows: str = "text"
    verbatim: bool = False

    @property
    def is_text(self) -> bool:
        return self.shows == "text"

    @property
    def heading(self) -> str:
        """The heading on pages: a verbatim name as it is, other names translated.

        A translated name is capitalised unless its first word is a single letter, as in "n of people" and "p, Holm".
        """
        if self.verbatim:
            return self.name
        text = gettext(HEADINGS.get(self.name, self.name))
        has_longer_first_word = text[1:2].isalpha()
        return capfirst(text) if has_longer_first_word else text


@dataclass(frozen=True, slots=True)
class Table:
    """A table of unrounded cells, which are formatted when the table is shown. ``name`` is the stem of its files."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    def texts(self) -> list[list[str]]:
        rows = []
        for row in self.rows:
            cells = zip(row, self.columns, strict=True)
            rows.append([format_cell(cell, column.shows) for cell, column in cells])
        return rows

    @property
    def is_incomplete(self) -> bool:
        return any(cell is None for row in self.rows for cell in row)

    def lines(self) -> list[str]:
        """Return lines for a terminal, with the first column aligned left and the others right."""
        rows = [[column.name for column in self.columns], *self.texts()]
        first_width, *other_widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
        lines = []
        for first_cell, *other_cells in rows:
            right_cells = [cell.rjust(width) for cell, width in zip(other_cells, other_widths, strict=True)]
            lines.append("  ".join([first_cell.ljust(first_width), *right_cells]).rstrip())
        return lines

    def translated_headings(self) -> list[tuple[str, bool]]:
        """Return the translated headings for a page, each with a flag that says whether its column has text."""
        return [(column.heading, column.is_text) for column in self.columns]

    def cells(self) -> list[list[dict[str, Any]]]:
        """Return the text, interval and n of each cell for a page."""
        rows = []
        for row in self.rows:
            cells = zip(row, self.columns, strict=True)
            rows.append([_page_cell(cell, column.shows) for cell, column in cells])
        return rows

    def data(self) -> tuple[list[str], list[list[Any]]]:
        """Return headings and unrounded rows. A column with intervals becomes four columns: value, low, high and n."""
        headings: list[str] = []
        rows: list[list[Any]] = [[] for _ in self.rows]
        for index, column in enumerate(self.columns):
            cells = [row[index] for row in self.rows]
            # Data have shares from 0 to 1, not per cent.
            name = column.name.removesuffix(", %") if column.shows == "share" else column.name
            with_intervals = any(isinstance(cell, Estimate) for cell in cells)
            headings += [name, f"{name} low", f"{name} high", f"{name} n"] if with_intervals else [name]
            for row, cell in zip(rows, cells, strict=True):
                if isinstance(cell, Estimate):
                    row += [cell.value, cell.low, cell.high, cell.n]
                else:
                    row += [cell, None, None, None] if with_intervals else [cell]
        return headings, rows

    def as_json(self) -> dict[str, Any]:
        columns, rows = self.data()
        return {"name": self.name, "title": self.title, "note": self.note, "columns": columns, "rows": rows}


def plain_table(
    title: str, columns: Iterable[tuple[str, str]], rows: Iterable[Sequence[Cell]], name: str = ""
) -> Table:
    """Return a table without a note. ``columns`` are pairs of a name and ``Column.shows``."""
    return Table(
        name,
        title,
        tuple(Column(heading, shows) for heading, shows in columns),
        tuple(tuple(row) for row in rows),
    )


@dataclass(frozen=True, slots=True)
class Level:
    """A line to compare values with: dashed for chance and the like, solid for people's or the best possible value."""

    label: str
    value: float
    dashed: bool = True
    low: float | None = None
    high: float | None = None


def levels_of(label: str, estimate: Estimate) -> list[Level]:
    """Return a solid line at an estimate of people, in a list; [] if the estimate is undefined."""
    if estimate.value is None:
        return []
    return [Level(label, estimate.value, dashed=False, low=estimate.low, high=estimate.high)]


@dataclass(frozen=True, slots=True)
class DotPanel:
    """A panel of dots, with one estimate for each label of the plot."""

    title: str
    estimates: tuple[Estimate, ...]
    levels: tuple[Level, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class DotPlot:
    """Panels of dots in rows, which share the labels of the rows.

    Attributes:
        axis: name of the horizontal axis.
        shows: coefficient, share or number.
        accent: labels of the rows in the accent colour.
    """

    labels: tuple[str, ...]
    panels: tuple[DotPanel, ...]
    axis: str
    shows: str = "coefficient"
    accent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Curve:
    """A line of a plot, drawn dashed if it is a bound and ``dashed``. A point with y None is left out."""

    label: str
    x: tuple[float, ...]
    y: tuple[float | None, ...]
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class CurvePanel:
    """A panel of curves. ``levels`` are constant reference lines; ``bounds`` are floors and ceilings that vary."""

    title: str
    curves: tuple[Curve, ...]
    levels: tuple[Level, ...] = ()
    bounds: tuple[Curve, ...] = ()


@dataclass(frozen=True, slots=True)
class LinePlot:
    """Panels of curves. ``log`` says whether the horizontal axis is logarithmic."""

    panels: tuple[CurvePanel, ...]
    x_axis: str
    y_axis: str
    log: bool = True


@dataclass(frozen=True, slots=True)
class HeatmapPanel:
    """A matrix, blank where a value is None, with levels marked on its scale.

    Attributes:
        separate_rows: number of last rows that are separated from the others.
        levels: values that are marked on the colour scale.
        shows: coefficient, or share (as per cent).
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    separate_rows: int = 0
    levels: tuple[Level, ...] = ()
    shows: str = "coefficient"


@dataclass(frozen=True, slots=True)
class Heatmap:
    """Matrices that share one scale from ``scale_min`` to 1."""

    panels: tuple[HeatmapPanel, ...]
    y_axis: str
    x_axis: str
    scale_min: float = 0.0


@dataclass(frozen=True, slots=True)
class Specifications:
    """A specification curve: S estimates in order, above a matrix of the options that each estimate is based on.

    Attributes:
        holds: (S,) whether the claim holds.
        reported: the position of the specification that the report uses; None if it is not drawn.
        choices: label and names of the options of each of C choices.
        option_positions: (S, C) positions of the options of each estimate.
        level: the estimate from which on the claim holds.
    """

    estimates: tuple[Estimate, ...]
    holds: tuple[bool, ...]
    reported: int | None
    choices: tuple[tuple[str, tuple[str, ...]], ...]
    option_positions: tuple[tuple[int, ...], ...]
    level: Level
    axis: str
    shows: str = "coefficient"


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawing with its title, a sentence on its finding, and the table of its numbers.

    ``name`` is the stem of its files.
    """

    name: str
    title: str
    sentence: str
    drawing: DotPlot | LinePlot | Heatmap | Specifications
    data: Table

    def as_json(self) -> dict[str, Any]:
        columns, rows = self.data.data()
        return {
            "name": self.name,
            "title": self.title,
            "sentence": self.sentence,
            "columns": columns,
            "rows": rows,
        }


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a report, with sentences, plots and tables. If it has none, ``empty`` says why."""

    name: str
    title: str
    sentences: tuple[str, ...] = ()
    plots: tuple[Plot, ...] = ()
    tables: tuple[Table, ...] = ()
    empty: str = ""

    @property
    def is_leading(self) -> bool:
        return self.name in LEADING_SECTIONS

    @property
    def shown_sentences(self) -> list[str]:
        return [text for text in (self.empty, *self.sentences) if text]

    @property
    def sentences_without_captions(self) -> list[str]:
        """The sentences that are not captions of plots."""
        captions = {plot.sentence for plot in self.plots}
        return [text for text in self.shown_sentences if text not in captions]

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "sentences": self.sentences,
            "empty": self.empty,
            "figures": self.plots,
            "tables": self.tables,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """A report. Its fields, except ``parts``, are the keys of ``report.json``.

    Attributes:
        signature: text that states how the judgments were made.
        data_hash: hash of the judgments.
        methods: paragraphs on methods for a paper.
        citations: distinct keys of ``references.bib``.
        counts: numbers of judgments and of what is judged, by name.
        settings, signatures: those of the analyses, by name.
        parts: results of the optional parts that were requested, by name; each becomes a file.
    """

    study: str
    title: str
    protocol: str
    simulated: bool
    signature: str
    data_hash: str
    seed: int
    counts: Mapping[str, int]
    sections: tuple[Section, ...]
    methods: tuple[str, ...]
    citations: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    signatures: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {member.name: getattr(self, member.name) for member in fields(self) if member.name != "parts"}

    @property
    def sections_for_page(self) -> list[Section]:
        """The sections in the order of pages. In files, they are in the order of ``sections``."""
        return sorted(self.sections, key=lambda section: reading_order(section.name))

    @property
    def plots(self) -> list[Plot]:
        return [plot for section in self.sections for plot in section.plots]

    @property
    def tables(self) -> list[Table]:
        return [table for section in self.sections for table in section.tables]


def reading_order(name: str) -> int:
    """Return the sort key of a section on a page. Sections of LEADING_SECTIONS come first."""
    return LEADING_SECTIONS.index(name) if name in LEADING_SECTIONS else len(LEADING_SECTIONS)


def format_cell(cell: Cell, shows: str) -> str:
    """Return a cell as text, in a format of ``Column.shows``, with its interval if it has one."""
    if not isinstance(cell, Estimate):
        return _format_number(cell, shows)
    if cell.value is None:
        return DASH
    if cell.low is None or cell.high is None:
        return _format_number(cell.value, shows)
    return f"{_format_number(cell.value, shows)} {_format_interval(cell, shows)}"


def _format_interval(cell: Estimate, shows: str) -> str:
    return interval_in_table(cell.low, cell.high, lambda end: _format_number(end, shows))


def _page_cell(cell: Cell, shows: str) -> dict[str, Any]:
    """Return a cell for a page, where large numbers have separators of thousands."""
    if not isinstance(cell, Estimate):
        text = _format_number(cell, shows)
        if isinstance(cell, int) and shows == "count":
            text = thousands(cell)
        elif isinstance(cell, int | float) and shows == "number" and MIN_WHOLE_NUMBER <= abs(cell) < math.inf:
            text = thousands(round(cell))
        return {"text": text, "is_text": shows == "text"}
    ends = "" if cell.low is None or cell.high is None else _format_interval(cell, shows)
    return {"text": _format_number(cell.value, shows), "is_estimate": True, "interval": ends, "n": cell.n}


def _format_number(value: str | int | float | None, shows: str) -> str:
    if isinstance(value, str):
        return value or DASH
    if value is None or not math.isfinite(value):
        return DASH
    if shows == "share":
        return percent_number(value)
    if shows == "percent":
        return f"{percent_number(value)} %"
    if shows == "coefficient":
        return coefficient(value)
    if shows == "fixed":
        return f"{value:.2f}"
    if shows == "signed":
        return f"{value:+.2f}"
    if shows == "score":
        return metric_score(value)
    if shows == "p":
        return p_value(value)
    if shows == "number":
        return f"{value:,.3g}" if abs(value) < MIN_WHOLE_NUMBER else f"{value:,.0f}"
    return f"{value:,}"


def join_names(names: Sequence[str]) -> str:
    """Return names joined as "a, b and c". If there are many, the last ones are replaced by their number."""
    parts, hidden_count = list(names[:MAX_NAMED]), len(names) - MAX_NAMED
    if hidden_count > 0:
        parts.append(gettext("%(n)s more") % {"n": hidden_count})
    if len(parts) == 1:
        return parts[0]
    return gettext("%(names)s and %(last)s") % {"names": ", ".join(parts[:-1]), "last": parts[-1]}


def estimate_of(figure: Mapping[str, Any] | None, *, with_n: bool = True) -> Estimate:
    """Return a figure, which is a dict with ``value``, ``low``, ``high`` and ``n``, as an estimate.

    Missing keys are None, and so is ``n`` unless ``with_n``, for example because n has a column of its own.
    """
    figure = figure or {}
    n = figure.get("n") if with_n else None
    return Estimate(figure.get("value"), figure.get("low"), figure.get("high"), n)


def rows_as_json(**columns: Iterable[Any]) -> list[dict[str, Any]]:
    """Return columns of equal length as a list of rows for JSON."""
    return [as_json(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]
