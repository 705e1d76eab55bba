"""The command that plans the size of a study."""

from __future__ import annotations

import tomllib
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from common.amounts import percent
from common.commands import QuorumCommand, progress_bar
from evaluation.errors import EvaluationError
from evaluation.presentation.content import Cell, Estimate, plain_table
from judgments.studies.designs import design_of
from judgments.studies.studies import find_study

PLAN_COLUMNS = [
    ("pairs", "count"), ("references", "count"), ("votes", "count"), ("power in % [95 %]", "share"),
    ("wrong ahead", "percent"), ("cents", "count"),
]  # fmt: skip


class PlanPower(QuorumCommand):
    workers_option = "--workers"  # the number of processes
    help = (
        "How many pairs, references and votes tell two systems or metrics apart, by simulation "
        "(contrib/planning/README.md)."
    )
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
        from contrib.planning.assumptions import assumptions_for, read_assumptions
        from contrib.planning.pilots import estimate_from_pilot
        from contrib.planning.plans import compute_plan
        from evaluation.results.agreement_sentences import components_sentence

        study = find_study(options["study"]) if options["study"] else None
        values = assumptions_for(study) if study else {}
        file_values = _read_toml(options["file"]) if options["file"] else {}
        first, second = options["apart"]
        source: dict[str, Any] = {}  # of a pilot: slug, hash and variance components, for the output
        if options["pilot"]:
            question = str(file_values.get("question", "systems"))
            pilot = estimate_from_pilot(
                study=find_study(options["pilot"]), question=question, first=first, second=second
            )
            values, source = values | pilot.assumptions, pilot.source
        elif first:
            raise EvaluationError("--apart names two of a pilot; expected --pilot STUDY with it.")
        values |= file_values  # what the file states takes precedence over the study and the pilot
        assumptions = read_assumptions(values)
        with progress_bar() as progress:
            result = compute_plan(
                assumptions=assumptions, design=design_of(study) if study else None, progress=progress
            )
        self.write_output(options, {"assumptions": assumptions.model_dump(mode="json"), **source, **result})
        rows = [_row_of_size(size) for size in result["tried"]]
        self.say_tables([plain_table("Designs", PLAN_COLUMNS, rows)])
        if sentence := components_sentence(source.get("components", {})):
            self.say(sentence)
        cheapest_size = result["best"]
        if cheapest_size is None:
            self.say(
                f"None of these designs surely reaches a power of {percent(assumptions.wanted)} "
                "(by the lower end of its interval)."
            )
        else:
            title = f"Cheapest that surely reaches a power of {percent(assumptions.wanted)}, simulated anew"
            self.say_tables([plain_table(title, PLAN_COLUMNS, [_row_of_size(cheapest_size)])])


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise EvaluationError(f"{path} is not TOML: {error}.") from None


def _row_of_size(size: dict[str, Any]) -> tuple[Cell, ...]:
    power = Estimate(size["power"], size["low"], size["high"])
    counts = (size[name] for name in ("pairs", "references", "votes"))
    return *counts, power, size["wrong"], size["cost_cents"]  # wrong: how often the worse one leads
