"""Register a study's plan, or compare the study with it."""

from __future__ import annotations

import math
import tomllib
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from evaluation.errors import RegistrationError
from evaluation.management.words import table_lines
from evaluation.models import Registration
from evaluation.registration.operations import register
from evaluation.registration.plans import Outcome, Registered, compute_outcomes, find_registered
from evaluation.report.content import p_value
from judgments.management.base import OperationCommand
from judgments.studies.studies import find_study


class Command(OperationCommand):
    operation = register
    help = (
        "Fix hypotheses, exclusions, stopping rule and planned analyses of a study with a hash before it opens\n"
        "(docs/registration.md). Without PLAN: the plan of the study file is registered;\n"
        "of a registered study, what was done otherwise, and what became of the hypotheses."
    )
    example = "manage.py register triplets-50 plan.toml --output registered.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="slug of the study")
        parser.add_argument("plan", nargs="?", type=Path, help="TOML file with a table [registration]")
        self.add_output(parser, help="JSON file for what was registered")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        path = options["plan"]
        if path is None and (found := find_registered(study)) is not None:
            for line in _report_lines(found, compute_outcomes(study)):
                self.say(line)
        else:
            self.say(
                self.operation.run(study, {} if path is None else {"plan": _table_in(path)}, by=None).words
            )
        made = Registration.objects.get(study=study)
        self.write_output(options, {"sha256": made.sha256, **made.content})


def _table_in(path: Path) -> Any:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig")).get("registration", {})
    except UnicodeDecodeError:
        raise RegistrationError(f"{path} is not UTF-8 text.") from None
    except tomllib.TOMLDecodeError as error:
        raise RegistrationError(f"{path} is not TOML: {error}.") from None


def _report_lines(found: Registered, tested: list[Outcome]) -> list[str]:
    n = len(found.deviations)
    count = "no deviation" if not n else "1 deviation" if n == 1 else f"{n} deviations"
    heads = ("Hypothesis", "Claim", "Verdict", "Only first right", "Only second right", "p", "p (Holm)")
    rows = [(one.text, one.claim, one.verdict, *_figures(one)) for one in tested]
    lines = [
        f"The plan was registered on {found.on} with SHA-256 {found.sha256}.",
        f"The platform found {count} from it.",
        "Checked hypotheses are tested by McNemar's exact test, two-sided, adjusted after Holm.",
        "",
        *table_lines(heads, rows),
    ]
    if found.deviations:
        lines += ["", *table_lines(("What", "In words"), [(one.what, one.words) for one in found.deviations])]
    return lines


def _figures(one: Outcome) -> tuple[str, ...]:
    if math.isnan(one.p):
        return ("",) * 4
    return str(one.first_only), str(one.second_only), p_value(one.p), p_value(one.adjusted)
