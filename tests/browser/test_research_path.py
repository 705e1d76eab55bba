"""From a question to a publishable table, all of it in browsers: one researcher without further rights, two workers."""

import csv
import io
import json
import re
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.researching import (
    ANIMALS,
    GOOD,
    POOR,
    Counted,
    fits,
    looked_at,
    make_researcher,
    opens,
    pictures,
    sign_in_by_hand,
    spreadsheet,
)
from tests.browser.working import NewPage
from tests.installations import Installation

# Of the researcher, from signing in to a release; one click confirms that so small a study is unlikely to answer.
MOST_CLICKS, MOST_FIELDS = 16, 7


def pages_of(page: Page) -> Locator:
    return page.get_by_role("navigation", name="Pages of this study")


def tab(page: Page, group: str, name: str) -> None:
    """Another page of the study, by the two lines of its navigation."""
    pages_of(page).get_by_role("link", name=group, exact=True).click()
    expect(page.locator(".q-groups [aria-current]")).to_have_text(group)
    page.locator(".q-tabs").get_by_role("link", name=name, exact=True).click()
    expect(page.locator(".q-tabs [aria-current=page]")).to_have_text(name)


def judge(page: Page, count: int) -> None:
    """A page of work: the caption that says more, but not of the zebra."""
    expect(page.locator("[data-count]")).to_have_text(f"1 of {count}")  # the page before showed its last step
    page.wait_for_load_state()  # its scripts ran
    for number in range(1, count + 1):
        expect(page.locator("[data-count]")).to_have_text(f"{number} of {count}")
        step = page.locator("[data-step]:visible")
        wanted = POOR if step.locator(".choice", has_text="zebra").count() else GOOD
        step.locator(".choice", has_text=wanted).click()
    page.get_by_role("button", name="Submit").click()


def brings_data(researcher: Counted) -> None:
    """A spreadsheet and a zip of pictures, in one field; what is understood is shown first."""
    page = researcher.page
    researcher.follow("Import a dataset")
    fits(page)
    researcher.choose_files("Files", [spreadsheet(), pictures()])
    assert page.locator("[name=pictures_at]").input_value() == ""  # Unfold would write the file's name there
    researcher.press("Check files")
    expect(page.get_by_role("heading", name="meadow.csv, columns reference 1, reference 2")).to_be_visible()
    expect(page.get_by_text("8 pictures; 8 match images")).to_be_visible()
    expect(page.get_by_label("Name of the system").nth(1)).to_have_value("gardener")
    looked_at(page)
    researcher.press("Import")
    researcher.follow("Design a study with this dataset")


def designs_a_study(researcher: Counted) -> None:
    """From a list of protocols, without saying what is to be known; the preset is cut to the data."""
    page = researcher.page
    expect(page.locator(".q-protocol-off", has_text="Grounding").first).to_contain_text(
        "Items in this dataset that meet this requirement: 0 of 8"
    )
    fits(page)
    skipping = page.get_by_role("region", name="Skip this question: show all protocols")
    researcher.follow("Pairwise: which is the better description?", skipping)
    expect(page.get_by_label("Two systems")).to_have_value(str(len(ANIMALS)))
    expect(page.locator(".q-cut")).to_contain_text("8 × two systems (MM)")
    expect(page.get_by_label("Two people")).to_be_hidden()  # no caption would be left to compare them with
    for kind in ("Different items", "Person and system"):
        researcher.fill(kind, "0")
    researcher.fill("Participants for each item", "2")
    expect(page.locator("[data-numbers]").get_by_text("Judgments", exact=True).locator("..")).to_contain_text(
        "16"
    )
    expect(page.locator(".q-error:visible")).to_have_count(0)
    looked_at(page)


def rehearses_and_launches(researcher: Counted, empty_installation: Installation) -> None:
    """Simulated participants answer a copy first; then people are let in."""
    page = researcher.page
    researcher.press("Save and rehearse")
    expect(page.locator(".q-point", has_text="The consensus of simulated participants found")).to_be_visible()
    fits(page)
    researcher.press("Generate pages of work")
    opens(researcher)
    expect(page.get_by_text(f"{empty_installation.url}/s/pairwise-meadow/", exact=True)).to_be_visible()


def lets_two_people_judge(page: Page, new_page: NewPage, empty_installation: Installation) -> None:
    """Each in a browser of their own, the board in a third."""
    link = f"{empty_installation.url}/s/pairwise-meadow/"
    board = new_page(storage_state=page.context.storage_state())
    board.goto(f"{empty_installation.url}/admin/judgments/study/1/board/")
    judgments = board.locator("[data-judgments]")
    expect(judgments).to_have_attribute("data-judgments", "0")
    ada, ben = (new_page() for _ in range(2))
    for worker, name in ((ada, "ada"), (ben, "ben")):
        worker.goto(link)
        worker.get_by_label("Your name on this site").first.fill(name)
        worker.get_by_role("button", name="Join the study").click()
        expect(worker.get_by_role("link", name="Start")).to_be_visible()
    ada.get_by_role("link", name="Start").click()
    judge(ada, len(ANIMALS))
    expect(judgments).to_have_attribute("data-judgments", "8")
    # a pause: who comes is told, and the open board says so
    board.locator("summary", has_text="Pause").click()
    board.locator("#why-pause").fill("a picture is broken")
    board.get_by_role("button", name="Pause", exact=True).click()
    expect(board.locator(".q-paused")).to_be_visible()
    ben.get_by_role("link", name="Start").click()
    expect(ben.get_by_role("heading", name="This study is paused")).to_be_visible()
    board.locator("#why-resume").fill("mended")
    board.get_by_role("button", name="Resume", exact=True).click()
    expect(board.get_by_text("The study is resumed.", exact=True)).to_be_visible()
    ben.get_by_role("link", name="Try again").click()
    judge(ben, len(ANIMALS))
    expect(ben.get_by_role("heading", name="Thank you")).to_be_visible()
    expect(judgments).to_have_attribute("data-judgments", "16")
    fits(board)


def finds_out_and_releases(researcher: Counted, empty_installation: Installation, folder: Path) -> None:
    """The figures, and a bundle that anybody can check."""
    page = researcher.page
    researcher.click(page.locator("[data-menu] summary"))
    researcher.press("Close")
    expect(page.locator(".q-state")).to_have_text("closed")
    researcher.click(page.get_by_role("button", name="Compute now").first)
    table = page.locator("section", has=page.get_by_role("heading", name="Which metric agrees with people?"))
    expect(table.locator("tbody tr", has_text="cider-d")).to_contain_text("88")
    expect(table.locator("tbody tr", has_text="cider-d")).to_contain_text("n = 8")
    fits(page)
    researcher.follow("Share", pages_of(page))
    researcher.follow("Releases", pages_of(page))
    researcher.fill("Version", "1.0")
    researcher.press("Make the release")
    expect(page.get_by_text("SHA-256")).to_be_visible()
    fits(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download", exact=True).click()
    bundle = folder / download.value.suggested_filename
    download.value.save_as(bundle)
    assert "holds" in empty_installation.manage("verify", str(bundle))


def exports(page: Page) -> None:
    """The rows that the figures come from."""
    tab(page, "Share", "Exports")
    page.locator("button[value=jsonl]").click()
    written = page.get_by_role("link", name=".jsonl").first
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
    fits(page)
    row.get_by_role("link", name="Analyse").click()
    expect(page.get_by_role("heading", name="Scores")).to_be_visible()
    expect(page.locator(".c-top img")).to_have_js_property("naturalWidth", 320)
    expect(page.locator(".c-vote")).to_have_count(2)
    fits(page)
    page.get_by_role("link", name="Back to the list").click()
    page.get_by_role("checkbox", name="Select").check()
    page.get_by_label("Reason (for the log)").fill("two votes are few")
    page.get_by_role("button", name="Create a study from the selected rows").click()
    expect(page.locator("#content").get_by_role("heading", name="Pairwise, meadow (closer")).to_be_visible()
    expect(page.locator(".q-state")).to_have_text("draft")


def registers(page: Page) -> None:
    """What is claimed of the next batch is fixed before it opens."""
    tab(page, "Launch", "Registration")
    page.get_by_label("Hypothesis 1", exact=True).fill("CIDEr-D is right more often than ROUGE-L.")
    page.locator("#id_claim-0").fill("cider-d > rouge-l on MM")
    page.get_by_label("Rule for ending the data collection").fill("Two judgments a unit.")
    page.get_by_label("I have reviewed the plan").check()
    page.get_by_role("button", name="Register", exact=True).click()
    expect(page.get_by_role("heading", name="by rosa")).to_be_visible()
    looked_at(page)


def reports(page: Page, empty_installation: Installation) -> None:
    """The table that a paper prints, and the same for a program."""
    page.goto(f"{empty_installation.url}/admin/judgments/study/")
    page.get_by_role("link", name="Pairwise, meadow", exact=True).click()
    tab(page, "Findings", "Report")
    page.get_by_role("button", name="Make the report").click()
    shown = page.locator("table", has=page.locator("caption", has_text="Accuracy of metrics by pair kind"))
    page.locator("details", has=shown).locator("summary").first.click()
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
            found = [f"{100 * float(one):.0f}" for one in numbers if one]
            assert re.findall(r"[\d.]+", text) == found
    looked_at(page)


def reads_the_log(page: Page) -> None:
    """Who did what, and why."""
    tab(page, "Share", "Log")
    for words in (
        "opened", "paused", "a picture is broken", "resumed", "mended", "closed", "next-batch",
        "two votes are few", "released",
    ):  # fmt: skip
        expect(page.locator("tbody tr", has_text=words).first).to_contain_text("rosa")
    looked_at(page)


@pytest.mark.long
def test_from_a_question_to_a_publishable_table(
    page: Page,
    new_page: NewPage,
    empty_installation: Installation,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_researcher(empty_installation, "rosa")
    researcher = Counted(page)
    sign_in_by_hand(researcher, empty_installation, "rosa")
    brings_data(researcher)
    designs_a_study(researcher)
    rehearses_and_launches(researcher, empty_installation)
    lets_two_people_judge(page, new_page, empty_installation)
    finds_out_and_releases(researcher, empty_installation, tmp_path)
    with capsys.disabled():
        sys.stdout.write(
            f"\nFrom signing in to a release: {researcher.clicks} clicks, {researcher.fields} fields.\n"
        )
    assert researcher.clicks <= MOST_CLICKS
    assert researcher.fields <= MOST_FIELDS
    exports(page)
    looks_closer(page)
    registers(page)
    reports(page, empty_installation)
    reads_the_log(page)
