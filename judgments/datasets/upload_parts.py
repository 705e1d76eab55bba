"""The detected contents of an upload. Each of its parts has the captions of one origin: of people or of a system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.translation import gettext, gettext_noop, ngettext

from judgments.importers import IMPORT_FORMATS, ColumnMapping
from judgments.importers.tables.parts import TablePart

# The roles of parts. If a dataset has no captions by people, its images are read from a part with the role IMAGES, a
# copy of a system's part.
PEOPLE, SYSTEM, LEFT_OUT, IMAGES = "people", "system", "left-out", "images"

# the encodings that a person may choose, with their labels
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

FORMAT_LABELS = {
    "csv": "CSV",
    "jsonl": "JSON lines",
    "json": "JSON",
    "xlsx": "Excel",
    "parquet": "Parquet",
    **{import_format.name: import_format.words for import_format in IMPORT_FORMATS if import_format.words},
}


@dataclass(frozen=True, slots=True)
class UploadPart:
    """The captions of one origin in an upload.

    Attributes:
        file: path of the file, or of a published set's folder, relative to the root of the upload.
        role: PEOPLE, SYSTEM or LEFT_OUT; IMAGES in the arguments of an import.
        system: name of the system that wrote the captions, if one did.
        only: the system whose rows are read; "" for the rows without a system, None for all rows.
        columns: the columns of the captions, if the table has such columns instead of a column "caption".
        images, captions: the numbers of images and captions in the rows that were read.
        rows: the first pairs of image and caption.
        unused: the columns that the import ignores, in a table with a column "caption".
        texts: whether the table has source texts.
        sources: whether ``rows`` show source texts instead of captions.
        columns_named: the file's column, by Quorum's column, for columns with another name than Quorum's.
        fixes: the corrections of cells, by line and by the file's column, such as ``{"7": {"caption": "A dog"}}``.
        row_options: the options ``header_row``, ``where`` and ``missing``, as in `ColumnMapping`.
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

    @property
    def mapping(self) -> ColumnMapping | None:
        if not (self.columns_named or self.row_options or self.fixes):
            return None
        return ColumnMapping(columns=self.columns_named, **self.row_options, fixes=self.fixes)

    @property
    def import_arguments(self) -> dict[str, Any]:
        """The arguments by which an import reads the part from its file."""
        part = TablePart(
            self.only, tuple(self.columns), images_alone=self.role == IMAGES, of_system=self.role == SYSTEM
        )
        return {"format": self.format, "encoding": self.encoding, "table_part": part, "mapping": self.mapping}

    @property
    def nouns(self) -> tuple[str, str]:
        """The words for an item and for a text about it."""
        if self.sources:
            return gettext("Item"), gettext("Source text")
        return (gettext("Item"), gettext("Output")) if self.texts else (gettext("Image"), gettext("Caption"))

    @property
    def format_label(self) -> str:
        return FORMAT_LABELS.get(self.format, self.format)

    @property
    def encoding_label(self) -> str:
        if self.format in ("xlsx", "parquet"):  # which have no encoding to choose
            return ""
        title = ENCODINGS.get(self.encoding)
        return gettext(title) if title else self.encoding.upper()

    @property
    def file_label(self) -> str:
        if self.columns:
            names = {"file": self.file, "columns": ", ".join(self.columns)}
            count = len(self.columns)
            return ngettext("%(file)s, column %(columns)s", "%(file)s, columns %(columns)s", count) % names
        if self.only:
            return gettext("%(file)s, rows of %(system)s") % {"file": self.file, "system": self.only}
        if self.only == "":
            return gettext("%(file)s, rows without a system") % {"file": self.file}
        return self.file


@dataclass(slots=True)
class InspectedUpload:
    """The detected contents of an upload.

    Attributes:
        folder: the folder of the pictures.
        found, lacking: the numbers of images with and without a picture.
        missing: the first images without a picture.
        respelled: number of images whose picture has a differently spelled name.
        spellings: the first of these images, each with the name of its picture.
        unclear: sentences about image names that match several pictures.
        problems: sentences about unreadable files.
        uploaded, encoding: names of the uploaded files, and the encoding that a person chose; "" if it was guessed.
        tables: the `UploadTable` of each file as a dict, by file.
    """

    name: str
    parts: list[UploadPart]
    pictures: int = 0
    folder: str = ""
    found: int = 0
    lacking: int = 0
    missing: list[str] = field(default_factory=list)
    respelled: int = 0
    spellings: list[str] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    uploaded: list[str] = field(default_factory=list)
    encoding: str = ""
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def has_texts(self) -> bool:
        return any(part.texts for part in self.parts)


def load_inspected_upload(values: Mapping[str, Any]) -> InspectedUpload:
    """Build an ``InspectedUpload`` from its dict, as ``dataclasses.asdict`` returns it."""
    return replace(InspectedUpload(**values), parts=[UploadPart(**part) for part in values["parts"]])
