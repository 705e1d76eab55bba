"""A study whose captions were adopted in an installation that leaves adoption out."""

import pytest

from tests.installations import Installations

USED = """
from contrib.adoption.adopting import adopt_captions
from judgments.models import Study
from tests.annotation.writing import written_study

study = written_study("ada", "ben", images=3)
adopt_captions(study=study)
adopt_captions(study=study, system="crowd")
"""
VISIT = """
import io, json
import django
django.setup()
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from annotation.models import WrittenCaption
from annotation.work.claims import claim_assignment
from annotation.work.joining import join_study
from judgments.models import Caption, Output, Study
from tests.annotation.casting import make_study

said, study = io.StringIO(), Study.objects.get()
browser = Client()
browser.force_login(User.objects.create_superuser("rosa", password="a long enough password"))
page = f"/admin/judgments/study/{study.pk}"
later = make_study(study.dataset, "graded", name="Later", slug="later", controls={"per_hit": 0}, units_per_hit=9)
ada = WrittenCaption.objects.filter(worker__name="ada")[0].worker
known = join_study(study=later, name="ada", known_worker=ada).worker
claim = claim_assignment(study=later, worker=known)
shown = [place.unit.first_id for place in claim.page_units] if claim else []
call_command("check_integrity", stdout=said)
answer = {
    "button": "Adopt captions" in browser.get(f"{page}/results/").content.decode(),
    "step": browser.post(f"{page}/do/adopt/").status_code,
    "references": Caption.objects.filter(role="reference", key__startswith="w-").count(),
    "outputs": Output.objects.filter(system__name="crowd").count(),
    "own": WrittenCaption.objects.filter(worker=ada, caption__in=shown).count(),
    "writers": browser.get("/api/written-captions/").json()["results"][0]["worker"] in ("ada", "ben"),
}
print(json.dumps(answer))
"""


@pytest.mark.long
def test_adopted_captions_stay_and_are_kept_from_their_writers(installations: Installations) -> None:
    with installations.fresh("sqlite", after=USED) as installation:
        installation.turn_off("adoption")
        answer = installation.reply_of(VISIT)
    assert answer == {
        "button": False,
        "step": 404,
        "references": 6,
        "outputs": 6,
        "own": 0,
        "writers": True,
    }
