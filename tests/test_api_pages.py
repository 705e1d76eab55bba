"""The table that says where each page's data is: complete, and made of calls that exist."""

from __future__ import annotations

import csv
from pathlib import Path

from drf_spectacular.generators import SchemaGenerator

from judgments.studies.study_page import PAGES

TABLE = Path("docs/figures/pages.csv")


def table() -> dict[str, list[str]]:
    """Page -> its calls."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len({row["page"] for row in rows}) == len(rows)
    return {row["page"]: row["calls"].split() for row in rows}


def test_the_data_of_every_page_of_a_study_has_a_call() -> None:
    assert set(table()) == set(PAGES)
    assert all(table().values())


def test_every_call_in_the_table_is_in_the_schema() -> None:
    schema = SchemaGenerator().get_schema(request=None, public=True)
    named = {call for calls in table().values() for call in calls}
    assert named - set(schema["paths"]) == set()
