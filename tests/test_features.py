"""Features that are left out add nothing, and the main job is done without them, on a fresh and a used database."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.features import all_features
from tests.installations import ROOT, Installation, Installations
from tests.metrics.test_score import install

NAMES = list(all_features())
LEFT_OUT = {*((name,) for name in NAMES), tuple(NAMES)}
# Import each module that features name in their declarations, each first in a process of its own.
IMPORTED_FIRST = """
import importlib, os, sys
import django
django.setup()
from config.features import all_features
declared = [value for feature in all_features().values() for value in vars(feature).values()]
paths = [path for value in declared if isinstance(value, tuple) for path in value if isinstance(path, str)]
modules = {path.rpartition(".")[0] for path in paths if path.startswith("contrib.")} - {"contrib"}
assert "contrib.slider.kind" in modules - sys.modules.keys()
for module in sorted(modules - sys.modules.keys()):
    process = os.fork()
    if not process:
        importlib.import_module(module)
        os._exit(0)
    assert os.waitpid(process, 0)[1] == 0, module
"""
# What a feature leaves in a database.
USED = """
import json
from pathlib import Path
from tempfile import mkdtemp
from django.contrib.auth.models import User
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from contrib.adjudication.decisions import decide_adjudication, send_to_adjudicator
from contrib.archives.models import Deposit
from contrib.challenges.tests.challenging import a_challenge, participant, submit, work_off
from contrib.dashboard.snapshot import compute_snapshot, store_snapshot
from contrib.judges.models import Judge
from contrib.quiz.tests.quizzing import quizzed, take
from contrib.judgment_imports.importing import import_judgments
from contrib.planning.assumptions import read_assumptions
from contrib.planning.plans import compute_plan, store_power_plan
from contrib.rehearsals.copies import copy_for_rehearsal
from contrib.prolific.tests.panel import panel_study
from contrib.registration.plans import parse_plan, register_study
from contrib.second_factor.devices import get_or_create_pending_device
from contrib.webhooks.operations import store_webhook, write_test_message
from evaluation.models import Release
from tests.annotation.casting import joined
from tests.annotation.sourcing import side_by_side
from tests.studies import make_study
from contrib.hit_templates.tests.templating import make_template_study

account = User.objects.create_superuser("ada", password="a long enough password")
type(get_or_create_pending_device(account)).objects.update(confirmed=True)
study = make_study("graded", opened=False)
rows = Path(mkdtemp()) / "rows.jsonl"
rows.write_text(json.dumps(
    {"unit": "u", "worker": "ann", "value": 3, "image": study.dataset.items.first().name, "first_text": "A dog"}
))
import_judgments(
    format="jsonl", path=rows, dataset=study.dataset.name, study="elsewhere", protocol="graded"
)
register_study(study=study, plan=parse_plan({"hypotheses": [{"text": "People agree."}]}), by=None)
Judge.objects.create(study=study, name="model")
store_snapshot(compute_snapshot(study=study))
planned = make_study("pairwise", opened=False, name="Planned")
assumptions = read_assumptions({"simulations": 20, "pairs": [50]})
store_power_plan(study=planned, assumptions=assumptions, result=compute_plan(assumptions=assumptions))
copy_for_rehearsal(study=planned)
panel_study()
write_test_message(webhook=store_webhook(study=study, url="https://192.0.32.10/", events=["study.completed"]))
rehearse(study=make_template_study(Path(mkdtemp())), crowd=RehearsalCrowd(workers=3))
rehearse(study=side_by_side(), crowd=RehearsalCrowd(workers=3))
submit(a_challenge(), participant("grace"), good=7)
work_off()
released = make_study("triplet", name="Released")
unit, grace = released.units.filter(control=False)[0], User.objects.get(username="grace")
[sent] = send_to_adjudicator(study=released, units=[unit.pk], adjudicator=grace)
decide_adjudication(adjudication=sent, answer=1)
release = Release.objects.create(study=released, version="1.0", size=1)
Deposit.objects.create(release=release, archive="zenodo", host="zenodo.org")
study = quizzed()
take(study, joined(study))
"""
# From data to the verdict; then a study and the account are deleted. Simulated participants stand in for people.
MAIN_JOB = """
import io, json, sys
from pathlib import Path
import django
django.setup()
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import get_resolver
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from judgments.models import Study
from tests.strangers import walk

said, study, judgments = io.StringIO(), "demo-triplet-simulated", Path(sys.argv[1])
call_command("import_dataset", "jsonl", "demo/dataset.jsonl", name="demo", images="demo/photos", stdout=said)
for system in ("nearest", "random"):
    file = f"demo/systems/{system}.jsonl"
    call_command("import_candidates", "jsonl", file, dataset="demo", system=system, stdout=said)
for file in ("triplet-finished", "graded"):
    call_command("create_study", f"demo/studies/{file}.toml", stdout=said)
call_command("generate_hits", study, stdout=said)
rehearse(study=Study.objects.get(slug=study), crowd=RehearsalCrowd(workers=12, seed=7))
call_command("aggregate", study, stdout=said)
call_command("evaluate", study, metrics="cider-d", stdout=said)
call_command("export_judgments", study, format="jsonl", output=judgments, stdout=said)
call_command("check_integrity", stdout=said)
study = Study.objects.get(slug=study)
User.objects.create_superuser("rosa", password="a long enough password")
browser = Client(HTTP_HOST="localhost")
form = {"username": "rosa", "password": "a long enough password"}
answer = {
    "said": said.getvalue(),
    "name": study.name,
    "entry": browser.post("/admin/login/?next=/admin/", form).headers["Location"],
    "home": browser.get("/admin/").content.decode(),
    "results": browser.get(f"/admin/judgments/study/{study.pk}/results/").content.decode(),
    "schema": browser.get("/api/schema/").status_code,
    "views": sorted({pattern.callback.__module__ for _, pattern in walk(get_resolver(), ())}),
    "tables": browser.get("/admin/otp_totp/totpdevice/").status_code,
}
unanswered = Study.objects.filter(assignments__isnull=True).earliest("pk")
accounts = User.objects.filter(submissions=None)  # who submitted to a challenge stays
answer["deleted"] = [unanswered.delete()[0] > 0, accounts.delete()[0] > 0]
print(json.dumps(answer))
"""


def say(installation: Installation, *arguments: str) -> str:
    done = installation.run_new(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(params=["", USED], ids=["fresh", "used"])
def installation(request: pytest.FixtureRequest, installations: Installations) -> Iterator[Installation]:
    with installations.fresh("sqlite", after=request.param) as installation:
        yield installation


@pytest.mark.long
@pytest.mark.parametrize("absent", sorted(LEFT_OUT), ids=",".join)
def test_the_main_job_is_done_without_a_feature(installation: Installation, absent: tuple[str, ...]) -> None:
    installation.env["CONTRIB_APPS"] = ",".join(name for name in NAMES if name not in absent)
    installation.collect_static()
    judgments = installation.folder / "judgments.jsonl"
    answer = json.loads(say(installation, "-c", MAIN_JOB, str(judgments)).splitlines()[-1])
    assert len(judgments.read_text().splitlines()) > 100
    assert "cider-d" in answer["said"]
    assert answer["entry"] == "/admin/"
    assert answer["name"] in answer["home"]
    assert answer["name"] in answer["results"]
    assert (answer["schema"], answer["tables"]) == (200, 404)
    assert answer["deleted"] == [True, True]
    listed = say(installation, "manage.py", "help") + say(installation, "-m", "quorum", "--help")
    for name in absent:
        feature = all_features()[name]
        assert [view for view in answer["views"] if view.startswith(f"{feature.name}.")] == []
        for words, (command, _, _) in (
            entry for section in feature.commands.values() for entry in section.items()
        ):
            assert command not in listed
            assert re.search(rf"^  {words} ", listed, re.MULTILINE) is None
        for _, address in feature.account_pages:
            assert address not in answer["home"]


NEEDS_ANOTHER = """
from config.features import Feature


class Dependent(Feature):
    name = "dependent"
    needs = ("second_factor",)
"""


@pytest.mark.long
def test_a_feature_whose_need_is_off_is_off_and_the_checks_say_so(tmp_path: Path) -> None:
    (tmp_path / "dependent").mkdir()
    (tmp_path / "dependent" / "__init__.py").touch()
    (tmp_path / "dependent" / "apps.py").write_text(NEEDS_ANOTHER)
    install(tmp_path, "dependent", "1", "[quorum.features]\ndependent = dependent.apps:Dependent\n")
    code = (
        "import django; django.setup()\n"
        "from django.conf import settings; from django.core.management import call_command\n"
        "print(*settings.FEATURES); call_command('check')"
    )
    for names, features, sentence in (
        ("dependent", "", "CONTRIB_APPS names dependent, which is off: it needs second_factor."),
        ("dependent,second_factor", "second_factor dependent", "no issues"),
    ):
        env = os.environ | {"CONTRIB_APPS": names, "PYTHONPATH": str(tmp_path)}
        said = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=True
        )
        assert said.stdout.splitlines()[0] == features
        assert sentence in said.stdout + said.stderr


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        (
            {"CONTRIB_APPS": "second_factor, nothing"},
            "CONTRIB_APPS is 'second_factor, nothing', and 'nothing' is no feature",
        ),
        (
            {"CONTRIB_APPS": "", "SECOND_FACTOR": "true"},
            "SECOND_FACTOR is true, and CONTRIB_APPS leaves it out",
        ),
    ],
)
def test_a_setting_that_names_no_feature_or_asks_for_an_absent_one_is_refused(
    setting: dict[str, str], sentence: str
) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env=os.environ | setting,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(sentence)
    assert done.stderr.count("\n") <= 1


@pytest.mark.long
def test_each_module_that_a_feature_declares_can_be_the_first_that_is_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED_FIRST],
        cwd=ROOT,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
