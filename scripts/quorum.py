"""The orders of the Makefile.

Use only the standard library, and no syntax that an old Python cannot read (scripts/environment.py).
"""

from __future__ import annotations

import sys

from scripts import checks, services
from scripts.environment import CannotGoOn, use_a_new_python


def main() -> int:
    use_a_new_python()
    order, arguments = sys.argv[1], sys.argv[2:]
    if order == "environment":
        return checks.environment()
    if order == "test":
        return checks.test(arguments)
    if order == "coverage":
        return checks.coverage()
    if order == "lint":
        return checks.lint()
    if order == "docs":
        return checks.docs()
    if order == "pinned":
        return checks.pinned()
    if order == "audit":
        return checks.audit()
    if order == "sbom":
        return checks.sbom()
    services.run()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CannotGoOn as problem:
        sys.exit(str(problem))
    except KeyboardInterrupt:
        sys.exit(130)
