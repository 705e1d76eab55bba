"""Items are chosen for a draft by scores at hand, and what people say of them is weighed back to all."""

import json
from pathlib import Path

import numpy as np
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from common.errors import DesignError, WrongState
from contrib.choosing.loading import judged_population, population_of_draft
from contrib.choosing.population import Population
from contrib.choosing.tests.chosen_items import METRICS, choose, draft, judged, pairs_draft
from contrib.choosing.weighing import WeightedEstimator, compute_weighted_estimates, estimate_pairs
from evaluation.data.judgment_sets.study_signatures import uncommon_fields
from evaluation.reports.storage import build_report
from evaluation.results.metrics.storage import evaluate_study
from evaluation.results.metrics.texts import PairTexts
from judgments.design.reading.checking import make_design
from judgments.design.reading.study_files import read_toml, write_toml
from judgments.jobs.claims import run_job
from judgments.studies.designs import design_of
from judgments.studies.generation.hits import generate_hits
from tests.refusals import refuses
from tests.studies import make_study

pytestmark = pytest.mark.django_db


def test_pairs_are_chosen_within_the_budget_and_the_design_says_how(
    capsys: pytest.CaptureFixture[str],
) -> None:
    study = pairs_draft()
    before = study.design
    choose(study, "--method", "information", "--budget", "30", "--seed", "1", "--metrics", ",".join(METRICS))
    assert "Chosen candidate pairs: 30 of 120 (information, seed 1)." in capsys.readouterr().out
    chosen, only = study.design["chosen"], study.design["sampling"]["only"]
    assert (chosen["method"], chosen["per"], chosen["budget"], chosen["population"]) == (
        "information",
        "pairs",
        30,
        120,
    )
    assert sorted(chosen["chances"]) == only
    assert len(only) == 30
    assert min(chosen["chances"].values()) >= 0.25 * 30 / 120
    assert list(chosen["scores"]) == METRICS
    assert read_toml(write_toml(design_of(study))) == design_of(study)
    choose(study, "--method", "information", "--budget", "30", "--seed", "1", "--metrics", ",".join(METRICS))
    assert study.design["chosen"] == chosen  # the same draw, from all pairs and not from the chosen ones
    batch = generate_hits(study=study)
    assert sorted(pair.key for pair in batch.pairs) == only
    with pytest.raises(CommandError, match="only in a draft"):
        choose(study, "--method", "even", "--budget", "3")
    assert before["sampling"]["only"] == []


def test_a_choice_is_taken_back_and_never_outlives_its_items() -> None:
    study = pairs_draft()
    before = study.design
    choose(study, "--method", "even", "--budget", "10")
    assert set(study.design["chosen"]["chances"].values()) == {10 / 120}
    other = study.design | {"sampling": study.design["sampling"] | {"only": ["somebody-else"]}}
    with refuses(DesignError, "sampling.only", field="chosen.chances"):
        make_design(other)
    assert choose(study, "--method", "all").design == before


@pytest.mark.parametrize("method", ["variance", "diversity"])
def test_a_method_of_an_earlier_version_is_read_and_not_chosen_by(method: str) -> None:
    study = choose(pairs_draft(), "--method", "even", "--budget", "10")
    design = make_design(study.design | {"chosen": study.design["chosen"] | {"method": method}})
    assert read_toml(write_toml(design)) == design
    with pytest.raises(CommandError, match="is unknown"):
        choose(study, "--method", method, "--budget", "10")


def test_images_are_chosen_with_all_their_captions() -> None:
    study = draft("graded")
    whole = population_of_draft(study)
    choose(study, "--method", "even", "--budget", "12")
    assert (study.design["chosen"]["per"], study.design["chosen"]["scores"]) == ("images", {})
    only = set(study.design["sampling"]["only"])
    images = {image for key, image in zip(whole.keys, whole.images, strict=True) if key in only}
    assert len(images) == 12
    assert only == {key for key, image in zip(whole.keys, whole.images, strict=True) if image in images}
    assert len(only) == 36


def test_what_people_say_of_chosen_pairs_is_weighed_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = judged(
        choose(pairs_draft(), "--method", "disagreement", "--budget", "60", "--metrics", ",".join(METRICS))
    )
    call_command("weigh_back", study.slug, metrics=METRICS, output=tmp_path / "found.json")
    rows = json.loads((tmp_path / "found.json").read_text("utf-8"))["rows"]
    population = judged_population(study)
    weight = np.array([1 / study.design["chosen"]["chances"][key] for key in population.keys])
    for name in ("people", "system-0"):
        won = [
            (weight[at], float(pair.winner == 1 + pair.systems.index(name)) if pair.winner else 0.5)
            for at, pair in enumerate(population.pairs)
            if name in pair.systems and (pair.winner or pair.is_tied)
        ]
        own, wins = np.array(won).T
        (row,) = [row for row in rows if (row["what"], row["name"]) == ("wins", name)]
        assert row["value"] == pytest.approx(own @ wins / own.sum())
        assert row["plain"]["value"] == pytest.approx(wins.mean())
        assert row["low"] < row["value"] < row["high"]
    accuracy = {(row["name"], row["kind"]): row["value"] for row in rows if row["what"] == "accuracy"}
    assert accuracy["bleu-1 − rouge-l", ""] == pytest.approx(accuracy["bleu-1", ""] - accuracy["rouge-l", ""])
    assert {kind for _, kind in accuracy} == {"", "HM", "MM"}
    report = build_report(study=study)
    (collected,) = [one for one in report.sections if one.name == "collection"]
    assert "hold for the chosen items alone" in collected.sentences[1]
    call_command("aggregate", study.slug)
    assert "hold for the chosen items alone" in capsys.readouterr().out
    assert uncommon_fields(study)["chosen"] == "disagreement,60-of-120-pairs"
    call_command("export_judgments", study.slug, format="jsonl", output=tmp_path / "judgments.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "judgments.jsonl").read_text("utf-8").splitlines()]
    assert {row["pair"]: row["chance"] for row in lines if not row["control"]} == study.design["chosen"][
        "chances"
    ]
    assert any("chosen items alone" in note for note in evaluate_study(study=study, metrics=METRICS)["notes"])


def test_the_seed_of_savings_is_refused_without_savings_even_if_it_is_0() -> None:
    study = choose(draft("graded"), "--method", "even", "--budget", "20")
    with refuses(CommandError, "--savings", "seed"):
        call_command("weigh_back", study.slug, seed=0)


def test_means_of_systems_and_tau_are_weighed_back() -> None:
    study = judged(choose(draft("graded"), "--method", "even", "--budget", "20"))
    rows = compute_weighted_estimates(study=study, metrics=METRICS)["rows"]
    names = [row["name"] for row in rows if row["what"] == "mean"]
    assert names == [
        *("system-0", "system-1", "system-2"),
        *("system-0 − system-1", "system-0 − system-2", "system-1 − system-2"),
    ]
    value = {row["name"]: row["value"] for row in rows}
    assert value["system-0 − system-1"] == pytest.approx(value["system-0"] - value["system-1"])
    assert all(row["value"] == pytest.approx(row["plain"]["value"]) for row in rows)  # all weigh the same
    assert [row["items"] for row in rows] == [20] * len(rows)


@pytest.mark.long
def test_what_choosing_would_have_saved_is_measured_on_judged_items(
    capsys: pytest.CaptureFixture[str],
) -> None:
    study = judged(pairs_draft())
    call_command("weigh_back", study.slug, savings=True, metrics=METRICS, draws=60)
    said = capsys.readouterr().out
    assert "difference: error by the number sampled of 120 pairs" in said
    assert "disagreement" in said
    with pytest.raises(WrongState, match="all items are judged"):
        compute_weighted_estimates(study=study)


def test_what_cannot_be_chosen_is_refused_in_a_sentence() -> None:
    study = pairs_draft()
    with refuses(CommandError, "candidate pairs", "500", "120"):
        choose(study, "--method", "even", "--budget", "500")
    with pytest.raises(CommandError, match="Scores"):
        choose(study, "--method", "disagreement", "--budget", "5", "--metrics", "bleu-1")
    assert "chosen" not in study.design
    writing = make_study("caption", opened=False)
    with pytest.raises(CommandError, match="chosen"):
        choose(writing, "--method", "even", "--budget", "5")


def test_the_pages_and_the_calls_choose_weigh_and_measure(designer: Client) -> None:
    study = pairs_draft()
    address = f"/admin/judgments/study/{study.pk}/choosing/"
    assert "All items of the design will be judged." in designer.get(address).content.decode()
    body = {"method": "disagreement", "budget": 40, "metrics": METRICS}
    started = designer.post(f"/api/studies/{study.slug}/select-items/", body, content_type="application/json")
    assert started.status_code == 202, started.content
    run_job(started.json()["id"])
    assert (
        "Chosen candidate pairs: 40 of 120 (disagreement, seed 0)." in designer.get(address).content.decode()
    )
    lacking = designer.post(
        f"/api/studies/{study.slug}/select-items/", {"method": "even"}, content_type="application/json"
    )
    assert (lacking.status_code, "Say how many items" in lacking.content.decode()) == (400, True)
    study.refresh_from_db()
    judged(study)
    for name in ("weigh-back", "choice-savings"):
        started = designer.post(
            f"/api/studies/{study.slug}/{name}/", {"metrics": METRICS}, content_type="application/json"
        )
        assert started.status_code == 202, started.content
        run_job(started.json()["id"])
    page = designer.get(address).content.decode()
    assert "Estimates for all items" in page
    assert "bleu-1 − rouge-l" in page
    assert "<svg" in page
    other = make_study("pairwise", opened=False, name="Another", slug="another")
    plan = designer.get(f"/admin/judgments/study/{other.pk}/planning/").content.decode()
    assert "The savings were measured on study “A pairwise study”" in plan


def test_chosen_pairs_that_are_all_tied_tell_wins_of_systems_and_no_accuracy() -> None:
    tied = [PairTexts(row, "MM", row, "a", "b", ("c",), 0, is_tied=True) for row in range(3)]
    population = Population("pairs", tied, (), ["", "", ""], [("x", "y")] * 3, [])
    rows = WeightedEstimator(np.full(3, 0.5), np.arange(3))
    estimates = estimate_pairs(population, np.zeros((3, 2, 1)), ["bleu-4"], rows)
    assert [(row["what"], row["name"], row["value"]) for row in estimates] == [
        ("wins", "x", 0.5),
        ("wins", "y", 0.5),
    ]
