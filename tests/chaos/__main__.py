"""`python -m tests.chaos --seed 1 [--seeds 50] [--each 2] [--database sqlite] [--broker rabbitmq]`"""

import argparse
import shutil
import sys
import traceback
from pathlib import Path

from tests.chaos.run import Chaos
from tests.chaos.services import stage

LONGEST_JOB = 60.0  # seconds from asking to the end


def main() -> int:
    """Runs every seed on a database of its own; the number of those that failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--seeds", type=int, default=1, help="how many runs")
    parser.add_argument("--hits", type=int, default=24, help="of the study at the crowd")
    parser.add_argument(
        "--kills", type=int, default=15, help="of web servers, workers, beat, database and broker"
    )
    parser.add_argument(
        "--each", type=int, default=1, help="how many web servers, workers, and workers that read files"
    )
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="postgresql")
    parser.add_argument("--broker", choices=["redis", "rabbitmq", "none"], default="redis")
    parser.add_argument("--logs", type=Path, help="a folder for the logs of runs that failed")
    asked = parser.parse_args()
    failed = 0
    with stage(asked.database, asked.broker) as fresh:
        for seed in range(asked.seed, asked.seed + asked.seeds):
            with fresh() as (installation, services):
                run = Chaos(
                    installation, services, seed=seed, hits=asked.hits, kills=asked.kills, each=asked.each
                )
                try:
                    found = run.run()
                    assert found.slowest < LONGEST_JOB, f"a job took {found.slowest:.0f} s"
                except AssertionError as problem:
                    failed += 1
                    if asked.logs:
                        for log in installation.folder.glob("*.log"):
                            shutil.copy(log, asked.logs / f"{seed}-{log.name}")
                    where = "".join(traceback.format_tb(problem.__traceback__)[-1:])
                    say(f"seed {seed}: FAILED after {run.outcome}: {problem}\n{where}")
                    continue
            say(
                f"seed {seed}: kills {dict(found.kills)}, {sum(found.faults.values())} faults of the crowd, "
                f"{found.acknowledged} submissions acknowledged, {dict(found.said)}, jobs {dict(found.jobs)}, "
                f"the slowest {found.slowest:.0f} s from asking to end, uploads {found.uploads}, the latest import "
                f"began after {found.latest_start:.1f} s, {found.seconds:.0f} s"
            )
    return failed


def say(line: str) -> None:
    """At once, whoever reads."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
