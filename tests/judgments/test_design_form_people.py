"""The study form's fields about quizzes, examples and requirements: typed, checked, and read back."""

import pytest

from judgments.design.editing.form.design_form import DesignForm
from judgments.design.editing.form.labels import describe_value
from judgments.design.editing.form.values import starting_values, values_from_toml
from judgments.design.reading.study_files import dump_toml
from tests.judgments import desk
from tests.refusals import assert_names

EXAMPLES = {"examples-0-scene": "A dog.", "examples-0-shown": "A dog runs.", "examples-0-answer": "4"}
EXAMPLES |= {
    f"examples-{number}-{key}": "" for number in (1, 2, 3) for key in ("scene", "shown", "answer", "why")
}
QUESTIONS = {
    "quiz-questions-3-text": "May you guess?",
    "quiz-questions-3-options": "yes\n\nno ",
    "quiz-questions-3-answer": "1",
}


def filled(preset: str = "hodosh-2013-graded", **typed: str) -> DesignForm:
    return desk.filled(starting_values(preset=preset), **typed)


def test_what_a_preset_says_about_workers_comes_back_unchanged() -> None:
    form = filled()
    assert form.is_valid(), form.errors
    assert form.design.instructions.startswith("- **4**: the caption describes the image")
    assert form.design.examples == ()
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
    marked = {name for name, field in form.fields.items() if "from the paper" in str(field.help_text)}
    people = {"workers-countries", "workers-approval_above", "workers-approved_at_least"}
    assert marked == people | {"workers-requirements"}
    assert "footnote 3" in str(form.fields["workers-requirements"].help_text)
    writing = filled(WRITING)
    marked = {name for name, field in writing.fields.items() if "from the paper" in str(field.help_text)}
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


def test_examples_and_questions_are_typed_in_rows_and_empty_rows_are_none() -> None:
    form = filled(**EXAMPLES, **QUESTIONS, **{"workers-countries": "DE\nAT"})
    assert form.is_valid(), form.errors
    assert [(one.shown, one.answer) for one in form.design.examples] == [(("A dog runs.",), "4")]
    assert form.design.quiz.questions[0].options == ("yes", "no")
    assert form.design.workers.countries == ("DE", "AT")


def test_a_detector_is_chosen_by_its_title_and_its_settings_are_typed() -> None:
    typed = {
        "rules-0-rule": "too-fast",
        "rules-0-action": "pause",
        "rules-0-settings": "least = 10, alpha = 0.01",
    }
    form = filled(**typed)
    assert form.is_valid(), form.errors
    (rule,) = form.design.rules
    assert (rule.rule, rule.action, rule.settings) == ("too-fast", "pause", {"least": 10, "alpha": 0.01})


SPANISH = {
    "translations-0-language": "es",
    "translations-0-instructions": "Lea todo.\r\n\r\nDespacio.",
    "translations_examples-0-language": "es",
    "translations_examples-0-number": "2",
    "translations_examples-0-answer": "La primera.",
    "translations_questions-4-language": "es",
    "translations_questions-4-number": "1",
    "translations_questions-4-text": "¿Se mueve?",
    "translations_questions-4-options": "sí\nno",
}


def test_texts_in_other_languages_are_typed_in_rows_and_fill_the_form_again() -> None:
    second = {"examples-1-answer": "3", "examples-1-scene": "A cat."}
    form = filled(**(EXAMPLES | second | QUESTIONS | SPANISH))
    assert form.is_valid(), form.errors
    spanish = form.design.translations["es"]
    assert spanish.instructions == "Lea todo.\n\nDespacio."
    assert [one.answer for one in spanish.examples] == ["", "La primera."]
    assert spanish.questions[0].options == ("sí", "no")
    again = desk.filled(values_from_toml(dump_toml(form.values)))
    assert again.is_valid(), again.errors
    assert again.design.translations == form.design.translations
    assert "Lea todo." in str(again["translations"])
    assert "Answer: La primera." in describe_value("translations", form.values["translations"])


def test_translated_texts_are_read_without_their_marks() -> None:
    texts = {
        "question": "¿*Cuál*?",
        "instructions": "# Antes\n\nLea **todo** & más:\n\n- [uno](https://uno.es)",
    }
    assert describe_value("translations", {"es": texts}) == (
        "Language: Spanish · Question: ¿Cuál? · Instructions: Antes / Lea todo & más: / uno"
    )


def test_more_rows_than_a_page_holds_stay_as_they_are() -> None:
    base = starting_values(preset="hodosh-2013-graded")
    base["controls"]["known"] = [
        {"image": f"{n}.jpg", "first": "A dog.", "expected": "4"} for n in range(200)
    ]
    form = desk.filled(base)
    assert form.is_valid(), form.errors
    assert len(form.design.controls.known) == 200
    assert "too many rows for the form (200)" in str(form["controls-known"])


@pytest.mark.parametrize(
    ("changes", "field", "values"),
    [
        (QUESTIONS | {"quiz-questions-3-answer": "3"}, "quiz-questions", ["“answer”", 3]),
        (QUESTIONS | {"quiz-questions-3-answer": "yes"}, "quiz-questions", ["Row 1", "Answer", "'yes'"]),
        (QUESTIONS | {"quiz-questions-3-answer": ""}, "quiz-questions", ["Row 1", "“Answer” is empty"]),
        ({"rules-0-rule": "too-fast", "rules-0-settings": "10"}, "rules", ["a name, = and a value"]),
        (SPANISH, "translations", ["translations.es.examples", "entries: 2", 0]),
        (
            SPANISH | {"translations-1-language": "es", "translations-1-name": "Perros"},
            "translations",
            ["Row 2", "already", "Spanish"],
        ),
        (
            SPANISH | {"translations_questions-4-number": "2"},
            "translations",
            ["Questions of the quiz", "Spanish", "number 1"],
        ),
        (SPANISH | {"translations-0-language": ""}, "translations", ["Row 1", "“Language” is empty"]),
        ({"workers-countries": "UK"}, "workers-countries", ["'UK'", "ISO 3166-1"]),
    ],
)
def test_what_cannot_be_is_said_beside_its_field(
    changes: dict[str, str], field: str, values: list[object]
) -> None:
    form = filled(**changes)
    assert not form.is_valid()
    assert_names(str(form.errors[field][0]), *values)


def test_rows_are_read_as_lines() -> None:
    said = describe_value(
        "examples", [{"scene": "A dog.", "shown": ["A dog runs."], "answer": "4", "why": ""}]
    )
    assert said == "Description in words: A dog. · Texts shown: A dog runs. · Answer: 4"
    assert describe_value("examples", []) == "–"
