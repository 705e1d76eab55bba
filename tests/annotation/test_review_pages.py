"""The designer's pages about rules, flags and finished work; decisions with reasons, and appeals against them."""

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotation.models import AppealNote, Assignment, Case, Exclusion, QualityRule
from annotation.quality.cases.figure import DrawnAnswer, draw_case_figure
from annotation.quality.operations import reject
from annotation.quality.reviews import (
    approve_without_objection,
    find_objections,
    reject_assignments,
    reject_with_findings,
)
from annotation.quality.rules import copy_rules
from common.errors import WrongState
from judgments.kinds import KINDS
from judgments.models import Study
from tests.annotation.casting import joined, make_dataset, make_study
from tests.annotation.test_me import seen
from tests.annotation.watched import careful, left, make_watched, states, with_a_pause, work
from tests.judgments.desk import do, page, words
from tests.refusals import assert_names, refuses

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return with_a_pause()


def post(client: Client, study: Study, step: str, **values: Any) -> str:
    return words(client.post(do(study, step), {"page": "review", **values}, follow=True))


def test_a_case_stands_with_its_evidence_and_a_picture_of_the_answers(designer: Client, study: Study) -> None:
    shown = designer.get(page(study, "review"))
    text = words(shown)
    assert "spam Side bias flagged after answer 20," in text
    assert "Answers that chose the left option: 20 of 20." in text
    assert "Paused participants 1" in text
    assert "ada" not in text
    markup = shown.content.decode()
    assert markup.count('class="q-case-answer"') == 20
    assert 'aria-label="The latest answers of spam (20).' in markup
    assert "style=" not in markup.split("q-cases", 1)[1].split("</section>", 1)[0]


def test_the_line_of_the_usual_time_is_as_high_as_a_bar_of_this_time() -> None:
    answers = [DrawnAnswer(level, seconds) for level, seconds in ((0.0, 2.0), (1.0, 4.0), (0.5, 3.0))]
    markup = draw_case_figure(KINDS["pairwise"], answers, 3.0, label="Answers")
    tops = [float(y) for y in re.findall(r'class="q-case-time" x="\d+" y="([\d.]+)"', markup)]
    [usual] = re.findall(r'class="q-case-usual" .*? y1="([\d.]+)"', markup)
    assert float(usual) == tops[2]
    assert tops[1] < tops[2] < tops[0]


def test_a_text_that_no_database_takes_is_refused_in_a_sentence(designer: Client, study: Study) -> None:
    said = post(designer, study, "confirm-case", case=Case.objects.get().pk, why="Clicks\x00 through.")
    assert_names(said, "U+0000")
    assert not Exclusion.objects.exists()


def test_a_dismissed_case_lets_the_worker_go_on_and_stays_to_be_seen(designer: Client, study: Study) -> None:
    said = post(designer, study, "dismiss-case", case=Case.objects.get().pk, why="Checked.")
    assert "the detector will not flag this participant again" in said
    assert "Dismissed" in said
    assert "Paused participants 0" in said
    twice = post(designer, study, "confirm-case", case=Case.objects.get().pk, why="After all.")
    assert "flag is already dismissed" in twice


def test_exclusions_in_force_stand_before_lifted_ones_on_each_database(
    designer: Client, study: Study
) -> None:
    spam = Case.objects.get().worker
    lifted = Exclusion.objects.create(study=study, worker=spam, why="Too fast.", lifted_at=timezone.now())
    current = Exclusion.objects.create(study=study, worker=spam, why="Too fast again.")
    assert designer.get(page(study, "review")).context["exclusions"] == [current, lifted]


def test_a_study_without_cases_says_so(designer: Client) -> None:
    assert "Nothing to review." in words(designer.get(page(make_watched("Quiet"), "review")))


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
    assert "The detector “Alternating answers” is saved and turned on." in said
    row = QualityRule.objects.get()
    assert (row.enabled, row.settings, row.action) == (True, {"least": 40}, "flag")
    assert row.changed_by is not None
    off = words(designer.post(do(study, "save-rule"), values, follow=True))
    assert "is saved and turned off." in off


def test_the_rules_of_a_design_are_shown_before_the_study_is_opened(designer: Client) -> None:
    study = make_study(
        make_dataset(),
        opened=False,
        rules=[{"rule": "side-bias", "action": "exclude", "settings": {"least": 30}}],
    )
    shown = designer.get(page(study, "rules"))
    text = words(shown)
    assert "1 detector of the design starts when the study is opened." in text
    assert "No detector is on." not in text
    assert text.count("turns on when the study is opened") == 1
    assert 'name="settings.least" type="number" step="1" value="30"' in shown.text


def test_rules_that_mean_nothing_for_a_kind_say_so(designer: Client, study: Study) -> None:
    assert "Not applicable" in words(designer.get(page(study, "rules")))


@pytest.fixture
def flagged_study() -> Study:
    made = make_watched(rules=[{"rule": "side-bias", "action": "flag"}])
    copy_rules(study=made)
    return made


def post_work(client: Client, flagged_study: Study, step: str, **values: Any) -> str:
    return words(client.post(do(flagged_study, step), {"page": "work", **values}, follow=True))


def test_what_nothing_speaks_against_is_approved_and_the_rest_waits(
    designer: Client, flagged_study: Study
) -> None:
    good, bad = work(flagged_study, "ada", careful, pages=2), work(flagged_study, "spam", left, pages=2)
    found = find_objections(flagged_study, {good[0].worker_id, bad[0].worker_id})
    assert list(found) == [bad[0].worker_id]
    assert "Answers that chose the left option: 20 of 20." in found[bad[0].worker_id][0]
    assert "Answers that chose the left option: 20 of 20." in words(designer.get(page(flagged_study, "work")))
    assert "2 pages of work are approved." in post_work(designer, flagged_study, "approve-unopposed")
    assert states(good + bad) == ["approved", "approved", "submitted", "submitted"]
    assert approve_without_objection(study=flagged_study) == 0


def test_a_rejection_takes_its_reason_from_what_was_found(designer: Client, flagged_study: Study) -> None:
    good, bad = work(flagged_study, "ada", careful, pages=1), work(flagged_study, "spam", left, pages=2)
    chosen = [str(one.pk) for one in good + bad]
    assert "no objection to the work of ada" in post_work(
        designer, flagged_study, "reject", assignments=chosen, found="on"
    )
    assert states(good + bad) == ["submitted"] * 3
    post_work(designer, flagged_study, "reject", assignments=chosen[1:], found="on")
    assert states(good + bad) == ["submitted", "rejected", "rejected"]
    assert "chose the left option" in Assignment.objects.get(pk=bad[0].pk).reason
    with pytest.raises(ValueError, match="needs a reason"):
        reject.run(flagged_study, {"assignments": [good[0].pk]}, by=None)
    assert states(good) == ["submitted"]


def test_a_worker_appeals_and_is_answered_and_paid_after_all(designer: Client, flagged_study: Study) -> None:
    ada = joined(flagged_study)
    (mine,) = work(flagged_study, ada.worker, careful)
    reject_assignments(study=flagged_study, assignments=[mine.pk], reason="Too fast.")
    assert "If you think that this is wrong, say why" in seen(ada)
    for _ in range(2):  # pressed twice
        ada.client.post(f"/me/appeal/{mine.pk}/", {"text": "I read <b>every</b> sentence."})
    assert AppealNote.objects.count() == 1
    assert "The participant" in words(designer.get(page(flagged_study, "work") + "?state=rejected"))
    post_work(designer, flagged_study, "appeal-note", assignments=[str(mine.pk)], note="You are right.")
    html = seen(ada)
    assert "I read &lt;b&gt;every&lt;/b&gt; sentence." in html
    assert "You are right." in html
    post_work(designer, flagged_study, "approve", assignments=[str(mine.pk)])
    assert states([mine]) == ["approved"]


def test_nobody_appeals_for_somebody_else_or_without_a_rejection_or_without_end(flagged_study: Study) -> None:
    ada, eve = joined(flagged_study), joined(flagged_study, "eve")
    (mine,) = work(flagged_study, ada.worker, careful)
    assert ada.client.post(f"/me/appeal/{mine.pk}/", {"text": "Why?"}).status_code == 409
    reject_assignments(study=flagged_study, assignments=[mine.pk], reason="Too fast.")
    assert eve.client.post(f"/me/appeal/{mine.pk}/", {"text": "Why?"}).status_code == 404
    assert ada.client.post(f"/me/appeal/{mine.pk}/", {"text": "  "}).status_code == 409
    said = [ada.client.post(f"/me/appeal/{mine.pk}/", {"text": f"Why {n}?"}).status_code for n in range(6)]
    assert said == [303] * 5 + [409]
    assert AppealNote.objects.count() == 5


@pytest.mark.parametrize("rule", ["pasted-text", "typing", "phrasing", "canary"])
def test_a_sign_neither_holds_pay_back_nor_is_the_reason_of_a_rejection(
    rule: str, flagged_study: Study
) -> None:
    (done,) = work(flagged_study, "ada")
    ada = done.worker
    evidence = {"words": "Typed so."}
    # a row of an earlier version, which paused people
    Case.objects.create(study=flagged_study, worker=ada, rule=rule, action="pause", evidence=evidence)
    with refuses(WrongState, "ada"):
        reject_with_findings(study=flagged_study, assignments=[done.pk])
    assert find_objections(flagged_study, [ada.pk], with_signs=True) == {ada.pk: ["Typed so."]}
    assert approve_without_objection(study=flagged_study) == 1
