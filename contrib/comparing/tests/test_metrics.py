"""Comparison of two metrics: by a study's consensus, by people's imported scores, and at each door."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from scipy.stats import kendalltau, pearsonr, spearmanr

from contrib.comparing.metrics import compare_metrics
from contrib.comparing.people_scores import compare_with_scores
from contrib.comparing.wording import describe_comparison
from contrib.score_imports.reading import read_scores
from contrib.score_imports.storing import store_metric_scores
from contrib.score_imports.tests.test_score_imports import (
    IMAGES,
    brought,
    caption_rows,
    graded_study,
    pairs_study,
    scores_of,
    write,
)
from evaluation.errors import EvaluationError
from evaluation.results.metrics.storage import evaluate_study
from judgments.jobs.claims import run_job
from judgments.models import Caption, Item, Output, Study, System
from quorum.metrics import score
from tests.evaluation.studies import StudyOf, candidate, make_dataset
from tests.evaluation.test_scales import better_and_worse, rehearsed
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def test_two_metrics_are_compared_by_captions_and_over_systems(tmp_path: Path) -> None:
    study, people = graded_study()
    noise = np.random.default_rng(1).normal(size=(2, len(people)))
    for name, spread, draws in (("good", 0.3, noise[0]), ("poor", 3, noise[1])):
        rows = [
            {"image": text.split()[-1], "caption": text, "score": value + spread * draw}
            for (text, value), draw in zip(people.items(), draws, strict=True)
        ]
        brought(study.dataset, write(tmp_path / f"{name}.jsonl", rows), name)
    found = compare_metrics(study=study.study, first="good", second="poor")
    tau = found["rows"][0]
    assert tau["first"] > tau["second"]
    assert tau["difference"] == pytest.approx(tau["first"] - tau["second"])
    assert 0 < tau["low"] < tau["difference"] < tau["high"]
    assert tau["p"] < 0.05
    assert found["scope"] == ("items and people" if found["raters"] > 1 else "these people")
    assert found["systems"]["number"] == 4
    soft = [own["soft_pairwise_accuracy"] for own in found["systems"]["own"]]
    assert soft[0]["value"] > soft[1]["value"]
    assert (soft[0]["pairwise"], soft[0]["n"]) == (1, 8)
    # Beside a metric of systems alone only the figures over systems are left.
    rows = [{"system": f"s{number}", "score": -number} for number in range(4)]
    brought(study.dataset, write(tmp_path / "whole.jsonl", rows), "whole", better="lower")
    whole = compare_metrics(study=study.study, first="whole", second="good")
    assert whole["rows"] == []
    assert whole["systems"]["own"][0]["pearson"]["value"] == pytest.approx(1, abs=0.05)
    assert whole["systems"]["own"][0]["soft_pairwise_accuracy"]["value"] is None
    assert "whole: has scores of systems alone" in whole["notes"][0]
    with refuses(EvaluationError, "whole", "systems"):
        evaluate_study(study=study.study, metrics=["whole"])

    # Scores of systems beside those of captions change nothing.
    brought(study.dataset, write(tmp_path / "good.jsonl", rows), "good")
    assert compare_metrics(study=study.study, first="good", second="poor") == found


def test_a_difference_without_a_test_is_not_called_insignificant() -> None:
    row = {"first": 0.6, "second": 0.4, "difference": 0.2, "p": None, "n": 3}
    shown = describe_comparison({"metrics": ["comet", "clip"], "what": "captions", "rows": [row]})
    assert shown == "The difference between comet and clip was not tested: .60 and .40, n = 3."


def test_of_captions_that_people_judged_the_interval_is_by_item_and_rater() -> None:
    better_and_worse()
    study = rehearsed("graded", "graded", accuracy=0.6, judgments_per_unit=6, controls={"per_hit": 0})
    Study.objects.filter(pk=study.pk).update(state=Study.State.CLOSED)
    study.refresh_from_db()
    difference = compare_metrics(study=study, first="rouge-l", second="bleu-1")["rows"][0]
    assert difference["clusters"] == {"item": 6, "rater": 8}


def test_a_metric_without_scores_of_the_dataset_is_refused(tmp_path: Path) -> None:
    study = pairs_study()
    brought(study.dataset, write(tmp_path / "comet.jsonl", caption_rows(1, 0)), "comet")
    other = StudyOf(make_dataset("other", IMAGES), "pairwise")
    with refuses(EvaluationError, "comet", "other"):
        compare_metrics(study=other.study, first="comet", second="bleu-1")


def test_metrics_are_compared_with_people_s_imported_scores(tmp_path: Path) -> None:
    study, people = graded_study()
    for name, change in (("near", 0.1), ("far", 3)):
        path = tmp_path / f"{name}.seg.score"
        path.write_text(scores_of(people, change))
        store_metric_scores(dataset=study.dataset, files=read_scores(path, [name]), unknown="leave-out")
    human = tmp_path / "en-de.mqm.seg.score"
    human.write_text(scores_of(people, 0).replace("s0\t2\n", "s0\tNone\n", 1))
    store_metric_scores(dataset=study.dataset, files=read_scores(human, ["mqm"]), unknown="leave-out")
    found = compare_with_scores(dataset=study.dataset, first="near", second="far", people="mqm")
    assert (found["n"], found["systems"]["number"]) == (31, 4)
    near, far = found["systems"]["calibrated"]
    assert near["value"] == 1 > far["value"]
    assert found["rows"][0]["difference"] > 0
    assert (found["rows"][0]["clusters"], found["scope"]) == ({"item": 8}, "these people")
    assert describe_comparison(found).endswith("to other items, but not to other participants.")
    for number, item in enumerate(study.dataset.items.all()):
        item.fields = [["document", f"talk {number % 3}"]]
        item.save()
    of_talks = compare_with_scores(dataset=study.dataset, first="near", second="far", people="mqm")
    assert {row["difference"] for row in of_talks["rows"]} == {row["difference"] for row in found["rows"]}
    assert of_talks["rows"][0]["clusters"] == {"item": 3}
    with refuses(EvaluationError, "blue", "bleu-4"):
        compare_with_scores(dataset=study.dataset, first="near", second="blue", people="mqm")
    with refuses(EvaluationError, "nobody"):
        compare_with_scores(dataset=study.dataset, first="near", second="far", people="nobody")


@pytest.mark.parametrize("columns", [("image", "system"), ("image", "caption")])
def test_computed_metrics_meet_people_s_imported_scores_of_half_points(
    columns: tuple[str, str], tmp_path: Path, capsys: Any
) -> None:
    """THumB's layout: every system's caption of every image, graded in half points; `later.jpg` nobody graded."""
    dataset = make_dataset("thumb", IMAGES | {"bare.jpg": [], "later.jpg": ["a cat sleeps"]})
    texts = {
        "up": [f"a brown dog {letter} sits" for letter in "abcdefgh"],
        "base": [f"the dog {letter} plays" for letter in "abcdefgh"],  # a reference of each image
        "large": ["a dog"] * 4 + ["a brown dog runs"] * 4,
    }
    rows, cells = [], []
    for number, (name, captions) in enumerate(texts.items()):
        system = System.objects.create(dataset=dataset, name=name)
        for place, (image, text) in enumerate(zip([*IMAGES, "bare.jpg"], [*captions, "a dog"], strict=True)):
            item = Item.objects.get(dataset=dataset, name=image)
            Output.objects.create(system=system, item=item, caption=candidate(dataset, text))
            grade = 1 + (place + number) % 9 / 2
            cells.append((name, image, text, grade))
            row = {"image": image, "system": name, "caption": text, "score": grade}
            rows.append({key: row[key] for key in (*columns, "score")})
    graded = {(row["image"], row.get("system", row.get("caption"))): row for row in rows}
    brought(dataset, write(tmp_path / "people.jsonl", list(graded.values())), "people")
    references = dict(IMAGES)
    wanted = [cell for cell in cells if cell[1] in references]
    scored = score(
        [text for _, _, text, _ in wanted],
        [[other for other in references[image] if other != text] for _, image, text, _ in wanted],
        ["cider-d", "rouge-l"],
        document_corpus=[*references.values(), ["a cat sleeps"]],
    ).scores
    output = tmp_path / "compared.json"
    call_command("compare_metrics", "cider-d", "rouge-l", dataset="thumb", people="people", output=output)
    found = json.loads(output.read_text())
    assert (found["n"], found["systems"]["number"]) == (24, 3)
    people = [grade for *_, grade in wanted]
    (tau, rho, r) = found["rows"]
    for side, name in (("first", "cider-d"), ("second", "rouge-l")):
        assert tau[side] == pytest.approx(kendalltau(scored[name].images, people).statistic)
        assert rho[side] == pytest.approx(spearmanr(scored[name].images, people).statistic)
        assert r[side] == pytest.approx(pearsonr(scored[name].images, people).statistic)
    assert "|own:dropped|" in found["signatures"]["cider-d"]
    assert "without a reference, left out: " in capsys.readouterr().out
    Caption.objects.filter(dataset=dataset, role=Caption.Role.REFERENCE).delete()
    with refuses(EvaluationError, "bleu-1"):
        compare_with_scores(dataset=dataset, first="bleu-1", second="people", people="people")


def test_a_refusal_tells_captions_without_a_system_from_no_captions_at_all(tmp_path: Path) -> None:
    study, people = graded_study()
    rows = [{"image": text.split()[-1], "caption": text, "score": value} for text, value in people.items()]
    image, (reference, *_) = next(iter(IMAGES.items()))
    rows.append({"image": image, "caption": reference, "score": 1})
    for name in ("near", "far", "mqm"):
        brought(study.dataset, write(tmp_path / f"{name}.jsonl", rows), name)
    with refuses(EvaluationError, "score captions of no system"):
        compare_with_scores(dataset=study.dataset, first="near", second="far", people="mqm")
    brought(study.dataset, write(tmp_path / "few.jsonl", rows[:1]), "few")
    brought(study.dataset, write(tmp_path / "rest.jsonl", rows[1:]), "rest")
    with refuses(EvaluationError, "share no scores of systems' captions"):
        compare_with_scores(dataset=study.dataset, first="few", second="rest", people="mqm")


def test_commands_calls_and_the_page_compare(tmp_path: Path, client: Client) -> None:
    study = pairs_study()
    for name, rows, better in (
        ("comet", caption_rows(1, 0), "higher"),
        ("clip", caption_rows(0.2, 0.9), "lower"),
    ):
        brought(study.dataset, write(tmp_path / f"{name}.jsonl", rows), name, better=better)
    output = tmp_path / "difference.json"
    call_command("compare_metrics", "comet", "bleu-1", study=study.study.slug, output=output)
    assert json.loads(output.read_text())["rows"][0]["first"] == 1
    with refuses(CommandError, "--study", "--dataset", "--people"):
        call_command("compare_metrics", "comet", "bleu-1")

    client.force_login(User.objects.create_superuser("root", password="a long phrase of words"))
    page = f"/admin/judgments/study/{study.study.pk}/metrics/"
    assert "Choose two metrics to see" in client.get(page).content.decode()
    job = client.post(
        f"/api/studies/{study.study.slug}/compare-metrics/",
        {"first": "comet", "second": "clip"},
        content_type="application/json",
    )
    assert job.status_code == 202
    run_job(job.json()["id"])
    shown = client.get(page).content.decode()
    assert "No significant difference between comet and clip" in shown
    assert "clip, imported" in shown
