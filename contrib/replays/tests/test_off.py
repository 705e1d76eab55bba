"""Detectors in an installation that leaves replays out."""

import pytest

from tests.installations import Installations

USED = """
from tests.annotation.watched import left, make_watched, work

work(make_watched(rules=[{"rule": "side-bias", "action": "flag"}]), "spam", left, pages=4)
"""
VISIT = """
import json
import django
django.setup()
from django.contrib.auth.models import User
from django.test import Client
from annotation.models import QualityRule
from annotation.quality.rules import copy_rules
from judgments.models import Study

study = Study.objects.get()
browser = Client()
browser.force_login(User.objects.create_superuser("rosa", password="a long enough password"))
page = f"/admin/judgments/study/{study.pk}"
detectors = browser.get(f"{page}/rules/")
form = {"page": "rules", "rule": "side-bias", "action": "flag", "enabled": "on"}
answer = {
    "detectors": detectors.status_code,
    "saves": browser.post(f"{page}/do/save-rule/", form).status_code,
    "on": QualityRule.objects.get(study=study).enabled,
    "offered": "Try" in detectors.content.decode().partition('class="q-page"')[2],
    "page": browser.get(f"{page}/replay/", follow=True).status_code,
    "step": browser.post(f"{page}/do/try-rule/", form).status_code,
    "call": browser.get(f"/api/studies/{study.slug}/replay/?rule=side-bias").status_code,
    "listed": browser.get(f"/api/rules/?study={study.slug}").json()["results"][0]["rule"],
}
print(json.dumps(answer))
"""


@pytest.mark.long
def test_detectors_are_set_and_none_is_tried(installations: Installations) -> None:
    with installations.fresh("sqlite", after=USED) as installation:
        installation.turn_off("replays")
        answer = installation.reply_of(VISIT)
    assert answer == {
        "detectors": 200,
        "saves": 302,
        "on": True,
        "offered": False,
        "page": 404,
        "step": 404,
        "call": 404,
        "listed": "side-bias",
    }
