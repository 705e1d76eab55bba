"""Find the line of a key in a study file."""

from __future__ import annotations

import re

TABLE_HEADER = re.compile(r"\s*\[\[?\s*([\w.-]+)\s*\]")
KEY_ASSIGNMENT = re.compile(r"\s*([\w.-]+)\s*=")


def line_of(text: str, key: str) -> int:
    """Return the line number, from 1, of a dotted key in a study file.

    If the file does not have the key, return the line of the innermost table around it, or 0 if there is none.
    """
    lines: dict[str, int] = {}  # line numbers by dotted key
    table, inside_text = "", False  # whether the line is part of a text of several lines
    for number, line in enumerate(text.splitlines(), start=1):
        if not inside_text and (header := TABLE_HEADER.match(line)):
            table = header[1]
            lines.setdefault(table, number)
        elif not inside_text and (assignment := KEY_ASSIGNMENT.match(line)):
            lines.setdefault(f"{table}.{assignment[1]}" if table else assignment[1], number)
        # a text of several lines begins and ends with three quotes
        if line.count('"""') % 2 == 1:
            inside_text = not inside_text
    # the keys of errors have the numbers of rows, such as "examples.2.image", but the file has no numbers
    key = ".".join(name for name in key.split(".") if not name.isdecimal())
    while key and key not in lines:
        key = key.rpartition(".")[0]
    return lines.get(key, 0)
