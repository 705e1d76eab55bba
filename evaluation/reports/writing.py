"""Tables, sections and whole reports as HTML, Markdown, LaTeX and CSV. Pure; every word is escaped."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from html import escape
from io import StringIO
from pathlib import Path

from evaluation.reports.content import Plot, Report, Section, Table

FORMULA = ("=", "+", "-", "@", "\t", "\r")
ROWS_IN_TEXT = 40
TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "–": "--", "—": "---", "“": "``", "”": "''", "‘": "`", "’": "'",
    "…": r"\ldots{}", "\u00a0": "~", "×": r"$\times$", "−": "$-$",
    "≥": r"$\geq$", "≤": r"$\leq$", "→": r"$\rightarrow$",
}  # fmt: skip
LAST_LATIN = "\u017f"
# a figure as large as it was drawn, or as fits
FITTED = r"""\newcommand{\fitted}[1]{\sbox0{\includegraphics{#1}}%
  \ifdim\wd0>\linewidth\includegraphics[width=\linewidth,height=0.72\textheight,keepaspectratio]{#1}%
  \else\ifdim\ht0>0.72\textheight\includegraphics[height=0.72\textheight]{#1}\else\usebox0\fi\fi}"""
STYLE = (Path(__file__).parent / "report.css").read_text(encoding="utf-8")


def table_html(table: Table, stamp: str = "", *, style: str = "", numbers: str = "n") -> str:
    """A table with head, note and signature."""
    heads = "".join(
        f'<th scope="col"{"" if column.is_text else f" class={chr(34)}{numbers}{chr(34)}"}>{escape(column.name)}</th>'
        for column in table.columns
    )
    rows = []
    for row in table.texts():
        cells = "".join(
            f"<td><bdi>{escape(text)}</bdi></td>"
            if column.is_text
            else f'<td class="{numbers}">{escape(text)}</td>'
            for text, column in zip(row, table.columns, strict=True)
        )
        rows.append(f"<tr>{cells}</tr>")
    chosen = f' class="{style}"' if style else ""
    body = "\n".join(rows)
    text = (
        f"<table{chosen}>\n<caption>{escape(table.title)}</caption>\n<thead><tr>{heads}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody>\n</table>\n"
    )
    text += f'<p class="note">{escape(table.note)}</p>\n' if table.note else ""
    return text + (f'<p class="stamp">{escape(stamp)}</p>\n' if stamp else "")


def table_csv(table: Table) -> str:
    """Values as they were computed; a cell that a spreadsheet program would run as a formula is quoted by '."""
    return csv_of(*table.data())


def csv_of(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """The same from what ``report.json`` holds."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_harmless(head) for head in heads])
    writer.writerows([[_harmless(cell) for cell in row] for row in rows])
    return out.getvalue()


def _harmless(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else "" if cell is None else cell


def markdown(text: str) -> str:
    """Words that mean themselves."""
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", re.sub(r"\s+", " ", text))


def table_markdown(table: Table, stamp: str = "", *, most: int | None = None) -> str:
    """A pipe table."""
    heads = " | ".join(markdown(head) for head in table.heads())
    marks = " | ".join("---" if column.is_text else "---:" for column in table.columns)
    texts = table.texts()
    lines = [f"| {' | '.join(markdown(text) for text in row)} |" for row in texts[:most]]
    parts = [f"| {heads} |", f"| {marks} |", *lines, ""]
    if most is not None and len(texts) > most:
        parts += [f"{len(texts) - most:,} further rows are in tables/{table.name}.csv.", ""]
    parts += [markdown(table.note), ""] if table.note else []
    parts += [f"`{stamp.replace('`', '')}`", ""] if stamp else []
    return "\n".join(parts)


def tex(text: str) -> str:
    """Words that mean themselves; letters that Latin fonts lack are named by their number."""
    made = []
    for letter in re.sub(r"\s", lambda found: "\u00a0" if found.group() == "\u00a0" else " ", text):
        if letter in TEX:
            made.append(TEX[letter])
        elif letter < " " or letter == "\x7f":
            continue
        elif letter <= LAST_LATIN:
            made.append(letter)
        else:
            made.append(rf"\texttt{{U+{ord(letter):04X}}}")
    return "".join(made)


def tex_stamp(stamp: str) -> str:
    """A signature in small type that may be broken at its bars and commas."""
    broken = re.sub(r"(\\textbar\{\}|,|:|-)", r"\1\\allowbreak{}", tex(stamp))
    return rf"{{\raggedright\tiny\ttfamily {broken}\par}}"


def table_tex(table: Table, stamp: str = "", *, most: int | None = None) -> str:
    """A floating table with booktabs' rules, no wider than the page."""
    marks = "".join("l" if column.is_text else "r" for column in table.columns)
    heads = " & ".join(tex(head) for head in table.heads())
    texts = table.texts()
    numeric = [not column.is_text for column in table.columns]
    # a number's sign is a minus, not the hyphen of words
    cells = [
        [
            tex(text.replace("-", "−") if is_number else text)
            for text, is_number in zip(row, numeric, strict=True)
        ]
        for row in texts[:most]
    ]
    rows = "\n".join(rf"{' & '.join(row)} \\" for row in cells)
    note = table.note
    if most is not None and len(texts) > most:
        note = f"{note} {len(texts) - most:,} further rows are in tables/{table.name}.csv.".strip()
    foot = rf"\par\smallskip{{\footnotesize {tex(note)}\par}}" + "\n" if note else ""
    foot += f"{tex_stamp(stamp)}\n" if stamp else ""
    return (
        "\\begin{table}[htbp]\n\\centering\n"
        f"\\caption{{{tex(table.title)}}}\\label{{tab:{table.name}}}\n"
        "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%\n"
        f"\\begin{{tabular}}{{@{{}}{marks}@{{}}}}\n\\toprule\n{heads} "
        f"\\\\\n\\midrule\n{rows}\n\\bottomrule\n\\end{{tabular}}}}\n"
        f"{foot}\\end{{table}}\n"
    )


def report_html(report: Report, svgs: Mapping[str, str]) -> str:
    """The whole report as one page without scripts, and with nothing to load."""
    links = "".join(
        f'<li><a href="#{section.name}">{escape(section.title)}</a></li>' for section in report.sections
    )
    body = "\n".join(_section_html(section, report, svgs) for section in report.sections)
    paragraphs = "\n".join(f"<p>{escape(text)}</p>" for text in report.methods)
    warning = (
        '<p class="warn"><strong>Simulated answers</strong>, not people’s.</p>' if report.simulated else ""
    )
    signatures = "".join(
        f"<dt>{escape(name)}</dt><dd><code>{escape(text)}</code></dd>"
        for name, text in report.signatures.items()
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(report.title)}: report</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<header><h1>{escape(report.title)}</h1>"
        f'<p class="soft">{escape(report.protocol)} · <code>{escape(report.study)}</code>'
        f" · data {report.data_hash[:12]} · Quorum {escape(report.versions.get('quorum', ''))}</p>{warning}</header>\n"
        f'<nav aria-label="Sections"><ul>{links}<li><a href="#methods">Methods</a></li></ul></nav>\n<main>\n{body}\n'
        f'<section id="methods"><h2>Methods</h2>\n{paragraphs}\n'
        f"<h3>Signatures</h3><dl>{signatures}</dl></section>\n</main>\n"
        f'<footer><p class="stamp">{escape(report.stamp)}</p></footer>\n</body>\n</html>\n'
    )


def _section_html(section: Section, report: Report, svgs: Mapping[str, str]) -> str:
    parts = [f'<section id="{section.name}"><h2>{escape(section.title)}</h2>']
    said = {plot.sentence for plot in section.plots}
    parts += [
        f"<p>{escape(text)}</p>" for text in (section.empty, *section.sentences) if text and text not in said
    ]
    for plot in section.plots:
        parts.append(
            f"<figure><div>{svgs[plot.name]}</div><figcaption>{escape(plot.sentence)} "
            f'<span class="soft">Files: figures/{plot.name}.svg, .pdf, .png, .csv</span></figcaption></figure>'
        )
    parts += [f'<div class="scroll">{table_html(table, report.stamp)}</div>' for table in section.tables]
    return "\n".join([*parts, "</section>"])


def report_markdown(report: Report) -> str:
    """The whole report with its figures beside it."""
    parts = [f"# {markdown(report.title)}", ""]
    if report.simulated:
        parts += ["**Simulated answers, not people’s.**", ""]
    for section in report.sections:
        parts += [f"## {markdown(section.title)}", ""]
        said = {plot.sentence for plot in section.plots}
        for text in (section.empty, *section.sentences):
            parts += [markdown(text), ""] if text and text not in said else []
        for plot in section.plots:
            parts += [f"![{markdown(plot.title)}](figures/{plot.name}.svg)", "", markdown(plot.sentence), ""]
        for table in section.tables:
            parts += [
                f"### {markdown(table.title)}",
                "",
                table_markdown(table, report.stamp, most=ROWS_IN_TEXT),
            ]
    return "\n".join([*parts, "## Methods", "", methods_markdown(report)])


def methods_markdown(report: Report) -> str:
    """The methods paragraphs."""
    return "\n\n".join(markdown(text) for text in report.methods) + "\n"


def methods_tex(report: Report) -> str:
    """The methods paragraphs; every work that is named is in references.bib."""
    cites = f"\\nocite{{{','.join(report.citations)}}}\n" if report.citations else ""
    return "\n\n".join(tex(text) for text in report.methods) + f"\n{cites}"


def report_tex(report: Report) -> str:
    """An article with booktabs and graphicx."""
    parts = [
        "\\documentclass[a4paper]{article}", "\\usepackage[utf8]{inputenc}", "\\usepackage[T1]{fontenc}",
        "\\usepackage{textcomp}", "\\usepackage{booktabs}", "\\usepackage{graphicx}",
        "\\usepackage[margin=2.5cm]{geometry}", "\\sloppy", FITTED,
        f"\\title{{{tex(report.title)}}}", "\\author{}", "\\date{}", "\\begin{document}", "\\maketitle",
    ]  # fmt: skip
    if report.simulated:
        parts.append("\\textbf{Simulated answers, not people's.}")
    for section in report.sections:
        parts.append(f"\\section{{{tex(section.title)}}}")
        said = {plot.sentence for plot in section.plots}
        parts += [
            f"{tex(text)}\n" for text in (section.empty, *section.sentences) if text and text not in said
        ]
        parts += [_figure_tex(plot) for plot in section.plots]
        parts += [table_tex(table, report.stamp, most=ROWS_IN_TEXT) for table in section.tables]
        parts.append("\\clearpage")
    parts += ["\\section{Methods}", methods_tex(report)]
    if report.citations:
        parts += ["\\bibliographystyle{plain}", "\\bibliography{references}"]
    return "\n".join([*parts, "\\end{document}", ""])


def _figure_tex(plot: Plot) -> str:
    return (
        "\\begin{figure}[htbp]\n\\centering\n"
        f"\\fitted{{figures/{plot.name}.pdf}}\n"
        f"\\caption{{{tex(plot.sentence)}}}\\label{{fig:{plot.name}}}\n\\end{{figure}}\n"
    )
