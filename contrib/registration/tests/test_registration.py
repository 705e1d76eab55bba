"""Registered studies: a plan fixed with a hash at each door, and what was done otherwise is told."""

import html
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db.models import QuerySet
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Exclusion
from common.errors import DesignError, WrongState
from contrib.registration import deviations, plans
from contrib.registration.models import Registration
from contrib.rehearsals.copies import copy_for_rehearsal
from evaluation.presentation.rendering import render_report
from evaluation.reports.sections.registration import plan_hash
from evaluation.reports.storage import build_report
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from judgments.access.roles import give_role
from judgments.access.study_log import note_event
from judgments.design.reading.checking import make_design
from judgments.design.reading.study_files import read_toml
from judgments.design.saved_presets import preset_values
from judgments.design.tables.plan import RegistrationPlan
from judgments.models import Study, StudyEvent
from judgments.studies.designs import design_of
from judgments.studies.generation.hits import generate_hits
from judgments.studies.studies import change_design, mark_open
from tests.annotation.test_launch_page import checked, generated
from tests.doors import Answer, Call, by_command, by_page, signed_in
from tests.evaluation.studies import StudyOf, make_dataset
from tests.refusals import refuses
from tests.studies import make_dataset as make_dataset_of_animals
from tests.studies import make_study

pytestmark = pytest.mark.django_db

PLAN = """
[registration]
exclude_by = ["too-fast"]
metrics = ["bleu-1", "rouge-l"]
[[registration.hypotheses]]
text = "BLEU follows people."
claim = "bleu-1 > rouge-l on all"
[[registration.hypotheses]]
text = "People enjoy it."
"""
CLAIM = "registration.hypotheses.0.claim"


def plan(text: str = PLAN) -> RegistrationPlan:
    return plans.parse_plan(tomllib.loads(text)["registration"])


def test_a_plan_is_fixed_with_its_hash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = make_study("pairwise", opened=False)
    file, output = tmp_path / "plan.toml", tmp_path / "out.json"
    file.write_text(PLAN)
    with pytest.raises(CommandError, match="does not exist"):
        call_command("register", study.slug, str(file), output=tmp_path / "none" / "out.json")
    assert not Registration.objects.exists()
    call_command("register", study.slug, str(file), "--output", str(output))
    made = Registration.objects.get()
    assert made.sha256 in capsys.readouterr().out
    written = json.loads(output.read_text())
    assert written.pop("sha256") == made.sha256 == plan_hash(written)
    assert study.events.get(what="registered").details == {"sha256": made.sha256}
    with pytest.raises(CommandError, match="is registered already"):
        call_command("register", study.slug, str(file))
    call_command("register", study.slug)
    assert "no deviation" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"), [("x", "is not TOML"), ("[registration]\nhypothesis = 1", "registration.hypotheses")]
)
def test_what_is_no_plan_is_refused(text: str, said: str, tmp_path: Path) -> None:
    study = make_study("pairwise", opened=False)
    (tmp_path / "plan.toml").write_text(text)
    with pytest.raises(CommandError, match=said):
        call_command("register", study.slug, str(tmp_path / "plan.toml"))


def registered(count: int) -> StudyOf:
    """A registered study of ``count`` pairs in which people follow BLEU's order and not ROUGE's: it was never opened,
    as its answers are written down by hand."""
    dataset = make_dataset("toy", {f"{n}.jpg": ["a b c d e f"] for n in range(count)})
    study = StudyOf(dataset, "pairwise", controls={"per_hit": 0})
    Study.objects.filter(pk=study.study.pk).update(state=Study.State.DRAFT)
    plans.register_study(study=study.study, plan=plan())
    # more words of the reference against more words in their order
    pairs = [study.pair(f"p{n}", f"{n}.jpg", "f e d c b a", "a b c x y z") for n in range(count)]
    hit = study.hit("h", [study.unit(f"u{n}", pair=pair) for n, pair in enumerate(pairs)], required=3)
    for name in ("w-1", "w-2", "w-3"):
        study.answer(hit, name, [1] * count)
    return study


def test_a_claim_is_tested_on_the_pairs() -> None:
    study = registered(8)
    verdicts = [outcome.verdict for outcome in plans.compute_outcomes(study.study)]
    assert verdicts == ["undecided", "for people to judge"]
    aggregate_study(study=study.study)
    evaluate_study(study=study.study, metrics=["bleu-1", "rouge-l"])
    found, other = plans.compute_outcomes(study.study)
    assert (found.verdict, found.first_only, found.second_only) == ("supported", 8, 0)
    # The binomial test by hand: 8 of 8, two-sided.
    assert found.p == found.adjusted == pytest.approx(2 / 2**8)
    assert other.verdict == "for people to judge"


def test_the_report_tells_what_became_of_the_plan() -> None:
    study = registered(8).study
    aggregate_study(study=study)
    evaluate_study(study=study, metrics=["bleu-1", "rouge-l", "bleu-4"])
    report = build_report(study)
    section = next(one for one in report.sections if one.name == "registration")
    assert section.title == "Registered and done otherwise"
    assert "1 deviation" in section.sentences[0]
    hypotheses, others = section.tables
    assert hypotheses.rows[0][:3] == ("BLEU follows people.", "bleu-1 > rouge-l on all", "supported")
    assert others.rows == (("analysis", "These metrics were not registered: bleu-4."),)
    assert "These metrics were not registered: bleu-4." in render_report(report, "md")


def test_too_few_pairs_decide_nothing() -> None:
    study = registered(4)  # 2 / 2**4 = .125
    aggregate_study(study=study.study)
    evaluate_study(study=study.study, metrics=["bleu-1", "rouge-l"])
    assert plans.compute_outcomes(study.study)[0].verdict == "undecided"


def test_deviations_are_found_and_printed(capsys: pytest.CaptureFixture[str]) -> None:
    study = registered(4)
    assert deviations.find_deviations(study.study) == []
    worker = study.worker("w-1")
    Exclusion.objects.create(study=study.study, worker=worker, rule="too-fast", why="fast")
    note_event(study=study.study, what="webhook-added", sentence="A webhook was added.")
    assert deviations.find_deviations(study.study) == []
    Exclusion.objects.create(study=study.study, worker=study.worker("w-2"), rule="", why="a feeling")
    aggregate_study(study=study.study)
    evaluate_study(study=study.study, metrics=["bleu-1", "bleu-2"])
    study.study.design["controls"]["threshold"] = 0.1
    study.study.state, study.study.closed_at = Study.State.CLOSED, timezone.now()
    study.study.save()
    study.study.hits.update(required=5, open_slots=2)
    note_event(study=study.study, what="paused", sentence="Paused.")
    found = {one.what: one.words for one in deviations.find_deviations(study.study)}
    assert set(found) == {"design", "extended", "short", "exclusion", "analysis", "paused"}
    assert "by a person" in found["exclusion"]
    assert "bleu-2" in found["analysis"]
    call_command("register", study.study.slug)
    printed = capsys.readouterr().out
    assert "6 deviations" in printed
    assert all(what in printed for what in found)


def test_a_study_without_a_plan_has_no_deviations() -> None:
    study = make_study("pairwise", opened=False)
    assert deviations.find_registration(study) is None
    assert deviations.find_deviations(study) == plans.compute_outcomes(study) == []


STUDY_FILE = f"""
name = "Planned pairs"
dataset = "animals"
protocol = "pairwise"
units_per_hit = 4
sampling.pairs = {{HC = 4}}
{PLAN}"""


def from_file(tmp_path: Path, text: str, name: str = "study.toml") -> Study:
    """The draft that `create_study` makes of a study file."""
    (tmp_path / name).write_text(text)
    call_command("create_study", str(tmp_path / name))
    return Study.objects.latest("pk")


def exported(study: Study, path: Path) -> str:
    call_command("export_study", study.slug, "--output", str(path))
    return path.read_text()


def test_a_study_file_holds_its_plan_and_registers_with_the_same_hash(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_dataset_of_animals()
    study = from_file(tmp_path, STUDY_FILE)
    assert design_of(study).registration == plan()
    text = exported(study, tmp_path / "before.toml")
    call_command("register", study.slug)
    sha256 = Registration.objects.get(study=study).sha256
    assert sha256 in capsys.readouterr().out
    assert exported(study, tmp_path / "after.toml") == text
    assert deviations.find_deviations(study) == []
    # the slug is hashed, too: the first study makes room for another of its name
    Study.objects.filter(pk=study.pk).update(slug="moved")
    again = from_file(tmp_path, text, "again.toml")
    assert exported(again, tmp_path / "again-out.toml") == text
    assert plans.register_study(study=again, plan=plan()).sha256 == sha256


def test_the_study_file_of_a_registered_study_holds_a_plan_of_another_file(tmp_path: Path) -> None:
    make_dataset_of_animals()
    study = from_file(tmp_path, STUDY_FILE.replace(PLAN, ""))
    assert "registration" not in exported(study, tmp_path / "out.toml")
    plans.register_study(study=study, plan=plan())
    assert plan(exported(study, tmp_path / "out.toml")) == plan()
    assert deviations.find_deviations(study) == []


def test_a_study_with_a_plan_opens_once_it_is_registered(tmp_path: Path) -> None:
    make_dataset_of_animals()
    study = from_file(tmp_path, STUDY_FILE)
    generate_hits(study=study)
    with pytest.raises(WrongState):
        mark_open(study=study)
    study.refresh_from_db()
    assert study.state == Study.State.GENERATED
    call_command("register", study.slug)
    assert mark_open(study=study).state == Study.State.OPEN


def test_a_changed_design_keeps_the_registered_plan_and_takes_no_other(tmp_path: Path) -> None:
    make_dataset_of_animals()
    study = from_file(tmp_path, STUDY_FILE)
    call_command("register", study.slug)
    study.refresh_from_db()
    values = study.design | {"judgments_per_unit": 5}
    values.pop("registration")
    change_design(study=study, design=make_design(values))
    study.refresh_from_db()
    assert design_of(study).registration == plan()
    assert [one.what for one in deviations.find_deviations(study)] == ["design", "design-changed"]
    other = values | {"registration": {"hypotheses": [{"text": "Another one."}]}}
    with refuses(DesignError, study.slug, "registered", field="registration"):
        change_design(study=study, design=make_design(other))


@pytest.mark.parametrize(
    ("wrong", "field", "said"),
    [
        ('hypotheses = [{text = "a", claim = "better"}]', CLAIM, "cannot be read"),
        *(
            (f'hypotheses = [{{text = "a", claim = "{claim}"}}]', CLAIM, "cannot be read")
            for claim in ("bleu-4 >=cider on HC", "a>b>c", "cider > cider")
        ),
        ("hypotheses = []", "registration.hypotheses", "at least 1"),
        ('hypotheses = [{text = "a"}]\nmetric = ["cider-d"]', "registration.metric", "'metrics'"),
    ],
)
def test_a_wrong_plan_in_a_study_file_is_refused_by_its_key(wrong: str, field: str, said: str) -> None:
    with pytest.raises(DesignError, match=said) as refused:
        read_toml(STUDY_FILE.replace(PLAN, f"[registration]\n{wrong}"))
    assert refused.value.field == field


def test_a_copy_for_rehearsal_needs_no_registration_and_a_preset_takes_no_plan(tmp_path: Path) -> None:
    make_dataset_of_animals()
    study = from_file(tmp_path, STUDY_FILE)
    copy = copy_for_rehearsal(study=study)
    generate_hits(study=copy)
    assert mark_open(study=copy).state == Study.State.OPEN
    assert "registration" not in preset_values(design_of(study))


@pytest.mark.parametrize("protocol", ["graded", "triplet"])
def test_a_registration_of_an_earlier_version_is_read_with_the_keys_of_today(protocol: str) -> None:
    crossed = {"sampling": {"pairs_from": "crossed"}} if protocol == "graded" else {}
    study = make_study(protocol, opened=False, **crossed)
    plans.register_study(study=study, plan=plan())
    made = Registration.objects.get()
    for key in ("pairs_from", "k", "task", "foils", "listed"):
        made.content["design"]["sampling"].pop(key)
    for key in ("judged", "labels", "source"):
        made.content["design"].pop(key)
    # rows are never edited: this one is as an earlier version wrote it
    QuerySet(Registration).filter(pk=made.pk).update(content=made.content, sha256=plan_hash(made.content))
    assert deviations.find_deviations(study) == []
    study.design["sampling"]["images"] = 2
    study.save()
    assert [one.what for one in deviations.find_deviations(study)] == ["design"]


FIELDS = {
    "text-0": "BLEU follows people.",
    "claim-0": "bleu-1 > rouge-l on all",
    "text-4": "<b>People</b> enjoy it.",
    "exclusions": "People below 70 %.",
    "rule-too-fast": "on",
    "analyses": "Accuracy by kind\n\nAlpha",
    "metrics": "bleu-1, rouge-l",
    "level": "0.01",
    "sure": "on",
}


def page(study: Study, name: str = "register") -> str:
    return reverse(f"admin:judgments_study_{name}", args=[study.pk])


def register(client: Client, study: Study, **changes: str) -> Any:
    sent = {name: value for name, value in (FIELDS | changes).items() if value} | {"page": "register"}
    return client.post(reverse("admin:judgments_study_do", args=[study.pk, "register"]), sent, follow=True)


def words(answer: Any) -> str:
    return html.unescape(answer.content.decode())


def test_a_plan_is_registered_and_shown(designer: Client) -> None:
    study = make_study("pairwise", opened=False)
    assert "Register the plan before the study opens" in words(designer.get(page(study)))
    answer = register(designer, study)
    made = Registration.objects.get()
    assert made.content["plan"] == {
        "hypotheses": [
            {"text": "BLEU follows people.", "claim": "bleu-1 > rouge-l on all"},
            {"text": "<b>People</b> enjoy it.", "claim": ""},
        ],
        "exclusions": "People below 70 %.",
        "exclude_by": ["too-fast"],
        "stopping": "",
        "analyses": ["Accuracy by kind", "Alpha"],
        "metrics": ["bleu-1", "rouge-l"],
        "level": 0.01,
    }
    assert made.registered_by is not None
    assert made.registered_by.username == "designer"
    assert StudyEvent.objects.get(what="registered").by == made.registered_by
    assert made.sha256 in words(answer)
    assert b"<b>People</b>" not in answer.content
    assert "No deviation" in words(answer)
    file = json.loads(designer.get(page(study, "registration-file")).content)
    assert file.pop("sha256") == made.sha256 == plan_hash(file)


def as_form(plan: dict[str, Any]) -> dict[str, str]:
    """Return the page's fields for a plan of one hypothesis; an empty one is the study file's."""
    fields = {"sure": "on", "level": str(plan.get("level", 0.05))}
    for one in plan.get("hypotheses", ()):
        fields |= {"text-0": one["text"], "claim-0": one.get("claim", "")}
    return fields


def at_each_door(study: Study, user: User, plan: dict[str, Any], folder: Path) -> dict[str, Answer]:
    """Ask to register a plan, {} for that of the study file, at every door in turn."""
    client = signed_in(user)
    page = by_page(study, Call("register", "", "", as_form(plan)), user)
    body = {"study": study.slug} | ({"plan": plan} if plan else {})
    answer = client.post("/api/registrations/", body, content_type="application/json")
    http = Answer(answer.status_code == 201, answer.json().get("detail", ""), answer.status_code)
    (folder / "plan.toml").write_text(tomli_w.dumps({"registration": plan}))
    options = (str(folder / "plan.toml"),) if plan else ()
    return {
        "page": page,
        "http": http,
        "command": by_command(study, Call("", "", "register", {}, options=options)),
    }


MISTAKES: dict[str, dict[str, Any]] = {
    "a claim": {"hypotheses": [{"text": "a", "claim": "better"}]},
    "no text": {"hypotheses": [{"text": "", "claim": "bleu-1 > rouge-l on all"}]},
    "a level": {"hypotheses": [{"text": "a"}], "level": 2.0},
    "an opened study": {"hypotheses": [{"text": "a"}]},
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_the_same_sentence_at_each_door(mistake: str, tmp_path: Path) -> None:
    study = make_study("pairwise", opened=mistake == "an opened study")
    lead = User.objects.create_superuser("lead")
    answers = at_each_door(study, lead, MISTAKES[mistake], tmp_path)
    assert len({answer.sentence for answer in answers.values()}) == 1
    assert not any(answer.done for answer in answers.values())
    assert answers["http"].status == 400
    assert not Registration.objects.exists()


def test_the_plan_of_a_study_file_is_registered_once_at_any_door(tmp_path: Path) -> None:
    study = make_study("pairwise", opened=False, registration={"hypotheses": [{"text": "It is so."}]})
    answers = at_each_door(study, User.objects.create_superuser("lead"), {}, tmp_path)
    made = Registration.objects.get()
    assert answers["page"].sentence == f"Study {study.slug} is registered: SHA-256 {made.sha256}."
    assert (answers["http"].status, "is registered already" in answers["http"].sentence) == (400, True)
    assert "no deviation" in answers["command"].sentence  # what became of it


def test_a_program_registers_a_plan_and_follows_it(designer: Client) -> None:
    study = make_study("pairwise", opened=False)
    plan = {
        "hypotheses": [{"text": "Better.", "claim": "rouge-l > bleu-1 on HC"}],
        "metrics": ["rouge-l", "bleu-1"],
    }
    body = {"study": study.slug, "plan": plan}
    made = designer.post("/api/registrations/", body, content_type="application/json")
    assert made.status_code == 201
    assert made.json()["content"]["plan"]["metrics"] == plan["metrics"]
    told = designer.get(f"{made['Location']}outcomes/").json()
    assert told["outcomes"][0]["verdict"] == "undecided"
    assert (told["outcomes"][0]["p"], told["deviations"]) == (None, [])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"claim-0": "better"}, "the claim 'better' cannot be read"),
        ({"text-0": "", "text-4": "", "claim-0": ""}, "registration.hypotheses"),
        ({"sure": ""}, "tick this box first"),
    ],
)
def test_what_cannot_be_registered_is_said_and_kept_in_the_form(
    designer: Client, changes: dict[str, str], said: str
) -> None:
    study = make_study("pairwise", opened=False)
    answer = register(designer, study, **changes)
    assert said in words(answer)
    assert 'value="bleu-1, rouge-l"' in words(answer)
    assert not Registration.objects.exists()


def test_an_open_study_has_no_form(designer: Client) -> None:
    assert "opened without" in words(designer.get(page(make_study("pairwise"))))


def test_outcomes_have_words_and_an_interval(designer: Client) -> None:
    study = registered(8).study
    answer = words(designer.get(page(study)))
    assert "Not tested, because bleu-1 and rouge-l were not both compared with people" in answer
    aggregate_study(study=study)
    evaluate_study(study=study, metrics=["bleu-1", "rouge-l", "bleu-4"])
    answer = words(designer.get(page(study)))
    # Wilson's interval of 8 of 8: its lower end is 8 / (8 + z^2)
    assert (
        "bleu-1 is right on 8 of these (100\N{NO-BREAK SPACE}%, "
        "95 % interval 68 to 100\N{NO-BREAK SPACE}%); p = .008" in answer
    )
    assert ">supported<" in answer
    assert "These metrics were not registered: bleu-4." in answer


def test_imported_judgments_have_no_tab(designer: Client) -> None:
    study = StudyOf(make_dataset("toy", {"a.jpg": ["a dog"]}), "pairwise").study
    Study.objects.filter(pk=study.pk).update(source=Study.Source.IMPORTED)
    assert page(study) not in words(designer.get(page(study, "results")))


def test_the_plan_of_a_study_file_is_shown_and_registered_as_it_stands(designer: Client) -> None:
    plan = {
        "hypotheses": [{"text": f"Hypothesis <{number}>"} for number in range(30)],
        "exclude_by": ["a-rule-of-ours"],
    }
    study = make_study("pairwise", opened=False, registration=plan)
    shown = words(designer.get(page(study)))
    assert "Hypothesis <29>" in shown
    assert "a-rule-of-ours" in shown
    step = reverse("admin:judgments_study_do", args=[study.pk, "register"])
    refused = designer.post(step, {"page": "register"}, follow=True)
    assert "tick this box first" in refused.content.decode()
    designer.post(step, {"page": "register", "sure": "on"})
    made = Registration.objects.get(study=study)
    assert len(made.content["plan"]["hypotheses"]) == 30
    assert made.content["plan"]["exclude_by"] == ["a-rule-of-ours"]
    assert "Hypothesis" in words(designer.get(page(study, "change")))


def test_an_unregistered_plan_of_the_study_file_blocks(designer: Client) -> None:
    study = generated(registration={"hypotheses": [{"text": "People prefer people."}]})
    standing, text = checked(designer, study)["Registration"]
    assert standing == "prevents opening"
    assert "not registered yet" in text
    assert page(study) in text


def test_plans_are_seen_by_those_who_have_a_role_in_their_study(client: Client) -> None:
    study, other = make_study(opened=False), make_study("graded", opened=False)
    plans.register_study(study=other, plan=plan())
    person = User.objects.create_user("person", is_staff=True)
    client.force_login(person)
    assert client.get("/api/registrations/").status_code == 403
    give_role(study=study, user=person, role="designer", by=None)
    assert client.get("/api/registrations/").json()["results"] == []
    give_role(study=other, user=person, role="viewer", by=None)
    (row,) = client.get("/api/registrations/").json()["results"]
    assert row["sha256"] == plan_hash(row["content"])
