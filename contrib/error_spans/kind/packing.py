"""Fill pages of work with groups of units that must stay together, such as documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from judgments.drawing.draws import shuffle
from judgments.drawing.material import Group

MAX_OPEN_PAGES = 50  # number of pages, which are not full, that are searched for space


@dataclass(slots=True)
class _Page:
    """A page of work while it is filled.

    Attributes:
        free_units: number of units that can still be added. It is negative if a single group is too long.
    """

    free_units: int
    groups: list[Group] = field(default_factory=list)

    def can_hold(self, group: Group) -> bool:
        has_other_images = all(page_group.image != group.image for page_group in self.groups)
        return len(group.units) <= self.free_units and has_other_images

    def add(self, group: Group) -> None:
        self.groups.append(group)
        self.free_units -= len(group.units)


def pack_groups(groups: Sequence[Group], *, size: int, rng: np.random.Generator) -> list[list[Group]]:
    """Fill pages of up to ``size`` units with whole groups; a longer group gets a page of its own.

    The order is random. No page has two groups of the same image.
    """
    pages: list[_Page] = []
    open_pages: list[_Page] = []
    for group in shuffle(groups, rng):
        page = next((page for page in open_pages if page.can_hold(group)), None)
        if page is None:
            page = _Page(free_units=size)
            pages.append(page)
            open_pages.append(page)
        page.add(group)
        open_pages = [page for page in open_pages if page.free_units > 0][-MAX_OPEN_PAGES:]
    return [page.groups for page in pages]
