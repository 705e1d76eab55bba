"""Control items of HIT templates: rows that say what is right, rows that are shown again, and what comes of both."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.test import Client

from annotation.models import Participation, Worker
from annotation.quality.controls import control_answers
from annotation.quality.rules import copy_rules
from common.errors import DesignError
from contrib.hit_templates.answers import checked_answer
from contrib.hit_templates.expected_answers import (
    ExpectedAnswerProblem,
    expected_on_repeat,
    meets_expectation,
    read_expected_answers,
)
from contrib.hit_templates.filling import fill_page, filled_questions
from contrib.hit_templates.importing import check_template
from contrib.hit_templates.reading import read_template
from contrib.hit_templates.rehearsal import draw_random_answer
from contrib.hit_templates.tests.templating import TONE, inputs_file, make_template_study
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from evaluation.data.judgment_sets.loaders import control_records_of
from judgments.kinds import KINDS
from judgments.models import Study, Unit
from judgments.studies.designs import design_of, kind_of
from judgments.studies.generation.hits import generate_hits
from tests.annotation.calling import accept, submit
from tests.judgments.desk import page, words
from tests.refusals import assert_names, refuses
from tests.studies import make_worker

ASKED = """<p>${text}</p>
<label><input type="radio" name="tone" value="pos" required> Good</label>
<label><input type="radio" name="tone" value="neg" required> Bad</label>
<label><input type="checkbox" name="flags" value="irony"> Irony</label>
<label><input type="checkbox" name="flags" value="rude"> Rude</label>
<label>Stars <input type="number" name="stars" min="0" max="10" data-within="1"></label>
<label>Word <input type="text" name="word"></label>
"""
QUESTIONS = filled_questions(read_template(ASKED).questions, {"text": "x"})
ROWS = [{"id": str(number), "text": f"Text {number}", "Expected.tone": ""} for number in range(8)] + [
    {"id": f"k{number}", "text": f"Known {number}", "Expected.tone": "pos" if number % 2 else "neg"}
    for number in range(4)
]


def made(folder: Path, rows: list[dict[str, str]] | None = None, **values: Any) -> Study:
    """HITs of four rows, one of them a control item."""
    controls = {"per_hit": 1, "threshold": 0.7, "after": 1} | values.pop("controls", {})
    wanted: dict[str, Any] = {"source": TONE, "units_per_hit": 4, "judgments_per_unit": 2}
    return make_template_study(
        folder, rows=ROWS if rows is None else rows, controls=controls, **(wanted | values)
    )


@pytest.mark.parametrize(
    ("cells", "right", "wrong"),
    [
        ({"Expected.tone": "pos"}, {"tone": "pos"}, {"tone": "neg"}),
        ({"tone_gold": "pos\nneg"}, {"tone": "neg"}, {}),
        ({"Expected.flags": "irony"}, {"flags": ["irony"]}, {"flags": ["irony", "rude"]}),
        ({"Expected.flags": "rude|irony"}, {"flags": ["irony", "rude"]}, {"flags": ["irony"]}),
        ({"Expected.flags": "[]"}, {"flags": []}, {"flags": ["rude"]}),
        ({"Expected.stars": "7"}, {"stars": 8}, {"stars": 9}),
        ({"Expected.stars": "6..9"}, {"stars": 6}, {"stars": 5}),
        ({"Expected.word": "Zürich|Turicum"}, {"word": " ZU\u0308RICH. "}, {"word": "Bern"}),
        ({"EXPECTED.tone": "pos", "Expected.stars": "1"}, {"tone": "pos", "stars": 0}, {"tone": "pos", "stars": 3}),
    ],
)  # fmt: skip
def test_an_answer_is_right_as_far_as_its_row_says(
    cells: dict[str, str], right: dict[str, Any], wrong: dict[str, Any]
) -> None:
    expected = read_expected_answers(QUESTIONS, {"text": "x", **cells})
    assert meets_expectation(expected, right)
    assert not meets_expectation(expected, wrong)


def test_a_row_without_a_word_about_it_expects_nothing() -> None:
    assert (
        read_expected_answers(
            QUESTIONS, {"text": "x", "Expected.tone": " ", "gold": "pos", "stars_golden": "7"}
        )
        == {}
    )


@pytest.mark.parametrize(
    ("column", "cell", "values"),
    [
        ("Expected.tone", "maybe", ["'maybe'", "“tone”", "pos, neg"]),
        ("Expected.flags", "irony|late", ["a list", "“flags”", "irony, rude"]),
        ("Expected.stars", "many", ["'many'", "two with .."]),
        ("Expected.stars", "9..6", ["'9..6'", "two with .."]),
        ("Expected.stars", "11", ["0 to 10", "“stars”"]),
        ("Expected.stars", "11..12", ["'11..12'", "numbers that “stars”"]),
        ("Expected.stars", "6.2..6.8", ["'6.2..6.8'", "a number in it", "“stars”"]),
        ("Expected.tone", "|", ["'|'", "one of the values", "“tone”"]),
        ("Expected.flags", "|", ["'|'", "values of “flags”", "[]"]),
        ("Expected.word", "...", ["'...'", "letters or digits"]),
        ("Expected.mood", "pos", ["no such question", "tone, flags, stars, word"]),
    ],
)
def test_a_cell_that_no_answer_could_meet_is_named(column: str, cell: str, values: list[str]) -> None:
    with refuses(ExpectedAnswerProblem, *values, column=column):
        read_expected_answers(QUESTIONS, {"text": "x", column: cell})


def test_the_other_time_the_same_is_expected_but_for_texts_and_a_bit_of_a_number() -> None:
    again = expected_on_repeat(QUESTIONS, {"tone": "pos", "flags": ["rude"], "stars": 5, "word": "a"})
    assert meets_expectation(again, {"tone": "pos", "flags": ["rude"], "stars": 6, "word": "quite another"})
    others: list[dict[str, Any]] = [{"tone": "neg"}, {"flags": []}, {"stars": 7}, {"stars": None}]
    for other in others:
        assert not meets_expectation(again, {"tone": "pos", "flags": ["rude"], "stars": 5} | other)
    plain = filled_questions(
        read_template('<input type="range" name="a" max="100"><input type="number" name="b">').questions, {}
    )
    assert meets_expectation(expected_on_repeat(plain, {"a": 50, "b": 3}), {"a": 65, "b": 3})
    assert not meets_expectation(expected_on_repeat(plain, {"a": 50, "b": 3}), {"a": 66, "b": 3})
    assert not meets_expectation(expected_on_repeat(plain, {"a": 50, "b": 3}), {"a": 50, "b": 4})
    assert meets_expectation(expected_on_repeat(plain, {"a": 50}), {"a": 50})
    assert not meets_expectation(expected_on_repeat(plain, {"a": 50}), {"a": 50, "b": 4})


def test_how_far_a_number_may_lie_is_no_business_of_the_page() -> None:
    assert "within" not in fill_page(read_template(ASKED), {"text": "x"}, position=1)


@pytest.mark.parametrize("attributes", ['step="-2"', 'max="-5"', 'max="-5" step="3"', 'max="-5" step="any"'])
def test_a_simulated_worker_keeps_the_bounds_and_steps_of_a_number(attributes: str) -> None:
    template = read_template(f'<input type="number" name="x" {attributes}>')
    [question], rng = filled_questions(template.questions, {}), np.random.default_rng(1)
    numbers = [draw_random_answer(question, rng) for _ in range(50)]
    assert len(set(numbers)) > 10
    for number in numbers:
        assert checked_answer([question], {"x": number}) == {"x": number}


@pytest.mark.django_db
def test_rows_that_say_what_is_right_are_control_items_and_are_not_judged(tmp_path: Path) -> None:
    study = made(tmp_path)
    judged = Unit.objects.filter(study=study, control=False)
    assert sorted(unit.content["fields"]["id"] for unit in judged) == [str(number) for number in range(8)]
    controls = list(Unit.objects.filter(study=study, control=True))
    assert len(controls) == study.hits.count() == 3
    for unit in controls:
        assert unit.control_kind == "known-good"
        assert unit.expected == {"tone": {"any": [unit.content["fields"]["Expected.tone"]]}}
    call_command("check_integrity", stdout=io.StringIO())


@pytest.mark.django_db
def test_without_control_items_such_rows_are_judged_as_all_others(tmp_path: Path) -> None:
    study = made(tmp_path, controls={"per_hit": 0})
    assert study.units.filter(control=False).count() == 12
    assert not study.units.filter(control=True).exists()


@pytest.mark.django_db
def test_who_answers_otherwise_than_is_known_loses_accuracy_and_is_stopped(tmp_path: Path) -> None:
    rule = {"rule": "control-accuracy", "action": "exclude", "settings": {"least": 1, "alpha": 0.0}}
    study = made(tmp_path, rules=[rule])
    copy_rules(study=study)
    for name, wrong in (("ann", False), ("ben", True)):
        worker, headers = make_worker(study, name)
        held = accept(study, headers).json()
        answers = []
        for unit in held["units"]:
            # a worker sees nothing that tells a control item
            assert set(unit["fields"]) == {"text", "id"}
            row = next(one for one in ROWS if one["id"] == unit["fields"]["id"])
            right = row["Expected.tone"] or "pos"
            tone = {"pos": "neg", "neg": "pos"}[right] if wrong else right
            answers.append({"position": unit["position"], "answer": {"tone": tone}})
        assert submit(held["id"], answers, headers).status_code == 200
        if not wrong:
            assert control_records_of(study)[worker.pk].share == 1.0
    assert Participation.objects.get(worker=Worker.objects.get(name="ben")).standing == "excluded"
    assert Participation.objects.get(worker=Worker.objects.get(name="ann")).standing != "excluded"


@pytest.mark.django_db
def test_a_row_shown_again_is_held_against_the_other_answer(tmp_path: Path) -> None:
    study = made(tmp_path, rows=ROWS[:6], controls={"per_hit": 1, "kinds": ["repeated"]})
    worker, headers = make_worker(study, "ann")
    held = accept(study, headers).json()
    rows = [unit["fields"]["id"] for unit in held["units"]]
    twice = next(row for row in rows if rows.count(row) == 2)
    tones = iter(("pos", "neg"))
    answers = [
        {
            "position": one["position"],
            "answer": {"tone": next(tones) if one["fields"]["id"] == twice else "pos"},
        }
        for one in held["units"]
    ]
    assert submit(held["id"], answers, headers).status_code == 200
    (answer,) = control_answers(study, workers=[worker.pk])
    assert answer.control_kind == "repeated"
    assert not kind_of(study).is_right(answer.answer, answer.expected)


@pytest.mark.django_db
@pytest.mark.parametrize("accuracy", [1.0, 0.0])
def test_a_rehearsal_s_people_fare_on_control_items_as_they_are(tmp_path: Path, accuracy: float) -> None:
    rows = [row | {"Expected.age": "30..35" if row["Expected.tone"] else ""} for row in ROWS]
    study = made(tmp_path, rows=rows, controls={"kinds": ["known-good", "repeated"]}, opened=False)
    generate_hits(study=study)
    rehearse(study=study, crowd=RehearsalCrowd(workers=3, spammers=0.0, accuracy=accuracy, seed=2))
    answers = control_answers(study)
    assert {answer.control_kind for answer in answers} == {"known-good", "repeated"}
    rights = {
        kind_of(study).is_right(one.answer, one.expected)
        for one in answers
        if one.control_kind == "known-good"
    }
    assert rights == {accuracy == 1.0}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("rows", "source", "values"),
    [
        (ROWS[:8], TONE, ["no row", "'tone'", "Expected.tone"]),
        (ROWS[8:], TONE, ["every row", "'tone'"]),
        (
            [*ROWS, {"id": "z", "text": "z", "Expected.tone": "fine"}],
            TONE,
            ["row-13", "'tone'", "'fine'", "“tone”", "pos, neg"],
        ),
        (ROWS, TONE.replace("${text}", "${text} ${Expected.tone}"), ["template.html", "${Expected.tone}"]),
    ],
)
def test_rows_that_cannot_be_control_items_are_named_before_anything_is_drawn(
    tmp_path: Path, rows: list[dict[str, str]], source: str, values: list[str]
) -> None:
    study = made(tmp_path, rows=rows, opened=False, source=source)
    with refuses(DesignError, *values):
        generate_hits(study=study)
    assert not Unit.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("controls", "source", "field", "values"),
    [
        ({"kinds": ["reference"]}, TONE, "controls.kinds", ["'reference'", "templates"]),
        ({"kinds": ["repeated"]}, '${id} ${text} <input name="a">', "controls.kinds", ["written texts"]),
        ({"known": [{"image": "row-1", "expected": "pos"}]}, TONE, "controls.known", ["empty"]),
        ({"per_hit": 4}, TONE, "controls.per_hit", [4]),
    ],
)
def test_a_design_whose_control_items_no_template_has_is_refused(
    tmp_path: Path, controls: dict[str, Any], source: str, field: str, values: list[str]
) -> None:
    with refuses(DesignError, *values, field=field):
        made(tmp_path, controls=controls, source=source, opened=False)
    assert not Study.objects.exists()


def test_bringing_a_template_says_which_rows_can_be_control_items(tmp_path: Path) -> None:
    found = check_template(source=TONE, inputs=inputs_file(tmp_path, ROWS))
    assert found.known_row_count == 4
    (known_rows,) = [note for note in found.omission_notes if "Expected.tone" in note]
    assert_names(known_rows, 4, "controls.per_hit")
    odd = check_template(
        source=TONE, inputs=inputs_file(tmp_path, [{"id": "1", "text": "x", "Expected.tone": "fine"}])
    )
    assert odd.known_row_count == 0
    (odd_row,) = [note for note in odd.omission_notes if "Expected.tone" in note]
    assert_names(odd_row, "row-1", "'fine'", "“tone”", "pos, neg")


@pytest.mark.django_db
def test_the_page_of_control_items_shows_the_row_and_what_is_right(tmp_path: Path, designer: Client) -> None:
    text = words(designer.get(page(made(tmp_path), "controls")))
    assert "right answer: tone: pos" in text
    assert "text: Known" in text


@pytest.mark.django_db
def test_the_kind_alone_knows_control_items_by_name(tmp_path: Path) -> None:
    assert design_of(made(tmp_path)).controls.kinds == ("known-good",)
    assert KINDS["template"].defaults["controls"] == {"kinds": ["known-good"]}
