"""Read Flickr8k, the set of Hodosh et al. 2013 (H13 §2, §4): captions and splits, expert grades and crowd judgments.

Cells of a line are separated by tabs:

    Flickr8k.token.txt              1305564994_00513f9a5b.jpg#0  A man in street racer armor ...
    ExpertAnnotations.txt           1056338697_4f7d7ce270.jpg  2549968784_39bfbe44f9.jpg#2  1  1  1
    CrowdFlowerAnnotations.txt      1056338697_4f7d7ce270.jpg  1056338697_4f7d7ce270.jpg#2  1  3  0

The grades of a pair were published in sorted order, and the crowd's answers as totals of yes and no. So both become
judgments of anonymous raters.
"""

from __future__ import annotations

import hashlib
import re
from abc import abstractmethod
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from common.amounts import with_noun
from common.incoming import quote_value
from contrib.published_sets.folders import file_in_folder
from judgments.importers.problems import ImportProblem
from judgments.importers.records.record import Record
from judgments.importers.records.rows import JudgmentRow, ReferenceRow
from judgments.importers.records.sources import DatasetSource, JudgmentSource
from judgments.importers.records.values import SHORT_NAME_LIMIT, BadCell, read_image, read_name
from judgments.importers.tables.datasets import CaptionRegister, read_caption
from judgments.importers.textio import read_lines

TOKEN_FILE = "Flickr8k.token.txt"  # noqa: S105 - a file's name

SPLIT_FILES = {
    "train": "Flickr_8k.trainImages.txt",
    "dev": "Flickr_8k.devImages.txt",
    "test": "Flickr_8k.testImages.txt",
}

# the image's name, a stray suffix in the released file (see read_caption_key), and the caption's number
_CAPTION_ID = re.compile(r"(?P<image>.+?\.(?:jpe?g|png))(?P<stray>\.\d+)?#(?P<number>\d{1,4})", re.IGNORECASE)


def _read_records(
    path: Path, encoding: str | None, columns: tuple[str, ...], expected: str
) -> Iterator[Record]:
    """Yield the lines of a file with tabs as records. ``expected`` describes such a line in an error."""
    for number, line in read_lines(path, encoding=encoding):
        if line.isspace():
            continue
        cells = line.rstrip("\r\n").split("\t")
        if len(cells) != len(columns):
            raise ImportProblem(path, number, None, with_noun(len(cells), "cell"), expected)
        yield Record(path, number, dict(zip(columns, cells, strict=True)))


class Flickr8kDataset(DatasetSource):
    """Flickr8k's captions: a folder with Flickr8k.token.txt and, optionally, the three lists of splits."""

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        super().__init__(file_in_folder(path, TOKEN_FILE), encoding)

    def rows(self) -> Iterator[ReferenceRow]:
        splits = self._splits()
        register = CaptionRegister(self.notes)
        images: set[str] = set()
        columns, expected = ("caption id", "caption"), "image.jpg#number, a tab, the caption"
        for record in _read_records(self.path, self._encoding, columns, expected):
            image, position, stray_suffix = record.read("caption id", read_caption_key)
            if stray_suffix:
                self.notes.count("repaired-key", detail=f"{image}{stray_suffix}")
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
                    actual = f"image {quote_value(image)}, which the list of {splits[image]!r} holds too"
                    raise record.problem("image", actual, "every image in one split")
        return splits


class _AnonymousJudgments(JudgmentSource):
    """A file with one line per image-caption pair, which anonymous people judged.

    Attributes:
        expected: description of a line, for errors.
    """

    name: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]
    expected: ClassVar[str]
    anonymous = True

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        super().__init__(file_in_folder(path, self.name), encoding)

    def judgments(
        self, images: Container[str] | None = None, captions: Mapping[str, str] | None = None
    ) -> Iterator[JudgmentRow]:
        lines_by_unit: dict[int, int | None] = {}  # by hashes of units, which need less memory
        for record in _read_records(self.path, self._encoding, self.columns, self.expected):
            image = record.read("image", read_image)
            image_of_caption, position, stray_suffix = record.read("caption id", read_caption_key)
            caption = f"{image_of_caption}#{position}"
            if stray_suffix:
                self.notes.count("repaired-key", detail=f"{image_of_caption}{stray_suffix}")
            if images is not None and image not in images:
                raise record.problem("image", quote_value(image), "an image of the dataset")
            if captions is not None and caption not in captions:
                raise record.problem("caption id", quote_value(caption), "a caption of the dataset")
            unit = _unit_id(image, caption)
            earlier_line = lines_by_unit.setdefault(hash(unit), record.line)
            if earlier_line != record.line:
                actual = f"a pair that line {earlier_line} has already"
                raise record.problem(None, actual, "every pair of image and caption once")
            if image_of_caption == image:
                self.notes.count("own-caption")  # written for the image
            for rater, value in enumerate(self._judgment_values(record), 1):
                yield JudgmentRow(
                    unit=unit,
                    worker=f"anon-{rater}",
                    value=value,
                    protocol=self.protocol,
                    image=image,
                    first=caption,
                    anonymous=True,
                )
        if not lines_by_unit:
            raise ImportProblem(self.path, None, None, "no judgments", "at least one line")

    @abstractmethod
    def _judgment_values(self, record: Record) -> list[int]:
        """Return the values of the judgments in a line, one of each rater."""


class Flickr8kExpert(_AnonymousJudgments):
    """The expert grades in ExpertAnnotations.txt: image, caption id, three grades from 1 to 4 (H13 §4.2.1)."""

    name = "ExpertAnnotations.txt"
    protocol = "graded"
    columns = ("image", "caption id", "first", "second", "third")
    expected = "image, caption id and three grades, separated by tabs"

    def _judgment_values(self, record: Record) -> list[int]:
        grades = [record.values[column] for column in ("first", "second", "third")]
        for grade in grades:
            if grade not in ("1", "2", "3", "4"):
                raise record.problem("grade", quote_value(grade), "a grade from 1 to 4")
        if grades == sorted(grades):
            self.notes.count("sorted-grades")
        return [int(grade) for grade in grades]


class Flickr8kCrowd(_AnonymousJudgments):
    """The crowd's answers in CrowdFlowerAnnotations.txt: image, caption id, share of yes, yes, no (H13 §4.3.2)."""

    name = "CrowdFlowerAnnotations.txt"
    protocol = "relevance"
    columns = ("image", "caption id", "share", "yes", "no")
    expected = "image, caption id, share of yes, number of yes and number of no, separated by tabs"

    def _judgment_values(self, record: Record) -> list[int]:
        counts = [record.values[answer] for answer in ("yes", "no")]
        for count in counts:
            if not re.fullmatch(r"\d{1,4}", count):
                raise record.problem("count", quote_value(count), "a number of judgments")
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
            stated_share = float(share)
        except ValueError:
            raise record.problem("share", quote_value(share), "a share from 0 to 1") from None
        # the file has rounded shares; nan fails the comparison, too
        if not abs(stated_share - yes / (yes + no)) < 0.005:
            expected = f"{yes}/{yes + no}, the share of its own counts"
            raise record.problem("share", quote_value(share), expected)


def read_caption_key(value: Any) -> tuple[str, int, str]:
    """Return the image, the number and the stray suffix of a key such as `image.jpg#2`.

    The released file has the key `2258277193_586949ec62.jpg.1#0`, in which `.1` is not part of the name.
    """
    key = read_name(value)
    match = _CAPTION_ID.fullmatch(key)
    if match is None:
        raise BadCell(quote_value(key), "image.jpg#number")
    return read_image(match["image"]), int(match["number"]), match["stray"] or ""


def _unit_id(image: str, caption: str) -> str:
    """Return the id of a pair; its hash if the id is too long for the column of ids."""
    unit = f"{image}|{caption}"
    return unit if len(unit) <= SHORT_NAME_LIMIT else hashlib.sha256(unit.encode()).hexdigest()
