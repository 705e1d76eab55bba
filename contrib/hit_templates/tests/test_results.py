"""What the answers to a form say together: numbers worked out by hand, and the files that take them home."""

import json
import re
from typing import Any
from zipfile import ZipFile

import pytest
from django.core.management import call_command

from contrib.hit_templates.kind import HITTemplate
from contrib.hit_templates.rehearsal import TemplateRehearsal
from contrib.hit_templates.tests.templating import TONE, make_template_study
from evaluation.data.export.exporting import export_judgments
from evaluation.results.aggregation import aggregate_study
from judgments.kinds import KINDS
from judgments.kinds.consensus import Consensus
from judgments.models import Study
from judgments.studies.studies import mark_closed
from tests.annotation.calling import accept, submit
from tests.judgments.desk import page
from tests.studies import make_worker

pytestmark = pytest.mark.django_db

# row -> what Ann, Ben and Cem answer
GIVEN: dict[str, list[dict[str, Any]]] = {
    "a1": [
        {"tone": "pos", "flags": ["irony"], "age": 10, "why": "first"},
        {"tone": "pos", "flags": ["irony", "rude"], "age": 20},
        {"tone": "neg", "age": 60, "why": "third"},
    ],
    "a2": [
        {"tone": "neg", "age": 30, "place": "Ulm"},
        {"tone": "neg", "age": 30, "place": "Ulm"},
        {"tone": "neg", "age": 30, "place": "Bonn"},
    ],
    "a3": [{"tone": "pos", "age": 0}, {"tone": "neg", "age": 5}, {"tone": "pos", "age": 1}],
}


@pytest.fixture(scope="module")
def answered(module_db: None, tmp_path_factory: pytest.TempPathFactory) -> Study:
    study = make_template_study(tmp_path_factory.mktemp("template"))
    for place, name in enumerate(("ann", "ben", "cem")):
        _, headers = make_worker(study, name)
        for _ in GIVEN:
            held = accept(study, headers).json()
            row = held["units"][0]["fields"]["id"]
            reply = submit(held["id"], [{"position": 1, "answer": GIVEN[row][place]}], headers)
            assert reply.status_code == 200, reply.content
    return study


@pytest.fixture(scope="module")
def result(answered: Study) -> dict[str, Any]:
    return aggregate_study(study=answered)


def test_one_answer_is_counted_in_the_singular() -> None:
    outcomes = {"why": {"n": 1, "texts": ["first"]}, "place": {"n": 2, "texts": ["Ulm", "Bonn"]}}
    shown = KINDS["template"].describe_consensus(outcomes, unit=None)
    assert shown == ["why: 1 answer", "place: 2 answers"]


def question(result: dict[str, Any], name: str) -> dict[str, Any]:
    found: list[dict[str, Any]] = result["figures"]["questions"]
    return next(one for one in found if one["name"] == name)


def test_closed_questions_go_by_most_votes_numbers_by_mean_and_median_and_texts_are_listed(answered, result):
    unit = answered.units.get(content__fields__id="a1")
    found = next(one["answer"] for one in result["units"] if one["unit"] == unit.key)
    assert found["tone"] == {
        "n": 3, "answer": "pos", "votes": {"pos": 2, "neg": 1}, "share": 2 / 3, "margin": 1 / 3, "tie": False,
    }  # fmt: skip
    # irony: 2 of 3, so ticked; rude: 1 of 3, so not
    assert found["flags"]["answer"] == ["irony"]
    assert found["flags"]["votes"] == {"irony": 2, "rude": 1}
    assert found["age"] == {"n": 3, "mean": 30.0, "median": 20.0}
    assert found["why"] == {"n": 2, "texts": ["first", "third"]}
    assert "place" not in found
    assert "source" not in found


def test_a_question_that_people_answer_evenly_is_a_tie():
    kind = KINDS["template"].with_setting(TONE)
    answers = [{"tone": "pos", "flags": []}, {"tone": "neg", "flags": ["rude"]}]
    found = kind.aggregation.consensus([1, 1], answers)[1]
    assert (found.answer["tone"]["answer"], found.tie) == (None, True)
    assert found.answer["flags"]["answer"] == []
    assert found.share == 0.5  # of tone 1/2, of the only box that anybody ticked 1/2
    assert kind.aggregation.consensus([1], [{"tone": "pos", "flags": []}])[1].share == 1.0


def test_agreement_is_krippendorffs_alpha_of_each_question(result):
    # tone: pos pos neg | neg neg neg | pos neg pos. Coincidences: o(pos,neg) = 2 * (2 * 1) / 2 * 2 rows = 4, as
    # ordered pairs over m - 1: each of the two mixed rows gives 4 / 2 = 2. n = 9, pos 4, neg 5.
    # alpha = 1 - (n - 1) * o / (n_pos * n_neg * 2) with o counted both ways: 1 - 8 * 4 / (2 * 4 * 5) = 0.2
    tone = question(result, "tone")
    assert tone["votes"] == {"neg": 5, "pos": 4}
    assert tone["alpha"]["value"] == pytest.approx(0.2)
    assert (tone["alpha"]["level"], tone["alpha"]["n"], tone["answered"]) == ("nominal", 3, 9)


def test_agreement_on_numbers_is_of_intervals(result):
    # rows 10 20 60 | 30 30 30 | 0 5 1. Observed: sum over rows of squared differences of ordered pairs over m - 1,
    # over n: row 1: 2 * (100 + 2500 + 1600) / 2 = 4200; row 3: 2 * (25 + 1 + 16) / 2 = 42; D_o = 4242 / 9.
    # Expected: squared differences of all ordered pairs over n (n - 1): 2 * (n * sum of squares - square of the sum)
    # = 2 * (9 * 6826 - 186 ** 2) = 53676; D_e = 53676 / 72. alpha = 1 - D_o / D_e.
    age = question(result, "age")
    assert sum(one["age"] ** 2 for row in GIVEN.values() for one in row) == 6826
    assert age["alpha"]["value"] == pytest.approx(1 - (4242 / 9) / (53676 / 72))
    assert (age["alpha"]["level"], age["mean"], age["median"]) == ("interval", pytest.approx(186 / 9), 20.0)
    assert (age["low"], age["high"]) == (0.0, 60.0)


def test_texts_have_no_alpha_and_constants_are_no_question(result):
    names = [one["name"] for one in result["figures"]["questions"]]
    assert names == ["tone", "flags", "age", "place", "why"]
    why = question(result, "why")
    assert (why["answered"], why["texts"], "alpha" in why) == (2, ["first", "third"], False)


def test_judgments_carry_the_row_in_the_column_content(answered, tmp_path):
    target = tmp_path / "judgments.jsonl"
    export_judgments(study=answered, format="jsonl", output=target)
    lines = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 9
    assert {line["content"]["fields"]["gold"] for line in lines} == {"pos", "neg"}
    assert all(line["answer"]["source"].startswith("batch-") for line in lines)


def test_the_results_page_shows_each_question(answered, result, admin_client):
    html = admin_client.get(page(answered, "results")).content.decode()
    assert "Questions" in html
    shown = " ".join(re.sub(r"<[^>]+>", " ", html).split())
    assert "tone neg 5 tone pos 4" in shown
    assert "age 9 20.67 20.00" in shown
    assert "why first why third" in shown


def test_a_release_has_the_form_in_its_report_and_computes_the_same_figures_from_its_rows(answered, tmp_path):
    mark_closed(study=Study.objects.get(pk=answered.pk))
    bundle = tmp_path / "bundle.zip"
    call_command("release", answered.slug, "--output", str(bundle), "--licence", "CC0-1.0")
    call_command("verify", str(bundle))
    with ZipFile(bundle) as files:
        html = files.read("report/index.html").decode()
    assert "Questions of the form" in html
    assert "Texts that people wrote" in html


def test_a_number_without_an_upper_bound_can_match_the_truth() -> None:
    kind = HITTemplate('<input type="number" name="age" min="18">')
    found = Consensus(
        n=1, share=None, margin=None, tie=False, votes={}, answer={"age": {"n": 1, "mean": 30.0}}
    )
    assert TemplateRehearsal(kind).matches(found, {"age": 35})
    assert not TemplateRehearsal(kind).matches(found, {"age": 60})
