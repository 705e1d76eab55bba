"""Graded and slider studies on scales of their own, from the file or the design to figures and back."""

import json
from decimal import Decimal
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.models import Judgment
from common.errors import DataConflict
from contrib.judgment_imports.importing import import_judgments
from contrib.judgment_imports.tests.test_columns_page import judgments
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from evaluation.data.export.exporting import export_judgments
from evaluation.data.integrity import check_integrity
from evaluation.reports.releases.verification import verify_bundle
from evaluation.results.aggregation import aggregate_study, compute_aggregation
from judgments.design.scale import scale_from_text
from judgments.importers import ColumnMapping, ImportProblem
from judgments.kinds.graded import Graded
from judgments.models import Dataset, Study, Unit
from judgments.studies.designs import design_of, kind_of
from judgments.studies.studies import find_study
from tests.evaluation.studies import make_dataset
from tests.evaluation.test_kinds_of_releases import released
from tests.evaluation.test_scales import better_and_worse
from tests.judgments.desk import page, words
from tests.judgments.test_columns_page import job_of
from tests.marks import long_except
from tests.refusals import assert_names, refuses
from tests.studies import make_study

pytestmark = pytest.mark.django_db
# the published figures are s1 3.875 and s2 1.25
HALVES = """image,cap,sys,rater,score
A.jpg,one,s1,w1,4.5
A.jpg,one,s1,w2,5
B.jpg,two,s1,w1,3
A.jpg,three,s2,w1,1
B.jpg,four,s2,w2,1.5
"""
COLUMNS = {"first_text": "cap", "system": "sys", "worker": "rater", "value": "score"}
MAP = ",".join(f"{name}={source}" for name, source in COLUMNS.items())


@pytest.fixture
def dataset() -> Dataset:
    return make_dataset("shared", {name: [f"{name} by people"] for name in ("A.jpg", "B.jpg", "C.jpg")})


def source(folder: Path, text: str = HALVES, **options: Any) -> dict[str, Any]:
    path = folder / "scores.csv"
    path.write_text(text)
    mapping = ColumnMapping(columns={name: (column,) for name, column in COLUMNS.items()})
    return {
        "format": "csv",
        "path": path,
        "dataset": "shared",
        "protocol": "graded",
        "mapping": mapping,
    } | options


def brought(
    folder: Path, values: list[Any], protocol: str = "graded", slug: str = "own", **options: Any
) -> Study:
    """A study of one system's outputs, each with one answer."""
    rows = "".join(f"{image}.jpg,text,s1,w1,{value}\n" for image, value in zip("ABC", values, strict=False))
    text = f"image,cap,sys,rater,score\n{rows}"
    import_judgments(**source(folder, text, protocol=protocol, **options), study=slug)
    return find_study(slug)


def scale_in(study: Study) -> str:
    scale = design_of(study).scale
    return "" if scale is None else str(scale)


def systems_of(study: Study) -> dict[str, tuple[float, float]]:
    rows = compute_aggregation(study=study).as_json()["systems"]
    return {row["system"]: (row["mean"]["value"], row["describes"]["value"]) for row in rows}


class TestImport:
    @pytest.mark.parametrize("reverse", [False, True], ids=["as-it-is", "rows-reversed"])
    def test_a_published_file_of_halves_gives_its_figures(
        self, dataset: Dataset, tmp_path: Path, reverse: bool
    ) -> None:
        header, *rows = HALVES.splitlines()
        text = "\n".join([header, *(rows[::-1] if reverse else rows)])
        summary = import_judgments(**source(tmp_path, text), study="halves")
        assert "The answers are taken for points of the scale 1 to 5 by 0.5, by their values" in str(
            summary.notes
        )
        assert systems_of(find_study("halves")) == {"s1": (3.875, 0.5), "s2": (1.25, 0.0)}
        assert scale_in(find_study("halves")) == "1:5:0.5"

    def test_a_dry_run_says_what_was_understood(
        self, dataset: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = source(tmp_path)["path"]
        command = ["import_judgments", "csv", str(path), "--dataset", "shared", "--study", "halves"]
        command += ["--protocol", "graded", "--map", MAP]
        call_command(*command, "--dry-run")
        assert "points of the scale 1 to 5 by 0.5, by their values" in capsys.readouterr().out
        call_command(*command, "--dry-run", "--scale", "1:6:0.5")
        assert "points of the scale 1 to 6 by 0.5, as stated" in capsys.readouterr().out
        assert not Study.objects.exists()
        call_command(*command, "--scale=0:5:0.5")
        assert scale_in(find_study("halves")) == "0:5:0.5"

    @pytest.mark.parametrize(
        ("protocol", "values", "scale"),
        [
            pytest.param("graded", [1, 4, 2], "", id="h13"),
            pytest.param("graded", [2, 5], "1:5", id="likert-without-its-lowest-point"),
            pytest.param("graded", [0, 3, 1], "0:3", id="from-nought"),
            pytest.param("graded", [3, 0, 1], "0:3", id="from-nought-in-another-order"),
            pytest.param("graded", [-2, 3], "-3:3", id="about-nought"),
            pytest.param("graded", [1.5, 6], "1:6:0.5", id="halves-to-six"),
            pytest.param("graded", [1.5, 3], "1:4:0.5", id="halves-of-h13"),
            pytest.param("slider", [0, 100, 37], "", id="slider"),
            pytest.param("slider", [0.25, 0.7], "0:1:0.05", id="a-share"),
            pytest.param("slider", [46.49, 12], "0:100:0.01", id="two-digits"),
            pytest.param("slider", [0.1, 0.2, 0.3], "0:1:0.1", id="tenths"),
        ],
    )  # fmt: skip
    def test_answers_say_their_scale(
        self, dataset: Dataset, tmp_path: Path, protocol: str, values: list[float], scale: str
    ) -> None:
        study = brought(tmp_path, values, protocol)
        assert scale_in(study) == scale
        stored = Judgment.objects.order_by("pk").values_list("value", flat=True)
        assert sorted(value for value in stored if value is not None) == sorted(values)
        assert systems_of(study)["s1"][0] == pytest.approx(mean(values))

    @pytest.mark.parametrize(
        ("scale", "refusal"),
        [
            pytest.param("1:4", "found 4.5, expected 1 to 4 (graded)", id="outside") ,
            pytest.param("1:5:1", "found 4.5, expected 1 to 5 (graded)", id="between-its-points"),
            pytest.param("1-5", "'1-5' is not a scale", id="no-scale"),
            pytest.param("5:1", "expected a lower end, a higher end", id="ends-exchanged"),
            pytest.param("1:5:0.3", "step is 0.3, but steps of this size do not lead from 1 to 5", id="odd-step"),
        ],
    )  # fmt: skip
    def test_a_parse_scale_that_does_not_fit_is_refused(
        self, dataset: Dataset, tmp_path: Path, scale: str, refusal: str
    ) -> None:
        with pytest.raises(ImportProblem) as caught:
            import_judgments(**source(tmp_path), study="halves", scale=scale)
        assert refusal in str(caught.value)
        assert not Study.objects.exists()

    def test_a_parse_scale_without_a_step_takes_it_from_the_answers(
        self, dataset: Dataset, tmp_path: Path
    ) -> None:
        import_judgments(**source(tmp_path), study="halves", scale="1:6")
        assert scale_in(find_study("halves")) == "1:6:0.5"

    def test_a_kind_without_a_scale_takes_none(self, dataset: Dataset, tmp_path: Path) -> None:
        with pytest.raises(ImportProblem, match="relevance"):
            brought(tmp_path, [0, 1], "relevance", scale="0:1")

    def test_too_many_points_for_choices_lead_to_the_slider(self, dataset: Dataset, tmp_path: Path) -> None:
        with refuses(ImportProblem, "slider", "11"):
            brought(tmp_path, [3, 87])
        assert scale_in(brought(tmp_path, [3, 87], "slider")) == ""

    def test_the_same_answers_on_another_scale_are_another_study(
        self, dataset: Dataset, tmp_path: Path
    ) -> None:
        import_judgments(**source(tmp_path), study="halves")
        again = import_judgments(**source(tmp_path), study="halves")
        assert not again.created
        with pytest.raises(DataConflict, match="with another scale"):
            import_judgments(**source(tmp_path), study="halves", scale="0:5:0.5")

    def test_a_design_names_the_points_of_the_scale(self, dataset: Dataset, tmp_path: Path) -> None:
        scale = {"low": 1, "high": 5, "step": 0.5, "labels": {"1": "bad", "5": "good"}}
        import_judgments(**source(tmp_path), study="halves", design={"scale": scale})
        assert find_study("halves").design["scale"] == scale

    def test_the_first_answers_are_looked_at_on_the_page_and_the_scale_is_asked(
        self, designer: Client, dataset: Dataset
    ) -> None:
        text = HALVES.replace("cap", "output").replace("sys", "model").replace("score", "Rating")
        address = judgments(designer, dataset, text).headers["Location"]
        shown = words(designer.get(address))
        assert "The preview reads the answers as points of the scale 1 to 5 by 0.5." in shown
        names = [column["name"] for column in designer.get(address).context["table"]["columns"]]
        chosen = {
            "output": "first_text",
            "model": "system",
            "rater": "worker",
            "Rating": "value",
            "image": "image",
        }
        sent = {f"column-{names.index(column)}": mine for column, mine in chosen.items()}
        refused = words(designer.post(address, sent | {"scale": "five"}))
        assert_names(refused, "five", "LOW", "HIGH", "STEP")
        job = job_of(designer.post(address, sent | {"scale": "0:5:0.5"}))
        assert job.state == job.State.DONE, job.error
        assert scale_in(find_study("brought")) == "0:5:0.5"


class TestCall:
    def test_a_call_states_a_scale_or_is_told_which_was_taken(
        self, designer: Client, dataset: Dataset
    ) -> None:
        rows = [{"unit": f"u{value}", "worker": "w1", "image": "A.jpg", "first_text": str(value), "value": value}
                for value in (2.5, 4)]  # fmt: skip
        body = {"study": "called", "protocol": "graded", "rows": rows}

        def sent(**more: Any) -> Any:
            return designer.post(
                "/api/datasets/shared/judgments/", json.dumps(body | more), content_type="application/json"
            )

        tried = sent(dry_run=True).json()
        assert "points of the scale 1 to 4 by 0.5, by their values" in " ".join(tried["notes"])
        assert "found 2.5, expected 1 to 5 (graded)" in sent(scale="1:5:1").json()["detail"]
        assert not Study.objects.exists()
        assert sent(scale="1:5:0.5").status_code == 201
        assert scale_in(find_study("called")) == "1:5:0.5"


IN_HALVES, ABOUT_NOUGHT = ("graded", [1, 2.5, 5], "1:5:0.5"), ("graded", [-3, 0, 3], "-3:3")
UNUSED_PART, TENTHS = ("graded", [2, 3], "1:7"), ("slider", [0.3, 0.7], "0:1:0.1")


@pytest.mark.parametrize(
    ("protocol", "values", "scale", "form"),
    long_except(
        [
            (*scale, form)
            for scale in (IN_HALVES, ABOUT_NOUGHT, UNUSED_PART, TENTHS)
            for form in ("jsonl", "csv", "parquet")
        ],
        (*IN_HALVES, "jsonl"),
        (*ABOUT_NOUGHT, "csv"),
        (*UNUSED_PART, "parquet"),
        (*TENTHS, "csv"),
    ),
)
def test_an_export_comes_back_on_the_same_scale(
    dataset: Dataset, tmp_path: Path, form: str, protocol: str, values: list[float], scale: str
) -> None:
    study = brought(tmp_path, values, protocol, scale=scale)
    path = tmp_path / f"out.{form}"
    export_judgments(study=study, format=form, output=path)
    if form == "parquet":
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(path)
        assert sorted(table["value"].to_pylist()) == sorted(values)
        assert set(table["scale"].to_pylist()) == {scale}
        return
    import_judgments(format=form, path=path, dataset="shared", study="again")
    again = find_study("again")
    assert scale_in(again) == scale
    assert systems_of(again) == systems_of(study)
    assert check_integrity().problems == []


def test_a_study_on_the_usual_scale_is_exported_without_one(dataset: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    export_judgments(study=brought(tmp_path, [1, 4]), format="jsonl", output=path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert all("scale" not in row for row in rows)
    assert '"value": 1,' in path.read_text()


def test_a_file_is_measured_on_its_scale(
    dataset: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, output = tmp_path / "out.jsonl", tmp_path / "alpha.json"
    import_judgments(**source(tmp_path), study="halves")
    export_judgments(study=find_study("halves"), format="jsonl", output=path)
    call_command("agreement", str(path), "--coefficient", "gwet", "--output", str(output))
    of_file = json.loads(output.read_text())
    of_study = compute_aggregation(study=find_study("halves")).as_json()["agreement"]
    assert of_file["level"] == "interval"
    assert of_file["alpha"]["value"] == of_study["alpha"]["value"]
    assert of_file["coefficients"]["gwet"]["value"] == of_study["coefficients"]["gwet"]["value"]


@pytest.mark.usefixtures("undrawn")
def test_a_release_is_recomputed_on_its_scale(dataset: Dataset, tmp_path: Path) -> None:
    import_judgments(**source(tmp_path), study="halves")
    bundle = released(find_study("halves"), tmp_path / "a.zip")
    assert verify_bundle(bundle).differences == ()


def test_relevance_judgments_count_the_steps_of_the_scale(dataset: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "out.qrels"
    export_judgments(study=brought(tmp_path, [1, 2.5, 5]), format="qrels", output=path)
    assert sorted(line.split()[-1] for line in path.read_text().splitlines()) == ["0", "3", "8"]


def test_the_share_that_describes_is_said(
    designer: Client, dataset: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = brought(tmp_path, [-3, 1, 3])
    said = (
        "Answers are on the scale −3 to 3. “describes” is the share of outputs with a mean answer in the upper half of "
        "the scale, above 0."
    )
    call_command("aggregate", "own")
    assert said in capsys.readouterr().out
    assert said in words(designer.get(page(study, "results")))
    assert compute_aggregation(study=study).as_json()["scale"] == {
        "low": -3, "high": 3, "step": 1, "describes_above": 0,
    }  # fmt: skip


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    low=st.integers(-20, 20), points=st.integers(2, 11), step=st.sampled_from(["0.1", "0.25", "0.5", "1", "2"]),
    data=st.data(),
)  # fmt: skip
def test_no_answer_changes_on_its_way_through_a_scale(
    low: int, points: int, step: str, data: st.DataObject
) -> None:
    high = low + (points - 1) * Decimal(step)
    scale = scale_from_text(f"{low}:{high.normalize():f}:{step}")
    assert len(scale) == points
    place = data.draw(st.integers(0, points - 1))
    answer = float(low + place * Decimal(step))
    assert scale.points[place] == answer
    assert scale.steps_to(answer) == place
    assert answer in scale
    assert (answer + float(step) / 3) not in scale


@pytest.mark.parametrize(
    ("protocol", "scale"),
    [
        pytest.param("graded", {"low": 1, "high": 5, "step": 0.5}, id="halves"),
        pytest.param("graded", {"low": -3, "high": 3}, id="about-nought", marks=pytest.mark.long),
        pytest.param("slider", {"low": 0, "high": 1, "step": 0.01}, id="a-share"),
    ],
)
def test_a_rehearsed_study_finds_the_better_system_and_its_controls(
    protocol: str, scale: dict[str, Any]
) -> None:
    better_and_worse()
    study = make_study(protocol, slug="own", scale=scale)
    middle = (scale["low"] + scale["high"]) / 2
    expected = Unit.objects.filter(study=study, control=True).values_list("expected", flat=True)
    kind = kind_of(study)
    assert isinstance(kind, Graded)
    assert set(expected) <= {kind.right_caption_answer, kind.wrong_caption_answer}
    for answer in kind.values:
        assert kind.is_right(answer, kind.right_caption_answer) == (answer > middle)
        assert kind.is_right(answer, kind.wrong_caption_answer) == (answer < middle)
    rehearse(study=study, crowd=RehearsalCrowd(workers=8, spammers=0.0, accuracy=0.95, seed=5, drop_outs=0.0))
    study.refresh_from_db()
    answers = list(Judgment.objects.of_study(study).values_list("value", flat=True))
    assert answers
    assert all(answer in kind.values for answer in answers)
    workers = compute_aggregation(study=study).as_json()["workers"]
    right, seen = (sum(row[name] for row in workers) for name in ("controls_right", "controls_seen"))
    assert right / seen > 0.8
    aggregate_study(study=study)
    assert check_integrity().problems == []
