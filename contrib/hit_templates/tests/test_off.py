"""Studies of HIT templates in an installation that leaves them out."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from config.features import all_features
from tests.installations import ROOT, Installation, Installations

USED = """
from pathlib import Path
from tempfile import mkdtemp
from django.conf import settings
from annotation.rehearsal import Crowd, rehearse
from tests.annotation.calling import accept, submit
from tests.studies import make_worker
from tests.templating import make_template_study

rehearse(study=make_template_study(Path(mkdtemp())), crowd=Crowd(workers=3, drop_outs=0))
make_template_study(Path(mkdtemp()), slug="draft", opened=False)
study = make_template_study(Path(mkdtemp()), slug="open")
settings.ALLOWED_HOSTS = ["testserver"]
_, headers = make_worker(study, "ann")
submit(accept(study, headers).json()["id"], [{"position": 1, "answer": {"tone": "pos", "why": "a reason"}}], headers)
"""
VISIT = """
import io, json
import django
django.setup()
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from annotation.models import Judgment
from annotation.privacy import erasing
from judgments.models import Study
from judgments.studies.study_page import PAGES

said = io.StringIO()
rosa = User.objects.create_superuser("rosa", password="a long enough password")
browser = Client(raise_request_exception=False)
browser.force_login(rosa)
tone, draft, opened = (Study.objects.get(slug=slug) for slug in ("tone", "draft", "open"))
def ask(path, method="get"):
    reply = getattr(browser, method)(path)
    return [reply.status_code, reply.content.decode() if not reply.streaming else ""]
answer = {
    "lists": [
        ask(f"/admin/{path}")
        for path in ("", "judgments/study/", "judgments/study/add/", "annotation/judgment/")
    ],
    "pages": {
        f"{study.slug} {name}": ask(f"/admin/judgments/study/{study.pk}/{name}/")
        for study in (tone, draft) for name in PAGES
    },
    "upload": ask("/admin/judgments/study/bring-template/"),
    "people": [ask("/s/open/"), ask("/s/open/work/"), ask("/s/open/preview/")],
}
call_command("check_integrity", stdout=said)
person = erasing.find_person(opened, "ann")
erasing.erase_person(study=opened, worker=person, by=rosa)
answer["left"] = list(Judgment.objects.of_study(opened).values_list("answer", flat=True))
call_command("check_integrity", stdout=said)
answer["deleted"] = [ask(f"/admin/judgments/study/{draft.pk}/delete/", method)[0] for method in ("get", "post")]
answer["there"] = Study.objects.filter(slug="draft").exists()
answer["said"] = said.getvalue()
print(json.dumps(answer, default=str))
"""
SENTENCE = "The kind template is off: turn on hit_templates in the setting CONTRIB_APPS."


@pytest.fixture
def installation(installations: Installations) -> Iterator[Installation]:
    with installations.fresh("sqlite", after=USED) as installation:
        installation.env["CONTRIB_APPS"] = ",".join(
            name for name in all_features() if name != "hit_templates"
        )
        installation.env["ALLOWED_HOSTS"] = "testserver"
        installation.collect_static()
        yield installation


@pytest.mark.long
def test_studies_are_listed_erased_and_deleted_and_say_that_their_kind_is_off(
    installation: Installation,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", VISIT],
        cwd=ROOT,
        env=installation.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.splitlines()[-1])
    assert [status for status, _ in answer["lists"]] == [200] * 4
    assert "bring-template" not in answer["lists"][2][1]
    assert answer["upload"][0] != 200
    refused = {name: text for name, (status, text) in answer["pages"].items() if status == 409}
    assert {"tone change", "draft change", "draft plan", "tone board"} <= refused.keys()
    assert [name for name, text in refused.items() if SENTENCE not in text] == []
    assert [name for name, (status, _) in answer["pages"].items() if status not in (200, 302, 404, 409)] == []
    assert re.search(r'href="/admin/judgments/study/\d+/delete/"', refused["draft change"])
    assert [status for status, _ in answer["people"]] == [200, 302, 409]
    assert SENTENCE in answer["people"][2][1]
    [left] = answer["left"]
    assert left["tone"] == "pos"
    assert "why" not in left
    assert answer["deleted"] == [200, 302]
    assert not answer["there"]
