"""The self-contained page of a HIT in a real browser, in the place of Mechanical Turk's frame."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from playwright.sync_api import Page, Route, expect

from annotation.crowds.base import SubmittedAnswers
from annotation.crowds.mturk.pages import answers_of_page, html_page
from judgments.kinds import KINDS
from tests.annotation.casting import picture_bytes
from tests.annotation.crowds.framing import make_hit
from tests.browser.axe import problems_in_both_looks
from tests.browser.working import NewPage
from tests.fakes.mturk.questions import answers_document

HOSTS = ("https://www.mturk.com", "https://workersandbox.mturk.com")
SANDBOX = "https://workersandbox.mturk.com"
NOT_ACCEPTED = "ASSIGNMENT_ID_NOT_AVAILABLE"
# of these two, one gets the drawn layout and the other its mirror
DRAWN, MIRRORED = "3DRAWN", "3MIRRORED"


class Turk:
    """What surrounds the page: it serves it, its pictures, and takes what is posted."""

    def __init__(self, page: Page, protocol: str, **values: Any) -> None:
        self.design, self.hit, self.units = make_hit(protocol, **values)
        self.page = page
        self.posted: list[tuple[str, list[tuple[str, str]]]] = []
        self.elsewhere: list[str] = []
        page.context.route(re.compile("."), self._answer)

    def _answer(self, route: Route) -> None:
        url = route.request.url
        if url.startswith("https://hits.example.org/"):
            body = html_page(design=self.design, hit=self.hit, units=self.units, hosts=HOSTS)
            route.fulfill(body=body, content_type="text/html; charset=utf-8")
        elif url.startswith("https://pictures.example.org/"):
            route.fulfill(body=picture_bytes(), content_type="image/jpeg")
        elif route.request.method == "POST":
            fields = parse_qsl(route.request.post_data or "", keep_blank_values=True)
            self.posted.append((url, fields))
            route.fulfill(body="Thank you", content_type="text/plain")
        else:
            self.elsewhere.append(url)
            route.abort()

    def open(self, assignment: str = DRAWN, submit_to: str = f"{SANDBOX}/") -> Turk:
        given = {"assignmentId": assignment, "hitId": "3HIT", "turkSubmitTo": submit_to, "workerId": "A1"}
        self.page.goto(f"https://hits.example.org/page?{urlencode(given)}")
        return self

    def submit(self) -> None:
        self.page.get_by_role("button", name="Submit").click()

    def read(self) -> SubmittedAnswers:
        """The answers that came, through the service's XML."""
        (_, fields) = self.posted[-1]
        return answers_of_page(answers_document(fields), design=self.design, hit=self.hit, units=self.units)


def answer_triplets(page: Page, count: int = 4) -> None:
    for number in range(1, count + 1):
        page.locator(f'input[name="u{number}"][value="2"]').check()


def test_answers_are_posted_to_mechanical_turk_with_the_assignment(page: Page) -> None:
    turk = Turk(page, "triplet").open()
    answer_triplets(page)
    page.get_by_label("Comment (optional)").fill("Zoë: ]]> was fine")
    turk.submit()
    expect(page.locator("body")).to_have_text("Thank you")
    (url, fields) = turk.posted[0]
    assert url == f"{SANDBOX}/mturk/externalSubmit"
    assert dict(fields)["assignmentId"] == DRAWN
    found = turk.read()
    assert [(one["position"], one["value"]) for one in found.answers] == [(n, 2) for n in range(1, 5)]
    assert all(0 <= one["seconds"] < 60 for one in found.answers)
    assert dict(fields)["comment"] == "Zoë: ]]> was fine"
    assert turk.elsewhere == []


@pytest.mark.long
def test_half_of_the_assignments_see_the_mirror_and_their_answers_mean_the_same_sentences(page: Page) -> None:
    chosen = []
    for assignment in (DRAWN, MIRRORED):
        turk = Turk(page, "triplet").open(assignment)
        for number in range(1, 5):
            dog = page.locator(
                ".choice", has_text=f"A small brown dog is jumping over a wooden log in the garden {number}"
            )
            dog.locator("input").check()
        turk.submit()
        found = turk.read()
        canonical = KINDS["triplet"].sides.to_canonical
        chosen.append(
            {
                turk.units[unit].key: canonical(one["value"], side=side)
                for one, unit, side in zip(found.answers, found.layout.order, found.layout.sides, strict=True)
            }
        )
        page.context.unroute_all()
    assert chosen[0] == chosen[1] == {f"unit-{number}": 1 for number in range(1, 5)}


@pytest.mark.long
def test_over_many_assignments_both_layouts_come_about_equally_often(page: Page) -> None:
    turk = Turk(page, "triplet", units=1)
    shown = []
    for number in range(16):
        turk.open(f"3{number:029d}")
        shown.append(page.locator('[name="layout"]').input_value())
    assert 4 <= shown.count("1") <= 12
    assert set(shown) == {"0", "1"}


def test_a_preview_shows_the_first_and_takes_nothing(page: Page) -> None:
    turk = Turk(page, "pairwise").open(NOT_ACCEPTED)
    expect(page.get_by_text("Accept the HIT to answer.")).to_be_visible()
    expect(page.get_by_role("button", name="Submit")).to_have_count(0)
    expect(page.locator("section:visible")).to_have_count(1)
    assert page.locator("input:visible:enabled, textarea:visible:enabled").count() == 0
    turk.page.goto("https://hits.example.org/page")
    expect(page.get_by_text("Accept the HIT to answer.")).to_be_visible()


@pytest.mark.long
def test_answers_are_sent_nowhere_else(page: Page) -> None:
    turk = Turk(page, "triplet", units=1)
    for host in (
        "https://evil.example/",
        "https://www.mturk.com.evil.example",
        "https://www.mturk.com@evil.example/",
        "http://www.mturk.com",
        "//www.mturk.com",
        "javascript:alert(1)",
        "",
    ):
        turk.open(DRAWN, host)
        expect(page.get_by_text("sends no answers")).to_be_visible()
        expect(page.get_by_role("button", name="Submit")).to_have_count(0)
        assert page.locator("form[action]").count() == 0, host
    assert (turk.posted, turk.elsewhere) == ([], [])


def test_nothing_is_posted_while_an_answer_is_missing(page: Page) -> None:
    turk = Turk(page, "triplet").open()
    answer_triplets(page, 3)
    turk.submit()
    assert turk.posted == []
    assert page.evaluate("document.activeElement.name") == "u4"
    page.locator('input[name="u4"][value="1"]').check()
    turk.submit()
    assert len(turk.posted) == 1


def problem(page: Page, name: str) -> str:
    found: str = page.locator(f'[name="{name}"]').last.evaluate("one => one.validationMessage")
    return found


def test_a_picture_wants_ticks_or_none_and_not_both(page: Page) -> None:
    turk = Turk(page, "relevance").open()
    assert "Tick the captions" in problem(page, "none1")
    page.locator('[name="u1"]').check()
    assert problem(page, "none1") == ""
    page.locator('[name="none1"]').check()
    assert "contradicts" in problem(page, "none1")
    page.locator('[name="u1"]').uncheck()
    page.locator('[name="u5"]').check()
    turk.submit()
    found = turk.read()
    assert [one["value"] for one in found.answers] == [0, 0, 0, 0, 1, 0]
    assert found.missing_positions == []


def test_one_caption_is_not_both_ends(page: Page) -> None:
    turk = Turk(page, "best-worst", units=1).open()
    page.locator('[name="u1-best"][value="2"]').check()
    page.locator('[name="u1-worst"][value="2"]').check()
    turk.submit()
    assert turk.posted == []
    page.locator('[name="u1-worst"][value="3"]').check()
    turk.submit()
    assert turk.read().answers[0]["answer"] == {"best": 2, "worst": 3}


def test_what_would_be_refused_is_said_before_it_is_sent(page: Page) -> None:
    Turk(page, "caption", units=1).open()
    page.locator('[name="u1"]').fill("a dog")
    assert "three words" in problem(page, "u1")
    page.locator('[name="u1"]').fill("A dog sits near a red barn.")
    assert problem(page, "u1") == ""
    page.context.unroute_all()
    turk = Turk(page, "keywords", units=1).open()
    page.locator('[name="u1"]').fill("barn, submarine")
    assert "submarine" in problem(page, "u1")
    page.locator('[name="u1"]').fill("barn, PEOPLE")
    turk.submit()
    assert turk.read().answers[0]["answer"] == ["barn", "PEOPLE"]


def test_a_form_of_one_s_own_is_filled_in_or_left_as_it_is_on_purpose(page: Page) -> None:
    html = (
        '<p>${text}</p><label>Note <input name="note"></label><label>Warmth '
        '<input type="range" name="warmth" max="10" value="4"></label>'
        '<label>Place <select name="place"><option value="">–</option><option>Ulm</option></select></label>'
    )
    turk = Turk(page, "template", units=2, template={"html": html}).open()
    expect(page.locator('[name="u1-1"] + output')).to_have_text("4")
    page.locator('[name="u1-0"]').fill("Zoë")
    page.locator('[name="u1-1"]').fill("7")
    expect(page.locator('[name="u1-1"] + output')).to_have_text("7")
    turk.submit()
    assert turk.posted == [], "of the second nothing was said yet"
    assert "Leave it as it is" in problem(page, "u2-none")
    page.get_by_label("Leave it as it is").nth(1).check()
    turk.submit()
    expect(page.locator("body")).to_have_text("Thank you")
    found = turk.read()
    assert [one["answer"] for one in found.answers] == [{"note": "Zoë", "warmth": 7}, {"warmth": 4}]
    assert turk.elsewhere == []


def test_without_scripts_a_page_says_that_it_cannot_send_and_offers_no_button(new_page: NewPage) -> None:
    page = new_page(java_script_enabled=False)
    Turk(page, "triplet").open()
    expect(page.get_by_text("needs scripts to submit your answers")).to_be_visible()
    expect(page.get_by_role("button", name="Submit")).to_have_count(0)
    answer_triplets(page)
    assert page.locator('[name="layout"]').input_value() == "0"


@pytest.mark.long
def test_pages_of_every_kind_fit_their_screen_and_can_be_used_by_everybody(page: Page) -> None:
    for protocol in (name for name, kind in KINDS.items() if kind.page.self_contained):
        Turk(page, protocol, units=2, instructions="Take *your* time.", consent="You may stop.").open()
        assert problems_in_both_looks(page) == [], protocol
        page.context.unroute_all()
