"""A study whose panel's list was booked, in an installation that leaves lists of panels out."""

import pytest

from tests.installations import Installations

USED = """
from pathlib import Path
from tempfile import mkdtemp
from django.core.management import call_command
from django.utils import timezone
from contrib.panel_lists.tests.lists import HEADER, line
from judgments.models import Job
from tests.annotation.crowds.panels import ADA, BOB, EVE, at_work, done, panel_study

study = panel_study(slug="booked")
done(study, ADA, BOB)
at_work(study, EVE)
listed = Path(mkdtemp(), "export.csv")
listed.write_text("\\n".join((HEADER, line(ADA, "APPROVED"), line(BOB, "REJECTED"), line(EVE, "APPROVED"))))
call_command("reconcile_panel", "booked", str(listed), "--book")
Job.objects.create(kind="read_panel_list", args={"study": "booked"}, state="done", finished_at=timezone.now())
panel_study(slug="draft", name="Draft", dataset="more", opened=False)
"""
VISIT = """
import json
from pathlib import Path
from tempfile import mkdtemp
import django
django.setup()
from django.contrib.auth.models import User
from django.core.management import call_command, get_commands
from django.test import Client
from annotation.crowds.sync.run import sync_with_crowd
from annotation.models import CrowdSession, LedgerEntry
from judgments.models import Job, Study

rosa = User.objects.create_superuser("rosa", password="a long enough password")
browser = Client()
browser.force_login(rosa)
Job.objects.update(created_by=rosa)
study, draft = Study.objects.get(slug="booked"), Study.objects.get(slug="draft")
address = f"/admin/judgments/study/{study.pk}"
page = browser.get(f"{address}/panel/").content.decode()
sync_with_crowd(study=study)
answer = {
    "statuses": list(CrowdSession.objects.order_by("pk").values_list("status", flat=True)),
    "unmatched": LedgerEntry.objects.filter(what="unmatched").count(),
    "form": 'name="list"' in page,
    "link": "/s/booked/panel/" in page,
    "raw ids": "Delete the ids" in page or "delete the ids" in page,
    "pages": [browser.get(f"{address}/{name}/").status_code for name in ("crowd", "workers", "results")],
    "job": browser.get(f"/admin/judgments/job/{Job.objects.get(kind='read_panel_list').pk}/change/").status_code,
    "steps": [
        browser.post(f"{address}/do/{name}/").status_code for name in ("reconcile", "payment-list", "book-list")
    ],
    "command": "reconcile_panel" in get_commands(),
}
call_command("export_judgments", "booked", format="jsonl", output=Path(mkdtemp(), "judgments.jsonl"))
call_command("check_integrity")
answer["deleted"] = draft.delete()[0] > 0
print(json.dumps(answer))
"""


@pytest.mark.long
def test_what_was_booked_from_a_list_stays_and_the_page_takes_no_list(installations: Installations) -> None:
    with installations.fresh("sqlite") as installation:
        installation.env["ALLOWED_HOSTS"] = "testserver"  # its people answer by the test client
        installation.collect_static()
        installation.python(USED)
        installation.turn_off("panel_lists")
        answer = installation.reply_of(VISIT)
    assert answer == {
        "statuses": ["approved", "rejected", "working"],
        "unmatched": 1,
        "form": False,
        "link": True,
        "raw ids": True,
        "pages": [200, 200, 200],
        "job": 200,
        "steps": [404, 404, 404],
        "command": False,
        "deleted": True,
    }
