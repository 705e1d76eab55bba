"""Compare names that may be spelled differently: names of images and of files, and labels that look alike."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath

from common.incoming import compose_name, quote_value
from judgments.importers.records.record import Record

MAX_LABELS = 10_000  # a column with more different labels has ids, not names that somebody typed
_PICTURE_SUFFIX = re.compile(r"\.(jpe?g|png|gif|webp|tiff?|bmp)$")
_BLANKS = re.compile(r"[\s_]+")


class Lookalikes:
    """Finds labels that differ from an earlier label only in case, blanks or type."""

    def __init__(self) -> None:
        self._labels: set[tuple[type, str | float]] = set()
        self._first_by_plain_text: dict[str, str | float] = {}  # by the label's text without blanks and case

    def earlier_label(self, label: str | float) -> str | float | None:
        """Return the earlier label that a new label looks like; None if there is none, or if the label is not new."""
        key = (type(label), label)
        if key in self._labels or len(self._labels) == MAX_LABELS:
            return None
        self._labels.add(key)
        plain_text = _BLANKS.sub("", str(label)).casefold()
        first_label = self._first_by_plain_text.setdefault(plain_text, label)
        return None if (type(first_label), first_label) == key else first_label


class ImageNames:
    """The image names of a dataset. If ``names`` is None, there is no dataset, and ``check`` accepts any name."""

    def __init__(self, names: Container[str] | None = None) -> None:
        self._names = names

    def __contains__(self, name: str) -> bool:
        return self._names is not None and name in self._names

    @cached_property
    def _names_by_comparable_name(self) -> dict[str, list[str]]:
        names_by_comparable_name: defaultdict[str, list[str]] = defaultdict(list)
        names: Iterable[str] = self._names if isinstance(self._names, Iterable) else ()
        for name in names:
            names_by_comparable_name[_comparable_name(name)].append(name)
        return names_by_comparable_name

    def name_of(self, name: str) -> str:
        """Return the image name that ``name`` stands for, which may differ in case, blanks and file extension.

        If it is an image name itself, or if there is not exactly one such name, return ``name``.
        """
        if name in self:
            return name
        similar_names = self._names_by_comparable_name.get(_comparable_name(name), [])
        return similar_names[0] if len(similar_names) == 1 else name

    def check(self, record: Record, name: str) -> None:
        """Raise ImportProblem if the dataset has no such image."""
        if self._names is not None and name not in self:
            similar_name = self.name_of(name)
            hint = f" (--match-names takes it for {similar_name!r})" if similar_name != name else ""
            raise record.problem("image", quote_value(name), f"an image of the dataset{hint}")


@dataclass(slots=True)
class PictureMatches:
    """The picture files that belong to the names in a table.

    Attributes:
        files: the file of each name.
        respelled_names: the names that are spelled differently from the name of their file.
        unclear_names: the names for which several files are possible, with these files, and the names that share one
            possible file with other names, with these names.
    """

    files: dict[str, str] = field(default_factory=dict)
    respelled_names: list[str] = field(default_factory=list)
    unclear_names: dict[str, list[str]] = field(default_factory=dict)


def find_pictures(names: Collection[str], files: Collection[str]) -> PictureMatches:
    """Match picture names with files.

    Without an exact match, ignore case, folder, blanks and ending, and treat jpg and jpeg alike.
    """
    file_names = set(files)
    pictures = PictureMatches({name: name for name in names if name in file_names})
    # The files by coarser and coarser forms of their names. The first form in which a name has matching files counts.
    indexes: list[tuple[Callable[[str], str], defaultdict[str, list[str]]]] = []
    if len(pictures.files) < len(set(names)):
        for form_of in (_normal_name, _without_folder, _without_ending):
            index: defaultdict[str, list[str]] = defaultdict(list)
            for file in files:
                index[form_of(file)].append(file)
            indexes.append((form_of, index))
    names_by_file: defaultdict[str, list[str]] = defaultdict(list)
    for name in dict.fromkeys(names):
        if name not in pictures.files:
            matches_by_form = (index.get(form_of(name)) for form_of, index in indexes)
            matching_files = next(filter(None, matches_by_form), [])
            if len(matching_files) == 1:
                pictures.files[name] = matching_files[0]
                pictures.respelled_names.append(name)
            elif matching_files:
                pictures.unclear_names[name] = matching_files
        if name in pictures.files:
            names_by_file[pictures.files[name]].append(name)
    for similar_names in names_by_file.values():
        if len(similar_names) == 1:
            continue
        # of several names for one file, only the exact one is clear
        for name in set(similar_names) & set(pictures.respelled_names):
            pictures.unclear_names[name] = [twin for twin in similar_names if twin != name]
            pictures.respelled_names.remove(name)
            del pictures.files[name]
    return pictures


def is_picture_name(name: str) -> bool:
    """Return whether a name ends like a picture file."""
    return bool(_PICTURE_SUFFIX.search(name.casefold()))


def _normal_name(name: str) -> str:
    """Return a name in lower case, with slashes between folders, and with the ending jpg instead of jpeg."""
    return re.sub(r"\.jpeg$", ".jpg", compose_name(name).replace("\\", "/").strip().casefold())


def _without_folder(name: str) -> str:
    return PurePosixPath(_normal_name(name)).name


def _without_ending(name: str) -> str:
    return _BLANKS.sub("_", _PICTURE_SUFFIX.sub("", _without_folder(name)))


def _comparable_name(name: str) -> str:
    """Return a name in lower case without blanks and without the ending of a picture file."""
    return _BLANKS.sub("", _PICTURE_SUFFIX.sub("", compose_name(name).strip().casefold()))
