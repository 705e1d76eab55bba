"""Text answers, put together: on the results page and in the list of consensus."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evaluation.results.aggregation import aggregate_study
from judgments.kinds import KINDS
from judgments.models import Study
from tests.annotation.casting import make_dataset, make_study
from tests.annotation.scenes import make_scenes
from tests.evaluation.reporting import pairwise, words
from tests.evaluation.studies import answered
from tests.judgments.desk import page

pytestmark = pytest.mark.django_db


def put_together(study: Study, *given: Any) -> Study:
    aggregate_study(study=answered(study, *given))
    return study


def of_scenes(protocol: str) -> Study:
    scenes = make_scenes(images=4)
    return make_study(scenes, protocol, judgments_per_unit=3, controls={"per_hit": 0}, units_per_hit=2)


def listed(client: Client, study: Study) -> str:
    """The list of its consensus."""
    address = reverse("admin:evaluation_consensus_changelist")
    return words(client.get(f"{address}?study__id__exact={study.pk}"))


def test_keywords_stand_with_how_many_people_gave_them(designer: Client) -> None:
    study = put_together(of_scenes("keywords"), ["Dog", "barn"], ["dog", "oak"], ["dog", "barn"])
    shown = words(designer.get(page(study, "results")))
    assert "What do people answer?" in shown
    assert "The farm show opened on Monday." in shown
    assert "dog (3) barn (2) oak (1)" in shown
    assert "dog (3); barn (2); oak (1)" in listed(designer, study)


def test_links_stand_as_word_and_box(designer: Client) -> None:
    dog, barn = {"word": 1, "box": "1"}, {"word": 5, "box": "0"}
    study = put_together(of_scenes("grounding"), [dog, barn], [dog, barn], [dog])
    shown = words(designer.get(page(study, "results")))
    assert "dog → dog barn → barn" in shown


def test_boxes_of_one_label_are_told_apart() -> None:
    boxes = [
        {"id": "0", "label": "dog.n.01"},
        {"id": "1", "label": "dog.n.01"},
        {"id": "2", "label": "cat.n.01"},
    ]
    unit = SimpleNamespace(first=SimpleNamespace(text="A dog and a cat"), content={"boxes": boxes})
    answer = [{"word": 1, "box": "1"}, {"word": 4, "box": "2"}]
    assert KINDS["grounding"].describe_consensus(answer, unit=unit) == ["dog → dog (1)", "cat → cat"]


def test_captions_stand_as_they_were_written(designer: Client) -> None:
    study = make_study(
        make_dataset(images=3, pictures=False), "caption", judgments_per_unit=2, controls={"per_hit": 0}
    )
    put_together(
        study, "A red shape is seen on a plain ground.", "A shape & nothing else is on a plain ground."
    )
    response = designer.get(page(study, "results"))
    shown = words(response)
    assert "“A red shape is seen on a plain ground.”" in shown
    assert "“A shape & nothing else is on a plain ground.”" in shown
    assert "shape &amp; nothing" in response.content.decode()
    assert "Text shown with the item" not in shown


def test_best_and_worst_stand_with_their_captions() -> None:
    options = [{"key": "a", "text": "one"}, {"key": "b", "text": "two"}, {"key": "c", "text": "three"}]
    unit = SimpleNamespace(content={"options": options})
    said = KINDS["best-worst"].describe_consensus
    assert said({"best": 3, "worst": 1}, unit=unit) == ["best: “three”", "worst: “one”"]
    assert said({"best": None, "worst": 2}, unit=unit) == ["worst: “two”"]


def test_a_form_stands_question_by_question() -> None:
    answer = {
        "tone": {"n": 3, "answer": "neg"},
        "flags": {"n": 3, "answer": ["irony", "rude"]},
        "age": {"n": 3, "mean": 56.5},
        "why": {"n": 3, "texts": ["because"]},
        "place": {"n": 2, "answer": None},
    }
    said = KINDS["template"].describe_consensus(answer, unit=None)
    assert said == ["tone: neg", "flags: irony, rude", "age: mean 56.5", "why: 3 answers", "place: tied"]


def test_numbers_need_no_words(designer: Client) -> None:
    study = pairwise().study
    aggregate_study(study=study)
    assert "What do people answer?" not in words(designer.get(page(study, "results")))
    assert KINDS["pairwise"].describe_consensus(None, unit=None) == []
