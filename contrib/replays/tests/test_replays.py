"""What a replay finds in finished work, by the command, on the page and over HTTP."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from annotation.models import Case, QualityRule
from contrib.replays.rule_replays import replay_rule, replay_rules
from judgments.models import Study
from tests.annotation.casting import joined
from tests.annotation.test_watching import watched_by
from tests.annotation.watched import careful, left, make_watched, with_a_pause, work
from tests.annotation.writing import PASTED, write, writing_study
from tests.doors import call, key_of
from tests.judgments.desk import do, page, words
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return with_a_pause()


def test_a_replay_finds_whom_the_live_rule_finds_and_stores_nothing() -> None:
    live = watched_by("flag")
    for study in (live, later := make_watched("Later")):
        work(study, f"ada-{study.pk}", careful, pages=4)
        work(study, f"spam-{study.pk}", left, pages=4)
    found = replay_rule(study=later, rule="side-bias", settings={})
    case = Case.objects.get()
    assert [one.worker for one in found.found] == [f"spam-{later.pk}"]
    assert found.found[0].answers == case.answers
    assert found.found[0].words == case.evidence["words"]
    assert (found.judgments, found.slots, found.workers) == (40, 4, 2)
    assert not Case.objects.filter(study=later).exists()


def test_the_command_says_whom_and_writes_json(tmp_path: Path, capsys: Any) -> None:
    study = make_watched()
    work(study, "spam", left, pages=4)
    path = tmp_path / "rules.json"
    call_command("replay_rules", study.slug, "--rules", "side-bias,pasted-text", "--output", str(path))
    said = capsys.readouterr().out
    assert (
        "side-bias: 1 of 1 participants; excluding them would invalidate 40 judgments and open 4 places."
        in said
    )
    assert "spam, after 20 answers: Answers that chose the left option: 20 of 20." in said
    assert "pasted-text: not applicable to this kind of answers." in said
    rules = json.loads(path.read_text())["rules"]
    assert rules[0]["found"][0]["worker"] == "spam"


def test_the_command_names_a_rule_that_is_none() -> None:
    study = make_watched()
    with refuses(CommandError, "side-byas", "too-fast"):
        call_command("replay_rules", study.slug, "--rules", "side-byas")
    with refuses(CommandError, "too-fats", repr("too-fast")):
        call_command("replay_rules", study.slug, "--rules", "too-fats")


def test_a_replay_of_answers_without_counts_clears_nobody(capsys: Any) -> None:
    study = writing_study(images=3, writing={"record": True})
    write(study, joined(study).worker)
    (found,) = replay_rules(study=study, rules=[("typing", {})])
    assert (found.applies, found.unrecorded, found.found) == (False, True, ())
    call_command("replay_rules", study.slug, "--rules", "typing,canary")
    said = capsys.readouterr().out
    assert "typing: no answer holds what it looks at, so it says nothing." in said
    assert "canary: no answer holds what it looks at, so it says nothing." in said
    write(study, joined(study, "bob").worker, signals=PASTED)
    (found,) = replay_rules(study=study, rules=[("typing", {})])
    assert found.applies


def test_a_rule_is_tried_on_the_finished_work_before_it_is_switched_on(designer: Client) -> None:
    study = make_watched()
    work(study, "spam", left, pages=3)
    tried = designer.post(
        do(study, "try-rule"),
        {
            "page": "rules",
            "rule": "side-bias",
            "settings.least": "20",
            "settings.tolerance": "0.2",
            "action": "flag",
        },
        follow=True,
    )
    text = words(tried)
    assert "Judgments that the detector checked: 30. Participants whom it would have flagged: 1 of 1." in text
    assert "their judgments are invalidated (30) and their places become open (3)." in text
    assert "tolerance 0.2" in text
    assert not Case.objects.exists()
    assert not QualityRule.objects.exists()


def test_the_page_says_what_it_cannot_try_and_leads_back(designer: Client, study: Study) -> None:
    shown = words(designer.get(page(study, "replay") + "?rule=pasted-text"))
    assert "Not applicable to this kind of answers." in shown
    assert "there is no detector 'none'" in words(designer.get(page(study, "replay") + "?rule=none"))
    none = designer.get(page(study, "replay"))
    assert "No detector is chosen." in words(none)
    assert f'href="{page(study, "rules")}"' in none.content.decode()


def test_the_page_of_detectors_offers_to_try_them(designer: Client, study: Study) -> None:
    shown = designer.get(page(study, "rules"))
    assert "Try on submitted work" in words(shown)
    assert "Try a detector on the submitted work before you turn it on." in words(shown)


def test_a_rule_is_tried_over_http(study: Study) -> None:
    designer = key_of(User.objects.create_superuser("desk"))
    found = call("get", f"studies/{study.slug}/replay/?rule=side-bias&least=15", designer).json()
    assert [one["worker"] for one in found["found"]] == ["spam"]
    assert found["settings"]["least"] == 15
    for query in ("rule=side-bias&tolerance=inf", "rule=side-bias&least=x", "rule=no", "rule=side-bias&z=1"):
        assert call("get", f"studies/{study.slug}/replay/?{query}", designer).status_code == 400
