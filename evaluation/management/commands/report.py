"""Report on a study in figures, tables and text."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from common.commands import progress_bar
from evaluation.reports.operations import make_report
from evaluation.reports.storage import build_report, check_folder, write_report
from judgments.management.base import OperationCommand


class Command(OperationCommand):
    workers_option = "--workers"
    operation = make_report
    help = (
        "Write a report of a study into a folder: index.html, report.md, report.tex, methods, references.bib, figures "
        "(SVG, PDF, PNG), tables (HTML, CSV, LaTeX, Markdown), report.json and a manifest (docs/reports.md). Analyses "
        "that are stored for the same judgments are used; nothing is stored."
    )
    example = "manage.py report triplets-50 --output triplets-50-report"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--output", required=True, type=Path, metavar="DIR", help="the folder to write")
        parser.add_argument(
            "--metrics",
            default="",
            metavar="LIST",
            help="comma-separated; default: those of the newest evaluation",
        )
        parser.add_argument("--tokenizer", default="", metavar="NAME", help="how texts are cut into words")

    def handle(self, *args: Any, **options: Any) -> None:
        study, values = self.asked(options)
        folder = options["output"]
        check_folder(folder)
        metrics = [name.strip() for name in options["metrics"].split(",") if name.strip()]
        with progress_bar() as progress:
            report = build_report(
                study, metrics=metrics, tokenizer=options["tokenizer"], **values, progress=progress
            )
            write_report(report, folder, progress=progress)
        for section in report.sections:
            for sentence in (section.empty, *section.sentences[:1]):
                if sentence:
                    self.say(f"{section.title}: {sentence}")
        simulated = " The answers are simulated." if report.simulated else ""
        self.say(
            f"{folder / 'index.html'}: {len(report.plots)} figures, {len(report.tables)} tables.{simulated}"
        )
