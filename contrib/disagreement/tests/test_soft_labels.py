"""Disagreement as data: the command, the page, the call, the export, and models of workers beside the consensus."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client

from annotation.crowds.raw_ids import forget_raw_ids
from annotation.models import Demographics, Worker
from common.files import NanAsNullEncoder, indented_json
from config.api.framework import NanAsNullRenderer
from contrib.disagreement.analysis import compute_disagreement
from contrib.disagreement.wording import describe_disagreement
from contrib.judges.importing import store_answers
from evaluation.data.export.exporting import export_judgments
from evaluation.errors import EvaluationError
from evaluation.models import Analysis, Prediction
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from judgments.cached_figures import recompute_figures, store_figures
from judgments.jobs.claims import run_job
from judgments.models import CachedFigures, Job, Study, StudyRole
from tests.evaluation.reporting import words
from tests.evaluation.studies import StudyOf, make_dataset
from tests.judgments.desk import page
from tests.refusals import assert_names, refuses

pytestmark = pytest.mark.django_db
UNITS = 30


@pytest.fixture(scope="module")
def study(module_db: None) -> Study:
    """Ten people on 30 captions; three of them say yes to most, and the captions of every third image are a coin."""
    images = {f"{place}.jpg": ["a dog runs on the grass", "a brown dog on a field"] for place in range(10)}
    made = StudyOf(make_dataset("dogs", images), "relevance", slug="dogs", controls={"per_hit": 0})
    texts = ("a dog on the grass", "a cat on a sofa", "a brown animal")
    units = [
        made.unit(f"dogs-{image}-{number}", image, first=f"{text} {image[0]}")
        for image in images
        for number, text in enumerate(texts)
    ]
    hit = made.hit("h1", units, required=10)
    generator = np.random.default_rng(5)
    truth = np.array([1, 0, 1] * 10)
    for person in range(10):
        right = generator.random(UNITS) < np.where(np.arange(UNITS) % 3 == 2, 0.6, 0.95)
        said = np.where(right, truth, 1 - truth)
        if person < 3:
            said = np.where(generator.random(UNITS) < 0.9, 1, said)
        made.answer(hit, f"judge-{person}", said.tolist())
    for worker in made.study.assignments.values_list("worker", flat=True):
        Worker.objects.filter(pk=worker).update(country="DE" if worker % 2 else "FR")
    return made.study


def test_models_of_workers_are_fitted_where_they_are_asked_for(
    study: Study, designer: Client, tmp_path: Path
) -> None:
    place, printed = tmp_path / "consensus.json", StringIO()
    call_command("aggregate", "dogs", method="mace,glad response", output=place, stdout=printed)
    models = json.loads(place.read_text())["models"]
    assert "mace differs from the consensus on" in printed.getvalue()
    assert len(models["mace"]["units"]) == len(models["response"]["units"]) == UNITS
    competence = {row["worker"]: row["competence"] for row in models["mace"]["workers"]}
    assert max(competence[f"judge-{person}"] for person in range(3)) < 0.5
    assert min(competence[f"judge-{person}"] for person in range(3, 10)) > 0.5
    assert {"ability", "accuracy", "judgments"} < set(models["glad"]["workers"][0])
    assert all(model["converged"] and model["signature"] for model in models.values())
    shown = words(designer.get(page(study, "results")))
    assert "Competence (MACE)" in shown
    assert "judge-3" in shown
    with pytest.raises(CommandError, match="method"):
        call_command("aggregate", "dogs", method="gibbs", stdout=StringIO())
    # The page asks for a job with the same models.
    sent = designer.post(
        f"/admin/judgments/study/{study.pk}/do/models/", {"page": "results", "method": ["glad"]}
    )
    assert sent.status_code == 302
    assert Job.objects.get(kind="aggregate").args["method"] == ["glad"]


def test_what_predicts_people_is_ordered_and_no_better_than_their_own_entropy(
    study: Study, tmp_path: Path
) -> None:
    evaluate_study(study=study, metrics=["bleu-1", "rouge-l"])
    place, printed = tmp_path / "found.json", StringIO()
    call_command("soft_labels", "dogs", bootstraps=19, output=place, stdout=printed)
    found = json.loads(place.read_text())
    assert (found["units"], found["judgments"]) == (UNITS, 300)
    costs = [row["cross_entropy"]["value"] for row in found["predictors"]]
    assert costs == sorted(costs)
    assert {row["name"] for row in found["predictors"]} == {
        "equally likely",
        "same for all",
        "bleu-1",
        "rouge-l",
    }
    assert found["predictors"][0]["what"] == "metric"
    for row in found["predictors"]:
        for mean in (row["cross_entropy"], row["jensen_shannon"]):
            assert mean["high"] - mean["value"] == pytest.approx(mean["value"] - mean["low"])
    assert found["entropy"]["uncorrected"] < found["entropy"]["floor"] < costs[0]
    assert found["in_words"] in printed.getvalue()
    groups = found["groups"]
    assert groups["p"] == 0.05
    assert [row["worker"] for row in groups["members"] if row["group"] == 2] == [
        f"judge-{n}" for n in range(3)
    ]
    assert {row["by"] for row in found["known"]} == {"country"}
    assert len(found["judges"]) == 10
    with refuses(CommandError, "--bootstraps", -1):
        call_command("soft_labels", "dogs", bootstraps=-1, stdout=StringIO())


def test_a_models_distributions_and_judges_are_held_against_people(study: Study, tmp_path: Path) -> None:
    exported = tmp_path / "labels.jsonl"
    export_judgments(study=study, format="soft-labels", output=exported)
    rows = [json.loads(line) for line in exported.read_text().splitlines()]
    told = tmp_path / "net.jsonl"

    def tell(shares: Any) -> dict[str, Any]:
        told.write_text(
            "".join(json.dumps({"unit": r["unit"], "distribution": shares(r)}) + "\n" for r in rows)
        )
        call_command(
            "soft_labels",
            "dogs",
            bootstraps=0,
            predictions=[told],
            output=tmp_path / "f.json",
            stdout=StringIO(),
        )
        found: dict[str, Any] = json.loads((tmp_path / "f.json").read_text())
        return {row["name"]: row for row in found["predictors"]}

    # Who says beforehand what people answer has their entropy as cost, and nothing between.
    own = tell(lambda row: {key: max(one, 1e-9) for key, one in row["distribution"].items()})["net"]
    assert (own["what"], own["n"]) == ("model", UNITS)
    assert own["cross_entropy"]["value"] == pytest.approx(np.mean([row["entropy"] for row in rows]), abs=2e-3)
    assert own["jensen_shannon"]["value"] == pytest.approx(0, abs=1e-5)
    flat = tell(lambda row: {"0": 0.5, "1": 0.5})
    assert flat["net"]["cross_entropy"] == flat["equally likely"]["cross_entropy"]

    # A judge who says what most people say predicts better than one who always says the same.
    lines = [f"{row['unit']},{int(row['distribution']['1'] > 0.5)}" for row in rows]
    store_answers(study=study, name="sees", answers="\n".join(["unit,value", *lines]))
    store_answers(
        study=study, name="blind", answers="\n".join(["unit,value", *(f"{r['unit']},1" for r in rows)])
    )
    rated = tell(lambda row: {"0": 0.5, "1": 0.5})
    assert rated["sees"]["what"] == "judge"
    cost = {name: row["cross_entropy"]["value"] for name, row in rated.items()}
    assert cost["sees"] < cost["same for all"]
    assert cost["blind"] == pytest.approx(cost["same for all"], abs=1e-6)

    for shares, problem in [
        ({"0": 0.5, "1": 0.6}, "adds up to 1.1"),
        ({"0": 0.5, "7": 0.5}, "has answer '7'; expected 0, 1"),
        ({"0": 0.0, "1": 1.0}, "gives 0 to what somebody answered"),
        ([0.5, 0.5], "cannot be read; expected such as"),
    ]:
        with pytest.raises(CommandError, match=f"line .*{problem}"):
            tell(lambda row, shares=shares: shares)


def test_a_models_distributions_are_imported_shown_and_removed_from_each_door(
    study: Study, designer: Client, tmp_path: Path
) -> None:
    aggregate_study(study=study)
    keys = list(study.units.filter(control=False).values_list("key", flat=True))
    lines = {
        name: "".join(
            json.dumps({"unit": key, "distribution": {"0": 1 - share, "1": share}}) + "\n" for key in keys
        )
        for name, share in (("paged", 0.5), ("called", 0.25), ("written", 0.75), ("none", 1.0))
    }
    do = f"/admin/judgments/study/{study.pk}/do/import-predictions/"

    def upload(name: str, text: str) -> str:
        file = SimpleUploadedFile("net.jsonl", text.encode())
        return words(designer.post(do, {"page": "soft-labels", "name": name, "file": file}, follow=True))

    assert "Predictions of 'paged' were imported: 30 units." in upload("paged", lines["paged"])
    assert "the same predictions were there already" in upload("paged", lines["paged"])
    assert "other predictions of 'paged'" in upload("paged", lines["called"])
    assert "Line 1 gives 0" in upload("none", lines["none"])
    assert "choose the file" in words(designer.post(do, {"page": "soft-labels", "name": "none"}, follow=True))
    call = f"/api/studies/{study.slug}/import-predictions/"
    sent = designer.post(call, {"name": "called", "predictions": lines["called"]}, "application/json")
    assert sent.status_code == 200
    wrong = designer.post(call, {"name": "none", "predictions": '{"unit": "x"}'}, "application/json")
    assert (wrong.status_code, "Line 1 cannot be read" in wrong.content.decode()) == (400, True)
    huge = json.dumps({"unit": keys[0], "distribution": {"0": 10**400, "1": 0}})
    assert "Line 1 cannot be read" in upload("none", huge)
    upload("none", huge + " " * 2**21)
    job = Job.objects.get(kind="import_predictions")
    run_job(job.pk)
    job.refresh_from_db()
    assert_names(job.error, "net.jsonl", "line 1", "2,097,152")
    file = tmp_path / "net.jsonl"
    file.write_text(lines["written"])
    call_command("import_predictions", "dogs", str(file), name="written", stdout=StringIO())
    assert not Prediction.objects.filter(study=study, name="none").exists()

    rows = {row["name"]: row for row in compute_disagreement(study=study, bootstraps=0)["predictors"]}
    assert rows["paged"]["cross_entropy"] == rows["equally likely"]["cross_entropy"]
    assert {rows[name]["what"] for name in ("paged", "called", "written")} == {"model"}
    store_figures(recompute_figures(study, ["disagreement"]))
    shown = words(designer.get(page(study, "soft-labels")))
    assert all(f"Remove {name}" in shown for name in ("paged", "called", "written"))

    viewer, person = Client(), User.objects.create_user("vera", is_staff=True)
    StudyRole.objects.create(study=study, user=person, role="viewer")
    viewer.force_login(person)
    listed = viewer.get("/api/predictions/").json()["results"]
    assert {row["name"] for row in listed} == {"paged", "called", "written"}
    assert viewer.delete(f"/api/predictions/{listed[0]['id']}/").status_code == 403
    assert (
        viewer.post(call, {"name": "v", "predictions": lines["paged"]}, "application/json").status_code == 403
    )
    assert designer.delete(f"/api/predictions/{listed[0]['id']}/").status_code == 204
    gone = f"/admin/judgments/study/{study.pk}/do/remove-predictions/"
    said = designer.post(gone, {"page": "soft-labels", "prediction": listed[1]["id"]}, follow=True)
    assert f"Predictions of '{listed[1]['name']}' were removed." in words(said)
    assert [one.name for one in Prediction.objects.filter(study=study)] == [listed[2]["name"]]


def test_the_page_and_the_call_wait_for_a_job_and_show_the_same(study: Study, designer: Client) -> None:
    address = f"/api/studies/{study.slug}/soft-labels/"
    assert "compute them first" in words(designer.get(page(study, "soft-labels")))
    assert designer.get(address).status_code == 400
    aggregate_study(study=study)
    asked = designer.get(address)
    assert (asked.status_code, asked["Retry-After"]) == (202, "5")
    run_job(Job.objects.get(kind="figures").pk)
    found = designer.get(address).json()
    shown = words(designer.get(page(study, "soft-labels")))
    assert " ".join(found["in_words"].split()) in shown
    assert "Participants form two groups" in shown
    assert "judge-0, judge-1, judge-2" in shown


def test_what_the_crowd_says_of_people_is_for_designers_and_is_forgotten(
    study: Study, designer: Client
) -> None:
    for place, worker in enumerate(Worker.objects.filter(name__startswith="judge-").order_by("pk")):
        answers = {"country": "Here" if place < 5 else "There"}
        Demographics.objects.create(study=study, worker=worker, answers=answers)
    aggregate_study(study=study)
    under_way = recompute_figures(study, ["disagreement"])
    store_figures(under_way)
    person, viewer = User.objects.create_user("vera", is_staff=True), Client()
    StudyRole.objects.create(study=study, user=person, role="viewer")
    viewer.force_login(person)
    address = f"/api/studies/{study.slug}/soft-labels/"
    for client, seen in ((designer, {"country", "crowd: country"}), (viewer, {"country"})):
        assert {row["by"] for row in client.get(address).json()["known"]} == seen
        shown = words(client.get(page(study, "soft-labels")))
        assert "Participants form two groups" in shown
        assert ("Crowd: country" in shown, "There" in shown) == (len(seen) > 1, len(seen) > 1)
    forget_raw_ids(study=study)
    assert not CachedFigures.objects.filter(study=study, name="disagreement").exists()
    store_figures(under_way)  # by a job that began before
    assert designer.get(address).status_code == 202


def test_only_a_metric_of_all_items_is_said_to_come_closer_to_the_floor() -> None:
    def row(name: str, above: float, n: int, what: str = "metric") -> dict[str, Any]:
        return {"name": name, "what": what, "above_floor": above, "n": n}

    always = row("same for all", 0.4, 30, "baseline")
    found = {
        "entropy": {"floor": 0.5, "most": 0.69},
        "predictors": [row("few", 0.0, 5), row("all", 0.3, 30), always],
    }
    assert "The best metric, all, removes 25\N{NO-BREAK SPACE}%" in describe_disagreement(found)
    below = found | {"predictors": [row("all", -0.1, 30), always]}
    assert "removes 100\N{NO-BREAK SPACE}%" in describe_disagreement(below)
    assert "metric" not in describe_disagreement(found | {"predictors": [row("few", 0.0, 5), always]})


def test_soft_labels_are_exported_a_unit_a_line(study: Study, tmp_path: Path) -> None:
    place = tmp_path / "soft.jsonl"
    export_judgments(study=study, format="soft-labels", output=place)
    rows = [json.loads(line) for line in place.read_text().splitlines()]
    assert len(rows) == UNITS
    for row in rows:
        assert row["n"] == sum(row["votes"].values()) == 10
        assert sum(row["distribution"].values()) == pytest.approx(1)
        assert row["distribution"]["1"] == row["votes"]["1"] / 10
        assert row["entropy"] <= row["entropy_corrected"]
    assert rows[0]["first"]
    assert rows[0]["second"] is None


def test_totals_without_persons_have_soft_labels_and_no_groups(module_db: None) -> None:
    made = StudyOf(make_dataset("totals", {"a.jpg": ["a dog"]}), "relevance", slug="totals", imported=True)
    hit = made.hit("h1", [made.unit("u1", "a.jpg", first="a dog")])
    for person, answer in enumerate((1, 1, 0)):
        made.answer(hit, f"anon-{person}", [answer], anonymous=True)
    found = compute_disagreement(study=made.study)
    assert found["entropy"]["floor"] > 0
    assert "groups" not in found
    assert found["per_worker"]["reason"]


def test_few_raters_are_not_split(module_db: None) -> None:
    made = StudyOf(
        make_dataset("few", {"a.jpg": ["a dog"]}), "relevance", slug="few", controls={"per_hit": 0}
    )
    hit = made.hit("h1", [made.unit("u1", "a.jpg", first="a dog")])
    for person in range(3):
        made.answer(hit, f"few-{person}", [1])
    found = compute_disagreement(study=made.study)
    assert found["groups"] == {"reason": "too few participants (3); expected 10 or more"}
    assert [row["name"] for row in found["predictors"]] == ["equally likely"]
    fitted = aggregate_study(study=made.study)
    assert "models" not in fitted


def test_raters_without_a_unit_in_common_are_not_split(module_db: None) -> None:
    images = {f"{place}.jpg": ["a dog"] for place in range(10)}
    made = StudyOf(make_dataset("alone", images), "relevance", slug="alone", controls={"per_hit": 0})
    for person, image in enumerate(images):
        hit = made.hit(f"h{person}", [made.unit(f"alone-{person}", image, first=f"a dog {person}")])
        made.answer(hit, f"alone-{person}", [person % 2])
        Worker.objects.filter(name=f"alone-{person}").update(country="DE" if person % 2 else "FR")
    found = compute_disagreement(study=made.study)
    assert found["groups"] == {"reason": "no item has two judgments"}
    assert [row["reason"] for row in found["known"]] == [
        "no two participants of different groups have an item in common"
    ]


def test_pairs_with_no_difference_and_neither_have_a_label_for_each(
    module_db: None, designer: Client, tmp_path: Path
) -> None:
    images = {f"{place}.jpg": ["a dog runs on the grass"] for place in range(8)}
    made = StudyOf(
        make_dataset("ties", images), "pairwise", slug="ties", controls={"per_hit": 0},
        answers={"no_difference": True, "neither": True, "strength": True, "confidence": True},
    )  # fmt: skip
    units = []
    for place, image in enumerate(images):
        pair = made.pair(f"p{place}", image, f"a dog runs {place}", f"a cat {place}")
        units.append(made.unit(f"ties-{place}", pair=pair))
    hit = made.hit("h1", units, required=10)
    answers = [101, 201, 311, 100, 203, 302, 112, 300]
    for person in range(10):
        made.answer(hit, f"ties-{person}", answers[person % 8 :] + answers[: person % 8])
    aggregate_study(study=made.study)
    evaluate_study(study=made.study, metrics=["bleu-1"])
    store_figures(recompute_figures(made.study, ["disagreement"]))
    found = designer.get("/api/studies/ties/soft-labels/").json()
    assert found["labels"] == [1, 2, 0, 3]
    assert {row["name"] for row in found["predictors"]} == {"equally likely", "same for all", "bleu-1"}
    shown = designer.get(page(made.study, "soft-labels"))
    assert shown.context["labels"] == ["first", "second", "no difference", "neither"]
    assert shown.context["group_tables"]
    export_judgments(study=made.study, format="soft-labels", output=tmp_path / "soft.jsonl")
    row = json.loads((tmp_path / "soft.jsonl").read_text().splitlines()[0])
    assert list(row["votes"]) == ["1", "2", "0", "3"]
    assert sum(row["votes"].values()) == row["n"] == 10


def test_open_answers_have_no_soft_labels(module_db: None) -> None:
    made = StudyOf(
        make_dataset("open", {"a.jpg": ["a dog"]}), "caption", slug="written", controls={"per_hit": 0}
    )
    with refuses(EvaluationError, "values", "10"):
        compute_disagreement(study=made.study)


def test_an_infinite_cross_entropy_is_null_with_its_reason_at_each_door(
    study: Study, designer: Client, tmp_path: Path
) -> None:
    """A score far from all others: a logit that never saw it gives 0 to an answer. JSON has no infinite number."""
    aggregate_study(study=study)
    units = list(study.units.order_by("position").select_related("item", "first"))
    scores = tmp_path / "far.jsonl"
    rows = [
        {
            "image": one.item.name,
            "caption": one.first.text,
            "score": [0.9, 0.1, 1e9][at] if at < 3 else at % 7,
        }
        for at, one in enumerate(units)
        if one.first is not None
    ]
    scores.write_text("".join(json.dumps(row) + "\n" for row in rows))
    call_command("import_scores", scores, dataset="dogs", metric=["far"], stdout=StringIO())
    evaluate_study(study=study, metrics=["far", "bleu-1"])
    # The least share that a file can hold has a large cost, and no infinite one.
    least = {"0": 5e-324, "1": 1.0}
    file = tmp_path / "sure.jsonl"
    file.write_text("".join(json.dumps({"unit": one.key, "distribution": least}) + "\n" for one in units))
    call_command("import_predictions", "dogs", str(file), name="sure", stdout=StringIO())

    why = "the prediction gives probability 0 to an answer that was given, so the cross-entropy is infinite"
    place, printed = tmp_path / "found.json", StringIO()
    call_command("soft_labels", "dogs", bootstraps=0, output=place, stdout=printed)
    written = {row["name"]: row for row in json.loads(place.read_text())["predictors"]}
    assert list(written)[-1] == "far"
    assert written["far"]["cross_entropy"] == {
        "value": None, "low": None, "high": None, "n": UNITS, "reason": why,
    }  # fmt: skip
    assert written["far"]["above_floor"] is None
    assert 0 < written["sure"]["cross_entropy"]["value"] < 745  # -log(5e-324)
    assert "The best metric, bleu-1, removes" in printed.getvalue()

    store_figures(recompute_figures(study, ["disagreement"]))
    called = {row["name"]: row for row in designer.get("/api/studies/dogs/soft-labels/").json()["predictors"]}
    assert called["far"] == written["far"]
    assert why in words(designer.get(page(study, "soft-labels")))


def test_stored_results_and_calls_have_no_number_that_json_lacks(study: Study, designer: Client) -> None:
    result = {"cost": np.inf, "rows": [1.5, np.nan, -np.inf], "of": {"n": np.float64("inf")}}
    plain = {"cost": None, "rows": [1.5, None, None], "of": {"n": None}}
    about: Any = {"settings": {}, "signature": "s", "data_hash": "0", "judgments": ""}
    what = Analysis.Kind.META_EVALUATION
    stored = Analysis.objects.replace(study=study, what=what, result=result, **about)
    assert Analysis.objects.get(pk=stored.pk).result == plain
    assert designer.get("/api/studies/dogs/evaluation/").json()["result"] == plain
    assert json.loads(NanAsNullRenderer().render(result)) == plain
    figures = CachedFigures.objects.create(study=study, name="x", version="", value=result, seconds=0)
    figures.refresh_from_db()
    assert figures.value == plain
    assert json.loads(indented_json(result)) == json.loads(json.dumps(result, cls=NanAsNullEncoder)) == plain
