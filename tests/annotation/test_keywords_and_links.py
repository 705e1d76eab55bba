"""Keywords, and links between words and boxes: what a worker sees and sends."""

import re
from typing import Any

import pytest

from annotation.models import Judgment
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from judgments.models import Study
from tests.annotation.calling import begin, is_problem, patch
from tests.annotation.calling import submit as send
from tests.annotation.casting import make_study, with_person
from tests.annotation.posting import submit, work_of
from tests.annotation.scenes import BOXES, TEXT, make_scenes
from tests.refusals import assert_names

pytestmark = pytest.mark.django_db


def make(protocol: str, **values: Any) -> Study:
    wanted: dict[str, Any] = {"units_per_hit": 3, "controls": {"per_hit": 0}}
    return make_study(make_scenes(), protocol, **(wanted | values))


def answers_of(study: Study) -> list[Any]:
    return list(Judgment.objects.of_study(study).values_list("answer", flat=True))


def test_keywords_are_given_by_a_plain_form_as_they_are_typed_and_ticked() -> None:
    study, ada = with_person(make("keywords"))
    html, assignment = work_of(study, ada)
    assert "Ms. O’Neil" in html
    phrase = re.findall(r'name="u1-c(\d+)" value="1" data-phrase="red barn"', html)
    fields = {"u1": "Dog, oak", f"u1-c{phrase[0]}": "1", "u2": "1,000, Known", "u3-none": "1"}
    assert submit(study, ada, assignment, fields).status_code == 303
    assert answers_of(study) == [["Dog", "oak", "red barn"], ["1,000", "Known"], []]


def test_a_page_with_a_missing_answer_comes_back_with_what_was_given() -> None:
    study, ada = with_person(make("keywords"))
    _, assignment = work_of(study, ada)
    response = submit(study, ada, assignment, {"u1": "dog, oak", "u2": "barn"})
    html = response.content.decode()
    assert response.status_code == 422
    assert "Your answers are saved, but they are not submitted yet." in html
    assert ">dog, oak</textarea>" in html
    assert ">barn</textarea>" in html
    assert submit(study, ada, assignment, {"u1": "dog, oak", "u2": "barn", "u3": "farm"}).status_code == 303


def test_a_word_that_is_not_in_the_text_comes_back_with_the_reason_and_with_what_was_typed() -> None:
    study, ada = with_person(make("keywords"))
    _, assignment = work_of(study, ada)
    response = submit(study, ada, assignment, {"u1": "dog, cow", "u2": "barn", "u3-none": "1"})
    html = response.content.decode()
    assert response.status_code == 422
    assert ">dog, cow</textarea>" in html
    assert "“cow” does not occur" in html
    assert ">barn</textarea>" in html
    assignment.refresh_from_db()
    assert assignment.answers["2"]["answer"] == ["barn"]
    assert answers_of(study) == []
    assert submit(study, ada, assignment, {"u1": "dog", "u2": "barn", "u3-none": "1"}).status_code == 303


def test_links_are_given_by_a_plain_form_with_a_field_for_each_word() -> None:
    study, ada = with_person(make("grounding", sampling={"references": 1}))
    html, assignment = work_of(study, ada)
    fields = dict.fromkeys(re.findall(r'<select name="([^"]+)"', html), "")
    fields |= {"u3-none": "1"}
    fields |= {f"u{n}-w{word}": box for n in (1, 2) for word, box in ((0, "2"), (1, "1"))}
    assert submit(study, ada, assignment, fields).status_code == 303
    assert answers_of(study) == [[{"word": 0, "box": "2"}, {"word": 1, "box": "1"}]] * 2 + [[]]


def test_saved_links_are_chosen_in_the_fields_again() -> None:
    study, ada = with_person(make("grounding"))
    _, assignment = work_of(study, ada)
    ada.client.post(f"/s/{study.slug}/work/{assignment.pk}/save/", {"u2-w1": "1"})
    html, _ = work_of(study, ada)
    field = re.findall(r'<select name="u2-w1".*?</select>', html, re.DOTALL)[0]
    assert re.findall(r'value="([^"]*)" selected', field) == ["1"]


def test_the_page_tells_its_script_which_steps_are_answered() -> None:
    study, ada = with_person(make("grounding"))
    _, assignment = work_of(study, ada)
    ada.client.post(f"/s/{study.slug}/work/{assignment.pk}/save/", {"u2-none": "1"})
    html, _ = work_of(study, ada)
    steps = dict(re.findall(r'data-places="(\d)"[^>]*data-answered="(\w+)"', html))
    assert steps.pop("2") == "yes"
    assert set(steps.values()) == {"no"}


def test_a_client_sees_text_and_phrases_and_sends_keywords() -> None:
    study = make("keywords")
    headers, assignment = begin(study)
    unit = assignment["units"][0]
    assert set(unit) == {"position", "protocol", "question", "image", "text", "collocations"}
    assert unit["text"] == {"text": TEXT}
    assert unit["collocations"] == ["farm show", "red barn"]
    wrong = patch(
        f"/api/assignments/{assignment['id']}/", {"answers": [{"position": 1, "answer": ["cow"]}]}, headers
    )
    said = is_problem(wrong, 400)["detail"]
    assert said.startswith(
        "Nothing was saved: the field “answer” at position 1 is ['cow']; “cow” does not occur"
    )
    answers = [{"position": n, "answer": ["dog", "Red Barn"]} for n in (1, 2, 3)]
    assert send(assignment["id"], answers, headers).status_code == 200
    assert answers_of(study) == [["dog", "Red Barn"]] * 3


def test_a_client_sees_words_and_boxes_and_sends_links() -> None:
    headers, assignment = begin(make("grounding", sampling={"references": 1, "images": 3}))
    unit = assignment["units"][0]
    assert set(unit) == {"position", "protocol", "question", "image", "caption", "words", "boxes"}
    assert [box["label"] for box in unit["boxes"]] == ["barn", "dog", "oak tree"]
    assert {key: unit["boxes"][1][key] for key in ("id", "x", "y", "width", "height")} == {
        key: BOXES[1][key] for key in ("id", "x", "y", "width", "height")
    }
    twice = [{"word": 1, "box": "0"}, {"word": 1, "box": "1"}]
    problem = send(assignment["id"], [{"position": 1, "answer": twice}], headers)
    assert_names(is_problem(problem, 400)["detail"], "word 1")
    answers = [{"position": n, "answer": [{"word": 1, "box": "1"}]} for n in (1, 2, 3)]
    assert send(assignment["id"], answers, headers).status_code == 200


@pytest.mark.parametrize(("protocol", "per_hit"), [("keywords", 0), ("grounding", 1)])
def test_a_rehearsed_crowd_fills_the_study_and_finds_the_truth(protocol: str, per_hit: int) -> None:
    study = make(protocol, controls={"per_hit": per_hit}, judgments_per_unit=7)
    report = rehearse(study=study, crowd=RehearsalCrowd(workers=9, spammers=0.0, accuracy=0.9, seed=4))
    assert report.judgments == Judgment.objects.of_study(study).count()
    assert report.recovered > 0.7
    if per_hit:
        assert report.controls_careful is not None
        assert report.controls_careful > 0.75
    spoiled = make_study(
        study.dataset, protocol, slug="spoiled", judgments_per_unit=7, controls={"per_hit": per_hit}
    )
    lost = rehearse(study=spoiled, crowd=RehearsalCrowd(workers=9, spammers=1.0, seed=4))
    assert lost.recovered < 0.3
