"""Read files of captions, which are references or candidates of systems.

References are in one of these forms:

    {"annotations": [{"image_id": 1, "caption": "A dog runs."}, ...]}    COCO captions JSON
    {"1": ["A dog runs.", "A brown dog."], ...}                          JSON with lists of captions by image
    {"image": "1", "caption": "A dog runs."}                             JSON lines, one caption a line

Candidates are in one of these forms:

    [{"image_id": 1, "caption": "A dog runs."}, ...]                     COCO results JSON
    {"1": "A dog runs.", ...}                                            JSON with a caption by image
    {"image": "1", "caption": "A dog runs.", "system": "A"}              JSON lines; the system may be omitted

All files may be packed by gzip.
"""

import gzip
import json
import sys
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from quorum.metrics.inputs import InvalidFile

References = dict[str, list[str]]  # captions by image
Candidates = dict[str, dict[str, str]]  # caption by system and image
_JSON_BLANKS = " \t\r\n"  # removed from the end of rows, where an error would be reported for the next line
_DECODE_ROW = json.JSONDecoder().decode


class _CaptionRow(NamedTuple):
    """A caption of a file. `where` names its place in the file; error messages begin with it."""

    where: str
    image: str
    caption: str
    system: str | None = None


class _JsonObject(dict[str, Any]):
    """A JSON object. `repeated` is the first name that several of its members have, or None."""

    def __init__(self, members: list[tuple[str, Any]]) -> None:
        super().__init__(members)
        self.repeated: str | None = None
        if len(self) < len(members):
            names = Counter(name for name, _ in members)
            self.repeated = next(name for name, count in names.items() if count > 1)


# A function that yields the captions of a parsed JSON document of the file at the path.
DocumentReader = Callable[[Path, Any], Iterator[_CaptionRow]]
_DECODE_DOCUMENT = json.JSONDecoder(object_pairs_hook=_JsonObject).decode


def read_references(path: Path) -> References:
    """Return the captions by image. Raise InvalidFile if the file cannot be read as references."""
    references: References = {}
    for row in _caption_rows(path, _reference_rows):
        references.setdefault(row.image, []).append(row.caption)
    return references


def read_candidates(path: Path) -> Candidates:
    """Return the captions by system and image. Rows without a system belong to a system named after the file.

    Raise InvalidFile if the file cannot be read as candidates, or if a system has two captions for an image.
    """
    systems: Candidates = {}
    default_system = Path(path.name.removesuffix(".gz")).stem
    for row in _caption_rows(path, _candidate_rows):
        captions = systems.setdefault(row.system or default_system, {})
        if row.image in captions:
            raise InvalidFile(
                f"{row.where}: image {row.image!r} has a second caption of system "
                f"{row.system or default_system!r}, expected one"
            )
        captions[row.image] = row.caption
    return systems


def _reference_rows(path: Path, document: Any) -> Iterator[_CaptionRow]:
    if not isinstance(document, _JsonObject):
        _refuse(path, document, "COCO captions JSON or an object of lists of captions")
    annotations = document.get("annotations")
    if isinstance(annotations, list) and all(isinstance(row, dict) for row in annotations):
        yield from _coco_rows(path, annotations)
        return
    for image, captions in _check_distinct(path, document).items():
        where = f"{path}: image {image!r}"
        if not isinstance(captions, list) or not all(isinstance(caption, str) for caption in captions):
            raise InvalidFile(f"{where} has {_describe_value(captions)}, expected a list of captions")
        if not captions:
            raise InvalidFile(f"{where} has no captions, expected at least one")
        name = _compose_accents(image)
        for caption in captions:
            yield _CaptionRow(where, name, caption)


def _candidate_rows(path: Path, document: Any) -> Iterator[_CaptionRow]:
    if isinstance(document, list):
        yield from _coco_rows(path, document)
        return
    if not isinstance(document, _JsonObject):
        _refuse(path, document, "COCO results JSON or an object of captions")
    for image, caption in _check_distinct(path, document).items():
        if not isinstance(caption, str):
            raise InvalidFile(f"{path}: image {image!r} has {_describe_value(caption)}, expected a caption")
        yield _CaptionRow(str(path), _compose_accents(image), caption)


def _coco_rows(path: Path, rows: list[Any]) -> Iterator[_CaptionRow]:
    """Yield the captions of a list of objects with `image_id` and `caption`."""
    for number, value in enumerate(rows, start=1):
        where = f"{path}, row {number}"
        if not isinstance(value, dict):
            raise InvalidFile(
                f"{where}: found {_describe_value(value)}, expected an object with image_id and caption"
            )
        yield _CaptionRow(where, _read_image(value, "image_id", where), _read_caption(value, where))


def _check_distinct(path: Path, images: _JsonObject) -> _JsonObject:
    """Return the object. Raise InvalidFile if it has an image twice, of which Python would drop the first."""
    if images.repeated is not None:
        raise InvalidFile(f"{path}: image {images.repeated!r} occurs again, expected it once")
    return images


def _refuse(path: Path, document: Any, expected: str) -> NoReturn:
    raise InvalidFile(f"{path}: found {_describe_value(document)}, expected {expected}")


def _caption_rows(path: Path, read_document: DocumentReader) -> Iterator[_CaptionRow]:
    """Yield the captions of a file. Raise InvalidFile if there are none."""
    is_empty = True
    for row in _rows_of_any_format(path, read_document):
        is_empty = False
        yield row
    if is_empty:
        raise InvalidFile(f"{path}: found no captions, expected at least one")


def _rows_of_any_format(path: Path, read_document: DocumentReader) -> Iterator[_CaptionRow]:
    """Yield the captions of a file of JSON lines, or of one JSON document, which `read_document` reads."""
    try:
        with path.open("rb") as file:
            is_packed = file.read(2) == b"\x1f\x8b"
        with (gzip.open if is_packed else open)(path, "rt", encoding="utf-8-sig", newline="\n") as lines:
            numbered_lines = enumerate(lines, start=1)
            number, first_line = next(
                ((number, line) for number, line in numbered_lines if line.strip()), (0, "")
            )
            if _is_row(first_line):
                yield from _json_lines(path, chain([(number, first_line)], numbered_lines))
            elif first_line:
                yield from read_document(path, _parse_json(path, number, first_line + lines.read()))
    except UnicodeDecodeError as error:
        raise InvalidFile(f"{path}: byte {error.start} is not UTF-8, expected a UTF-8 file") from error
    except (EOFError, zlib.error) as error:
        raise InvalidFile(f"{path}: damaged or cut off, expected a complete gzip file") from error
    except OSError as error:
        raise InvalidFile(f"{path}: cannot be read, {(error.strerror or str(error)).lower()}") from error


def _is_row(line: str) -> bool:
    """Return whether a line is a row of JSON lines, as opposed to the beginning of a document."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):  # nested too deeply, or not JSON
        return False
    return isinstance(value, dict) and {"image", "caption"} <= value.keys()


def _json_lines(path: Path, lines: Iterable[tuple[int, str]]) -> Iterator[_CaptionRow]:
    line_prefix = f"{path}, line "  # made once, because there may be millions of lines
    for number, line in lines:
        if not line.strip():
            continue
        where = f"{line_prefix}{number}"
        value = _parse_json(path, number, line.rstrip(_JSON_BLANKS), _DECODE_ROW)
        if not isinstance(value, dict):
            raise InvalidFile(
                f"{where}: found {_describe_value(value)}, expected an object with image and caption"
            )
        system = value.get("system")
        if system is not None and (not isinstance(system, str) or not system):
            raise InvalidFile(f"{where}: system is {_describe_value(system)}, expected a name")
        yield _CaptionRow(where, _read_image(value, "image", where), _read_caption(value, where), system)


def _parse_json(
    path: Path, first_line: int, text: str, decode: Callable[[str], Any] = _DECODE_DOCUMENT
) -> Any:
    """Return the parsed text, which begins at the line `first_line`. Raise InvalidFile if it cannot be parsed."""
    try:
        return decode(text)
    except json.JSONDecodeError as error:
        line = first_line + error.lineno - 1
        fault = f"is not JSON ({error.msg.lower()}), expected JSON"
        raise InvalidFile(f"{path}, line {line}: {fault}") from error
    except ValueError as error:  # Python refuses to parse integers of thousands of digits
        fault = f"holds a number of more than {sys.get_int_max_str_digits():,} digits, expected captions"
        raise InvalidFile(f"{path}, line {first_line}: {fault}") from error
    except RecursionError as error:
        fault = "is nested too deeply, expected captions"
        raise InvalidFile(f"{path}, line {first_line}: {fault}") from error


def _read_image(value: dict[str, Any], key: str, where: str) -> str:
    image = value.get(key)
    # True is an int in Python, but not the name of an image.
    if isinstance(image, bool) or not isinstance(image, (str, int)):
        raise InvalidFile(f"{where}: {key} is {_describe_value(image)}, expected a name or a whole number")
    return _compose_accents(str(image))


def _read_caption(value: dict[str, Any], where: str) -> str:
    caption = value.get("caption")
    if not isinstance(caption, str):
        raise InvalidFile(f"{where}: caption is {_describe_value(caption)}, expected text")
    return caption


def _compose_accents(name: str) -> str:
    """Return a name with composed accents (NFC), as imports store it."""
    return unicodedata.normalize("NFC", name)


def _describe_value(value: object) -> str:
    if value is None:
        return "missing or null"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:37]}..."
