"""The time for a page of work: the warning, more of it, its end; and the time that an answer took."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.working import NewPage, join, submitted
from tests.installations import Installation


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
    page.get_by_role("button", name="Take it up again").click()
    expect(page.get_by_text("You have this page of work again, with your answers.")).to_be_visible()
    expect(page.locator("[data-step] input:checked")).to_have_count(2)  # the unsaved one as well
    expect(page.locator("[data-state]")).to_have_text("Saved")
    for _ in range(3):
        page.keyboard.press("1")
    page.keyboard.press("Enter")
    submitted(page)


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
    expect(page.get_by_text("Your answer on it is kept.")).to_be_visible()
    page.get_by_role("link", name="Take another page").click()
    expect(page.locator("[data-step] input:checked")).to_have_count(0)
    assert [one["state"] for one in rows(site, person)] == ["expired", "accepted"]


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
    page.get_by_role("button", name="Take it up again").click()
    expect(page.get_by_text("Somebody else has this page of work now.")).to_be_visible()
    page.get_by_role("link", name="Go on with another page").click()
    expect(page.locator("[data-count]")).to_have_text("1 of 4")
    assert rows(site, person)[0]["answers"]["1"]["value"] == 2


def test_time_counts_while_the_person_is_there_and_by_the_clock_always(
    new_page: NewPage, site: Installation, person: str
) -> None:
    page = new_page(fresh=True)
    page.clock.install()
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
