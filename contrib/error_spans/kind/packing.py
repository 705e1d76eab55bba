"""Fill pages of work with groups of units that must stay together, such as documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from judgments.drawing.draws import shuffle
from judgments.drawing.material import Group

MAX_OPEN_PAGES = 50  # unfilled pages that are searched for room


@dataclass(slots=True)
class _Page:
    """A page with its groups. ``room`` is the number of units that can still be added."""

    room: int
    groups: list[Group] = field(default_factory=list)

    def has_room_for(self, group: Group) -> bool:
        return len(group.units) <= self.room and all(other.image != group.image for other in self.groups)

    def add(self, group: Group) -> None:
        self.groups.append(group)
        self.room -= len(group.units)


def pack_groups(groups: Sequence[Group], *, size: int, rng: np.random.Generator) -> list[list[Group]]:
    """Fill pages of up to ``size`` units with whole groups; a longer group gets a page of its own.

    The order is random. No page has two groups of the same image.
    """
    pages: list[_Page] = []
    open_pages: list[_Page] = []
    for group in shuffle(groups, rng):
        page = next((page for page in open_pages if page.has_room_for(group)), None)
        if page is None:
            page = _Page(room=size)
            pages.append(page)
            open_pages.append(page)
        page.add(group)
        open_pages = [page for page in open_pages if page.room > 0][-MAX_OPEN_PAGES:]
    return [page.groups for page in pages]
