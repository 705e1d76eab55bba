"""The researcher's single pages in a browser: a challenge, and the pages that show results, for every screen."""

import json
from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

from tests.browser.researching import PASSWORD, looked_at, make_researcher, sign_in
from tests.evaluation.challenging import captions
from tests.installations import Installation, Installations, until

CAST = """
from django.contrib.auth.models import User
from django.test import Client
from contrib.webhooks.models import Webhook, WebhookDelivery
from evaluation.results.aggregation import aggregate_study
from evaluation.results.meta_evaluation import evaluate_study
from judgments.access.roles import give_role
from judgments.jobs import run_job
from judgments.models import Job, Study
from tests.annotation.casting import make_dataset, make_study
from tests.evaluation.challenging import a_challenge
from tests.evaluation.test_planning import asked
from tests.evaluation.test_study_page import pairwise

rosa = User.objects.get(username="rosa")
pets = pairwise().study
aggregate_study(study=pets)
evaluate_study(study=pets, metrics=["bleu-1", "rouge-l", "cider-d"])
live = make_study(make_dataset(), "pairwise", slug="live", name="Live")
for study in (pets, live):
    give_role(study=study, user=rosa, role="owner", by=rosa)
webhook = Webhook.objects.create(study=live, url="https://hooks.example.org/", salt="s", submissions=True)
WebhookDelivery.objects.create(
    webhook=webhook, event="ping", key="1", payload={}, state="given-up", problem="Nobody listens."
)
client = Client(SERVER_NAME="127.0.0.1")
client.force_login(rosa)
do = f"/admin/judgments/study/{live.pk}/do"
client.post(f"{do}/plan-power/", asked(live))
client.post(f"{do}/rehearse/", {"workers": "3", "spammers": "0.4", "rules": "on", "seed": "1"})
for job in Job.objects.order_by("pk"):
    run_job(job.pk)
a_challenge(per_day=1, per_total=5)
User.objects.create_user("team", password="a-long-phrase-1")
print(pets.pk, live.pk, Study.objects.get(simulated=True).pk)
"""


class Office(Installation):
    """The installation, and the addresses of its studies."""

    pets = live = rehearsed = ""


@pytest.fixture(scope="module")
def office(installations: Installations) -> Iterator[Office]:
    """Studies of one researcher, a challenge, a server and a background worker."""
    with installations.fresh("sqlite") as made:
        make_researcher(made, "rosa")
        pks = made.python(CAST).split()[-3:]
        made.start_server()
        made.start_worker()
        found = Office(made.folder, made.env, made.url, made.processes)
        found.pets, found.live, found.rehearsed = (f"{made.url}/admin/judgments/study/{pk}" for pk in pks)
        yield found


def test_pages_with_results_fit_every_screen_and_can_be_read_by_everybody(page: Page, office: Office) -> None:
    sign_in(page, office, "rosa")
    for address, words in {
        f"{office.pets}/closer-look/?id=p2&metric=bleu-1": "caption 1 w-3 (excluded)",
        f"{office.live}/planning/": "Cheapest design",
        f"{office.rehearsed}/rehearsal/": "Who was stopped",
        f"{office.live}/webhooks/": "Nobody listens.",
    }.items():
        page.goto(address)
        expect(page.get_by_text(words).first).to_be_visible()
        looked_at(page)


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
    page: Page, office: Office
) -> None:
    page.goto(f"{office.url}/challenges/")
    looked_at(page)
    page.get_by_role("link", name="Lawns").click()
    page.get_by_role("link", name="Submit captions").click()
    page.get_by_label("Username").fill("team")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("Submissions left: 1 today, 5 in all.")).to_be_visible()

    def send(file: FilePayload) -> None:
        page.get_by_label("Name of the system").fill("Gardener")
        page.get_by_label("Authors").fill("A team")
        page.get_by_label("Captions", exact=True).set_input_files(file)
        page.get_by_role("button", name="Submit").click()

    send(FilePayload(name="results.json", mimeType="application/json", buffer=b'[{"image_id": 100}]'))
    expect(page.get_by_role("alert")).to_be_visible()  # and counts against nothing
    expect(page.get_by_text("Submissions left: 1 today, 5 in all.")).to_be_visible()
    looked_at(page)
    send(results(20))
    expect(page.get_by_text("Your captions are stored and will be scored.")).to_be_visible()
    expect(page.get_by_text("Submissions left: 0 today, 4 in all.")).to_be_visible()
    place = page.get_by_role("row", name="Gardener")
    reload_until(page, f"{office.url}/challenges/lawns/", place.locator("td").first, "1")
    expect(place).to_contain_text("yours")
    looked_at(page)
    times_are_the_readers(page, place.locator("time"), office)
    page.get_by_role("link", name="Submit captions").click()
    send(results(24))
    expect(page.get_by_role("alert")).to_contain_text("day")
    page.get_by_role("link", name="Lawns").click()
    expect(page.get_by_role("row", name="Gardener")).to_have_count(1)


def times_are_the_readers(page: Page, time: Locator, office: Office) -> None:
    """As somebody reads them on the Line Islands, where it is the next day at ten in the morning UTC."""
    at = datetime.fromisoformat(time.get_attribute("datetime") or "")
    zone = ZoneInfo("Pacific/Kiritimati")
    elsewhere = page.context.new_cdp_session(page)
    elsewhere.send("Emulation.setTimezoneOverride", {"timezoneId": zone.key})
    page.reload()
    expect(time).to_have_text(f"{at.astimezone(zone):%-d %b %Y}")
    page.goto(f"{office.url}/challenges/lawns/own/")
    expect(page.locator("time").first).to_contain_text(f"{at.astimezone(zone):%H:%M}")
    page.goto(f"{office.url}/admin/login/")
    assert page.evaluate(
        "document.cookie.includes('zone=Pacific/Kiritimati')"
    )  # by which the admin's pages write
    elsewhere.detach()
    page.goto(f"{office.url}/challenges/lawns/")
