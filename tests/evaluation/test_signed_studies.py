"""The judgment signature changes with whatever changes what is judged or asked, and with nothing else."""

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from evaluation.data.judgment_sets.study_signatures import signature_of_study
from judgments.models import Caption, Item, Study
from tests.evaluation.studies import StudyOf, make_dataset

pytestmark = pytest.mark.django_db

REFERENCES = {"a.jpg": ["a dog", "one dog"], "b.jpg": ["a cat", "one cat"]}
Change = Callable[[Study], object]


def judged(name: str = "toy", **design: Any) -> Study:
    """A study of triplets with one pair, a control item and an answer to each."""
    made = StudyOf(
        make_dataset(name, REFERENCES), "triplet", **{"seed": 3, "controls": {"per_hit": 1}, **design}
    )
    pair = made.pair("p", "a.jpg", "a hound", "a cat")
    units = [made.unit(f"u{one.position}", pair=pair, reference=one) for one in pair.item.references.all()]
    units.append(made.unit("c", "b.jpg", first="a tomcat", second=pair.first, control=True, expected=1))
    made.answer(made.hit("h", units), "ada", [1, 2, 1])
    return made.study


def designed(**parts: Any) -> Change:
    def change(study: Study) -> None:
        for name, value in parts.items():
            old = study.design.get(name)
            study.design[name] = {**old, **value} if isinstance(old, dict) else value
        study.save()

    return change


def reworded(role: str, **of: Any) -> Change:
    return lambda study: Caption.objects.filter(dataset=study.dataset, role=role, **of).update(text="a mouse")


ASKED: dict[str, tuple[Change, str]] = {
    "another question": (designed(question="Which is nearer?"), "design"),
    "other instructions": (designed(instructions="Read twice."), "design"),
    "labels of answers": (designed(labels=["This one", "That one"]), "design"),
    "an example": (designed(examples=[{"shown": ["a hound", "a cat"], "answer": "B"}]), "design"),
    "a translation": (designed(translations={"de": {"question": "Was ist näher?"}}), "design"),
    "the sort of text": (designed(judged="summary"), "design"),
    "judgments per unit": (designed(judgments_per_unit=5), "design"),
    "units on a page": (designed(units_per_hit=4), "design"),
    "control items on a page": (designed(controls={"per_hit": 2}), "design"),
    "the text of a candidate": (reworded("candidate", text="a hound"), "material"),
    "the text of a control item": (reworded("candidate", text="a tomcat"), "material"),
    "the text of a reference": (reworded("reference", text="a dog"), "material"),
    "the text of a control item's reference": (reworded("reference", text="a cat"), "material"),
    "the image": (lambda study: Item.objects.filter(name="a.jpg").update(name="z.jpg"), "material"),
    "a text beside the image": (lambda study: Item.objects.update(text="News."), "material"),
    "a kind's own content": (lambda study: study.units.update(content={"options": ["x"]}), "material"),
    "another reference": (
        lambda study: Caption.objects.create(
            dataset=study.dataset, item=Item.objects.get(name="a.jpg"), key="more", text="more", role="reference"
        ),
        "material",
    ),
}  # fmt: skip

NOT_ASKED: dict[str, Change] = {
    "the title": designed(name="Another title"),
    "the short name": designed(slug="another-name"),
    "pay": designed(crowd={"reward_cents": 50, "budget_cents": 90_000}),
    "who may join": designed(access={"join": "code", "code": "secret"}),
    "whom to ask": designed(contact="grace@example.org"),
    "consent": designed(consent="I agree."),
    "retention": designed(retention={"identities_days": 30}),
    "the preset's name": designed(preset="vedantam-2015-triplet"),
    "how long an item takes": designed(seconds_per_unit=11),
    "the order of keys": lambda study: designed(**dict(reversed(study.design.items())))(study),
    "the dataset's name": lambda study: type(study.dataset).objects.update(name="renamed"),
}


@pytest.mark.parametrize("what", ASKED)
def test_it_changes_with_what_is_judged_or_asked(what: str) -> None:
    study = judged()
    before = signature_of_study(study)
    change, field = ASKED[what]
    change(study)
    after = signature_of_study(Study.objects.get(pk=study.pk))
    assert {name for name in after.fields if after.fields[name] != before.fields[name]} == {field}


@pytest.mark.parametrize("what", NOT_ASKED)
def test_it_does_not_change_with_anything_else(what: str) -> None:
    study = judged()
    before = signature_of_study(study)
    NOT_ASKED[what](study)
    assert signature_of_study(Study.objects.get(pk=study.pk)) == before


def test_the_material_is_hashed_as_lines_of_json() -> None:
    """Units with all that they show, then the references of their items; written out by hand."""
    study = judged()
    study.units.filter(key="u0").update(content={"b": ["ä"], "a": 1})
    reworded("candidate", text="a hound")(study)
    Caption.objects.filter(text="a dog").update(text='a "Dackel" läuft\n')
    lines = [
        r'["u0", false, "a.jpg", "", "a \"Dackel\" l\u00e4uft\n", "a mouse", "a cat", null, {"a": 1, "b": ["\u00e4"]}]',
        '["u1", false, "a.jpg", "", "one dog", "a mouse", "a cat", null, {}]',
        '["c", true, "b.jpg", "", null, "a tomcat", "a mouse", 1, {}]',
        r'["a.jpg", "a \"Dackel\" l\u00e4uft\n"]',
        '["a.jpg", "one dog"]',
        '["b.jpg", "a cat"]',
        '["b.jpg", "one cat"]',
    ]
    digest = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
    assert signature_of_study(study).fields["material"] == digest[:16]


def test_a_grade_of_another_scale_is_another_question() -> None:
    found = []
    for name, labels in (("one", {"1": "bad", "5": "good"}), ("two", {"1": "worst", "5": "best"})):
        made = StudyOf(
            make_dataset(name, REFERENCES), "graded", scale={"low": 1, "high": 5, "labels": labels}
        )
        made.answer(made.hit("h", [made.unit("u", "a.jpg", first="a hound")]), "ada", [5])
        found.append(signature_of_study(made.study).fields)
    assert found[0]["design"] != found[1]["design"]
    assert found[0]["material"] == found[1]["material"]


def test_a_control_item_with_another_answer_is_another_control_item() -> None:
    study = judged()
    before = signature_of_study(study).fields
    study.units.filter(control=True).update(expected=2)
    after = signature_of_study(study).fields
    # the worker was right, and is not any longer
    assert {name for name in after if after[name] != before[name]} == {"material", "votes", "data"}


def test_two_studies_of_the_same_have_the_same_signature() -> None:
    assert signature_of_study(judged("one")) == signature_of_study(judged("two"))
