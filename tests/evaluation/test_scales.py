"""Best-worst and slider studies from design to figures, by a simulated crowd."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.test import Client

from annotation.models import Judgment
from common.amounts import coefficient
from contrib.judgment_imports.importing import import_judgments
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from evaluation.data.integrity import check_integrity
from evaluation.errors import EvaluationError, ExportError
from evaluation.models import Analysis, Consensus
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from judgments.importers import ImportProblem
from judgments.models import Caption, Item, Output, Study, System
from judgments.studies.studies import find_study
from tests.evaluation.reporting import exported
from tests.judgments.desk import page
from tests.marks import long_except
from tests.refusals import refuses
from tests.studies import make_dataset, make_study

pytestmark = pytest.mark.django_db
PROTOCOLS = ["best-worst", "slider"]


def better_and_worse(*, systems: int = 5) -> None:
    """The dataset ``animals``, in which system n says n words as the references do, and others of its own."""
    dataset = make_dataset(systems=0)
    for number in range(systems):
        system = System.objects.create(dataset=dataset, name=f"system-{number}")
        for item in Item.objects.filter(dataset=dataset).order_by("position"):
            words = str(item.references.get(position=0).text).split()[: number + 1]
            text = " ".join(
                [*words, *(f"{item.position}x{number}y{place}" for place in range(6 - len(words)))]
            )
            caption = Caption.objects.create(
                dataset=dataset, key=f"c-{number}-{item.position}", text=text, role="candidate"
            )
            Output.objects.create(system=system, item=item, caption=caption)


def rehearsed(
    protocol: str, slug: str, *, spammers: float = 0.0, accuracy: float = 0.85, seed: int = 5, **design: Any
) -> Study:
    """A study of twelve images and five systems that a simulated crowd filled."""
    study = make_study(protocol, slug=slug, **design)
    crowd = RehearsalCrowd(workers=8, spammers=spammers, accuracy=accuracy, seed=seed, drop_outs=0.0)
    rehearse(study=study, crowd=crowd)
    study.refresh_from_db()
    return study


@pytest.fixture(scope="module")
def animals(module_db: None) -> None:
    better_and_worse()


@pytest.fixture(scope="module")
def usual(animals: None) -> dict[str, Study]:
    """Protocol -> a study of people who err now and then."""
    return {protocol: rehearsed(protocol, f"usual-{protocol}") for protocol in PROTOCOLS}


@pytest.fixture(scope="module")
def careful(animals: None) -> dict[str, Study]:
    """Protocol -> a study of people who hardly err, nobody excluded."""
    design: dict[str, Any] = {"controls": {"per_hit": 1, "threshold": 0.0}}
    return {
        protocol: rehearsed(protocol, f"careful-{protocol}", accuracy=1.0, **design) for protocol in PROTOCOLS
    }


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_careful_crowd_finds_the_truth_and_agrees(protocol: str, careful: dict[str, Study]) -> None:
    result = aggregate_study(study=careful[protocol])
    assert all(unit["n"] == 3 for unit in result["units"])
    assert result["agreement"]["alpha"]["value"] > 0.6
    assert result["agreement"]["alpha"]["units"] == len(result["units"])
    assert check_integrity().problems == []


def test_random_answers_do_not_agree(animals: None) -> None:
    study = rehearsed("best-worst", "random", spammers=1.0, controls={"per_hit": 0})
    found = aggregate_study(study=study)["agreement"]["alpha"]
    assert abs(found["value"]) < 0.15
    assert found["low"] < found["value"] < found["high"]


def test_best_worst_gives_scores_of_captions_and_how_reliable_they_are(careful: dict[str, Study]) -> None:
    result = aggregate_study(study=careful["best-worst"])
    captions = result["figures"]["captions"]
    assert len(captions) == 6 * 5
    # Four of the five lists that hold it, three workers each.
    assert {row["shown"] for row in captions} == {12}
    for image in {row["image"] for row in captions}:
        own = [row for row in captions if row["image"] == image]
        scores, strengths = [row["score"] for row in own], [row["strength"] for row in own]
        # hardly anybody errs: the best caption is the best of all its lists, and the counts and the model agree
        assert max(scores) > 0.8
        assert min(scores) < -0.8
        assert np.argsort(scores).tolist()[-1] == np.argsort(strengths).tolist()[-1]
        assert sum(strengths) == pytest.approx(0, abs=1e-9)
    assert result["figures"]["split_half"]["spearman"] > 0.95
    unit = result["units"][0]
    assert set(unit["answer"]) == {"best", "worst"}
    assert unit["answer"]["best"] in {row["caption"] for row in captions}
    assert unit["value"] is None
    stored = Analysis.objects.get(what=Analysis.Kind.AGGREGATION)
    assert stored.result["figures"]["split_half"] == result["figures"]["split_half"]


def test_slider_means_stand_beside_z_scores(careful: dict[str, Study]) -> None:
    units = aggregate_study(study=careful["slider"])["units"]
    assert all(0 <= unit["value"] <= 100 and unit["z_n"] == 3 for unit in units)
    values, scores = [unit["value"] for unit in units], [unit["z"] for unit in units]
    assert np.corrcoef(values, scores)[0, 1] > 0.9
    assert Consensus.objects.filter(unit__key=units[0]["unit"]).get().answer == {"z": units[0]["z"], "z_n": 3}


@pytest.mark.parametrize("protocol", long_except(PROTOCOLS, "best-worst"))
def test_metrics_are_held_against_people_over_all_captions_and_within_images(
    protocol: str, usual: dict[str, Study]
) -> None:
    found = evaluate_study(study=usual[protocol], metrics=["bleu-1", "cider-d"])
    for figures in found["metrics"].values():
        assert -1 <= figures["kendall_tau_b"]["value"] <= 1
        assert (
            figures["per_image"]["spearman"]["images"] + figures["per_image"]["spearman"]["images_undefined"]
            == 6
        )
    assert bool(found["metrics"]["bleu-1"]["kappa"]) == (protocol == "slider")
    assert found["counts"]["units"] == 30
    call_command("evaluate", usual[protocol].slug, "--metrics", "bleu-1")


def test_a_metric_that_thinks_as_people_do_correlates_with_them_within_images(
    animals: None,
) -> None:
    # A slider crosses captions with all images: own ones share words with the references, others do not. The seed
    # orders the systems as their numbers do.
    study = rehearsed("slider", "ordered", accuracy=1.0, seed=87, controls={"per_hit": 1, "threshold": 0.0})
    found = evaluate_study(study=study, metrics=["bleu-1"])
    figures = found["metrics"]["bleu-1"]
    assert figures["per_image"]["spearman"]["value"] > 0
    assert figures["spearman"]["low"] > 0


@pytest.mark.parametrize(
    ("form", "protocol"),
    long_except(product(["jsonl", "csv"], PROTOCOLS), ("jsonl", "best-worst"), ("csv", "slider")),
)
def test_what_is_exported_comes_back_as_it_went(
    protocol: str, form: str, usual: dict[str, Study], tmp_path: Path
) -> None:
    study = usual[protocol]
    exported(study, tmp_path / f"out.{form}", form)
    import_judgments(format=form, path=tmp_path / f"out.{form}", dataset="animals", study="again")
    again = find_study("again")
    first, second = exported(study, tmp_path / "one"), exported(again, tmp_path / "two")
    assert [row | {"study": ""} for row in second] == [row | {"study": ""} for row in first]
    before, after = aggregate_study(study=study), aggregate_study(study=again)
    assert after["units"] == before["units"]
    assert after["agreement"]["alpha"]["value"] == before["agreement"]["alpha"]["value"]
    assert after.get("figures", {}).get("captions") == before.get("figures", {}).get("captions")
    hashes = [
        json.loads((tmp_path / f"{name}.manifest.json").read_text())["judgments_sha256"]
        for name in ("one", "two")
    ]
    assert hashes[0] == hashes[1]


def test_best_worst_answers_name_captions_by_id(usual: dict[str, Study], tmp_path: Path) -> None:
    rows = exported(usual["best-worst"], tmp_path / "out.jsonl")
    for row in rows:
        keys = [option["key"] for option in row["content"]["options"]]
        assert len(keys) == 4
        assert {row["answer"]["best"], row["answer"]["worst"]} <= set(keys)
        assert row["answer"]["best"] != row["answer"]["worst"]
        assert row["value"] is None
        assert row["control"] == (row["expected"] is not None)
        if row["expected"]:
            assert set(row["expected"]) <= {"best", "worst"}
            assert set(row["expected"].values()) <= set(keys)


def test_an_import_without_options_is_refused_by_name(animals: None, tmp_path: Path) -> None:
    row = {
        "unit": "u",
        "worker": "w",
        "protocol": "best-worst",
        "image": "000.jpg",
        "answer": {"best": 1, "worst": 2},
    }
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps(row))
    with refuses(ImportProblem, line=1, column="content.options", actual="nothing"):
        import_judgments(format="jsonl", path=path, dataset="animals", study="again")
    assert not Study.objects.filter(slug="again").exists()


def test_a_slider_is_no_expert_file_but_gives_qrels(usual: dict[str, Study], tmp_path: Path) -> None:
    study = usual["slider"]
    exported(study, tmp_path / "qrels", "qrels")
    relevances = [int(line.split()[-1]) for line in (tmp_path / "qrels").read_text().splitlines()]
    assert 0 <= min(relevances) < max(relevances) <= 100
    with refuses(ExportError, "yes", "grades from 1", "4"):
        exported(study, tmp_path / "x", "flickr8k")


def test_the_same_seed_rehearses_the_same(usual: dict[str, Study]) -> None:
    def answers(study: Study) -> list[tuple[Any, ...]]:
        rows = Judgment.objects.of_study(study)
        return list(rows.values_list("unit__key", "assignment__worker__name", "answer"))

    assert answers(rehearsed("best-worst", "again")) == answers(usual["best-worst"])


def test_the_results_page_names_the_captions_people_like(careful: dict[str, Study], designer: Client) -> None:
    study = careful["best-worst"]
    found = aggregate_study(study=study)
    evaluate_study(study=study, metrics=["bleu-1"])
    shown = designer.get(page(study, "results")).content.decode()
    assert "Which texts do people like?" in shown
    assert "Captions with a score from -1 (always the worst) to 1 (always the best): 30." in shown
    best = max(found["figures"]["captions"], key=lambda row: row["score"])
    assert best["text"] in shown
    assert f'<td class="n">{coefficient(best["score"])}</td>' in shown
    assert "have a mean Spearman correlation of" in shown
    assert "Tau-b within items" in shown
    assert "Best kappa" not in shown
    assert "These results are out of date" not in shown


def test_a_revised_answer_makes_results_old(usual: dict[str, Study], designer: Client) -> None:
    study = usual["slider"]
    aggregate_study(study=study)
    address = page(study, "results")
    assert "These results are out of date" not in designer.get(address).content.decode()
    first = Judgment.objects.of_study(study).first()
    assert first is not None
    Judgment.objects.create(assignment=first.assignment, unit=first.unit, value=1, replaces=first)
    assert "These results are out of date" in designer.get(address).content.decode()


def test_answers_that_no_metric_fits_say_what_to_use_instead() -> None:
    study = make_study("caption", controls={"per_hit": 0})
    with pytest.raises(EvaluationError, match="evaluated against"):
        evaluate_study(study=study)
    found = aggregate_study(study=study)
    assert found["agreement"]["alpha"]["value"] is None
