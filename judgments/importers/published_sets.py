"""Published sets: MS COCO's captions, Flickr8k, PASCAL-50S and ABSTRACT-50S.

MS COCO is one JSON document. It is read an entry at a time, twice: annotations may stand before the images. Problems
name a path in it, such as `annotations[17].caption`, instead of a line.

Flickr8k (H13 §2, §4) has captions and splits, expert grades and crowd judgments. A pair's grades are sorted and the
crowd's answers are totals, so both become judgments of anonymous raters.

PASCAL-50S and ABSTRACT-50S (V15 §4, App. I) are folders with `references.jsonl` and `pairs.jsonl`. PASCAL-50S has
fifty references per image (its pairs use the first 48), eleven pairwise votes per pair, and each pair's triplet winner
without votes. ABSTRACT-50S has a majority vote for each of 48 triplets.
"""

from __future__ import annotations

import hashlib
import re
from abc import abstractmethod
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import PlainValidator

from common.amounts import counted
from common.incoming import quoted
from common.texts import one_text
from judgments.design.tables import PAIR_KINDS
from judgments.importers.records import (
    HUMAN,
    HUMAN_OTHER,
    SHORT_NAME_LIMIT,
    Address,
    BadValue,
    CaptionText,
    Columns,
    DatasetSource,
    ImageName,
    JudgmentRow,
    JudgmentSource,
    PairRow,
    Record,
    ReferenceRow,
    Shape,
    ShortName,
    Source,
    WinnerRow,
    name,
    one_of,
    read_document,
    read_image,
    read_json_lines,
    read_name,
    read_text,
    read_whole,
    text,
)
from judgments.importers.tables import CaptionRegister, read_caption
from judgments.importers.textio import ImportNotes, ImportProblem, read_lines


@dataclass(frozen=True, slots=True)
class _Image:
    id: ImageName
    file_name: ImageName | None = None
    coco_url: Address | None = None


@dataclass(frozen=True, slots=True)
class _Annotation:
    image_id: Annotated[str, name("the id of an image")]
    id: Annotated[str, name("the annotation's id")]
    caption: CaptionText


_IMAGE, _ANNOTATION = Shape(_Image), Shape(_Annotation)


class CocoDataset(DatasetSource):
    """Captions JSON: `images` with `id` and `file_name`, `annotations` with `image_id`, `id`, `caption`.

    An image is named by its id, its picture by `file_name`.
    """

    def rows(self) -> Iterator[ReferenceRow]:
        there: set[str] = set()
        images: dict[str, _Image] = {}
        for record in self._records("images", there):
            image = _IMAGE.read(record)
            if images.setdefault(image.id, image) != image:
                raise record.problem("id", f"image {quoted(image.id)} a second time", "every image once")
        if not {"images", "annotations"} <= there:
            actual = "a list" if "" in there else "a document without both lists"
            raise ImportProblem(self.path, None, None, actual, 'an object with "images" and "annotations"')
        register = CaptionRegister(self.notes)
        described: set[str] = set()
        for record in self._records("annotations", there):
            row = _ANNOTATION.read(record)
            if row.image_id not in images:
                raise record.problem(
                    "image_id", quoted(record.values["image_id"]), 'an id of the list "images"'
                )
            position = register.position(row.image_id)
            if register.add(record, row.id, row.image_id, row.caption, column="id"):
                described.add(row.image_id)
                image = images[row.image_id]
                yield ReferenceRow(
                    row.image_id, row.caption, row.id, position, url=image.coco_url, file=image.file_name
                )
        if not described:
            raise ImportProblem(self.path, None, "annotations", "an empty list", "at least one caption")
        self.notes.count("no-captions", len(images) - len(described))

    def _records(self, wanted: str, there: set[str]) -> Iterator[Record]:
        """Yield the objects of a list of the document; add the names of all its members to ``there``."""
        for key, number, value, line in read_document(self.path, self._encoding):
            there.add(key)
            if key == wanted:
                yield from _record(self.path, key, number, value, line)


def _record(path: Path, name: str, number: int | None, value: object, line: int) -> Iterator[Record]:
    """Yield an entry of a list as a record; nothing where the list begins."""
    if number is None and value != []:
        raise ImportProblem(path, line, name, quoted(value), "a list")
    if number is not None:
        location = f"{name}[{number}]"
        if not isinstance(value, dict):
            raise ImportProblem(path, line, location, quoted(value), "an object")
        yield Record(path, line, value, path=location)


TOKEN_FILE = "Flickr8k.token.txt"  # noqa: S105 - a file's name

SPLIT_FILES = {
    "train": "Flickr_8k.trainImages.txt",
    "dev": "Flickr_8k.devImages.txt",
    "test": "Flickr_8k.testImages.txt",
}

_CAPTION_ID = re.compile(r"(?P<image>.+?\.(?:jpe?g|png))(?P<stray>\.\d+)?#(?P<number>\d{1,4})", re.IGNORECASE)


def _records(path: Path, encoding: str | None, columns: tuple[str, ...], expected: str) -> Iterator[Record]:
    for number, line in read_lines(path, encoding=encoding):
        if line.isspace():
            continue
        cells = line.rstrip("\r\n").split("\t")
        if len(cells) != len(columns):
            raise ImportProblem(path, number, None, counted(len(cells), "cell"), expected)
        yield Record(path, number, dict(zip(columns, cells, strict=True)))


class Flickr8kDataset(DatasetSource):
    """A folder with Flickr8k.token.txt and, optionally, the three split lists."""

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        super().__init__(inside(path, TOKEN_FILE), encoding)

    def rows(self) -> Iterator[ReferenceRow]:
        splits = self._splits()
        register = CaptionRegister(self.notes)
        images: set[str] = set()
        columns, expected = ("caption id", "caption"), "image.jpg#number, a tab, the caption"
        for record in _records(self.path, self._encoding, columns, expected):
            image, position, stray = record.read("caption id", read_caption_key)
            if stray:
                self.notes.count("repaired-key", detail=f"{image}{stray}")
            if image not in images:
                images.add(image)
                if splits and image not in splits:
                    self.notes.count("no-split")
            caption, caption_id = record.read("caption", read_caption), f"{image}#{position}"
            if register.add(record, caption_id, image, caption):
                yield ReferenceRow(image, caption, caption_id, position, split=splits.get(image))
        if not images:
            raise ImportProblem(self.path, None, None, "no captions", "at least one line")
        self.notes.count("split-without-captions", len(splits.keys() - images))

    def _splits(self) -> dict[str, str]:
        splits: dict[str, str] = {}
        for split, file_name in SPLIT_FILES.items():
            path = self.path.parent / file_name
            if not path.exists():
                continue
            for number, line in read_lines(path, encoding=self._encoding):
                if line.isspace():
                    continue
                record = Record(path, number, {"image": line})
                image = record.read("image", read_image)
                if splits.setdefault(image, split) != split:
                    actual = f"image {quoted(image)}, which the list of {splits[image]!r} holds too"
                    raise record.problem("image", actual, "every image in one split")
        return splits


class _AnonymousJudgments(JudgmentSource):
    """A file with a line per image-caption pair, judged by anonymous people."""

    name: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]
    expected: ClassVar[str]
    anonymous = True

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        super().__init__(inside(path, self.name), encoding)

    def judgments(
        self, images: Container[str] | None = None, captions: Mapping[str, str] | None = None
    ) -> Iterator[JudgmentRow]:
        lines: dict[int, int | None] = {}
        for record in _records(self.path, self._encoding, self.columns, self.expected):
            image = record.read("image", read_image)
            image_of_caption, position, stray = record.read("caption id", read_caption_key)
            caption = f"{image_of_caption}#{position}"
            if stray:
                self.notes.count("repaired-key", detail=f"{image_of_caption}{stray}")
            if images is not None and image not in images:
                raise record.problem("image", quoted(image), "an image of the dataset")
            if captions is not None and caption not in captions:
                raise record.problem("caption id", quoted(caption), "a caption of the dataset")
            unit = _unit(image, caption)
            first = lines.setdefault(hash(unit), record.line)
            if first != record.line:
                actual = f"a pair that line {first} has already"
                raise record.problem(None, actual, "every pair of image and caption once")
            if image_of_caption == image:
                self.notes.count("own-caption")
            for rater, value in enumerate(self._values(record), 1):
                yield JudgmentRow(
                    unit=unit,
                    worker=f"anon-{rater}",
                    value=value,
                    protocol=self.protocol,
                    image=image,
                    first=caption,
                    anonymous=True,
                )
        if not lines:
            raise ImportProblem(self.path, None, None, "no judgments", "at least one line")

    @abstractmethod
    def _values(self, record: Record) -> list[int]:
        pass


class Flickr8kExpert(_AnonymousJudgments):
    """ExpertAnnotations.txt: image, caption id, three grades from 1 to 4 (H13 §4.2.1)."""

    name = "ExpertAnnotations.txt"
    protocol = "graded"
    columns = ("image", "caption id", "first", "second", "third")
    expected = "image, caption id and three grades, separated by tabs"

    def _values(self, record: Record) -> list[int]:
        grades = [record.values[column] for column in ("first", "second", "third")]
        for grade in grades:
            if grade not in ("1", "2", "3", "4"):
                raise record.problem("grade", quoted(grade), "a grade from 1 to 4")
        if grades == sorted(grades):
            self.notes.count("sorted-grades")
        return [int(grade) for grade in grades]


class Flickr8kCrowd(_AnonymousJudgments):
    """CrowdFlowerAnnotations.txt: image, caption id, share of yes, yes, no (H13 §4.3.2)."""

    name = "CrowdFlowerAnnotations.txt"
    protocol = "relevance"
    columns = ("image", "caption id", "share", "yes", "no")
    expected = "image, caption id, share of yes, number of yes and number of no, separated by tabs"

    def _values(self, record: Record) -> list[int]:
        counts = [record.values[answer] for answer in ("yes", "no")]
        for count in counts:
            if not re.fullmatch(r"\d{1,4}", count):
                raise record.problem("count", quoted(count), "a number of judgments")
        yes, no = (int(count) for count in counts)
        if yes + no == 0:
            raise record.problem("count", "no judgments", "at least one yes or no")
        self._check_share(record, yes, no)
        if yes + no > 3:
            self.notes.count("more-than-three")
        self.notes.count("anonymous-totals")
        return [1] * yes + [0] * no

    def _check_share(self, record: Record, yes: int, no: int) -> None:
        share = record.values["share"]
        try:
            stated = float(share)
        except ValueError:
            raise record.problem("share", quoted(share), "a share from 0 to 1") from None
        if not abs(stated - yes / (yes + no)) < 0.005:  # the file rounds; nan fails too
            expected = f"{yes}/{yes + no}, the share of its own counts"
            raise record.problem("share", quoted(share), expected)


def inside(path: Path, name: str) -> Path:
    """Return the file, or ``name`` (or name.gz) in a folder."""
    if not path.is_dir():
        return path
    for candidate in (path / name, path / f"{name}.gz"):
        if candidate.exists():
            return candidate
    raise ImportProblem(path, None, None, f"a folder without {name}", "that file in it")


def read_caption_key(value: Any) -> tuple[str, int, str]:
    """Return (image, number, stray suffix) of `image.jpg#2`.

    The released file has the key `2258277193_586949ec62.jpg.1#0`: the `.1` is not part of the name.
    """
    key = read_name(value)
    match = _CAPTION_ID.fullmatch(key)
    if match is None:
        raise BadValue(quoted(key), "image.jpg#number")
    return read_image(match["image"]), int(match["number"]), match["stray"] or ""


def _unit(image: str, caption: str) -> str:
    unit = f"{image}|{caption}"
    return unit if len(unit) <= SHORT_NAME_LIMIT else hashlib.sha256(unit.encode()).hexdigest()


# PASCAL-50S excludes its last two references from every triplet.
TRIPLET_REFERENCES = 48

_PAIRWISE_VOTES = 11

_REFERENCES = Columns(("image", "references"))

_PAIR_COLUMNS = ("pair", "image", "kind", "first", "second")

_PAIRS = {
    "pascal-50s": Columns(
        (*_PAIR_COLUMNS, "first_source", "second_source"), ("pairwise_votes", "triplet_winner")
    ),
    "abstract-50s": Columns((*_PAIR_COLUMNS, "correct"), ("kind_evidence", "triplet_votes")),
}

# The authors number five machines, the image's own people and other images' people.
_SOURCES = {n: f"machine-{n}" for n in range(1, 6)} | {6: HUMAN, 7: HUMAN_OTHER}


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list) or not value:
        raise BadValue(quoted(value), "a list of texts")
    for index, entry in enumerate(value):
        try:
            read_text(entry)
        except BadValue as unfit:
            raise BadValue(unfit.actual, unfit.expected, f"[{index}]") from None
    return value


def _votes(value: Any) -> list[int]:
    votes = value if isinstance(value, list) else []
    if not votes or not all(type(vote) is int and vote in (1, 2) for vote in votes):
        raise BadValue(quoted(value), "a list of votes that are 1 or 2")
    return votes


def _source(value: Any) -> int:
    number = read_whole(value, textual=False)
    if number not in _SOURCES:
        raise BadValue(quoted(number), "a source from 1 to 7")
    return number


def _winner(value: Any) -> int:
    winner = read_whole(value, textual=False, expected="1 or 2")
    if winner not in (1, 2):
        raise BadValue(quoted(winner), "1 or 2")
    return winner


@dataclass(frozen=True, slots=True)
class _ReferencesOfImage:
    image: ImageName
    references: Annotated[list[str], PlainValidator(_texts)]


@dataclass(frozen=True, slots=True)
class _Pair:
    pair: ShortName
    image: ImageName
    kind: Annotated[str, one_of(*PAIR_KINDS)]
    first: Annotated[str, text("a candidate")]
    second: Annotated[str, text("a candidate")]


_OF_IMAGE, _PAIR = Shape(_ReferencesOfImage), Shape(_Pair)


class _Folder:
    def __init__(self, name: str, path: Path, encoding: str | None, notes: ImportNotes) -> None:
        self.name = name
        self.notes = notes
        self._references_file = inside(path, "references.jsonl")
        self._pairs_file = inside(path, "pairs.jsonl")
        if self._references_file == self._pairs_file:
            raise ImportProblem(
                path, None, None, "a file", "the folder with references.jsonl and pairs.jsonl"
            )
        self._encoding = encoding

    def images(self) -> Iterator[tuple[Record, str, list[str]]]:
        seen: set[str] = set()
        for record in read_json_lines(self._references_file, _REFERENCES, self.notes, self._encoding):
            row = _OF_IMAGE.read(record)
            if row.image in seen:
                raise record.problem("image", f"{quoted(row.image)} a second time", "every image on one line")
            seen.add(row.image)
            yield record, row.image, row.references
        if not seen:
            raise ImportProblem(self._references_file, None, None, "no references", "at least one line")

    def pairs(self, images: Container[str] | None = None) -> Iterator[tuple[Record, PairRow]]:
        references = {image: texts for _, image, texts in self.images()}
        seen: set[str] = set()
        for record in read_json_lines(self._pairs_file, _PAIRS[self.name], self.notes, self._encoding):
            row = _PAIR.read(record)
            if row.pair in seen:
                raise record.problem("pair", f"{quoted(row.pair)} a second time", "every pair once")
            seen.add(row.pair)
            if row.image not in references:
                raise record.problem("image", quoted(row.image), "an image of references.jsonl")
            if images is not None and row.image not in images:
                raise record.problem("image", quoted(row.image), "an image of the dataset")
            used = TRIPLET_REFERENCES if len(references[row.image]) > TRIPLET_REFERENCES else None
            systems = self._systems(record, row.kind)
            yield (
                record,
                PairRow(row.pair, row.image, row.kind, row.first, row.second, *systems, references=used),
            )
        if not seen:
            raise ImportProblem(self._pairs_file, None, None, "no pairs", "at least one line")

    def _systems(self, record: Record, kind: str) -> tuple[str, str]:
        if self.name == "abstract-50s":
            correct = record.values["correct"]
            if correct not in ([1, 2], [1], [2]) or (correct == [1, 2]) != (kind == "HC") or kind[0] != "H":
                raise record.problem("correct", quoted(correct), "[1, 2] for HC, [1] or [2] for HI")
            return (HUMAN if 1 in correct else HUMAN_OTHER, HUMAN if 2 in correct else HUMAN_OTHER)
        numbers = [record.read(column, _source) for column in ("first_source", "second_source")]
        low, high = sorted(numbers)
        implied = {(6, 6): "HC", (6, 7): "HI"}.get((low, high), "HM" if high == 6 else "MM")
        if (high == 7 and low != 6) or implied != kind:
            actual = f"{quoted(kind)} with sources {numbers}"
            raise record.problem("kind", actual, "the kind these sources make")
        return _SOURCES[numbers[0]], _SOURCES[numbers[1]]


def _judgment(row: PairRow, **values: Any) -> JudgmentRow:
    return JudgmentRow(
        image=row.image,
        first_text=row.first_text,
        second_text=row.second_text,
        kind=row.kind,
        pair=row.pair,
        anonymous=True,
        **values,
    )


class _FiftyReader(Source):
    def __init__(self, name: str, path: Path, encoding: str | None = None) -> None:
        super().__init__(path, encoding)
        self._folder = _Folder(name, path, encoding, self.notes)


class FiftyDataset(_FiftyReader, DatasetSource):
    """References and candidate pairs; keeps the references while reading the pairs."""

    def rows(self) -> Iterator[ReferenceRow]:
        register = CaptionRegister(self.notes)
        for record, image, texts in self._folder.images():
            unused = max(0, len(texts) - TRIPLET_REFERENCES)
            self.notes.count("unused-references", unused, detail=f"{TRIPLET_REFERENCES}")
            for position, reference in enumerate(texts):
                caption_id = f"{image}#{position}"
                register.add(record, caption_id, image, reference)
                if "\ufffd" in reference:
                    self.notes.count("broken-character")
                yield ReferenceRow(image, reference, caption_id, position)

    def pairs(self) -> Iterator[PairRow]:
        references = {(image, one_text(text)) for _, image, texts in self._folder.images() for text in texts}
        seen: set[tuple[str, frozenset[str]]] = set()
        for _, row in self._folder.pairs():
            first, second = one_text(row.first_text), one_text(row.second_text)
            for candidate in (first, second):
                self.notes.count("candidate-is-reference", (row.image, candidate) in references)
            content = (row.image, frozenset((first, second)))
            self.notes.count("repeated-pair", content in seen)
            seen.add(content)
            self.notes.count("equal-candidates", first == second)
            yield row


class FiftyPairwise(_FiftyReader, JudgmentSource):
    """PASCAL-50S's pairwise votes (V15 App. I): eleven per pair, by anonymous raters."""

    protocol = "pairwise"
    anonymous = True

    def judgments(
        self, images: Container[str] | None = None, captions: Mapping[str, str] | None = None
    ) -> Iterator[JudgmentRow]:
        for record, row in self._folder.pairs(images):
            votes = record.read("pairwise_votes", _votes)
            self.notes.count("fewer-votes", len(votes) < _PAIRWISE_VOTES, detail=f"{len(votes)}")
            self.notes.count("anonymous-totals")
            for rater, vote in enumerate(votes, 1):
                yield _judgment(
                    row,
                    unit=f"{self._folder.name}-pair-{row.pair}",
                    worker=f"anon-{rater}",
                    value=vote,
                    protocol="pairwise",
                )


class FiftyTriplets(_FiftyReader, JudgmentSource):
    """Triplet judgments (V15 §3): ABSTRACT-50S's majority votes, PASCAL-50S's winners."""

    protocol = "triplet"
    anonymous = True

    def judgments(
        self, images: Container[str] | None = None, captions: Mapping[str, str] | None = None
    ) -> Iterator[JudgmentRow]:
        """Yield an aggregated row per reference and pair; PASCAL-50S's votes are unpublished."""
        if self._folder.name == "pascal-50s":
            return
        references = {image: texts for _, image, texts in self._folder.images()}
        for record, row in self._folder.pairs(images):
            votes, texts = record.read("triplet_votes", _votes), references[row.image]
            if len(votes) != len(texts):
                expected = f"{len(texts)}, one for each reference of the image"
                raise record.problem("triplet_votes", counted(len(votes), "vote"), expected)
            self.notes.count("aggregated-votes", len(votes))
            for position, (vote, reference_text) in enumerate(zip(votes, texts, strict=True)):
                reference = f"{row.image}#{position}"
                if captions is not None and reference not in captions:
                    raise record.problem("image", f"no caption {quoted(reference)}", "it in the dataset")
                yield _judgment(
                    row,
                    unit=f"{self._folder.name}-pair-{row.pair}-reference-{position}",
                    worker="anon-1",
                    value=vote,
                    protocol="triplet",
                    reference=reference,
                    reference_text=reference_text,
                    aggregated=True,
                )

    def winners(self, images: Container[str] | None = None) -> Iterator[WinnerRow]:
        """Yield PASCAL-50S's winners; ties were broken at random and not marked."""
        if self._folder.name != "pascal-50s":
            return
        for record, row in self._folder.pairs(images):
            winner = record.read("triplet_winner", _winner)
            self.notes.count("published-winners")
            yield WinnerRow(row.pair, row.image, row.kind, row.first_text, row.second_text, winner)
