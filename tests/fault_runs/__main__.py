"""`python -m tests.fault_runs --hits 1000 --seeds 10 [--database postgresql]`"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import traceback
from pathlib import Path

from tests.fault_runs.run import FaultRun
from tests.installations import Installations


def main() -> int:
    """Runs every seed on a database of its own; the number of those that failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fault_runs")
    parser.add_argument("--hits", type=int, default=1000)
    parser.add_argument("--people", type=int, default=1, help="places of each HIT")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    asked = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="quorum-faults-") as folder:
        installations = Installations(Path(folder), Path(folder), os.environ.get("TEST_DATABASE_URL"))
        try:
            for seed in range(asked.first, asked.first + asked.seeds):
                with installations.fresh(asked.database) as installation:
                    run = FaultRun(
                        installation,
                        seed=seed,
                        hits=asked.hits,
                        people=asked.people,
                        kills=asked.kills,
                    )
                    try:
                        found = run.run()
                    except AssertionError as problem:
                        failed += 1
                        where = "".join(traceback.format_tb(problem.__traceback__)[-1:])
                        say(f"seed {seed}: FAILED after {run.outcome}: {problem}\n{where}")
                        continue
                say(
                    f"seed {seed}: {asked.hits} HITs, {sum(found.faults.values())} faults, {found.kills} kills, "
                    f"{found.syncs} syncs, {found.said}, {found.seconds:.0f} s"
                )
        finally:
            installations.close()
    return failed


def say(line: str) -> None:
    """At once, whoever reads."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
