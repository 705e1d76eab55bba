"""``manage.py register``: fix a study's plan before it opens, or hold the study against its plan."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from common.files import write_json
from evaluation.errors import RegistrationError
from evaluation.management.words import table_lines
from evaluation.models import Registration
from evaluation.plans import read_plan
from evaluation.registration import registration_section
from evaluation.services.registration import plan_of, register_study
from judgments.design.plans import Plan
from judgments.management.base import QuorumCommand
from judgments.studies.studies import find_study


class Command(QuorumCommand):
    """Thin: parses and calls ``register_study`` or ``registration_section``."""

    help = (
        "Fix hypotheses, exclusions, stopping rule and planned analyses of a study with a hash before it opens\n"
        "(docs/registration.md). Without PLAN: the plan of the study file is registered;\n"
        "of a registered study, what was done otherwise, and what became of the hypotheses."
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
        path = options["plan"]
        if path is None and (section := registration_section(study)) is not None:
            for line in (*section.sentences, *_table(section.hypotheses), *_table(section.deviations)):
                self.say(line)
            self._write(Registration.objects.get(study=study), options["output"])
            return
        made = register_study(study=study, plan=plan_of(study) if path is None else _plan_in(path))
        self._write(made, options["output"])
        self.say(f"Study {study.slug} is registered: SHA-256 {made.sha256}.")

    def _write(self, registered: Registration, output: Path | None) -> None:
        if output is not None:
            content = json.loads(json.dumps(registered.content))
            write_json(output, {"sha256": registered.sha256, **content})


def _plan_in(path: Path) -> Plan:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise RegistrationError(f"{path} is not UTF-8 text.") from None
    return read_plan(text, source=str(path))


def _table(rows: tuple[tuple[str, ...], ...]) -> list[str]:
    return ["", *table_lines(rows[0], rows[1:])] if rows else []
