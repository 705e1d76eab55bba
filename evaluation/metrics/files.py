"""Score files of candidates and references, as JSON-ready data. No database, no Django.

References: COCO captions JSON, `{"<image>": ["caption", ...]}`, or JSON lines `{"image", "caption"}`.
Candidates: COCO results JSON, `{"<image>": "caption"}`, or JSON lines `{"image", "caption", "system"}`.
JSON lines are streamed; other files are read whole. UTF-8; a byte order mark is accepted. Errors name
file, line, what was found and what was expected.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

from evaluation.metrics.errors import InvalidFile
from evaluation.metrics.registry import VERSION
from evaluation.metrics.scoring import Scores, score

DEFAULT_METRICS = ("bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l", "cider", "cider-d")

References = dict[str, list[str]]
Candidates = dict[str, dict[str, str]]


def read_references(path: Path) -> References:
    """Return image -> captions in file order. Raise InvalidFile for unknown formats."""
    references: References = {}
    for row in _caption_rows(path, _reference_document):
        references.setdefault(row.image, []).append(row.caption)
    return references


def read_candidates(path: Path) -> Candidates:
    """Return system -> image -> caption; rows without a system belong to one named after the file."""
    systems: Candidates = {}
    for row in _caption_rows(path, _candidate_document):
        captions = systems.setdefault(row.system or path.stem, {})
        if row.image in captions:
            raise InvalidFile(
                f"{path}, line {row.line}: image {row.image!r} has a second caption of system "
                f"{row.system or path.stem!r}, expected one"
            )
        captions[row.image] = row.caption
    return systems


def score_files(
    candidates: Path,
    references: Path,
    metrics: Sequence[str] = DEFAULT_METRICS,
    tokenizer: str = "ptb",
    *,
    progress: Callable[[str], None] = lambda system: None,
) -> dict[str, Any]:
    """Score every system of a candidates file.

    Returns `{"systems": {system: {metric: {"corpus", "images": {image: score}}}}, "tokenizer", "version",
    "signatures": {system: {metric: signature}}, "warnings": [...]}`. Document frequencies cover all
    images of the references file; a system without some images is scored on its own, with a warning.
    `progress` is called with each system's name before it is scored.
    """
    known = read_references(references)
    figures: dict[str, Any] = {"systems": {}, "tokenizer": tokenizer, "version": VERSION}
    signatures: dict[str, dict[str, str]] = {}
    warnings: list[str] = []
    for system, captions in read_candidates(candidates).items():
        progress(system)
        for image in captions:
            if image not in known:
                raise InvalidFile(
                    f"{candidates}: system {system!r} has a caption for image {image!r}, "
                    f"expected images that {references} has references for"
                )
        missing = len(known) - len(captions)
        if missing:
            warnings.append(f"system {system!r} has no caption for {missing} of {len(known)} images")
        result = score(
            list(captions.values()),
            [known[image] for image in captions],
            metrics,
            tokenizer,
            document_corpus=list(known.values()) if missing else None,
        )
        warnings.extend(f"system {system!r}: {warning}" for warning in result.warnings)
        figures["systems"][system] = _figures(result, captions)
        signatures[system] = {name: one.signature for name, one in result.scores.items()}
    return figures | {"signatures": signatures, "warnings": warnings}


def _figures(result: Scores, images: Iterable[str]) -> dict[str, Any]:
    return {
        name: {"corpus": one.corpus, "images": dict(zip(images, one.images.tolist(), strict=True))}
        for name, one in result.scores.items()
    }


@dataclass(frozen=True)
class Row:
    """A caption of a file and its place."""

    line: int
    image: str
    caption: str
    system: str | None = None


@dataclass(frozen=True)
class Text:
    """A JSON document: path, text, and first line."""

    path: Path
    text: str
    first_line: int

    def line(self, at: int) -> int:
        """Return the line of an offset."""
        return self.first_line + self.text.count("\n", 0, at)

    def place(self, at: int) -> str:
        """Return file and line, to begin a message."""
        return f"{self.path}, line {self.line(at)}"

    def value(self, at: int) -> tuple[Any, int]:
        """Return the JSON value at an offset, and its end."""
        try:
            return _DECODER.raw_decode(self.text, at)
        except json.JSONDecodeError as error:
            raise InvalidFile(f"{self.place(error.pos)}: {_json_fault(error)}") from error
        except ValueError as error:  # Python refuses to parse integers of thousands of digits
            raise InvalidFile(f"{self.place(at)}: {_json_fault(error)}") from error
        except RecursionError as error:
            raise InvalidFile(f"{self.place(at)}: is nested too deeply, expected captions") from error

    def after_blanks(self, at: int) -> int:
        while at < len(self.text) and self.text[at] in _BLANKS:
            at += 1
        return at

    def behind_mark(self, at: int) -> int:
        """Return the offset behind the next punctuation mark, which JSON's grammar determines."""
        return self.after_blanks(at) + 1

    def end(self, at: int) -> None:
        """Raise unless only blanks follow."""
        at = self.after_blanks(at)
        if at < len(self.text):
            raise InvalidFile(f"{self.place(at)}: found {self.text[at]!r}, expected the end of the file")

    def elements(self, at: int) -> Iterator[tuple[int, Any]]:
        """Yield the offset and value of each element of the array."""
        at = self.after_blanks(self.behind_mark(at))
        while not self.text.startswith("]", at):
            value, end = self.value(at)
            yield at, value
            at = self.behind_mark(end)
            if self.text[at - 1] == "]":
                return
            at = self.after_blanks(at)

    def members(self, at: int) -> Iterator[tuple[int, str, int, Any]]:
        """Yield each member of the object: offset of the key, key, offset of the value, value."""
        at = self.after_blanks(self.behind_mark(at))
        while not self.text.startswith("}", at):
            key, end = self.value(at)
            start = self.after_blanks(self.behind_mark(end))
            value, end = self.value(start)
            yield at, key, start, value
            at = self.behind_mark(end)
            if self.text[at - 1] == "}":
                return
            at = self.after_blanks(at)


Document = Callable[[Text], Iterator[Row]]
_DECODER = json.JSONDecoder()
_BLANKS = " \t\r\n"


def _reference_document(text: Text) -> Iterator[Row]:
    """Yield the rows of COCO captions JSON or of a mapping from images to lists of captions."""
    at = text.after_blanks(0)
    _whole(text)
    if not text.text.startswith("{", at):
        _refuse(text, at, "COCO captions JSON or an object of lists of captions")
    members = list(text.members(at))
    annotations = [
        start for _, key, start, value in members if key == "annotations" and _holds_objects(value)
    ]
    if annotations:
        yield from _coco_rows(text, annotations[0])
        return
    for at, image, _, captions in _distinct(text, members):
        if not isinstance(captions, list) or not all(isinstance(caption, str) for caption in captions):
            raise InvalidFile(
                f"{text.place(at)}: image {image!r} has {_shown(captions)}, expected a list of captions"
            )
        if not captions:
            raise InvalidFile(f"{text.place(at)}: image {image!r} has no captions, expected at least one")
        for caption in captions:
            yield Row(text.line(at), image, caption)


def _candidate_document(text: Text) -> Iterator[Row]:
    """Yield the rows of COCO results JSON or of a mapping from images to captions."""
    at = text.after_blanks(0)
    _whole(text)
    if text.text.startswith("[", at):
        yield from _coco_rows(text, at)
        return
    if not text.text.startswith("{", at):
        _refuse(text, at, "COCO results JSON or an object of captions")
    for key_at, image, _, caption in _distinct(text, text.members(at)):
        if not isinstance(caption, str):
            raise InvalidFile(
                f"{text.place(key_at)}: image {image!r} has {_shown(caption)}, expected a caption"
            )
        yield Row(text.line(key_at), image, caption)


def _whole(text: Text) -> None:
    """Raise unless the document is one JSON value, before any row is used."""
    text.end(text.value(text.after_blanks(0))[1])


def _refuse(text: Text, at: int, expected: str) -> NoReturn:
    raise InvalidFile(f"{text.place(at)}: found {_shown(text.value(at)[0])}, expected {expected}")


def _holds_objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _coco_rows(text: Text, at: int) -> Iterator[Row]:
    line, counted = text.line(at), at
    for place, value in text.elements(at):
        line, counted = line + text.text.count("\n", counted, place), place
        where = f"{text.path}, line {line}"
        if not isinstance(value, dict):
            raise InvalidFile(f"{where}: found {_shown(value)}, expected an object with image_id and caption")
        yield Row(line, _image(value, "image_id", where), _caption(value, where))


def _distinct(
    text: Text, members: Iterable[tuple[int, str, int, Any]]
) -> Iterator[tuple[int, str, int, Any]]:
    """Yield the members; raise for a repeated image."""
    seen: set[str] = set()
    for member in members:
        if member[1] in seen:
            raise InvalidFile(f"{text.place(member[0])}: image {member[1]!r} occurs again, expected it once")
        seen.add(member[1])
        yield member


def _caption_rows(path: Path, document: Document) -> Iterator[Row]:
    """Yield every caption of a file in any of the formats."""
    empty = True
    for row in _formatted_rows(path, document):
        empty = False
        yield row
    if empty:
        raise InvalidFile(f"{path}: found no captions, expected at least one")


def _formatted_rows(path: Path, document: Document) -> Iterator[Row]:
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as lines:
            numbered = enumerate(lines, start=1)
            for number, line in numbered:
                if not line.strip():
                    continue
                if _is_row(line):
                    yield from _json_lines(path, chain([(number, line)], numbered))
                else:
                    yield from document(Text(path, line + lines.read(), number))
    except UnicodeDecodeError as error:
        raise InvalidFile(f"{path}: byte {error.start} is not UTF-8, expected a UTF-8 file") from error
    except OSError as error:
        raise InvalidFile(f"{path}: cannot be read, {(error.strerror or str(error)).lower()}") from error


def _is_row(line: str) -> bool:
    """Return whether a first line is of JSON lines."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):  # whatever it is, it is no row
        return False
    return isinstance(value, dict) and {"image", "caption"} <= value.keys()


def _json_lines(path: Path, lines: Iterable[tuple[int, str]]) -> Iterator[Row]:
    for number, line in lines:
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        try:
            value = json.loads(line)
        except ValueError as error:
            raise InvalidFile(f"{place}: {_json_fault(error)}") from error
        except RecursionError as error:
            raise InvalidFile(f"{place}: is nested too deeply, expected a caption") from error
        if not isinstance(value, dict):
            raise InvalidFile(f"{place}: found {_shown(value)}, expected an object with image and caption")
        system = value.get("system")
        if system is not None and (not isinstance(system, str) or not system):
            raise InvalidFile(f"{place}: system is {_shown(system)}, expected a name")
        yield Row(number, _image(value, "image", place), _caption(value, place), system)


def _image(value: dict[str, Any], key: str, place: str) -> str:
    image = value.get(key)
    # True is an int to Python but no image's name.
    if isinstance(image, bool) or not isinstance(image, str | int):
        raise InvalidFile(f"{place}: {key} is {_shown(image)}, expected a name or a whole number")
    return str(image)


def _caption(value: dict[str, Any], place: str) -> str:
    caption = value.get("caption")
    if not isinstance(caption, str):
        raise InvalidFile(f"{place}: caption is {_shown(caption)}, expected text")
    return caption


def _shown(value: object) -> str:
    if value is None:
        return "missing or null"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _json_fault(error: ValueError) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return f"holds a number of more than {sys.get_int_max_str_digits():,} digits, expected captions"
    return f"is not JSON ({error.msg.lower()}), expected JSON"
