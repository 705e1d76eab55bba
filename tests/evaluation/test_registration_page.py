"""Registering at each door; the page: a form before the study opens, afterwards what became of the plan."""

import html
import json
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from evaluation.models import Registration
from evaluation.planning.registration.plans import plan_hash
from evaluation.results.aggregation import aggregate_study
from evaluation.results.meta_evaluation import evaluate_study
from judgments.models import Study, StudyEvent
from tests.doors import Answer, Call, by_command, by_page, signed_in
from tests.evaluation.studies import StudyOf, make_dataset
from tests.evaluation.test_registration import registered
from tests.studies import make_study

pytestmark = pytest.mark.django_db
PLAN = {
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
    sent = {name: value for name, value in (PLAN | changes).items() if value} | {"page": "register"}
    return client.post(reverse("admin:judgments_study_do", args=[study.pk, "register"]), sent, follow=True)


def words(answer: Any) -> str:
    return html.unescape(answer.content.decode())


def test_a_plan_is_registered_and_shown(designer: Client) -> None:
    study = make_study("pairwise", opened=False)
    assert "Fix the plan before the study opens" in words(designer.get(page(study)))
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
    assert "no deviation" in words(answer)
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
    assert (answers["http"].status, "never changed" in answers["http"].sentence) == (400, True)
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
        ({"claim-0": "better"}, "the claim 'better' cannot be checked"),
        ({"text-0": "", "text-4": "", "claim-0": ""}, "registration.hypotheses"),
        ({"sure": ""}, "tick this first"),
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
    assert "Not tested: bleu-1 and rouge-l were not both held against people" in answer
    aggregate_study(study=study)
    evaluate_study(study=study, metrics=["bleu-1", "rouge-l", "bleu-4"])
    answer = words(designer.get(page(study)))
    # Wilson's interval of 8 of 8: its lower end is 8 / (8 + z^2)
    assert "bleu-1 is right on 8: 100 % (95 % interval 68 to 100); p = .008" in answer
    assert ">supported<" in answer
    assert "Not registered: bleu-4." in answer


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
    assert "tick this first" in refused.content.decode()
    designer.post(step, {"page": "register", "sure": "on"})
    made = Registration.objects.get(study=study)
    assert len(made.content["plan"]["hypotheses"]) == 30
    assert made.content["plan"]["exclude_by"] == ["a-rule-of-ours"]
    assert "Hypothesis" in words(designer.get(page(study, "change")))
