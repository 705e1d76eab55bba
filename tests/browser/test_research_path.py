"""From a question to a publishable table, all of it in browsers: one researcher without further rights, two workers."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.researching import (
    ANIMALS,
    GOOD,
    POOR,
    candidates,
    looked_at,
    make_researcher,
    pictures,
    references,
    sign_in,
)
from tests.browser.working import NewPage
from tests.installations import Installation, Installations


@pytest.fixture(scope="module")
def office(installations: Installations) -> Iterator[Installation]:
    """An installation that holds nothing, with a server and a background worker."""
    with installations.fresh("sqlite") as installation:
        installation.start_server()
        installation.start_worker()
        yield installation


def tab(page: Page, group: str, name: str) -> None:
    """Another page of the study, by the two lines of its navigation."""
    pages = page.get_by_role("navigation", name="Pages of this study")
    pages.get_by_role("link", name=group, exact=True).click()
    expect(page.locator(".q-groups [aria-current]")).to_have_text(group)
    page.locator(".q-tabs").get_by_role("link", name=name, exact=True).click()
    expect(page.locator(".q-tabs [aria-current=page]")).to_have_text(name)


def uploaded(page: Page, dataset: str) -> None:
    """The job's page, and from it to the dataset."""
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("heading", name="What came of it")).to_be_visible()
    page.get_by_role("link", name=f"Go to {dataset}").click()
    expect(page.get_by_role("heading", name=dataset, exact=True)).to_be_visible()


def judge(page: Page) -> None:
    """A page of work: the caption that says more, but not of the zebra."""
    expect(page.locator("[data-count]")).to_have_text("1 of 4")  # the page before showed its last step
    page.wait_for_load_state()  # its scripts ran
    for number in range(1, 5):
        expect(page.locator("[data-count]")).to_have_text(f"{number} of 4")
        step = page.locator("[data-step]:visible")
        wanted = POOR if step.locator(".choice", has_text="zebra").count() else GOOD
        step.locator(".choice", has_text=wanted).click()
    page.get_by_role("button", name="Submit").click()


def brings_a_dataset(page: Page) -> None:
    """Images with references and pictures, and two systems."""
    page.get_by_role("link", name="Import a dataset").click()
    page.get_by_label("Name", exact=True).fill("meadow")
    page.get_by_label("JSON lines, one object a line").check()
    page.get_by_label("Files", exact=True).set_input_files(references())
    page.get_by_label("Pictures").set_input_files(pictures())
    looked_at(page)
    uploaded(page, "meadow")
    for system, words in (("gardener", GOOD), ("vague", POOR)):
        page.get_by_role("link", name="Import candidates").click()
        page.get_by_label("System", exact=True).fill(system)
        page.get_by_label("JSON lines, one object a line").check()
        page.get_by_label("Files", exact=True).set_input_files(candidates(words))
        uploaded(page, "meadow")
    expect(page.get_by_role("row", name="gardener 8")).to_be_visible()
    looked_at(page)


def designs_a_study(page: Page) -> None:
    """At the desk, from a preset."""
    page.get_by_role("link", name="New study").click()
    page.get_by_role("link", name="Pairwise: which is the better description?").click()
    page.get_by_label("Name", exact=True).fill("Gardens")
    for kind in ("HC", "HI", "HM"):
        page.get_by_label(f"{kind} pairs").fill("0")
    page.get_by_label("MM pairs").fill(str(len(ANIMALS)))
    page.get_by_label("Judgments for each unit").fill("2")
    page.get_by_label("Units in a HIT").fill("4")
    # the paper's crowd was paid: its requirements would keep colleagues out
    page.get_by_label("Ready set of requirements").select_option("")
    page.locator("#id_question").fill("Which one says *more* of the picture?")
    expect(page.frame_locator("[data-preview]").locator("legend em").first).to_have_text("more")
    page.get_by_role("button", name="Save and count").click()
    expect(page.get_by_text("What this design comes to")).to_be_visible()
    looked_at(page)


def plans_and_rehearses(page: Page) -> None:
    """How many pairs would it take? And a simulated crowd answers a copy first."""
    tab(page, "Design", "Plan")
    page.get_by_label("Numbers of pairs to try").fill("8, 40")
    page.get_by_label("References for each pair").fill("1")
    page.get_by_label("Votes on each unit").fill("2")
    page.get_by_label("Simulated studies").fill("200")
    page.get_by_role("button", name="Simulate").click()
    expect(page.get_by_role("heading", name="What it takes")).to_be_visible()
    expect(page.locator(".q-figure svg")).to_be_visible()
    looked_at(page)

    # a simulated crowd answers a copy first
    tab(page, "Launch", "Rehearsal")
    page.get_by_label("Workers", exact=True).fill("4")
    page.get_by_role("button", name="Rehearse a copy").click()
    expect(page.get_by_text("Truth found again", exact=True)).to_be_visible()
    looked_at(page)
    page.get_by_role("link", name="Gardens", exact=True).click()


def registers_and_opens(page: Page, office: Installation) -> None:
    """What is claimed is fixed, then people are let in."""
    page.get_by_role("button", name="Generate HITs").click()
    expect(page.get_by_role("button", name="Open to participants")).to_be_visible()
    looked_at(page)
    tab(page, "Launch", "Registration")
    page.get_by_label("Hypothesis 1", exact=True).fill("CIDEr-D is right more often than ROUGE-L.")
    page.locator("#id_claim-0").fill("cider-d > rouge-l on MM")
    page.get_by_label("When collection stops").fill("Two judgments a unit.")
    page.get_by_label("I have read it through").check()
    page.get_by_role("button", name="Register", exact=True).click()
    expect(page.get_by_role("heading", name="by rosa")).to_be_visible()
    looked_at(page)
    tab(page, "Launch", "Checklist")
    page.get_by_role("button", name="Open to participants").click()
    link = f"{office.url}/s/gardens/"
    expect(page.get_by_text(link, exact=True)).to_be_visible()


def lets_two_people_judge(page: Page, new_page: NewPage, office: Installation) -> None:
    """Each in a browser of their own, the board in a third; a pause in between."""
    link = f"{office.url}/s/gardens/"
    board = new_page(storage_state=page.context.storage_state())
    tab(page, "Live", "Dashboard")
    board.goto(page.url)
    judgments = board.locator("[data-judgments]")
    expect(judgments).to_have_attribute("data-judgments", "0")
    board.evaluate("window.stayed = true")
    ada, ben = (new_page() for _ in range(2))
    for worker, name in ((ada, "ada"), (ben, "ben")):
        worker.goto(link)
        worker.get_by_label("Your name here").first.fill(name)
        worker.get_by_role("button", name="Join the study").click()
        expect(worker.get_by_role("link", name="Start")).to_be_visible()
    ada.get_by_role("link", name="Start").click()
    judge(ada)
    expect(judgments).to_have_attribute("data-judgments", "4")

    # a pause: who holds a page goes on, who comes is told, and the open board says so
    page.locator("summary", has_text="Pause").click()
    page.locator("#why-pause").fill("a picture is broken")
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_text("The study is paused.")).to_be_visible()
    expect(board.locator(".q-paused")).to_be_visible()
    looked_at(page)
    ben.get_by_role("link", name="Start").click()
    expect(ben.get_by_role("heading", name="This study is paused")).to_be_visible()
    judge(ada)
    expect(judgments).to_have_attribute("data-judgments", "8")
    page.locator("#why-resume").fill("mended")
    page.get_by_role("button", name="Resume", exact=True).click()
    expect(page.get_by_text("The study is resumed.", exact=True)).to_be_visible()
    ben.get_by_role("link", name="Try again").click()
    for _ in range(2):
        judge(ben)
    expect(ben.get_by_role("heading", name="Thank you")).to_be_visible()
    expect(judgments).to_have_attribute("data-judgments", "16")
    assert board.evaluate("window.stayed") is True
    looked_at(board)


def computes_and_exports(page: Page) -> None:
    """The figures, and the rows they come from."""
    page.locator("[data-menu] summary").click()
    page.get_by_role("button", name="Close", exact=True).click()
    expect(page.locator(".q-state")).to_have_text("closed")
    tab(page, "Findings", "Results")
    page.get_by_role("button", name="Compute now").first.click()
    table = page.locator("section", has=page.get_by_role("heading", name="Which metric agrees with people?"))
    expect(table.locator("tbody tr", has_text="cider-d")).to_contain_text("88 %")
    expect(table.locator("tbody tr", has_text="cider-d")).to_contain_text("n = 8")
    looked_at(page)
    tab(page, "Share", "Exports")
    looked_at(page)
    page.get_by_role("button", name="jsonl").click()
    written = page.get_by_role("link", name=".jsonl")
    expect(written).to_be_visible()
    with page.expect_download() as download:
        written.click()
    rows = [json.loads(line) for line in download.value.path().read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 16
    assert {row["worker"] for row in rows} == {"ada", "ben"}


def looks_closer(page: Page) -> None:
    """Where metric and people disagree, and a next batch of it."""
    tab(page, "Findings", "Error analysis")
    row = page.locator(".c-row")
    expect(row).to_have_count(1)
    expect(row.locator("p", has_text="people’s choice")).to_contain_text(f"A zebra {POOR}")
    looked_at(page)
    row.get_by_role("link", name="Analyse").click()
    expect(page.get_by_role("heading", name="Why does")).to_be_visible()
    expect(page.locator(".c-top img")).to_have_js_property("naturalWidth", 320)
    expect(page.locator(".c-vote")).to_have_count(2)
    looked_at(page)
    page.get_by_role("link", name="Back to the list").click()
    page.get_by_role("checkbox", name="Choose").check()
    page.get_by_label("Why (for the log)").fill("two votes are few")
    page.get_by_role("button", name="Make the next batch from these").click()
    expect(page.get_by_role("heading", name="Gardens (closer")).to_be_visible()
    expect(page.locator(".q-state")).to_have_text("draft")


def reports(page: Page, office: Installation) -> None:
    """The table that a paper prints, and the same for a program."""
    page.goto(f"{office.url}/admin/judgments/study/")
    page.get_by_role("link", name="Gardens", exact=True).click()
    tab(page, "Findings", "Report")
    page.get_by_role("button", name="Make the report").click()
    shown = page.locator("table", has=page.locator("caption", has_text="Accuracy of metrics by pair kind"))
    expect(shown).to_be_visible()
    with page.expect_download() as download:
        page.locator('a[href$="name=tables/accuracy.csv"]').click()
    cells = list(csv.DictReader(io.StringIO(download.value.path().read_text(encoding="utf-8"))))
    heads, *rows = [line.locator("th, td").all_inner_texts() for line in shown.locator("tr").all()]
    assert {"cider-d", "rouge-l", "bleu-4"} < {row[0] for row in rows}
    assert [row[0] for row in rows] == [cell["metric"] for cell in cells]
    for row, cell in zip(rows, cells, strict=True):
        for head, text in zip(heads[1:], row[1:], strict=True):
            kind = head.removesuffix(", %")
            numbers = [cell[name] for name in (kind, f"{kind} low", f"{kind} high")]
            found = [f"{100 * float(one):.1f}" for one in numbers if one]
            assert re.findall(r"[\d.]+", text) == found
    looked_at(page)


def releases(page: Page, office: Installation, folder: Path) -> None:
    """A bundle that anybody can check."""
    tab(page, "Share", "Releases")
    page.get_by_label("Version").fill("1.0")
    page.get_by_role("button", name="Make the release").click()
    expect(page.get_by_text("SHA-256")).to_be_visible()
    looked_at(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download", exact=True).click()
    bundle = folder / download.value.suggested_filename
    download.value.save_as(bundle)
    assert "holds" in office.manage("verify", str(bundle))


def reads_the_log(page: Page) -> None:
    """Who did what, and why."""
    tab(page, "Share", "Log")
    for words in (
        "registered", "opened", "paused", "a picture is broken", "resumed", "mended", "closed", "next-batch",
        "two votes are few", "released",
    ):  # fmt: skip
        expect(page.locator("tbody tr", has_text=words).first).to_contain_text("rosa")
    looked_at(page)


def test_from_a_question_to_a_publishable_table(
    page: Page, new_page: NewPage, office: Installation, tmp_path: Path
) -> None:
    make_researcher(office, "rosa")
    sign_in(page, office, "rosa")
    brings_a_dataset(page)
    designs_a_study(page)
    plans_and_rehearses(page)
    registers_and_opens(page, office)
    lets_two_people_judge(page, new_page, office)
    computes_and_exports(page)
    looks_closer(page)
    reports(page, office)
    releases(page, office, tmp_path)
    reads_the_log(page)
