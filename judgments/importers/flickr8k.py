"""The files of Flickr8k (H13 §2, §4): captions and splits, expert grades, crowd judgments.

The released grades of a pair stand in ascending order and the crowd's answers are totals, so neither
tells which person answered what: both become judgments of anonymous raters.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Iterator
from pathlib import Path

from judgments.importers.errors import ImportProblem
from judgments.importers.fields import (
    SHORT_NAME_LIMIT,
    Fields,
    check_image,
    check_name,
    check_text,
    counted,
    shown,
)
from judgments.importers.notes import ImportNotes
from judgments.importers.records import JudgmentRow, PairRow, ReferenceRow, WinnerRow
from judgments.importers.tables import CaptionRegister
from judgments.importers.textio import read_lines

TOKEN_FILE = "Flickr8k.token.txt"  # noqa: S105 - a file's name
SPLIT_FILES = {
    "train": "Flickr_8k.trainImages.txt",
    "dev": "Flickr_8k.devImages.txt",
    "test": "Flickr_8k.testImages.txt",
}
EXPERT_FILE = "ExpertAnnotations.txt"
CROWD_FILE = "CrowdFlowerAnnotations.txt"

_CAPTION_ID = re.compile(r"(?P<image>.+?\.(?:jpe?g|png))(?P<stray>\.\d+)?#(?P<number>\d{1,4})", re.IGNORECASE)


class Flickr8kDataset:
    """A folder with Flickr8k.token.txt and, if they are there, the three split lists.

    Streams the captions; holds the split lists and two digests a caption. Read it once.
    """

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        self.path = inside(path, TOKEN_FILE)
        self.notes = ImportNotes()
        self._encoding = encoding

    def pairs(self) -> Iterator[PairRow]:
        """No candidate pairs: Flickr8k has none."""
        return iter(())

    def rows(self) -> Iterator[ReferenceRow]:
        """Captions are all it has."""
        return self.references()

    def references(self) -> Iterator[ReferenceRow]:
        splits = self._splits()
        register = CaptionRegister(self.notes)
        images: set[str] = set()
        for number, line in read_lines(self.path, encoding=self._encoding):
            if line.isspace():
                continue
            key, caption = _cells(self.path, number, line, 2, "image.jpg#number, a tab, the caption")
            image, position, stray = caption_key(key, self.path, number)
            if stray:
                self.notes.count("repaired-key", detail=f"{image}{stray}")
            if image not in images:
                images.add(image)
                if splits and image not in splits:
                    self.notes.count("no-split")
            check_text(caption, self.path, number, "caption", "a caption")
            caption_id = f"{image}#{position}"
            if register.add(Fields(self.path, number, {}, textual=True), caption_id, image, caption):
                yield ReferenceRow(image, caption, caption_id, position, split=splits.get(image))
        if not images:
            raise ImportProblem(self.path, None, None, "no captions", "at least one line")
        self.notes.count("split-without-captions", len(splits.keys() - images))

    def _splits(self) -> dict[str, str]:
        splits: dict[str, str] = {}
        for split, name in SPLIT_FILES.items():
            path = self.path.parent / name
            if not path.exists():
                continue
            for number, line in read_lines(path, encoding=self._encoding):
                if line.isspace():
                    continue
                image = check_image(check_name(line, path, number, "image"), path, number, "image")
                if splits.setdefault(image, split) != split:
                    found = f"image {shown(image)}, which the list of {splits[image]!r} holds too"
                    raise ImportProblem(path, number, "image", found, "every image in one split")
        return splits


class Flickr8kExpert:
    """ExpertAnnotations.txt: image, caption id, three grades from 1 to 4 (H13 §4.2.1)."""

    protocol: str | None = "graded"
    anonymous = True

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        self.path = inside(path, EXPERT_FILE)
        self.notes = ImportNotes()
        self._encoding = encoding

    def judgments(
        self, images: Container[str] | None = None, captions: Container[str] | None = None
    ) -> Iterator[JudgmentRow]:
        """Three rows a pair; with `images` and `captions`, an unknown id is a problem."""
        shape = "image, caption id and three grades, separated by tabs"
        pairs = _JudgedPairs(self.path, self.notes, images, captions)
        for number, line in read_lines(self.path, encoding=self._encoding):
            if line.isspace():
                continue
            image, caption, *grades = _cells(self.path, number, line, 5, shape)
            unit, image, caption = pairs.add(number, image, caption)
            for grade in grades:
                if grade not in ("1", "2", "3", "4"):
                    raise ImportProblem(self.path, number, "grade", shown(grade), "a grade from 1 to 4")
            if grades == sorted(grades):
                self.notes.count("sorted-grades")
            yield from _anonymous("graded", unit, image, caption, [int(grade) for grade in grades])
        pairs.finish()

    def winners(self, images: Container[str] | None = None) -> Iterator[WinnerRow]:
        """None: every answer counts here."""
        return iter(())


class Flickr8kCrowd:
    """CrowdFlowerAnnotations.txt: image, caption id, share of yes, yes, no (H13 §4.3.2)."""

    protocol: str | None = "relevance"
    anonymous = True

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        self.path = inside(path, CROWD_FILE)
        self.notes = ImportNotes()
        self._encoding = encoding

    def judgments(
        self, images: Container[str] | None = None, captions: Container[str] | None = None
    ) -> Iterator[JudgmentRow]:
        """A row for every yes, then for every no, of a pair; unknown ids as for the experts."""
        shape = "image, caption id, share of yes, number of yes and number of no, separated by tabs"
        pairs = _JudgedPairs(self.path, self.notes, images, captions)
        for number, line in read_lines(self.path, encoding=self._encoding):
            if line.isspace():
                continue
            image, caption, share, *counts = _cells(self.path, number, line, 5, shape)
            unit, image, caption = pairs.add(number, image, caption)
            for count in counts:
                if not re.fullmatch(r"\d{1,4}", count):
                    raise ImportProblem(self.path, number, "count", shown(count), "a number of judgments")
            yes, no = int(counts[0]), int(counts[1])
            self._check_share(number, share, yes, no)
            if yes + no > 3:
                self.notes.count("more-than-three")
            self.notes.count("anonymous-totals")
            yield from _anonymous("relevance", unit, image, caption, [1] * yes + [0] * no)
        pairs.finish()

    def winners(self, images: Container[str] | None = None) -> Iterator[WinnerRow]:
        """None: every answer counts here."""
        return iter(())

    def _check_share(self, number: int, share: str, yes: int, no: int) -> None:
        if yes + no == 0:
            raise ImportProblem(self.path, number, "count", "no judgments", "at least one yes or no")
        try:
            stated = float(share)
        except ValueError:
            raise ImportProblem(self.path, number, "share", shown(share), "a share from 0 to 1") from None
        if not abs(stated - yes / (yes + no)) < 0.005:  # the file rounds; nan fails too
            expected = f"{yes}/{yes + no}, the share of its own counts"
            raise ImportProblem(self.path, number, "share", shown(share), expected)


class _JudgedPairs:
    """Checks the image and caption of every line, and that no pair stands twice."""

    def __init__(
        self,
        path: Path,
        notes: ImportNotes,
        images: Container[str] | None,
        captions: Container[str] | None,
    ) -> None:
        self._path = path
        self._notes = notes
        self._images = images
        self._captions = captions
        self._lines: dict[int, int] = {}

    def add(self, number: int, image: str, caption: str) -> tuple[str, str, str]:
        """(unit, image, caption id) of a line, with stray numbers in the caption's key repaired."""
        image = check_image(check_name(image, self._path, number, "image"), self._path, number, "image")
        own, position, stray = caption_key(caption, self._path, number)
        caption = f"{own}#{position}"
        if stray:
            self._notes.count("repaired-key", detail=f"{own}{stray}")
        if self._images is not None and image not in self._images:
            raise ImportProblem(self._path, number, "image", shown(image), "an image of the dataset")
        if self._captions is not None and caption not in self._captions:
            raise ImportProblem(self._path, number, "caption id", shown(caption), "a caption of the dataset")
        unit = _unit(image, caption)
        first = self._lines.setdefault(hash(unit), number)
        if first != number:
            found = f"a pair that line {first} has already"
            raise ImportProblem(self._path, number, None, found, "every pair of image and caption once")
        if own == image:
            self._notes.count("own-caption")
        return unit, image, caption

    def finish(self) -> None:
        """Refuse a file without judgments."""
        if not self._lines:
            raise ImportProblem(self._path, None, None, "no judgments", "at least one line")


def inside(path: Path, name: str) -> Path:
    """The file itself, or the one of this name (or name.gz) in a folder."""
    if not path.is_dir():
        return path
    for candidate in (path / name, path / f"{name}.gz"):
        if candidate.exists():
            return candidate
    raise ImportProblem(path, None, None, f"a folder without {name}", "that file in it")


def caption_key(key: str, file: Path, line: int) -> tuple[str, int, str]:
    """(image, number, stray suffix) of `image.jpg#2`.

    One key of the released file reads `2258277193_586949ec62.jpg.1#0`: the `.1` is no part of the name.
    """
    match = _CAPTION_ID.fullmatch(check_name(key, file, line, "caption id"))
    if match is None:
        raise ImportProblem(file, line, "caption id", shown(key), "image.jpg#number")
    image = check_image(match["image"], file, line, "caption id")
    return image, int(match["number"]), match["stray"] or ""


def _cells(path: Path, number: int, line: str, width: int, shape: str) -> list[str]:
    cells = line.rstrip("\r\n").split("\t")
    if len(cells) != width:
        raise ImportProblem(path, number, None, counted(len(cells), "cell"), shape)
    return cells


def _unit(image: str, caption: str) -> str:
    unit = f"{image}|{caption}"
    return unit if len(unit) <= SHORT_NAME_LIMIT else hashlib.sha256(unit.encode()).hexdigest()


def _anonymous(
    protocol: str, unit: str, image: str, caption: str, values: list[int]
) -> Iterator[JudgmentRow]:
    for place, value in enumerate(values, 1):
        yield JudgmentRow(
            unit=unit,
            worker=f"anon-{place}",
            value=value,
            protocol=protocol,
            image=image,
            first=caption,
            anonymous=True,
        )
