"""The table of docs/api.md that says where each page's data is: complete, and made of calls that exist."""

from __future__ import annotations

import re
from pathlib import Path

from drf_spectacular.generators import SchemaGenerator

from judgments.studies.study_page import PAGES

DOCS = Path("docs/api.md")


def table() -> dict[str, list[str]]:
    """Page -> its calls."""
    part = DOCS.read_text(encoding="utf-8").split("## Where each page's data is", 1)[1].split("\n## ", 1)[0]
    found: dict[str, list[str]] = {}
    for line in part.splitlines():
        if line.startswith("| `"):
            pages, calls = (re.findall(r"`([^`]+)`", cell) for cell in line.strip("|").split("|"))
            for page in pages:
                assert page not in found, page
                found[page] = calls
    return found


def test_the_data_of_every_page_of_a_study_has_a_call() -> None:
    assert set(table()) == set(PAGES)
    assert all(table().values())


def test_every_call_in_the_table_is_in_the_schema() -> None:
    schema = SchemaGenerator().get_schema(request=None, public=True)
    named = {call for calls in table().values() for call in calls}
    assert named - set(schema["paths"]) == set()
