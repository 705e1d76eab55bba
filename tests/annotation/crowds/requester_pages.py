"""The requester pages in small: a template and an input file in, a result file out."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

from tests.judgments.mturk.result_files import ROW, csv_file

TICKED = ("radio", "checkbox")


@dataclass
class Page(HTMLParser):
    """A HIT as a browser has it: its fields, its pictures and its text."""

    fields: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    kinds: dict[str, str] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    pictures: list[str] = field(default_factory=list)
    text: str = ""

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note inputs and pictures."""
        given = dict(attrs)
        self.hidden += tag in ("style", "script")
        if tag == "img":
            self.pictures.append(given.get("src") or "")
        name = given.get("name")
        if tag in ("input", "textarea", "select") and name:
            self.fields[name].append(given.get("value") or "")
            self.kinds[name] = (given.get("type") or "text") if tag == "input" else "text"
            if "required" in given:
                self.required.add(name)

    def handle_endtag(self, tag: str) -> None:
        """Leave what is not shown."""
        self.hidden -= tag in ("style", "script")

    def handle_data(self, data: str) -> None:
        """Text that is shown."""
        if not self.hidden:
            self.text += data


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of an input file."""
    with path.open(encoding="ascii", newline="") as stream:
        return list(csv.DictReader(stream))


def page_of(template: str, row: Mapping[str, str]) -> Page:
    """A HIT's page: every field of the template filled in as it is."""
    page = Page()
    page.feed(re.sub(r"\$\{(\w+)\}", lambda found: row[found[1]], template))
    page.close()
    return page


Chooser = Callable[[str, list[str]], str]


def first_value(name: str, values: list[str]) -> str:
    """The first of a radio button's values (of the worst, the second), nothing in a box called "none"."""
    if name.startswith("none"):
        return ""
    return values[1] if name.endswith("-worst") else values[0]


WRITTEN = {"number": "70", "text": "Two people walk along the pier ."}


def answers_on(page: Page, choose: Chooser) -> dict[str, str]:
    """What a crowd-form hands in: radio buttons and boxes as one true or false each, else the text."""
    answers: dict[str, str] = {}
    for name, values in page.fields.items():
        chosen = values[0] if page.kinds[name] == "hidden" else choose(name, values)
        if page.kinds[name] in TICKED:
            answers |= {f"Answer.{name}.{value}": str(value == chosen).lower() for value in values}
        else:
            answers[f"Answer.{name}"] = chosen or WRITTEN.get(page.kinds[name], "")
    return answers


def worked_row(
    template: str, row: Mapping[str, str], *, worker: str, choose: Chooser = first_value, **cells: str
) -> dict[str, str]:
    """One assignment of the result file."""
    own = {name: cell for name, cell in ROW.items() if not name.startswith(("Input.", "Answer."))}
    own |= {
        "HITId": f"3HIT-{row['quorum_hit']}"[:30],
        "AssignmentId": f"3A-{worker}-{row['quorum_hit']}"[:40],
        "WorkerId": worker,
    }
    own |= {f"Input.{name}": cell for name, cell in row.items()}
    return own | answers_on(page_of(template, row), choose) | cells


def results_of(folder: Path, *rows: Mapping[str, str]) -> Path:
    """The result file."""
    return csv_file(folder, *rows)
