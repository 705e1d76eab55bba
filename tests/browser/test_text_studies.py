"""A study of translations or summaries speaks of these on each of its pages, from the upload to the verdict."""

import csv
import re
from collections import deque

import pytest
from playwright.sync_api import FilePayload, Page

from tests.browser.researching import Counted, make_researcher, sign_in_by_hand
from tests.installations import Installation

OF_PICTURES = re.compile(r"(?i).{0,60}\b(?:captions?|pictures?|images?|photos?|photographs?)\b.{0,60}")
# What a page says, with its folded parts, but for code, names of columns, and the choice to judge captions.
SAID = """() => {
    const page = document.querySelector("main.q-page").cloneNode(true);
    page.querySelectorAll("details").forEach((one) => { one.open = true; });
    const left = "code, pre, textarea, script, noscript, style, option[value=caption], [lang=en]";
    page.querySelectorAll(left).forEach((one) => one.remove());
    const names = ["title", "aria-label", "placeholder", "alt"];
    const named = [...page.querySelectorAll("*")].flatMap((one) => names.map((name) => one.getAttribute(name)));
    return page.textContent + named.filter(Boolean).join("\\n");
}"""
DRAWN = "document.querySelectorAll('main .t-picture, main .t-hill').length"
CROWD = """
from django.core.management import call_command
from judgments.models import Study
for command in ("rehearse", "aggregate", "evaluate"):
    call_command(command, Study.objects.get(pk={pk}).slug)
"""
SOURCES = (
    (
        "The council of {} met on Monday evening.",
        "Der Rat von {} tagte am Montagabend.",
        "Der Stadtrat kam zusammen.",
    ),
    (
        "The bridge near {} is closed until May.",
        "Die Brücke bei {} ist bis Mai gesperrt.",
        "Sie ist nicht offen.",
    ),
    (
        "Nobody in {} was injured in the fire.",
        "Bei dem Brand in {} wurde niemand verletzt.",
        "Es brannte wohl.",
    ),
)
TOWNS = ("Lund", "Gent", "Bari", "Kiel")


def table_of(kind: str) -> FilePayload:
    """Source texts with a reference and the texts of two systems, in a row for each."""
    rows = [["source", "reference", "keen", "poor"]]
    for source, good, poor in SOURCES:
        for town in TOWNS:
            if kind == "translation":
                texts = [good.format(town) + " So heißt es.", good.format(town), f"{poor} Auch {town}."]
                rows.append([source.format(town), *texts])
            else:
                document = (
                    " ".join(part.format(town) for part, _, _ in SOURCES) + f" Said of {source.format(town)}"
                )
                rows.append(
                    [document, source.format(town), source.format(town)[:-1], f"Nobody met in {town}."]
                )
    lines: list[str] = []
    csv.writer(type("Lines", (), {"write": staticmethod(lines.append)})()).writerows(rows)
    return FilePayload(name=f"{kind}s.csv", mimeType="text/csv", buffer="".join(lines).encode())


def speaks_of_texts(page: Page, of: str) -> None:
    page.locator("main.q-page").wait_for()
    said = re.sub(r"\b\d+-images\b|\S+[|]\S+", "", page.evaluate(SAID))  # signatures
    found = OF_PICTURES.findall(said)
    assert not found, (found, of, page.url)
    assert page.evaluate(DRAWN) == 0, (of, page.url)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["translation", pytest.param("summary", marks=pytest.mark.long)])
def test_no_page_of_a_study_of_texts_speaks_of_pictures(
    page: Page, empty_installation: Installation, kind: str
) -> None:
    name = f"ida-{kind}"
    make_researcher(empty_installation, name)
    researcher = Counted(page)
    sign_in_by_hand(researcher, empty_installation, name)
    researcher.follow("Import a dataset")
    researcher.choose_files("Files", [table_of(kind)])
    page.locator("form .q-primary").click()
    page.locator(".q-understood").wait_for()
    speaks_of_texts(page, "what was understood")
    page.get_by_role("button", name="Import", exact=True).click()
    researcher.page.get_by_role("link", name="Design a study with this dataset").wait_for()
    speaks_of_texts(page, "what came of it")
    researcher.follow("Design a study with this dataset")
    speaks_of_texts(page, "the cards of protocols")
    designs = page.locator(".q-protocol a").evaluate_all("(links) => links.map((one) => one.href)")
    assert kind in page.locator(".q-protocol h5").first.inner_text()
    for address in sorted({re.sub("&purpose=.*", "", address) for address in designs}):
        page.goto(address, wait_until="networkidle")  # the preview is drawn
        speaks_of_texts(page, "a design")
    page.goto(next(address for address in designs if "graded" in address))
    with page.expect_navigation():
        researcher.press("Save and rehearse")
    root = page.url.removesuffix("launch/")
    speaks_of_texts(page, "the checklist")
    with page.expect_navigation():
        researcher.press("Generate pages of work")
    empty_installation.python(CROWD.format(pk=root.split("/")[-2]))
    waiting, seen = deque([f"{root}results/"]), set()
    while waiting:
        page.goto(waiting.popleft())
        seen.add(page.url)
        speaks_of_texts(page, "a page of the study")
        for address in page.locator(".q-groups a, .q-tabs a").evaluate_all(
            "(links) => links.map((one) => one.href)"
        ):
            if address not in seen and address not in waiting and address.startswith(root):
                waiting.append(address)
    assert len(seen) > 15
