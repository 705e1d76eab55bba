"""The command that checks all invariants."""

from __future__ import annotations

import sys
from typing import Any

from common.commands import QuorumCommand


class CheckIntegrity(QuorumCommand):
    help = (
        "Look for every broken invariant: taken and open slots, judgments without a submission, units outside of "
        "their HIT, pictures that are gone, and more. One line each; exits with 1 when there is one. Notes about "
        "what is merely out of date do not count."
    )
    example = "manage.py check_integrity"

    def handle(self, *args: Any, **options: Any) -> None:
        from evaluation.data.integrity import check_integrity  # late, as it loads pyarrow

        findings = check_integrity()
        for problem in findings.problems:
            self.say(problem)
        for note in findings.notes:
            self.say(f"Note: {note}")
        if findings.problems:
            count = len(findings.problems)
            self.stderr.write(f"{count:,} broken {'invariant' if count == 1 else 'invariants'}.")
            sys.exit(1)
        self.say(f"{findings.checks} checks, nothing broken.")
