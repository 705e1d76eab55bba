"""The documentation leads somewhere: its links, its pictures, and the commands it names."""

import re
from pathlib import Path

import pytest
from django.core.management import get_commands

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "demo" / "README.md", *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_and_pictures_are_there(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
    made = re.findall(r"reference/[a-z-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    lost = {target for target in targets if not (page.parent / target).exists()}
    assert lost - set(made if page.parent.name == "docs" else ()) == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_headings_find_them(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|mailto:)([^)#\s]*)#([^)\s]+)\)", page.read_text(encoding="utf-8"))
    lost = [
        f"{file}#{anchor}"
        for file, anchor in targets
        if anchor not in anchors((page.parent / file) if file else page)
    ]
    assert lost == []


def anchors(page: Path) -> set[str]:
    """The names under which GitHub shows the headings of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ +(.+?)\s*$", text, re.M)
    shown = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings)
    return {re.sub(r"[^\w\- ]", "", one).replace(" ", "-") for one in shown}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_that_are_named_exist(page: Path) -> None:
    named = set(
        re.findall(r"(?:manage\.py|^quorum) ([a-z][a-z_0-9]+)", page.read_text(encoding="utf-8"), re.M)
    )
    assert named - set(get_commands()) == set()


def test_the_readme_names_both_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make run" in text
    assert "make test" in text
