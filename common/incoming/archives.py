"""Unpack zip archives from outside, and read Excel workbooks (.xlsx), which are such archives, as a stream.

No entry may leave its folder, be a link, need a password, or grow without bound. Declared sizes are checked first, but
real ones are counted while unpacking.
"""

from __future__ import annotations

import re
import stat
import time
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path, PurePosixPath
from sys import getsizeof
from typing import IO
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext

from common.amounts import thousands
from common.errors import QuorumError
from common.incoming import HEAD, READ_AT_ONCE, SMALL_ENOUGH, Excess, check_head, limits, spend
from common.incoming.excel_dates import BUILT_IN, is_date_format, shown_date

SMALL_ARCHIVE = 100 * SMALL_ENOUGH  # bytes of all files below which growth is of no account

LISTED_BYTES = 330  # of a file in the table of contents, which is read whole

END_RECORD = 22  # bytes of the end of an archive without a comment

LONGEST_END = 2**16 + 200  # bytes of the end of an archive: its records, and a comment

CHUNK = 2**20

LONGEST_NAME = 255  # bytes of a path component that common file systems accept

# What zipfile raises for bytes that only resemble an archive.
DAMAGE = (zipfile.BadZipFile, EOFError, NotImplementedError, ValueError, zlib.error)


class UploadRefused(QuorumError):
    title = "The upload cannot be used"


def is_archive(name: str) -> bool:
    return name.lower().endswith(".zip")


def check_archive(packed: IO[bytes] | UploadedFile, *, name: str, suffixes: set[str] | None = None) -> None:
    """Raise UploadRefused with the first problem of an archive's table of contents.

    In a request, a long table is left to the job that unpacks the archive.
    """
    if _listing_size(packed, name) <= HEAD:
        _wanted_members(_archive(packed, name), name, suffixes, _size(packed))
    packed.seek(0)


def unpack(
    packed: IO[bytes],
    target: Path,
    *,
    name: str,
    suffixes: set[str] | None = None,
    passed_over: Collection[str] = (),
    progress: Callable[[float, str], None] = lambda share, values: None,
) -> list[str]:
    """Unpack below ``target``; return the names of files skipped for a suffix in ``passed_over``.

    Raise UploadRefused if the archive is unsafe, damaged, or larger than declared.
    """
    archive = _archive(packed, name)
    until = time.monotonic() + limits().seconds
    left_out = []
    for member in _wanted_members(archive, name, suffixes, _size(packed)):
        inner = PurePosixPath(member.filename)
        progress(0.0, inner.name)
        if inner.suffix.lower() in passed_over:
            left_out.append(str(inner))
            continue
        values = {"name": name, "filename": member.filename}
        file = target.joinpath(*inner.parts)
        left = member.file_size
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, file.open("xb") as out:
                while chunk := source.read(CHUNK):
                    progress(0.0, inner.name)
                    spend(len(chunk))
                    left -= len(chunk)
                    if left < 0:
                        problem = gettext("%(name)s: %(filename)r is larger than the archive says.")
                        raise UploadRefused(problem % values)
                    if time.monotonic() > until:
                        raise UploadRefused(gettext("%(name)s takes too long to unpack.") % values)
                    out.write(chunk)
        except DAMAGE as error:
            problem = gettext("%(name)s: %(filename)r is damaged (%(error)s).") % (values | {"error": error})
            raise UploadRefused(problem) from error
        except (FileExistsError, IsADirectoryError, NotADirectoryError):
            raise UploadRefused(gettext("%(name)s holds two things named %(filename)r.") % values) from None
    return left_out


def _size(packed: IO[bytes] | UploadedFile) -> int:
    packed.seek(0, 2)
    return packed.tell()


def _too_many_files(name: str) -> UploadRefused:
    return UploadRefused(
        gettext("%(name)s lists too many files; at most %(most_files)s are read.")
        % {"name": name, "most_files": thousands(limits().files)}
    )


def _listing_size(packed: IO[bytes] | UploadedFile, name: str) -> int:
    """Return the bytes of the table of contents, unless they are too many to be read."""
    size = _stated_size(packed)
    if size > LISTED_BYTES * limits().files:
        raise _too_many_files(name)
    return size


def _stated_size(packed: IO[bytes] | UploadedFile) -> int:
    """Return the bytes of the table of contents, as the archive's end states them; 0 without an end."""
    size = _size(packed)
    packed.seek(max(0, size - LONGEST_END))
    tail = packed.read(LONGEST_END)
    # As zipfile: without a comment first, as the record may hold the mark itself.
    end = len(tail) - END_RECORD
    if not (tail[end : end + 4] == b"PK\x05\x06" and tail.endswith(b"\x00\x00")):
        end = tail.rfind(b"PK\x05\x06")
    if end < 0 or end + 16 > len(tail):
        return 0
    if tail[end - 20 : end - 16] == b"PK\x06\x07":  # of an archive above 4 GB
        return int.from_bytes(tail[end - 36 : end - 28], "little")
    return int.from_bytes(tail[end + 12 : end + 16], "little")


def _archive(packed: IO[bytes] | UploadedFile, name: str) -> zipfile.ZipFile:
    size = _listing_size(packed, name)
    check_head(size)
    packed.seek(max(0, _size(packed) - LONGEST_END - size))
    if (
        packed.read(size + LONGEST_END).count(b"PK\x01\x02") > limits().files
    ):  # each of which becomes an object
        raise _too_many_files(name)
    try:
        return zipfile.ZipFile(packed)
    except (*DAMAGE, OSError):  # the latter of a place before the file's beginning
        raise UploadRefused(
            gettext("%(name)s is not a zip archive, or a damaged one.") % {"name": name}
        ) from None


def _wanted_members(
    archive: zipfile.ZipFile, name: str, suffixes: set[str] | None, size: int
) -> list[zipfile.ZipInfo]:
    """Return the files, if all may be unpacked."""
    members, most = archive.infolist(), limits()
    total = sum(member.file_size for member in members)
    if total > most.bytes:
        raise UploadRefused(
            gettext("%(name)s would unpack to %(total)s bytes; at most %(most_bytes)s are read.")
            % {"name": name, "total": thousands(total), "most_bytes": thousands(most.bytes)}
        )
    if total > max(SMALL_ARCHIVE, most.growth * size):  # many small bombs, or members that share their bytes
        raise UploadRefused(
            gettext("%(name)s would grow more than %(most_growth)s times; nothing was read.")
            % {"name": name, "most_growth": most.growth}
        )
    wanted = []
    for member in members:
        inner = PurePosixPath(member.filename)
        if member.is_dir() or not inner.parts or _is_litter(inner):
            continue
        if problem := _problem_of(member, inner, suffixes):
            values = {"name": name, "file": repr(member.filename[:60]), "problem": problem}
            raise UploadRefused(gettext("%(name)s holds %(file)s, which %(problem)s.") % values)
        wanted.append(member)
    if not wanted:
        raise UploadRefused(gettext("%(name)s is empty.") % {"name": name})
    return wanted


def _is_litter(inner: PurePosixPath) -> bool:
    return inner.parts[0] == "__MACOSX" or inner.name in (".DS_Store", "Thumbs.db", "desktop.ini")


def _problem_of(member: zipfile.ZipInfo, inner: PurePosixPath, suffixes: set[str] | None) -> str:
    """Say why a file may not be unpacked; "" if it may."""
    if any(len(part.encode("utf-8", "surrogateescape")) > LONGEST_NAME for part in inner.parts):
        return gettext("has a name too long to be kept; please rename it")
    leads_out = inner.is_absolute() or ".." in inner.parts or "\\" in member.filename or ":" in inner.parts[0]
    if leads_out or re.search(r"[\x00-\x1f]", member.filename):
        return gettext("leads out of the archive's folder; nothing was read")
    if stat.S_IFMT(member.external_attr >> 16) not in (0, stat.S_IFREG):
        return gettext("is a link or a device; expected files alone")
    if member.flag_bits & 0x1:
        return gettext("needs a password; expected an archive without one")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others unpack without bound
        return gettext("is packed in an unusual way; expected an ordinary zip archive")
    if member.file_size > max(SMALL_ENOUGH, limits().growth * member.compress_size):
        return gettext("would grow more than %(n)s times; nothing was read") % {"n": limits().growth}
    if suffixes is not None and inner.suffix.lower() not in suffixes:
        return gettext("is no picture (%(listed)s); nothing was read") % {
            "listed": ", ".join(sorted(suffixes))
        }
    return ""


MOST_COLUMNS = 16_384

MOST_CELL = 131_072  # characters, as in CSV

MOST_SHARED = 2**27  # bytes of texts that cells share

LONGEST_MARK = 2**20  # bytes of XML in which nothing ends, such as an attribute; expat keeps and rereads them

MOST_NAMES = 10_000  # of elements, attributes, prefixes and namespaces, which expat keeps

MOST_OF_NAMES = 2**20  # characters of all of them

MOST_LISTING = 2**21  # bytes of a workbook's table of contents, of which ten times as many are kept

MOST_STYLES = 65_536  # as Excel has

MOST_OF_FORMAT = 255  # characters, as Excel has

FIRST_SHEET = "xl/worksheets/sheet1.xml"

DAMAGE_OF_WORKBOOKS = (UploadRefused, ParseError, DefusedXmlException, LookupError, *DAMAGE)


def workbook_rows(path: Path) -> Iterator[tuple[int, dict[int, str]]]:
    """Yield (row number, column from 0 -> text) of the first sheet.

    Raises:
        BeyondHead: in a request. Excess: something beyond a limit. DAMAGE_OF_WORKBOOKS: it is no workbook.
    """
    check_head(HEAD + 1)
    with path.open("rb") as packed:
        check_archive(packed, name=path.name)
        if _listing_size(packed, path.name) > MOST_LISTING:
            raise Excess("an archive that lists very many files", "an Excel workbook (.xlsx)")
        packed.seek(0)
        archive = zipfile.ZipFile(packed)
        members = archive.namelist()
        sheets = sorted(
            (name for name in members if re.fullmatch(r"xl/worksheets/[^/]+\.xml", name)), key=len
        )
        strings = _Cells([])
        if "xl/sharedStrings.xml" in members:
            for _ in strings.parsed(archive, "xl/sharedStrings.xml"):
                pass
        formats = _Formats()
        for name in {"xl/styles.xml", "xl/workbook.xml"}.intersection(members):
            for _ in formats.parsed(archive, name):
                pass
        cells = _Cells(strings.texts, formats.dates, since_1904=formats.since_1904)
        yield from cells.parsed(archive, min(sheets, default=FIRST_SHEET))


class _Cells:
    """Take rows from a sheet's XML, or texts from that of the shared strings.

    Args:
        dates: style of a cell -> the format of its date or time.
    """

    def __init__(
        self, strings: list[str], dates: Mapping[int, str] | None = None, *, since_1904: bool = False
    ) -> None:
        self.strings = strings
        self._dates, self.since_1904 = dates or {}, since_1904
        self._style = 0
        self.texts: list[str] = []
        self.rows: list[tuple[int, dict[int, str]]] = []
        self._cells: dict[int, str] = {}
        self._number = self._at = 0
        # characters of the cell and the row, bytes of texts, rows, elements around, and bytes since something ended
        self._cell = self._row = self._size = self._count = self._depth = self._silent = 0
        self._names: set[str] = set()
        self._named = 0  # characters of the names
        self._most = limits()
        self._kind, self._parts, self._taken = "", [""], False

    def parsed(self, archive: zipfile.ZipFile, name: str) -> Iterator[tuple[int, dict[int, str]]]:
        parser, seconds = DefusedXMLParser(target=self, forbid_dtd=True), self._most.seconds
        until = time.monotonic() + seconds
        with archive.open(name) as member:
            while chunk := member.read(READ_AT_ONCE):
                spend(len(chunk))
                self._silent += len(chunk)
                parser.feed(chunk)
                if self._silent > LONGEST_MARK:
                    raise Excess(f"XML with a mark of more than {LONGEST_MARK:,} bytes", "shorter ones")
                if time.monotonic() > until:
                    raise Excess(f"more than is read in {seconds:,} s", "less (the setting INCOMING_SECONDS)")
                yield from self.rows
                self.rows.clear()
        parser.close()
        yield from self.rows

    def start_ns(self, prefix: str | None, address: str) -> None:
        self._keep(prefix or "", address)

    def _keep(self, *names: str) -> None:
        for name in names:
            if name not in self._names:
                self._names.add(name)
                self._named += len(name)
        if len(self._names) > MOST_NAMES or self._named > MOST_OF_NAMES:
            raise Excess("XML with too many names, or too long ones", "the sheet of a workbook")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._keep(tag, *attributes)
        if self._depth > self._most.depth:
            raise Excess("XML nested too deeply", "the sheet of a workbook")
        tag, self._silent = tag.rpartition("}")[2], 0
        if tag == "row":
            self._number = int(attributes.get("r", self._number + 1))
            self._cells, self._at, self._row = {}, -1, 0
        elif tag in ("c", "si"):
            self._kind, self._parts, self._cell = attributes.get("t", ""), [], 0
            self._style = _number(attributes, "s")
            letters = re.match(r"[A-Z]{1,3}", attributes.get("r", ""))
            self._at = _column(letters.group()) if letters else self._at + (tag == "c")
            if self._at >= MOST_COLUMNS:
                raise Excess(f"column {self._at + 1:,}", f"at most {MOST_COLUMNS:,}")
        self._taken = tag in ("v", "t")

    def data(self, text: str) -> None:
        self._silent = 0
        if self._taken:
            self._parts.append(text)
            self._cell += len(text)
            if self._cell > MOST_CELL:
                raise Excess(f"a cell of more than {MOST_CELL:,} characters", f"at most {MOST_CELL:,}")

    def end(self, tag: str) -> None:
        tag = tag.rpartition("}")[2]
        self._taken, self._silent, self._depth = False, 0, self._depth - 1
        if tag == "si":
            self.texts.append("".join(self._parts))
            self._size += getsizeof(self.texts[-1]) + 8
            if self._size > MOST_SHARED:
                raise Excess(f"shared texts of more than {MOST_SHARED:,} bytes", "fewer")
        elif tag == "c":
            text = self._text("".join(self._parts))
            self._cells[self._at] = text
            self._row += len(text)
            if self._row > self._most.line:
                raise Excess(f"a record of more than {self._most.line:,} characters", "shorter ones")
        elif tag == "row":
            self.rows.append((self._number, self._cells))
            self._parts = []
            self._count += 1
            if self._count > self._most.lines:
                raise Excess(f"more than {self._most.lines:,} rows", "fewer (the setting INCOMING_LINES)")

    def close(self) -> None:
        """End the parser's target."""

    def _text(self, text: str) -> str:
        if self._kind == "s":
            at = int(text or 0)
            if not 0 <= at < len(self.strings):
                raise Excess(f"the shared text {at}", f"one of {len(self.strings):,}")
            return self.strings[at]
        if self._kind in ("", "n") and self._style in self._dates:
            return shown_date(text, self._dates[self._style], since_1904=self.since_1904)
        return {"1": "true", "0": "false"}.get(text, text) if self._kind == "b" else text


class _Formats(_Cells):
    """Take from the XML of styles which cells are dates, and from that of the workbook since when they count."""

    def __init__(self) -> None:
        super().__init__([])
        self.dates: dict[int, str] = {}
        self._codes: dict[int, str] = {}
        self._count_of_styles = 0
        self._of_cells = False

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        super().start(tag, attributes)
        tag = tag.rpartition("}")[2]
        if tag == "workbookPr":
            self.since_1904 = attributes.get("date1904", "") in ("1", "true")
        elif tag == "numFmt":
            self._codes[_number(attributes, "numFmtId")] = attributes.get("formatCode", "")[:MOST_OF_FORMAT]
        elif tag in ("cellXfs", "cellStyleXfs"):
            self._of_cells = tag == "cellXfs"
        elif tag == "xf" and self._of_cells:
            number = _number(attributes, "numFmtId")
            code = self._codes.get(number) or BUILT_IN.get(number, "")
            if is_date_format(code):
                self.dates[self._count_of_styles] = code
            self._count_of_styles += 1
            if self._count_of_styles > MOST_STYLES:
                raise Excess(f"more than {MOST_STYLES:,} styles of cells", "fewer")


def _number(attributes: Mapping[str, str], name: str) -> int:
    text = attributes.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number - 1
