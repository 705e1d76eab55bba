"""People and clients answer on scales of a study's own; what lies beside them is refused, and the design says it."""

import re
from typing import Any

import pytest

from annotation.crowds.mturk.pages import answers_of_page, html_page
from annotation.models import Judgment
from annotation.quality.control_figures import describe_control_item
from common.errors import DesignError
from judgments.design.editing.form.design_form import DesignForm
from judgments.design.reading.checking import make_design
from judgments.design.reading.study_files import read_toml, write_toml
from judgments.design.study_design import translate_design
from judgments.kinds import KINDS
from judgments.kinds.graded import Graded
from judgments.models import Study, Unit
from judgments.studies.designs import kind_of
from judgments.studies.generation.batches import build_batch
from judgments.studies.generation.lines import batch_lines
from tests.annotation.calling import answers_to, begin, is_problem, patch, submit
from tests.annotation.casting import make_dataset, make_study, with_person
from tests.annotation.crowds.framing import make_hit
from tests.annotation.posting import submit as hand_in
from tests.annotation.posting import work_of
from tests.fakes.mturk.questions import answers_document
from tests.judgments.desk import as_posted
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
LIKERT = {"low": 1, "high": 7, "labels": {str(point): f"number {point}" for point in range(1, 8)}}
BETTER = {"low": -3, "high": 3, "labels": {"-3": "much worse", "3": "much better"}}
HALVES = {"low": 1, "high": 5, "step": 0.5}
SHARE = {"low": 0, "high": 1, "step": 0.1}
NEEDED = {"name": "Own", "dataset": "shapes"}


def own(protocol: str, scale: dict[str, Any], **values: Any) -> Study:
    return make_study(make_dataset(), protocol, scale=scale, **values)


class TestClient:
    def test_a_unit_tells_its_scale_and_takes_answers_on_it(self) -> None:
        study = own("graded", HALVES | {"labels": {"1": "bad", "5": "good"}})
        headers, shown = begin(study)
        assert shown["units"][0]["scale"] == {
            "low": 1, "high": 5, "step": 0.5, "labels": {"1": "bad", "5": "good"},
        }  # fmt: skip
        reply = submit(shown["id"], answers_to(shown, 2.5), headers)
        assert reply.status_code == 200
        assert set(Judgment.objects.values_list("value", flat=True)) == {2.5}

    def test_a_unit_on_the_usual_scale_has_no_such_key(self) -> None:
        _, shown = begin(make_study(make_dataset(), "graded"))
        assert set(shown["units"][0]) == {"position", "protocol", "question", "image", "caption"}

    @pytest.mark.parametrize("answer", [2.3, 0.5, 5.5, "2.5", True, None], ids=str)
    def test_an_answer_beside_the_scale_is_refused_and_nothing_is_stored(self, answer: Any) -> None:
        headers, shown = begin(own("graded", HALVES))
        body = {"answers": [{"position": 1, "value": answer}]}
        problem = is_problem(patch(f"/api/assignments/{shown['id']}/", body, headers), 400)
        assert "expected 1 to 5 by 0.5" in problem["detail"]
        assert not Judgment.objects.exists()

    def test_whole_answers_stay_whole_numbers_in_replies(self, designer: Any) -> None:
        study = own("graded", HALVES)
        headers, shown = begin(study)
        values = [1, 2.5, 3, 4]
        answers = [
            {"position": unit["position"], "value": value}
            for unit, value in zip(shown["units"], values, strict=True)
        ]
        assert submit(shown["id"], answers, headers).status_code == 200
        text = designer.get(f"/api/judgments/?study={study.slug}").content.decode()
        assert sorted(re.findall(r'"value":\s*([\d.]+)', text)) == ["1", "2.5", "3", "4"]


class TestPage:
    @pytest.mark.parametrize(
        ("protocol", "scale", "codes"),
        [
            pytest.param("graded", LIKERT, ["1", "2", "3", "4", "5", "6", "7"], id="seven-points"),
            pytest.param("graded", BETTER, ["-3", "-2", "-1", "0", "1", "2", "3"], id="about-nought"),
            pytest.param(
                "graded", HALVES, ["1", "1.5", "2", "2.5", "3", "3.5", "4", "4.5", "5"], id="halves"
            ),
        ],
    )
    def test_the_points_are_choices_in_every_language(
        self, protocol: str, scale: dict[str, Any], codes: list[str]
    ) -> None:
        study, person = with_person(own(protocol, scale))
        person.client.cookies["django_language"] = "de"
        html, _ = work_of(study, person)
        step = html.partition('id="u1"')[2].partition("</fieldset>")[0]
        assert re.findall(r'name="u1" value="([^"]+)"', step) == codes
        for label in scale.get("labels", {}).values():
            assert label in step
        if scale is HALVES:
            assert "<b>2,5</b>" in step

    def test_a_slider_has_the_ends_and_the_step_of_the_study(self) -> None:
        study, person = with_person(own("slider", SHARE | {"labels": {"0": "never", "1": "always"}}))
        html, assignment = work_of(study, person)
        assert 'min="0" max="1" step="0.1" inputmode="decimal"' in html
        assert "from 0 to 1" in html
        assert "never" in html
        hand_in(study, person, assignment, {f"u{position}": "0.3" for position in range(1, 5)})
        assert set(Judgment.objects.values_list("value", flat=True)) == {0.3}

    def test_a_plain_form_beside_the_scale_stores_nothing(self) -> None:
        study, person = with_person(own("slider", SHARE))
        _, assignment = work_of(study, person)
        answer = hand_in(study, person, assignment, {f"u{position}": "0.35" for position in range(1, 5)})
        assert "expected 0 to 1 by 0.1" in answer.content.decode()
        assert not Judgment.objects.exists()

    @pytest.mark.parametrize("protocol", ["graded", "slider"])
    def test_a_page_at_mechanical_turk_asks_and_reads_the_points(self, protocol: str) -> None:
        design, hit, units = make_hit(protocol, scale=SHARE)
        page = html_page(design=design, hit=hit, units=units, hosts=["https://www.mturk.com"])
        assert 'value="0.3"' in page if protocol == "graded" else 'step="0.1"' in page
        fields = [(f"u{position}", f"0.{position}") for position in range(1, 5)]
        handed = answers_of_page(answers_document(fields), design=design, hit=hit, units=units)
        assert [answer["value"] for answer in handed.answers] == [0.1, 0.2, 0.3, 0.4]

    def test_the_words_are_those_of_the_page_s_language(self) -> None:
        translations = {"de": {"labels": ["viel schlechter", "viel besser"]}}
        design = make_design({**NEEDED, "protocol": "graded", "scale": BETTER, "translations": translations})
        kinds = [KINDS["graded"].for_design(each) for each in (translate_design(design, "de"), design)]
        poles = [kind.poles for kind in kinds if isinstance(kind, Graded)]
        assert poles == [("viel schlechter", "viel besser"), ("much worse", "much better")]

    def test_what_a_check_question_expects_is_said_as_a_part_of_the_scale(self) -> None:
        study = own("graded", BETTER)
        unit = Unit.objects.filter(study=study, control=True)[0]
        unit.expected = "-3--1"
        assert describe_control_item(kind_of(study), unit)["right_answer"] == "−3 to −1"


class TestDesign:
    def test_a_study_file_keeps_its_scale(self) -> None:
        text = (
            'name = "Own"\ndataset = "shapes"\nprotocol = "graded"\n'
            'scale = {low = 1, high = 5, step = 0.5, labels = {5 = "good", 1 = "bad", "1.5" = "poor"}}\n'
        )
        design = read_toml(text)
        assert design.model_dump(mode="json")["scale"] == {
            "low": 1, "high": 5, "step": 0.5, "labels": {"1": "bad", "1.5": "poor", "5": "good"},
        }  # fmt: skip
        written = write_toml(design)
        assert "low = 1\nhigh = 5\nstep = 0.5\n" in written
        assert read_toml(written) == design

    @pytest.mark.parametrize(
        ("protocol", "scale", "values"),
        [
            pytest.param("graded", {"low": 5, "high": 1}, ["5 to 1"], id="ends"),
            pytest.param("graded", {"low": 1, "high": 2, "step": 0.3}, ["step is 0.3"], id="step"),
            pytest.param("graded", {"low": 0, "high": 20}, ["points: 21", "at most"], id="many"),
            pytest.param("slider", {"low": 0, "high": 1}, ["points: 2", "at least 3"], id="few"),
            pytest.param("slider", {"low": 0, "high": 1, "step": 1e-6}, ["at most 100001"], id="too-many"),
            pytest.param("graded", {"low": 1, "high": 5, "labels": {"6": "x"}}, ["“labels” contains 6"], id="no-point"),
            pytest.param("graded", {"low": 1, "high": 5, "labels": {"1": {"5": "x"}}}, ["quotation"], id="dotted"),
            pytest.param("graded", {"low": 1, "high": 3, "labels": {"1": "x", "3": "x"}}, ["text twice"], id="twice"),
            pytest.param("slider", {"low": 0, "high": 9, "labels": {"3": "x"}}, ["only at both ends"], id="inner"),
            pytest.param("triplet", {"low": 1, "high": 5}, ["triplet has no scale"], id="kind"),
            pytest.param("graded", {"high": 5}, ["scale.low is missing"], id="missing"),
            pytest.param("graded", {"low": "1", "high": 5}, ["scale.low", "'1'", "number"], id="text"),
            pytest.param("graded", {"low": 1, "high": 5, "stop": 1}, ["scale.stop", "'step'"], id="key"),
        ],
    )  # fmt: skip
    def test_a_wrong_scale_is_refused_by_what_is_wrong(
        self, protocol: str, scale: dict[str, Any], values: list[str]
    ) -> None:
        with refuses(DesignError, *values) as caught:
            make_design({**NEEDED, "protocol": protocol, "scale": scale})
        assert "\n" not in str(caught.value)

    def test_words_stand_in_one_place(self) -> None:
        with refuses(DesignError, "scale.labels", field="labels"):
            make_design({**NEEDED, "protocol": "graded", "scale": HALVES, "labels": ["a", "b", "c", "d"]})

    def test_the_form_asks_for_the_scale_and_forgets_an_empty_one(self) -> None:
        base = make_design({**NEEDED, "protocol": "graded"}).model_dump(mode="json")
        unchanged = DesignForm(
            as_posted(DesignForm(base=base, datasets=["shapes"])), base=base, datasets=["shapes"]
        )
        assert unchanged.is_valid(), unchanged.errors
        assert unchanged.design.scale is None
        typed = {"scale-low": "-3", "scale-high": "3", "scale-labels": "-3 = much worse\n3 = much better"}
        sent = as_posted(DesignForm(base=base, datasets=["shapes"]), **typed)
        form = DesignForm(sent, base=base, datasets=["shapes"])
        assert form.is_valid(), form.errors
        assert form.design.model_dump(mode="json")["scale"] == BETTER | {"step": 1}
        wrong = DesignForm(sent | {"scale-labels": "much worse"}, base=base, datasets=["shapes"])
        assert "and a label" in str(wrong.errors["scale-labels"])

    def test_a_scale_changes_no_unit_but_what_check_questions_expect(self) -> None:
        dataset = make_dataset()
        values = {**NEEDED, "protocol": "graded", "seed": 7, "controls": {"per_hit": 1}}
        usual, scaled = (make_design({**values, **more}) for more in ({}, {"scale": HALVES}))
        lines = [list(batch_lines(build_batch(design, dataset), design=design)) for design in (usual, scaled)]
        parts = {'"expected":"3-4"': '"expected":"3.5-5"', '"expected":"1-2"': '"expected":"1-2.5"'}
        for old, new in zip(*lines, strict=True):
            changed = str(old)
            for before, after in parts.items():
                changed = changed.replace(before, after)
            assert changed == str(new)

    def test_the_usual_scale_written_out_changes_no_byte(self) -> None:
        dataset = make_dataset()
        values = {**NEEDED, "protocol": "graded", "seed": 7, "controls": {"per_hit": 1}}
        usual, written = (make_design({**values, **more}) for more in ({}, {"scale": {"low": 1, "high": 4}}))
        first, second = (
            list(batch_lines(build_batch(design, dataset), design=design)) for design in (usual, written)
        )
        assert first == second
