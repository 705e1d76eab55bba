"""The command that imports judgments."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from common.commands import QuorumCommand, progress_bar
from contrib.judgment_imports.columns import IMPORT_JOB
from contrib.judgment_imports.importing import import_judgments
from contrib.judgment_imports.inspecting import inspect_judgments
from contrib.judgment_imports.reading import mappings_by_criterion, scale_of_design
from judgments.design.reading.study_files import toml_values
from judgments.importers import JUDGMENT_FORMATS, TABLE_FORMATS, ColumnMapping, read_layouts
from judgments.importers.options import OPTIONS, add_options, mapping_of
from judgments.importers.textio import read_whole
from judgments.kinds import KINDS
from judgments.management.datasets import suggesting_columns


class ImportJudgments(QuorumCommand):
    help = "Import judgments collected elsewhere as a study (contrib/judgment_imports/README.md)."
    example = (
        "manage.py import_judgments jsonl votes.jsonl --dataset photos --study elsewhere --protocol graded"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("format", choices=[*JUDGMENT_FORMATS, *TABLE_FORMATS, *read_layouts()])
        parser.add_argument("path", type=Path)
        parser.add_argument("--dataset", required=True)
        parser.add_argument("--study", required=True, help="slug of the study to make")
        parser.add_argument(
            "--protocol",
            choices=list(KINDS),
            help="what the answers of a table or a result file are; of a set with several kinds, which",
        )
        parser.add_argument("--encoding", help="for files that are neither UTF-8 nor marked")
        add_options(parser, *OPTIONS)
        parser.add_argument(
            "--scale",
            default="",
            metavar="LOW:HIGH[:STEP]",
            help="of graded or slider answers, such as 1:5:0.5 or (with =) --scale=-3:3; without it, they say it",
        )
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
            help="a TOML file with keys of a study file for the study, such as [[spans.weights]]; "
            "for a HIT template, the study's own file",
        )
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="read the whole file, refuse what an import refuses, say what was understood, store nothing",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        mapping = mapping_of(options, options["path"])
        arguments = {
            name: options[name]
            for name in ("format", "path", "dataset", "protocol", "encoding", "bad_rows", "scale")
        }
        file = options["design"]
        arguments["design"] = toml_values(read_whole(file), source=str(file)) if file else None
        if options["dry_run"]:
            self._inspect(arguments, options, mapping)
            return
        with progress_bar() as progress, suggesting_columns(IMPORT_JOB, options, options["dataset"]):
            summary = import_judgments(
                **arguments, study=options["study"], mapping=mapping, progress=progress
            )
        self.say("\n".join(summary.lines("Study")))

    def _inspect(
        self, arguments: dict[str, Any], options: dict[str, Any], mapping: ColumnMapping | None
    ) -> None:
        """Print what an import would do for each criterion (a question about a text), and store nothing.

        Args:
            arguments: the arguments of `import_judgments` without study and mapping.
        """
        arguments["scale"] = arguments["scale"] or scale_of_design(arguments["design"] or {})
        with progress_bar() as progress, suggesting_columns(IMPORT_JOB, options, options["dataset"]):
            file_options = {name: options[name] for name in ("format", "path", "encoding")}
            mappings = mappings_by_criterion(**file_options, mapping=mapping)
            contents = {
                criterion: inspect_judgments(**arguments, mapping=criterion_mapping, progress=progress)
                for criterion, criterion_mapping in mappings.items()
            }
            # an import refuses more than an inspection
            import_judgments(**arguments, study=options["study"], mapping=mapping, dry_run=True)
        for criterion, content in contents.items():
            heading = [f"{criterion}:"] if criterion else []  # "" if the table has no criteria
            self.say("\n".join([*heading, *content.sentences()]))
        self.say("Nothing was stored (--dry-run).")
