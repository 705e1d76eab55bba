"""Read Excel workbooks (.xlsx) as a stream, without a tree, within the limits of archives."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from common.incoming import HEAD, READ_AT_ONCE, Excess, check_head, spend
from common.incoming.archives import DAMAGE, UploadRefused, check_archive

MOST_COLUMNS = 16_384
MOST_CELL = 131_072  # characters, as in CSV
MOST_SHARED = 20_000_000  # characters of texts that cells share
FIRST_SHEET = "xl/worksheets/sheet1.xml"
DAMAGE_OF_WORKBOOKS = (UploadRefused, ParseError, DefusedXmlException, KeyError, *DAMAGE)


def workbook_rows(path: Path) -> Iterator[tuple[int, dict[int, str]]]:
    """Yield (row number, column from 0 -> text) of the first sheet.

    Raises:
        BeyondHead: in a request. Excess: something beyond a limit. DAMAGE_OF_WORKBOOKS: it is no workbook.
    """
    check_head(HEAD + 1)
    with path.open("rb") as packed:
        check_archive(packed, name=path.name)
        archive = zipfile.ZipFile(packed)
        members = archive.namelist()
        sheets = sorted(
            (name for name in members if re.fullmatch(r"xl/worksheets/[^/]+\.xml", name)), key=len
        )
        strings = _Cells([])
        if "xl/sharedStrings.xml" in members:
            for _ in strings.parsed(archive, "xl/sharedStrings.xml"):
                pass
        yield from _Cells(strings.texts).parsed(archive, min(sheets, default=FIRST_SHEET))


class _Cells:
    """Take rows from a sheet's XML, or texts from that of the shared strings."""

    def __init__(self, strings: list[str]) -> None:
        self.strings = strings
        self.texts: list[str] = []
        self.rows: list[tuple[int, dict[int, str]]] = []
        self._cells: dict[int, str] = {}
        self._number = self._at = self._size = 0
        self._kind, self._parts, self._taken = "", [""], False

    def parsed(self, archive: zipfile.ZipFile, name: str) -> Iterator[tuple[int, dict[int, str]]]:
        parser = DefusedXMLParser(target=self, forbid_dtd=True)
        with archive.open(name) as member:
            while chunk := member.read(READ_AT_ONCE):
                spend(len(chunk))
                parser.feed(chunk)
                yield from self.rows
                self.rows.clear()
        parser.close()
        yield from self.rows

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition("}")[2]
        if tag == "row":
            self._number = int(attributes.get("r", self._number + 1))
            self._cells, self._at = {}, -1
        elif tag in ("c", "si"):
            self._kind, self._parts = attributes.get("t", ""), []
            letters = re.match(r"[A-Z]{1,3}", attributes.get("r", ""))
            self._at = _column(letters.group()) if letters else self._at + 1
            if self._at >= MOST_COLUMNS:
                raise Excess(f"column {self._at + 1:,}", f"at most {MOST_COLUMNS:,}")
        self._taken = tag in ("v", "t")

    def data(self, text: str) -> None:
        if self._taken:
            self._parts.append(text)
            self._size += len(text)

    def end(self, tag: str) -> None:
        tag = tag.rpartition("}")[2]
        self._taken = False
        if tag not in ("c", "si", "row"):
            return
        text = "".join(self._parts)
        if len(text) > MOST_CELL:
            raise Excess(f"a cell of {len(text):,} characters", f"at most {MOST_CELL:,}")
        if tag == "si":
            self.texts.append(text)
            if self._size > MOST_SHARED:
                raise Excess(f"more than {MOST_SHARED:,} characters", "fewer")
        elif tag == "c":
            self._cells[self._at] = self._text(text)
        else:
            self.rows.append((self._number, self._cells))
            self._parts = []

    def close(self) -> None:
        """End the parser's target."""

    def _text(self, text: str) -> str:
        if self._kind == "s":
            at = int(text or 0)
            if not 0 <= at < len(self.strings):
                raise Excess(f"the shared text {at}", f"one of {len(self.strings):,}")
            return self.strings[at]
        return {"1": "true", "0": "false"}.get(text, text) if self._kind == "b" else text


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number - 1
