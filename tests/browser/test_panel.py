"""A panel sends a person in a real browser, who works and is taken back: every outcome, two browsers, no scripts."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, FilePayload, Page, expect

from tests.browser.axe import problems, problems_in_both_looks
from tests.browser.researching import looked_at
from tests.browser.working import PHONE, NewPage, count_of
from tests.fakes.panel import FakePanel, fake_panel
from tests.installations import Installation

STUDIES = """
from django.contrib.auth.models import User
from annotation.crowds.opening import open_study
from tests.annotation.casting import make_dataset, make_study

dataset = make_dataset("paneled", images=12)
ends = ("completed", "screened-out", "timed-out", "full")
back = {{outcome: "{panel}/back?cc={{code}}&pid={{worker}}" for outcome in ends}}
back["returned"] = "{panel}/back?cc={{code}}"
for slug, values in (
    ("panel", {{"consent": "You may **stop** at any time.", "judgments_per_unit": 50, "contact": "lab@example.org"}}),
    ("panel-quiz", {{"judgments_per_unit": 50, "quiz": {{
        "questions": [{{"text": "May you guess?", "options": ["yes", "no"], "answer": 2}}], "ask": 1, "attempts": 1,
    }}}}),
    ("panel-small", {{"judgments_per_unit": 1, "units_per_hit": 20}}),
    ("panel-code", {{"judgments_per_unit": 50}}),
):
    study = make_study(
        dataset, opened=False, slug=slug, name=f"Sentences of {{slug}}", **values,
        crowd={{"backend": "external", "reward_cents": 150, "budget_cents": 1000000}},
        panel={{"worker": "pid", "session": "sid", "hits": 1, "addresses": {{}} if slug == "panel-code" else back,
               "codes": {{outcome: outcome.upper() for outcome in back}}}},
    )
    open_study(study=study)
User.objects.create_superuser("paymaster", password="a-long-phrase-1")
"""
STATUS = "SELECT status FROM annotation_crowdsession s JOIN annotation_rawid r ON r.session_id = s.id WHERE r.value = "


@pytest.fixture(scope="module")
def panel() -> Iterator[FakePanel]:
    with fake_panel() as running:
        yield running


@pytest.fixture(scope="module")
def studies(site: Installation, panel: FakePanel) -> Installation:
    """The installation, with studies that the panel sends to."""
    site.python(STUDIES.format(panel=panel.url))
    return site


def arrive(page: Page, site: Installation, panel: FakePanel, slug: str, person: str) -> None:
    """From the panel's page to the study's first one."""
    page.goto(panel.sends(f"{site.url}/s/{slug}/panel/?pid={person}&sid=s-{person}"))
    page.get_by_role("link", name="Take part").click()
    expect(page.get_by_role("heading", name=f"Sentences of {slug}")).to_be_visible()


def answer_all(page: Page) -> None:
    """The page of work by mouse, up to the button that submits it."""
    for number in range(1, count_of(page) + 1):
        expect(page.locator("[data-count]")).to_have_text(f"{number} of {count_of(page)}")
        page.locator("[data-step]:visible .choice").first.click()
    page.get_by_role("button", name="Submit").click()


def status(site: Installation, person: str) -> str:
    (row,) = site.query(f"{STATUS}'s-{person}'")
    return str(row[0])


def test_a_person_is_sent_works_and_is_taken_back_at_once(
    page: Page, studies: Installation, panel: FakePanel, person: str
) -> None:
    arrive(page, studies, panel, "panel", person)
    assert page.context.cookies() == []
    expect(page.get_by_text("1.50")).to_be_visible()
    page.get_by_label("I have read the text above").check()
    page.get_by_role("button", name="Start").click()
    page.get_by_role("link", name="Start").click()
    answer_all(page)
    expect(page.get_by_role("heading", name="Welcome back")).to_be_visible()
    assert panel.returns[-1] == {"cc": "COMPLETED", "pid": person}
    assert status(studies, person) == "submitted"
    page.goto(f"{studies.url}/s/panel/work/")  # whoever comes again is taken back again
    expect(page.get_by_role("heading", name="Welcome back")).to_be_visible()
    assert [one["pid"] for one in panel.returns[-2:]] == [person, person]


@pytest.mark.long
def test_a_person_goes_on_in_another_browser_while_the_first_is_open(
    page: Page, new_page: NewPage, studies: Installation, panel: FakePanel, person: str
) -> None:
    arrive(page, studies, panel, "panel", person)
    page.get_by_label("I have read the text above").check()
    page.get_by_role("button", name="Start").click()
    page.get_by_role("link", name="Start").click()
    count_of(page)
    page.locator("[data-step]:visible .choice").first.click()
    expect(page.locator("[data-count]")).to_have_text("2 of 4")
    page.goto(f"{studies.url}/s/panel/work/")  # what was answered is sent by now
    phone = new_page(**PHONE)
    arrive(phone, studies, panel, "panel", person)
    expect(phone.get_by_text("Welcome back.")).to_be_visible()
    phone.get_by_role("button", name="Go on").click()
    expect(phone.locator("[data-count]")).to_have_text("2 of 4")
    for number in range(2, 5):
        expect(phone.locator("[data-count]")).to_have_text(f"{number} of 4")
        phone.locator("[data-step]:visible .choice").first.click()
    phone.get_by_role("button", name="Submit").click()
    expect(phone.get_by_role("heading", name="Welcome back")).to_be_visible()
    page.goto(f"{studies.url}/s/panel/work/")
    expect(page.get_by_role("heading", name="Welcome back")).to_be_visible()
    assert [one["pid"] for one in panel.returns[-2:]] == [person, person]


@pytest.mark.long
def test_where_no_address_is_known_the_code_is_copied(
    page: Page, studies: Installation, panel: FakePanel, person: str
) -> None:
    arrive(page, studies, panel, "panel-code", person)
    page.get_by_role("button", name="Start").click()
    page.get_by_role("link", name="Start").click()
    answer_all(page)
    expect(page.locator("#completion")).to_have_text("COMPLETED")
    expect(page.get_by_role("button", name="Copy")).to_be_visible()
    assert problems(page) == []


@pytest.mark.long
def test_the_panel_s_list_is_compared_and_booked_by_whoever_pays(
    browser: Browser, studies: Installation, panel: FakePanel, person: str
) -> None:
    page = browser.new_page(reduced_motion="reduce")  # Unfold's script fails on file fields but its own
    arrive(page, studies, panel, "panel-code", person)
    page.get_by_role("button", name="Start").click()
    page.get_by_role("link", name="Start").click()
    answer_all(page)
    expect(page.locator("#completion")).to_have_text("COMPLETED")
    page.goto(f"{studies.url}/admin/")
    page.get_by_label("Username").fill("paymaster")
    page.get_by_label("Password").fill("a-long-phrase-1")
    page.get_by_role("button", name="Log in").click()
    ((study,),) = studies.query("SELECT id FROM judgments_study WHERE slug = 'panel-code'")
    page.goto(f"{studies.url}/admin/judgments/study/{study}/panel/")
    expect(page.get_by_text("/s/panel-code/panel/?pid=ID-OF-THE-PERSON")).to_be_visible()
    looked_at(page)
    listed = (
        f"id,session,state,code\n{person},s-{person},approved,COMPLETED\nnobody,s-nobody,pending,COMPLETED\n"
    )
    file = FilePayload(name="list.csv", mimeType="text/csv", buffer=listed.encode())
    page.get_by_label("List of submissions").set_input_files(file)
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_text("No participant of this study has this id.")).to_be_visible()
    looked_at(page)
    assert status(studies, person) == "submitted"
    page.get_by_label("Also approve these sessions on this site").check()
    page.get_by_role("button", name="Record").click()
    expect(page.get_by_text("Sessions recorded as approved: 1;")).to_be_visible()
    assert status(studies, person) == "approved"
    page.close()


@pytest.mark.long
def test_axe_finds_nothing_and_nothing_runs_over(
    new_page: NewPage, studies: Installation, panel: FakePanel, person: str
) -> None:
    page = new_page(reduced_motion="reduce")
    arrive(page, studies, panel, "panel", person)
    assert problems_in_both_looks(page) == []
    page.get_by_role("button", name="I do not agree").click()
    assert problems_in_both_looks(page) == []
    page.goto(f"{studies.url}/s/panel/panel/?pid=%3Cscript%3E&sid=x")
    assert problems_in_both_looks(page) == []
    arrive(page, studies, panel, "panel-quiz", person)
    page.get_by_role("button", name="Start").click()
    page.goto(f"{studies.url}/s/panel-quiz/done/")
    assert problems_in_both_looks(page) == []
