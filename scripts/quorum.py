"""Carry out a target of the Makefile: `python3 -m scripts.quorum test`, `... lint`, or `... run`.

This module uses only the standard library, and no syntax that an old Python cannot parse (scripts/environment.py).
"""

from __future__ import annotations

import sys

from scripts import checks, services
from scripts.environment import SetupError, restart_in_newer_python

# Targets without arguments. They are the names of functions in scripts/checks.py.
COMMANDS = ("environment", "browser", "coverage", "lint", "docs", "pinned", "audit", "sbom")


def main() -> int:
    restart_in_newer_python()
    command, arguments = sys.argv[1], sys.argv[2:]
    if command == "test":
        return checks.test(arguments)
    if command == "test-long":
        return checks.test_long(arguments)
    if command == "test-services":
        return checks.test_services(arguments)
    if command in COMMANDS:
        return int(getattr(checks, command)())
    services.run()  # the target "run"
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SetupError as problem:
        sys.exit(str(problem))
    except KeyboardInterrupt:
        sys.exit(130)
