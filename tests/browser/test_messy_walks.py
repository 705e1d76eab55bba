"""Messy files to an open study, by a new researcher in a browser: clicks, fields and wrong turns are counted.

A table has a title above its header, or names its pictures in another spelling; all items of it are asked about.
"""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

from judgments.design.study_design import PURPOSES
from tests.annotation.casting import picture_bytes
from tests.browser.researching import ANIMALS, Counted, looked_at, make_researcher, opens, sign_in_by_hand
from tests.installations import Installation, Installations
from tests.judgments.results.test_layouts import workbook

MOST_CLICKS, MOST_FIELDS = 10, 5
NAMES = (*ANIMALS, "cat", "fox", "owl", "bear")
PEOPLE = 4
# what says that something went wrong
WRONG = ".q-problems:visible, .q-error:visible, .q-job-failed:visible, .q-lacks:visible"
ASKED = """
from judgments.models import Study
study = Study.objects.get(slug={slug!r})
units = study.units.filter(control=False, filtered=False)
print(study.state, units.count(), study.units.filter(control=True).count() > 0)
"""


class Walked(Counted):
    """A person's page on which wrong turns are counted too: clicks that lead to a problem."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.turns: list[str] = []

    def click(self, what: Locator) -> None:
        super().click(what)
        self.page.wait_for_load_state()
        self.turns += self.page.locator(WRONG).all_inner_texts()


def described(animal: str) -> list[str]:
    """What two people and two systems say of a picture."""
    return [
        f"A {animal} stands in the garden .", f"A {animal} stands beside a tree .", f"A {animal} in a field .",
        f"Something like a {animal} .",
    ]  # fmt: skip


def excel(folder: Path) -> list[FilePayload]:
    """A workbook with a title, an empty row and a header; IMG_3.JPG for a picture img_3.jpg."""
    rows = [["Caption study, March 2026"], [], ["Picture", "Human 1", "Human 2", "BLIP", "GPT-4V"]]
    rows += [[f"IMG_{number}.JPG", *described(animal)] for number, animal in enumerate(NAMES)]
    path = workbook(folder / "Captions final.xlsx", rows)
    return [FilePayload(name=path.name, mimeType="", buffer=path.read_bytes()), *pictures("img_{}.jpg")]


def wide(folder: Path) -> list[FilePayload]:
    """What Excel saves as CSV in German: semicolons, Windows-1252, a title, and a folder before jpeg."""
    rows = [["Übersicht", "", "", "", ""], ["Datei", "Referenz 1", "Referenz 2", "Modell A", "Modell B"]]
    rows += [[f"bilder\\Foto {number}.jpeg", *described(animal)] for number, animal in enumerate(NAMES)]
    text = "\r\n".join(";".join(row) for row in rows)
    return [
        FilePayload(name="Beschreibungen.csv", mimeType="", buffer=text.encode("cp1252")),
        *pictures("Foto {}.JPG"),
    ]


def crowd(folder: Path) -> list[FilePayload]:
    """A list of objects with the ids of a crowd, one for each caption that a person wrote."""
    rows = [
        {
            "HITId": f"H{number}",
            "WorkerId": f"A{person}",
            "Input.image_url": f"photos/IMG_{number}.jpeg",
            "Answer.caption": f"Person {person} sees a {animal} .",
        }
        for number, animal in enumerate(NAMES)
        for person in range(PEOPLE)
    ]
    table = FilePayload(name="batch results.json", mimeType="", buffer=json.dumps(rows).encode())
    return [table, *pictures("img_{}.JPG")]


def pictures(name: str) -> list[FilePayload]:
    return [
        FilePayload(name=name.format(number), mimeType="image/jpeg", buffer=picture_bytes())
        for number in range(len(NAMES))
    ]


@dataclass(frozen=True)
class MessyWalk:
    """Files, the answer to what is to be known, the card below it, and the items that have to be asked about."""

    files: Callable[[Path], list[FilePayload]]
    purpose: str
    card: str
    asked: int
    says: str  # the page of what was understood


WALKS = {
    "pairwise, Excel": MessyWalk(excel, "systems", "Pairwise", 12, "The header is row 3"),
    "graded, CSV": MessyWalk(wide, "systems", "Graded", 24, "The header is row 2"),
    "triplet, Excel": MessyWalk(excel, "metrics", "Triplets", 48, "The header is row 3"),
    "relevance, JSON": MessyWalk(crowd, "labels", "Relevance", 60, "12 match images"),
}


@pytest.fixture(scope="module")
def office(installations: Installations) -> Iterator[Installation]:
    with installations.fresh("sqlite") as installation:
        installation.start_server()
        installation.start_worker()
        yield installation


def walk_through(me: Walked, walk: MessyWalk, folder: Path) -> str:
    """Return the short name of the open study."""
    page = me.page
    me.follow("Import a dataset")
    me.choose_files("Files", walk.files(folder))
    me.click(page.locator("form[data-upload] .q-primary"))
    expect(page.locator("[name=_design]")).to_be_visible(timeout=30_000)
    expect(page.locator(".q-understood")).to_contain_text(walk.says)
    expect(page.locator(".q-understood")).to_contain_text("12 pictures are spelled otherwise in the table")
    me.click(page.locator("[name=_design]"))
    answer = page.get_by_role("region", name=PURPOSES[walk.purpose].title)
    expect(answer).to_be_visible(timeout=30_000)
    me.click(answer.get_by_role("link", name=walk.card))
    expect(page.locator("[data-question]")).to_contain_text(f"All {walk.asked} items")
    me.click(page.locator("button[value=rehearse]"))
    expect(page.locator(".q-point", has_text="simulated participants recovered")).to_be_visible(
        timeout=60_000
    )
    me.press("Fill in the texts")
    me.press("Generate pages of work")
    opens(me)
    return page.locator("#link").inner_text().rstrip("/").rpartition("/")[2]


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] if number else []) for number, name in enumerate(WALKS)],
)
def test_messy_files_lead_to_an_open_study_without_a_wrong_turn(
    page: Page, office: Installation, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    account = f"walker-{list(WALKS).index(name)}"
    make_researcher(office, account)
    me = Walked(page)
    sign_in_by_hand(me, office, account)
    slug = walk_through(me, WALKS[name], tmp_path)
    with capsys.disabled():
        sys.stdout.write(
            f"\n{name:16} | {me.clicks} clicks | {me.fields} fields | {len(me.turns)} wrong turns "
        )
    assert me.turns == []
    assert me.clicks <= MOST_CLICKS
    assert me.fields <= MOST_FIELDS
    assert office.python(ASKED.format(slug=slug)).split() == ["open", str(WALKS[name].asked), "True"]


DROP = """([area, names]) => {
    const files = new DataTransfer();
    for (const name of names) files.items.add(new File(["image,caption\\na.jpg,A dog\\n"], name));
    area.dispatchEvent(new DragEvent("drop", {dataTransfer: files, bubbles: true, cancelable: true}));
}"""


@pytest.mark.long
def test_files_are_dropped_listed_and_refused_in_place(page: Page, office: Installation) -> None:
    make_researcher(office, "dropper")
    sign_in_by_hand(Counted(page), office, "dropper")
    page.get_by_role("link", name="Import a dataset").first.click()
    area = page.locator("[data-drop]").element_handle()
    page.evaluate(DROP, [area, ["table.csv", ".DS_Store"]])
    page.evaluate(DROP, [area, ["more.zip"]])
    expect(page.locator("[data-files] li")).to_have_count(2)
    expect(page.get_by_role("status").first).to_contain_text("2")
    looked_at(page)
    page.locator("form[data-upload] .q-primary").click()
    expect(page.locator(".q-error")).to_contain_text("more.zip")  # no archive: said in its place
    for _ in range(2):  # as from two folders
        page.evaluate(DROP, [page.locator("[data-drop]").element_handle(), ["table.csv"]])
    expect(page.locator("[data-files] li")).to_have_count(2)
    page.locator("form[data-upload] .q-primary").click()
    expect(page.locator(".q-error")).to_contain_text("table.csv")  # neither takes the other's place
    page.evaluate(DROP, [page.locator("[data-drop]").element_handle(), ["table.csv"]])
    page.locator("form[data-upload] .q-primary").click()
    expect(page.locator("[name=_design]")).to_be_visible()
    page.reload()
    expect(page.locator("[name=_design]")).to_be_visible()
