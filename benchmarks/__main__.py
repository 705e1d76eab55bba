"""Run every benchmark of the metrics and statistics, and print the tables of docs/benchmarks.md.

    python -m benchmarks > tables.md

This takes about half an hour on a machine that does nothing else. The other programs are those of
requirements-oracles.txt.
"""

import argparse
import importlib
import os
import platform
from importlib.metadata import version
from pathlib import Path

from benchmarks.measuring import print_table

MODULES = {
    "captions": "Captions",
    "meteor": "METEOR",
    "agreement": "Agreement",
    "aggregation": "Aggregation and ranking",
    "significance": "Significance and correlation",
}


def machine() -> str:
    cpu = Path("/proc/cpuinfo")
    names = cpu.read_text(encoding="utf-8").splitlines() if cpu.exists() else []
    model = next(
        (line.partition(": ")[2] for line in names if line.startswith("model name")), platform.machine()
    )
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "numba", "pyarrow"))
    return f"Measured on {os.cpu_count()} cores ({model}), Python {platform.python_version()}, {packages}."


def main() -> None:
    """Print all tables, or the tables of the modules named on the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "modules", nargs="*", metavar="module", help=f"of {', '.join(MODULES)} (default: all)"
    )
    chosen = parser.parse_args().modules
    if unknown := [name for name in chosen if name not in MODULES]:
        parser.error(f"there is no {unknown[0]!r}; expected some of {', '.join(MODULES)}")
    print(machine())
    for module in chosen or MODULES:
        print(f"\n## {MODULES[module]}\n", flush=True)
        print_table(importlib.import_module(f"benchmarks.{module}").JOBS)


if __name__ == "__main__":
    main()
