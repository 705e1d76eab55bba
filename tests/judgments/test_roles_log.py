"""Whatever a person does to a study, by its pages, over HTTP or by a command, stands in the study's log."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.http import HttpRequest
from django.test import Client

from common.errors import WrongState
from judgments.access.rights import Right
from judgments.jobs.claims import run_job
from judgments.models import Job, Study, StudyEvent, Unit
from judgments.studies.pages import StudyStep
from judgments.studies.study_page import STEPS, add_step
from tests.judgments.desk import do
from tests.studies import hand_in, make_study

pytestmark = pytest.mark.django_db


def new_entries(study: Study, act: Callable[[], Any]) -> list[StudyEvent]:
    """What ``act``, and the jobs it asks for, write into the study's log."""
    before = set(StudyEvent.objects.filter(study=study).values_list("pk", flat=True))
    act()
    for job in Job.objects.filter(state=Job.State.QUEUED).order_by("pk"):
        run_job(job.pk)
    return list(StudyEvent.objects.filter(study=study).exclude(pk__in=before).order_by("pk"))


def draft() -> Study:
    return make_study(opened=False)


def generated() -> Study:
    study = draft()
    call_command("generate_hits", study.slug, verbosity=0)
    return study


def answered() -> Study:
    study = make_study(judgments_per_unit=3)
    hand_in(study)
    return study


def control_of(study: Study) -> str:
    return Unit.objects.filter(study=study, control=True)[0].key


WHY = {"why": "Because."}
REHEARSAL = {"workers": 4, "spammers": 0, "accuracy": 0.9, "drop_outs": 0, "speed": 1, "seed": 1}
# step -> in which study, what is sent, and what stands in the log
PAGES: dict[str, tuple[Callable[[], Study], Callable[[Study], dict[str, Any]], str]] = {
    "generate": (draft, lambda study: {}, "generated"),
    "open": (generated, lambda study: {}, "opened"),
    "close": (answered, lambda study: {}, "closed"),
    "strike": (answered, lambda study: {"units": control_of(study)}, "struck"),
    "rehearse": (draft, lambda study: REHEARSAL, "duplicated"),
    "save-preset": (draft, lambda study: {"slug": "mine", "title": "Mine"}, "save-preset"),
    "compute": (answered, lambda study: {}, "computed"),
    "export": (answered, lambda study: {"format": "csv"}, "exported"),
}


@pytest.mark.parametrize("step", [*PAGES])
def test_a_step_on_a_page_is_in_the_log_with_who_did_it(designer: Client, step: str) -> None:
    scene, sent, what = PAGES[step]
    study = scene()
    values = sent(study)
    found = new_entries(study, lambda: designer.post(do(study, step), values))
    assert found, Job.objects.values("kind", "state", "error")
    assert what in {entry.what for entry in found} or not what
    assert {entry.by.username if entry.by else None for entry in found} == {"designer"}


@pytest.fixture
def spare_steps() -> Iterator[None]:
    before = dict(STEPS)
    yield
    STEPS.clear()
    STEPS.update(before)


@pytest.mark.usefixtures("spare_steps")
class TestAnyStep:
    """All steps go through one door, which sees to the log; so does a step that is added tomorrow."""

    def test_one_whose_service_says_nothing_is_written_down_by_the_door(self, designer: Client) -> None:
        study = draft()
        add_step(StudyStep(name="wave", label="Wave", run=lambda request, study: None))
        (entry,) = new_entries(study, lambda: designer.post(do(study, "wave"), WHY))
        assert (entry.what, entry.words, entry.why) == ("wave", "Asked for: Wave.", "Because.")
        assert entry.by == User.objects.get(username="designer")

    def test_one_that_only_looks_is_not(self, designer: Client) -> None:
        study = draft()
        add_step(StudyStep(name="peek", label="Peek", run=lambda request, study: None, permission=Right.VIEW))
        assert new_entries(study, lambda: designer.post(do(study, "peek"))) == []

    def test_one_that_was_refused_is_not(self, designer: Client) -> None:
        def refuse(request: HttpRequest, study: Study) -> None:
            raise WrongState("No.")

        study = draft()
        add_step(StudyStep(name="balk", label="Balk", run=refuse))
        assert new_entries(study, lambda: designer.post(do(study, "balk"))) == []


def test_every_step_that_changes_something_needs_more_than_to_look() -> None:
    """What looks, or asks for a result that the log gets when it is there."""
    looks = {name for name, step in STEPS.items() if step.permission == Right.VIEW}
    assert looks == {
        "choice-savings",
        "compare-judges",
        "compare-metrics",
        "compare-releases",
        "compute",
        "compute-captions",
        "export",
        "import-scores",  # its right is that of the dataset
        "make-report",
        "models",
        "payment-list",
        "reconcile",
        "try-rule",
        "verify-release",
        "weigh-back",
    }


@pytest.mark.parametrize(
    ("call", "scene", "what"), [("generate", draft, "generated"), ("close", answered, "closed")]
)
def test_a_call_over_http_is_in_the_log_with_who_made_it(
    designer: Client, call: str, scene: Callable[[], Study], what: str
) -> None:
    study = scene()

    def act() -> None:
        answer = designer.post(f"/api/studies/{study.slug}/{call}/", {}, content_type="application/json")
        assert answer.status_code in (200, 202), answer.content

    found = new_entries(study, act)
    assert what in {entry.what for entry in found}
    assert {entry.by.username if entry.by else None for entry in found} == {"designer"}


def test_a_design_changed_over_http_is_in_the_log_with_what_it_was(designer: Client) -> None:
    study = draft()
    address = f"/api/studies/{study.slug}/design/"
    (entry,) = new_entries(
        study, lambda: designer.patch(address, {"seed": 99}, content_type="application/json")
    )
    assert (entry.what, entry.words) == ("design-changed", "The design was changed: seed.")
    assert (entry.details["before"]["seed"], entry.details["after"]["seed"]) == (3, 99)


COMMANDS: dict[str, tuple[Callable[[], Study], list[str], str]] = {
    "generate_hits": (draft, [], "generated"),
    "export_judgments": (answered, ["--format=csv", "--output=judgments.csv"], "exported"),
    "rehearse": (generated, ["--workers=4"], "rehearsed"),
    "sync_crowd": (answered, [], "sync-crowd"),
}


@pytest.mark.parametrize("command", [*COMMANDS])
def test_a_command_is_in_the_log(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene, words, what = COMMANDS[command]
    study = scene()
    monkeypatch.chdir(tmp_path)
    found = new_entries(study, lambda: call_command(command, study.slug, *words))
    assert what in {entry.what for entry in found}
