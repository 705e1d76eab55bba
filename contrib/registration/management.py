"""The command that registers a plan and compares the results with it."""

from __future__ import annotations

import math
import tomllib
from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.amounts import with_noun
from contrib.registration.errors import RegistrationError
from contrib.registration.models import Registration
from evaluation.presentation.content import plain_table
from judgments.management.base import OperationCommand, operation_at
from judgments.studies.studies import find_study

if TYPE_CHECKING:
    from evaluation.reports.sections.registration import HypothesisOutcome, RegisteredPlan

HYPOTHESIS_COLUMNS = [
    ("Hypothesis", "text"), ("Claim", "text"), ("Verdict", "text"), ("Only first right", "count"),
    ("Only second right", "count"), ("p", "p"), ("p (Holm)", "p"),
]  # fmt: skip


class Register(OperationCommand):
    operation = operation_at("contrib.registration.plans.register_plan")
    help = (
        "Fix hypotheses, exclusions, stopping rule and planned analyses of a study with a hash before it opens\n"
        "(contrib/registration/README.md). Without PLAN: the plan of the study file is registered;\n"
        "of a registered study, what was done otherwise, and what became of the hypotheses."
    )
    example = "manage.py register triplets-50 plan.toml --output registered.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="slug of the study")
        parser.add_argument("plan", nargs="?", type=Path, help="TOML file with a table [registration]")
        self.add_output(parser, help="JSON file for what was registered")

    def handle(self, *args: Any, **options: Any) -> None:
        from contrib.registration.deviations import find_registration
        from contrib.registration.plans import compute_outcomes

        study = find_study(options["study"])
        path = options["plan"]
        if path is None and (plan := find_registration(study)) is not None:
            self._print_summary(plan, compute_outcomes(study))
        else:
            values = {} if path is None else {"plan": _read_plan(path)}
            self.say(self.operation.run(study, values, by=None).message)
        registration = Registration.objects.get(study=study)
        self.write_output(options, {"sha256": registration.sha256, **registration.content})

    def _print_summary(self, plan: RegisteredPlan, outcomes: list[HypothesisOutcome]) -> None:
        deviation_count = with_noun(len(plan.deviations), "deviation") if plan.deviations else "no deviation"
        self.say(f"The plan was registered on {plan.registered_on} with SHA-256 {plan.sha256}.")
        self.say(f"The platform found {deviation_count} from it.")
        self.say("Checked hypotheses are tested by t over items and people, two-sided, adjusted after Holm.")
        rows = []
        for outcome in outcomes:
            was_tested = not math.isnan(outcome.p)
            counts = (outcome.first_only, outcome.second_only) if was_tested else (None, None)
            # in the order of HYPOTHESIS_COLUMNS
            rows.append((outcome.text, outcome.claim, outcome.verdict, *counts, outcome.p, outcome.adjusted))
        tables = [plain_table("Hypotheses", HYPOTHESIS_COLUMNS, rows)]
        if plan.deviations:
            deviations = [(deviation.what, deviation.words) for deviation in plan.deviations]
            tables.append(plain_table("Deviations", [("What", "text"), ("In words", "text")], deviations))
        self.say_tables(tables)


def _read_plan(path: Path) -> Any:
    """Return the table ``[registration]`` of a TOML file; {} if the file has none."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig")).get("registration", {})
    except UnicodeDecodeError:
        raise RegistrationError(f"{path} is not UTF-8 text.") from None
    except tomllib.TOMLDecodeError as error:
        raise RegistrationError(f"{path} is not TOML: {error}.") from None
