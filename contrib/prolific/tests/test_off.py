"""Studies at Prolific in an installation without the feature “prolific”."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.installations import Installation, Installations

USED = """
from django.conf import settings
from django.core.management import call_command
from annotation.crowds.opening import open_study
from annotation.crowds.sync.run import sync_with_crowd
from annotation.models import CrowdSession
from annotation.money.payments import decide_session
from contrib.prolific.tests.emulator import ProlificEmulator
from contrib.prolific.tests.panel import Panel, panel_study, point_at
from judgments.design.reading.checking import make_design
from judgments.studies.studies import create_study
from tests.annotation.crowds.panels import do_page, start

with ProlificEmulator() as prolific:
    point_at(prolific, settings)
    study = panel_study(slug="there", demographics=["age"])
    open_study(study=study)
    panel = Panel(study, prolific)
    for name in ("aa1", "aa2"):
        submission, _address = prolific.enter(panel.publication.external_id, name)
        browser, _answer = start(
            study, {"PROLIFIC_PID": name, "STUDY_ID": panel.publication.external_id, "SESSION_ID": submission}
        )
        do_page(study, browser)
        prolific.come_back(submission, panel.code())
    sync_with_crowd(study=study, wait=lambda seconds: None)
    for session in CrowdSession.objects.all():
        decide_session(session=session, approve=True)
    sync_with_crowd(study=study, wait=lambda seconds: None)
    call_command("fetch_demographics", "there")
panel_study(slug="ready")
create_study(design=make_design(study.design | {"slug": "draft", "name": "Draft"}))
"""
VISIT = """
import io, json
import django
django.setup()
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from annotation.crowds.sync.schedule import queue_due_syncs
from annotation.models import CrowdCall, Worker
from annotation.privacy import erasing
from common.errors import DesignError
from judgments.design.reading.checking import make_design
from judgments.models import Study
from judgments.studies.study_page import PAGES

rosa = User.objects.create_superuser("rosa", password="a long enough password")
browser = Client(raise_request_exception=False)
browser.force_login(rosa)
there, ready, draft = (Study.objects.get(slug=slug) for slug in ("there", "ready", "draft"))
def ask(path, method="get"):
    reply = getattr(browser, method)(path)
    return [reply.status_code, reply.content.decode() if not reply.streaming else ""]
said = io.StringIO()
answer = {
    "lists": [ask(f"/admin/{path}") for path in ("", "judgments/study/", "annotation/publication/")],
    "new": ask("/admin/judgments/study/add/?preset=vedantam-2015-triplet"),
    "pages": {
        f"{study.slug} {name}": ask(f"/admin/judgments/study/{study.pk}/{name}/")
        for study in (there, ready, draft) for name in PAGES
    },
    "entry": ask("/s/there/panel/?PROLIFIC_PID=aa3&SESSION_ID=bb3&STUDY_ID=cc3"),
    "hook": ask("/hooks/prolific/", "post")[0],
}
try:
    make_design(draft.design)
except DesignError as error:
    answer["design"] = [error.field, str(error)]
for line in (["open_study", "ready"], ["close_study", "there"], ["check_integrity"]):
    try:
        call_command(*line, stdout=said)
    except CommandError as error:
        said.write(f"{line[0]}: {error}")
answer["due"] = queue_due_syncs()
call_command("sync_crowd", "there", stdout=said)
answer["waiting"] = list(CrowdCall.objects.filter(state="waiting").values_list("kind", "problem"))
person = Worker.objects.filter(crowd_sessions__study=there).earliest("pk")
erasing.erase_person(study=there, worker=person, by=rosa)
call_command("check_integrity", stdout=said)
answer["deleted"] = [ask(f"/admin/judgments/study/{draft.pk}/delete/", method)[0] for method in ("get", "post")]
answer["there"] = Study.objects.filter(slug="draft").exists()
answer["said"] = said.getvalue()
print(json.dumps(answer, default=str))
"""
SENTENCE = "add prolific to the setting CONTRIB_APPS"


@pytest.fixture
def installation(installations: Installations) -> Iterator[Installation]:
    with installations.fresh("sqlite") as installation:
        installation.env["ALLOWED_HOSTS"] = "testserver"  # its people answer by the test client
        installation.collect_static()
        installation.python(USED)
        yield installation


def exported(installation: Installation, form: str) -> bytes:
    path: Path = installation.folder / "exported"
    done = installation.run_new(
        "manage.py", "export_judgments", "there", "--format", form, "--output", str(path)
    )
    assert done.returncode == 0, done.stderr
    return path.read_bytes()


@pytest.mark.long
def test_studies_are_listed_exported_erased_and_deleted_and_say_that_their_crowd_is_off(
    installation: Installation,
) -> None:
    while_on = [exported(installation, form) for form in ("csv", "demographics")]
    installation.turn_off("prolific")
    assert [exported(installation, form) for form in ("csv", "demographics")] == while_on
    assert while_on[0].count(b"\n") > 2
    answer = installation.reply_of(VISIT)
    assert [status for status, _ in answer["lists"]] == [200] * 3
    assert 'name="panel-preset"' in answer["new"][1]
    assert 'name="panel-api"' not in answer["new"][1]
    assert 'name="panel-api"' in answer["pages"]["draft change"][1]
    refused = {name: text for name, (status, text) in answer["pages"].items() if status == 409}
    assert {"there crowd", "there launch", "ready crowd", "ready launch"} <= refused.keys()
    assert [name for name, text in refused.items() if SENTENCE not in text] == []
    assert [name for name, (status, _) in answer["pages"].items() if status not in (200, 302, 404, 409)] == []
    assert (answer["entry"][0], answer["hook"]) == (200, 404)
    assert answer["design"][0] == "panel.api"
    assert "the crowd 'prolific', but this crowd is off" in answer["design"][1]
    assert re.search(f"open_study: .*{SENTENCE}", str(answer["said"]))
    assert answer["due"] == []
    assert any(kind == "expire" and SENTENCE in why for kind, why in answer["waiting"])
    assert answer["deleted"] == [200, 302]
    assert not answer["there"]
