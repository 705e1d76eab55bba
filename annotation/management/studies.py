"""Commands about a study's answers: rehearse, replay rules, import judgments, print the checklist for ethics."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from annotation.ethics.checklist import as_html, as_markdown, build_checklist, count_open_lines
from annotation.importing.judgments import import_judgments, inspect_judgments
from annotation.quality import operations as quality
from annotation.rehearsal import operations as rehearsal
from annotation.rehearsal.rehearsal import CAREFUL, SortReport
from common.commands import QuorumCommand, progress_bar
from common.files import check_place, write_json
from judgments.design.reading import toml_values
from judgments.importers import JUDGMENT_FORMATS, TABLE_FORMATS, read_layouts
from judgments.importers.textio import read_whole
from judgments.kinds import KINDS
from judgments.management.base import OperationCommand
from judgments.management.datasets import add_mapping, columns_offered, mapping_of
from judgments.studies.studies import find_study


class Rehearse(OperationCommand):
    operation = rehearsal.rehearse
    help = "Let a simulated crowd answer the open HITs of a study until every HIT is full."
    example = "manage.py rehearse demo-triplet-copy --workers 20 --spammers 0.2 --seed 1"

    def handle(self, *args: Any, **options: Any) -> None:
        study, values = self.study_and_values(options)
        with progress_bar() as progress:
            outcome = self.operation.run(study, values, by=None, progress=progress)
        self.say(outcome.message)
        report = outcome.value
        self.say(
            f"The known truth was recovered on {100 * report.recovered:.0f} % of {report.units:,} units "
            f"({100 * report.undecided:.0f} % ended in a tie), without workers who failed their control items."
        )
        if report.controls_careful is not None:
            spammed = (
                "none seen" if report.controls_spammers is None else f"{100 * report.controls_spammers:.0f} %"
            )
            self.say(
                f"Control items got right: careful workers {100 * report.controls_careful:.0f} %, spammers {spammed}."
            )
        for by_sort in report.by_sort:
            self.say(_report_line(by_sort))
        if report.by_sort:
            self.say(
                f"{report.invalidated:,} judgments of excluded people were invalidated, and their slots filled again."
            )


def _report_line(by_sort: SortReport) -> str:
    who = "Careful workers" if by_sort.sort == CAREFUL else f"Spammers, {by_sort.sort}"
    when = ""
    if by_sort.answers is not None:
        low, middle, high = by_sort.answers
        when = f" after {middle:,.0f} answers (middle half {low:,.0f} to {high:,.0f})"
    flagged = f", {by_sort.flagged:,} more flagged" if by_sort.flagged else ""
    wrongly = " wrongly" if by_sort.sort == CAREFUL else ""
    return (
        f"{who}: {by_sort.stopped:,} of {by_sort.people:,} stopped{wrongly}{when}{flagged}; "
        f"{by_sort.kept:,} of their {by_sort.judgments:,} judgments count."
    )


class ImportJudgments(QuorumCommand):
    help = "Import judgments collected elsewhere as a study (docs/formats.md)."
    example = (
        "manage.py import_judgments flickr8k-expert ../Flickr8k --dataset flickr8k --study flickr8k-expert"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("format", choices=[*JUDGMENT_FORMATS, *TABLE_FORMATS, *read_layouts()])
        parser.add_argument("path", type=Path)
        parser.add_argument("--dataset", required=True)
        parser.add_argument("--study", required=True, help="slug of the study to make")
        parser.add_argument(
            "--protocol",
            choices=list(KINDS),
            help="which judgments of a published set (pascal-50s: triplet, the default, or pairwise), "
            "or what the answers of a table or a result file are",
        )
        parser.add_argument("--encoding", help="for files that are neither UTF-8 nor marked")
        add_mapping(parser)
        parser.add_argument(
            "--bad-rows",
            type=Path,
            metavar="PATH",
            help="import the rows that are right, and write the others to this CSV, with line and reason",
        )
        parser.add_argument(
            "--design",
            type=Path,
            metavar="FILE",
            help="a TOML file with keys of a study file for the study, such as [[spans.weights]]",
        )
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="read the whole file, say what was understood, store nothing",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        mapping = mapping_of(options)
        source = {
            name: options[name] for name in ("format", "path", "dataset", "protocol", "encoding", "bad_rows")
        }
        if options["dry_run"]:
            with progress_bar() as progress, columns_offered("import_judgments", options, options["dataset"]):
                inspection = inspect_judgments(**source, mapping=mapping, progress=progress)
            for line in inspection.sentences():
                self.say(line)
            return
        path = options["design"]
        source["design"] = toml_values(read_whole(path), source=str(path)) if path else None
        with progress_bar() as progress, columns_offered("import_judgments", options, options["dataset"]):
            summary = import_judgments(**source, study=options["study"], mapping=mapping, progress=progress)
        self.say("\n".join(summary.lines("Study")))


class Ethics(QuorumCommand):
    help = (
        "Print the checklist for an ethics board as Markdown, filled from the study's design; what the design does\n"
        "not say is to be filled in by you (docs/ethics.md)."
    )
    example = "manage.py ethics triplets-50 --output triplets-50-ethics.md"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study")
        parser.add_argument(
            "--output", type=Path, metavar="FILE", help="a .md or .html file, instead of the terminal"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        sections = build_checklist(study)
        web = options["output"] is not None and options["output"].suffix == ".html"
        text = (as_html if web else as_markdown)(study, sections)
        if options["output"] is None:
            self.say(text)
            return
        options["output"].write_text(text, encoding="utf-8")
        self.say(f"{options['output']}: {count_open_lines(sections)} lines are to be filled in by you.")


class ReplayRules(OperationCommand):
    operation = quality.replay
    help = "Run detectors over the finished work of a study, before they are switched on."
    example = "manage.py replay_rules demo-triplet --rules side-bias,too-fast --output rules.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--output", metavar="PATH", help="write the findings as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["output"]:
            check_place(Path(options["output"]))
        study, values = self.study_and_values(options)
        replays = self.operation.run(study, values, by=None).value
        for replay in replays:
            if not replay.applies:
                why = "no answer holds what it looks at, so it says nothing"
                self.say(
                    f"{replay.rule}: {why if replay.unrecorded else 'means nothing for this kind of answers'}."
                )
                continue
            self.say(
                f"{replay.rule}: {len(replay.found):,} of {replay.workers:,} workers; excluding them would touch "
                f"{replay.judgments:,} judgments and open {replay.slots:,} slots."
            )
            for hit in replay.found:
                stopped = "" if hit.standing == "active" else f" ({hit.standing})"
                self.say(f"  {hit.worker}{stopped}, after {hit.answers:,} answers: {hit.words}")
        if options["output"]:
            findings = {"study": study.slug, "rules": [replay.as_json() for replay in replays]}
            write_json(Path(options["output"]), findings)
