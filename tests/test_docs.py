"""The documentation leads somewhere: its links, its pictures, and the commands it names."""

import csv
import re
from pathlib import Path

import pytest
from django.core.management import get_commands

from config.commands import all_commands
from quorum.command import split_words
from quorum.subcommands import COMMANDS_OUTSIDE_DJANGO
from scripts import stale

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(
    [
        *(ROOT / "README.md", ROOT / "demo" / "README.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "contrib").glob("*/README.md"),
    ]
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_and_pictures_are_there(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
    linked = {(page.parent / target).resolve() for target in targets}
    assert [path for path in linked if not path.exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_headings_find_them(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|mailto:)([^)#\s]*)#([^)\s]+)\)", page.read_text(encoding="utf-8"))
    linked = [((page.parent / file).resolve() if file else page, anchor) for file, anchor in targets]
    assert [link for link in linked if link[1] not in anchors(link[0])] == []


def anchors(page: Path) -> set[str]:
    """The names under which GitHub shows the headings of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ +(.+?)\s*$", text, re.M)
    shown = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings)
    return {re.sub(r"[^\w\- ]", "", one).replace(" ", "-") for one in shown}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_that_are_named_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"manage\.py ([a-z][a-z_0-9]+)", text))
    typed = {split_words(line.split())[0] for line in re.findall(r"^quorum ([a-z].*)", text, re.M)}
    assert named - set(get_commands()) == set()
    assert typed - set(get_commands()) - all_commands().names.keys() - COMMANDS_OUTSIDE_DJANGO.keys() == set()


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.parent.name == "decisions"], ids=lambda page: page.stem
)
def test_a_decision_has_context_decision_and_consequences(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    assert re.findall(r"^\*\*(\w+)\.\*\*", text, re.M) == ["Context", "Decision", "Consequences"]
    assert len(re.findall(r"^#", text, re.M)) == 1


def test_what_is_said_to_be_somewhere_is_there() -> None:
    page = (ROOT / "docs" / "where.md").read_text(encoding="utf-8")
    named = {place for place in re.findall(r"`([a-z_./]+)`", page) if "/" in place}
    assert named
    assert [place for place in sorted(named) if not (ROOT / place).exists()] == []


def test_the_readme_names_both_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make run" in text
    assert "make test" in text


def test_the_readme_repeats_the_table_of_the_pack() -> None:
    with (ROOT / "docs" / "figures" / "papers" / "v15-accuracy-numbers.csv").open(encoding="utf-8") as file:
        rows = [
            row for row in csv.reader(file) if re.match(r"accuracy of CIDEr on .. pairs of PASCAL", row[1])
        ]
    published, ours = ([row[column].split("\u00a0")[0] for row in rows] for column in (2, 3))
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"accuracy is {', '.join(ours[:-1])} and {ours[-1]} % for HC, HI, HM and MM pairs" in text
    assert f"table 1: {', '.join(published)})" in text


def test_a_number_of_a_page_that_no_code_is_named_for_is_told() -> None:
    assert stale.unknown_figures(
        stale.pages() | {"contrib/arena/README.md": "In simulations .9 of 10 are right."}
    ) == [
        "contrib/arena/README.md | off by .302, with weights by .017",
        "contrib/arena/README.md: In simulations .9 of 10 are right.",
    ]


def test_measured_figures_name_the_code_that_they_measure() -> None:
    assert stale.unknown_figures(stale.pages()) == []
    paths = [path for row in stale.read_measured_rows() for path in row["modules"].split()]
    assert [path for path in paths if not (ROOT / path).exists()] == []
