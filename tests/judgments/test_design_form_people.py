"""The study form's fields about quizzes, examples and requirements: typed, checked, and read back."""

from __future__ import annotations

import pytest

from judgments.design.editing.form import DesignForm, in_words, starting_values
from tests.judgments import desk

EXAMPLES = """
[[examples]]
scene = "A dog."
shown = ["A dog runs."]
answer = "4"
"""
QUESTIONS = """
[[questions]]
text = "May you guess?"
options = ["yes", "no"]
answer = 1
"""


def filled(preset: str = "hodosh-2013-graded", **typed: str) -> DesignForm:
    return desk.filled(starting_values(preset=preset), **typed)


def test_what_a_preset_says_about_workers_comes_back_unchanged() -> None:
    form = filled()
    assert form.is_valid(), form.errors
    assert [example.answer[0] for example in form.design.examples] == ["4", "3", "2", "1"]
    assert form.design.quiz.preset == ""


def test_a_ready_test_and_ready_requirements_are_chosen_from_lists() -> None:
    form = filled(**{"quiz-preset": "hodosh-2013-english", "workers-requirements": "vedantam-2015"})
    assert form.is_valid(), form.errors
    assert form.design.quiz.preset == "hodosh-2013-english"
    assert (form.design.workers.countries, form.design.workers.approved_at_least) == (("US",), 500)


TRIPLETS, WRITING = "vedantam-2015-triplet", "hodosh-2013-captions"


def asked_by(form: DesignForm) -> tuple[tuple[str, ...], float, int]:
    assert form.is_valid(), form.errors
    workers = form.design.workers
    return workers.countries, workers.approval_above, workers.approved_at_least


def test_what_a_paper_asks_of_workers_is_in_the_form_and_marked() -> None:
    form = filled(TRIPLETS)
    assert asked_by(form) == (("US",), 0.95, 500)
    marked = {name for name, field in form.fields.items() if "From the paper" in str(field.help_text)}
    people = {"workers-countries", "workers-approval_above", "workers-approved_at_least"}
    assert marked == people | {"workers-requirements"}
    assert "footnote 3" in str(form.fields["workers-requirements"].help_text)
    writing = filled(WRITING)
    marked = {name for name, field in writing.fields.items() if "From the paper" in str(field.help_text)}
    assert marked == {"workers-requirements", "workers-countries", "quiz-preset"}


def test_choosing_none_takes_off_all_that_the_paper_asked() -> None:
    form = filled(TRIPLETS, **{"workers-requirements": ""})
    assert asked_by(form) == ((), 0.0, 0)
    assert form.design.workers.requirements == ""
    assert {form["workers-countries"].value(), form["workers-approved_at_least"].value()} == {"", 0}
    writing = filled(WRITING, **{"workers-requirements": "", "quiz-preset": ""})
    assert asked_by(writing) == ((), 0.0, 0)
    assert writing.design.quiz.preset == ""


def test_choosing_another_set_takes_off_what_the_first_one_asked() -> None:
    form = filled(TRIPLETS, **{"workers-requirements": "hodosh-2013"})
    assert asked_by(form) == (("US",), 0.0, 0)


def test_who_changes_a_single_requirement_keeps_the_others() -> None:
    form = filled(TRIPLETS, **{"workers-requirements": "", "workers-approved_at_least": "0"})
    assert asked_by(form) == (("US",), 0.95, 0)


def test_examples_and_questions_are_typed_as_tables() -> None:
    form = filled(**{"examples": EXAMPLES, "quiz-questions": QUESTIONS, "workers-countries": "DE\nAT"})
    assert form.is_valid(), form.errors
    assert form.design.examples[0].shown == ("A dog runs.",)
    assert form.design.quiz.questions[0].options == ("yes", "no")
    assert form.design.workers.countries == ("DE", "AT")


@pytest.mark.parametrize(
    ("field", "typed", "said"),
    [
        ("quiz-questions", QUESTIONS.replace("answer = 1", "answer = 3"), "answer is 3"),
        ("quiz-questions", "[[quiz]]\n", "begin with [[questions]]"),
        ("examples", "shown = ", "not TOML"),
        ("workers-countries", "UK", "'UK' is no country"),
    ],
)
def test_what_cannot_be_is_said_beside_its_field(field: str, typed: str, said: str) -> None:
    form = filled(**{field: typed})
    assert not form.is_valid()
    assert said in form.errors[field][0]


def test_tables_are_read_as_they_were_typed() -> None:
    said = in_words("examples", [{"scene": "A dog.", "shown": ["A dog runs."], "answer": "4", "why": ""}])
    assert "[[examples]]" in said
    assert 'answer = "4"' in said
    assert in_words("examples", []) == "–"
