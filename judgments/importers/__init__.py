"""Open files and folders as sources of datasets, candidates and judgments, by the name of a format.

A source checks a file and yields its rows. It does not use the database.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path

from common.features import lazy_registry, of_features
from judgments.importers.import_format import ImportFormat
from judgments.importers.judgment_tables import TableJudgments
from judgments.importers.mapped.mapped_judgments import MappedJudgments
from judgments.importers.mapped.mapped_records import dataset_reader, mapped_reader
from judgments.importers.mapped.mapping import ColumnMapping, read_layouts
from judgments.importers.potato import read_potato
from judgments.importers.problems import ImportProblem
from judgments.importers.records.columns import RecordReader
from judgments.importers.records.csv_records import read_csv
from judgments.importers.records.json_records import read_json_lines
from judgments.importers.records.sources import CandidateSource, DatasetSource, JudgmentSource
from judgments.importers.tables.candidates import TableCandidates
from judgments.importers.tables.datasets import TableDataset
from judgments.importers.tables.files import read_json_list, read_parquet, read_table, read_workbook
from judgments.importers.tables.inputs import InputTable
from judgments.importers.tables.item_names import with_item_names
from judgments.importers.tables.parts import WHOLE_TABLE, TablePart
from judgments.importers.tables.standard_columns import CANDIDATE_COLUMNS, DATASET_COLUMNS
from judgments.kinds import Kind
from quorum.numeric.names import nearest_name

TABLE_FORMATS: dict[str, RecordReader] = {
    "jsonl": read_json_lines,
    "csv": read_csv,
    "tsv": read_csv,
    "json": read_json_list,
    "xlsx": read_workbook,
    "parquet": read_parquet,
}
IMPORT_FORMATS: list[ImportFormat] = lazy_registry(lambda: of_features("import_formats"))
DATASET_FORMATS: dict[str, Callable[[Path, str | None], DatasetSource]] = lazy_registry(
    lambda: {
        **{format.name: format.dataset for format in IMPORT_FORMATS if format.dataset},
        **{name: partial(TableDataset, records=reader) for name, reader in TABLE_FORMATS.items()},
        **{
            name: partial(TableDataset, records=dataset_reader(layout, read_table))
            for name, layout in read_layouts().items()
            if layout.dataset
        },
        "inputs": InputTable,  # the cells that fill the fields of a HIT template
    }
)

HEADER_FORMATS = ("csv", "tsv", "xlsx")  # formats of tables that may have a title above their header
CANDIDATE_FORMATS: dict[str, Callable[[Path, str | None], CandidateSource]] = lazy_registry(
    lambda: {
        **{format.name: format.candidates for format in IMPORT_FORMATS if format.candidates},
        **{name: partial(TableCandidates, records=reader) for name, reader in TABLE_FORMATS.items()},
    }
)

# functions that open the judgments of published datasets, by format and protocol; the first protocol is the default
JUDGMENT_FORMATS: dict[str, Mapping[str, Callable[[Path, str | None], JudgmentSource]]] = lazy_registry(
    lambda: {format.name: format.judgments for format in IMPORT_FORMATS if format.judgments}
)


def open_dataset(
    format: str,
    path: Path | str,
    *,
    encoding: str | None = None,
    table_part: TablePart = WHOLE_TABLE,
    mapping: ColumnMapping | None = None,
) -> DatasetSource:
    """Open a dataset in one of DATASET_FORMATS. Its contents are read later.

    Args:
        encoding: the encoding of a file that is not UTF-8 and has no byte order mark (docs/formats.md).
        table_part: the part of a table that has people's captions or, with ``images_alone``, only names the images.
        mapping: maps a table's columns to Quorum's. With a part or a mapping, items that have a source text but no
            image get a name; without both, the file is read as it is.

    Raises:
        ImportProblem: the format is unknown, or there is no such file.
    """
    path = checked_path(format, DATASET_FORMATS, path)
    if table_part != WHOLE_TABLE or mapping is not None:
        records = table_part.reader_of(with_item_names(table_reader(format, path, mapping)))
        return TableDataset(path, encoding, records=records, images_alone=table_part.images_alone)
    return DATASET_FORMATS[format](path, encoding)


def open_candidates(
    format: str,
    path: Path | str,
    *,
    encoding: str | None = None,
    table_part: TablePart = WHOLE_TABLE,
    mapping: ColumnMapping | None = None,
) -> CandidateSource:
    """Open a system's captions in one of CANDIDATE_FORMATS, as `open_dataset` does."""
    path = checked_path(format, CANDIDATE_FORMATS, path)
    if table_part != WHOLE_TABLE or mapping is not None:
        records = table_part.reader_of(table_reader(format, path, mapping))
        match_names = mapping is not None and mapping.match_names  # images may be named in another case
        return TableCandidates(path, encoding, records=records, match_names=match_names)
    return CANDIDATE_FORMATS[format](path, encoding)


def table_reader(format: str, path: Path, mapping: ColumnMapping | None) -> RecordReader:
    """Return a reader of the table of a dataset or system, whose records have Quorum's column names.

    Raises:
        ImportProblem: the format has fixed columns or no header, or the mapping names an unknown column.
    """
    if format not in TABLE_FORMATS:
        raise _fixed_columns_error(format, path)
    if mapping is None:
        return TABLE_FORMATS[format]
    if mapping.header_row and format not in HEADER_FORMATS:
        raise _no_header_error(format, path)
    mapping.check(path, (*DATASET_COLUMNS.required, *DATASET_COLUMNS.optional, *CANDIDATE_COLUMNS.optional))
    return mapped_reader(mapping, TABLE_FORMATS[format])


def _no_header_error(format: str, path: Path) -> ImportProblem:
    return ImportProblem(
        path, None, "--header-row", f"a file of {format}", f"one of {', '.join(HEADER_FORMATS)}"
    )


def _fixed_columns_error(format: str, path: Path) -> ImportProblem:
    actual = f"columns for {format}, whose columns are fixed"
    return ImportProblem(path, None, "--map", actual, "them for tables alone")


def open_judgments(
    format: str,
    path: Path | str,
    *,
    protocol: str | None = None,
    encoding: str | None = None,
    mapping: ColumnMapping | None = None,
    custom_kind: Kind | None = None,
    scale: str = "",
    worker_name: Callable[[str], str] = str,
) -> JudgmentSource:
    """Open judgments in one of JUDGMENT_FORMATS, of TABLE_FORMATS or of `read_layouts`, as `open_dataset` does.

    Args:
        protocol: for a published dataset, the protocol whose judgments are read; for a table, that of rows without one.
        mapping: maps columns to Quorum's; for a layout, only the columns that the layout does not map.
        custom_kind: the kind with its design, if the answers are from a page that a researcher has written.
        scale: the scale of a table's answers, LOW:HIGH[:STEP]. If it is empty, the rows state it or it is inferred.
        worker_name: returns the name to store for a worker's id in a table with a mapping.
    """
    path = checked_path(format, (*JUDGMENT_FORMATS, *TABLE_FORMATS, *read_layouts()), path)
    # other mappings only correct cells of a table that has Quorum's columns
    if format in read_layouts() or (mapping is not None and mapping.reads_rows and format in TABLE_FORMATS):
        whole_mapping, reader = fill_layout(format, path, mapping)
        return MappedJudgments(
            path,
            whole_mapping,
            reader,
            worker_name,
            protocol=protocol,
            encoding=encoding,
            custom_kind=custom_kind,
            scale=scale,
        )
    if format in TABLE_FORMATS:
        reader = TABLE_FORMATS[format] if mapping is None else mapped_reader(mapping, TABLE_FORMATS[format])
        return TableJudgments(
            path, reader, protocol=protocol, encoding=encoding, custom_kind=custom_kind, scale=scale
        )
    if scale:
        raise ImportProblem(path, None, "--scale", f"it for {format}", "it for tables alone")
    if mapping is not None:
        raise _fixed_columns_error(format, path)
    readers = JUDGMENT_FORMATS[format]
    protocol = protocol or next(iter(readers))
    if protocol not in readers:
        raise ImportProblem(path, None, None, f"no {protocol} judgments in {format}", " or ".join(readers))
    return readers[protocol](path, encoding)


def fill_layout(format: str, path: Path, mapping: ColumnMapping | None) -> tuple[ColumnMapping, RecordReader]:
    """Return the whole mapping of a file, and the reader of its records.

    The whole mapping is that of the layout ``format``, or an empty one for a table, with the columns of ``mapping``.
    """
    layout = read_layouts().get(format, ColumnMapping())
    layout = layout if mapping is None else layout.with_columns_of(mapping)
    if path.is_dir() and not layout.files:
        layout = layout.model_copy(update={"files": (f"**/*.{format}",)})
    if layout.header_row and format not in HEADER_FORMATS:
        raise _no_header_error(format, path)
    read_layout = read_potato if format == "potato" else read_table
    return layout, TABLE_FORMATS.get(format, read_layout)


def checked_path(format: str, formats: Collection[str], path: Path | str) -> Path:
    """Return the path as a ``Path``. Raise ImportProblem if nothing is there, or if the format is unknown."""
    if format not in formats:
        similar_name = nearest_name(format, formats)
        expected = f"{similar_name!r} perhaps" if similar_name else f"one of {', '.join(formats)}"
        raise ImportProblem(path, None, None, f"the unknown format {format!r}", expected)
    if not Path(path).exists():
        raise ImportProblem(path, None, None, "nothing there", "a file or a folder")
    return Path(path)
