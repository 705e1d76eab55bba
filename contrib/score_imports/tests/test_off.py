"""Imported scores in an installation that leaves their import out."""

import pytest

from tests.installations import Installation, Installations

USED = """
import json
from pathlib import Path
from tempfile import mkdtemp
from contrib.score_imports.tests.test_score_imports import brought, caption_rows, pairs_study, write

study = pairs_study()
brought(study.dataset, write(Path(mkdtemp()) / "comet.jsonl", caption_rows(0.9, 0.1)), "comet")
"""
VISIT = """
import io, json
from pathlib import Path
from tempfile import mkdtemp
import django
django.setup()
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from judgments.models import Study

study, release = Study.objects.get(), Path(mkdtemp()) / "release.zip"
said = io.StringIO()
call_command("aggregate", study.slug, stdout=said)
call_command("evaluate", study.slug, metrics="comet,bleu-1", stdout=said)
call_command("release", study.slug, licence="CC-BY-4.0", output=release, stdout=said)
call_command("verify", str(release), stdout=said)
browser = Client()
browser.force_login(User.objects.create_superuser("rosa", password="a long enough password"))
page = f"/admin/judgments/study/{study.pk}"
metrics = browser.get(f"{page}/metrics/", follow=True)
answer = {
    "evaluated": "comet" in said.getvalue(),
    "page": metrics.status_code,
    "form": "import-scores" in metrics.content.decode(),
    "linked": "/metrics/" in browser.get(f"{page}/results/").content.decode(),
    "call": browser.post(f"/api/datasets/{study.dataset.name}/scores/").status_code,
    "deleted": study.dataset.imported_metrics.all().delete()[0] > 0,
}
print(json.dumps(answer))
"""


@pytest.mark.long
@pytest.mark.parametrize(("also", "page"), [("", 200), ("comparing", 404)])
def test_scores_that_are_there_count_and_no_more_can_be_imported(
    also: str, page: int, installations: Installations
) -> None:
    with installations.fresh("sqlite", after=USED) as installation:
        installation.turn_off("score_imports")
        leave_out(installation, also)
        answer = installation.reply_of(VISIT)
    assert answer == {
        "evaluated": True,
        "page": page,
        "form": False,
        "linked": page == 200,
        "call": 404,
        "deleted": True,
    }


def leave_out(installation: Installation, feature: str) -> None:
    on = installation.env["CONTRIB_APPS"].split(",")
    installation.env["CONTRIB_APPS"] = ",".join(name for name in on if name != feature)
