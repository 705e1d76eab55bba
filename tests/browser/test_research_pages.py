"""The researcher's pages that show results, in a browser, for every screen."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.researching import looked_at, make_researcher, sign_in
from tests.installations import Installation, Installations

CAST = """
from django.contrib.auth.models import User
from django.test import Client
from contrib.webhooks.models import Webhook, WebhookDelivery
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from judgments.access.roles import give_role
from judgments.jobs.claims import run_job
from judgments.models import Job, Study
from tests.annotation.casting import make_dataset, make_study
from contrib.planning.tests.test_plans import asked
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
print(pets.pk, live.pk, Study.objects.get(simulated=True).pk)
"""


class Office(Installation):
    """The installation, and the addresses of its studies."""

    pets = live = rehearsed = ""


@pytest.fixture(scope="module")
def office(installations: Installations) -> Iterator[Office]:
    """Studies of one researcher, and a server."""
    with installations.fresh("sqlite") as made:
        make_researcher(made, "rosa")
        pks = made.python(CAST).split()[-3:]
        made.start_server()
        found = Office(made.folder, made.env, made.url, made.processes)
        found.pets, found.live, found.rehearsed = (f"{made.url}/admin/judgments/study/{pk}" for pk in pks)
        yield found


@pytest.mark.long
def test_pages_with_results_fit_every_screen_and_can_be_read_by_everybody(page: Page, office: Office) -> None:
    sign_in(page, office, "rosa")
    for address, words in {
        f"{office.pets}/closer-look/?id=p2&metric=bleu-1": "text 1 w-3 (excluded)",
        f"{office.live}/planning/": "cheapest design",
        f"{office.rehearsed}/rehearsal/": "Exclusions and pauses",
        f"{office.live}/webhooks/": "Nobody listens.",
    }.items():
        page.goto(address)
        expect(page.get_by_text(words).first).to_be_visible()
        looked_at(page)
