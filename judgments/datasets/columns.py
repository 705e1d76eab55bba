"""The columns of a table that is imported: offered by their names and by the last mapping, and what to put right."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.utils.translation import gettext

from common.incoming import BeyondHead, load_json
from judgments.datasets import uploads
from judgments.datasets.importing import last_mapping
from judgments.datasets.tables import REQUIRED, WANTED, Table, table_of
from judgments.importers import TABLE_FORMATS, ImportProblem, read_layouts
from judgments.importers.mapping import parse_pairs
from judgments.importers.textio import ImportProblems
from judgments.models import Job
from judgments.studies.studies import find_dataset

MOST_LISTED = 500  # problems of a page, each with a field; a form has 1,000 at most


def pending(upload: str) -> dict[str, Any] | None:
    """Return the import that waits for its columns, or None: its job's kind and arguments, and its table."""
    try:
        waiting: dict[str, Any] = load_json(uploads.job_file(upload).read_text())
    except (FileNotFoundError, ValueError):
        return None
    return waiting if "kind" in waiting else None


def leave_pending(kind: str, args: Mapping[str, Any], table: Table) -> None:
    values = {"kind": kind, "args": dict(args), "table": asdict(table)}
    uploads.job_file(args["upload"]).write_text(json.dumps(values))


def _has_columns(kind: str, args: Mapping[str, Any]) -> bool:
    return kind in REQUIRED and args["format"] in (*TABLE_FORMATS, *read_layouts())


@contextmanager
def problems_left(job: Job, path: Path) -> Iterator[None]:
    """Leave the problems of an import's file with the upload, to be put right on a page."""
    uploads.job_file(job.args["upload"]).unlink(missing_ok=True)
    try:
        yield
    except ImportProblem as problem:
        args, table = job.args, Table()
        if _has_columns(job.kind, args):
            with suppress(ImportProblem):
                table = table_of(path, args["format"], use=job.kind, encoding=args.get("encoding", ""))
        if mapping := args.get("mapping"):
            table.chosen = mapping["columns"]
        problems = problem.problems if isinstance(problem, ImportProblems) else (problem,)
        table.problems = [_as_row(each, path) for each in problems[:MOST_LISTED]]
        leave_pending(job.kind, args, table)
        raise


def _as_row(problem: ImportProblem, path: Path) -> dict[str, str]:
    row = {"said": str(problem).replace(f"{path.parent}/", ""), "file": Path(problem.file).name}
    if problem.cell is not None and problem.line is not None:
        row |= {"line": str(problem.line), "column": problem.cell[0], "cell": problem.cell[1]}
    return row


def look_at_columns(kind: str, args: Mapping[str, Any]) -> bool:
    """Look at an uploaded table in a request; leave it pending, and return True, if a page has to ask for its columns.

    What is not read in a request, or not readable, is left to the import's job, which says what is wrong.
    """
    if not _has_columns(kind, args):
        return False
    with uploads.open_upload(args["upload"]) as files:
        try:
            table = table_of(
                files.path,
                args["format"],
                use=kind,
                encoding=args["encoding"],
                offered=last_mapping(kind, dataset=find_dataset(args["dataset"])),
            )
        except (BeyondHead, ImportProblem):
            return False
    if not table.rows or (args["format"] in TABLE_FORMATS and table.fits(kind)):
        return False
    leave_pending(kind, args, table)
    return True


def offered(kind: str, args: Mapping[str, Any], table: Table) -> dict[str, Any]:
    """Return what a page shows of a table: its columns, each with the names that it may have here, and its rows."""
    before = args.get("mapping") or {}
    names = {source: mine for mine, source in table.chosen.items()}
    return {
        "columns": [{"name": name, "chosen": names.get(name, "")} for name in table.names],
        "rows": table.rows,
        "wanted": WANTED.get(kind, ()),
        "words": ", ".join(f"{answer}={text}" for answer, text in before.get("values", {}).items()),
        "zone": before.get("zone", ""),
    }


def chosen(names: Sequence[str], values: Mapping[str, str], prefix: str = "") -> dict[str, str]:
    """Return our column -> the file's, as a page has sent them."""
    sent = ((values.get(f"column-{prefix}{number}"), name) for number, name in enumerate(names))
    return {mine: name for mine, name in sent if mine}


def posted(waiting: Mapping[str, Any], values: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of an import with the columns, words and corrections that a page has sent.

    Raises:
        ImportProblem: the words are no pairs.
    """
    args, table = dict(waiting["args"]), Table(**waiting["table"])
    fixes: dict[str, dict[str, dict[str, str]]] = {}
    for number, problem in enumerate(table.problems):
        text = values.get(f"fix-{number}")
        if text is not None and "line" in problem and text != problem["cell"]:
            fixes.setdefault(problem["file"], {}).setdefault(problem["line"], {})[problem["column"]] = text
    if "parts" in args:
        parts = args["parts"]
        args["parts"] = [
            part | {"fixes": _with(part["fixes"], fixes.get(Path(part["file"]).name, {}))} for part in parts
        ]
        return args
    before = args.get("mapping") or {}
    table.chosen = chosen(table.names, values)
    answers, field = values.get("words", "").strip(), Path(gettext("Answers in words"))
    args["mapping"] = {
        "columns": table.foreign() if args["format"] in TABLE_FORMATS else table.chosen,
        "values": parse_pairs(answers, field, "", "left=1,right=2") if answers else {},
        "zone": values.get("zone", "").strip(),
        "fixes": _with(before.get("fixes", {}), next(iter(fixes.values()), {})),
    }
    if waiting["kind"] == "import_judgments":
        args["good_rows"] = "good_rows" in values
    return args


def _with(
    before: Mapping[str, Mapping[str, str]], fixes: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    return {line: {**before.get(line, {}), **fixes.get(line, {})} for line in {**before, **fixes}}
