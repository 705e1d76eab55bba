"""Grounding: words linked to boxes, and what several people's links say together (WG15 §3)."""

from typing import Any

import pytest

from common.errors import DesignError
from judgments.design.reading.checking import make_design
from judgments.design.study_design import StudyDesign
from judgments.drawing.material import Image, Material, Text, UnitSpec
from judgments.kinds import KINDS
from tests.judgments.material import units_of
from tests.refusals import refuses

GROUNDING = KINDS["grounding"]


def box(name: str, label: str) -> dict[str, Any]:
    return {"id": name, "label": label, "x": 0.1, "y": 0.1, "width": 0.5, "height": 0.5}


# WG15 figure 2: the boxes, and the first description with its links
BOXES = [
    box("0", "dress.n.01"), box("1", "wheel.n.01"), box("2", "woman.n.01"), box("3", "car.n.01"),
    box("4", "hair.n.01"), box("5", "boot.n.01"), box("6", "signboard.n.01"),
]  # fmt: skip
FIRST = "A woman in a white dress and gold boots leaning on a car ."
PRINTED: list[dict[str, Any]] = [
    {"word": 1, "box": "2"},
    {"word": 5, "box": "0"},
    {"word": 8, "box": "5"},
    {"word": 12, "box": "3"},
]


def unit(text: str = FIRST, boxes: list[dict[str, Any]] = BOXES, **values: Any) -> UnitSpec:
    return UnitSpec(key="u", image="0.jpg", first=Text("0.jpg#0", text), content={"boxes": boxes}, **values)


def design(**values: Any) -> StudyDesign:
    return make_design(
        {"name": "Links", "dataset": "cars", "protocol": "grounding", "units_per_hit": 3} | values
    )


def material(*captions: str, boxes: list[dict[str, Any]] = BOXES, images: int = 6) -> Material:
    return Material(
        name="cars",
        images=tuple(
            Image(
                f"{n}.jpg",
                "test" if n < images - 3 else "dev",
                tuple(Text(f"{n}.jpg#{index}", text) for index, text in enumerate(captions)),
                boxes=tuple(boxes),
            )
            for n in range(images)
        ),
    )


def test_the_papers_own_example_is_an_answer():
    assert GROUNDING.clean_answer(PRINTED[::-1], unit=unit(), design=design()) == PRINTED
    words = [word["text"] for word in GROUNDING.present_unit(unit(), side=None, picture_url="")["words"]]
    assert [words[link["word"]] for link in PRINTED] == ["woman", "dress", "boots", "car"]


def test_several_words_may_name_one_box_and_none_may_be_linked():
    twice = [{"word": 1, "box": "2"}, {"word": 4, "box": "2"}]
    assert GROUNDING.clean_answer(twice, unit=unit(), design=design()) == twice
    assert GROUNDING.clean_answer([], unit=unit(), design=design()) == []


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ([{"word": 1, "box": "2"}, {"word": 1, "box": "3"}], ["word 1", "two boxes"]),
        ([{"word": 13, "box": "2"}], ["word 13", "caption"]),  # the full stop
        ([{"word": 99, "box": "2"}], ["word 99", "caption"]),
        ([{"word": True, "box": "2"}], ["word True", "caption"]),
        ([{"word": 1, "box": "9"}], ["box '9'", "0, 1, 2"]),
        ([{"word": 1, "box": 2}], ["box 2", "0, 1, 2"]),
        ([{"word": 1}], ['{"word": index, "box": id}']),
        ({"1": "2"}, ['{"word": index, "box": id}']),
    ],
)
def test_what_is_no_link_is_refused_by_name(given, values):
    with refuses(ValueError, *values):
        GROUNDING.clean_answer(given, unit=unit(), design=design())


def test_the_plain_form_has_a_field_for_each_word():
    form = {"u2-w1": "2", "u2-w5": "", "u2-w12": "3"}
    assert GROUNDING.read_form(form, 2, unit()) == [{"word": 1, "box": "2"}, {"word": 12, "box": "3"}]
    assert GROUNDING.read_form({"u2-w1": ""}, 2, unit()) is None
    assert GROUNDING.read_form({"u2-none": "1"}, 2, unit()) == []


def test_every_caption_of_an_image_with_boxes_is_a_unit_and_no_hit_shows_an_image_twice():
    batch = GROUNDING.draw_batch(design(), material(FIRST, "A car .", "Nothing ."))
    assert len(units_of(batch)) == 9
    assert all(len({one.image for one in hit.units}) == len(hit.units) for hit in batch.hits)
    drawn = GROUNDING.draw_batch(design(sampling={"references": 2}), material(FIRST, "A car .", "Nothing ."))
    assert sum(len(hit.units) for hit in drawn.hits) == 6


def test_images_without_boxes_are_no_material():
    with refuses(DesignError, field="sampling.split"):
        GROUNDING.draw_batch(design(), material(FIRST, boxes=[]))


def test_a_word_that_is_the_label_of_one_box_is_a_control_item_of_kind_reference():
    with_controls = design(controls={"per_hit": 1})
    batch = GROUNDING.draw_batch(with_controls, material(FIRST, "Two cars ."))
    controls = [one for one in units_of(batch) if one.control]
    assert controls
    for control in controls:
        assert (control.control_kind, control.first) == ("reference", Text(f"{control.image}#0", FIRST))
        # "boots" is no label word for word, so nothing is expected of it
        assert control.expected == [
            {"word": 1, "box": "2"},
            {"word": 5, "box": "0"},
            {"word": 12, "box": "3"},
        ]
        assert GROUNDING.is_right(PRINTED, control.expected)
        assert not GROUNDING.is_right(PRINTED[1:], control.expected)
    with refuses(DesignError, field="controls.split"):
        GROUNDING.draw_batch(with_controls, material("Two cars ."))


def test_a_label_of_two_boxes_or_a_word_said_twice_is_no_control_item():
    doubled = [*BOXES, box("7", "car.n.01")]
    with pytest.raises(DesignError, match="has 0 images"):
        GROUNDING.draw_batch(design(controls={"per_hit": 1}), material("A car .", boxes=doubled))
    with pytest.raises(DesignError, match="has 0 images"):
        GROUNDING.draw_batch(design(controls={"per_hit": 1}), material("A car near a car ."))


def test_a_caption_may_be_shown_again_to_see_whether_its_links_stay_the_same():
    again = design(controls={"per_hit": 1, "kinds": ["repeated"]}, units_per_hit=4)
    batch = GROUNDING.draw_batch(again, material("Nothing .", images=9))
    repeated = [one for one in units_of(batch) if one.control]
    assert repeated
    assert {one.control_kind for one in repeated} == {"repeated"}
    assert all(one.content["boxes"] == BOXES for one in repeated)


def test_the_consensus_is_the_majority_word_by_word():
    dress, car = {"word": 5, "box": "0"}, {"word": 12, "box": "3"}
    found = GROUNDING.aggregation.consensus([4] * 3, [[dress, car], [dress], [{"word": 5, "box": "2"}]])[4]
    # word 5: two of three say the dress; word 12: two of three say no box
    assert found.answer == [dress]
    assert (found.n, found.tie, found.votes) == (3, False, {"5:0": 2, "5:2": 1, "12:3": 1})
    assert found.share == pytest.approx(2 / 3)
    assert found.margin == pytest.approx(1 / 3)


def test_a_word_whose_answers_are_tied_stays_unlinked_and_the_tie_is_told():
    found = GROUNDING.aggregation.consensus([4, 4], [[{"word": 5, "box": "0"}], []])[4]
    assert (found.answer, found.tie) == ([], True)
    unlinked = GROUNDING.aggregation.consensus([4, 4], [[], []])[4]
    assert (unlinked.answer, unlinked.tie, unlinked.share) == ([], False, 1)


def test_agreement_is_measured_on_every_word_that_could_be_linked():
    codes = GROUNDING.aggregation.codes(unit(), PRINTED)
    assert len(codes) == 13  # all tokens but the full stop
    assert {word: code for word, code in codes.items() if code} == {"1": 3, "5": 1, "8": 6, "12": 4}


def test_what_is_shown_tells_neither_expected_links_nor_synsets():
    shown = GROUNDING.present_unit(unit(control=True, expected=PRINTED), side=None, picture_url="/p/1")
    assert set(shown) == {"image", "caption", "words", "boxes"}
    assert shown["boxes"][2]["label"] == "woman"
    assert shown["words"][13] == {"index": 13, "text": ".", "linked": False}
