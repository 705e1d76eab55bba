"""A study in an installation that leaves the dashboard out: it is run on the page of its participants."""

from collections.abc import Iterator

import pytest

from tests.installations import Installation, Installations

USED = """
from contrib.dashboard.staleness import request_snapshot
from contrib.dashboard.snapshot import compute_snapshot, store_snapshot
from tests.annotation.casting import make_dataset, make_study
from tests.annotation.voting import always_first, joined, work

study = make_study(make_dataset(pictures=False), "pairwise", slug="open", judgments_per_unit=2)
work(study, joined(study, "ann"), always_first, most=1)
store_snapshot(compute_snapshot(study=study))
request_snapshot(study)
"""
VISIT = """
import json
import django
django.setup()
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from annotation.privacy import erasing, people
from judgments.models import Study

rosa = User.objects.create_superuser("rosa", password="a long enough password")
browser = Client()
browser.force_login(rosa)
study = Study.objects.get(slug="open")
place = f"/admin/judgments/study/{study.pk}/"
answer = {
    "home": browser.get("/admin/").content.decode(),
    "launch": browser.get(f"{place}launch/").content.decode(),
    "board": [browser.get(f"{place}board/").status_code, browser.get("/api/studies/open/board/").status_code],
    "refused": browser.post(f"{place}do/pause/", {"page": "workers"}, follow=True).content.decode(),
    "paused": browser.post(f"{place}do/pause/", {"page": "workers", "why": "lunch"}, follow=True).content.decode(),
}
erasing.erase_person(study=study, worker=people.find_person(study, "ann"), by=rosa)
with connection.cursor() as cursor:
    cursor.execute("SELECT count(*) FROM evaluation_boardsnapshot")
    answer["snapshots"] = cursor.fetchone()[0]
call_command("check_integrity")
browser.post(f"{place}do/close/", {"page": "workers"})
study.refresh_from_db()
answer["state"] = study.state
print(json.dumps(answer))
"""


@pytest.fixture
def installation(installations: Installations) -> Iterator[Installation]:
    with installations.fresh("sqlite", after=USED) as installation:
        installation.turn_off("dashboard")
        yield installation


@pytest.mark.long
def test_an_open_study_is_run_on_the_page_of_its_participants(installation: Installation) -> None:
    answer = installation.reply_of(VISIT)
    assert "/workers/" in answer["home"]
    assert "View the participants" in answer["home"]
    assert answer["board"] == [302, 404]  # the admin leads unknown addresses of a study to its form
    for page in ("home", "launch", "refused", "paused"):
        assert "/board/" not in answer[page]
    assert '<details class="q-step" id="pause" open>' in answer["refused"]
    assert 'id="why-resume"' in answer["paused"]
    assert answer["snapshots"] == 0
    assert answer["state"] == "closed"
