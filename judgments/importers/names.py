"""Match names of images that differ in case, blanks and ending, and notice labels that differ in nothing else."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from common.incoming import compose_name

MOST_LABELS = 10_000  # a column of more has ids, not names that somebody typed
_ENDING = re.compile(r"\.(jpe?g|png|gif|webp|tiff?|bmp)$")
_BLANKS = re.compile(r"[\s_]+")


class Lookalikes:
    """Notice labels that differ from an earlier one in case, blanks or type alone."""

    def __init__(self) -> None:
        self._labels: set[tuple[type, str | float]] = set()
        self._by_core: dict[str, str | float] = {}

    def earlier(self, label: str | float) -> str | float | None:
        """Return the first label that this one is like, when it is met first; else None."""
        if (key := (type(label), label)) in self._labels or len(self._labels) == MOST_LABELS:
            return None
        self._labels.add(key)
        first = self._by_core.setdefault(_BLANKS.sub("", str(label)).casefold(), label)
        return None if (type(first), first) == key else first


class NamesOfImages:
    """The names of a dataset's images, found again without regard to case, blanks and file extension."""

    def __init__(self, names: object) -> None:
        self._by_core: defaultdict[str, list[str]] = defaultdict(list)
        for name in names if isinstance(names, Iterable) else ():
            self._by_core[_comparable_name(name)].append(name)

    def name_of(self, name: str) -> str:
        """Return the only image that a name may mean; the name itself if there is none, or several."""
        names = self._by_core.get(_comparable_name(name), [])
        return names[0] if len(names) == 1 else name

    def expected(self, name: str) -> str:
        """Return what was expected instead of a name that none of the images has."""
        near = self.name_of(name)
        return "an image of the dataset" + (f" (--match-names takes it for {near!r})" if near != name else "")


def _comparable_name(name: str) -> str:
    return _BLANKS.sub("", _ENDING.sub("", compose_name(name).strip().casefold()))
