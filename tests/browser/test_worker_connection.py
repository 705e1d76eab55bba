"""A person in a real browser whose connection is cut, slow or half there: what is kept, what is sent."""

from __future__ import annotations

import json

from playwright.sync_api import Page, Route, expect

from tests.browser.working import NewPage, count_of, here, join, stored, submitted
from tests.installations import Installation, until


def test_answers_outlast_a_lost_connection_and_a_reload(page: Page, site: Installation, person: str) -> None:
    join(page, site, "triplet", person)

    def cut(route: Route) -> None:
        route.abort("internetdisconnected")

    page.route("**/save/", cut)
    page.keyboard.press("2")
    expect(page.locator("[data-state]")).to_have_text(
        "Not saved: no connection; your answers are kept in this browser"
    )
    page.reload()
    expect(page.locator("[data-step]:visible input").nth(1)).to_be_checked()
    expect(page.locator("[data-state]")).to_contain_text("Not saved")
    page.unroute("**/save/", cut)
    expect(page.locator("[data-state]")).to_have_text("Saved")
    page.evaluate("localStorage.clear()")
    page.reload()
    expect(page.locator("[data-count]")).to_have_text("2 of 4")
    page.get_by_role("button", name="Back").click()
    expect(page.locator("[data-step]:visible input").nth(1)).to_be_checked()


def test_answers_given_just_before_leaving_the_page_are_saved(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "triplet", person)
    page.keyboard.press("1")
    expect(page.locator("[data-state]")).to_have_text("Saved")
    page.keyboard.press("Enter")
    page.keyboard.press("2")  # so soon after the first that it waits for its turn
    page.goto(site.url)
    page.evaluate("localStorage.clear()")
    query = f"len(Assignment.objects.get(worker__name={person!r}, state='accepted').answers)"
    until(
        lambda: site.python(f"from annotation.models import Assignment; print({query})") == "2",
        what="the second answer on the server",
    )


def test_submitting_without_a_connection_keeps_the_page(page: Page, site: Installation, person: str) -> None:
    join(page, site, "triplet", person)
    page.context.set_offline(True)
    for number in range(4):
        page.locator("[data-step]:visible .choice").nth(number % 2).click()
        page.keyboard.press("Enter")
    expect(page.locator("[data-state]")).to_contain_text("No connection")
    page.context.set_offline(False)
    page.keyboard.press("Enter")
    submitted(page)
    assert len(stored(site, person)) == 4


def test_a_stopped_submission_can_be_tried_again(page: Page, site: Installation, person: str) -> None:
    join(page, site, "triplet", person)
    page.route("**/submit/", lambda route: route.fulfill(status=502, body="Bad gateway"))
    for _ in range(4):
        page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator("[data-state]")).to_contain_text("your answers stay here. Try again.")
    page.unroute("**/submit/")
    page.get_by_role("button", name="Submit").click()
    submitted(page)


def test_a_picture_that_cannot_be_loaded_says_so_and_can_be_reported(
    page: Page, site: Installation, person: str
) -> None:
    page.route("**/pictures/**", lambda route: route.fulfill(status=404))
    join(page, site, "pairwise", person)
    expect(page.get_by_text("The picture cannot be loaded.").locator("visible=true")).to_be_visible()
    page.get_by_role("button", name="Report a problem").click()
    page.get_by_label("The picture cannot be seen").check()
    page.get_by_role("button", name="Send the report").click()
    expect(page.get_by_text("The problem is reported")).to_be_visible()
    query = "ProblemReport.objects.get(what='picture').assignment.worker"
    assert site.python(f"from annotation.models import ProblemReport; print({query})") == person


def saved(site: Installation, name: str) -> list[str]:
    """The positions whose answers the server has."""
    query = f"sorted(Assignment.objects.get(worker__name={name!r}, state='accepted').answers)"
    code = f"import json; from annotation.models import Assignment; print(json.dumps({query}))"
    positions: list[str] = json.loads(site.python(code))
    return positions


def test_an_answer_that_is_refused_holds_no_other_up(page: Page, site: Installation, person: str) -> None:
    join(page, site, "triplet", person)
    say = (
        "(step, value) => step.dispatchEvent(new CustomEvent('quorum:answer', "
        "{ bubbles: true, detail: { position: 1, value } }))"
    )
    page.locator("#u1").evaluate(say, 99)  # as the script of a kind might
    page.locator("#u2 input").nth(1).evaluate("one => one.click()")
    why = "the value at position 1 is 99"
    expect(page.locator("[data-state]")).to_contain_text(why)
    until(lambda: saved(site, person) == ["2"], what="the other answer on the server")
    expect(page.locator("[data-state]")).to_contain_text(why)
    page.locator("#u1").evaluate(say, 1)
    expect(page.locator("[data-state]")).to_have_text("Saved")
    assert saved(site, person) == ["1", "2"]


def test_where_it_is_not_said_which_answer_is_wrong_they_go_one_by_one(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "triplet", person)
    page.locator("[name=c1]").evaluate("one => { one.value = 'half of a sign: \\ud800'; }")
    page.evaluate("for (const n of [1, 2, 3]) document.querySelector(`#u${n} input`).click()")
    until(lambda: saved(site, person) == ["2", "3"], what="the other answers on the server")
    expect(page.locator("[data-state]")).to_contain_text("a text holds signs that cannot be stored")


def test_a_picture_without_a_connection_says_so_and_comes_back(
    new_page: NewPage, site: Installation, person: str
) -> None:
    page = new_page(viewport={"width": 1280, "height": 800})

    def cut(route: Route) -> None:
        route.abort("internetdisconnected")

    page.route("**/pictures/**", cut)
    join(page, site, "graded", person)
    expect(here(page).get_by_text("No connection.")).to_be_visible()
    expect(here(page).get_by_text("The picture cannot be loaded.")).to_be_hidden()
    page.unroute("**/pictures/**", cut)
    here(page).get_by_role("button", name="Try again").click()
    expect(here(page).locator("[data-zoom] img")).to_be_visible()
    expect(here(page).get_by_text("No connection.")).to_be_hidden()


def test_an_answer_is_shown_by_a_page_that_was_made_before_the_server_had_it(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "graded", person)
    address = page.url
    early = page.request.get(address)
    held: list[Route] = []
    page.route(address, lambda route: held.append(route))
    with page.expect_response("**/save/"):
        page.keyboard.press("3")
        page.evaluate("() => { location.reload(); }")
    page.wait_for_timeout(200)  # the page that is left reads the reply
    held[0].fulfill(response=early)
    count_of(page)
    expect(page.locator("#u1 input[value='3']")).to_be_checked()
