"""Find the header of a table below a title."""

from __future__ import annotations

from collections.abc import Collection, Sequence

MAX_LINES = 10  # first lines that are searched for the header


def header_line(lines: Sequence[tuple[int, Sequence[str]]], known: Collection[str] = ()) -> int:
    """Return the line of the header among the first lines of a table; 0 if no line has a text.

    An empty line is not a header. A line with one text above a line with several texts is a title, unless the text is
    a ``known`` column name. In a table of two columns, the first column may have row numbers and no name.
    """
    texts = [(number, [cell.strip() for cell in cells]) for number, cells in lines]
    filled = [(number, cells) for number, cells in texts if any(cells)]
    widest = max((sum(map(bool, cells)) for _, cells in filled), default=0)
    for number, cells in filled:
        alone = sum(map(bool, cells)) == 1 < widest and (cells[0] or widest > 2)
        if not alone or "".join(cells).lower() in known:
            return number
    return 0
