"""The form by which a person maps the columns of a pending import and corrects its cells.

`mapping_context` is the context of the form's template. The posted form becomes arguments of the import: by
`posted_arguments` for one table, and for corrected cells of a new dataset; by `posted_maps` for the columns of a new
dataset's files.

In a form of one table, the field ``column-N`` names the column of Quorum that the file's column N stands for, or is
PEOPLE; ``fix-N`` is the corrected text of the cell of problem N. In a form of several files, the field for column N of
file M is ``column-M-N``. PEOPLE means that the column has the answers of one person, after whom it is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.utils.translation import gettext, gettext_noop

from judgments.datasets.table_columns import (
    NO_COLUMNS,
    PEOPLE,
    PICTURE_COLUMNS,
    TABLE_USES,
    TableUse,
    UploadTable,
    has_title,
)
from judgments.importers import TABLE_FORMATS, ColumnMapping
from judgments.importers.mapped.mapping import CRITERIA_SEPARATOR, FILE, OMITTED_COLUMN, parse_pairs
from judgments.importers.options import OPTIONS, mapping_of

# the labels of a page's controls, by the option of a command that an error message names
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
Fixes = dict[str, dict[str, str]]  # corrected cells, by line and column


def mapping_context(kind: str, args: Mapping[str, Any], table: UploadTable) -> dict[str, Any]:
    """Return the context of the page on which columns are mapped: the table, and the choices for its columns."""
    old_mapping = args.get("mapping") or {}
    column_by_source: dict[str, str] = {}  # Quorum's column, by the file's column
    for column, sources in table.chosen.items():
        # the mapping of a job has lists of sources; a source of `value` may join several columns
        source = sources if isinstance(sources, str) else sources[0]
        column_by_source |= dict.fromkeys(source.split(CRITERIA_SEPARATOR), column)
    # columns that have one person's answers each, under the person's name
    column_by_source |= dict.fromkeys(old_mapping.get("people", ()), PEOPLE)
    use = TABLE_USES.get(kind, NO_COLUMNS)
    where = old_mapping.get("where", table.where)
    unused_label = gettext("not used")
    if kind == "dataset" and "caption" not in table.chosen:
        unused_label = gettext("a text of a system or of people")
    return {
        "columns": [{"name": name, "chosen": column_by_source.get(name, "")} for name in table.names],
        "rows": table.rows,
        "unused_label": unused_label,
        "column_choices": _column_choices(use, table),
        "lines": table.lines,
        "header_row": table.header_row,
        "has_title": has_title(table.lines),
        "is_open": not table.has_our_names() or bool(table.row_options()),  # whether columns are unfolded
        "match_names": old_mapping.get("match_names", ""),
        "missing": ", ".join(old_mapping.get("missing", table.missing)),
        "where": ", ".join(f"{column}={cell}" for column, cell in where.items()),
        **use.column_context(args, table),
    }


def _column_choices(use: TableUse, table: UploadTable) -> list[tuple[str, str]]:
    """Return the names and labels of Quorum's columns, and of choices such as PEOPLE, for a column of the file."""
    has_texts = "text" in table.chosen  # and thus probably no pictures
    names = [
        name for name in use.optional if name in table.chosen or not (has_texts and name in PICTURE_COLUMNS)
    ]
    columns = [(name, gettext(use.labels[name]) if name in use.labels else name) for name in names]
    return columns + [(name, gettext(label)) for name, label in use.choices.items()]


def replace_options_by_labels(message: str) -> str:
    """Return an error message in which a command's options are replaced by the labels of the page's controls."""
    for option, label in CONTROL_LABELS.items():
        message = message.replace(option, f"“{gettext(label)}”")
    return message


def posted_arguments(
    pending_import: Mapping[str, Any], values: Mapping[str, str], files: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a pending import, with the columns, answers, files and corrections of a posted form.

    Raises:
        ImportProblem: the text answers are not a list of ``answer=value``.
    """
    args, table = dict(pending_import["args"]), UploadTable(**pending_import["table"])
    fixes = _posted_fixes(table, values)
    if "parts" in args:  # the columns of a new dataset's files are mapped before the import
        args["parts"] = [
            part | {"fixes": _merge_fixes(part["fixes"], fixes.get(Path(part["file"]).name, {}))}
            for part in args["parts"]
        ]
        return args
    old_mapping = args.get("mapping") or {}
    use = TABLE_USES.get(pending_import["kind"], NO_COLUMNS)
    table.chosen = _chosen_columns(table.names, values)
    if values.get("each_file"):
        # each file has the answers of one participant, who is named after the file
        table.chosen["worker"] = f"{{{FILE}}}"
    columns = table.chosen
    if args["format"] in TABLE_FORMATS:
        # a column with Quorum's name for which the person chose nothing is not used
        names = [name.lower() for name in table.names if name.lower() in use.optional]
        omitted_columns = {name: OMITTED_COLUMN for name in names if name not in table.chosen}
        columns = omitted_columns | table.renamed_columns()
    answers = values.get("words", "").strip()
    field_label = Path(gettext("Text answers"))  # error messages name it instead of a file
    # the three other options are set from fields with other names
    texts = {
        name: values.get(name, "").strip() for name in OPTIONS if name not in ("map", "values", "people")
    }
    mapping = mapping_of(texts, field_label) or ColumnMapping()
    args["mapping"] = mapping.model_dump(mode="json", exclude_defaults=True) | {
        "columns": columns,
        "values": parse_pairs(answers, field_label, option="", example="left=1,right=2") if answers else {},
        "zone": mapping.zone,  # always in the arguments, unlike other defaults
        # this import reads one table, so only one file has corrections
        "fixes": _merge_fixes(old_mapping.get("fixes", {}), next(iter(fixes.values()), {})),
    }
    columns_of_one_person = [
        name for number, name in enumerate(table.names) if values.get(f"column-{number}") == PEOPLE
    ]
    if columns_of_one_person:
        args["mapping"]["people"] = columns_of_one_person
    return args | use.arguments(args, values, files)


def _posted_fixes(table: UploadTable, values: Mapping[str, str]) -> dict[str, Fixes]:
    """Return the corrections of a posted form, by file. Only problems of cells that can be corrected have a line."""
    fixes: dict[str, Fixes] = {}
    for number, problem in enumerate(table.problems):
        text = values.get(f"fix-{number}")
        if text is not None and "line" in problem and text != problem["cell"]:
            fixes.setdefault(problem["file"], {}).setdefault(problem["line"], {})[problem["column"]] = text
    return fixes


def _merge_fixes(old_fixes: Fixes, fixes: Fixes) -> Fixes:
    """Return all corrections. Of two corrections of a cell, the one in ``fixes`` counts."""
    return {line: {**old_fixes.get(line, {}), **fixes.get(line, {})} for line in {**old_fixes, **fixes}}


def _chosen_columns(names: Sequence[str], values: Mapping[str, str], prefix: str = "") -> dict[str, str]:
    """Return the file's column for each of Quorum's columns, from a posted form.

    Several columns of the file may be chosen for ``value``, each as a criterion. For any other column, the last choice
    counts.
    """
    sources: dict[str, list[str]] = {}
    for number, name in enumerate(names):
        column = values.get(f"column-{prefix}{number}")
        if column and column != PEOPLE:
            sources.setdefault(column, []).append(name)
    return {
        column: CRITERIA_SEPARATOR.join(file_columns) if column == "value" else file_columns[-1]
        for column, file_columns in sources.items()
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
        # an HTTP client that accepts the detected columns posts no fields about them
        if not any(field.startswith(fields) for field in values):
            maps[name] = table.as_mapping()
            continue
        texts = {option: values.get(f"{number}-{option}", "").strip() for option in ROW_OPTIONS}
        mapping = mapping_of(texts, Path(name)) or ColumnMapping()
        maps[name] = mapping.model_dump(mode="json", exclude_defaults=True)
        # if the person chose another header, its columns are guessed again
        if mapping.header_row == table.header_row:
            maps[name]["columns"] = _chosen_columns(table.names, values, prefix=f"{number}-")
    return maps
