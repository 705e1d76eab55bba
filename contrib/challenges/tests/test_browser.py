"""A challenge in a browser: captions are uploaded, scored and ranked."""

import json
from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

from contrib.challenges.tests.challenging import captions
from tests.browser.researching import PASSWORD, looked_at
from tests.installations import Installation, Installations, until

CAST = """
from django.contrib.auth.models import User
from contrib.challenges.tests.challenging import a_challenge
a_challenge(per_day=1, per_total=5)
User.objects.create_user("team", password="a-long-phrase-1")
"""


@pytest.fixture
def server(installations: Installations) -> Iterator[Installation]:
    """A challenge, a server and a background worker."""
    with installations.fresh("sqlite", after=CAST) as made:
        made.start_server()
        made.start_worker()
        yield made


def reload_until(page: Page, address: str, place: Locator, words: str) -> None:
    """Load a page that does not follow what happens by itself, until it says so."""

    def said() -> bool:
        page.goto(address)
        return place.count() == 1 and place.inner_text().strip() == words

    until(said, what=words)


def results(good: int) -> FilePayload:
    """Captions of the challenge's images; the first ``good`` are described well."""
    content = json.dumps(captions(good)).encode()
    return FilePayload(name="results.json", mimeType="application/json", buffer=content)


def test_captions_are_uploaded_to_a_challenge_and_the_limit_of_the_day_is_kept(
    page: Page, server: Installation
) -> None:
    page.goto(f"{server.url}/challenges/")
    looked_at(page)
    page.get_by_role("link", name="Lawns").click()
    page.get_by_role("link", name="Submit captions").click()
    page.get_by_label("Username").fill("team")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("Submissions left: 1 today, 5 in total.")).to_be_visible()

    def send(file: FilePayload) -> None:
        page.get_by_label("Name of the system").fill("Gardener")
        page.get_by_label("Authors").fill("A team")
        page.get_by_label("Captions", exact=True).set_input_files(file)
        page.get_by_role("button", name="Submit").click()

    send(FilePayload(name="results.json", mimeType="application/json", buffer=b'[{"image_id": 100}]'))
    expect(page.get_by_role("alert")).to_be_visible()  # and counts against nothing
    expect(page.get_by_text("Submissions left: 1 today, 5 in total.")).to_be_visible()
    looked_at(page)
    send(results(20))
    expect(page.get_by_text("Your captions are stored and will be scored.")).to_be_visible()
    expect(page.get_by_text("Submissions left: 0 today, 4 in total.")).to_be_visible()
    place = page.get_by_role("row", name="Gardener")
    reload_until(page, f"{server.url}/challenges/lawns/", place.locator("td").first, "1")
    expect(place).to_contain_text("yours")
    looked_at(page)
    times_are_the_readers(page, place.locator("time"), server)
    page.get_by_role("link", name="Submit captions").click()
    send(results(24))
    expect(page.get_by_role("alert")).to_contain_text("day")
    page.get_by_role("link", name="Lawns").click()
    expect(page.get_by_role("row", name="Gardener")).to_have_count(1)


def times_are_the_readers(page: Page, time: Locator, server: Installation) -> None:
    """As somebody reads them on the Line Islands, where it is the next day at ten in the morning UTC."""
    at = datetime.fromisoformat(time.get_attribute("datetime") or "")
    zone = ZoneInfo("Pacific/Kiritimati")
    elsewhere = page.context.new_cdp_session(page)
    elsewhere.send("Emulation.setTimezoneOverride", {"timezoneId": zone.key})
    page.reload()
    expect(time).to_have_text(f"{at.astimezone(zone):%-d %b %Y}")
    page.goto(f"{server.url}/challenges/lawns/own/")
    expect(page.locator("time").first).to_contain_text(f"{at.astimezone(zone):%H:%M}")
    page.goto(f"{server.url}/admin/login/")
    assert page.evaluate(
        "document.cookie.includes('zone=Pacific/Kiritimati')"
    )  # by which the admin's pages write
    elsewhere.detach()
    page.goto(f"{server.url}/challenges/lawns/")
