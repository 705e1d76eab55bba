"""A study whose disputed units were sent and decided in an installation that leaves adjudication out."""

import pytest

from tests.installations import Installations

USED = """
from django.contrib.auth.models import User
from contrib.adjudication.decisions import decide_adjudication, send_to_adjudicator
from judgments.models import Unit
from tests.annotation.voting import always_first, joined, work
from tests.studies import make_study

study = make_study("pairwise", judgments_per_unit=2, controls={"per_hit": 0})
for name in ("ada", "bea"):
    work(study, joined(study, name), always_first)
rita = User.objects.create_superuser("rita", password="a long enough password")
units = list(Unit.objects.filter(study=study, control=False).values_list("pk", flat=True)[:2])
decided, waiting = send_to_adjudicator(study=study, units=units, adjudicator=rita)
decide_adjudication(adjudication=decided, answer=2, reason="C is a dog")
"""
VISIT = """
import io, json
import django
django.setup()
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from annotation.models import Adjudication
from evaluation.models import Consensus
from evaluation.results.aggregation import aggregate_study
from judgments.models import Study

said, study = io.StringIO(), Study.objects.get()
browser = Client()
browser.force_login(User.objects.get(username="rita"))
aggregate_study(study=study)
call_command("check_integrity", stdout=said)
page = f"/admin/judgments/study/{study.pk}"
decided, waiting = Adjudication.objects.order_by("pk")
results = browser.get(f"{page}/results/").content.decode()
answer = {
    "home": "dispute" in browser.get("/admin/").content.decode(),
    "results": "1 decided by an adjudicator" in results,
    "linked": "Disputed items" in results,
    "closed": [
        browser.get(f"{page}/disputes/", follow=True).status_code,
        browser.get("/adjudicate/").status_code,
        browser.get(f"/adjudicate/{waiting.pk}/").status_code,
        browser.post(f"{page}/do/adjudicate/").status_code,
        browser.get("/api/adjudications/").status_code,
    ],
    "sources": [Consensus.objects.get(unit=one.unit).source for one in (decided, waiting)],
    "counted": Consensus.objects.get(unit=decided.unit).value == decided.value,
}
print(json.dumps(answer))
"""


@pytest.mark.long
def test_decisions_count_and_nobody_makes_new_ones(installations: Installations) -> None:
    with installations.fresh("sqlite", after=USED) as installation:
        installation.turn_off("adjudication")
        answer = installation.reply_of(VISIT)
    assert answer == {
        "home": False,
        "results": True,
        "linked": False,
        "closed": [404] * 5,
        "sources": ["adjudicated", "judgments"],
        "counted": True,
    }
