"""What is asked for of a study's results, at each door: the same work, the same sentence about a mistake."""

from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils import timezone
from pytest_django import Settings

from judgments.access.roles import give_role
from judgments.models import Job, SavedPreset, Study
from quorum.metrics.meteor.table_files import DATA as METEOR_DATA
from tests.doors import Answer, Call, by_command, by_http, by_page, signed_in, without_field
from tests.evaluation.studies import three_pairs

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead() -> User:
    return User.objects.create_superuser("lead")


@pytest.fixture(scope="module")
def judged(module_db: None) -> Study:
    return three_pairs("dog", [1, 2, 1]).study


@pytest.fixture
def study(judged: Study, settings: Settings, tmp_path: Path) -> Study:
    """Three pairs judged by two people, closed."""
    settings.EXPORT_ROOT = tmp_path / "exports"
    return deepcopy(judged)


def by_http_named(study: Study, call: Call, user: User) -> Answer:
    """Post to a resource whose body names the study."""
    client = signed_in(user)
    body = {**call.values, "study": study.slug}
    answer = client.post(f"/api/{call.http}/", body, content_type="application/json")
    done = answer.status_code in (201, 202)
    return Answer(done, "" if done else answer.json()["detail"], answer.status_code)


def asked_for() -> QuerySet[Job]:
    """Return the jobs but those that a page asks for by itself."""
    return Job.objects.exclude(kind__in=("board", "figures"))


# operation: its call, the job that it asks for, and the role that it takes
JOBS: dict[str, tuple[Call, str, str]] = {
    "report": (Call("make-report", "report", "", {}), "report", "viewer"),
    "export": (Call("export", "exports", "", {"format": "jsonl"}), "export", "viewer"),
    "release": (Call("release", "releases", "", {"licence": "CC0-1.0"}), "release", "owner"),
}
DOORS = ["page", "http"]


def ask(door: str, study: Study, call: Call, user: User) -> Answer:
    if door == "page":
        return by_page(study, call, user)
    return (
        by_http_named if call.http in ("exports", "releases", "saved-presets", "rehearsals") else by_http
    )(study, call, user)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("case", JOBS)
def test_a_job_is_asked_for_with_the_same_arguments(case: str, door: str, study: Study, lead: User) -> None:
    call, kind, role = JOBS[case]
    person = User.objects.create_user("person", is_staff=True)
    give_role(study=study, user=person, role=role)
    answer = ask(door, study, call, person)
    assert answer.done, answer.sentence
    job = Job.objects.get(kind=kind)
    assert (job.created_by, job.args["study"]) == (person, study.slug)
    assert {**job.args, **call.values} == job.args
    if case == "release":
        assert (job.args["version"], job.args["comments"]) == ("1.0", False)


# a mistake, and the parameter that is to blame; "" where the study is
MISTAKES: dict[str, tuple[Call, str]] = {
    "no format": (Call("export", "exports", "", {}), "format"),
    "an unknown format": (Call("export", "exports", "export_judgments", {"format": "jsnl"}), "format"),
    "a format that does not fit": (Call("export", "exports", "export_judgments", {"format": "flickr8k"}), ""),
    "an unknown task": (
        Call("export", "exports", "export_judgments", {"format": "qrels", "task": "sorting"}),
        "task",
    ),
    "no licence": (Call("release", "releases", "", {}), "licence"),
    "an unknown licence": (Call("release", "releases", "release", {"licence": "CC1"}), "licence"),
    "not a version": (Call("release", "releases", "release", {"licence": "MIT", "version": "one"}), ""),
    "a long title": (Call("release", "releases", "release", {"licence": "MIT", "title": "x" * 301}), "title"),
    "too many workers": (Call("rehearse", "rehearsals", "rehearse", {"workers": 200_000}), "workers"),
    "no share": (Call("rehearse", "rehearsals", "rehearse", {"spammers": 1.5}), "spammers"),
    "an unknown sort": (Call("rehearse", "rehearsals", "rehearse", {"sorts": "loud"}), ""),
    "no slug": (Call("save-preset", "saved-presets", "", {"title": "One"}), "slug"),
    "a slug of the platform": (
        Call("save-preset", "saved-presets", "", {"title": "One", "slug": "hodosh-2013-graded"}),
        "",
    ),
    "nothing chosen": (Call("next-batch", "next-batch", "", {}), "chosen"),
    "an unknown row": (Call("next-batch", "next-batch", "", {"chosen": ["nothing"]}), ""),
    "an unknown metric": (Call("compute", "evaluate", "evaluate", {"metrics": ["bleu-9"]}), "metrics"),
    "no references": (Call("compute", "evaluate", "evaluate", {"references": [0]}), "references"),
    "a reading of captions": (Call("compute", "evaluate", "evaluate", {"metric_at_least": [0.5]}), ""),
    "METEOR without its tables": (
        Call("compute", "evaluate", "evaluate", {"metrics": ["meteor"]}),
        "metrics",
    ),
    "no plan": (Call("use-plan", "use-plan", "", {}), ""),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_the_same_sentence_at_each_door(
    mistake: str, study: Study, lead: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(METEOR_DATA, "none")
    call, blamed = MISTAKES[mistake]
    answers = [ask(door, study, call, lead).sentence for door in DOORS]
    if call.command:
        written = () if call.command in ("rehearse", "evaluate") else (f"--output={tmp_path / 'file'}",)
        answers.append(by_command(study, replace(call, options=written)).sentence)
    if mistake == "too many workers":  # a command may ask for more of them
        assert all(without_field(answer).startswith("Ensure this value is less") for answer in answers)
    else:
        assert len({without_field(answer) for answer in answers}) == 1
    assert answers[0] != ""
    assert not blamed or answers[DOORS.index("http")].startswith(f"{blamed}: ")
    assert not list(tmp_path.glob("file*"))
    assert not asked_for().exists()
    assert not SavedPreset.objects.exists()
    assert Study.objects.count() == 1


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("case", JOBS)
def test_who_has_no_right_asks_for_nothing(case: str, door: str, study: Study) -> None:
    call, _, role = JOBS[case]
    stranger = User.objects.create_user("stranger", is_staff=True)
    statuses = [ask(door, study, call, stranger).status]
    if role == "owner":
        give_role(study=study, user=stranger, role="designer")
        statuses.append(ask(door, study, call, stranger).status)
    assert statuses == [404 if door == "page" else 403, 403][: len(statuses)]
    assert not asked_for().exists()


@pytest.mark.parametrize(
    ("http", "values"),
    [
        ("evaluate", {"metrics": [1]}),
        ("next-batch", {"chosen": [1]}),
        ("known-items", {"chosen": [2**63]}),
        ("known-items", {"chosen": [True]}),
    ],
)
def test_a_body_with_a_value_of_another_type_changes_nothing(
    http: str, values: dict[str, Any], study: Study, lead: User
) -> None:
    assert ask("http", study, Call("", http, "", values), lead).status == 400
    assert not asked_for().exists()


def test_a_report_that_is_under_way_is_not_asked_for_again(study: Study, lead: User) -> None:
    call = JOBS["report"][0]
    assert ask("http", study, call, lead).done
    again = {door: ask(door, study, call, lead) for door in DOORS}
    assert again["http"].status == 409
    assert again["http"].sentence in again["page"].sentence
    assert asked_for().count() == 1


@pytest.mark.parametrize("command", ["aggregate", "evaluate", "report", "release", "rehearse"])
def test_a_command_refuses_what_a_job_does_at_this_moment(command: str, study: Study, tmp_path: Path) -> None:
    options = {
        "report": (f"--output={tmp_path / 'report'}",),
        "release": ("--licence=MIT", f"--output={tmp_path / 'file'}"),
    }
    call = Call("", "", command, {}, options=options.get(command, ()))
    now = timezone.now()
    about = {"study": study.slug}
    Job.objects.create(kind=command, args=about, state="running", owner="a|1|2|3", heartbeat=now)
    answer = by_command(study, call)
    assert not answer.done
    assert "already running" in answer.sentence


@pytest.mark.parametrize("state", ["queued", "running"])
def test_a_command_does_not_wait_for_a_worker_that_is_away(state: str, study: Study) -> None:
    long_ago = timezone.now() - timedelta(days=1)
    owner = "a|1|2|3" if state == "running" else ""
    about = {"study": study.slug}
    Job.objects.create(kind="aggregate", args=about, state=state, owner=owner, heartbeat=long_ago)
    assert by_command(study, Call("", "", "aggregate", {})).done
