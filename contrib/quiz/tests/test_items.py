"""What a quiz can ask, and the known items that generation sets aside for it."""

from collections import Counter
from typing import Any

import pytest

from common.errors import DesignError
from contrib.quiz import questions as presets
from contrib.quiz.items import divide_for_quiz_items, make_quiz_groups
from contrib.quiz.questions import draw_keys, questions_of, reaches_pass_mark
from judgments.design.reading.checking import make_design
from judgments.design.reading.study_files import read_toml, write_toml
from judgments.design.study_design import StudyDesign
from judgments.drawing.draws import rng_for
from judgments.drawing.material import Image, Material, Text
from judgments.kinds import KINDS
from judgments.studies.generation.batches import divide_for_quiz
from tests.refusals import refuses

ENGLISH = presets.ENGLISH.questions
OWN = {
    "text": "What is a caption?",
    "options": ["A sentence", "A picture"],
    "answer": 1,
    "why": "It is text.",
}


def design(protocol: str = "graded", **values: Any) -> StudyDesign:
    return make_design({"name": "Quizzed", "dataset": "d", "protocol": protocol, "seed": 5} | values)


def material(images: int = 12, *, splits: bool = True, references: int = 3) -> Material:
    def image(number: int) -> Image:
        name = f"{number:02}.jpg"
        own = tuple(Text(f"{name}#{index}", f"Person {index} says {number}.") for index in range(references))
        split = ("test" if number < images / 2 else "dev") if splits else ""
        return Image(name, split, own, (("system", Text(f"c-{number}", f"A system says {number}.")),))

    return Material(name="d", images=tuple(image(number) for number in range(images)))


def test_the_english_test_has_more_than_twenty_questions_with_one_right_answer_each() -> None:
    assert len(ENGLISH) >= 20
    assert len({question.key for question in ENGLISH}) == len(ENGLISH)
    assert all(len(set(question.options)) == len(question.options) == 3 for question in ENGLISH)
    assert all(question.right_option == 0 and question.explanation.strip() for question in ENGLISH)
    assert len({question.options[0] for question in ENGLISH}) == len(ENGLISH)


def test_ten_questions_are_drawn_and_the_next_attempt_prefers_others() -> None:
    keys = [question.key for question in ENGLISH]
    first = draw_keys(keys, 10, seen=(), rng=rng_for(1, "a"))
    assert len(set(first)) == 10
    assert draw_keys(keys, 10, seen=(), rng=rng_for(1, "a")) == first
    second = draw_keys(keys, 10, seen=first, rng=rng_for(1, "b"))
    assert not set(first) & set(second)
    third = draw_keys(keys, len(keys), seen=first, rng=rng_for(1, "c"))
    assert sorted(third) == sorted(keys)


def test_over_many_seeds_every_question_is_asked_about_equally_often() -> None:
    keys = [question.key for question in ENGLISH]
    counts = Counter(
        key for seed in range(600) for key in draw_keys(keys, 10, seen=(), rng=rng_for(seed, "quiz"))
    )
    expected = 600 * 10 / len(keys)
    assert set(counts) == set(keys)
    assert max(abs(count - expected) for count in counts.values()) < 6 * expected**0.5


@pytest.mark.parametrize(
    ("right", "asked", "mark", "passed"),
    [(8, 10, 0.8, True), (7, 10, 0.7, True), (7, 10, 0.71, False), (0, 3, 0.0, True), (0, 0, 0.0, False)],
)
def test_the_pass_mark_is_reached_by_equality(right: int, asked: int, mark: float, passed: bool) -> None:
    assert reaches_pass_mark(right, asked, mark) is passed


def test_a_study_s_own_questions_stand_beside_the_ready_ones() -> None:
    both = questions_of(design(quiz={"preset": "hodosh-2013-english", "questions": [OWN]}).quiz)
    assert len(both) == len(ENGLISH) + 1
    own = next(one for one in both.values() if one.text == OWN["text"])
    assert own.options[own.right_option] == "A sentence"


@pytest.mark.parametrize(
    ("quiz", "said"),
    [
        ({"preset": "hodosh"}, "hodosh-2013-english"),
        ({"questions": [OWN | {"answer": 3}]}, r"\b3\b.*\b2\b"),
        ({"preset": "hodosh-2013-english", "ask": 0}, "questions"),
        ({"qualification": "two words"}, "expected letters, digits"),
        ({"pass_marks": 1.0}, "pass_mark"),
    ],
)
def test_a_quiz_that_cannot_be_is_refused_by_name(quiz: dict[str, Any], said: str) -> None:
    with pytest.raises(DesignError, match=said) as refused:
        design(quiz=quiz)
    assert refused.value.field.startswith("quiz")


def test_a_quiz_survives_the_study_file() -> None:
    made = design(quiz={"questions": [OWN], "items": 2, "qualification": "basics"})
    assert read_toml(write_toml(made)) == made


@pytest.mark.parametrize("splits", [True, False], ids=["splits", "no splits"])
@pytest.mark.parametrize("protocol", ["graded", "relevance"])
def test_no_judged_and_no_control_item_is_about_an_image_of_the_quiz(protocol: str, splits: bool) -> None:
    asked = design(
        protocol, quiz={"items": 2}, controls={"per_hit": 1}, captions_per_image=4, units_per_hit=4
    )
    aside = divide_for_quiz_items(asked, material(splits=splits))
    names = {image.name for image in aside.images}
    batch = KINDS[protocol].draw_batch(asked, aside.remaining_material)
    assert len(names) == 4  # two attempts of two
    assert not names & {unit.image for hit in batch.hits for unit in hit.units}
    if splits:
        assert {image.split for image in aside.images} == {"dev"}
    groups = make_quiz_groups(asked, aside)
    assert {group.image for group in groups} == names
    assert all(unit.control and unit.control_kind == "quiz" for group in groups for unit in group.units)
    assert make_quiz_groups(asked, divide_for_quiz_items(asked, material(splits=splits))) == groups


@pytest.mark.parametrize("protocol", ["triplet", "pairwise", "graded", "relevance"])
def test_the_right_answer_of_a_known_item_is_the_image_s_own_caption(protocol: str) -> None:
    asked = design(protocol, quiz={"items": 3}, captions_per_image=4)
    aside, kind = divide_for_quiz_items(asked, material()), KINDS[protocol]
    own = {image.name: {text.text for text in image.references} for image in aside.images}
    for group in make_quiz_groups(asked, aside):
        for unit in group.units:
            right = [value for value in kind.values if kind.is_right(value, unit.expected)]
            if kind.two_sided:
                assert unit.first is not None
                assert unit.second is not None
                chosen = unit.first if right == [1] else unit.second
                assert chosen.text in own[unit.image]
            else:
                assert unit.first is not None
                assert (max(kind.values) in right) == (unit.first.text in own[unit.image])


def test_a_study_without_known_items_is_drawn_as_before() -> None:
    asked, there = design(quiz={"preset": "hodosh-2013-english"}), material()
    rest, make_quiz = divide_for_quiz(asked, there)
    assert rest is there
    assert make_quiz() == ()


def test_too_few_images_for_the_quiz_are_said_with_their_number() -> None:
    with refuses(DesignError, "9", "dev", "6", field="quiz.items"):
        divide_for_quiz_items(design(quiz={"items": 9}), material())
