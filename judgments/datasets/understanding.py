"""Detect what the files of an upload are (captions by people, captions of systems, pictures), and what columns are."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from django.utils.translation import gettext, gettext_noop, ngettext

from common.amounts import thousands
from common.files import as_cell
from common.incoming import unpacked_name
from judgments.importers import (
    TABLE_FORMATS,
    WITH_HEADER,
    ColumnMapping,
    ImportProblem,
    read_layouts,
    reader_of,
)
from judgments.importers.mapping import LEFT_OUT as NOT_USED
from judgments.importers.mapping import first_rows, guessed
from judgments.importers.published_sets import TOKEN_FILE
from judgments.importers.records import Columns, Record, is_blank
from judgments.importers.tables import CANDIDATE_COLUMNS, DATASET_COLUMNS, Taken, first_lines, numbering_items
from judgments.importers.textio import ImportNotes, likely_encoding, read_head
from judgments.studies.generation import Progress, no_progress

MOST_COLUMNS = 60  # of a file that are shown

MOST_LINES = 10  # of which one is the header

LONGEST_SHOWN = 120  # characters of a cell

# What a page calls our columns; the others say it themselves.
COLUMN_WORDS = {
    "image": gettext_noop("item: the picture's file name, or an id"),
    "caption": gettext_noop("caption, or what a system wrote"),
    "text": gettext_noop("source text"),
    "system": gettext_noop("name of the system"),
    "caption_id": gettext_noop("the caption’s id"),
    "split": gettext_noop("split, such as test"),
    "url": gettext_noop("address of the picture"),
    "boxes": gettext_noop("boxes in the picture"),
    "image_width": gettext_noop("the picture’s width in pixels"),
    "image_height": gettext_noop("the picture’s height in pixels"),
    "document": gettext_noop("the document that the item is part of"),
    "text_title": gettext_noop("the source text’s title"),
    "rank": gettext_noop("place in the system’s list"),
    "score": gettext_noop("the system’s score"),
}


OF_A_SYSTEM = re.compile(r"first[ _-]?(system|model)|(system|model)[ _-]?a", re.I)


@dataclass(frozen=True)
class TableUse:
    """What an import reads of a table, and what the page of its columns asks besides.

    Attributes:
        required: our columns; a page asks for those that a table lacks.
        wanted: our columns that a page offers.
        instead: a required column -> those of which each does instead.
        words: what a page calls our columns; the others say it themselves.
        choices: what else a page offers for a column, with its words.
        template: of the page.
    """

    required: tuple[str, ...]
    wanted: tuple[str, ...]
    instead: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=lambda: COLUMN_WORDS)
    choices: Mapping[str, str] = field(default_factory=dict)
    template: str = "judgments/columns.html"

    def check_guesses(self, guesses: dict[str, str]) -> None:
        """Take away what cannot be meant of our column -> the file's."""
        if OF_A_SYSTEM.fullmatch(guesses.get("system", "")):
            del guesses["system"]  # what it wrote, not which it is

    def shown(self, args: Mapping[str, Any], table: Table) -> dict[str, Any]:
        """Return what its template shows besides, of an import with these arguments."""
        return {}

    def arguments(
        self, args: Mapping[str, Any], values: Mapping[str, str], files: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return arguments of the import that a page has sent besides the columns."""
        return {}


# By the kind of the job; "dataset" is an upload that is looked at first.
TABLE_USES = {
    "dataset": TableUse(
        required=("image", "caption"),
        wanted=(*DATASET_COLUMNS.required, *DATASET_COLUMNS.optional, "system"),
    ),
    "import_candidates": TableUse(
        required=("image", "caption"),
        wanted=CANDIDATE_COLUMNS.required + CANDIDATE_COLUMNS.optional,
        instead={"caption": CANDIDATE_COLUMNS.instead["caption"]},
    ),
}
WITHOUT_COLUMNS = TableUse((), ())


def add_table_use(kind: str, use: TableUse) -> None:
    """Add what the import of a kind of job reads of a table."""
    TABLE_USES[kind] = use


@dataclass(slots=True)
class Table:
    """A table's columns with their first cells, what they were taken for, and the problems of its rows.

    Attributes:
        chosen: our column -> the file's.
        problems: the sentence of each, with line, column and cell where a person can put it right.
        lines: the first lines of a table that may have a title above its header, each with its cells.
        header_row: the line of the header, 0 for the first.
        is_folder: whether several files were uploaded.
        where, missing: which rows are read, and words for an empty cell, as `ColumnMapping` has them.
    """

    names: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    chosen: dict[str, str] = field(default_factory=dict)
    problems: list[dict[str, str]] = field(default_factory=list)
    lines: list[tuple[int, list[str]]] = field(default_factory=list)
    header_row: int = 0
    is_folder: bool = False
    where: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    def fits(self, use: str) -> bool:
        """Return whether the columns have our names already."""
        names = {name.lower() for name in self.names}
        instead = TABLE_USES[use].instead
        return all(name in names or names & set(instead.get(name, ())) for name in TABLE_USES[use].required)

    def has_our_names(self) -> bool:
        """Return whether a dataset's table calls its images as we do; others of its columns may be captions."""
        return "image" in map(str.lower, self.names)

    def as_mapping(self) -> dict[str, Any]:
        """Return how the table is read, with all columns that are chosen."""
        return self.row_options() | {"columns": self.chosen}

    def foreign(self) -> dict[str, str]:
        """Return the chosen columns that a reader does not know by their names."""
        return {mine: source for mine, source in self.chosen.items() if mine != source.lower()}

    def row_options(self) -> dict[str, Any]:
        """Return where the header is, which rows are read and words for empty cells, as `ColumnMapping` has them."""
        values = {"header_row": self.header_row, "where": self.where, "missing": self.missing}
        return {name: value for name, value in values.items() if value}


def lines_of(path: Path, format: str, encoding: str = "") -> list[tuple[int, list[str]]]:
    """Return the first lines of a table, one of which is its header; none of a format that has no lines."""
    if format not in WITH_HEADER or path.is_dir():
        return []
    lines = first_lines(path, encoding or None, workbook=format == "xlsx", most=MOST_LINES)
    return [
        (number, [cell[:LONGEST_SHOWN] for cell in cells[:MOST_COLUMNS]])
        for number, cells in lines
        if any(cells)
    ]


def has_title(lines: Sequence[tuple[int, Sequence[str]]]) -> bool:
    """Return whether a later line looks like the header, as it has more cells than the first."""
    sizes = [sum(bool(cell.strip()) for cell in cells) for _, cells in lines]
    return len(sizes) > 1 and max(sizes[1:]) > sizes[0]


def table_of(
    path: Path,
    format: str,
    *,
    use: str,
    encoding: str = "",
    offered: Mapping[str, str] | None = None,
    header_row: int = 0,
) -> Table:
    """Look at the first rows of a table. Raise ImportProblem, or BeyondHead in a request.

    Args:
        offered: our column -> the file's, of the last mapping; it counts if the file has all of them.
    """
    how = read_layouts().get(format, ColumnMapping())
    how = how.model_copy(update={"header_row": header_row})
    if path.is_dir() and not how.files:
        how = how.model_copy(update={"files": (f"**/*.{format}",)})
    rows = first_rows(how, reader_of(format), path, encoding or None)
    names = list(dict.fromkeys(name for row in rows for name in row))[:MOST_COLUMNS]
    wanted = [name for name in TABLE_USES[use].wanted if name not in how.columns]
    used = {name: source for name, source in (offered or {}).items() if source != NOT_USED}
    known = used if used and set(used.values()) <= set(names) else guessed(names, wanted)
    TABLE_USES[use].check_guesses(known)
    cells = [[as_cell(row.get(name))[:LONGEST_SHOWN] for name in names] for row in rows]
    return Table(names, cells, known, header_row=header_row, is_folder=path.is_dir())


PEOPLE, SYSTEM, LEFT_OUT = "people", "system", "left-out"

IMAGES = "images"  # what a system says names the images of a dataset without captions by people

# encodings that a person may choose, with the words for them
ENCODINGS = {
    "utf-8": gettext_noop("UTF-8"),
    "windows-1252": gettext_noop("Windows-1252, Western Europe"),
    "windows-1250": gettext_noop("Windows-1250, Central Europe"),
    "windows-1251": gettext_noop("Windows-1251, Cyrillic"),
    "mac-roman": gettext_noop("Mac Roman"),
    "utf-16-le": gettext_noop("UTF-16"),
    "utf-16-be": gettext_noop("UTF-16, big-endian"),
    "gb18030": gettext_noop("GB 18030, simplified Chinese"),
    "big5": gettext_noop("Big5, traditional Chinese"),
    "shift-jis": gettext_noop("Shift JIS, Japanese"),
    "euc-kr": gettext_noop("EUC-KR, Korean"),
}

MOST_RECORDS = 50_000  # of a file that are looked at while somebody waits; the import reads all

ROWS_A_REPORT = 1_000

MOST_SYSTEMS = 50  # of one file

MOST_TABLES = 10  # with our names, whose columns are shown all the same

MOST_PARTS = 200

MOST_SOURCES = 2_000  # of which MOST_PARTS are offered

MOST_PROBLEMS = 20  # in full

SHOWN = 3  # first rows

MOST_NAMED = 5  # of the images without a picture

HEAD = 65_536  # bytes of a JSON document that tell what it is

PACKED = {".xlsx": "xlsx", ".parquet": "parquet"}

TABLES = {".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".json", *PACKED}

SPREADSHEETS = {".xls", ".xlsm", ".ods", ".numbers"}

ABOUT = {*DATASET_COLUMNS.optional, "image", "caption", "system", "rank", "score"}

OF_PEOPLE = re.compile(r"((ref|reference|caption|gold|human|people|description)s?[ _-]*)+\d*", re.I)

SAYS_PEOPLE = re.compile(r"ref|caption|gold|human|people|dataset|annotation", re.I)

SAYS_SYSTEM = re.compile(r"sys|candidate|output|result|pred|hyp|model", re.I)

FORMAT_WORDS = {
    "csv": "CSV",
    "jsonl": "JSON lines",
    "json": "JSON",
    "xlsx": "Excel",
    "parquet": "Parquet",
    "coco": "MS COCO",
    "flickr8k": "Flickr8k",
    "pascal-50s": "PASCAL-50S",
}

GENERAL_NAMES = {
    "captions",
    "references",
    "pictures",
    "images",
    "photos",
    "archive",
    "data",
    "dataset",
    "files",
}


@dataclass(frozen=True, slots=True)
class Part:
    """Captions of one source in an upload.

    Attributes:
        file: the file, or the folder of a published set, from the root of the upload.
        role: PEOPLE, SYSTEM or LEFT_OUT.
        system: its name, if a system wrote them.
        encoding: of the file, guessed or chosen.
        only, columns: as in ``Taken``.
        images, captions: counts, as far as the file was read.
        rows: the first ones, as image and caption.
        unused: columns of a table with a column caption that nothing reads.
        texts: whether its table has source texts; ``sources``: whether it is these that are shown.
        columns_named: our column -> the file's. fixes: line -> column of the file -> correction.
        row_options: the line of the header, which rows are read and words for empty cells, as in `ColumnMapping`.
        match_names: whether names of images may differ in case, blanks and ending.
    """

    file: str = ""
    role: str = PEOPLE
    format: str = ""
    system: str = ""
    encoding: str = "utf-8"
    only: str | None = None
    columns: tuple[str, ...] = ()
    images: int = 0
    captions: int = 0
    rows: tuple[tuple[str, str], ...] = ()
    unused: tuple[str, ...] = ()
    texts: bool = False
    sources: bool = False
    columns_named: Mapping[str, str] = field(default_factory=dict)
    row_options: Mapping[str, Any] = field(default_factory=dict)
    fixes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    match_names: bool = False

    @property
    def mapping(self) -> ColumnMapping | None:
        if not (self.columns_named or self.row_options or self.fixes or self.match_names):
            return None
        columns, fixes = self.columns_named, self.fixes
        return ColumnMapping(columns=columns, **self.row_options, fixes=fixes, match_names=self.match_names)

    @property
    def taken(self) -> Taken:
        return Taken(self.only, tuple(self.columns), self.role == IMAGES, self.role == SYSTEM)

    @property
    def nouns(self) -> tuple[str, str]:
        """Return what the items are called here, and what is said of them."""
        if self.sources:
            return gettext("Item"), gettext("Source text")
        return (gettext("Item"), gettext("Output")) if self.texts else (gettext("Image"), gettext("Caption"))

    @property
    def format_words(self) -> str:
        return FORMAT_WORDS.get(self.format, self.format)

    @property
    def encoding_words(self) -> str:
        title = ENCODINGS.get(self.encoding)
        return gettext(title) if title else self.encoding.upper()

    @property
    def where(self) -> str:
        if self.columns:
            names = {"file": self.file, "columns": ", ".join(self.columns)}
            return (
                ngettext("%(file)s, column %(columns)s", "%(file)s, columns %(columns)s", len(self.columns))
                % names
            )
        if self.only:
            return gettext("%(file)s, rows of %(system)s") % {"file": self.file, "system": self.only}
        return (
            gettext("%(file)s, rows without a system") % {"file": self.file} if self.only == "" else self.file
        )


@dataclass(slots=True)
class Understood:
    """An upload as it was understood.

    Attributes:
        pictures: their number; ``folder`` is theirs.
        found, lacking: numbers of images with and without a picture; ``missing`` names the first.
        problems: sentences about unreadable files.
        uploaded, encoding: as given to ``understand``.
        tables: file -> its columns with the first rows, and what they were taken for (`Table`).
    """

    name: str
    parts: list[Part]
    pictures: int = 0
    folder: str = ""
    found: int = 0
    lacking: int = 0
    missing: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    uploaded: list[str] = field(default_factory=list)
    encoding: str = ""
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def has_texts(self) -> bool:
        return any(part.texts for part in self.parts)


def as_understood(values: Mapping[str, Any]) -> Understood:
    """Return what ``dataclasses.asdict`` took apart."""
    return replace(Understood(**values), parts=[Part(**part) for part in values["parts"]])


def understand(
    root: Path,
    pictures: Sequence[str],
    *,
    uploaded: Sequence[str],
    encoding: str = "",
    maps: Mapping[str, Mapping[str, Any]],
    progress: Progress = no_progress,
) -> Understood:
    """Inspect the files below ``root`` without the database.

    Args:
        pictures: names of the pictures, from the root.
        uploaded: names of the files as uploaded, which may name the dataset.
        encoding: of files without a byte order mark; "" to guess it for each file.
        maps: file -> how its table is read, as `ColumnMapping` has it; "" -> the columns of the last import.
    """
    tables: dict[str, dict[str, Any]] = {}
    parts: list[Part] = []
    problems: list[str] = []
    files = sorted(path for path in root.rglob("*") if path.is_file())
    for number, file in enumerate(files):
        name = str(file.relative_to(root))
        progress(number / len(files), name)
        suffix = Path(unpacked_name(name)).suffix.lower()
        if suffix in SPREADSHEETS:
            problems.append(
                gettext("%(name)s is a spreadsheet; save it as CSV, in Excel as CSV UTF-8, and upload that.")
                % {"name": name}
            )
        if suffix not in TABLES or _is_of_a_set(file):
            continue
        if len(parts) > MOST_SOURCES:
            problems.insert(
                0,
                gettext("The upload has captions of more than %(n)s sources; the others were not read.")
                % {"n": thousands(MOST_SOURCES)},
            )
            break
        try:
            part = _whole(file, root, encoding or likely_encoding(file))
            if part.format not in TABLE_FORMATS:
                parts.append(part)
                continue
            table = _table_of(file, part, maps)
            if not table.has_our_names() or len(tables) < MOST_TABLES:
                tables[name] = asdict(table)
            part = replace(part, columns_named=table.foreign(), row_options=table.row_options())
            parts += _table_parts(file, part, partial(progress, number / len(files), name))[0]
        except ImportProblem as problem:
            problems.append(str(problem).replace(f"{root}/", ""))
    parts = _with_roles(parts)[:MOST_PARTS]
    if more := problems[MOST_PROBLEMS:]:
        problems[MOST_PROBLEMS:] = [gettext("So it is with %(n)s more files.") % {"n": thousands(len(more))}]
    if not parts and not problems:
        problems.append(
            gettext(
                "No table of captions was found; expected CSV or JSON lines with the columns image "
                "and caption, or image and a column for each caption."
            )
        )
    people = next((part for part in parts if part.role == PEOPLE), parts[0] if parts else None)
    names = [
        *(name for name in uploaded if name.lower().endswith(".zip")),
        *([people.file] if people else []),
    ]
    understood = Understood(
        _name_of(names),
        parts,
        pictures=len(pictures),
        problems=problems,
        uploaded=list(uploaded),
        encoding=encoding,
        tables=tables,
    )
    if pictures and people is not None:
        images: set[str] = set()
        if people.format in TABLE_FORMATS:  # again: all files' names would take a lot of memory
            _, images = _table_parts(root / people.file, people, partial(progress, 1.0, people.file))
        _match_pictures(understood, pictures, images)
    return understood


def _is_of_a_set(file: Path) -> bool:
    """Return whether another file stands for the published set."""
    if file.name == "pairs.jsonl":
        return (file.parent / "references.jsonl").exists()
    return (
        unpacked_name(file.name).endswith(".txt")
        and file.name != TOKEN_FILE
        and (file.parent / TOKEN_FILE).exists()
    )


def _whole(file: Path, root: Path, encoding: str) -> Part:
    """Return a file, or the published set that it stands for, as one part of the upload."""
    part = Part(file=str(file.relative_to(root)), encoding=encoding)
    folder = str(file.parent.relative_to(root))
    if file.name == TOKEN_FILE:
        return replace(part, file=folder, format="flickr8k")
    if file.name == "references.jsonl" and (file.parent / "pairs.jsonl").exists():
        return replace(part, file=folder, format="abstract-50s" if "abstract" in str(file) else "pascal-50s")
    suffix = Path(unpacked_name(file.name)).suffix.lower()
    if suffix in PACKED:
        return replace(part, format=PACKED[suffix])
    head = read_head(file, HEAD, encoding=encoding).lstrip()
    if head.startswith("["):
        if '"image_id"' in head:
            return replace(part, format="coco", role=SYSTEM, system=Path(unpacked_name(file.name)).stem)
        return replace(part, format="json")
    if not head.startswith("{"):
        return replace(part, format="csv")
    is_coco = suffix == ".json" and re.search(r'"(images|annotations)"\s*:', head)
    return replace(part, format="coco" if is_coco else "jsonl")


def _table_of(file: Path, part: Part, maps: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return what the columns of a table are taken for: as they were chosen, by our names, or by a guess."""
    how = maps.get(part.file, {})
    header_row, lines = how.get("header_row", 0), lines_of(file, part.format, part.encoding)
    offered = maps.get("", {}).get("columns")
    try:
        table = table_of(
            file, part.format, use="dataset", encoding=part.encoding, offered=offered, header_row=header_row
        )
    except ImportProblem:
        if not has_title(lines):
            raise
        table = Table(header_row=header_row)  # a title is read as the header: a person chooses another line
    table.lines, table.where, table.missing = lines, how.get("where", {}), how.get("missing", [])
    if (columns := how.get("columns")) is not None and set(columns.values()) <= set(table.names):
        table.chosen = dict(columns)
    elif table.has_our_names():
        table.chosen = {
            name.lower(): name for name in table.names if name.lower() in TABLE_USES["dataset"].wanted
        }
    elif (
        set(table.names) - set(table.chosen.values())
        and (name := table.chosen.get("caption", "")).lower() != "caption"
        and OF_PEOPLE.fullmatch(name)
    ):
        del table.chosen["caption"]  # the other columns are captions too
    return table


@dataclass(slots=True)
class _Tally:
    images: set[str] = field(default_factory=set)
    captions: int = 0
    empty: int = 0
    rows: list[tuple[str, str]] = field(default_factory=list)

    def add(self, image: str, caption: str) -> None:
        self.images.add(image)
        self.captions += 1
        self.empty += not caption.strip()
        if len(self.rows) < SHOWN:
            self.rows.append((image, caption[:300]))
        elif not caption.isascii() and self.rows[-1][1].isascii():  # shows whether the encoding is right
            self.rows[-1] = (image, caption[:300])

    def part(self, table: Part, **fields: Any) -> Part:
        """Return the part of a table that was counted."""
        return replace(
            table, images=len(self.images), captions=self.captions, rows=tuple(self.rows), **fields
        )


_Tallies = dict[tuple[str, str], _Tally]  # by system, and by column if columns hold captions


def _table_parts(file: Path, table: Part, go_on: Callable[[], None]) -> tuple[list[Part], set[str]]:
    """Return the sources of a table's captions, and the names of its images."""
    tallies, images, columns = _tallies(file, table, go_on)
    if not tallies:
        expected = "a column caption, or a column for each system" if columns else "at least one row"
        raise ImportProblem(file, None, None, "no captions", expected)
    table = replace(table, texts="text" in columns)
    if _is_wide(columns):
        return _parts_of_columns(table, columns, tallies), images
    systems = [system for system, _ in tallies]
    if len(systems) > MOST_SYSTEMS:
        raise ImportProblem(
            file, None, "system", f"{len(systems)} systems", f"at most {MOST_SYSTEMS} in a file"
        )
    return _parts_of_rows(table, columns, tallies), images


def _tallies(file: Path, table: Part, go_on: Callable[[], None]) -> tuple[_Tallies, set[str], list[str]]:
    """Return the captions of each system and column, the names of the images, and the columns."""
    records = TABLE_FORMATS[table.format]
    if table.mapping is not None:
        records = table.mapping.reader(records)
    records = numbering_items(records)
    tallies: _Tallies = defaultdict(_Tally)
    images: set[str] = set()
    columns: list[str] = []
    wanted = Columns(("image",), tuple(ABOUT - {"image"}), loose=True)
    for number, record in enumerate(records(file, wanted, ImportNotes(), table.encoding)):
        if number >= MOST_RECORDS:
            break
        if number % ROWS_A_REPORT == 0:
            go_on()
        columns = columns or list(record.values)
        images.add(str(record.get("image") or ""))
        _tally(record, columns, tallies)
    # a column of empty cells alone is nobody's
    filled = {key: tally for key, tally in tallies.items() if key[0] or tally.empty < tally.captions}
    return filled, images, columns


def _parts_of_columns(table: Part, columns: Sequence[str], tallies: _Tallies) -> list[Part]:
    wide = [column for _, column in tallies if column]
    people = [column for column in wide if OF_PEOPLE.fullmatch(column)]
    parts = [
        tallies["", column].part(table, role=SYSTEM, system=column, columns=(column,))
        for column in wide
        if column not in people
    ]
    if people:
        whole = _joined([tallies["", column] for column in people])
        parts.insert(0, whole.part(table, columns=tuple(people)))
    elif "text" in columns:
        parts.insert(0, tallies["", ""].part(table, sources=True))
    return parts


def _parts_of_rows(table: Part, columns: Sequence[str], tallies: _Tallies) -> list[Part]:
    unused = tuple(column for column in columns if column not in ABOUT)[:MOST_SYSTEMS]
    if list(tallies) == [("", "")]:
        return [tallies["", ""].part(table, role="", unused=unused)]
    return [
        tally.part(
            table,
            role=SYSTEM if system else PEOPLE,
            system=system,
            only=system,
            unused=() if number else unused,  # said once for a file
        )
        for number, ((system, _), tally) in enumerate(tallies.items())
    ]


def _is_wide(columns: Sequence[str]) -> bool:
    """Return whether columns, not rows, hold the captions of an image."""
    return "caption" not in columns and bool(set(columns) - ABOUT)


def _tally(record: Record, columns: Sequence[str], tallies: _Tallies) -> None:
    image, text = str(record.get("image") or ""), record.get("text")
    if not _is_wide(columns):
        caption, system = record.get("caption") or text, str(record.get("system") or "").strip()
        if system and "caption" in columns and is_blank(record.get("caption")):
            caption = ""
        if caption is not None:
            tallies[system, ""].add(image, str(caption))
        return
    if text is not None:
        tallies["", ""].add(image, str(text))
    for column in columns:
        cell = record.values.get(column)
        if (
            column not in ABOUT
            and isinstance(cell, str)
            and (cell.strip() or not OF_PEOPLE.fullmatch(column))
        ):
            tallies["", column].add(image, cell)


def _joined(tallies: Sequence[_Tally]) -> _Tally:
    whole = _Tally()
    for tally in tallies:
        whole.images |= tally.images
        whole.captions += tally.captions
        whole.rows = (whole.rows + tally.rows)[:SHOWN]
    return whole


def _with_roles(parts: list[Part]) -> list[Part]:
    """Return people's captions first: by file name, else by captions per image."""
    people = [part for part in parts if part.role == PEOPLE]
    open_ones = [part for part in parts if not part.role]
    if not people and open_ones:
        best = max(open_ones, key=lambda part: (_says_people(part), part.captions / max(1, part.images)))
        people = [_as(best, PEOPLE)]
        open_ones.remove(best)
    systems = [part for part in parts if part.role == SYSTEM]
    systems += [_as(part, SYSTEM) for part in open_ones]
    return [*people[:1], *systems, *(_as(part, LEFT_OUT) for part in people[1:])]


def _says_people(part: Part) -> int:
    stem = PurePosixPath(unpacked_name(part.file)).stem
    return bool(SAYS_PEOPLE.search(stem)) - bool(SAYS_SYSTEM.search(stem))


def _as(part: Part, role: str) -> Part:
    return replace(
        part,
        role=role,
        system=part.system or (PurePosixPath(unpacked_name(part.file)).stem if role == SYSTEM else ""),
    )


def _name_of(files: Iterable[str]) -> str:
    """Return the first specific file name."""
    stems = [
        re.sub(r"[^A-Za-z0-9]+", "-", PurePosixPath(unpacked_name(file)).stem).strip("-").lower()
        for file in files
    ]
    return next((stem[:80] for stem in stems if stem and stem not in GENERAL_NAMES), "my-data")


def _match_pictures(understood: Understood, pictures: Sequence[str], images: set[str]) -> None:
    there = set(pictures)
    folders = Counter(str(folder) for picture in pictures for folder in PurePosixPath(picture).parents)
    named = {image for image in images if image}

    def found_in(folder: str) -> set[str]:
        return {image for image in named if str(PurePosixPath(folder) / image) in there}

    understood.folder = max(folders, key=lambda folder: (len(found_in(folder)), folders[folder]))
    matched = found_in(understood.folder)
    understood.found = len(matched)
    understood.lacking = len(named - matched)
    understood.missing = sorted(named - matched)[:MOST_NAMED]
