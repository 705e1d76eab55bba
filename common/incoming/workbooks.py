"""Read Excel workbooks (.xlsx, zip archives of XML) as streams of rows.

Three XML files of the archive matter: the sheet; the shared strings, to which cells refer by index, since texts can
recur; and the styles, which say which cells are dates.
"""

from __future__ import annotations

import re
import time
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from sys import getsizeof
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from common.incoming import READ_SIZE, LimitExceeded, count_bytes, limits, refuse_in_request
from common.incoming.archives import ARCHIVE_ERRORS, UploadRefused, check_archive, listing_size
from common.incoming.excel_dates import BUILT_IN_FORMATS, is_date_format, shown_date

MAX_COLUMNS = 16_384
MAX_CELL_LENGTH = 131_072  # characters of a cell, as in CSV
MAX_SHARED_BYTES = 2**27  # bytes of shared strings
MAX_TOKEN_BYTES = 2**20  # bytes of one token of XML, which expat buffers and scans again
MAX_NAMES = 10_000  # names of elements, attributes, prefixes and namespaces, which expat keeps
MAX_NAMES_LENGTH = 2**20  # characters of all these names
MAX_LISTING_BYTES = 2**21  # bytes of the archive's table of contents, which takes ten times the memory
MAX_STYLES = 65_536  # cell styles, as in Excel
MAX_FORMAT_LENGTH = 255  # characters of a number format, as in Excel
FIRST_SHEET = "xl/worksheets/sheet1.xml"
WORKBOOK_ERRORS = (UploadRefused, ParseError, DefusedXmlException, LookupError, *ARCHIVE_ERRORS)


def workbook_rows(path: Path) -> Iterator[tuple[int, dict[int, str]]]:
    """Yield the rows of the first sheet: the number of the row, and its texts by column number, from 0.

    For example, a row 2 with "a" in column A and 5 in column C is ``(2, {0: "a", 2: "5"})``.

    Raises:
        RequestBytesExceeded: the function is called in a request.
        LimitExceeded: a limit is exceeded.
        WORKBOOK_ERRORS: the file is not a workbook.
    """
    refuse_in_request()
    with path.open("rb") as file:
        check_archive(file, name=path.name)
        if listing_size(file, path.name) > MAX_LISTING_BYTES:
            raise LimitExceeded("an archive that lists very many files", "an Excel workbook (.xlsx)")
        file.seek(0)
        archive = zipfile.ZipFile(file)
        members = archive.namelist()
        sheets = [name for name in members if re.fullmatch(r"xl/worksheets/[^/]+\.xml", name)]
        strings = _SheetParser([])
        if "xl/sharedStrings.xml" in members:
            strings.parse(archive, "xl/sharedStrings.xml")
        formats = _FormatParser()
        for name in {"xl/styles.xml", "xl/workbook.xml"}.intersection(members):
            formats.parse(archive, name)
        cell_parser = _SheetParser(strings.texts, formats.date_formats, since_1904=formats.since_1904)
        # sheet1.xml is the first name; without a sheet, opening it raises KeyError, one of WORKBOOK_ERRORS
        yield from cell_parser.parse_rows(archive, min(sheets, default=FIRST_SHEET))


class _SheetParser:
    """Reads rows from the XML of a sheet, or texts from the XML of the shared strings (ECMA-376 part 1, 18.3 and 18.4).

    The XML parser calls ``start_ns``, ``start``, ``data``, ``end`` and ``close`` for the tags and texts that it reads.
    It reads a chunk of the file at a time, so that large sheets do not fill the memory.

    Args:
        strings: the shared strings.
        date_formats: date or time formats by cell style.
        since_1904: whether dates count from 1904.

    Attributes:
        texts: the texts that were read from the XML of the shared strings.
        rows: the rows of a sheet that were read since ``parse_rows`` last yielded.
    """

    def __init__(
        self, strings: list[str], date_formats: Mapping[int, str] | None = None, *, since_1904: bool = False
    ) -> None:
        self.strings = strings
        self._date_formats = date_formats or {}
        self.since_1904 = since_1904
        self.texts: list[str] = []
        self.rows: list[tuple[int, dict[int, str]]] = []
        # the current row and cell; a text may come in several pieces
        self._cells: dict[int, str] = {}
        self._row_number = self._column = self._style = 0
        self._cell_type = ""
        self._text_pieces = [""]
        self._is_text = False  # whether the tag that was read last contains text
        # numbers that are limited
        self._cell_length = self._row_length = 0  # characters
        self._text_bytes = self._row_count = self._depth = 0
        self._unreported_bytes = 0  # bytes since the parser last reported a tag or a text
        self._names: set[str] = set()
        self._names_length = 0
        self._limits = limits()

    def parse(self, archive: zipfile.ZipFile, name: str) -> None:
        """Read an XML file of the workbook that has no rows, to fill the parser's attributes."""
        for _ in self.parse_rows(archive, name):
            pass

    def parse_rows(self, archive: zipfile.ZipFile, name: str) -> Iterator[tuple[int, dict[int, str]]]:
        """Yield the rows of an XML file of the workbook."""
        parser = DefusedXMLParser(target=self, forbid_dtd=True)
        seconds = self._limits.seconds
        deadline = time.monotonic() + seconds
        with archive.open(name) as member:
            while chunk := member.read(READ_SIZE):
                count_bytes(len(chunk))
                self._unreported_bytes += len(chunk)
                parser.feed(chunk)
                if self._unreported_bytes > MAX_TOKEN_BYTES:
                    raise LimitExceeded(
                        f"XML with a mark of more than {MAX_TOKEN_BYTES:,} bytes", "shorter ones"
                    )
                if time.monotonic() > deadline:
                    raise LimitExceeded(
                        f"more than is read in {seconds:,} s", "less (the setting INCOMING_SECONDS)"
                    )
                yield from self.rows
                self.rows.clear()
        parser.close()
        yield from self.rows

    def start_ns(self, prefix: str | None, address: str) -> None:
        self._count_names(prefix or "", address)

    def _count_names(self, *names: str) -> None:
        """Raise LimitExceeded if the XML has more names than the parser may keep."""
        for name in names:
            if name not in self._names:
                self._names.add(name)
                self._names_length += len(name)
        if len(self._names) > MAX_NAMES or self._names_length > MAX_NAMES_LENGTH:
            raise LimitExceeded("XML with too many names, or too long ones", "the sheet of a workbook")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._count_names(tag, *attributes)
        if self._depth > self._limits.depth:
            raise LimitExceeded("XML nested too deeply", "the sheet of a workbook")
        self._unreported_bytes = 0
        tag = tag.rpartition("}")[2]  # without its namespace
        if tag == "row":
            self._row_number = int(attributes.get("r", self._row_number + 1))
            self._cells = {}
            self._column = -1
            self._row_length = 0
        elif tag in ("c", "si"):  # a cell, or a shared string
            self._text_pieces = []
            self._cell_length = 0
            self._cell_type = attributes.get("t", "")
            self._style = _read_number(attributes, "s")
            letters = re.match(r"[A-Z]{1,3}", attributes.get("r", ""))  # "r" is the address, such as B7
            if letters:
                self._column = _column_number(letters.group())
            elif tag == "c":  # without an address, a cell follows the previous one
                self._column += 1
            if self._column >= MAX_COLUMNS:
                raise LimitExceeded(f"column {self._column + 1:,}", f"at most {MAX_COLUMNS:,}")
        self._is_text = tag in ("v", "t")  # a value, or a text

    def data(self, text: str) -> None:
        self._unreported_bytes = 0
        if self._is_text:
            self._text_pieces.append(text)
            self._cell_length += len(text)
            if self._cell_length > MAX_CELL_LENGTH:
                raise LimitExceeded(
                    f"a cell of more than {MAX_CELL_LENGTH:,} characters", f"at most {MAX_CELL_LENGTH:,}"
                )

    def end(self, tag: str) -> None:
        tag = tag.rpartition("}")[2]
        self._is_text = False
        self._unreported_bytes = 0
        self._depth -= 1
        if tag == "si":
            self.texts.append("".join(self._text_pieces))
            self._text_bytes += getsizeof(self.texts[-1]) + 8  # and the list's pointer to it
            if self._text_bytes > MAX_SHARED_BYTES:
                raise LimitExceeded(f"shared texts of more than {MAX_SHARED_BYTES:,} bytes", "fewer")
        elif tag == "c":
            text = self._cell_text("".join(self._text_pieces))
            self._cells[self._column] = text
            self._row_length += len(text)
            if self._row_length > self._limits.line:
                raise LimitExceeded(f"a record of more than {self._limits.line:,} characters", "shorter ones")
        elif tag == "row":
            self.rows.append((self._row_number, self._cells))
            self._text_pieces = []
            self._row_count += 1
            if self._row_count > self._limits.lines:
                raise LimitExceeded(
                    f"more than {self._limits.lines:,} rows", "fewer (the setting INCOMING_LINES)"
                )

    def close(self) -> None:
        """Do nothing. The parser calls this at the end."""

    def _cell_text(self, text: str) -> str:
        if self._cell_type == "s":  # the cell has the index of a shared string
            index = int(text or 0)
            if not 0 <= index < len(self.strings):
                raise LimitExceeded(f"the shared text {index}", f"one of {len(self.strings):,}")
            return self.strings[index]
        if self._cell_type in ("", "n") and self._style in self._date_formats:
            return shown_date(text, self._date_formats[self._style], since_1904=self.since_1904)
        if self._cell_type == "b":
            return {"1": "true", "0": "false"}.get(text, text)
        return text


class _FormatParser(_SheetParser):
    """Reads date formats from the XML of styles, and the first day of dates from the XML of the workbook.

    A cell has the number of a style; a style, the number of a format; a format, its code, such as "d/m/yyyy". The
    attribute ``date_formats`` has the codes by style, for formats of dates.
    """

    def __init__(self) -> None:
        super().__init__([])
        self.date_formats: dict[int, str] = {}
        self._codes: dict[int, str] = {}  # by the number of the format
        self._style_count = 0
        self._is_in_cell_styles = False

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        super().start(tag, attributes)
        tag = tag.rpartition("}")[2]
        if tag == "workbookPr":
            self.since_1904 = attributes.get("date1904", "") in ("1", "true")
        elif tag == "numFmt":
            number = _read_number(attributes, "numFmtId")
            self._codes[number] = attributes.get("formatCode", "")[:MAX_FORMAT_LENGTH]
        elif tag in ("cellXfs", "cellStyleXfs"):
            self._is_in_cell_styles = tag == "cellXfs"  # cells do not refer to those of cellStyleXfs
        elif tag == "xf" and self._is_in_cell_styles:
            number = _read_number(attributes, "numFmtId")
            code = self._codes.get(number) or BUILT_IN_FORMATS.get(number, "")
            if is_date_format(code):
                self.date_formats[self._style_count] = code
            self._style_count += 1
            if self._style_count > MAX_STYLES:
                raise LimitExceeded(f"more than {MAX_STYLES:,} styles of cells", "fewer")


def _read_number(attributes: Mapping[str, str], name: str) -> int:
    """Return an attribute as a number; 0 if it is missing, or no number of at most nine digits."""
    text = attributes.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def _column_number(letters: str) -> int:
    """Return the number, from 0, of a column such as "A" or "BC"."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1
