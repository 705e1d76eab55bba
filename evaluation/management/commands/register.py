"""``manage.py register``: fix a study's plan before it opens, or hold the study against its plan."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from evaluation.errors import RegistrationError
from evaluation.management.words import table_lines
from evaluation.plans import read_plan
from evaluation.registration import registration_section
from evaluation.services.registration import register_study
from judgments.files import write_json
from judgments.management.base import QuorumCommand
from judgments.services.studies import find_study


class Command(QuorumCommand):
    """Thin: parses and calls ``register_study`` or ``registration_section``."""

    help = (
        "Fix hypotheses, exclusions, stopping rule and planned analyses of a study with a hash before it opens\n"
        "(docs/registration.md). Without PLAN: what was done otherwise, and what became of the hypotheses."
    )
    example = "manage.py register triplets-50 plan.toml --output registered.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Study, plan, and where the registered plan goes."""
        parser.add_argument("study", help="slug of the study")
        parser.add_argument("plan", nargs="?", type=Path, help="TOML file with a table [registration]")
        parser.add_argument("--output", type=Path, help="JSON file for what was registered")

    def handle(self, *args: Any, **options: Any) -> None:
        """Register and say the hash, or say what became of the plan."""
        study = find_study(options["study"])
        if options["plan"] is None:
            section = registration_section(study)
            if section is None:
                raise RegistrationError(
                    f"Study {study.slug!r} was not registered; expected a PLAN to register."
                )
            for line in (*section.sentences, *_table(section.hypotheses), *_table(section.deviations)):
                self.say(line)
            return
        try:
            text = options["plan"].read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise RegistrationError(f"{options['plan']} is not UTF-8 text.") from None
        made = register_study(study=study, plan=read_plan(text, source=str(options["plan"])))
        if options["output"]:
            write_json(options["output"], {"sha256": made.sha256, **json.loads(json.dumps(made.content))})
        self.say(f"Study {study.slug} is registered: SHA-256 {made.sha256}.")


def _table(rows: tuple[tuple[str, ...], ...]) -> list[str]:
    return ["", *table_lines(rows[0], rows[1:])] if rows else []
