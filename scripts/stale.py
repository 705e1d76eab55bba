"""List figures in the docs that are older than the code they measure: ``python -m scripts.stale``.

docs/figures/measured.csv names for each of them the commit at which it was measured, and its modules. Whoever
measures again sets the commit there.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

from scripts.environment import say

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs" / "figures"
PAGES = ("benchmarks.md", "scale.md")
TABLE = "benchmarks.csv"


def measured() -> list[dict[str, str]]:
    with (FIGURES / "measured.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def wanted() -> list[str]:
    names = [
        f"{page}: {line.removeprefix('## ')}"
        for page in PAGES
        for line in (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
        if line.startswith("## ") and line != "## Several machines"  # which holds no figures
    ]
    with (FIGURES / TABLE).open(encoding="utf-8", newline="") as file:
        return names + [
            f"{TABLE}: {group}" for group in dict.fromkeys(row["group"] for row in csv.DictReader(file))
        ]


def changes(row: dict[str, str]) -> list[str] | None:
    """Return the commits since, newest first; None if the clone lacks the one that was measured."""
    since = f"{row['measured']}..HEAD"
    command = ["git", "log", "--no-merges", "--format=%h %cs %s", since, "--", *row["modules"].split()]
    log = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return None if log.returncode else log.stdout.splitlines()


def main() -> int:
    """Print a line for each name; return how many are unknown."""
    known = measured()
    missing = sorted(set(wanted()).symmetric_difference(row["figures"] for row in known))
    for name in missing:
        say(f"{name}: in measured.csv or in the pages alone")
    for row in known:
        since = changes(row)
        if since is None:
            state = f"measured at {row['measured']}, which this clone does not have"
        else:
            state = f"older than {len(since)} commits, the last {since[0]}" if since else "up to date"
        say(f"{row['figures']}: {state}")
    return len(missing)


if __name__ == "__main__":
    sys.exit(main())
