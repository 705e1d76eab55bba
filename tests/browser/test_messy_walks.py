"""Messy files to an open study and its verdict, by a new researcher in a browser, with counted clicks and wrong turns.

A table has a title above its header, or names its pictures in another spelling; all items of it are asked about.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

from judgments.design.study_design import PURPOSES
from tests.annotation.casting import picture_bytes
from tests.browser.researching import ANIMALS, Counted, looked_at, make_researcher, opens, sign_in_by_hand
from tests.browser.test_walks import CROWD
from tests.installations import Installation
from tests.judgments.results.test_layouts import workbook

MOST_CLICKS, MOST_FIELDS = 10, 5  # to the open study; two clicks more to the verdict
QUALITIES = {"field": 3, "Something": 1}  # of the texts of the two systems
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
    verdict: str  # the results begin with it


WALKS = {
    "pairwise, Excel": MessyWalk(
        excel,
        "systems",
        "Pairwise",
        12,
        "The header is row 3",
        "No winner yet. There is no significant difference between BLIP and GPT-4V",
    ),
    "graded, CSV": MessyWalk(wide, "systems", "Graded", 24, "The header is row 2", "The winner is Modell A"),
    "triplet, Excel": MessyWalk(
        excel, "metrics", "Triplets", 48, "The header is row 3", "No metric is ahead"
    ),
    "relevance, JSON": MessyWalk(
        crowd, "labels", "Relevance", 60, "12 match images", "Items with a consensus: 120 of 120"
    ),
}


def walk_through(me: Walked, walk: MessyWalk, folder: Path) -> str:
    """Return the short name of the open study."""
    page = me.page
    me.follow("Import a dataset")
    me.choose_files("Files", walk.files(folder))
    me.click(page.locator("form[data-upload] .q-primary"))
    expect(page.locator("[name=_design]")).to_be_visible(timeout=30_000)
    expect(page.locator(".q-understood")).to_contain_text(walk.says)
    expect(page.locator(".q-understood")).to_contain_text(
        "The names of 12 pictures have another spelling in the table"
    )
    me.click(page.locator("[name=_design]"))
    answer = page.get_by_role("region", name=PURPOSES[walk.purpose].title)
    expect(answer).to_be_visible(timeout=30_000)
    me.click(answer.get_by_role("link", name=walk.card))
    expect(page.locator("[data-question]")).to_contain_text(f"All items are judged ({walk.asked})")
    me.click(page.locator("button[value=rehearse]"))
    expect(page.locator(".q-point", has_text="simulated participants found")).to_be_visible(timeout=60_000)
    me.press("Fill in the texts")
    expect(page.get_by_text("Participants agree to your consent text before they begin.")).to_be_visible()
    me.press("Generate pages of work")
    opens(me)
    return page.locator("#link").inner_text().rstrip("/").rpartition("/")[2]


def told(capsys: pytest.CaptureFixture[str], name: str, me: Walked, where: str) -> None:
    with capsys.disabled():
        sys.stdout.write(
            f"\n{name:16} | {where:7} | {me.clicks} clicks | {me.fields} fields | {len(me.turns)} wrong turns "
        )


def opened(me: Walked, installation: Installation, folder: Path, name: str) -> str:
    """Walk to the open study as a new researcher; return its short name."""
    account = f"walker-{list(WALKS).index(name)}"
    make_researcher(installation, account)
    sign_in_by_hand(me, installation, account)
    slug = walk_through(me, WALKS[name], folder)
    assert me.turns == []
    assert me.clicks <= MOST_CLICKS
    assert me.fields <= MOST_FIELDS
    assert installation.python(ASKED.format(slug=slug)).split() == ["open", str(WALKS[name].asked), "True"]
    return slug


@pytest.mark.long
def test_messy_files_lead_to_an_open_study_without_a_wrong_turn(
    page: Page, own_installation: Installation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    me = Walked(page)
    opened(me, own_installation, tmp_path, "pairwise, Excel")
    told(capsys, "pairwise, Excel", me, "open")


@pytest.mark.long
@pytest.mark.parametrize("name", WALKS)
def test_messy_files_lead_to_a_verdict_without_a_wrong_turn(
    page: Page, own_installation: Installation, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    me = Walked(page)
    slug = opened(me, own_installation, tmp_path, name)
    told(capsys, name, me, "open")
    own_installation.python(CROWD.format(slug=slug, qualities=QUALITIES))
    me.follow("results")
    me.click(page.get_by_role("button", name="Compute now").first)
    verdict = page.locator(".q-page .q-card").first
    expect(verdict).to_contain_text(WALKS[name].verdict, timeout=60_000)
    told(capsys, name, me, "verdict")
    assert (me.turns, me.clicks <= MOST_CLICKS + 2, me.fields <= MOST_FIELDS) == ([], True, True)


DROP = """([area, names]) => {
    const files = new DataTransfer();
    for (const name of names) files.items.add(new File(["image,caption\\na.jpg,A dog\\n"], name));
    area.dispatchEvent(new DragEvent("drop", {dataTransfer: files, bubbles: true, cancelable: true}));
}"""


@pytest.mark.long
def test_files_are_dropped_listed_and_refused_in_place(page: Page, own_installation: Installation) -> None:
    make_researcher(own_installation, "dropper")
    sign_in_by_hand(Counted(page), own_installation, "dropper")
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
