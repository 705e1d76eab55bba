"""The page "Launch" in an installation that leaves ethics boards out."""

import pytest

from tests.installations import Installations

USED = """
from contrib.ethics.ready_texts import fill_in_ready_texts
from tests.studies import make_study

ready = make_study(opened=False, name="Ready")
fill_in_ready_texts.do(study=ready, by=None, case="eu")
ready.design["crowd"]["reward_cents"] = 40
ready.save()
make_study(opened=False, name="Bare")
"""
VISIT = """
import json
import django
django.setup()
from django.contrib.auth.models import User
from django.test import Client
from judgments.models import Study

browser = Client()
browser.force_login(User.objects.create_superuser("rosa", password="a long enough password"))
answer = {}
for name in ("Ready", "Bare"):
    study = Study.objects.get(name=name)
    page = f"/admin/judgments/study/{study.pk}"
    points = browser.get(f"/api/studies/{study.slug}/checklist/").json()["points"]
    [consent] = [point for point in points if point["title"] == "Consent"]
    answer[name] = {
        "consent": [consent["readiness"], consent["link"].partition("/change/")[2]],
        "ready": "ready-texts" in browser.get(f"{page}/launch/").content.decode(),
        "field": 'id="id_consent"' in browser.get(f"{page}/change/").content.decode(),
        "page": browser.get(f"{page}/ethics/", follow=True).status_code,
        "call": browser.get(f"/api/studies/{study.slug}/ethics/").status_code,
    }
print(json.dumps(answer))
"""


@pytest.mark.long
def test_a_consent_text_is_asked_for_and_written_by_hand(installations: Installations) -> None:
    with installations.fresh("sqlite", after=USED) as installation:
        installation.turn_off("ethics")
        answer = installation.reply_of(VISIT)
    rest = {"ready": False, "field": True, "page": 404, "call": 404}
    assert answer == {
        "Ready": {"consent": ["ready", ""], **rest},
        "Bare": {"consent": ["missing", "#id_consent"], **rest},
    }
