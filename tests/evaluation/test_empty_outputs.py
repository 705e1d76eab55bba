"""An empty output is an output: it keeps its grades, is shown as empty, scores 0 and is counted, at every door."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from contrib.error_spans.results.scores import system_scores
from contrib.error_spans.results.segments import segments_of
from evaluation.data.export.exporting import export_judgments
from evaluation.models import ImportedMetric
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from judgments.models import Dataset, Output, Study, Unit
from quorum.metrics import score
from tests.evaluation.studies import make_dataset
from tests.evaluation.test_outputs import OF_PAIRS, again, brought, means, rows_of, verdict
from tests.judgments.desk import page
from tests.marks import long_except
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
IMAGES = {name: [f"{name} by people"] for name in ("a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.jpg", "f.jpg")}
GRADES = """image,output,model,rater,score
a.jpg,a dog runs,s1,w1,3
a.jpg,a dog,s2,w1,4
b.jpg,a cat,s1,w1,3
b.jpg,,s2,w1,1
"""
PAIRS = """image,x,y,a,b,rater,best
d.jpg,a dog,,s1,s2,w1,1
e.jpg,a cat,,s1,s2,w1,1
f.jpg, ,a bird,s1,s2,w1,2
"""
OF_GRADES = {"first_text": "output", "system": "model", "worker": "rater", "value": "score"}
TWO = {"s1": 3.0, "s2": 2.5}


@pytest.fixture
def dataset() -> Dataset:
    return make_dataset("shared", IMAGES)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("cell", ["", " ", "\t"], ids=["nothing", "blank", "tab"])
def test_an_empty_output_keeps_its_grades(dataset: Dataset, tmp_path: Path, cell: str) -> None:
    rows = rows_of(GRADES)
    rows[3]["output"] = cell
    for name, some in (("ahead", rows), ("back", rows[::-1])):
        study = brought(some, "graded", OF_GRADES, tmp_path, name)
        assert means(study) == TWO
        assert Unit.objects.filter(study=study).count() == 4


@pytest.mark.parametrize("form", long_except(["jsonl", "csv"], "csv"))
def test_an_empty_output_goes_out_and_comes_back(dataset: Dataset, tmp_path: Path, form: str) -> None:
    study = brought(rows_of(GRADES), "graded", OF_GRADES, tmp_path)
    assert means(again(study, tmp_path, form)) == TWO
    pairs = brought(rows_of(PAIRS), "pairwise", OF_PAIRS, tmp_path, "pairs")
    path = tmp_path / f"pairs-out.{form}"
    export_judgments(study=pairs, format=form, output=path)
    call_command(
        "import_judgments", form, str(path), dataset="shared", study="pairs-again", stdout=StringIO()
    )
    assert verdict(Study.objects.get(slug="pairs-again")) == verdict(pairs)


@pytest.mark.parametrize("form", ["csv", "jsonl", "json"])
def test_columns_with_our_names_need_no_mapping(dataset: Dataset, tmp_path: Path, form: str) -> None:
    rows = [
        {
            "unit": f"u{number}",
            "image": row["image"],
            "first_text": row["output"],
            "worker": row["rater"],
            "value": int(row["score"]),
        }
        for number, row in enumerate(rows_of(GRADES))
    ]
    if form == "csv":
        text = "\n".join([",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows), ""])
    else:
        lines = [json.dumps(row) for row in rows]
        text = f"[{','.join(lines)}]" if form == "json" else "\n".join(lines)
    path = write(tmp_path / f"ours.{form}", text)
    call_command(
        "import_judgments",
        form,
        str(path),
        dataset="shared",
        study="ours",
        protocol="graded",
        stdout=StringIO(),
    )
    texts = Unit.objects.filter(study__slug="ours").order_by("key").values_list("first__text", flat=True)
    assert list(texts) == ["a dog runs", "a dog", "a cat", ""]


def test_a_vote_on_an_empty_output_counts(dataset: Dataset, tmp_path: Path) -> None:
    study = brought(rows_of(PAIRS), "pairwise", OF_PAIRS, tmp_path)
    assert study.pairs.count() == 3
    assert verdict(study) == pytest.approx({"s1": 2 / 3, "s2": 1 / 3})


def test_what_is_missing_from_an_empty_output_is_marked(dataset: Dataset, tmp_path: Path) -> None:
    mark = {"start": None, "end": None, "severity": "major"}
    rows = [
        row | {"score": json.dumps({"spans": [] if row["output"] else [mark]})} for row in rows_of(GRADES)
    ]
    columns = {**OF_GRADES, "answer": "score"}
    del columns["value"]
    study = brought(rows, "spans", columns, tmp_path)
    assert {row.system: row.score for row in system_scores(segments_of(study))} == {"s1": 0.0, "s2": -2.5}


def test_a_second_text_that_no_kind_judges_makes_no_output(dataset: Dataset, tmp_path: Path) -> None:
    rows = [row | {"other": ""} for row in rows_of(GRADES)]
    study = brought(rows, "graded", {**OF_GRADES, "second_text": "other"}, tmp_path)
    assert not Unit.objects.filter(study=study, second__isnull=False).exists()
    assert means(study) == TWO


def test_a_file_without_texts_is_refused_where_the_dataset_lacks_them(
    dataset: Dataset, tmp_path: Path
) -> None:
    path = write(tmp_path / "none.csv", "image,rater,score\na.jpg,w1,3\n")
    with pytest.raises(CommandError, match="first_text"):
        call_command(
            "import_judgments",
            "csv",
            str(path),
            dataset="shared",
            study="none",
            protocol="graded",
            map="worker=rater,value=score",
            stdout=StringIO(),
        )
    assert not Study.objects.exists()


CANDIDATES = {
    "csv": "image,caption\na.jpg,a dog\nb.jpg,\nc.jpg, \n",
    "jsonl": '{"image": "a.jpg", "caption": "a dog"}\n{"image": "b.jpg", "caption": ""}\n'
    '{"image": "c.jpg", "caption": null}\n',
    "coco": '[{"image_id": "a.jpg", "caption": "a dog"}, {"image_id": "b.jpg", "caption": ""}, '
    '{"image_id": "c.jpg", "caption": " "}]',
}


@pytest.mark.parametrize("form", CANDIDATES)
def test_a_system_has_its_empty_outputs(dataset: Dataset, tmp_path: Path, form: str) -> None:
    path = write(tmp_path / f"candidates.{form}", CANDIDATES[form])
    call_command("import_candidates", form, str(path), dataset="shared", system="s", stdout=StringIO())
    outputs = Output.objects.filter(system__name="s").values_list("item__name", "caption__text")
    assert sorted(outputs) == [("a.jpg", "a dog"), ("b.jpg", ""), ("c.jpg", "")]


def test_a_caption_by_people_is_no_empty_text(tmp_path: Path) -> None:
    path = write(tmp_path / "people.csv", "image,caption\na.jpg,\n")
    with refuses(CommandError, "caption"):
        call_command("import_dataset", "csv", str(path), name="people", stdout=StringIO())


def test_scores_of_empty_outputs_are_imported(dataset: Dataset, tmp_path: Path) -> None:
    path = write(tmp_path / "c.csv", CANDIDATES["csv"])
    call_command("import_candidates", "csv", str(path), dataset="shared", system="s", stdout=StringIO())
    for name, text in {
        "by-text": "image,caption,score\nb.jpg,,0.1\na.jpg,a dog,0.9\n",
        "by-system": "image,system,score\nb.jpg,s,0.1\na.jpg,s,0.9\n",
    }.items():
        scores = write(tmp_path / f"{name}.csv", text)
        call_command("import_scores", scores, dataset="shared", metric=[name], stdout=StringIO())
    assert dict(ImportedMetric.objects.values_list("name", "known")) == {"by-text": 2, "by-system": 2}


def test_metrics_score_0_for_an_empty_output_and_say_so(dataset: Dataset, tmp_path: Path) -> None:
    study = brought(rows_of(GRADES), "graded", OF_GRADES, tmp_path)
    found = evaluate_study(study=study, metrics=["bleu-1", "rouge-l"])
    assert "1 empty caption scores 0." in found["notes"]
    scored = score(["a dog", ""], [["a dog"], ["a cat"]], metrics=["bleu-1", "cider", "rouge-1"])
    assert {name: one.images[1] for name, one in scored.scores.items()} == {
        "bleu-1": 0,
        "cider": 0,
        "rouge-1": 0,
    }
    assert "1 empty caption scores 0" in scored.warnings


def test_staff_and_people_read_that_an_output_is_empty(
    dataset: Dataset, tmp_path: Path, admin_client: Client
) -> None:
    study = brought(rows_of(GRADES), "graded", OF_GRADES, tmp_path)
    shown = admin_client.get(f"/admin/judgments/unit/?study__id__exact={study.pk}").content.decode()
    assert "(empty)" in shown
    aggregate_study(study=study)
    assert "2.50" in admin_client.get(page(study, "results")).content.decode()
    admin_client.cookies["django_language"] = "de"
    assert (
        "(leer)" in admin_client.get(f"/admin/judgments/unit/?study__id__exact={study.pk}").content.decode()
    )
