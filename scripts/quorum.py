"""The commands of the Makefile.

This module uses only the standard library, and no syntax that an old Python cannot parse (scripts/environment.py).
"""

from __future__ import annotations

import sys

from scripts import checks, services
from scripts.environment import SetupError, use_a_new_python

ORDERS = (
    "environment",
    "browser",
    "coverage",
    "lint",
    "docs",
    "pinned",
    "audit",
    "sbom",
)  # the names of functions in scripts/checks.py


def main() -> int:
    use_a_new_python()
    order, arguments = sys.argv[1], sys.argv[2:]
    if order == "test":
        return checks.test(arguments)
    if order == "test-long":
        return checks.test_long(arguments)
    if order == "test-services":
        return checks.test_services(arguments)
    if order in ORDERS:
        return int(getattr(checks, order)())
    services.run()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SetupError as problem:
        sys.exit(str(problem))
    except KeyboardInterrupt:
        sys.exit(130)
