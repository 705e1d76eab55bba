"""Commands about datasets: import datasets, systems' captions and rankings, and set who may read them."""

from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

from common.commands import QuorumCommand, progress_bar
from common.errors import QuorumError
from judgments.datasets.importing.candidates import import_candidates
from judgments.datasets.importing.column_mappings import last_mapping
from judgments.datasets.importing.datasets import import_dataset
from judgments.datasets.importing.rankings import import_rankings
from judgments.datasets.operations import OPERATIONS
from judgments.datasets.table_columns import read_upload_table
from judgments.importers import CANDIDATE_FORMATS, DATASET_FORMATS, TABLE_FORMATS, ImportProblem
from judgments.importers.options import COLUMN_OPTIONS, add_options, mapping_of
from judgments.management.base import add_parameters, as_form_data
from judgments.models import Dataset, Output
from judgments.studies.studies import find_dataset


@contextmanager
def suggesting_columns(use: str, options: dict[str, Any], dataset: str = "") -> Iterator[None]:
    """Suggest a column mapping in the error message if the block fails because of the names of a table's columns.

    The mapping is that of the last import or, if there is none, a guess.

    Args:
        use: what the table is read as, "dataset" or "import_candidates".
        dataset: the name of the dataset; "" for a new one.
    """
    try:
        yield
    except ImportProblem as error:
        has_mapping = options["map"] or options["mapping"]
        is_about_header = error.line in (None, 1)  # an error without a line is about the whole table
        if has_mapping or options["format"] not in TABLE_FORMATS or not is_about_header:
            raise
        last_columns = last_mapping(use, dataset=Dataset.objects.filter(name=dataset).first())
        path, format, encoding = options["path"], options["format"], options["encoding"] or ""
        table, _ = read_upload_table(path, format, use=use, encoding=encoding, last_columns=last_columns)
        pairs = ",".join(f"{own_column}={file_column}" for own_column, file_column in table.chosen.items())
        if pairs and not table.has_columns_for(use):
            raise QuorumError(f"{error} Say what its columns are, such as --map {quote(pairs)}") from error
        raise


class ImportDataset(QuorumCommand):
    help = "Import images and reference captions (docs/formats.md)."
    example = "manage.py import_dataset jsonl captions.jsonl --name photos --images photos"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("format", choices=list(DATASET_FORMATS))
        parser.add_argument("path", type=Path)
        parser.add_argument("--name", required=True, help="letters, digits, - and _")
        parser.add_argument(
            "--images", help="a folder with the pictures, or the address they are served from"
        )
        parser.add_argument("--encoding", help="for files that are neither UTF-8 nor marked")
        add_options(parser, *COLUMN_OPTIONS)

    def handle(self, *args: Any, **options: Any) -> None:
        import_options = {name: options[name] for name in ("format", "path", "name", "images", "encoding")}
        with progress_bar() as progress, suggesting_columns("dataset", options):
            mapping = mapping_of(options, options["path"])
            summary = import_dataset(**import_options, mapping=mapping, progress=progress)
        self.say("\n".join(summary.lines("Dataset")))


class ImportCandidates(QuorumCommand):
    help = "Import one system's captions, boxes or keywords (docs/formats.md)."
    example = "manage.py import_candidates jsonl my-model.jsonl --dataset photos --system my-model"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("format", choices=list(CANDIDATE_FORMATS))
        parser.add_argument("path", type=Path)
        parser.add_argument("--dataset", required=True)
        parser.add_argument("--system", required=True)
        parser.add_argument("--encoding", help="for files that are neither UTF-8 nor marked")
        add_options(parser, *COLUMN_OPTIONS)

    def handle(self, *args: Any, **options: Any) -> None:
        import_options = {name: options[name] for name in ("format", "path", "dataset", "system", "encoding")}
        with progress_bar() as progress, suggesting_columns("import_candidates", options, options["dataset"]):
            mapping = mapping_of(options, options["path"])
            summary = import_candidates(**import_options, mapping=mapping, progress=progress)
        self.say("\n".join(summary.lines("System")))


class ImportRankings(QuorumCommand):
    help = """\
Import systems' ranked lists: a TREC run, one item a line (docs/formats.md#rankings).

  qid Q0 docid rank score system

--task annotation: qid is an image, docid the id of a caption; --task search: the other way round.
The caption ids are those of the dataset.
"""
    example = "manage.py import_rankings my-model.run --dataset photos --task annotation"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", type=Path)
        parser.add_argument("--dataset", required=True)
        parser.add_argument("--task", required=True, choices=Output.Task.values)
        parser.add_argument(
            "--depth", type=int, help="keep the first so many items of each list (default: all)"
        )
        parser.add_argument("--encoding", help="for files that are neither UTF-8 nor marked")

    def handle(self, *args: Any, **options: Any) -> None:
        depth: int | None = options["depth"]
        if depth is not None and depth < 1:
            raise QuorumError(f"--depth is {depth}; expected 1 or more.")
        import_options = {name: options[name] for name in ("path", "dataset", "task", "depth", "encoding")}
        with progress_bar() as progress:
            summary = import_rankings(**import_options, progress=progress)
        self.say("\n".join(summary.lines("Rankings of")))


class DatasetAccess(QuorumCommand):
    help = "Share a dataset, give and take roles in it, and publish its systems (docs/roles.md)."
    example = "manage.py dataset_access my-photos share --sharing installation"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("dataset")
        subparsers = parser.add_subparsers(dest="operation", required=True, metavar="OPERATION")
        for name, operation in OPERATIONS.items():
            add_parameters(subparsers.add_parser(name, help=operation.summary), operation.parameters())

    def handle(self, *args: Any, **options: Any) -> None:
        operation = OPERATIONS[options["operation"]]
        dataset = find_dataset(options["dataset"])
        values = operation.parameters.read(as_form_data(operation.parameters(), options))
        self.say(operation.carry_out(dataset=dataset, by=None, **values))
