"""The researcher's single pages in a browser: scores, plans, rehearsals, challenges, webhooks, tokens, and the
board without scripts."""

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

from tests.annotation.listening import Listener, listening
from tests.browser.researching import PASSWORD, fits, looked_at, make_researcher, sign_in
from tests.browser.working import NewPage
from tests.evaluation.challenging import captions
from tests.installations import Installation, Installations, until

CAST = """
from django.contrib.auth.models import User
from evaluation.results.aggregation import aggregate_study
from evaluation.results.meta_evaluation import evaluate_study
from judgments.design.reading import make_design
from judgments.access.roles import give_role
from judgments.studies.studies import create_study
from tests.annotation.casting import make_dataset, make_study
from tests.annotation.voting import always_first, joined, work
from tests.evaluation.challenging import a_challenge
from tests.evaluation.test_study_page import pairwise

rosa = User.objects.get(username="rosa")
shapes = make_dataset()
pets = pairwise().study
aggregate_study(study=pets)
evaluate_study(study=pets, metrics=["bleu-1", "rouge-l", "cider-d"])
draft = create_study(design=make_design({"name": "Draft", "dataset": "shapes", "protocol": "pairwise",
    "sampling": {"pairs": {"MM": 6}}, "units_per_hit": 3, "controls": {"per_hit": 0}}))
live = make_study(shapes, "pairwise", slug="live", name="Live")
work(live, joined(live, "early"), always_first)
for study in (pets, draft, live):
    give_role(study=study, user=rosa, role="owner", by=rosa)
a_challenge(per_day=1, per_total=5)
User.objects.create_user("team", password="a-long-phrase-1")
print(pets.pk, draft.pk, live.pk)
"""


class Office(Installation):
    """The installation, and the addresses of its studies."""

    pets = draft = live = ""


@pytest.fixture(scope="module")
def office(installations: Installations) -> Iterator[Office]:
    """Studies of one researcher, a challenge, a server and a background worker that may send to this machine."""
    with installations.fresh("sqlite") as made:
        made.env |= {"WEBHOOK_PRIVATE": "true", "WEBHOOK_SECONDS": "1"}
        make_researcher(made, "rosa")
        pks = made.python(CAST).split()[-3:]
        made.start_server()
        made.start_worker()
        found = Office(made.folder, made.env, made.url, made.processes)
        found.pets, found.draft, found.live = (f"{made.url}/admin/judgments/study/{pk}" for pk in pks)
        yield found


def reload_until(page: Page, address: str, place: Locator, words: str) -> None:
    """Load a page that does not follow what happens by itself, until it says so."""

    def said() -> bool:
        page.goto(address)
        return place.count() == 1 and place.inner_text().strip() == words

    until(said, what=words)


def test_every_score_and_every_vote_on_a_pair_is_seen(page: Page, office: Office) -> None:
    sign_in(page, office, "rosa")
    page.goto(f"{office.pets}/closer/?metric=bleu-1")
    expect(page.locator(".c-row")).to_have_count(1)
    page.locator(".c-row").get_by_role("link", name="Analyse").click()
    scores = page.locator(".q-card", has=page.get_by_role("heading", name="Scores")).locator("tbody tr")
    expect(scores.locator("td:first-child")).to_have_text(["bleu-1", "rouge-l", "cider-d"])
    votes = page.locator(".c-vote")
    expect(votes).to_have_text(["caption 2 w-1", "caption 2 w-2", "caption 1 w-3 (excluded)"])
    struck = "one => getComputedStyle(one).textDecorationLine"
    assert [votes.nth(place).evaluate(struck) for place in range(3)] == ["none", "none", "line-through"]
    looked_at(page)


def test_a_plan_says_what_is_wrong_with_its_assumptions_and_goes_into_the_design(
    page: Page, office: Office
) -> None:
    sign_in(page, office, "rosa")
    page.goto(f"{office.draft}/planning/")
    page.get_by_label("Numbers of pairs to try").fill("many")
    page.get_by_role("button", name="Simulate").click()
    expect(page.get_by_text("expected whole numbers with commas between them")).to_be_visible()
    page.get_by_label("Numbers of pairs to try").fill("6, 60")
    page.get_by_label("Pairs on which system A is truly better").fill("0.95")
    page.get_by_label("References for each pair").fill("1")
    page.get_by_label("Votes on each item").fill("3, 5")
    page.get_by_label("Simulated studies").fill("200")
    looked_at(page)
    page.get_by_role("button", name="Simulate").click()
    expect(page.get_by_text("Cheapest design that surely reaches it")).to_be_visible()
    page.get_by_text("All 4 designs").click()
    expect(page.locator("details[open] tbody tr")).to_have_count(4)
    votes = re.search(r"(\d) votes", page.locator("p", has_text="Cheapest design").inner_text())
    assert votes is not None
    page.get_by_role("button", name="Use this in the design").click()
    page.goto(f"{office.draft}/change/")
    expect(page.get_by_label("Participants for each item")).to_have_value(votes[1])


def test_a_rehearsal_is_refused_in_a_sentence_told_and_deleted(page: Page, office: Office) -> None:
    sign_in(page, office, "rosa")
    page.goto(f"{office.live}/rehearsal/")
    page.get_by_label("Workers", exact=True).fill("0")
    page.get_by_role("button", name="Rehearse a copy").click()
    assert not page.get_by_label("Workers", exact=True).evaluate("field => field.validity.valid")
    page.get_by_label("Workers", exact=True).fill("3")
    page.get_by_label("Share of spammers").fill("0.4")
    page.get_by_label("Run the recommended detectors").check()
    page.get_by_role("button", name="Rehearse a copy").click()
    stopped = page.locator("section", has=page.get_by_role("heading", name="Who was stopped"))
    expect(stopped.locator("tbody tr", has_text="careful")).to_be_visible()
    expect(page.locator(".q-state")).to_have_text("closed")
    expect(page.get_by_text("1,000 drawn studies of this size")).to_be_visible()
    looked_at(page)
    page.get_by_role("button", name="Delete this rehearsal").click()
    expect(page.get_by_text("is deleted with its simulated answers")).to_be_visible()
    expect(page).to_have_url(f"{office.live}/rehearsal/")
    expect(page.locator(".q-state")).to_have_text("open")


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
    expect(time).to_have_text(at.astimezone(zone).date().isoformat())
    page.goto(f"{office.url}/challenges/lawns/own/")
    expect(page.locator("time").first).to_contain_text(f"{at.astimezone(zone):%-I:%M}")
    page.goto(f"{office.url}/admin/login/")
    assert page.evaluate(
        "document.cookie.includes('zone=Pacific/Kiritimati')"
    )  # by which the admin's pages write
    elsewhere.detach()
    page.goto(f"{office.url}/challenges/lawns/")


@pytest.fixture
def listener() -> Iterator[Listener]:
    with listening() as there:
        yield there


def test_a_webhook_is_added_tried_and_its_log_says_delivered(
    page: Page, office: Office, listener: Listener
) -> None:
    sign_in(page, office, "rosa")
    page.goto(f"{office.live}/webhooks/")
    fits(page)
    page.get_by_label("Address").fill("http://example.org/hook")
    page.get_by_role("button", name="Add the webhook").click()
    expect(page.get_by_text("expected https://")).to_be_visible()
    page.get_by_label("Address").fill(listener.url)
    page.get_by_role("button", name="Add the webhook").click()
    shown = page.get_by_role("status").locator("code")
    expect(shown).to_have_text(re.compile("^whsec_"))
    secret = shown.inner_text()
    looked_at(page)
    page.get_by_role("button", name=f"Try {listener.url}").click()
    log = page.get_by_role("row", name="ping")
    expect(log).to_be_visible()
    expect(page.get_by_text(secret)).to_have_count(0)
    reload_until(page, f"{office.live}/webhooks/", log.locator("td[data-label=State]"), "delivered")
    looked_at(page)
    heard = listener.heard[0]  # messages come at least once
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{heard.headers['webhook-id']}.{heard.headers['webhook-timestamp']}.".encode() + heard.body
    mark = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert heard.headers["webhook-signature"] == f"v1,{mark}"


def test_a_token_is_shown_once_opens_what_it_says_and_is_revoked(
    page: Page, new_page: NewPage, office: Office
) -> None:
    sign_in(page, office, "rosa")
    page.goto(f"{office.url}/admin/judgments/apitoken/")
    page.get_by_role("link", name="Make a token").click()
    page.get_by_label("What it is for").fill("notebook")
    page.get_by_label("studies:read").check()
    fits(page)
    page.get_by_role("button", name="Make the token").click()
    key = page.get_by_label("The key").input_value()
    looked_at(page)
    program = new_page().request  # without the person's cookies
    headers = {"Authorization": f"Token {key}"}
    found = program.get(f"{office.url}/api/studies/", headers=headers)
    assert found.status == 200
    assert "live" in {one["slug"] for one in found.json()["results"]}
    assert program.get(f"{office.url}/api/judgments/", headers=headers).status == 403
    page.get_by_role("link", name="I have copied it").click()
    row = page.get_by_role("row", name="notebook")
    expect(row).to_contain_text(key[:6])
    assert key not in page.content()
    row.get_by_role("link", name="Revoke").click()
    looked_at(page)
    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("row", name="notebook")).to_contain_text("revoked")
    assert program.get(f"{office.url}/api/studies/", headers=headers).status == 401


LATE = """
from judgments.models import Study
from tests.annotation.voting import always_first, joined, work

work(Study.objects.get(slug="live"), joined(Study.objects.get(slug="live"), "late"), always_first, most=1)
"""


def test_the_board_works_without_scripts(new_page: NewPage, office: Office) -> None:
    page = new_page(java_script_enabled=False)
    sign_in(page, office, "rosa")
    page.goto(f"{office.live}/board/")
    count = page.locator("[data-judgments]")
    before = int(count.get_attribute("data-judgments") or 0)
    office.python(LATE)
    page.reload()
    assert int(count.get_attribute("data-judgments") or 0) > before
    page.locator("summary", has_text="Pause").click()
    page.get_by_role("button", name="Pause", exact=True).click()  # the browser asks for the reason
    page.locator("#why-pause").fill("lunch")
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_text("no page of work is given out")).to_be_visible()
    page.locator("#why-resume").fill("back")
    page.get_by_role("button", name="Resume", exact=True).click()
    expect(page.get_by_text("The study is resumed.", exact=True)).to_be_visible()
