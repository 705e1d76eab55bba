"""Verify a signature, a study's results, or a bundle from the rows."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from common.commands import QuorumCommand, progress_bar
from evaluation.errors import VerificationError
from evaluation.reports.releases.verification import verify_bundle, verify_signature, verify_study
from judgments.studies.studies import find_study


class Command(QuorumCommand):
    help = (
        "Compute a judgment signature, a study's stored results, or every figure of a release bundle again from the\n"
        "raw rows and say what differs (docs/signatures.md, docs/releases.md). A bundle needs no database. Ends with\n"
        "exit code 1 where anything differs."
    )
    example = "manage.py verify triplets-50-1.0.zip"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("what", help="a judgment signature, the slug of a study, or a release bundle")
        parser.add_argument("--study", help="slug of the study that the signature is of")

    def handle(self, *args: Any, **options: Any) -> None:
        what = options["what"]
        with progress_bar() as progress:
            if "|" in what:
                if not options["study"]:
                    raise VerificationError("A signature names no study; expected --study SLUG with it.")
                found = verify_signature(text=what, study=find_study(options["study"]))
            elif what.endswith(".zip") or Path(what).is_file():
                found = verify_bundle(Path(what))
            else:
                found = verify_study(study=find_study(what), progress=progress)
        for line in found.differences:
            self.say(f"  {line}")
        if found.differences:
            raise VerificationError(f"{found.what} does not hold: {found.count} of its parts differ.")
        self.say(f"{found.what} holds: {found.checked} parts are as stated.")
