"""The designer's pages about rules, cases and finished work."""

from typing import Any

import pytest
from django.test import Client

from annotation.models import Case, Exclusion, QualityRule
from judgments.models import Study
from tests.annotation.casting import make_dataset, make_study
from tests.annotation.watched import left, make_watched, with_a_pause, work
from tests.judgments.desk import do, page, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return with_a_pause()


def post(client: Client, study: Study, step: str, **values: Any) -> str:
    return words(client.post(do(study, step), {"page": "review", **values}, follow=True))


def test_a_case_stands_with_its_evidence_and_a_picture_of_the_answers(designer: Client, study: Study) -> None:
    shown = designer.get(page(study, "review"))
    text = words(shown)
    assert "spam One side after 20 answers" in text
    assert "20 of 20 answers took the option on the left" in text
    assert "Paused participants 1" in text
    assert "ada" not in text
    markup = shown.content.decode()
    assert markup.count('class="q-case-answer"') == 20
    assert 'aria-label="The latest 20 answers of spam.' in markup
    assert "style=" not in markup.split("q-cases", 1)[1].split("</section>", 1)[0]


def test_a_text_that_no_database_takes_is_refused_in_a_sentence(designer: Client, study: Study) -> None:
    said = post(designer, study, "confirm-case", case=Case.objects.get().pk, why="Clicks\x00 through.")
    assert "Nothing was changed: a text holds U+0000, which cannot be stored." in said
    assert not Exclusion.objects.exists()


def test_a_dismissed_case_lets_the_worker_go_on_and_stays_to_be_seen(designer: Client, study: Study) -> None:
    said = post(designer, study, "dismiss-case", case=Case.objects.get().pk, why="Checked.")
    assert "the detector stays silent about this worker" in said
    assert "Dismissed" in said
    assert "Paused participants 0" in said
    twice = post(designer, study, "confirm-case", case=Case.objects.get().pk, why="After all.")
    assert "this flag was dismissed before" in twice


def test_a_study_without_cases_says_so(designer: Client) -> None:
    assert "Nothing to decide." in words(designer.get(page(make_watched("Quiet"), "review")))


def test_a_rule_is_switched_on_with_settings_of_its_own(designer: Client) -> None:
    study = make_watched()
    values = {
        "page": "rules",
        "rule": "alternation",
        "settings.least": "40",
        "settings.alpha": "0.001",
        "action": "flag",
    }
    said = words(designer.post(do(study, "save-rule"), {**values, "enabled": "on"}, follow=True))
    assert "“To and fro” watches from now on." in said
    row = QualityRule.objects.get()
    assert (row.enabled, row.settings, row.action) == (True, {"least": 40}, "flag")
    assert row.changed_by is not None
    off = words(designer.post(do(study, "save-rule"), values, follow=True))
    assert "is saved, and off." in off


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
    assert "It would have found 1 of 1 participants in 30 judgments." in text
    assert "touch 30 judgments and open 3 slots" in text
    assert "tolerance 0.2" in text
    assert not Case.objects.exists()
    assert not QualityRule.objects.exists()


def test_the_rules_of_a_design_are_shown_before_the_study_is_opened(designer: Client) -> None:
    study = make_study(
        make_dataset(),
        opened=False,
        rules=[{"rule": "side-bias", "action": "exclude", "settings": {"least": 30}}],
    )
    shown = designer.get(page(study, "rules"))
    text = words(shown)
    assert "1 detector of the design starts when the study is opened." in text
    assert "No detector watches this study." not in text
    assert text.count("on once opened") == 1
    assert 'name="settings.least" type="number" step="1" value="30"' in shown.text


def test_rules_that_mean_nothing_for_a_kind_say_so(designer: Client, study: Study) -> None:
    assert "Means nothing for this kind of answers." in words(designer.get(page(study, "rules")))
    shown = words(designer.get(page(study, "replay") + "?rule=pasted-text"))
    assert "This detector means nothing for this kind of answers." in shown
    assert "rule is 'none'" in words(designer.get(page(study, "replay") + "?rule=none"))
