"""The worker's pages in German in a real browser: times survive, and the language is chosen by a button."""

from playwright.sync_api import Page, expect

from tests.browser.working import NewPage, count_of, stored
from tests.installations import Installation


def over(page: Page) -> int:
    """By how many pixels the page is wider than its window."""
    page.wait_for_load_state()
    wide: int = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return max(0, wide)


def mitmachen(page: Page, site: Installation, slug: str, name: str) -> None:
    """From the study's link to the first page of work, by German words."""
    page.goto(f"{site.url}/s/{slug}/")
    page.get_by_label("Ihr Name auf dieser Website").first.fill(name)
    page.get_by_role("button", name="An der Studie teilnehmen").click()
    page.wait_for_url("**/start/")
    assert over(page) == 0
    page.get_by_role("link", name="Beginnen").click()
    count_of(page)


def test_times_kept_in_a_german_page_go_on_after_a_reload(
    new_page: NewPage, site: Installation, person: str
) -> None:
    page = new_page(locale="de-DE", viewport={"width": 1280, "height": 800})
    mitmachen(page, site, "slider", person)
    steps = count_of(page)
    field = page.locator("[data-number]").locator("visible=true")
    field.fill("37")
    expect(page.locator("[data-state]")).to_have_text("Gespeichert")
    page.reload()
    count_of(page)
    expect(page.locator("[data-number]").first).to_have_value("37")
    kept = page.locator("[data-step]").first.get_attribute("data-seconds") or ""
    assert float(kept) > 0
    for _ in range(1, steps):  # the page goes on with the second
        page.locator("[data-number]").locator("visible=true").fill("62")
        page.keyboard.press("Enter")
    expect(page.get_by_text("Ihre Arbeitsseite ist abgegeben.")).to_be_visible()
    rows = stored(site, person)
    assert len(rows) == steps
    assert all(row["seconds"] is not None for row in rows)
