"""Find the header of a table below a title."""

from __future__ import annotations

from collections.abc import Collection, Sequence

MAX_HEADER_LINES = 10  # first lines that are searched for the header


def header_line(lines: Sequence[tuple[int, Sequence[str]]], column_names: Collection[str] = ()) -> int:
    """Return the line of the header among the first lines of a table; 0 if no line has a text.

    An empty line is not a header. A line with a single text above a line with several texts is a title, with two
    exceptions: the text is one of ``column_names``, or it is in the second of two columns. The first column may then
    have row numbers and no name.

    Args:
        lines: pairs of line number and cells.
        column_names: names of columns that are probably in the header, in lower case.
    """
    stripped_lines = [(number, [cell.strip() for cell in cells]) for number, cells in lines]
    filled_lines = [(number, cells) for number, cells in stripped_lines if any(cells)]
    max_text_count = max((sum(map(bool, cells)) for _, cells in filled_lines), default=0)
    for number, cells in filled_lines:
        may_be_title = sum(map(bool, cells)) == 1 and max_text_count > 1
        names_second_column = max_text_count == 2 and not cells[0]
        is_column_name = "".join(cells).lower() in column_names
        if not may_be_title or names_second_column or is_column_name:
            return number
    return 0
