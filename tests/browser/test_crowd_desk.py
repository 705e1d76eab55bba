"""A researcher's way through a study at Mechanical Turk, in a real browser: open, compare, approve, top up, close."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import SERIOUS, problems
from tests.browser.test_mturk_frame import answer_by_keys
from tests.browser.working import NewPage
from tests.fakes.mturk import MTurkEmulator
from tests.installations import Installation, Installations, free_port

CAST = """
from django.contrib.auth.models import User
from tests.annotation.casting import make_dataset, make_study

make_study(
    make_dataset(images=12), slug="animals", name="Animals", opened=False, question="Which is closer?",
    crowd={
        "backend": "mturk", "reward_cents": 10, "budget_cents": 100_000, "floor_cents_per_hour": 2_000_000,
        "title": "Which sentence is closer?", "description": "Read and choose.",
    },
)
User.objects.create_superuser("designer", password="a-long-phrase-1")
"""
BOOKS = """
import json
from annotation.models import Budget, CrowdCall, CrowdSession
from annotation.money import ledger as money
budget = Budget.objects.get()
print(json.dumps({
    "budget": [budget.reserved_cents, budget.spent_cents], "ledger": money.ledger_sums(budget),
    "kept": money.reserved_cents(budget), "sessions": list(CrowdSession.objects.values_list("status", flat=True)),
    "bonus": sum(call.payload["bonus_cents"] for call in CrowdCall.objects.filter(kind="bonus", state="done")),
    "open": CrowdCall.objects.exclude(state="done").count(),
}))
"""


@dataclass
class Desk:
    """An installation whose Mechanical Turk is the emulator, with a background worker."""

    emulator: MTurkEmulator
    installation: Installation

    def sign_in(self, page: Page) -> None:
        """By the admin's own form, to the crowd's page."""
        page.goto(f"{self.installation.url}/admin/judgments/study/1/crowd/")
        page.get_by_label("Username").fill("designer")
        page.get_by_label("Password").fill("a-long-phrase-1")
        page.get_by_role("button", name="Log in").click()


@pytest.fixture
def desk(installations: Installations) -> Iterator[Desk]:
    """A study of an emulated crowd, generated and not opened."""
    with MTurkEmulator() as emulator, installations.fresh("sqlite") as installation:
        port = free_port()
        installation.env |= {
            "PUBLIC_URL": f"http://127.0.0.1:{port}",
            "MTURK_SITES": emulator.endpoint_url,
            "AWS_ENDPOINT_URL_MTURK": emulator.endpoint_url,
            "AWS_ACCESS_KEY_ID": "emulated",
            "AWS_SECRET_ACCESS_KEY": "emulated",
        }
        installation.python(CAST)
        installation.start_server(port=port)
        installation.start_worker()
        yield Desk(emulator, installation)


def fact(page: Page, name: str) -> Locator:
    """A number at the top of the page."""
    return page.locator(".q-facts > div", has=page.get_by_text(name, exact=True)).locator("b")


def done(page: Page) -> None:
    """The page followed the work it asked for to its end."""
    expect(page.locator(".q-job")).to_have_count(0)


@pytest.mark.long
def test_a_study_at_mechanical_turk_from_opening_to_the_last_cent(
    page: Page, new_page: NewPage, desk: Desk
) -> None:
    desk.sign_in(page)
    hits = page.locator(".q-facts em", has_text="submissions")
    expect(hits).to_be_visible()
    pieces = int(hits.inner_text().split()[0])
    expect(fact(page, "Expected cost")).to_have_text(f"{pieces * 12 / 100:.2f} USD")
    page.get_by_role("link", name="Launch").last.click()
    page.get_by_role("button", name="Open to participants").click()
    page.get_by_role("link", name="Live", exact=True).click()
    page.get_by_role("link", name="Crowd", exact=True).first.click()
    expect(fact(page, "Reserved")).to_have_text(f"{pieces * 12 / 100:.2f} USD")
    done(page)
    expect(
        page.get_by_text(f"Participants find the study at {desk.emulator.endpoint_url}")
    ).not_to_have_count(0)

    worker = new_page()
    worker.goto(f"{desk.emulator.endpoint_url}/worker/hits?worker=A1ADA")
    worker.get_by_role("link", name="Which sentence is closer?").first.click()
    worker.get_by_role("button", name="Accept HIT").click()
    frame = worker.frame_locator("iframe[name=hit]")
    answer_by_keys(worker, frame, pause=200)  # active time is what the wage is taken from
    worker.keyboard.press("Enter")
    expect(frame.get_by_text("successfully submitted")).to_be_visible()

    page.get_by_role("button", name="Compare with the crowd").click()
    expect(page.get_by_text("no differences")).to_be_visible()
    done(page)
    page.get_by_role("button", name="Approve 1").click()
    expect(fact(page, "Spent")).to_have_text("0.12 USD")
    done(page)

    pay = page.get_by_role("button", name="Pay 1 top-up")
    amount, fee = map(float, re.findall(r"\d+\.\d\d", pay.inner_text()))
    assert amount > 0
    pay.click()
    expect(fact(page, "Spent")).to_have_text(f"{0.12 + amount + fee:.2f} USD")
    done(page)
    expect(page.get_by_role("button", name=re.compile("top-up"))).to_have_count(0)
    expect(page.get_by_role("row", name=re.compile(f"pay a bonus of {amount:.2f}.*done"))).to_be_visible()

    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert problems(page, within=".q-page", impacts=SERIOUS) == []

    page.get_by_text("Pay a bonus", exact=True).click()
    bonus = page.locator("#bonus")
    bonus.get_by_label("Participant", exact=True).fill("nobody")
    bonus.get_by_label("Amount").fill("0.20")
    bonus.get_by_label("Message to the participant").fill("Thank you.")
    bonus.get_by_role("button", name="Pay the bonus").click()
    expect(bonus.get_by_role("alert")).to_contain_text("no participant 'nobody' took part")
    expect(bonus.get_by_label("Amount")).to_have_value("0.20")

    page.get_by_text("More", exact=True).click()
    page.get_by_role("button", name="Close", exact=True).click()
    page.get_by_role("link", name="Answers", exact=True).click()  # closing leads to the findings
    page.get_by_role("link", name="Crowd", exact=True).click()
    expect(fact(page, "Reserved")).to_have_text("0.00 USD")
    done(page)

    books = json.loads(desk.installation.python(BOOKS))
    spent = 12 + round(100 * (amount + fee))
    assert books["budget"] == books["ledger"] == [0, spent]
    assert (books["kept"], books["open"], books["sessions"]) == (0, 0, ["approved"])
    assert books["bonus"] == round(100 * amount)
    there = desk.emulator.ledger()
    assert (there["held"], there["spent"]) == (0, spent)
