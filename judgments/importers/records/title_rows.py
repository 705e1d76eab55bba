"""Find the header of a table below a title."""

from __future__ import annotations

from collections.abc import Collection, Sequence

MAX_HEADER_LINES = 10  # first lines that are searched for the header


def header_line(lines: Sequence[tuple[int, Sequence[str]]], column_names: Collection[str] = ()) -> int:
    """Return the line of the header among the first lines of a table; 0 if no line has a text.

    An empty line is not a header. A line with one text above a line with several texts is a title, unless the text is
    one of ``column_names``. In a table of two columns, the first column may have row numbers and no name.
    """
    stripped_lines = [(number, [cell.strip() for cell in cells]) for number, cells in lines]
    filled_lines = [(number, cells) for number, cells in stripped_lines if any(cells)]
    max_text_count = max((sum(map(bool, cells)) for _, cells in filled_lines), default=0)
    for number, cells in filled_lines:
        has_single_text = sum(map(bool, cells)) == 1 and max_text_count > 1
        names_second_column = max_text_count == 2 and not cells[0]
        is_known = "".join(cells).lower() in column_names
        if not has_single_text or names_second_column or is_known:
            return number
    return 0
