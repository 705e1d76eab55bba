"""The command that imports a HIT template."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from common.commands import QuorumCommand, progress_bar
from common.errors import QuorumError
from contrib.hit_templates.importing import CheckedTemplate, check_template, import_template
from judgments.importers.problems import ImportProblem
from judgments.importers.textio import read_whole


class ImportTemplate(QuorumCommand):
    help = "Import a HIT template of Mechanical Turk or Turkle, with its CSV of inputs."
    example = "manage.py import_template tone template.html inputs.csv --dry-run"
    named_errors = (QuorumError, ImportProblem)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="slug of the study, and name of its dataset")
        parser.add_argument("template", type=Path, help="HTML with ${field} for the cells of a row")
        parser.add_argument("inputs", type=Path, help="CSV with a column for each field, a row for each task")
        parser.add_argument("--name", default="", help="what participants read; otherwise the slug")
        parser.add_argument(
            "--images", help="a folder with the pictures that a column picture names, or their address"
        )
        parser.add_argument("--encoding", help="for files that are neither UTF-8 nor marked")
        parser.add_argument(
            "--dry-run", action="store_true", help="say what was understood and left out; store nothing"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        slug: str = options["study"]
        source = read_whole(options["template"], encoding=options["encoding"])
        if options["dry_run"]:
            template = check_template(source=source, inputs=options["inputs"], encoding=options["encoding"])
            self.say(f"Understood; nothing was stored. Without --dry-run this becomes study {slug}.")
            self._print_notes(template)
            return
        with progress_bar() as progress:
            study, template = import_template(
                slug=slug,
                source=source,
                inputs=options["inputs"],
                name=options["name"],
                images=options["images"],
                encoding=options["encoding"],
                progress=progress,
            )
        self.say(f"Study {study.slug} created as a draft. Next: generate its pages of work.")
        self._print_notes(template)

    def _print_notes(self, template: CheckedTemplate) -> None:
        self.say(f"  {template.row_count:>9,} rows of inputs")
        for question in template.template.questions:
            self.say(
                f"  question {question.name}: {question.control}{', needed' if question.required else ''}"
            )
        for sentence in template.omission_notes:
            self.say(f"  {sentence}")
