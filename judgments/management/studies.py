"""Commands that make a study's work: draw its HITs, or bring a HIT template over."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from common.amounts import counted
from common.commands import QuorumCommand, progress_bar
from common.errors import QuorumError, WrongState
from common.files import check_place, write_lines
from judgments.hit_templates.importing import CheckedTemplate, check_template, import_template
from judgments.importers.textio import ImportProblem, read_whole
from judgments.management.base import OperationCommand
from judgments.models import Study
from judgments.operations import generate
from judgments.studies.generation import batch_lines, build_batch
from judgments.studies.studies import design_of


class GenerateHits(OperationCommand):
    operation = generate
    help = "Generate a study's units, controls and HITs."
    example = "manage.py generate_hits triplets-50 --output hits.jsonl"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--output", type=Path, help="also write them as canonical JSON lines")

    def handle(self, *args: Any, **options: Any) -> None:
        study, values = self.study_and_values(options)
        output: Path | None = options["output"]
        if output is not None:
            check_place(output)
        design = design_of(study)
        if study.state != Study.State.DRAFT and output is not None and study.source == Study.Source.DESIGNED:
            batch = build_batch(design, study.dataset, maker=study.created_by_id)
            if not _same_hits(study, [hit.key for hit in batch.hits]):
                raise WrongState(
                    f"Study {study.slug!r} was generated before its dataset changed; its HITs cannot be drawn again."
                )
            self.say(
                f"Study {study.slug} has its HITs already; they are written again, nothing was generated."
            )
        else:
            with progress_bar() as progress:
                batch = self.operation.run(study, values, by=None, progress=progress).value
        if output is not None:
            write_lines(output, batch_lines(batch, design))
        self.say(
            f"Study {study.slug}: {counted(len(batch.hits), 'HIT')}, {counted(batch.unit_count, 'unit')}, "
            f"{counted(batch.control_count, 'control item')}."
        )


def _same_hits(study: Study, keys: list[str]) -> bool:
    return list(study.hits.order_by("position").values_list("key", flat=True)) == keys


class ImportTemplate(QuorumCommand):
    help = "Bring a HIT template of Mechanical Turk or Turkle over, with its CSV of inputs (docs/hit-templates.md)."
    example = "manage.py import_template tone template.html inputs.csv --dry-run"
    named_errors = (QuorumError, ImportProblem)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="slug of the study, and name of its dataset")
        parser.add_argument("template", type=Path, help="HTML with ${field} for the cells of a row")
        parser.add_argument("inputs", type=Path, help="CSV with a column for each field, a row for each task")
        parser.add_argument("--name", default="", help="what workers read; otherwise the slug")
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
            checked = check_template(source=source, inputs=options["inputs"], encoding=options["encoding"])
            self.say(f"Understood; nothing was stored. Without --dry-run this becomes study {slug}.")
            self._tell(checked)
            return
        with progress_bar() as progress:
            study, checked = import_template(
                slug=slug,
                source=source,
                inputs=options["inputs"],
                name=options["name"],
                images=options["images"],
                encoding=options["encoding"],
                progress=progress,
            )
        self.say(f"Study {study.slug} created as a draft. Next: generate its HITs.")
        self._tell(checked)

    def _tell(self, checked: CheckedTemplate) -> None:
        self.say(f"  {checked.rows:>9,} rows of inputs")
        for question in checked.template.questions:
            self.say(
                f"  question {question.name}: {question.control}{', needed' if question.required else ''}"
            )
        for sentence in checked.left_out:
            self.say(f"  {sentence}")
