"""Find the line of a key in a study file."""

from __future__ import annotations

import re

TABLE_HEADER = re.compile(r"\s*\[\[?\s*([\w.-]+)\s*\]")
KEY_ASSIGNMENT = re.compile(r"\s*([\w.-]+)\s*=")


def line_of(text: str, key: str) -> int:
    """Return the line number, from 1, of a dotted key or, if the file lacks it, of the innermost table around it.

    Return 0 if the file has none of them.
    """
    lines: dict[str, int] = {}
    table, inside_text = "", False
    for number, line in enumerate(text.splitlines(), start=1):
        if not inside_text and (header := TABLE_HEADER.match(line)):
            table = header[1]
            lines.setdefault(table, number)
        elif not inside_text and (assignment := KEY_ASSIGNMENT.match(line)):
            lines.setdefault(f"{table}.{assignment[1]}" if table else assignment[1], number)
        # a text of several lines begins and ends with three quotes
        inside_text ^= line.count('"""') % 2 == 1
    # the key of a problem has the number of a table's row; the file has no such numbers
    key = ".".join(name for name in key.split(".") if not name.isdecimal())
    while key and key not in lines:
        key = key.rpartition(".")[0]
    return lines.get(key, 0)
