"""The calls of the schema: on their pages, and in the table that says where each page's data is."""

import csv
import re
from html import unescape
from pathlib import Path

import pytest
from django.test import Client
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


@pytest.mark.long
def test_every_call_is_on_the_page_of_all_and_on_that_of_its_tag_with_its_members() -> None:
    schema = SchemaGenerator().get_schema(request=None, public=True)
    browser = Client(headers={"accept-language": "de"})  # the calls and what is said of them are English
    page = browser.get("/api/docs/")
    assert "unsafe-inline" not in page["Content-Security-Policy"]
    for path, calls in schema["paths"].items():
        for method in calls:
            assert f"<code>{method.upper()} {path}</code>" in page.text
    joining = schema["components"]["schemas"]["JoinRequest"]["properties"]
    for tag in {call["tags"][0] for calls in schema["paths"].values() for call in calls.values()}:
        text = browser.get(f"/api/docs/{tag}/").text
        assert '<html lang="en">' in text
        assert "`" not in text, tag  # marks of the descriptions became code
        anchors = re.findall(r' id="([^"]+)"', text)
        assert len(anchors) == len(set(anchors)), tag
        assert set(re.findall(r'href="#(\w+)"', text)) <= set(anchors), tag  # what is named is there
        if tag == "worker":
            assert set(joining) <= set(re.findall(r"<dt><code>(\w+)</code>", text))
            assert "No attempt is left." in unescape(text)
    assert browser.get("/api/docs/nothing/").status_code == 404


@pytest.mark.parametrize(
    ("status", "path"), [("409", "/api/assignments/{id}/"), ("404", "/api/assignments/{id}/")]
)
def test_every_error_of_a_call_is_said_in_words(status: str, path: str) -> None:
    schema = SchemaGenerator().get_schema(request=None, public=True)
    assert schema["paths"][path]["patch"]["responses"][status]["description"]
