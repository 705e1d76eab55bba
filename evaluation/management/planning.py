"""Commands about plans: a study's size, a paper's experiment again."""

from __future__ import annotations

import tomllib
from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings

from common.amounts import percent
from common.commands import QuorumCommand, progress_bar
from evaluation.errors import EvaluationError, ReplicationError
from evaluation.presentation.content import Cell, Estimate, plain_table
from judgments.studies.studies import design_of, find_study

if TYPE_CHECKING:
    from evaluation.reports.replication.packs import Pack

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


ALL = "all"


class Replicate(QuorumCommand):
    workers_option = "--workers"
    help = (
        "Run a protocol pack: an experiment of a paper again, from its data files to a report with a verdict for\n"
        "every published number. PACK is a shipped one (--list), the path of a folder with pack.toml and pack.py,\n"
        "or all for every shipped one (docs/replication.md). No database is needed."
    )
    example = "manage.py replicate v15-accuracy --data ../shared/data --output v15"
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "pack", metavar="PACK", nargs="?", default="", help="name or folder of a pack, or all"
        )
        parser.add_argument(
            "--output", type=Path, metavar="DIR", help="folder of the report and verdicts.json"
        )
        parser.add_argument(
            "--data", type=Path, metavar="DIR", help="folder of the data (default: replication in DATA_DIR)"
        )
        parser.add_argument(
            "--list", action="store_true", help="say what every pack, or PACK, needs and whether it is there"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        from evaluation.reports.replication.packs import pack_named, shipped_packs

        data: Path = options["data"] or Path(settings.DATA_DIR) / "replication"
        name, output = options["pack"], options["output"]
        if options["list"]:
            for pack in shipped_packs() if name in ("", ALL) else [pack_named(name)]:
                self._describe(pack, data)
            return
        if not name or output is None:
            raise ReplicationError("replicate needs a pack and --output DIR, or --list.")
        packs = list(shipped_packs()) if name == ALL else [pack_named(name)]
        from evaluation.reports.replication import running

        running.check_output(output)
        with progress_bar() as progress:
            done = running.run_packs(packs, data, progress)
            running.write_replications(done, output)
        for replication in done:
            self.say(f"{replication.pack.name}: {running.tally(replication.verdicts)}")
        lacking = sum(
            verdict.why == running.NO_TABLES for replication in done for verdict in replication.verdicts
        )
        if lacking:
            self.say(f"{lacking} numbers more with {running.HOW_TO_GET_TABLES}")
        self.say(f"Written to {output}: report.html, verdicts.json, figures and tables.")

    def _describe(self, pack: Pack, folder: Path) -> None:
        self.say(f"{pack.name}: {pack.contents.title} ({len(pack.numbers)} published numbers)")
        for name, data in pack.contents.data.items():
            inside = folder / (data.path or name)
            there = all((inside / file).is_file() for file in data.files)
            state = "there" if there else "not there, and not required" if data.optional else "NOT THERE"
            self.say(f"  {inside}: {', '.join(data.files)}; {state}")
            self.say(f"    {data.what}, from {data.source}")
