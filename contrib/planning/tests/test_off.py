"""A study that was planned and rehearsed in an installation that leaves plans out."""

from collections.abc import Iterator

import pytest

from tests.installations import Installation, Installations

USED = """
from contrib.planning.assumptions import read_assumptions
from contrib.planning.plans import compute_plan, store_power_plan
from contrib.rehearsals.copies import copy_for_rehearsal
from judgments.jobs.claims import run_job
from judgments.models import Job
from tests.studies import make_study

study = make_study("pairwise", opened=False, slug="planned")
assumptions = read_assumptions({"simulations": 20, "pairs": [50]})
store_power_plan(study=study, assumptions=assumptions, result=compute_plan(assumptions=assumptions))
copy = copy_for_rehearsal(study=study)
assert run_job(Job.objects.create(kind="rehearse", args={"study": copy.slug, "workers": 4}).pk)
"""
VISIT = """
import io, json
import django
django.setup()
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from judgments.models import Study

rosa = User.objects.create_superuser("rosa", password="a long enough password")
browser = Client()
browser.force_login(rosa)
study = Study.objects.get(slug="planned")


def page(study, name):
    return browser.get(f"/admin/judgments/study/{study.pk}/{name}/").content.decode()


file = io.StringIO()
call_command("export_study", "planned", stdout=file)
answer = {
    "home": browser.get("/admin/").content.decode(),
    "start": browser.get("/admin/judgments/study/add/").content.decode(),
    "design": page(study, "change"),
    "launch": page(study, "launch"),
    "rehearsal": page(study, "rehearsal"),
    "file": file.getvalue(),
    "addresses": [
        browser.get(f"/admin/judgments/study/{study.pk}/planning/").status_code,
        browser.get("/api/plans/").status_code,
        browser.post(f"/admin/judgments/study/{study.pk}/do/plan-power/").status_code,
    ],
}
call_command("check_integrity")
answer["deleted"] = study.delete()[0] > 0
print(json.dumps(answer))
"""


@pytest.fixture
def installation(installations: Installations) -> Iterator[Installation]:
    with installations.fresh("sqlite", after=USED) as installation:
        installation.turn_off("planning")
        yield installation


@pytest.mark.long
def test_a_study_that_was_planned_and_rehearsed_goes_on_without_plans(installation: Installation) -> None:
    answer = installation.reply_of(VISIT)
    assert "Plan before creating a study" not in answer["start"]
    for shown in (answer["home"], answer["design"], answer["launch"], answer["rehearsal"]):
        assert "/planning/" not in shown
    assert "Power" in answer["launch"]  # by the rehearsal
    assert 'protocol = "pairwise"' in answer["file"]
    assert answer["addresses"] == [302, 404, 404]  # the admin leads unknown addresses of a study to its form
    assert answer["deleted"]
