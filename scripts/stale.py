"""List figures in README and docs that are older than the code that they measure: ``python -m scripts.stale``.

For each figure, docs/figures/measured.csv has the commit at which it was measured, and the modules on which it depends.
Update the commit in this file after a new measurement. A figure is a section of PAGES, a group of TABLES, or a line of
a page.
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from scripts.environment import print_line

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs" / "figures"
PAGES = ("benchmarks.md", "scale.md")
TABLES = ("benchmarks.csv", "benchmarks-others.csv")
LINE_SEPARATOR = " | "  # separator between a page and a part of one of its lines
# A line with one of these words and a number has a measured or computed figure.
MEASURED_LINE = re.compile(
    r"simulations|-m benchmarks\.|\]\(figures/[\w-]+\.csv|Measured |\(published|the published|reported "
    r"|crowd-kit's|accuracy is|F1 is|--keystrokes|They agree to|\de-\d"
)
NUMBER = re.compile(r"\d %|(?<![\w.])\d*\.\d|\d of \d|\de-\d")


def read_measured_rows() -> list[dict[str, str]]:
    """Return the rows of measured.csv, with the columns figures (a name), measured (a commit) and modules."""
    with (FIGURES / "measured.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def figure_names() -> list[str]:
    """Return the names of the sections of PAGES and the groups of TABLES, as measured.csv should name them."""
    names = [
        f"{page}: {line.removeprefix('## ')}"
        for page in PAGES
        for line in (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
        if line.startswith("## ") and line != "## Several machines"  # a section without figures
    ]
    for table in TABLES:
        with (FIGURES / table).open(encoding="utf-8", newline="") as file:
            names += dict.fromkeys(f"{table}: {row['group']}" for row in csv.DictReader(file))
    return names


def pages() -> dict[str, str]:
    """Return the texts of README, docs (except PAGES) and pages of features, without blocks of code, by name."""
    docs = ROOT / "docs"
    paths = {path.relative_to(docs).as_posix(): path for path in sorted(docs.rglob("*.md"))}
    features = (ROOT / "contrib").glob("*/README.md")
    paths |= {path.relative_to(ROOT).as_posix(): path for path in (ROOT / "README.md", *sorted(features))}
    return {
        name: re.sub(r"^ *```.*?^ *```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
        for name, path in paths.items()
        if name not in PAGES
    }


def unknown_figures(texts: Mapping[str, str]) -> list[str]:
    """Return the names of figures that are only in measured.csv or only in the pages.

    Also return lines of pages with a measured number that measured.csv does not list.
    """
    names = {row["figures"] for row in read_measured_rows()}
    line_names = {name for name in names if LINE_SEPARATOR in name}
    problems = sorted((names - line_names).symmetric_difference(figure_names()))
    quotes: dict[str, list[str]] = {page: [] for page in texts}
    for name in sorted(line_names):
        page, quote = name.split(LINE_SEPARATOR, 1)
        if quote in texts.get(page, ""):
            quotes[page].append(quote)
        else:
            problems.append(name)
    return problems + [
        f"{page}: {line[:80]}"
        for page, text in texts.items()
        for line in text.splitlines()
        if MEASURED_LINE.search(line)
        and NUMBER.search(line)
        and not any(quote in line for quote in quotes[page])
    ]


def changes_since_measurement(row: dict[str, str]) -> list[str] | None:
    """Return the commits that changed the figure's modules since it was measured, from the newest.

    Return None if the clone lacks the commit at which it was measured.
    """
    commit_range = f"{row['measured']}..HEAD"
    command = ["git", "log", "--no-merges", "--format=%h %cs %s", commit_range, "--", *row["modules"].split()]
    log = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return None if log.returncode else log.stdout.splitlines()


def main() -> int:
    """Print the state of each row of measured.csv, and the names that only measured.csv or only the pages have.

    Return the number of these names.
    """
    unknown_names = unknown_figures(pages())
    for name in unknown_names:
        print_line(f"{name}: in measured.csv or in the pages alone")
    for row in read_measured_rows():
        changes = changes_since_measurement(row)
        if changes is None:
            state = f"measured at {row['measured']}, which this clone does not have"
        else:
            state = f"older than {len(changes)} commits, the last {changes[0]}" if changes else "up to date"
        print_line(f"{row['figures']}: {state}")
    return len(unknown_names)


if __name__ == "__main__":
    sys.exit(main())
