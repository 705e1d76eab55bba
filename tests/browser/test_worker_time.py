"""The time of a page of work, and a connection that is lost, in a browser."""

import json
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.working import NewPage, count_of, here, join, stored, submitted
from tests.installations import Installation, until


def let_end_in(site: Installation, name: str, seconds: int) -> None:
    """The lease of a person's page of work ends in so many seconds."""
    site.python(
        "from datetime import timedelta; from django.utils import timezone; "
        f"from annotation.models import Assignment; Assignment.objects.filter(worker__name={name!r})"
        f".filter(state='accepted').update(expires_at=timezone.now() + timedelta(seconds={seconds}))"
    )


def rows(site: Installation, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        site.python(
            "import json; from annotation.models import Assignment; print(json.dumps(list(Assignment.objects"
            f".filter(worker__name={name!r}).order_by('accepted_at').values('state', 'answers', 'extended'))))"
        )
    )
    return found


def test_a_warning_five_minutes_before_the_end_offers_more_time(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "triplet", person)
    warning = page.get_by_text("Less than five minutes are left")
    expect(warning).to_be_hidden()
    let_end_in(site, person, 290)
    page.reload()
    expect(warning).to_be_visible()
    expect(page.locator("[role=status]", has=warning)).to_be_visible()
    page.get_by_role("button", name="More time").click()
    expect(page.get_by_text("You can get more time after you answer the next item")).to_be_visible()
    page.keyboard.press("2")
    page.get_by_role("button", name="More time").click()
    expect(warning).to_be_hidden()
    expect(page.get_by_text("You have more time now")).to_be_visible()
    expect(page.locator("[data-left-words]")).to_have_text("59 min left")
    assert rows(site, person)[0]["extended"] == 1


def test_the_warning_comes_while_the_page_is_open(new_page: NewPage, site: Installation, person: str) -> None:
    page = new_page(fresh=True)  # as its clock stays in it
    page.clock.install()
    join(page, site, "triplet", person)
    page.clock.run_for(54 * 60_000)
    expect(page.get_by_text("Less than five minutes are left")).to_be_hidden()
    page.clock.run_for(2 * 60_000)
    expect(page.get_by_text("Less than five minutes are left")).to_be_visible()


def test_more_time_needs_no_script(new_page: NewPage, site: Installation, person: str) -> None:
    page = new_page(java_script_enabled=False)
    join(page, site, "triplet", person)
    let_end_in(site, person, 100)
    page.locator("#u1 .choice").first.click()
    page.get_by_role("button", name="More time").click()
    expect(page.get_by_text("You have more time now.")).to_be_visible()
    expect(page.locator("#u1 input").first).to_be_checked()


@pytest.mark.long
def test_an_ended_page_keeps_its_answers_and_is_taken_up_again(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "triplet", person)
    page.keyboard.press("2")
    expect(page.locator("[data-state]")).to_have_text("Saved")
    let_end_in(site, person, 0)
    page.keyboard.press("1")
    expect(page.get_by_text("The time for this page of work is over.")).to_be_visible()
    expect(page.locator("[data-state]")).to_have_text("Not saved")
    page.get_by_role("button", name="Take this page again").click()
    expect(page.get_by_text("You have this page of work again, with your answers.")).to_be_visible()
    expect(page.locator("[data-step] input:checked")).to_have_count(2)  # the unsaved one as well
    expect(page.locator("[data-state]")).to_have_text("Saved")
    for _ in range(3):
        page.keyboard.press("1")
    page.keyboard.press("Enter")
    submitted(page)


@pytest.mark.long
def test_who_comes_back_after_the_end_is_asked_whether_to_take_it_up_again(
    page: Page, site: Installation, person: str
) -> None:
    join(page, site, "triplet", person)
    page.keyboard.press("2")
    expect(page.locator("[data-state]")).to_have_text("Saved")
    page.goto(site.url)
    let_end_in(site, person, 0)
    page.goto(f"{site.url}/s/triplet/work/")
    expect(page.get_by_role("heading", name="The time for your page of work is over")).to_be_visible()
    expect(page.get_by_text("Your answer on this page is kept.")).to_be_visible()
    page.get_by_role("link", name="Take another page").click()
    expect(page.locator("[data-step] input:checked")).to_have_count(0)
    assert [one["state"] for one in rows(site, person)] == ["expired", "accepted"]


@pytest.mark.long
def test_somebody_else_s_page_is_not_taken_up_again(page: Page, site: Installation, person: str) -> None:
    join(page, site, "triplet", person)
    page.keyboard.press("2")
    expect(page.locator("[data-state]")).to_have_text("Saved")
    site.python(
        "from annotation.models import Assignment; from judgments.models import HIT; "
        f"one = Assignment.objects.get(worker__name={person!r}); one.state = 'expired'; one.save(); "
        "HIT.objects.filter(pk=one.hit_id).update(open_slots=0)"
    )
    page.keyboard.press("1")
    page.get_by_role("button", name="Take this page again").click()
    expect(page.get_by_text("Somebody else has this page of work now.")).to_be_visible()
    page.get_by_role("link", name="Go on with another page").click()
    expect(page.locator("[data-count]")).to_have_text("1 of 4")
    assert rows(site, person)[0]["answers"]["1"]["value"] == 2


def test_time_counts_while_the_person_is_there_and_by_the_clock_always(
    new_page: NewPage, site: Installation, person: str
) -> None:
    page = new_page(fresh=True)
    page.clock.install(time=0)
    page.clock.pause_at(3_600_000)  # or it would go on with the machine's, however busy that is
    join(page, site, "triplet", person)
    page.mouse.move(300, 300)
    page.clock.run_for(10_000)
    page.mouse.move(310, 300)
    page.clock.run_for(600_000)  # gone for coffee: half a minute of it counts
    page.keyboard.press("1")
    page.clock.run_for(5_000)
    expect(page.locator("[data-state]")).to_have_text("Saved")
    answer = rows(site, person)[0]["answers"]["1"]
    assert 39 <= answer["seconds"] <= 42
    assert 609 <= answer["wall_seconds"] <= 612


def test_answers_outlast_a_lost_connection_and_a_reload(page: Page, site: Installation, person: str) -> None:
    join(page, site, "triplet", person)

    def cut(route: Route) -> None:
        route.abort("internetdisconnected")

    page.route("**/save/", cut)
    page.keyboard.press("2")
    expect(page.locator("[data-state]")).to_have_text(
        "Not saved: no connection. Your answers are kept in this browser."
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
    expect(page.locator("[data-state]")).to_contain_text("Your answers stay on this page. Try again.")
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


@pytest.mark.long
def test_an_answer_that_is_refused_holds_no_other_up(page: Page, site: Installation, person: str) -> None:
    join(page, site, "triplet", person)
    say = (
        "(step, value) => step.dispatchEvent(new CustomEvent('quorum:answer', "
        "{ bubbles: true, detail: { position: 1, value } }))"
    )
    page.locator("#u1").evaluate(say, 99)  # as the script of a kind might
    page.locator("#u2 input").nth(1).evaluate("one => one.click()")
    why = "the field “value” at position 1 is 99"
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
    expect(page.locator("[data-state]")).to_contain_text("a text contains characters that cannot be stored")


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
