"""Prove that a bundle was made from rows that existed."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from common.commands import QuorumCommand
from evaluation.data.releases.erasure import origin_of
from judgments.studies.studies import find_study


class Command(QuorumCommand):
    help = (
        "Compare a release with the study that it was made from: which of its judgments are here, which a receipt\n"
        "proves that were erased since, and which are neither. `verify` checks the bundle by itself."
    )
    example = "manage.py prove_release triplets-50 triplets-50-1.0.zip --receipt QY3M…"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study")
        parser.add_argument("bundle", type=Path)
        parser.add_argument("--receipt", action="append", default=[], help="of an erasure; may be repeated")

    def handle(self, *args: Any, **options: Any) -> None:
        found = origin_of(
            study=find_study(options["study"]), bundle=options["bundle"], receipts=options["receipt"]
        )
        if not found.holds:
            raise CommandError(found.words())
        self.say(found.words())
