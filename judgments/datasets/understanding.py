"""Detect the contents of an upload: pictures, and parts, each of which has the captions of people or of one system."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from django.utils.translation import gettext

from common.amounts import thousands
from common.features import of_features
from common.incoming import unpacked_name
from judgments.datasets.caption_sources import PEOPLE_COLUMN, parts_of_table
from judgments.datasets.pictures import describe_unclear_name
from judgments.datasets.table_columns import TABLE_USES, UploadTable, has_title, read_upload_table
from judgments.datasets.upload_parts import LEFT_OUT, PEOPLE, SYSTEM, InspectedUpload, UploadPart
from judgments.importers import TABLE_FORMATS, ImportProblem
from judgments.importers.names import PictureMatches, find_pictures
from judgments.importers.textio import likely_encoding, read_head
from judgments.studies.generation.progress import Progress, no_progress

# The page shows the columns of tables, so that they can be mapped. It also shows those of some tables that need no
# mapping, since they have Quorum's names.
MAX_RECOGNISED_TABLES = 10
MAX_PARTS = 200  # parts that the page shows
MAX_SOURCES = 2_000  # parts after which no more files are read
MAX_PROBLEMS = 20  # problems that are listed
MAX_FOLDERS = 20  # folders with the most pictures that are searched for the images' names
MAX_NAMED_IMAGES = 5  # images without a picture that are listed
HEAD_BYTES = 65_536  # first bytes of a JSON document, by which its format is detected
BINARY_FORMATS = {".xlsx": "xlsx", ".parquet": "parquet"}  # by suffix
TEXT_FORMATS = {"[": "json", "{": "jsonl"}  # by first character; other texts are CSV
TABLE_SUFFIXES = {".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".json", *BINARY_FORMATS}
UNREADABLE_SPREADSHEETS = {".xls", ".xlsm", ".ods", ".numbers"}  # suffixes
PEOPLE_NAME = re.compile(r"ref|caption|gold|human|people|dataset|annotation", re.I)
SYSTEM_NAME = re.compile(r"sys|candidate|output|result|pred|hyp|model", re.I)

# A function of a feature that recognises a file of a published set. Its arguments are a part for the file, the file's
# path, and a function that returns the beginning of its text. It returns the part with a format, or None if it does not
# know the file. If another file of the set has the part, it returns a part without a format.
Recogniser = Callable[[UploadPart, Path, Callable[[], str]], UploadPart | None]

GENERAL_NAMES = {  # names of files that say nothing about a dataset
    *("captions", "references", "pictures", "images", "photos"),
    *("archive", "data", "dataset", "files"),
}


def inspect_upload(
    root: Path,
    pictures: Sequence[str],
    *,
    uploaded: Sequence[str],
    encoding: str = "",
    maps: Mapping[str, Mapping[str, Any]],
    progress: Progress = no_progress,
) -> InspectedUpload:
    """Detect the contents of the files below ``root``, without using the database.

    Args:
        pictures: paths of the pictures, relative to ``root``.
        uploaded: names of the uploaded files, from which the dataset may get its name.
        encoding: the encoding of files without a byte order mark; "" to guess it for each file.
        maps: for each file, the fields of the `ColumnMapping` by which its table is read; for the key "", those of the
            mapping of the last import.
    """
    parts, tables, problems = _inspect_files(root, encoding, maps, progress)
    parts = _assign_roles(parts)[:MAX_PARTS]
    if not parts and not problems:
        problems.append(
            gettext(
                "No table of captions was found; expected CSV or JSON lines with the columns image "
                "and caption, or image and a column for each caption."
            )
        )
    main_part = next((part for part in parts if part.role == PEOPLE), parts[0] if parts else None)
    # The dataset gets its name from the first of these files.
    naming_files = [name for name in uploaded if name.lower().endswith(".zip")]
    naming_files += [main_part.file] if main_part else []
    inspection = InspectedUpload(
        _dataset_name(naming_files),
        parts,
        pictures=len(pictures),
        problems=problems,
        uploaded=list(uploaded),
        encoding=encoding,
        tables=tables,
    )
    if pictures and main_part is not None:
        images: set[str] = set()  # stays empty for a published set: take the folder with most pictures
        # read the names again, since those of all files would have needed much memory
        if main_part.format in TABLE_FORMATS:
            report_progress = partial(progress, 1.0, main_part.file)
            _, images = parts_of_table(root / main_part.file, main_part, report_progress)
        _match_pictures(inspection, pictures, images)
    return inspection


def _inspect_files(
    root: Path, encoding: str, maps: Mapping[str, Mapping[str, Any]], progress: Progress
) -> tuple[list[UploadPart], dict[str, dict[str, Any]], list[str]]:
    """Return the parts of all files below ``root``, the tables with columns to map, and sentences about problems.

    The tables are those of ``InspectedUpload.tables``.
    """
    parts: list[UploadPart] = []
    tables: dict[str, dict[str, Any]] = {}
    problems: list[str] = []
    files = sorted(path for path in root.rglob("*") if path.is_file())
    for file_index, file in enumerate(files):
        name = str(file.relative_to(root))
        report_progress = partial(progress, file_index / len(files), name)
        report_progress()
        suffix = _suffix(file)
        if suffix in UNREADABLE_SPREADSHEETS:
            problems.append(
                gettext(
                    "%(name)s is a spreadsheet. Save it as CSV (in Excel: CSV UTF-8), and upload the "
                    "CSV file."
                )
                % {"name": name}
            )
        if suffix not in TABLE_SUFFIXES:
            continue
        if len(parts) > MAX_SOURCES:
            problems.insert(
                0,  # first, since only MAX_PROBLEMS are listed
                gettext(
                    "The upload has captions from too many sources (more than %(n)s). Captions from further sources "
                    "were not read."
                )
                % {"n": thousands(MAX_SOURCES)},
            )
            break
        try:
            part = _part_of_file(file, root, encoding)
            if part.format in TABLE_FORMATS:
                table = _table_of(file, part, maps)
                if not table.has_our_names() or len(tables) < MAX_RECOGNISED_TABLES:
                    tables[name] = asdict(table)
                part = replace(part, columns_named=table.renamed_columns(), row_options=table.row_options())
                parts_of_sources, _ = parts_of_table(file, part, report_progress)
                parts += parts_of_sources
            elif part.format:  # of a published set
                parts.append(part)
        except ImportProblem as problem:
            problems.append(str(problem).replace(f"{root}/", ""))
    if unlisted_problems := problems[MAX_PROBLEMS:]:
        problems[MAX_PROBLEMS:] = [
            gettext("Further files to which this applies: %(n)s.") % {"n": thousands(len(unlisted_problems))}
        ]
    return parts, tables, problems


def _part_of_file(file: Path, root: Path, encoding: str) -> UploadPart:
    """Return a part for a file, or for the published set that it belongs to.

    The part has no format if another file of the set has the part; see `Recogniser`.
    """
    plain_part = UploadPart(file=str(file.relative_to(root)))
    read_beginning = partial(_read_beginning, file, encoding)
    recognisers: list[Recogniser] = of_features("upload_recognisers")
    for recognise in recognisers:
        part = recognise(plain_part, file, read_beginning)
        if part is not None:
            break
    else:
        format = BINARY_FORMATS.get(_suffix(file)) or TEXT_FORMATS.get(read_beginning()[:1], "csv")
        part = replace(plain_part, format=format)
    return replace(part, encoding=encoding or likely_encoding(file)) if part.format else part


def _read_beginning(file: Path, encoding: str) -> str:
    return read_head(file, HEAD_BYTES, encoding=encoding or likely_encoding(file)).lstrip()


def _suffix(file: Path) -> str:
    return Path(unpacked_name(file.name)).suffix.lower()


def _table_of(file: Path, part: UploadPart, maps: Mapping[str, Mapping[str, Any]]) -> UploadTable:
    """Return a table with the meaning of its columns.

    The meaning is what a person has chosen in ``maps``, or what the columns' names say, or else a guess.
    """
    mapping = maps.get(part.file, {})
    table, problem = read_upload_table(
        file,
        part.format,
        use="dataset",
        encoding=part.encoding,
        last_columns=maps.get("", {}).get("columns"),
        header_row=mapping.get("header_row", 0),
    )
    if problem is not None and not has_title(table.lines):  # with a title, a person can choose another header
        raise problem
    table.where, table.missing = mapping.get("where", {}), mapping.get("missing", [])
    if (columns := mapping.get("columns")) is not None and set(columns.values()) <= set(table.names):
        table.chosen = dict(columns)
    elif table.has_our_names():
        table.chosen = {
            name.lower(): name for name in table.names if name.lower() in TABLE_USES["dataset"].optional
        }
    else:
        caption_column = table.chosen.get("caption", "")
        other_columns = set(table.names) - set(table.chosen.values())
        is_of_people = caption_column.lower() != "caption" and PEOPLE_COLUMN.fullmatch(caption_column)
        # the other columns are then captions of systems, so no single column is that of the captions
        if other_columns and is_of_people:
            del table.chosen["caption"]
    return table


def _assign_roles(parts: list[UploadPart]) -> list[UploadPart]:
    """Return the parts with a role each, the part with people's captions first.

    If no part is known to be of people, choose the part with the likeliest file name. Of several such parts, choose the
    one with the most captions per image.
    """
    people_parts = [part for part in parts if part.role == PEOPLE]
    undecided_parts = [part for part in parts if not part.role]  # of tables that name no system
    if not people_parts and undecided_parts:
        likeliest_part = max(
            undecided_parts, key=lambda part: (_people_score(part), part.captions / max(1, part.images))
        )
        people_parts = [_with_role(likeliest_part, PEOPLE)]
        undecided_parts.remove(likeliest_part)
    system_parts = [part for part in parts if part.role == SYSTEM]
    system_parts += [_with_role(part, SYSTEM) for part in undecided_parts]
    unused_parts = [_with_role(part, LEFT_OUT) for part in people_parts[1:]]
    return [*people_parts[:1], *system_parts, *unused_parts]


def _people_score(part: UploadPart) -> int:
    """Return 1 if the file's name suggests captions by people, -1 if it suggests a system, and 0 otherwise."""
    stem = PurePosixPath(unpacked_name(part.file)).stem
    return bool(PEOPLE_NAME.search(stem)) - bool(SYSTEM_NAME.search(stem))


def _with_role(part: UploadPart, role: str) -> UploadPart:
    """Return the part with a role. A system without a name is named after the file."""
    system = PurePosixPath(unpacked_name(part.file)).stem if role == SYSTEM else ""
    return replace(part, role=role, system=part.system or system)


def _dataset_name(files: Iterable[str]) -> str:
    """Return a name for the dataset, from the first file whose name is not a general one such as "data"."""
    stems = [
        re.sub(r"[^A-Za-z0-9]+", "-", PurePosixPath(unpacked_name(file)).stem).strip("-").lower()
        for file in files
    ]
    return next((stem[:80] for stem in stems if stem and stem not in GENERAL_NAMES), "my-data")


def _match_pictures(inspection: InspectedUpload, pictures: Sequence[str], images: set[str]) -> None:
    """Match the images' names with the pictures of one folder, and store the result in ``inspection``.

    Take the folder in which most images have a picture and, of several, the one with the fewest respelled names.
    """
    paths = [PurePosixPath(picture) for picture in pictures]
    folders: Counter[str] = Counter()  # the numbers of pictures, also in subfolders
    for path in paths:
        folders.update(map(str, path.parents))
    image_names = sorted(image for image in images if image)

    def match_in(folder: str) -> PictureMatches:
        files = [str(path.relative_to(folder)) for path in paths if path.is_relative_to(folder)]
        return find_pictures(image_names, files)

    matches = {folder: match_in(folder) for folder, _ in folders.most_common(MAX_FOLDERS)}
    inspection.folder = max(
        matches, key=lambda folder: (len(matches[folder].files), -len(matches[folder].respelled_names))
    )
    match = matches[inspection.folder]
    missing_images = [image for image in image_names if image not in match.files]
    inspection.found, inspection.lacking = len(match.files), len(missing_images)
    inspection.missing = missing_images[:MAX_NAMED_IMAGES]
    inspection.respelled = len(match.respelled_names)
    listed_names = match.respelled_names[:MAX_NAMED_IMAGES]
    inspection.spellings = [f"{name} → {match.files[name]}" for name in listed_names]
    inspection.unclear = [
        describe_unclear_name(name, similar_names)
        for name, similar_names in list(match.unclear_names.items())[:MAX_NAMED_IMAGES]
    ]
