"""Two texts on one screen: what a worker sees and sends."""

import re
from typing import Any

import pytest
from django.test import Client

from annotation.models import Judgment, Worker
from annotation.work.sheet.effort import describe_effort
from annotation.work.sheet.layout import draw_layout
from annotation.work.sheet.units import arrange_units, cached_units_of, page_units_of, screens_of
from judgments.drawing.material import screen_of
from judgments.kinds import KINDS
from judgments.models import Item
from judgments.studies.designs import design_of
from judgments.studies.study_page import study_page_address
from tests.annotation.casting import joined, make_study, with_person
from tests.annotation.posting import positions_on, submit, work_of
from tests.annotation.sourcing import make_texts, side_by_side

pytestmark = pytest.mark.django_db


def steps_on(html: str) -> list[str]:
    return re.findall(r'data-step data-places="([\d ]+)"', html)


def test_both_texts_of_a_screen_are_answered_and_become_a_judgment_each() -> None:
    study = side_by_side()
    assert describe_effort(study)["size"] == "3 questions"
    person = joined(study)
    html, assignment = work_of(study, person)
    assert steps_on(html) == ["1 2", "3 4", "5 6"]
    assert html.count('<p class="question"><bdi>Mark every error') == 3  # once a screen
    assert re.findall(r'data-named="([^"]+)"', html) == ["Translation A", "Translation B"] * 3
    given = {f"u{position}": str(10 * int(position)) for position in positions_on(html)}
    short = submit(study, person, assignment, {**given, "u4": "", "u2-w0": "major"})
    assert short.status_code == 422
    assert "Not answered yet:" in short.content.decode()
    assignment.refresh_from_db()
    assert sorted(assignment.answers) == ["1", "2", "3", "5", "6"]  # what was given is saved
    submit(study, person, assignment, {**given, "u2-w0": "major"})
    shown = {place.unit.pk: place.position for place in page_units_of(assignment)}
    judgments: dict[int, Any] = {shown[one.unit_id]: one.answer for one in Judgment.objects.of_study(study)}
    assert {position: answer["score"] for position, answer in judgments.items()} == {
        position: 10 * position for position in range(1, 7)
    }
    assert [len(judgments[position]["spans"]) for position in range(1, 7)] == [0, 1, 0, 0, 0, 0]
    assert Judgment.objects.of_study(study).count() == 6


def test_a_draft_keeps_one_side_before_the_other_has_an_answer() -> None:
    study, person = with_person(side_by_side())
    _, assignment = work_of(study, person)
    saved = person.client.post(
        f"/s/{study.slug}/work/{assignment.pk}/save/",
        {"answers": [{"position": 2, "answer": {"spans": [], "score": 7}}]},
        content_type="application/json",
    )
    assert saved.status_code == 200
    html, _ = work_of(study, person)
    assert re.findall(r'data-place="(\d)" data-answered="yes"', html) == ["2"]
    assert re.findall(r'data-saved="(\d)"', html) == ["2"]
    assert 'data-step data-places="1 2" data-answered="no"' in html


def test_sides_change_by_worker_and_are_recorded() -> None:
    study = side_by_side(judgments_per_unit=30)
    hit = study.hits.order_by("position").first()
    assert hit is not None
    units, kind, design = cached_units_of(hit), KINDS["spans"], design_of(study)
    firsts: dict[Any, set[int]] = {}
    for number in range(40):
        worker = Worker(name=f"w{number}")
        found = draw_layout(design=design, hit=hit, worker=worker, units=units)
        assert sorted(found.order) == list(range(6))
        assert found == draw_layout(design=design, hit=hit, worker=worker, units=units)
        for group in screens_of(arrange_units(units, found.order, found.sides), kind):
            one, other = [place.unit for place in group]
            assert screen_of(one) == screen_of(other)
            firsts.setdefault(screen_of(one), set()).add(one.pk)
    assert [len(first) for first in firsts.values()] == [2, 2, 2]
    person = joined(study)
    _, assignment = work_of(study, person)
    assert assignment.hit is not None
    drawn = draw_layout(
        design=design, hit=assignment.hit, worker=person.worker, units=cached_units_of(assignment.hit)
    )
    assert assignment.order == drawn.order


def test_a_system_stays_on_its_side_of_a_document() -> None:
    dataset = make_texts("papers")
    Item.objects.filter(dataset=dataset).update(fields=[["document", "a"]])
    study = make_study(
        dataset, "spans", judged="summary", units_per_hit=12, controls={"per_hit": 0},
        spans={"documents": True, "contrastive": True}, judgments_per_unit=30,
    )  # fmt: skip
    assert describe_effort(study)["size"] == "6 questions"
    (hit,) = study.hits.all()
    units = cached_units_of(hit)
    lefts = set()
    for number in range(20):
        worker = Worker(name=f"w{number}")
        order = draw_layout(design=design_of(study), hit=hit, worker=worker, units=units).order
        shown = [units[index] for index in order]
        assert [unit.content["document"]["part"] for unit in shown] == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
        names = [unit.content["document"]["name"] for unit in shown]
        assert names == names[:2] * 6
        lefts.add(names[0])
    assert lefts == {"a#1", "a#2"}
    html, _ = work_of(study, joined(study))
    assert html.count("Document: part 2 of 6") == 1


def test_a_side_whose_partner_is_withdrawn_stands_alone() -> None:
    study = side_by_side()
    hit = study.hits.order_by("position").first()
    assert hit is not None
    units = cached_units_of(hit)
    control = next(unit for unit in units if unit.control)
    order = draw_layout(
        design=design_of(study), hit=hit, worker=Worker(name="ada"), units=units, left_out={control.pk}
    ).order
    groups = list(screens_of(arrange_units(units, order, []), KINDS["spans"]))
    assert sorted(map(len, groups)) == [1, 2, 2]


def test_a_known_item_of_the_quiz_has_two_sides_and_each_is_checked() -> None:
    study = side_by_side(controls={"per_hit": 0}, quiz={"items": 1, "explain": "after-each"})
    person = joined(study)
    address = f"/s/{study.slug}/quiz/"
    person.client.post(f"{address}start/")
    html = person.client.get(address).content.decode()
    assert re.findall(r'data-place="(\d)"', html) == ["1", "2"]
    where = re.search(r'action="([^"]+quiz[^"]+)"', html)
    assert where
    half = person.client.post(where[1], {"step": "1", "u1": "40", "u1-w0": "minor"})
    assert half.status_code == 422
    whole = {"step": "1", "u1": "40", "u2": "90", "u1-w0": "minor"}
    told = person.client.post(where[1], whole, follow=True).content.decode()
    assert told.count('class="verdict ') == 2


def test_previews_show_both_sides(designer: Client) -> None:
    from judgments.design.editing.previews import store_preview

    study = side_by_side(opened=False)
    html = designer.get(f"/s/{study.slug}/preview/").content.decode()
    assert steps_on(html) == ["1 2", "3 4", "5 6"]
    assert "go to the first or the second text" in html
    session = designer.session
    key = store_preview(session, design_of(study))
    session.save()
    looked = designer.get(f"/look/{key}/").content.decode()
    assert steps_on(looked) == ["1 2", "3 4", "5 6"]


def test_the_list_of_check_questions_has_both_sides(designer: Client) -> None:
    study = side_by_side()
    html = designer.get(study_page_address(study, "controls")).content.decode()
    for unit in study.units.filter(control=True).select_related("first"):
        assert unit.first is not None
        assert unit.first.text in html
