"""Imports that wait for a person to map the columns of a table or to correct its errors."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from common.incoming import RequestBytesExceeded
from common.incoming.json_documents import load_json
from judgments.datasets.importing.column_mappings import last_mapping
from judgments.datasets.table_columns import TABLE_USES, UploadTable, has_title, read_upload_table
from judgments.datasets.uploads import job_file, open_upload
from judgments.importers import TABLE_FORMATS, ImportProblem, read_layouts
from judgments.importers.problems import ImportProblems
from judgments.jobs.registry import job_kinds
from judgments.models import Job
from judgments.studies.studies import find_dataset

MAX_LISTED_PROBLEMS = 500  # problems on a page, each with a field; a form has at most 1,000 fields


def find_pending_import(upload: str) -> dict[str, Any] | None:
    """Return the pending import of an upload; None if the upload has none.

    It has the keys ``kind``, the kind of the import's job, ``args``, the job's arguments, and ``table``, the fields of
    an `UploadTable`.
    """
    try:
        content: dict[str, Any] = load_json(job_file(upload).read_text())
    except (FileNotFoundError, ValueError):
        return None
    return content if content.get("kind") in job_kinds else None  # its feature may be off


def store_pending_import(kind: str, args: Mapping[str, Any], table: UploadTable) -> None:
    """Store an import with its upload, until a person has mapped the columns of its table or corrected its cells."""
    values = {"kind": kind, "args": dict(args), "table": asdict(table)}
    job_file(args["upload"]).write_text(json.dumps(values))


def _read_table(
    kind: str, args: Mapping[str, Any], path: Path, last_columns: Mapping[str, str] | None = None
) -> tuple[UploadTable, ImportProblem | None]:
    """Return the beginning of the table that an import reads, and the error if it cannot be read, else None.

    The header row is that of the import's mapping. ``last_columns`` are those of the last import into the dataset.
    """
    header_row = (args.get("mapping") or {}).get("header_row", 0)
    return read_upload_table(
        path,
        args["format"],
        use=kind,
        encoding=args.get("encoding", ""),
        last_columns=last_columns,
        header_row=header_row,
    )


def _has_columns(kind: str, args: Mapping[str, Any]) -> bool:
    """Return whether the import reads a table, whose columns a person can map."""
    return kind in TABLE_USES and args["format"] in (*TABLE_FORMATS, *read_layouts())


@contextmanager
def storing_problems(job: Job, path: Path) -> Iterator[None]:
    """If the import in the block fails, store its errors with the upload, so that a page can offer to correct them."""
    job_file(job.args["upload"]).unlink(missing_ok=True)
    try:
        yield
    except ImportProblem as problem:
        args, table = job.args, UploadTable()
        if _has_columns(job.kind, args):
            table, _ = _read_table(job.kind, args, path)
        if (mapping := args.get("mapping")) and mapping["columns"]:
            table.chosen = mapping["columns"]
        problems = problem.problems if isinstance(problem, ImportProblems) else (problem,)
        table.problems = [_describe_problem(entry, path) for entry in problems[:MAX_LISTED_PROBLEMS]]
        store_pending_import(job.kind, args, table)
        raise


def _describe_problem(problem: ImportProblem, path: Path) -> dict[str, str]:
    """Return the message and the place of an error, as in ``UploadTable.problems``."""
    description = {"said": str(problem).replace(f"{path.parent}/", ""), "file": Path(problem.file).name}
    if problem.cell is not None and problem.line is not None:
        column, text = problem.cell
        description |= {"line": str(problem.line), "column": column, "cell": text}
    return description


def store_if_mapping_needed(kind: str, args: Mapping[str, Any]) -> bool:
    """Return whether a person must map the columns of an uploaded table. If so, store the import as pending.

    Return False for a table that is unreadable or too large for a request; the job then reports the error.
    """
    if not _has_columns(kind, args):
        return False
    last_columns = last_mapping(kind, dataset=find_dataset(args["dataset"]))
    try:
        with open_upload(args["upload"]) as files:
            table, problem = _read_table(kind, args, files.path, last_columns)
    except RequestBytesExceeded:
        return False
    if problem is not None:
        if not has_title(table.lines):
            return False
        # a title was perhaps read as the header, so the person may choose another line
        table.problems = [_describe_problem(problem, files.path)]
    is_empty = not table.lines and not table.rows
    has_our_columns = args["format"] in TABLE_FORMATS and table.has_columns_for(kind)
    # a header that was found below a title is shown to the person, even if it has Quorum's names
    needs_no_mapping = table.rows and not table.header_row and has_our_columns
    if is_empty or needs_no_mapping:  # the job reports an empty table
        return False
    store_pending_import(kind, args, table)
    return True
