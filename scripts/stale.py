"""List figures in the docs that are older than the code they measure: ``python -m scripts.stale``.

docs/figures/measured.csv names for each of them the commit at which it was measured, and its modules. Whoever
measures again sets the commit there.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs" / "figures"
PAGES = ("benchmarks.md", "scale.md")
TABLE = "benchmarks.csv"
NO_FIGURES = {"Several machines"}  # headings


@dataclass(frozen=True, slots=True)
class Measured:
    """Figures under one name, their ``commit``, and the files or folders that they measure."""

    name: str
    commit: str
    modules: tuple[str, ...]


def measured() -> list[Measured]:
    with (FIGURES / "measured.csv").open(encoding="utf-8", newline="") as file:
        return [
            Measured(row["figures"], row["measured"], tuple(row["modules"].split()))
            for row in csv.DictReader(file)
        ]


def wanted() -> list[str]:
    names = [
        f"{page}: {line.removeprefix('## ')}"
        for page in PAGES
        for line in (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
        if line.startswith("## ") and line.removeprefix("## ") not in NO_FIGURES
    ]
    with (FIGURES / TABLE).open(encoding="utf-8", newline="") as file:
        return names + [
            f"{TABLE}: {group}" for group in dict.fromkeys(row["group"] for row in csv.DictReader(file))
        ]


def changes(one: Measured) -> list[str] | None:
    """Return the commits since, newest first; None if the clone lacks the one that was measured."""
    command = ["git", "log", "--no-merges", "--format=%h %cs %s", f"{one.commit}..HEAD", "--", *one.modules]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return None if found.returncode else found.stdout.splitlines()


def main() -> int:
    """Print a line for each name; return how many are unknown."""
    known = measured()
    missing = sorted(set(wanted()).symmetric_difference(one.name for one in known))
    for name in missing:
        say(f"{name}: in measured.csv or in the pages alone")
    for one in known:
        since = changes(one)
        if since is None:
            say(f"{one.name}: measured at {one.commit}, which this clone does not have")
            continue
        say(
            f"{one.name}: {f'older than {len(since)} commits, the last {since[0]}' if since else 'up to date'}"
        )
    return len(missing)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
