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
from tests.annotation.crowds.panels import ADA
from tests.installations import ROOT, Installation, Installations
from tests.metrics.test_score import install
from tests.used_database import NAME, TURKER, WORD

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
# What features leave in a database, and whose traces an erasure removes there.
USED = "from tests.used_database import use_features; use_features()"
PEOPLE = (NAME, ADA["PROLIFIC_PID"], TURKER)
TRACES = ("Unmistakable", WORD, ADA["PROLIFIC_PID"], ADA["SESSION_ID"])
# From data to the verdict; then people are erased, and studies and the account deleted. A participant joins, answers,
# comments and reports on the pages, others by the HTTP interface.
MAIN_JOB = """
import io, json, sys
from pathlib import Path
import django
django.setup()
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import get_resolver
from annotation.models import Judgment, ProblemReport, Worker
from judgments.models import Study
from judgments.studies.studies import delete_study
from tests.annotation.calling import answers_to, post, submit
from tests.crowd import first_answers
from tests.strangers import walk
from tests.traces import traces_of

said, slug, judgments = io.StringIO(), "demo-triplet-simulated", Path(sys.argv[1])
people, words = (argument.split(",") for argument in sys.argv[2:4])


def run(command, *arguments, **options):
    call_command(command, *arguments, stdout=said, **options)


run("import_dataset", "jsonl", "demo/dataset.jsonl", name="demo", images="demo/photos")
for system in ("nearest", "random"):
    run("import_candidates", "jsonl", f"demo/systems/{system}.jsonl", dataset="demo", system=system)
design = Path("demo/studies/triplet-finished.toml").read_text()
asked = judgments.with_name("asked.toml")
asked.write_text(design.replace("threshold = 0.7", "threshold = 0"))  # they answer check questions by chance
for file in (asked, "demo/studies/graded.toml"):
    run("create_study", str(file))
run("generate_hits", slug)
run("open_study", slug)

browser = Client()
browser.post(f"/s/{slug}/", {"name": people[0], "consent": "on"})
page = browser.get(f"/s/{slug}/work/")
pages = 0
while "data-assignment=" in (html := page.content.decode()):
    assignment = html.split('data-assignment="')[1].split('"')[0]
    comments = {f"c{position}": f"{words[0]} {people[0]}" for position in (1, 2)}
    at = f"/s/{slug}/work/{assignment}"
    browser.post(f"{at}/report/1/", {"what": "other", "comment": words[0]})
    page = browser.post(f"{at}/submit/", first_answers(html) | comments, follow=True)
    pages += 1
for name in ("ben", "cyd"):
    token = post(f"/api/studies/{slug}/join/", {"worker": name}).json()["token"]
    headers = {"Authorization": f"Token {token}"}
    shown = post(f"/api/studies/{slug}/assignments/", headers=headers).json()
    while shown is not None:
        shown = submit(shown["id"], answers_to(shown), headers, next=True).json()["next"]

run("aggregate", slug)
run("evaluate", slug, metrics="cider-d")
run("export_judgments", slug, format="jsonl", output=judgments)
run("check_integrity")
study = Study.objects.get(slug=slug)
User.objects.create_superuser("mary", password="a long enough password")
form = {"username": "mary", "password": "a long enough password"}
answer = {
    "said": said.getvalue(),
    "name": study.name,
    "pages": pages,
    "commented": Judgment.objects.of_study(study).filter(comment__contains=words[0]).count(),
    "reported": ProblemReport.objects.filter(assignment__study=study, comment__contains=words[0]).count(),
    "entry": browser.post("/admin/login/?next=/admin/", form).headers["Location"],
    "home": browser.get("/admin/").content.decode(),
    "results": browser.get(f"/admin/judgments/study/{study.pk}/results/").content.decode(),
    "schema": browser.get("/api/schema/").status_code,
    "views": sorted({pattern.callback.__module__ for _, pattern in walk(get_resolver(), ())}),
    "tables": browser.get("/admin/otp_totp/totpdevice/").status_code,
    "before": len(traces_of(words)),
}
names = Worker.objects.filter(name__startswith=people[0]).values_list("name", flat=True)  # with marks of namesakes
for person in {*people[1:], *names}:
    run("erase_person", worker=person, yes=True)
answer["after"] = traces_of(words)
never_opened = Study.objects.filter(state__in=[Study.State.DRAFT, Study.State.GENERATED])
answer["never opened"] = never_opened.count()
for one in never_opened:
    delete_study(study=one)
run("check_integrity")
accounts = User.objects.filter(username__in=["colleague", "mary"])  # who submitted, or is in a log, stays
answer["deleted"] = [never_opened.all().count(), accounts.delete()[0] > 0]
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
    installation.env |= {
        "CONTRIB_APPS": ",".join(name for name in NAMES if name not in absent),
        "ALLOWED_HOSTS": "testserver",
    }
    installation.collect_static()
    judgments = installation.folder / "judgments.jsonl"
    is_used = bool(
        int(installation.python("from annotation.models import Worker; print(Worker.objects.count())"))
    )
    people, words = PEOPLE if is_used else PEOPLE[:1], ",".join(TRACES)
    answer = json.loads(
        say(installation, "-c", MAIN_JOB, str(judgments), ",".join(people), words).splitlines()[-1]
    )
    assert len(judgments.read_text().splitlines()) > 100
    assert "cider-d" in answer["said"]
    assert answer["entry"] == "/admin/"
    assert answer["name"] in answer["home"]
    assert answer["name"] in answer["results"]
    assert (answer["schema"], answer["tables"]) == (200, 404)
    assert (answer["pages"], answer["commented"], answer["reported"]) == (14, 28, 14)
    assert answer["before"] > (200 if is_used else 50)
    assert answer["after"] == []
    assert answer["never opened"] == (15 if is_used else 1)
    assert answer["deleted"] == [0, True]
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


@pytest.mark.long
def test_the_used_database_has_rows_in_every_table(installations: Installations) -> None:
    with installations.fresh("sqlite", after=USED) as installation:
        said = installation.python(
            "from tests.used_database import empty_tables; print(sorted(empty_tables()))"
        )
    assert said == "[]"


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
