"""Commands about plans: a study's size, its registration."""

from __future__ import annotations

import math
import tomllib
from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.amounts import percent
from common.commands import QuorumCommand, progress_bar
from evaluation.errors import EvaluationError, RegistrationError
from evaluation.models import Registration
from evaluation.presentation.content import Cell, Estimate, plain_table
from judgments.management.base import OperationCommand, operation_at
from judgments.studies.studies import design_of, find_study

if TYPE_CHECKING:
    from evaluation.planning.registration.plans import HypothesisOutcome, Registered

COLUMNS = [
    ("pairs", "count"), ("references", "count"), ("votes", "count"), ("power in % [95 %]", "share"),
    ("wrong ahead", "percent"), ("cents", "count"),
]  # fmt: skip


class PlanPower(QuorumCommand):
    workers_option = "--workers"
    help = "How many pairs, references and votes tell two systems or metrics apart, by simulation (docs/planning.md)."
    example = "manage.py plan_power assumptions.toml --pilot my-pilot --output plan.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", nargs="?", type=Path, help="TOML with the assumptions that differ from the usual"
        )
        parser.add_argument("--study", help="slug of a study whose prices and HITs are taken")
        parser.add_argument("--pilot", help="slug of a study whose people are taken")
        parser.add_argument(
            "--apart",
            nargs=2,
            metavar=("FIRST", "SECOND"),
            default=("", ""),
            help="two systems, or metrics, of the pilot: the difference to find is the one between them",
        )
        self.add_output(parser, help="write assumptions and results there as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        from evaluation.planning import planning
        from evaluation.results.agreement import components_sentence

        study = find_study(options["study"]) if options["study"] else None
        values = planning.assumptions_for(study) if study else {}
        plan = _given(options["file"]) if options["file"] else {}
        first, second = options["apart"]
        source: dict[str, Any] = {}
        if options["pilot"]:
            question = str(plan.get("question", "systems"))
            pilot = planning.estimate_from_pilot(
                study=find_study(options["pilot"]), question=question, first=first, second=second
            )
            values, source = values | pilot.assumptions, pilot.source
        elif first:
            raise EvaluationError("--apart names two of a pilot; expected --pilot STUDY with it.")
        values |= plan
        assumptions = planning.read_assumptions(values)
        with progress_bar() as progress:
            result = planning.compute_plan(
                assumptions=assumptions, design=design_of(study) if study else None, progress=progress
            )
        self.write_output(options, {"assumptions": assumptions.model_dump(mode="json"), **source, **result})
        self.say_tables([plain_table("Designs", COLUMNS, [_row(design) for design in result["tried"]])])
        if sentence := components_sentence(source.get("components", {})):
            self.say(sentence)
        best = result["best"]
        if best is None:
            self.say(
                f"None of these designs surely reaches a power of {percent(assumptions.wanted)} "
                "(by the lower end of its interval)."
            )
        else:
            title = f"Cheapest that surely reaches a power of {percent(assumptions.wanted)}, simulated anew"
            self.say_tables([plain_table(title, COLUMNS, [_row(best)])])


def _given(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise EvaluationError(f"{path} is not TOML: {error}.") from None


def _row(plan: dict[str, Any]) -> tuple[Cell, ...]:
    power = Estimate(plan["power"], plan["low"], plan["high"])
    return plan["pairs"], plan["references"], plan["votes"], power, plan["wrong"], plan["cost_cents"]


HYPOTHESES = [
    ("Hypothesis", "text"), ("Claim", "text"), ("Verdict", "text"), ("Only first right", "count"),
    ("Only second right", "count"), ("p", "p"), ("p (Holm)", "p"),
]  # fmt: skip


class Register(OperationCommand):
    operation = operation_at("evaluation.planning.registration.plans.register")
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
        from evaluation.planning.registration.plans import compute_outcomes, find_registered

        study = find_study(options["study"])
        path = options["plan"]
        if path is None and (registered := find_registered(study)) is not None:
            self._summary(registered, compute_outcomes(study))
        else:
            self.say(
                self.operation.run(study, {} if path is None else {"plan": _table_in(path)}, by=None).message
            )
        registration = Registration.objects.get(study=study)
        self.write_output(options, {"sha256": registration.sha256, **registration.content})

    def _summary(self, registered: Registered, tested: list[HypothesisOutcome]) -> None:
        n = len(registered.deviations)
        count = "no deviation" if not n else "1 deviation" if n == 1 else f"{n} deviations"
        self.say(f"The plan was registered on {registered.on} with SHA-256 {registered.sha256}.")
        self.say(f"The platform found {count} from it.")
        self.say("Checked hypotheses are tested by t over items and people, two-sided, adjusted after Holm.")
        rows = []
        for outcome in tested:
            counts = (None, None) if math.isnan(outcome.p) else (outcome.first_only, outcome.second_only)
            rows.append((outcome.text, outcome.claim, outcome.verdict, *counts, outcome.p, outcome.adjusted))
        tables = [plain_table("Hypotheses", HYPOTHESES, rows)]
        if registered.deviations:
            deviations = [(deviation.what, deviation.words) for deviation in registered.deviations]
            tables.append(plain_table("Deviations", [("What", "text"), ("In words", "text")], deviations))
        self.say_tables(tables)


def _table_in(path: Path) -> Any:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig")).get("registration", {})
    except UnicodeDecodeError:
        raise RegistrationError(f"{path} is not UTF-8 text.") from None
    except tomllib.TOMLDecodeError as error:
        raise RegistrationError(f"{path} is not TOML: {error}.") from None
