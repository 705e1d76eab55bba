"""Import judgments collected elsewhere."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from annotation.crowds.people import worker_name
from annotation.importing.judgments import import_judgments, inspect_judgments
from common.commands import QuorumCommand, progress_bar
from judgments.importers import (
    JUDGMENT_FORMATS,
    RESULT_FORMATS,
    TABLE_FORMATS,
    ImportProblem,
    ResultColumns,
)
from judgments.importers.results.judgments import EXAMPLE, parse_pairs, parse_zone, read_mapping
from judgments.kinds import KINDS
from judgments.management.base import say_import

RESULTS = ", ".join(RESULT_FORMATS)


class Command(QuorumCommand):
    help = "Import judgments collected elsewhere as a study (docs/formats.md)."
    example = (
        "manage.py import_judgments flickr8k-expert ../Flickr8k --dataset flickr8k --study flickr8k-expert"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("format", choices=[*JUDGMENT_FORMATS, *TABLE_FORMATS, *RESULT_FORMATS])
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
        parser.add_argument(
            "--columns",
            help=f"{RESULTS}: which column of the file is what, {EXAMPLE}; {{n}} in a name counts what a HIT asked",
        )
        parser.add_argument(
            "--values", help=f"{RESULTS}: what answers in words stand for, such as left=1,right=2"
        )
        parser.add_argument("--zone", help="for times that name no zone, one such as America/Los_Angeles")
        parser.add_argument(
            "--mapping",
            type=Path,
            help="a TOML file with [columns], [values] and zone, instead of the three options",
        )
        parser.add_argument(
            "--bad-rows",
            type=Path,
            metavar="PATH",
            help="import the rows that are right, and write the others to this CSV, with line and reason",
        )
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="read the whole file, say what was understood, store nothing",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        columns = _columns(
            **{name: options[name] for name in ("path", "columns", "values", "zone", "mapping")}
        )
        asked = {
            name: options[name] for name in ("format", "path", "dataset", "protocol", "encoding", "bad_rows")
        }
        if options["dry_run"]:
            with progress_bar() as progress:
                found = inspect_judgments(**asked, columns=columns, progress=progress)
            for line in found.sentences():
                self.say(line)
            return
        with progress_bar() as progress:
            summary = import_judgments(**asked, study=options["study"], columns=columns, progress=progress)
        say_import(self, "Study", summary)


def _columns(
    *, path: Path, columns: str | None, values: str | None, zone: str | None, mapping: Path | None
) -> ResultColumns | None:
    if mapping is not None:
        if columns or values or zone:
            raise ImportProblem(mapping, None, "--mapping", "other options beside it", "the file alone")
        return read_mapping(mapping, worker_name)
    if columns is None:
        return None
    return ResultColumns(
        columns=parse_pairs(columns, path, "--columns"),
        values=parse_pairs(values, path, "--values", "pairs such as left=1,right=2") if values else {},
        zone=parse_zone(zone, path) if zone else None,
        worker_name=worker_name,
    )
