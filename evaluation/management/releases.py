"""Commands that write files for other people: exports, reports, releases."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.commands import QuorumCommand, progress_bar
from evaluation.errors import VerificationError
from judgments.management.base import OperationCommand, operation_at
from judgments.studies.studies import find_study


class MakeRelease(OperationCommand):
    operation = operation_at("evaluation.reports.releases.operations.start_release")
    workers_option = "--workers"  # the number of processes
    help = (
        "Write a closed study's judgments, what they say together, its design and its papers as one zip file that\n"
        "`verify` can check without a database (docs/releases.md). People get pseudonyms of this release alone."
    )
    example = "manage.py release triplets-50 --version 1.0 --licence CC-BY-4.0 --output triplets-50-1.0.zip"

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        # The operation's option --version replaces Django's.
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: ArgumentParser) -> None:
        from evaluation.data.releases.documents import LICENCES

        super().add_arguments(parser)
        parser.description = f"{self.help}\nLicences: {', '.join(LICENCES)}."
        parser.add_argument(
            "--output", required=True, type=Path, help="the file to write; it must not exist yet"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        from evaluation.reports.releases.making import release_study
        from evaluation.reports.releases.operations import terms_of

        study, values = self.study_and_values(options)
        terms = terms_of(study, **values)
        with progress_bar() as progress:
            release, path = release_study(
                study=study, terms=terms, output=options["output"], progress=progress
            )
        simulated = " The answers are simulated." if study.simulated else ""
        self.say(
            f"{path}: version {release.version}, {release.size:,} bytes, SHA-256 {release.sha256}.{simulated}"
        )
        self.say(release.signature)


class ProveRelease(QuorumCommand):
    help = (
        "Compare a release with the study that it was made from: which of its judgments are here, which a receipt\n"
        "proves that were erased since, and which are neither. `verify` checks the bundle alone."
    )
    example = "manage.py prove_release triplets-50 triplets-50-1.0.zip --receipt QY3M…"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study")
        parser.add_argument("bundle", type=Path)
        parser.add_argument("--receipt", action="append", default=[], help="of an erasure; may be repeated")

    def handle(self, *args: Any, **options: Any) -> None:
        from evaluation.data.releases.origin import origin_of

        origin = origin_of(
            study=find_study(options["study"]), bundle=options["bundle"], receipts=options["receipt"]
        )
        if not origin.is_confirmed:
            raise CommandError(origin.summary())
        self.say(origin.summary())


class Verify(QuorumCommand):
    help = (
        "Compute a judgment signature, a study's stored results, or every figure of a release bundle again from the\n"
        "raw rows and say what differs (docs/signatures.md, docs/releases.md). A bundle needs no database. Ends with\n"
        "exit code 1 where anything differs."
    )
    example = "manage.py verify triplets-50-1.0.zip"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("what", help="a judgment signature, the slug of a study, or a release bundle")
        parser.add_argument("--study", help="slug of the study that the signature is of")

    def handle(self, *args: Any, **options: Any) -> None:
        from evaluation.reports.releases.verification import verify_bundle, verify_signature, verify_study

        argument = options["what"]
        with progress_bar() as progress:
            if "|" in argument:  # a signature
                if not options["study"]:
                    raise VerificationError("A signature names no study; expected --study SLUG with it.")
                verification = verify_signature(text=argument, study=find_study(options["study"]))
            elif argument.endswith(".zip") or Path(argument).is_file():
                verification = verify_bundle(Path(argument))
            else:
                verification = verify_study(study=find_study(argument), progress=progress)
        for line in verification.differences:
            self.say(f"  {line}")
        if verification.differences:
            raise VerificationError(
                f"{verification.subject} does not hold: {verification.count} of its parts differ."
            )
        self.say(f"{verification.subject} holds: {verification.checked} parts are as stated.")


class MakeReport(OperationCommand):
    workers_option = "--workers"  # the number of processes
    operation = operation_at("evaluation.reports.storage.make_report")
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
        from evaluation.reports.files import check_folder, write_report
        from evaluation.reports.storage import build_report

        study, values = self.study_and_values(options)
        folder = options["output"]
        check_folder(folder)
        metrics = [name.strip() for name in options["metrics"].split(",") if name.strip()]
        parts = [name for name, is_requested in values.items() if is_requested]  # optional parts of a report
        with progress_bar() as progress:
            report = build_report(
                study, metrics=metrics, tokenizer=options["tokenizer"], parts=parts, progress=progress
            )
            write_report(report, folder, progress=progress)
        for section in report.sections:
            if section.empty:
                self.say(f"{section.title}: {section.empty}")
            if section.sentences and section.sentences[0]:
                self.say(f"{section.title}: {section.sentences[0]}")
        simulated = " The answers are simulated." if report.simulated else ""
        self.say(
            f"{folder / 'index.html'}: {len(report.plots)} figures, {len(report.tables)} tables.{simulated}"
        )


class ExportJudgments(OperationCommand):
    operation = operation_at("evaluation.data.export.operations.start_export")
    workers_option = "--workers"  # the number of processes
    help = "Write a study's judgments to a file, and a manifest beside it, PATH.manifest.json (docs/exports.md). "
    example = "manage.py export_judgments triplets-50 --format jsonl --output triplets-50.jsonl"

    def add_arguments(self, parser: ArgumentParser) -> None:
        from evaluation.data.export.formats import FORMATS

        super().add_arguments(parser)
        formats = "; ".join(
            f"{file_format.name}: {file_format.description}" for file_format in FORMATS.values()
        )
        parser.description = f"{self.help}Formats: {formats}."
        parser.add_argument("--output", required=True, type=Path, help="the file to write")
        parser.add_argument(
            "--revisions",
            action="store_true",
            help="jsonl, csv, parquet: answers that were revised as well, each before the one that replaced it",
        )
        parser.add_argument(
            "--resume",
            action="store_true",
            help="go on with what a stopped export left beside PATH, with the judgments as they stood when that began",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        from evaluation.data.export.exporting import export_judgments

        study, values = self.study_and_values(options)
        with progress_bar() as progress:
            export = export_judgments(
                study=study,
                **values,
                output=options["output"],
                revisions=options["revisions"],
                resume=options["resume"],
                progress=progress,
            )
        counts = ", ".join(
            f"{count:,} {name.replace('_', ' ')}" for name, count in export.manifest["counts"].items()
        )
        simulated = " The answers are simulated." if study.simulated else ""
        self.say(f"{export.path}: {counts}. Manifest: {export.manifest_path.name}.{simulated}")
