"""Imports that wait for a person to map the columns of a table or to correct its errors."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.utils.translation import gettext, gettext_noop

from common.incoming import RequestBytesExceeded
from common.incoming.json_documents import load_json
from judgments.datasets.importing import last_mapping
from judgments.datasets.table_columns import (
    NO_COLUMNS,
    PICTURE_COLUMNS,
    TABLE_USES,
    UploadTable,
    has_title,
    read_upload_table,
)
from judgments.datasets.uploads import job_file, open_upload
from judgments.importers import TABLE_FORMATS, ColumnMapping, ImportProblem, read_layouts
from judgments.importers.mapping import BETWEEN_CRITERIA, FILE, OMITTED_COLUMN, parse_pairs
from judgments.importers.options import OPTIONS, mapping_of
from judgments.importers.textio import ImportProblems
from judgments.jobs.registry import registered_job_kinds
from judgments.models import Job
from judgments.studies.studies import find_dataset

PEOPLE = "people"  # the heading of columns that are named after people
# The labels on a page of the options that an error message names.
CONTROL_LABELS = {
    "--header-row N": gettext_noop("Header line"),
    "--design FILE": gettext_noop("Study file"),
    "--encoding": gettext_noop("Encoding"),
    "--missing": gettext_noop("Values that mean an empty cell"),
    "--match-names": gettext_noop("Ignore case, blanks and file extensions when matching image names"),
    '--workers anonymous, or workers = "anonymous" in a mapping': gettext_noop(
        "Participants are unknown: treat each row as a different participant"
    ),
}
ROW_OPTIONS = ("header_row", "where", "missing")
MAX_LISTED_PROBLEMS = 500  # problems on a page, each with a field; a form has at most 1,000 fields


def find_pending_import(upload: str) -> dict[str, Any] | None:
    """Return the kind, arguments and table of an upload's pending import; None if the upload has none."""
    try:
        content: dict[str, Any] = load_json(job_file(upload).read_text())
    except (FileNotFoundError, ValueError):
        return None
    return content if content.get("kind") in registered_job_kinds() else None  # its feature may be off


def leave_pending(kind: str, args: Mapping[str, Any], table: UploadTable) -> None:
    values = {"kind": kind, "args": dict(args), "table": asdict(table)}
    job_file(args["upload"]).write_text(json.dumps(values))


def _read_table(
    kind: str, args: Mapping[str, Any], path: Path, offered: Mapping[str, str] | None = None
) -> tuple[UploadTable, ImportProblem | None]:
    header_row = (args.get("mapping") or {}).get("header_row", 0)
    return read_upload_table(
        path,
        args["format"],
        use=kind,
        encoding=args.get("encoding", ""),
        offered=offered,
        header_row=header_row,
    )


def _has_columns(kind: str, args: Mapping[str, Any]) -> bool:
    return kind in TABLE_USES and args["format"] in (*TABLE_FORMATS, *read_layouts())


@contextmanager
def problems_left(job: Job, path: Path) -> Iterator[None]:
    """Store the errors with the upload if the import in the block fails, so that a page can offer to correct them."""
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
        table.problems = [_as_row(each, path) for each in problems[:MAX_LISTED_PROBLEMS]]
        leave_pending(job.kind, args, table)
        raise


def _as_row(problem: ImportProblem, path: Path) -> dict[str, str]:
    row = {"said": str(problem).replace(f"{path.parent}/", ""), "file": Path(problem.file).name}
    if problem.cell is not None and problem.line is not None:
        row |= {"line": str(problem.line), "column": problem.cell[0], "cell": problem.cell[1]}
    return row


def store_if_mapping_needed(kind: str, args: Mapping[str, Any]) -> bool:
    """Return whether a person must map the columns of an uploaded table. If so, store the import as pending.

    Return False for a table that is unreadable or too large for a request; the job then reports the error.
    """
    if not _has_columns(kind, args):
        return False
    last = last_mapping(kind, dataset=find_dataset(args["dataset"]))
    try:
        with open_upload(args["upload"]) as files:
            table, problem = _read_table(kind, args, files.path, last)
    except RequestBytesExceeded:
        return False
    if problem is not None:
        if not has_title(table.lines):
            return False
        table.problems = [_as_row(problem, files.path)]
    is_empty = not table.lines and not table.rows
    has_our_columns = args["format"] in TABLE_FORMATS and table.has_columns_for(kind)
    if is_empty or (table.rows and not table.header_row and has_our_columns):
        return False
    leave_pending(kind, args, table)
    return True


def offered(kind: str, args: Mapping[str, Any], table: UploadTable) -> dict[str, Any]:
    """Return the context of the page on which columns are mapped: the table, and the choices for its columns."""
    before = args.get("mapping") or {}
    names = {
        source: mine
        for mine, sources in table.chosen.items()
        for source in ([sources] if isinstance(sources, str) else sources)[0].split(BETWEEN_CRITERIA)
    }
    names |= dict.fromkeys(before.get("people", ()), PEOPLE)
    use = TABLE_USES.get(kind, NO_COLUMNS)
    return {
        "columns": [{"name": name, "chosen": names.get(name, "")} for name in table.names],
        "rows": table.rows,
        "unnamed": gettext("not used")
        if kind != "dataset" or "caption" in table.chosen
        else gettext("a text of a system or of people"),
        "wanted": [
            (name, gettext(use.words[name]) if name in use.words else name)
            for name in use.optional
            if name in table.chosen or name not in PICTURE_COLUMNS or "text" not in table.chosen
        ]
        + [(name, gettext(words)) for name, words in use.choices.items()],
        "lines": table.lines,
        "header_row": table.header_row,
        "has_title": has_title(table.lines),
        "opens": not table.has_our_names() or bool(table.row_options()),
        "match_names": before.get("match_names", ""),
        "missing": ", ".join(before.get("missing", table.missing)),
        "where": ", ".join(f"{column}={cell}" for column, cell in before.get("where", table.where).items()),
        **use.shown(args, table),
    }


def name_controls(refusal: str) -> str:
    for option, label in CONTROL_LABELS.items():
        refusal = refusal.replace(option, f"“{gettext(label)}”")
    return refusal


def _chosen(names: Sequence[str], values: Mapping[str, str], prefix: str = "") -> dict[str, str]:
    """Return the file's column for each of Quorum's columns, from a posted form."""
    sent = ((values.get(f"column-{prefix}{number}"), name) for number, name in enumerate(names))
    sources: dict[str, list[str]] = {}
    for mine, name in sent:
        if mine:
            sources.setdefault(mine, []).append(name)
    return {
        mine: BETWEEN_CRITERIA.join(listed) if mine == "value" else listed[-1]
        for mine, listed in sources.items()
        if mine != PEOPLE
    }


def posted_maps(tables: Mapping[str, UploadTable], values: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return the mapping of each file's table from a posted form, by the file's name.

    Mappings are as in `UploadTable.as_mapping`.

    Raises:
        ImportProblem: the condition for rows is not a list of ``column=value``.
    """
    maps = {}
    for number, (name, table) in enumerate(tables.items()):
        fields = (f"column-{number}-", f"{number}-")
        # an HTTP client that accepts what was detected
        if not any(field.startswith(fields) for field in values):
            maps[name] = table.as_mapping()
            continue
        texts = {option: values.get(f"{number}-{option}", "").strip() for option in ROW_OPTIONS}
        how = mapping_of(texts, Path(name)) or ColumnMapping()
        maps[name] = how.model_dump(mode="json", exclude_defaults=True)
        # if the person chose another header, its columns are guessed again
        if how.header_row == table.header_row:
            maps[name]["columns"] = _chosen(table.names, values, prefix=f"{number}-")
    return maps


def posted(waiting: Mapping[str, Any], values: Mapping[str, str], files: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a pending import, with the columns, words, files and corrections of a posted form.

    Raises:
        ImportProblem: the words are not a list of ``word=value``.
    """
    args, table = dict(waiting["args"]), UploadTable(**waiting["table"])
    fixes: dict[str, dict[str, dict[str, str]]] = {}
    for number, problem in enumerate(table.problems):
        text = values.get(f"fix-{number}")
        if text is not None and "line" in problem and text != problem["cell"]:
            fixes.setdefault(problem["file"], {}).setdefault(problem["line"], {})[problem["column"]] = text
    if "parts" in args:
        parts = args["parts"]
        args["parts"] = [
            part | {"fixes": _merge_fixes(part["fixes"], fixes.get(Path(part["file"]).name, {}))}
            for part in parts
        ]
        return args
    before, use = args.get("mapping") or {}, TABLE_USES.get(waiting["kind"], NO_COLUMNS)
    table.chosen = _chosen(table.names, values)
    answers, field = values.get("words", "").strip(), Path(gettext("Text answers"))
    if values.get("each_file"):
        table.chosen["worker"] = f"{{{FILE}}}"
    texts = {
        name: values.get(name, "").strip() for name in OPTIONS if name not in ("map", "values", "people")
    }
    how = mapping_of(texts, field) or ColumnMapping()
    of_table = args["format"] in TABLE_FORMATS
    dropped = {
        name.lower(): OMITTED_COLUMN for name in table.names if of_table and name.lower() in use.optional
    }
    people = [name for at, name in enumerate(table.names) if values.get(f"column-{at}") == PEOPLE]
    args["mapping"] = (
        how.model_dump(mode="json", exclude_defaults=True)
        | {
            "columns": {name: where for name, where in dropped.items() if name not in table.chosen}
            | (table.renamed_columns() if of_table else table.chosen),
            "values": parse_pairs(answers, field, "", "left=1,right=2") if answers else {},
            "zone": how.zone,
            "fixes": _merge_fixes(before.get("fixes", {}), next(iter(fixes.values()), {})),
        }
        | ({"people": people} if people else {})
    )
    return args | use.arguments(args, values, files)


def _merge_fixes(
    before: Mapping[str, Mapping[str, str]], fixes: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    return {line: {**before.get(line, {}), **fixes.get(line, {})} for line in {**before, **fixes}}
